//! The CPU backend: many cloths, in parallel over cloths and within large ones.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrayvec::ArrayVec;
use bytemuck::cast_vec;
use poplin_host::{
    ClothId, ClothImpulses, Cloths, ContactFrame, Engine, FrameBodies, FramePart, HostCloth,
    HostError, LiveCloth, NoSuchCloth, ParticleMotion, Ready, SharedFabrics, Snapshot,
    SnapshotCloth, State, StatePart, takes_part,
};
use poplin_layout::{
    ClothParameters, ClothPlacement, ContactCloth, FabricOffsets, Feedback, FrameArrays, NO_OFFSET,
    PHASE_ROWS, SleepParameters, Stage, StageMask, TRIANGLE_SWEEPS, pack_fabric,
};
use poplin_model::{
    Cloth, ClothContactSolver, ColliderSet, ContactMode, ContactReport, Fabric, Frame, ModelError,
    Particle,
};
use rayon::prelude::*;

use crate::contact::{ContactBody, ContactPasses as _};
#[cfg(feature = "testing")]
use crate::kernel::simulate_cloth;
use crate::memory;
use crate::team::MAX_CLOTHS_AT_ONCE;
use crate::triangle_contact::{ClothInput, TriangleContact};
use crate::{ClothMemory, Member, Parts, Team, Workers};

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
    /// What its scratch keeps from frame to frame, [`HostCloth::kept_rows`]; the rest is the worker's.
    remembered: Vec<[u32; 4]>,
    inputs: Vec<[u32; 4]>,
    /// What its workers keep.
    kept: K,
    feedback: Feedback,
    /// Whether the last frame ran iterations, so that its impulses on bodies are in `remembered`.
    is_simulated: bool,
    /// Whose impulses they are.
    bodies: FrameBodies,
    /// What contact of triangles could not keep apart.
    contact: ContactReport,
}

impl<K> CpuCloth<K> {
    /// `may_rest`: leaves out a cloth that rests; else it sleeps in its kernel.
    fn begin_frame(&mut self, frame: &Frame, may_rest: bool) {
        self.arrays.clear();
        self.is_simulated = false;
        let current = &mut self.current;
        self.host.take_writes(|index, particle| current[index as usize] = particle.into());
        self.host.note_feedback(&self.feedback);
        if may_rest && self.host.is_resting() {
            self.host.skip_frame(frame);
            return;
        }
        let input_len = self.host.input_len() as usize;
        self.inputs.resize(input_len.max(self.inputs.len()), [0; 4]);
        self.remembered.resize(self.host.kept_rows().len().max(self.remembered.len()), [0; 4]);
        let inputs = &mut self.inputs;
        self.host.take_inputs(|offset, values| {
            inputs[offset as usize..][..values.len()].copy_from_slice(values)
        });
        self.is_simulated = self.host.iteration_count(frame) > 0;
        self.bodies = self.host.frame_bodies();
        self.host.pack_frame(frame, &self.placement, &mut self.arrays);
    }

    fn body_impulses(&self) -> ClothImpulses {
        let (rows, begin) = (self.host.body_rows(), self.host.kept_rows().start);
        match self.remembered.get((rows.start - begin) as usize..(rows.end - begin) as usize) {
            Some(rows) if self.is_simulated => {
                self.bodies.impulses(bytemuck::cast_slice(rows), &self.feedback)
            }
            _ => ClothImpulses::default(),
        }
    }

    /// Bytes of its vectors.
    fn size(&self) -> usize {
        let particles = self.current.capacity() + self.previous.capacity();
        let pools = [&self.remembered, &self.inputs, &self.arrays.frame_pool].map(Vec::capacity);
        16 * (particles + pools.iter().sum::<usize>())
            + size_of::<ClothParameters>() * self.arrays.cloth_parameters.capacity()
    }

    /// What its workgroup sees in a part of the frame, if it has begun one.
    fn member<'a>(
        &'a mut self,
        part: &FramePart,
        (cells, scratch): (&'a mut [u32], &'a mut [[u32; 4]]),
    ) -> Option<Member<'a, K>> {
        let cloth = part.restrict(self.arrays.cloth_parameters.first()?);
        let pools = memory::Pools {
            frame_pool: &self.arrays.frame_pool,
            fabric_pool: &self.fabric.pool,
            input_pool: &self.inputs,
        };
        let kept = self.host.kept_rows();
        scratch[kept.start as usize..kept.end as usize]
            .copy_from_slice(&self.remembered[..kept.len()]);
        let state = memory::State {
            current: &mut self.current,
            previous: &mut self.previous,
            scratch,
            cells,
        };
        let memory = ClothMemory::new(cloth, pools, state);
        Some(Member { memory, feedback: &mut self.feedback, kept: &mut self.kept })
    }

    /// Takes over what the next frame finds in its scratch.
    fn remember(&mut self, scratch: &[[u32; 4]]) {
        let kept = self.host.kept_rows();
        self.remembered[..kept.len()]
            .copy_from_slice(&scratch[kept.start as usize..kept.end as usize]);
    }

    /// Buckets of its grid of self collision.
    fn grid_len(&self) -> usize {
        let collides = self.host.stages().contains(Stage::SelfCollide);
        self.arrays
            .cloth_parameters
            .first()
            .filter(|_| collides)
            .map_or(0, |cloth| memory::grid_len(cloth.self_collision.member_count))
    }

    /// The stages that it runs of a part of the frame.
    fn stages(&self, part: &FramePart) -> StageMask {
        self.host.stages().restrict(part.stages)
    }

    #[cfg(feature = "testing")]
    fn run_part(&mut self, part: &FramePart, team: &mut impl Workers<Kept = K>) {
        let stages = self.stages(part);
        let mut working = Working::default();
        let (cells, scratch) = working.room(self.grid_len(), self.scratch_len());
        if let Some(Member { mut memory, feedback, kept }) = self.member(part, (cells, scratch)) {
            team.exchange(kept);
            simulate_cloth(&mut memory, feedback, part.iterations.clone(), stages, team);
            team.exchange(kept);
            self.remember(&working.scratch);
        }
    }

    fn scratch_len(&self) -> usize {
        self.host.scratch_len() as usize
    }

    /// Where it stands among cloths that are simulated together: by fabric, then by the time since their last test for rest.
    fn rank(&self) -> (usize, u32) {
        let is_woken = self
            .arrays
            .cloth_parameters
            .first()
            .is_some_and(|cloth| cloth.sleep.wake_count != self.feedback.wake_count);
        let sleep_time = if is_woken { 0 } else { self.feedback.sleep_time };
        (Arc::as_ptr(&self.fabric) as usize, sleep_time)
    }

    /// Whether its frame and another's differ in values only; see [`Workers::simulate_cloths`].
    fn is_like(&self, other: &Self) -> bool {
        let [Some(a), Some(b)] = [self, other].map(|cloth| cloth.arrays.cloth_parameters.first())
        else {
            return false;
        };
        let shapes = |cloth: &ClothParameters| {
            let shapes = &cloth.colliders;
            [shapes.sphere_count, shapes.capsule_count, shapes.plane_count, shapes.box_count]
        };
        // Every cloth meets its own colliders, as many as the others.
        let sleep = SleepParameters { wake_count: a.sleep.wake_count, ..b.sleep };
        let alike = ClothParameters { sleep, colliders: a.colliders, ..*b };
        let begin = a.phase_begin as usize;
        let phases = begin..begin + (PHASE_ROWS * a.phase_count) as usize;
        self.rank() == other.rank()
            && self.host.stages() == other.host.stages()
            && *a == alike
            && shapes(a) == shapes(b)
            && a.colliders.body_count == b.colliders.body_count
            && self.arrays.frame_pool.get(phases.clone()) == other.arrays.frame_pool.get(phases)
    }
}

/// How many threads simulate each cloth of a frame.
#[derive(Debug, Clone, Copy)]
struct Split {
    threads: usize,
    /// Particles above which a cloth is split.
    above: usize,
    always: bool,
}

impl Split {
    fn parts<W: Workers>(&self, cloth: &CpuCloth<W::Kept>) -> Parts<W> {
        let is_split = self.always || cloth.current.len() > self.above;
        Parts::new(if is_split { self.threads } else { 1 }, self.always)
    }
}

/// Fewest particles of a cloth that several threads simulate: below, threads wait for each other longer than they work.
const MIN_SPLIT_PARTICLES: usize = 2048;

/// Most particles of cloths that are simulated side by side: of larger ones the state of a batch does not fit into the cache of
/// a core.
const MAX_BATCH_PARTICLES: usize = 2048;

/// What cloths need only while they are simulated.
#[derive(Debug, Default)]
struct Working {
    /// Grids of self collision.
    cells: Vec<u32>,
    scratch: Vec<[u32; 4]>,
}

impl Working {
    /// So many buckets and rows.
    fn room(&mut self, cells: usize, rows: usize) -> (&mut [u32], &mut [[u32; 4]]) {
        self.fit(cells, rows);
        (&mut self.cells[..cells], &mut self.scratch[..rows])
    }

    /// Makes it at least as large.
    fn fit(&mut self, cells: usize, rows: usize) {
        self.cells.resize(cells.max(self.cells.len()), 0);
        self.scratch.resize(rows.max(self.scratch.len()), [0; 4]);
    }

    /// Bytes.
    fn size(&self) -> usize {
        4 * self.cells.capacity() + 16 * self.scratch.capacity()
    }
}

/// Simulates a part of the begun frame of cloths that are alike, at most [`MAX_CLOTHS_AT_ONCE`].
fn simulate_alike<W: Workers>(
    workers: &mut W,
    working: &mut Working,
    cloths: &mut [&mut CpuCloth<W::Kept>],
    part: &FramePart,
) {
    let Some(first) = cloths.first() else { return };
    let (stages, grid_len) = (first.stages(part), first.grid_len());
    // Cloths that are alike may differ in how much their meshes take.
    let row_count = cloths.iter().map(|cloth| cloth.scratch_len()).max().unwrap_or(0);
    let (mut cells, mut scratch) = working.room(grid_len * cloths.len(), row_count * cloths.len());
    let mut members = ArrayVec::<_, MAX_CLOTHS_AT_ONCE>::new();
    for cloth in &mut *cloths {
        let (own_cells, other_cells) = std::mem::take(&mut cells).split_at_mut(grid_len);
        let (own_rows, other_rows) = std::mem::take(&mut scratch).split_at_mut(row_count);
        (cells, scratch) = (other_cells, other_rows);
        members.extend(cloth.member(part, (own_cells, own_rows)));
    }
    workers.simulate_cloths(&mut members, part.iterations.clone(), stages);
    drop(members);
    for (cloth, scratch) in cloths.iter_mut().zip(working.scratch.chunks(row_count.max(1))) {
        cloth.remember(scratch);
    }
}

/// An empty vector with the memory of another one, whose items are alike but for how long what they borrow lives.
fn reuse<A, B>(mut items: Vec<A>) -> Vec<B> {
    items.clear();
    // Nothing is left to convert; `collect` keeps the memory.
    items.into_iter().map(|_| unreachable!("the vector is empty")).collect()
}

/// Workers that have no cloth at the moment, with their working memory; kept from frame to frame, as many as ever ran at
/// once.
#[derive(Debug, Default)]
struct Crew<W> {
    idle: Mutex<Vec<(W, Working)>>,
    /// What every worker begins as.
    first: W,
}

impl<W: Workers + Clone + Send + Sync> Crew<W> {
    /// Readies as many workers as run at once, each for the largest of these cloths and the largest batch: so neither their
    /// count nor their memory depends on who takes which.
    fn ready(&mut self, cloths: &[Box<CpuCloth<W::Kept>>]) {
        let Self { idle, first } = self;
        let idle = idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        let count = thread_count().min(cloths.len());
        idle.resize_with(count.max(idle.len()), || (first.clone(), Working::default()));
        let small = cloths.iter().filter(|cloth| cloth.current.len() <= MAX_BATCH_PARTICLES);
        let most = first.cloths_at_once().clamp(1, MAX_CLOTHS_AT_ONCE).min(small.clone().count());
        let (mut cells, mut rows) = (0, 0);
        for cloth in cloths {
            let is_small = cloth.current.len() <= MAX_BATCH_PARTICLES;
            let count = if is_small { most } else { 1 };
            rows = rows.max(count * cloth.scratch_len());
            if cloth.host.has_self_collision() {
                let buckets = memory::grid_len(cloth.host.self_collision_count());
                cells = cells.max(count * buckets);
            }
        }
        let particles = small.map(|cloth| cloth.current.len()).max().unwrap_or(0);
        for (workers, working) in idle {
            working.fit(cells, rows);
            if most > 1 {
                workers.reserve(particles);
            }
        }
    }

    /// Lets all go, with what they needed for cloths that are gone.
    fn dismiss(&mut self) {
        self.idle = Mutex::default();
    }

    /// Calls one that is idle, or a new one.
    fn with_one<T>(&self, run: impl FnOnce(&mut W, &mut Working) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle().pop();
        let (mut workers, mut working) =
            found.unwrap_or_else(|| (self.first.clone(), Working::default()));
        let result = run(&mut workers, &mut working);
        idle().push((workers, working));
        result
    }

    /// Simulates some iterations of the begun frame of all cloths, in parallel, those that are alike together. `order` is
    /// working memory.
    fn simulate(
        &self,
        cloths: &mut [Box<CpuCloth<W::Kept>>],
        order: &mut Vec<&'static mut CpuCloth<W::Kept>>,
        split: Split,
        stages: StageMask,
        iterations_of: impl Fn(&CpuCloth<W::Kept>) -> Range<u32> + Sync,
    ) {
        let begun = |cloth: &&mut Box<CpuCloth<W::Kept>>| !cloth.arrays.cloth_parameters.is_empty();
        let mut sorted = reuse(std::mem::take(order));
        sorted.extend(cloths.iter_mut().filter(begun).map(Box::as_mut));
        sorted.sort_unstable_by_key(|cloth: &&mut CpuCloth<W::Kept>| cloth.rank());
        let cloth_count = sorted.len();
        let most = self.first.cloths_at_once();
        sorted.par_chunk_by_mut(|a, b| a.is_like(b)).for_each(|alike| {
            let Some(first) = alike.first() else { return };
            let iterations = iterations_of(first);
            if iterations.is_empty() {
                return;
            }
            let part = FramePart { iterations, stages, ..FramePart::WHOLE };
            let is_split = split.parts::<W>(first).count() > 1;
            let is_small = !is_split && first.current.len() <= MAX_BATCH_PARTICLES;
            // A batch for every thread, if there are so many threads.
            let threads = (alike.len() * split.threads).div_ceil(cloth_count);
            let most = if is_small { most.clamp(1, MAX_CLOTHS_AT_ONCE) } else { 1 };
            let batch_count = alike.len().div_ceil(most).next_multiple_of(threads);
            alike.par_chunks_mut(alike.len().div_ceil(batch_count)).for_each(|batch| {
                let Some(first) = batch.first() else { return };
                let parts = split.parts(first);
                self.with_one(|workers, working| {
                    workers.in_parts(parts, |workers| {
                        simulate_alike(workers, working, batch, &part);
                    });
                });
            });
        });
        *order = reuse(sorted);
    }

    fn size(&self) -> usize {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.iter().map(|(workers, working)| workers.size() + working.size()).sum()
    }
}

/// Threads that engines on the CPU use together: those of rayon's global pool, or of the pool that the caller runs in.
pub fn thread_count() -> usize {
    rayon::current_num_threads()
}

/// An engine on CPU threads: many cloths in parallel, those that are alike side by side as far as a `W` can; a cloth that would
/// keep the others waiting by several threads.
pub struct LaneEngine<W: Workers> {
    cloths: Cloths<CpuCloth<W::Kept>>,
    fabrics: SharedFabrics<Arc<PackedFabric>>,
    colliders: ColliderSet,
    cloth_collision: ClothContactSolver,
    contacts: ContactFrame,
    contact_memory: Box<W::Contacts>,
    triangles: Box<TriangleContact>,
    crew: Crew<W>,
    /// Empty between frames: memory for the cloths of a frame in the order in which they are simulated.
    order: Vec<&'static mut CpuCloth<W::Kept>>,
    /// Empty between frames: memory for the cloths that meet others.
    bodies: Vec<ContactBody<'static>>,
    /// Parts of every loop, whatever its length, for tests.
    forced_parts: Option<usize>,
}

/// The mirror as an engine: every cloth by a [`Team`] of one lane, or of any in a test.
pub type ReferenceEngine = LaneEngine<Team>;

impl<W: Workers + Default> Default for LaneEngine<W> {
    fn default() -> Self {
        Self::with_workers(W::default())
    }
}

impl<W: Workers> LaneEngine<W> {
    /// An engine without cloths, whose workers all begin as copies of one: a team of fewer lanes than the machine has, say.
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

impl<W: Workers + Clone + Send + Sync> fmt::Debug for LaneEngine<W> {
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
}

impl<W: Workers + Clone + Send + Sync> LaneEngine<W> {
    /// The packed form of a fabric. Fabrics that were cooked apart share it if it is the same: then their cloths are simulated
    /// side by side.
    fn acquire_fabric(&mut self, source: &Arc<Fabric>) -> Arc<PackedFabric> {
        let packed = self.fabrics.get(source).cloned().unwrap_or_else(|| {
            let mut pool = Vec::new();
            let offsets = pack_fabric(source, &mut pool);
            let same = |other: &&Arc<PackedFabric>| other.offsets == offsets && other.pool == pool;
            let same = self.fabrics.values().find(same).cloned();
            same.unwrap_or_else(|| Arc::new(PackedFabric { offsets, pool }))
        });
        let Ok(_) = self.fabrics.acquire(source, || Ok::<_, Infallible>(packed.clone()));
        packed
    }

    /// What contact of triangles did in the last slice of the last frame.
    pub fn triangle_contact(&self) -> &TriangleContact {
        &self.triangles
    }

    #[cfg(feature = "testing")]
    /// State after the last pass of collision between cloths, for tests.
    pub fn contact_memory(&self) -> &W::Contacts {
        &self.contact_memory
    }

    /// A cloth is split if it holds more than half of what a thread has to do: then whole cloths cannot keep threads equally
    /// busy. So at most twice as many cloths are split as there are threads.
    fn split(&self) -> Split {
        let threads = self.forced_parts.unwrap_or_else(thread_count);
        let awake = self.cloths.values().iter().filter(|cloth| !cloth.host.is_resting());
        let total: usize = awake.map(|cloth| cloth.current.len()).sum();
        let above = MIN_SPLIT_PARTICLES.max(total / (2 * threads));
        Split { threads, above, always: self.forced_parts.is_some() }
    }

    #[cfg(feature = "testing")]
    /// Splits every loop that can be split in `count` parts (at least 1), whatever its length, for tests.
    pub fn force_parts(&mut self, count: usize) {
        self.forced_parts = Some(count.max(1));
    }

    /// Determines which cloths may collide in the next frame, and when.
    fn find_contacts(&mut self, frame: &Frame) {
        self.contacts.clear();
        let cloths = self.cloths.values().iter().enumerate();
        let mode = self.cloth_collision.contact;
        for (index, cloth) in cloths.filter(|(_, cloth)| takes_part(&cloth.host, mode)) {
            self.contacts.add(index, &cloth.host, frame, &cloth.placement);
        }
        self.contacts.finish(&self.cloth_collision);
    }

    /// Simulates a frame in slices with a collision of cloths after each.
    fn step_in_slices(&mut self, frame: &Frame) {
        let mode = self.cloth_collision.contact;
        let has_triangles = self.cloth_collision.contact == ContactMode::Triangles;
        if has_triangles {
            let Self { contacts, triangles, colliders, cloths: all, .. } = &mut *self;
            let cloths = all.values();
            let input = |(index, space): (usize, &ContactCloth)| ClothInput {
                host: &cloths[index].host,
                current: &cloths[index].current,
                space: *space,
            };
            let inputs: Vec<_> = contacts
                .indices()
                .zip(&contacts.cloths[contacts.start_begin()..])
                .map(input)
                .collect();
            triangles.begin_frame(&inputs, colliders);
            let cloths = all.values_mut();
            for (body, index) in contacts.indices().enumerate() {
                triangles.report_start(body, &mut cloths[index].contact);
            }
        }
        // Cloths that collide may wake one another: they sleep in their kernel.
        self.cloths
            .values_mut()
            .par_iter_mut()
            .for_each(|cloth| cloth.begin_frame(frame, !takes_part(&cloth.host, mode)));
        let split = self.split();
        let Self { contacts, contact_memory, triangles, cloth_collision, crew, order, .. } = self;
        let step = frame.dt / contacts.largest_count().max(1) as f32;
        // Triangles that meet need no particles that do.
        let stages =
            if has_triangles { StageMask::ALL.without(Stage::SelfCollide) } else { StageMask::ALL };
        let cloths = self.cloths.values_mut();
        for (slice, parameters) in contacts.parameters.iter().enumerate() {
            let slice = slice as u32;
            crew.simulate(cloths, order, split, stages, |cloth| {
                let count = cloth.host.iteration_count(frame);
                let begin = if slice == 0 { 0 } else { contacts.slice_end(count, slice - 1) };
                begin..contacts.slice_end(count, slice)
            });
            let begin = parameters.cloth_begin as usize;
            let rows: &[ContactCloth] =
                &contacts.cloths[begin..begin + parameters.cloth_count as usize];
            let mut members = contacts.indices().peekable();
            let mut bodies = reuse(std::mem::take(&mut self.bodies));
            for (index, cloth) in cloths.iter_mut().enumerate() {
                if members.next_if_eq(&index).is_some() {
                    let (current, previous) =
                        (cloth.current.as_mut_slice(), cloth.previous.as_mut_slice());
                    bodies.push(ContactBody { current, previous, feedback: &mut cloth.feedback });
                }
            }
            if has_triangles {
                triangles.max_rounds = cloth_collision.max_rounds;
                triangles.set_targets(rows, &bodies, contacts.slice_fraction(slice));
                triangles.advance(step, TRIANGLE_SWEEPS * cloth_collision.iterations);
                triangles.write_particles(rows, &mut bodies);
            } else {
                for _ in 0..cloth_collision.iterations {
                    if !contact_memory.pass(&crew.first, parameters, rows, &mut bodies) {
                        break;
                    }
                }
            }
            self.bodies = reuse(bodies);
            if has_triangles {
                for (body, index) in contacts.indices().enumerate() {
                    triangles.report_slice(body, &mut cloths[index].contact);
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
        let Self { cloths, colliders, cloth_collision, .. } = self;
        let contact = &*cloth_collision;
        cloths
            .values_mut()
            .par_iter_mut()
            .try_for_each(|cloth| cloth.host.update_colliders(colliders, contact, frame.dt))
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

    #[cfg(feature = "testing")]
    /// Simulates a part of the begun frame of all cloths with given workers, those that are alike together; returns how many
    /// cloths the largest batch had.
    pub fn run_alike(&mut self, part: &FramePart, workers: &mut W) -> usize {
        let mut working = Working::default();
        let mut cloths: Vec<&mut CpuCloth<W::Kept>> =
            self.cloths.values_mut().iter_mut().map(Box::as_mut).collect();
        cloths.sort_unstable_by_key(|cloth| cloth.rank());
        let mut largest = 0;
        for alike in cloths.chunk_by_mut(|a, b| a.is_like(b)) {
            for batch in alike.chunks_mut(workers.cloths_at_once()) {
                largest = largest.max(batch.len());
                simulate_alike(workers, &mut working, batch, part);
            }
        }
        largest
    }

    #[cfg(feature = "testing")]
    /// As [`Self::run_part`], by a worker that splits loops as [`Self::force_parts`] has set.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn run_part_split(
        &mut self,
        id: ClothId,
        part: &FramePart,
        team: &mut W,
    ) -> Result<(), NoSuchCloth> {
        let split = self.split();
        let cloth = self.cloths.get_mut(id)?;
        team.in_parts(split.parts(cloth), |team| cloth.run_part(part, team));
        Ok(())
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
    /// [`HostError`] if there is no such cloth, a length is wrong or a pinned particle gets mass.
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
        // Parts of a loop rely on it, see `Parts`.
        let masses = cloth.host.cloth().particles.iter().map(|particle| particle.inverse_mass);
        for (index, (mass, (a, b))) in masses.zip(current.iter().zip(previous)).enumerate() {
            let inverse_mass = a.inverse_mass.max(b.inverse_mass);
            if mass == 0.0 && inverse_mass > 0.0 {
                let particle = index as u32;
                return Err(ModelError::PinnedParticle { particle, inverse_mass }.into());
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

    /// Adds a cloth with its particles and report.
    fn insert(&mut self, cloth: SnapshotCloth) -> ClothId {
        let SnapshotCloth { host, current, previous, feedback } = cloth;
        let fabric = self.acquire_fabric(&host.cloth().fabric);
        let placement = ClothPlacement {
            cloth: 0,
            particle_begin: 0,
            particle_count: host.cloth().particle_count() as u32,
            scratch_begin: 0,
            input_begin: 0,
            fabric: fabric.offsets,
        };
        self.cloths.insert(CpuCloth {
            current: cast_vec(current),
            previous: cast_vec(previous),
            remembered: Vec::new(),
            kept: W::Kept::default(),
            arrays: FrameArrays::default(),
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

impl<W: Workers + Clone + Send + Sync> Engine for LaneEngine<W> {
    type Error = HostError;
    type Reading = Ready;

    fn add(&mut self, cloth: Cloth) -> Result<ClothId, HostError> {
        let host = HostCloth::new(cloth)?;
        Ok(self.insert(SnapshotCloth {
            current: host.initial_current().to_vec(),
            previous: host.initial_previous(),
            feedback: Feedback::default(),
            host,
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
                contact: ContactReport::default(),
                ..source.clone()
            };
            Ok(self.cloths.insert(copy))
        };
        (0..count).map(copy).collect()
    }

    fn remove(&mut self, id: ClothId) -> Result<(), HostError> {
        let cloth = self.cloths.remove(id)?;
        self.crew.dismiss();
        self.fabrics.release(&cloth.host.cloth().fabric);
        Ok(())
    }

    fn clear(&mut self) {
        self.cloths.clear();
        self.crew.dismiss();
        self.fabrics.clear();
        self.triangles.forget();
    }

    fn reset(&mut self, id: ClothId) -> Result<(), HostError> {
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
    ) -> Result<(), HostError> {
        let cloth = self.cloths.get_mut(id)?;
        cloth.previous = cast_vec(cloth.host.set_particles(particles, motion)?);
        cloth.current.copy_from_slice(Particle::rows(particles));
        (cloth.feedback.fault_count, cloth.feedback.fault_particle) = (0, NO_OFFSET);
        self.triangles.forget();
        Ok(())
    }

    fn step(&mut self, frame: &Frame) -> Result<(), HostError> {
        self.update_colliders(frame)?;
        self.find_contacts(frame);
        self.crew.ready(self.cloths.values());
        if self.contacts.slice_count() > 0 {
            self.step_in_slices(frame);
        } else {
            let cloths = self.cloths.values_mut();
            cloths.par_iter_mut().for_each(|cloth| cloth.begin_frame(frame, true));
            let split = self.split();
            let Self { cloths, crew, order, .. } = self;
            let (all, whole) = (StageMask::ALL, FramePart::WHOLE.iterations);
            crew.simulate(cloths.values_mut(), order, split, all, |_| whole.clone());
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

    fn save(&mut self) -> Result<Snapshot, HostError> {
        let cloth = |cloth: &CpuCloth<W::Kept>| SnapshotCloth {
            host: cloth.host.copy(),
            current: Particle::from_rows(&cloth.current).to_vec(),
            previous: Particle::from_rows(&cloth.previous).to_vec(),
            feedback: cloth.feedback,
        };
        let cloths = self.cloths.values().iter().map(|it| cloth(it)).collect();
        Ok(Snapshot::new(cloths, self.colliders.clone(), self.cloth_collision)
            .with_multipliers(self.triangles.multipliers()))
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<Vec<ClothId>, HostError> {
        self.clear();
        self.colliders = snapshot.colliders().clone();
        self.cloth_collision = snapshot.cloth_contact_solver();
        self.triangles.set_multipliers(snapshot.multipliers());
        Ok(snapshot.cloths().iter().map(|cloth| self.insert(cloth.clone())).collect())
    }

    fn memory_bytes(&self) -> u64 {
        let cloths: usize =
            self.cloths.values().iter().map(|cloth| cloth.size() + W::kept_size(&cloth.kept)).sum();
        let fabrics: BTreeMap<_, _> = self
            .fabrics
            .values()
            .map(|fabric| (Arc::as_ptr(fabric), size_of_val(fabric.pool.as_slice())))
            .collect();
        let fabrics: usize = fabrics.values().sum();
        (cloths + fabrics + self.contact_memory.size() + self.triangles.size() + self.crew.size())
            as u64
    }
}
