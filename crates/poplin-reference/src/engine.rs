//! The CPU backend: many cloths, one lane each, in parallel over cloths.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::cast_vec;
use poplin_host::{
    ClothId, ClothImpulses, Cloths, ContactFrame, Engine, FrameBodies, FramePart, HostCloth,
    HostError, LiveCloth, NoSuchCloth, ParticleMotion, Ready, SharedFabrics, State, StatePart,
    takes_part,
};
use poplin_layout::{
    ClothParameters, ClothPlacement, ContactCloth, FabricOffsets, Feedback, FrameArrays, NO_OFFSET,
    StageMask, pack_fabric,
};
use poplin_model::{Cloth, ClothContactSolver, ColliderSet, Fabric, Frame, ModelError, Particle};
use rayon::prelude::*;

use crate::contact::{ContactBody, ContactMemory};
use crate::kernel::simulate_cloth;
use crate::memory;
use crate::{ClothMemory, Team, Workers};

#[derive(Debug)]
struct PackedFabric {
    offsets: FabricOffsets,
    pool: Vec<u32>,
}

/// One cloth with the memory that its workgroup would have.
#[derive(Debug, Clone)]
struct CpuCloth<K> {
    host: HostCloth,
    fabric: Arc<PackedFabric>,
    placement: ClothPlacement,
    arrays: FrameArrays,
    current: Vec<[f32; 4]>,
    previous: Vec<[f32; 4]>,
    scratch: Vec<[u32; 4]>,
    inputs: Vec<[u32; 4]>,
    /// What its workers keep.
    kept: K,
    feedback: Feedback,
    /// Whether the last frame ran iterations, so that its impulses on bodies are in `scratch`.
    is_simulated: bool,
    /// Whose impulses they are.
    bodies: FrameBodies,
}

impl<K> CpuCloth<K> {
    /// `may_rest`: leaves out a cloth that rests; else it sleeps in its kernel.
    fn begin_frame(&mut self, frame: &Frame, may_rest: bool) {
        self.arrays.clear();
        self.is_simulated = false;
        for (index, particle) in self.host.take_writes() {
            self.current[index as usize] = particle.into();
        }
        self.host.note_feedback(&self.feedback);
        if may_rest && self.host.is_resting() {
            self.host.skip_frame(frame);
            return;
        }
        let (input_len, scratch_len) =
            (self.host.input_len() as usize, self.host.scratch_len() as usize);
        self.inputs.resize(input_len.max(self.inputs.len()), [0; 4]);
        self.scratch.resize(scratch_len.max(self.scratch.len()), [0; 4]);
        let inputs = &mut self.inputs;
        self.host.take_inputs(|offset, values| {
            inputs[offset as usize..][..values.len()].copy_from_slice(values)
        });
        self.is_simulated = self.host.iteration_count(frame) > 0;
        self.bodies = self.host.frame_bodies();
        self.host.pack_frame(frame, &self.placement, &mut self.arrays);
    }

    fn body_impulses(&self) -> ClothImpulses {
        let rows = self.host.body_rows();
        if !self.is_simulated || rows.end as usize > self.scratch.len() {
            return ClothImpulses::default();
        }
        let rows = &self.scratch[rows.start as usize..rows.end as usize];
        self.bodies.impulses(bytemuck::cast_slice(rows), &self.feedback)
    }

    /// Bytes of its vectors.
    fn size(&self) -> usize {
        let particles = self.current.capacity() + self.previous.capacity();
        let pools = [&self.scratch, &self.inputs, &self.arrays.frame_pool].map(Vec::capacity);
        16 * (particles + pools.iter().sum::<usize>())
            + size_of::<ClothParameters>() * self.arrays.cloth_parameters.capacity()
    }

    fn run_part(&mut self, part: &FramePart, team: &mut impl Workers<Kept = K>) {
        let Some(cloth) = self.arrays.cloth_parameters.first() else { return };
        let cloth = part.restrict(cloth);
        let stages = StageMask(self.host.stages().0 & part.stages.0);
        let pools = memory::Pools {
            frame_pool: &self.arrays.frame_pool,
            fabric_pool: &self.fabric.pool,
            input_pool: &self.inputs,
        };
        let state = memory::State {
            current: &mut self.current,
            previous: &mut self.previous,
            scratch: &mut self.scratch,
        };
        let mut memory = ClothMemory::new(cloth, pools, state);
        team.exchange(&mut self.kept);
        simulate_cloth(&mut memory, &mut self.feedback, part.iterations.clone(), stages, team);
        team.exchange(&mut self.kept);
    }
}

/// Threads that engines on the CPU use together: those of rayon's global pool, or of the pool that the caller runs in.
pub fn thread_count() -> usize {
    rayon::current_num_threads()
}

/// An engine on CPU threads: many cloths in parallel, each by one `W`.
pub struct LaneEngine<W: Workers> {
    cloths: Cloths<CpuCloth<W::Kept>>,
    fabrics: SharedFabrics<Arc<PackedFabric>>,
    colliders: ColliderSet,
    cloth_collision: ClothContactSolver,
    contacts: ContactFrame,
    contact_memory: Box<ContactMemory>,
    workers: PhantomData<fn() -> W>,
}

/// The mirror as an engine: every cloth by a [`Team`] of one lane, or of any in a test.
pub type ReferenceEngine = LaneEngine<Team>;

impl<W: Workers> Default for LaneEngine<W> {
    fn default() -> Self {
        Self {
            cloths: Cloths::default(),
            fabrics: SharedFabrics::default(),
            colliders: ColliderSet::default(),
            cloth_collision: ClothContactSolver::default(),
            contacts: ContactFrame::default(),
            contact_memory: Box::default(),
            workers: PhantomData,
        }
    }
}

impl<W: Workers + Default> fmt::Debug for LaneEngine<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaneEngine")
            .field("cloth_count", &self.cloths.len())
            .field("memory_bytes", &self.memory_bytes())
            .field("cloth_collision", &self.cloth_collision)
            .finish_non_exhaustive()
    }
}

impl<W: Workers + Default> LaneEngine<W> {
    /// An engine without cloths.
    pub fn new() -> Self {
        Self::default()
    }

    fn acquire_fabric(&mut self, source: &Arc<Fabric>) -> Arc<PackedFabric> {
        let pack = || {
            let mut pool = Vec::new();
            let offsets = pack_fabric(source, &mut pool);
            Ok::<_, Infallible>(Arc::new(PackedFabric { offsets, pool }))
        };
        let Ok(packed) = self.fabrics.acquire(source, pack);
        packed.clone()
    }

    #[cfg(feature = "testing")]
    /// State after the last pass of collision between cloths, for tests.
    pub fn contact_memory(&self) -> &ContactMemory {
        &self.contact_memory
    }

    /// Determines which cloths may collide in the next frame, and when.
    fn find_contacts(&mut self, frame: &Frame) {
        self.contacts.clear();
        let cloths = self.cloths.values().iter().enumerate();
        for (index, cloth) in cloths.filter(|(_, cloth)| takes_part(&cloth.host)) {
            self.contacts.add(index, &cloth.host, frame, &cloth.placement);
        }
        self.contacts.finish(&self.cloth_collision);
    }

    /// Simulates a frame in slices with a collision of cloths after each.
    fn step_in_slices(&mut self, frame: &Frame) {
        // Cloths that collide may wake one another: they sleep in their kernel.
        self.cloths
            .values_mut()
            .par_iter_mut()
            .for_each(|cloth| cloth.begin_frame(frame, !takes_part(&cloth.host)));
        let Self { cloths, contacts, contact_memory, cloth_collision, .. } = self;
        let cloths = cloths.values_mut();
        for (slice, parameters) in contacts.parameters.iter().enumerate() {
            let slice = slice as u32;
            cloths.par_iter_mut().for_each_init(W::default, |workers, cloth| {
                let count = cloth.host.iteration_count(frame);
                let begin = if slice == 0 { 0 } else { contacts.slice_end(count, slice - 1) };
                let iterations = begin..contacts.slice_end(count, slice);
                if !iterations.is_empty() {
                    cloth.run_part(&FramePart { iterations, ..FramePart::WHOLE }, workers);
                }
            });
            let begin = parameters.cloth_begin as usize;
            let rows: &[ContactCloth] =
                &contacts.cloths[begin..begin + parameters.cloth_count as usize];
            let mut members = contacts.indices().peekable();
            let mut bodies = Vec::with_capacity(rows.len());
            for (index, cloth) in cloths.iter_mut().enumerate() {
                if members.next_if_eq(&index).is_some() {
                    let (current, previous) =
                        (cloth.current.as_mut_slice(), cloth.previous.as_slice());
                    bodies.push(ContactBody { current, previous, feedback: &mut cloth.feedback });
                }
            }
            for _ in 0..cloth_collision.iterations {
                if !contact_memory.pass(parameters, rows, &mut bodies) {
                    break;
                }
            }
        }
    }

    #[cfg(feature = "testing")]
    /// Advances every cloth's clock and packs the frame's constants; [`ReferenceEngine::run_part`] then simulates it.
    ///
    /// # Errors
    /// [`ModelError`] if the frame is out of range for a cloth; then no cloth's time advances.
    pub fn begin_frame(&mut self, frame: &Frame) -> Result<(), ModelError> {
        self.update_colliders(frame)?;
        self.cloths.values_mut().iter_mut().for_each(|cloth| cloth.begin_frame(frame, true));
        self.colliders.end_frame();
        Ok(())
    }

    /// Passes changes of the colliders to every cloth, if the frame is in range for all.
    fn update_colliders(&mut self, frame: &Frame) -> Result<(), ModelError> {
        self.cloths.values().iter().try_for_each(|cloth| cloth.host.validate_frame(frame))?;
        let Self { cloths, colliders, .. } = self;
        cloths
            .values_mut()
            .par_iter_mut()
            .try_for_each(|cloth| cloth.host.update_colliders(colliders, frame.dt))
    }

    #[cfg(feature = "testing")]
    /// Simulates a part of the begun frame of one cloth with a given team.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn run_part(
        &mut self,
        id: ClothId,
        part: &FramePart,
        team: &mut impl Workers<Kept = W::Kept>,
    ) -> Result<(), NoSuchCloth> {
        self.cloths.get_mut(id).map(|cloth| cloth.run_part(part, team))
    }

    /// Position \[m\] and working inverse mass [1/kg] of every particle; empty if there is no such cloth.
    pub fn current(&self, id: ClothId) -> &[Particle] {
        self.cloths.get(id).map_or(&[], |cloth| Particle::from_rows(&cloth.current))
    }

    /// Position one iteration ago \[m\] and the user's inverse mass [1/kg] of every particle; empty if there is no such cloth.
    pub fn previous(&self, id: ClothId) -> &[Particle] {
        self.cloths.get(id).map_or(&[], |cloth| Particle::from_rows(&cloth.previous))
    }

    #[cfg(feature = "testing")]
    /// Replaces the whole state of a cloth, for tests that start from a given state.
    ///
    /// # Errors
    /// [`HostError`] if there is no such cloth or a length is wrong.
    pub fn set_state(
        &mut self,
        id: ClothId,
        current: &[Particle],
        previous: &[Particle],
    ) -> Result<(), HostError> {
        let cloth = self.cloths.get_mut(id)?;
        let expected = cloth.current.len();
        for len in [current.len(), previous.len()] {
            if len != expected {
                return Err(poplin_model::ModelError::Length {
                    what: "cloth state",
                    len,
                    expected,
                }
                .into());
            }
        }
        cloth.current.copy_from_slice(Particle::rows(current));
        cloth.previous.copy_from_slice(Particle::rows(previous));
        Ok(())
    }

    /// What the last frame did to the rigid bodies that the cloth meets; nothing if the cloth was not simulated.
    pub fn body_impulses(&self, id: ClothId) -> ClothImpulses {
        self.cloths.get(id).map(CpuCloth::body_impulses).unwrap_or_default()
    }

    /// Faults and counters; those of a new cloth if there is no such cloth.
    pub fn feedback(&self, id: ClothId) -> Feedback {
        self.cloths.get(id).map_or_else(|_| Feedback::default(), |cloth| cloth.feedback)
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
        };
        let parts = ids.iter().zip(&cloths).map(part);
        Ok(State::new(
            all(|cloth| Particle::from_rows(&cloth.current)),
            all(|cloth| Particle::from_rows(&cloth.previous)),
            parts,
        ))
    }
}

impl<W: Workers + Default> Engine for LaneEngine<W> {
    type Error = HostError;
    type Reading = Ready;

    fn add(&mut self, cloth: Cloth) -> Result<ClothId, HostError> {
        let host = HostCloth::new(cloth)?;
        let fabric = self.acquire_fabric(&host.cloth().fabric);
        let placement = ClothPlacement {
            cloth: 0,
            particle_begin: 0,
            particle_count: host.cloth().particle_count() as u32,
            scratch_begin: 0,
            input_begin: 0,
            fabric: fabric.offsets,
        };
        Ok(self.cloths.insert(CpuCloth {
            current: Particle::rows(host.initial_current()).to_vec(),
            previous: cast_vec(host.initial_previous()),
            scratch: Vec::new(),
            kept: W::Kept::default(),
            arrays: FrameArrays::default(),
            feedback: Feedback::default(),
            is_simulated: false,
            bodies: FrameBodies::default(),
            host,
            fabric,
            placement,
            inputs: Vec::new(),
        }))
    }

    fn clone_cloth(&mut self, id: ClothId, count: usize) -> Result<Vec<ClothId>, HostError> {
        let fabric = self.cloths.get(id)?.host.cloth().fabric.clone();
        let copy = |_| {
            self.acquire_fabric(&fabric);
            let source = self.cloths.get(id)?;
            let copy = CpuCloth {
                host: source.host.copy(),
                is_simulated: false,
                inputs: Vec::new(),
                kept: W::Kept::default(),
                arrays: FrameArrays::default(),
                ..source.clone()
            };
            Ok(self.cloths.insert(copy))
        };
        (0..count).map(copy).collect()
    }

    fn remove(&mut self, id: ClothId) -> Result<(), HostError> {
        let cloth = self.cloths.remove(id)?;
        self.fabrics.release(&cloth.host.cloth().fabric);
        Ok(())
    }

    fn clear(&mut self) {
        self.cloths.clear();
        self.fabrics.clear();
    }

    fn reset(&mut self, id: ClothId) -> Result<(), HostError> {
        let cloth = self.cloths.get_mut(id)?;
        cloth.host.reset();
        cloth.current.copy_from_slice(Particle::rows(cloth.host.initial_current()));
        cloth.previous = cast_vec(cloth.host.initial_previous());
        cloth.feedback = Feedback::default();
        cloth.is_simulated = false;
        Ok(())
    }

    fn set_particles(
        &mut self,
        id: ClothId,
        particles: &[Particle],
        motion: ParticleMotion<'_>,
    ) -> Result<(), HostError> {
        let cloth = self.cloths.get_mut(id)?;
        cloth.previous = cast_vec(cloth.host.set_particles(particles, motion)?);
        cloth.current.copy_from_slice(Particle::rows(particles));
        (cloth.feedback.fault_count, cloth.feedback.fault_particle) = (0, NO_OFFSET);
        Ok(())
    }

    fn step(&mut self, frame: &Frame) -> Result<(), HostError> {
        self.update_colliders(frame)?;
        self.find_contacts(frame);
        if self.contacts.slice_count() > 0 {
            self.step_in_slices(frame);
        } else {
            self.cloths.values_mut().par_iter_mut().for_each_init(W::default, |workers, cloth| {
                cloth.begin_frame(frame, true);
                cloth.run_part(&FramePart::WHOLE, workers);
            });
        }
        self.colliders.end_frame();
        Ok(())
    }

    fn wait(&mut self) -> Result<(), HostError> {
        Ok(())
    }

    fn begin_read(&mut self, ids: &[ClothId]) -> Result<Ready, HostError> {
        Ok(Ready::new(self.state_of(ids)?))
    }

    fn read(&mut self, id: ClothId) -> Result<State, HostError> {
        Ok(self.state_of(&[id])?)
    }

    fn state(&mut self) -> Result<State, HostError> {
        Ok(self.state_of(self.cloths.ids())?)
    }

    fn ids(&self) -> &[ClothId] {
        self.cloths.ids()
    }

    fn cloth(&self, id: ClothId) -> Result<&LiveCloth, NoSuchCloth> {
        Ok(self.cloths.get(id)?.host.live())
    }

    fn cloth_mut(&mut self, id: ClothId) -> Result<&mut LiveCloth, NoSuchCloth> {
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

    /// A frame simulated in parts ([`ReferenceEngine::run_part`]) leaves collision between cloths out.
    fn set_cloth_contact_solver(&mut self, settings: ClothContactSolver) -> Result<(), HostError> {
        settings.validate()?;
        self.cloth_collision = settings;
        Ok(())
    }

    fn memory_bytes(&self) -> u64 {
        let cloths: usize =
            self.cloths.values().iter().map(|cloth| cloth.size() + W::kept_size(&cloth.kept)).sum();
        let fabrics: usize =
            self.fabrics.values().map(|fabric| size_of_val(fabric.pool.as_slice())).sum();
        (cloths + fabrics + self.contact_memory.size()) as u64
    }
}
