//! The CPU backend: many cloths, in parallel over cloths and within large ones.

mod cloth;
mod crew;
mod slices;
#[cfg(feature = "testing")]
mod testing;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex};

use bytemuck::cast_vec;
use poplin_host::{
    Cloth, ClothId, ClothImpulses, Cloths, ContactFrame, Engine, Error, FrameBodies, FramePart,
    HostCloth, NoSuchCloth, ParticleMotion, Reading, SharedFabrics, Snapshot, SnapshotCloth, State,
    StatePart,
};
use poplin_layout::{ClothPlacement, Feedback, NO_OFFSET, StageMask, pack_fabric};
use poplin_model::{
    ClothContactSolver, ClothDesc, ColliderSet, ContactReport, Fabric, ModelError, Particle,
};
use rayon::prelude::*;

use self::cloth::{CpuCloth, PackedFabric, arrays_of_one};
use self::crew::{Crew, MIN_SPLIT_PARTICLES, Split};
use crate::contact::{ContactBody, ContactPasses as _};
use crate::multilevel::{LevelsPlan, Touching};
use crate::triangle_contact::TriangleContact;
use crate::{Team, Workers};

pub use self::crew::thread_count;

/// Engine on CPU threads. Cloths run in parallel; similar ones are batched as far as `W` can. A
/// large cloth that would delay the others is split across threads.
pub struct LaneEngine<W: Workers> {
    /// All cloths.
    cloths: Cloths<CpuCloth<W::Kept>>,
    /// Packed fabrics, shared between cloths.
    fabrics: SharedFabrics<Arc<PackedFabric>>,
    colliders: ColliderSet,
    cloth_collision: ClothContactSolver,
    contacts: ContactFrame,
    contact_memory: Box<W::Contacts>,
    triangles: Box<TriangleContact>,
    /// Idle workers.
    crew: Crew<W>,
    /// Working memory for the cloths of a frame in simulation order; empty between frames.
    order: Vec<&'static mut CpuCloth<W::Kept>>,
    /// Working memory for the cloths that collide; empty between frames.
    bodies: Vec<ContactBody<'static>>,
    /// Number of parts of every loop, whatever its length, for tests.
    forced_parts: Option<usize>,
}

/// Engine of reference code: every cloth runs on a [`Team`] of one lane, or of any number in a
/// test.
pub type ReferenceEngine = LaneEngine<Team>;

impl<W: Workers + Default> Default for LaneEngine<W> {
    fn default() -> Self {
        Self::with_workers(W::default())
    }
}

impl<W: Workers> LaneEngine<W> {
    /// Creates an engine without cloths whose workers begin as copies of `workers`, for example a
    /// team with fewer lanes than the machine.
    pub fn with_workers(workers: W) -> Self {
        Self {
            cloths: Cloths::default(),
            fabrics: SharedFabrics::default(),
            colliders: ColliderSet::default(),
            cloth_collision: ClothContactSolver::default(),
            contacts: ContactFrame::default(),
            contact_memory: Box::default(),
            triangles: Box::default(),
            crew: Crew { idle: Mutex::default(), first: workers },
            order: Vec::new(),
            bodies: Vec::new(),
            forced_parts: None,
        }
    }
}

impl<W: Workers + Clone + Send + Sync + 'static> fmt::Debug for LaneEngine<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneEngine")
            .field("cloth_count", &self.cloths.len())
            .field("memory_bytes", &self.memory_bytes())
            .field("cloth_collision", &self.cloth_collision)
            .finish_non_exhaustive()
    }
}

impl<W: Workers + Default> LaneEngine<W> {
    /// Creates an engine without cloths.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<W: Workers + Clone + Send + Sync> LaneEngine<W> {
    /// Returns the packed form of a fabric. Equal fabrics that were cooked separately share it, so
    /// that their cloths can be batched.
    fn acquire_fabric(&mut self, source: &Arc<Fabric>) -> Arc<PackedFabric> {
        let packed = self.fabrics.get(source).cloned().unwrap_or_else(|| {
            let mut pool = Vec::new();
            let offsets = pack_fabric(source, &mut pool);
            let levels = source.hierarchy.as_ref().map(|it| LevelsPlan::new(source, it));
            let same = |other: &&Arc<PackedFabric>| {
                other.levels.is_none() && other.offsets == offsets && other.pool == pool
            };
            // Cloths with levels are not batched.
            let is_shared = levels.is_none();
            let same = self.fabrics.values().filter(|_| is_shared).find(same).cloned();
            same.unwrap_or_else(|| Arc::new(PackedFabric { offsets, pool, levels }))
        });
        let Ok(_) = self.fabrics.acquire(source, || Ok::<_, Infallible>(packed.clone()));
        packed
    }

    /// State of triangle contact after the last slice of the last frame.
    pub fn triangle_contact(&self) -> &TriangleContact {
        &self.triangles
    }

    /// Chooses the cloths to split: those with more than half of a thread's work, because whole
    /// cloths then cannot keep all threads busy. So at most twice as many cloths are split as there
    /// are threads.
    fn split(&self) -> Split {
        let threads = self.forced_parts.unwrap_or_else(thread_count);
        let awake = self.cloths.values().iter().filter(|cloth| !cloth.host.is_resting());
        let total: usize = awake.map(|cloth| cloth.current.len()).sum();
        let above = MIN_SPLIT_PARTICLES.max(total / (2 * threads));
        Split { threads, above, always: self.forced_parts.is_some() }
    }

    /// Passes collider changes to every cloth, if the frame is valid for all.
    fn update_colliders(&mut self, dt: f32) -> Result<(), ModelError> {
        self.cloths.values().iter().try_for_each(|cloth| cloth.host.validate_frame(dt))?;
        let Self { cloths, colliders, cloth_collision, .. } = self;
        let contact = &*cloth_collision;
        cloths
            .values_mut()
            .par_iter_mut()
            .try_for_each(|cloth| cloth.host.plan(colliders, contact, dt))
    }

    /// Position \[m\] and working inverse mass [1/kg] of every particle; empty for an unknown
    /// cloth.
    pub fn current(&self, id: ClothId) -> &[Particle] {
        self.cloths.get(id).map_or(&[], |cloth| Particle::from_rows(&cloth.current))
    }

    /// Position one iteration ago \[m\] and the user's inverse mass [1/kg] of every particle; empty
    /// for an unknown cloth.
    pub fn previous(&self, id: ClothId) -> &[Particle] {
        self.cloths.get(id).map_or(&[], |cloth| Particle::from_rows(&cloth.previous))
    }

    /// Impulses of the last frame on the rigid bodies that the cloth meets; none if the cloth was
    /// not simulated.
    pub fn body_impulses(&self, id: ClothId) -> ClothImpulses {
        self.cloths.get(id).map(CpuCloth::body_impulses).unwrap_or_default()
    }

    /// Faults and counters; those of a new cloth for an unknown cloth.
    pub fn feedback(&self, id: ClothId) -> Feedback {
        self.cloths.get(id).map_or_else(|_| Feedback::default(), |cloth| cloth.feedback)
    }

    /// Adds a cloth with its particles and report.
    fn insert(&mut self, cloth: SnapshotCloth) -> ClothId {
        let SnapshotCloth { host, current, previous, remainders, feedback } = cloth;
        let fabric = self.acquire_fabric(&host.desc().fabric);
        let placement = ClothPlacement {
            cloth: 0,
            particle_begin: 0,
            particle_count: host.desc().particle_count() as u32,
            scratch_begin: 0,
            input_begin: 0,
            fabric: fabric.offsets,
        };
        self.cloths.insert(CpuCloth {
            current: cast_vec(current),
            previous: cast_vec(previous),
            remembered: Vec::new(),
            remainders: cast_vec(remainders),
            kept: W::Kept::default(),
            before: Vec::new(),
            is_flying: true,
            touching: Touching::default(),
            arrays: arrays_of_one(),
            feedback,
            is_simulated: false,
            bodies: FrameBodies::default(),
            contact: ContactReport::default(),
            host,
            fabric,
            placement,
            inputs: Vec::new(),
        })
    }

    fn state_of(&self, ids: &[ClothId]) -> Result<State, NoSuchCloth> {
        let cloths =
            ids.iter().map(|&id| self.cloths.get(id)).collect::<Result<Vec<_>, NoSuchCloth>>()?;
        let all = |particles: fn(&CpuCloth<W::Kept>) -> &[Particle]| {
            cloths.iter().map(|cloth| particles(cloth)).collect::<Vec<_>>().concat()
        };
        let part = |(&id, cloth): (&ClothId, &&CpuCloth<W::Kept>)| StatePart {
            id,
            particle_count: cloth.current.len(),
            feedback: cloth.feedback,
            skipped_frames: cloth.host.skipped_frames(),
            body_impulses: cloth.body_impulses(),
            contact: cloth.contact,
        };
        let parts = ids.iter().zip(&cloths).map(part);
        Ok(State::new(
            all(|cloth| Particle::from_rows(&cloth.current)),
            all(|cloth| Particle::from_rows(&cloth.previous)),
            parts,
        ))
    }
}

impl<W: Workers + Clone + Send + Sync + 'static> Engine for LaneEngine<W> {
    fn add(&mut self, cloth: ClothDesc) -> Result<ClothId, Error> {
        let host = HostCloth::new(cloth)?;
        Ok(self.insert(SnapshotCloth {
            current: host.initial_current().to_vec(),
            previous: host.initial_previous(),
            remainders: Vec::new(),
            feedback: Feedback::default(),
            host,
        }))
    }

    fn clone_cloth(&mut self, id: ClothId, count: usize) -> Result<Vec<ClothId>, Error> {
        let fabric = self.cloths.get(id)?.host.desc().fabric.clone();
        let copy = |_| {
            self.acquire_fabric(&fabric);
            let source = self.cloths.get(id)?;
            let copy = CpuCloth {
                host: source.host.copy(),
                is_simulated: false,
                inputs: Vec::new(),
                kept: W::Kept::default(),
                before: Vec::new(),
                is_flying: true,
                touching: Touching::default(),
                arrays: arrays_of_one(),
                contact: ContactReport::default(),
                ..source.clone()
            };
            Ok(self.cloths.insert(copy))
        };
        (0..count).map(copy).collect()
    }

    fn remove(&mut self, id: ClothId) -> Result<(), Error> {
        let cloth = self.cloths.remove(id)?;
        self.crew.dismiss();
        self.fabrics.release(&cloth.host.desc().fabric);
        Ok(())
    }

    fn clear(&mut self) {
        self.cloths.clear();
        self.crew.dismiss();
        self.fabrics.clear();
        self.triangles.forget();
    }

    fn reset(&mut self, id: ClothId) -> Result<(), Error> {
        let cloth = self.cloths.get_mut(id)?;
        cloth.host.reset();
        cloth.current.copy_from_slice(Particle::rows(cloth.host.initial_current()));
        cloth.previous = cast_vec(cloth.host.initial_previous());
        cloth.feedback = Feedback::default();
        cloth.contact = ContactReport::default();
        cloth.is_simulated = false;
        self.triangles.forget();
        Ok(())
    }

    fn set_particles(
        &mut self,
        id: ClothId,
        particles: &[Particle],
        motion: ParticleMotion<'_>,
    ) -> Result<(), Error> {
        let cloth = self.cloths.get_mut(id)?;
        cloth.previous = cast_vec(cloth.host.set_particles(particles, motion)?);
        cloth.current.copy_from_slice(Particle::rows(particles));
        (cloth.feedback.fault_count, cloth.feedback.fault_particle) = (0, NO_OFFSET);
        self.triangles.forget();
        Ok(())
    }

    fn step(&mut self, dt: f32) -> Result<(), Error> {
        self.update_colliders(dt)?;
        self.find_contacts(dt);
        self.crew.ready(self.cloths.values());
        if self.contacts.slice_count() > 0 {
            self.step_in_slices(dt);
        } else {
            let cloths = self.cloths.values_mut();
            cloths.par_iter_mut().for_each(|cloth| cloth.begin_frame(dt, true));
            let split = self.split();
            let Self { cloths, crew, order, .. } = self;
            let (all, whole) = (StageMask::ALL, FramePart::WHOLE.iterations);
            crew.simulate(cloths.values_mut(), order, split, all, |_| whole.clone());
        }
        self.colliders.end_frame();
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn begin_read(&mut self, ids: &[ClothId]) -> Result<Reading, Error> {
        Ok(self.state_of(ids)?.into())
    }

    fn read(&mut self, id: ClothId) -> Result<State, Error> {
        Ok(self.state_of(&[id])?)
    }

    fn state(&mut self) -> Result<State, Error> {
        Ok(self.state_of(self.cloths.ids())?)
    }

    fn ids(&self) -> &[ClothId] {
        self.cloths.ids()
    }

    fn cloth(&self, id: ClothId) -> Result<&Cloth, Error> {
        Ok(self.cloths.get(id)?.host.live())
    }

    fn cloth_mut(&mut self, id: ClothId) -> Result<&mut Cloth, Error> {
        Ok(self.cloths.get_mut(id)?.host.live_mut())
    }

    fn colliders(&self) -> &ColliderSet {
        &self.colliders
    }

    fn colliders_mut(&mut self) -> &mut ColliderSet {
        &mut self.colliders
    }

    fn cloth_contact_solver(&self) -> ClothContactSolver {
        self.cloth_collision
    }

    /// Sets the solver of collision between cloths. A frame simulated in parts
    /// ([`ReferenceEngine::run_part`]) skips this collision.
    fn set_cloth_contact_solver(&mut self, settings: ClothContactSolver) -> Result<(), Error> {
        settings.validate()?;
        self.cloth_collision = settings;
        Ok(())
    }

    fn save(&mut self) -> Result<Snapshot, Error> {
        let cloth = |cloth: &CpuCloth<W::Kept>| SnapshotCloth {
            host: cloth.host.copy(),
            current: Particle::from_rows(&cloth.current).to_vec(),
            previous: Particle::from_rows(&cloth.previous).to_vec(),
            remainders: bytemuck::cast_slice(&cloth.remainders).to_vec(),
            feedback: cloth.feedback,
        };
        let cloths = self.cloths.values().iter().map(|it| cloth(it)).collect();
        Ok(Snapshot::new(cloths, self.colliders.clone(), self.cloth_collision)
            .with_multipliers(self.triangles.multipliers()))
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<Vec<ClothId>, Error> {
        self.clear();
        self.colliders = snapshot.colliders().clone();
        self.cloth_collision = snapshot.cloth_contact_solver();
        self.triangles.set_multipliers(snapshot.multipliers());
        Ok(snapshot.cloths().iter().map(|cloth| self.insert(cloth.clone())).collect())
    }

    fn memory_bytes(&self) -> u64 {
        let cloths: usize =
            self.cloths.values().iter().map(|cloth| cloth.size() + W::kept_size(&cloth.kept)).sum();
        let fabrics: BTreeMap<_, _> =
            self.fabrics.values().map(|fabric| (Arc::as_ptr(fabric), fabric.size())).collect();
        let fabrics: usize = fabrics.values().sum();
        (cloths + fabrics + self.contact_memory.size() + self.triangles.size() + self.crew.size())
            as u64
    }
}
