//! The engine: cloths in, a recorded frame out.

mod add;
mod changes;
mod contacts;
mod frame;
mod lanes;
mod lifecycle;
mod packer;
mod rows;
mod save;
mod triangles;
mod visits;

use crate::Compilation;
use crate::GpuError;
use crate::adapters::is_software;
use crate::crossings::{CrossingLog, CrossingScene};
use crate::growable::GrowableBuffer;
use crate::pipelines::Pipelines;
use crate::pool::Pool;
use crate::requirements::{check_device, tier_limits};
use lanes::{LaneChoice, Lanes};
use poplin_host::{
    ClothId, Cloths, FrameBodies, HostCloth, LiveCloth, NoSuchCloth, SharedFabrics, TierLimits,
};
use poplin_layout::{
    ClothParameters, ClothPlacement, DispatchParameters, FabricOffsets, Feedback, FrameArrays,
    MemoryTier, StageMask,
};
use poplin_model::{ColliderSet, ColliderStamps};
use poplin_shaders::{Kernel, OverrideValues};
pub use save::PendingSnapshot;
use std::collections::BTreeMap;
#[cfg(feature = "testing")]
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
pub(crate) use triangles::REPORT_BYTES;

/// Choices at the engine's creation.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Puts every cloth in this tier, for tests and measurements; must fit. Default: the fastest that fits each cloth.
    pub tier: Option<MemoryTier>,
    /// Lanes of every workgroup, for tests and measurements; one of [`poplin_host::LANE_COUNTS`]. Default: by cloth; on a software
    /// adapter, which runs one after the other, the fewest that stay within [`EngineOptions::loop_limit`].
    pub lane_count: Option<u32>,
    /// More usages of the particle buffer than STORAGE, VERTEX, COPY_SRC and COPY_DST. Default: none.
    pub particle_usages: wgpu::BufferUsages,
    /// Frames that may be recorded before one of them is submitted, `1..=64`. Default: 4, as many as a default
    /// [`poplin_model::FixedStep`] asks for at once. With more, frames run with the constants of later ones, and a cloth whose
    /// settings change may stand still for good.
    ///
    /// Encoders must be submitted in the order of recording, each once. Cloths may be added, changed and removed in between:
    /// what was recorded keeps its own buffers and its own part of them until it has run.
    pub frames_per_submit: usize,
    /// Loop trips per lane after which a frame is cut into more dispatches of the same kernel: keeps operating systems'
    /// watchdogs away. Default: 300,000, at most 0.1 s on a GPU by a model of its latencies.
    pub trips_per_dispatch: u64,
    /// Loop trips per lane at which the driver stops silently, as the loop canary found. Default: none.
    pub loop_limit: Option<u64>,
    /// Threads of rayon's pool that pack what moved where that are thousands of cloths, at least 1. Default: 1, the caller's own.
    pub threads: usize,
    /// When pipelines are compiled. Default: when cloths are added.
    pub compilation: Compilation,
    /// A cache of compiled pipelines, of a device with [`wgpu::Features::PIPELINE_CACHE`]; what it has grown to is what
    /// [`wgpu::PipelineCache::get_data`] returns, for the application to save. Default: none; drivers have their own.
    pub pipeline_cache: Option<wgpu::PipelineCache>,
    #[cfg(feature = "testing")]
    /// Replaces the composed text of these kernels, for tests of other rounding and of damage. Default: none.
    pub shader_texts: HashMap<Kernel, String>,
    #[cfg(feature = "testing")]
    /// Compiles all parts of the implicit stage into every kernel that has it, for tests of many models: one kernel compiles faster than one
    /// for each. Default: false.
    pub all_implicit_parts: bool,
    #[cfg(feature = "testing")]
    /// No pipeline of cloths is compiled in the background while a test holds it. Default: none.
    pub compile_gate: Option<std::sync::Arc<std::sync::Mutex<()>>>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            tier: None,
            lane_count: None,
            particle_usages: wgpu::BufferUsages::empty(),
            frames_per_submit: 4,
            trips_per_dispatch: 300_000,
            loop_limit: None,
            threads: 1,
            compilation: Compilation::default(),
            pipeline_cache: None,
            #[cfg(feature = "testing")]
            shader_texts: HashMap::new(),
            #[cfg(feature = "testing")]
            all_implicit_parts: false,
            #[cfg(feature = "testing")]
            compile_gate: None,
        }
    }
}

impl EngineOptions {
    #[cfg(feature = "testing")]
    pub(crate) fn replaced_text(&self, kernel: Kernel) -> Option<String> {
        self.shader_texts.get(&kernel).cloned()
    }

    /// The stages that are compiled for a cloth that needs these.
    pub(crate) fn compiled(&self, stages: StageMask) -> StageMask {
        #[cfg(feature = "testing")]
        if self.all_implicit_parts && stages.contains(poplin_layout::Stage::Implicit) {
            return stages.union(StageMask::IMPLICIT_PARTS);
        }
        stages
    }

    #[cfg(not(feature = "testing"))]
    pub(crate) fn replaced_text(&self, _: Kernel) -> Option<String> {
        None
    }
}

// What is read of every changed cloth comes first: thousands of them do not fit into a cache.
#[repr(C)]
struct GpuCloth {
    placement: ClothPlacement,
    /// What the device has of it once all rows are written.
    parameters: ClothParameters,
    /// The count of timed frames when it was last left out of one, if it rests.
    rest_begin: Option<u32>,
    /// In collision between cloths.
    takes_part: bool,
    /// Counts, stages or layouts have changed since they were last taken over.
    has_new_plan: bool,
    /// The device has its parameters.
    is_uploaded: bool,
    /// It stands still in this frame, as its pipeline is not compiled yet.
    is_waiting: bool,
    /// It does, or did in the last one: its frame has not the length that the device has.
    has_other_time: bool,
    host: HostCloth,
    parts: add::Parts,
    /// Where the last frame's impulses on bodies are in `scratch` [vec4].
    impulse_rows: Range<u32>,
    /// Whose impulses they are.
    impulse_bodies: FrameBodies,
    lanes: Lanes,
    bucket: OverrideValues,
    crossings: CrossingLog,
}

impl GpuCloth {
    /// Whether at most writes and moved colliders are new, if the frame is as long as the last one.
    fn is_quick(&self) -> bool {
        let is_plain = self.rest_begin.is_none() && !self.takes_part && !self.has_new_plan;
        is_plain && self.is_uploaded && !self.has_other_time && self.host.is_quick()
    }

    /// Frames it was left out of, of so many timed ones.
    fn skipped_frames(&self, timed_frames: u32) -> u32 {
        let resting = self.rest_begin.map_or(0, |begin| timed_frames.wrapping_sub(begin));
        self.host.skipped_frames().wrapping_add(resting)
    }

    /// What the host has of it, for another location in the buffers.
    fn copied_host(&self, timed_frames: u32) -> HostCloth {
        let mut host = self.host.copy();
        let skipped_frames = self.skipped_frames(timed_frames);
        host.count_skipped(skipped_frames.wrapping_sub(host.skipped_frames()));
        host
    }
}

/// Buffers of one frame that may be in flight before submission: what it writes is scattered from them in the caller's encoder,
/// so that frames recorded before one submission do not see each other's inputs.
struct FrameSlot {
    dispatches: GrowableBuffer,
    rows: rows::RowSlot,
    bind_group: Option<wgpu::BindGroup>,
    contacts: contacts::ContactSlot,
    triangles: triangles::TriangleSlot,
}

impl FrameSlot {
    fn size(&self) -> u64 {
        self.dispatches.size() + self.rows.size() + self.contacts.size() + self.triangles.size()
    }
}

/// A dispatch of the cloth kernel: its pipeline and its uniform.
type Dispatch = (OverrideValues, DispatchParameters);

/// Cloths that run with the same overrides.
#[derive(Default)]
struct Bucket {
    /// All of them by their index, in the order of adding.
    cloths: Vec<usize>,
    /// Slots of those that are dispatched, as the device has them.
    active: Vec<u32>,
    /// Iterations of each of those.
    iteration_counts: Vec<u32>,
    /// Where it has them in the pool of fabrics.
    list: Range<u32>,
    /// Most iterations, and loop trips per iteration, of those.
    iteration_count: u32,
    trips: u64,
    /// Its cloths, or which of them rest, or their iterations or trips have changed.
    is_stale: bool,
}

impl Bucket {
    fn is_active(&self) -> bool {
        !self.active.is_empty()
    }
}

/// Bytes of one report.
pub(crate) const FEEDBACK_BYTES: u64 = size_of::<Feedback>() as u64;

/// Simulates cloths on a device that the application owns.
pub struct Engine {
    device: wgpu::Device,
    queue: wgpu::Queue,
    options: EngineOptions,
    tier_limits: TierLimits,
    lane_choice: LaneChoice,
    pipelines: Pipelines,
    cloths: Cloths<GpuCloth>,
    colliders: ColliderSet,
    /// Where each fabric lies, and all of its part of the pool.
    fabrics: SharedFabrics<(FabricOffsets, Range<u32>)>,
    fabric_pool: Pool<1>,
    input_pool: Pool<1>,
    /// Constants of the frame of each cloth.
    frame_pool: Pool<1>,
    /// What the kernel reads of each cloth, in the slots of `feedback`.
    parameters: GrowableBuffer,
    /// `current` and `previous`.
    particles: Pool<2>,
    scratch: Pool<1>,
    feedback: Pool<1>,
    changes: changes::Changes,
    slots: Vec<FrameSlot>,
    next_slot: usize,
    buckets: BTreeMap<OverrideValues, Bucket>,
    visits: visits::Visits,
    /// The cloths of the begun frame that were visited.
    visited: Vec<usize>,
    /// Length of the last frame, and when its colliders had changed last.
    seen: Option<(u32, ColliderStamps)>,
    /// Those of them that were packed one by one.
    slow: Vec<usize>,
    /// Memory of the lists that are made.
    listed: Vec<u32>,
    packers: Vec<packer::Packer>,
    /// Cloths that take part in collision between cloths.
    participant_count: usize,
    /// A frame was begun, and no cloth removed since.
    is_begun: bool,
    /// Frames begun so far that took time.
    timed_frames: u32,
    arrays: FrameArrays,
    rows: rows::Rows,
    scatter: rows::Scatter,
    dispatches: Vec<Dispatch>,
    dispatch_bytes: Vec<u8>,
    uploaded_bytes: u64,
    contacts: contacts::Contacts,
    triangles: triangles::Triangles,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("cloth_count", &self.cloth_count())
            .field("particle_count", &self.particle_count())
            .field("memory_bytes", &self.memory_bytes())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine without cloths. Ask the adapter for [`crate::required_limits`] when creating the device; WebGPU's default
    /// limits suffice.
    ///
    /// # Errors
    /// [`GpuError::LimitTooLow`] if the device is below the default limits.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        options: EngineOptions,
    ) -> Result<Self, GpuError> {
        check_device(&device.limits())?;
        let tier_limits = tier_limits(&device.limits());
        let is_software = is_software(&device.adapter_info());
        let storage = wgpu::BufferUsages::STORAGE;
        let new = |name, usage| GrowableBuffer::new(device, name, usage);
        let pool = |name, element_bytes| Pool::new(device, [name], storage, element_bytes);
        let slot = |_| FrameSlot {
            dispatches: new(
                "poplin.simulate_cloth.dispatch_parameters",
                wgpu::BufferUsages::UNIFORM,
            ),
            rows: rows::RowSlot::new(device),
            bind_group: None,
            contacts: contacts::ContactSlot::new(device),
            triangles: triangles::TriangleSlot::new(device),
        };
        Ok(Self {
            contacts: contacts::Contacts::new(device),
            triangles: triangles::Triangles::new(device),
            tier_limits,
            lane_choice: LaneChoice::new(&options, tier_limits, is_software),
            pipelines: Pipelines::new(device, &options),
            cloths: Cloths::default(),
            colliders: ColliderSet::new(),
            fabrics: SharedFabrics::default(),
            fabric_pool: pool("poplin.simulate_cloth.fabric_pool", 4),
            input_pool: pool("poplin.simulate_cloth.input_pool", 16),
            frame_pool: pool("poplin.simulate_cloth.frame_pool", 16),
            parameters: new("poplin.simulate_cloth.cloth_parameters", storage),
            particles: Pool::new(
                device,
                ["poplin.simulate_cloth.current", "poplin.simulate_cloth.previous"],
                storage | wgpu::BufferUsages::VERTEX | options.particle_usages,
                16,
            ),
            scratch: pool("poplin.simulate_cloth.scratch", 16),
            feedback: pool("poplin.simulate_cloth.feedback", FEEDBACK_BYTES),
            changes: changes::Changes::default(),
            slots: (0..options.frames_per_submit.clamp(1, 64)).map(slot).collect(),
            next_slot: 0,
            buckets: BTreeMap::new(),
            visits: visits::Visits::default(),
            visited: Vec::new(),
            slow: Vec::new(),
            seen: None,
            listed: Vec::new(),
            packers: packer::packers(options.threads),
            participant_count: 0,
            is_begun: false,
            timed_frames: 0,
            arrays: FrameArrays::default(),
            rows: rows::Rows::default(),
            scatter: rows::Scatter::new(device, &options),
            dispatches: Vec::new(),
            dispatch_bytes: Vec::new(),
            uploaded_bytes: 0,
            device: device.clone(),
            queue: queue.clone(),
            options,
        })
    }

    /// Count of cloths.
    pub fn cloth_count(&self) -> usize {
        self.cloths.len()
    }

    /// The cloths, in the order of adding.
    pub fn ids(&self) -> &[ClothId] {
        self.cloths.ids()
    }

    /// Settings, inputs and pose of a cloth.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn cloth(&self, id: ClothId) -> Result<&LiveCloth, NoSuchCloth> {
        Ok(self.cloths.get(id)?.host.live())
    }

    /// Settings, inputs and pose of a cloth, to change them; changes act from the next recorded frame on.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn cloth_mut(&mut self, id: ClothId) -> Result<&mut LiveCloth, NoSuchCloth> {
        let index = self.cloths.index(id)?;
        self.visits.add(index);
        Ok(self.cloths.values_mut()[index].host.live_mut())
    }

    /// Whether pipelines are being compiled in the background ([`Compilation::Background`]): cloths that need them stand still.
    pub fn is_compiling(&self) -> bool {
        let contact = self.contacts.is_compiling() || self.triangles.is_compiling();
        self.pipelines.is_compiling() || contact
    }

    /// Waits for the pipelines of all cloths as they were added, and as they were at the last frame that was begun.
    pub fn finish_compiling(&mut self) {
        self.pipelines.finish_compiling();
        self.contacts.finish_compiling();
        self.triangles.finish_compiling();
    }

    /// Colliders in world space, shared by all cloths.
    pub fn colliders(&self) -> &ColliderSet {
        &self.colliders
    }

    /// The shared colliders, to add, move and remove some; changes act from the next recorded frame on.
    pub fn colliders_mut(&mut self) -> &mut ColliderSet {
        &mut self.colliders
    }

    /// The tier and lanes that a cloth runs with, as it was added or as of the last frame that was begun.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn tier(&self, id: ClothId) -> Result<(MemoryTier, u32), NoSuchCloth> {
        self.cloths.get(id).map(|cloth| (cloth.bucket.memory.tier, cloth.bucket.lane_count))
    }

    /// Packed fabrics that cloths use \[bytes\]; a fabric that many cloths share counts once.
    pub fn fabric_bytes(&self) -> u64 {
        let lists = self.buckets.values().map(|bucket| bucket.list.len() as u64).sum::<u64>();
        4 * (u64::from(self.fabric_pool.used()) - lists)
    }

    /// Memory on the device that the engine holds for its cloths, used or kept for later, with uploads that wait \[bytes\].
    pub fn memory_bytes(&self) -> u64 {
        let pools =
            [&self.fabric_pool, &self.input_pool, &self.frame_pool, &self.scratch, &self.feedback];
        let slots = self.slots.iter().map(FrameSlot::size).sum::<u64>();
        pools.map(Pool::size).iter().sum::<u64>()
            + self.particles.size()
            + self.parameters.size()
            + slots
            + self.contacts.size()
            + self.triangles.size()
            + self.changes.size()
    }

    /// What the last recorded frame wrote to the device: parameters, inputs and particle writes, without cloths that were added
    /// \[bytes\].
    pub fn uploaded_bytes(&self) -> u64 {
        self.uploaded_bytes
    }

    /// Particles of all cloths, 16 bytes each: position \[m\], working inverse mass [1/kg]. A vertex and storage buffer.
    /// Each cloth has its [`Engine::particle_range`]. The buffer is replaced when an added cloth does not fit; the new one has the
    /// contents once the next recorded frame, or [`Engine::encode_changes`], was submitted.
    pub fn particle_buffer(&self) -> &wgpu::Buffer {
        self.particles.buffer(0)
    }

    /// Positions one iteration ago and the user's inverse masses, laid out as [`Engine::particle_buffer`].
    pub fn previous_particle_buffer(&self) -> &wgpu::Buffer {
        self.particles.buffer(1)
    }

    /// Counters and faults: a [`Feedback`] in the slot of each cloth ([`Engine::feedback_slot`]).
    pub fn feedback_buffer(&self) -> &wgpu::Buffer {
        self.feedback.buffer(0)
    }

    /// Particles of one cloth in [`Engine::particle_buffer`], as indices. They stay there until the cloth is removed.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn particle_range(&self, id: ClothId) -> Result<Range<u32>, NoSuchCloth> {
        self.cloths.get(id).map(|cloth| cloth.parts.particles.clone())
    }

    /// Index of a cloth's report in [`Engine::feedback_buffer`]. It stays until the cloth is removed.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn feedback_slot(&self, id: ClothId) -> Result<u32, NoSuchCloth> {
        self.cloths.get(id).map(|cloth| cloth.placement.cloth)
    }

    /// Working memory of the kernel, with the impulses on bodies.
    pub(crate) fn scratch_buffer(&self) -> &wgpu::Buffer {
        self.scratch.buffer(0)
    }

    /// What is reported of contact of triangles, in the slot of each cloth.
    pub(crate) fn report_buffer(&self) -> &wgpu::Buffer {
        self.triangles.reports.buffer()
    }

    /// What may be crossed in the particles that a read copies, if the last frame had contact of triangles.
    pub(crate) fn crossing_scene(&self) -> Option<CrossingScene> {
        self.triangles.crossing_scene()
    }

    /// What reads find crossed of a cloth.
    pub(crate) fn crossing_log(&self, id: ClothId) -> Result<CrossingLog, NoSuchCloth> {
        self.cloths.get(id).map(|cloth| cloth.crossings.clone())
    }

    /// What contact of triangles holds: count and multipliers on the device, or those of a snapshot that are not there yet, and the
    /// length of their steps \[s\].
    pub(crate) fn multipliers(
        &self,
    ) -> (Option<[&wgpu::Buffer; 2]>, &poplin_host::ContactMultipliers, f32) {
        self.triangles.multipliers()
    }

    /// Where the last recorded frame leaves the impulses on bodies in the scratch buffer [vec4], which bodies they are, and how many
    /// frames the cloth was left out of.
    pub(crate) fn last_frame(
        &self,
        id: ClothId,
    ) -> Result<(Range<u32>, FrameBodies, u32), NoSuchCloth> {
        let cloth = self.cloths.get(id)?;
        let skipped_frames = cloth.skipped_frames(self.timed_frames);
        Ok((cloth.impulse_rows.clone(), cloth.impulse_bodies.clone(), skipped_frames))
    }

    /// Particles of all cloths together.
    pub fn particle_count(&self) -> u32 {
        self.particles.used()
    }

    /// The device that the engine runs on.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    #[cfg(feature = "testing")]
    /// Makes the next frame visit every cloth and pack all of it, for tests that compare it with one that does not.
    pub fn forget_frame(&mut self) {
        self.seen = None;
    }

    #[cfg(feature = "testing")]
    /// Rows of the begun frame that wait to be written, for tests: where each goes, and what it is.
    pub fn waiting_rows(&self) -> impl Iterator<Item = (u32, [u32; 4])> + '_ {
        self.rows.iter()
    }

    #[cfg(feature = "testing")]
    /// Slots of the cloths that the begun frame dispatches, in order, for tests.
    pub fn dispatched_slots(&self) -> Vec<u32> {
        self.buckets.values().flat_map(|bucket| bucket.active.iter().copied()).collect()
    }

    #[cfg(feature = "testing")]
    /// Replaces the whole state of a cloth, for tests that start from a chosen state.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such cloth or a length is wrong.
    pub fn set_state(
        &mut self,
        id: ClothId,
        current: &[poplin_model::Particle],
        previous: &[poplin_model::Particle],
    ) -> Result<(), GpuError> {
        let placement = self.cloths.get(id)?.placement;
        let expected = placement.particle_count as usize;
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
        self.write_particles(&placement, current, previous);
        Ok(())
    }
}
