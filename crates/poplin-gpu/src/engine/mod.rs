//! GPU engine: cloths and their simulation recorded into command encoders.

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

/// Options of an [`Engine`].
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Forces every cloth into this tier, which must fit; for tests and measurements. Default: the
    /// fastest tier that fits each cloth.
    pub tier: Option<MemoryTier>,
    /// Lanes of every workgroup, one of [`poplin_host::LANE_COUNTS`]; for tests and measurements.
    /// Default: chosen per cloth; on a software adapter, which runs lanes one after another, the
    /// fewest that stay within [`EngineOptions::loop_limit`].
    pub lane_count: Option<u32>,
    /// Additional usages of the particle buffer beyond STORAGE, VERTEX, COPY_SRC and COPY_DST.
    /// Default: none.
    pub particle_usages: wgpu::BufferUsages,
    /// Number of frames that may be recorded before one of them is submitted, `1..=64`. Default: 4,
    /// the most that a default [`poplin_model::FixedStep`] requests at once. If more are recorded,
    /// frames run with the constants of later ones, and a cloth whose settings change may stop
    /// moving for good.
    ///
    /// Encoders must be submitted in the order of recording, each once. Cloths may be added,
    /// changed and removed in between: recorded commands keep their buffers and ranges until they
    /// have run.
    pub frames_per_submit: usize,
    /// Loop trips per lane after which a frame is split into further dispatches of the same kernel,
    /// so that watchdogs of operating systems do not reset the GPU. Default: 300,000, at most 0.1 s
    /// on a GPU according to a latency model.
    pub trips_per_dispatch: u64,
    /// Loop trips per lane at which the driver stops silently, as measured by the loop canary.
    /// Default: none.
    pub loop_limit: Option<u64>,
    /// Number of threads of rayon's pool, at least 1, that pack moved cloths if there are thousands
    /// of them. Default: 1, the caller's thread.
    pub threads: usize,
    /// Time at which pipelines are compiled. Default: when cloths are added.
    pub compilation: Compilation,
    /// Cache of compiled pipelines, created on a device with [`wgpu::Features::PIPELINE_CACHE`];
    /// the application may save [`wgpu::PipelineCache::get_data`] afterwards. Default: none;
    /// drivers have their own.
    pub pipeline_cache: Option<wgpu::PipelineCache>,
    #[cfg(feature = "testing")]
    /// Replaces the composed text of these kernels, for tests with altered rounding or damaged
    /// shaders. Default: none.
    pub shader_texts: HashMap<Kernel, String>,
    #[cfg(feature = "testing")]
    /// Compiles all parts of the implicit stage into every kernel that has it, for tests of many
    /// models: one kernel compiles faster than one per model. Default: false.
    pub all_implicit_parts: bool,
    #[cfg(feature = "testing")]
    /// Lock with which a test blocks background compilation of cloth pipelines. Default: none.
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

    /// Stages that are compiled for a cloth that needs `stages`.
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

// Fields that are read for every changed cloth come first: thousands of cloths do not fit into a
// cache.
#[repr(C)]
struct GpuCloth {
    placement: ClothPlacement,
    /// Parameters on the device, once all pending rows are written.
    parameters: ClothParameters,
    /// Value of `timed_frames` when the cloth began to rest; `None` if it does not rest.
    rest_begin: Option<u32>,
    /// True if the cloth takes part in collision between cloths.
    takes_part: bool,
    /// True if counts, stages or layouts have changed and the plan is not yet updated.
    has_new_plan: bool,
    /// True if the device has the parameters.
    is_uploaded: bool,
    /// True if the cloth stands still in this frame because its pipeline is not compiled yet.
    is_waiting: bool,
    /// True if the cloth waits or waited in the last frame, so that the device has a different
    /// frame length for it.
    has_other_time: bool,
    host: HostCloth,
    parts: add::Parts,
    /// Rows of the last frame's impulses on bodies in `scratch` [vec4].
    impulse_rows: Range<u32>,
    /// Bodies that these impulses act on.
    impulse_bodies: FrameBodies,
    lanes: Lanes,
    bucket: OverrideValues,
    crossings: CrossingLog,
}

impl GpuCloth {
    /// True if only writes and moved colliders may be new, provided the frame is as long as the
    /// last one.
    fn is_quick(&self) -> bool {
        let is_plain = self.rest_begin.is_none() && !self.takes_part && !self.has_new_plan;
        is_plain && self.is_uploaded && !self.has_other_time && self.host.is_quick()
    }

    /// Number of frames in which the cloth was not dispatched, given the present count of timed
    /// frames.
    fn skipped_frames(&self, timed_frames: u32) -> u32 {
        let resting = self.rest_begin.map_or(0, |begin| timed_frames.wrapping_sub(begin));
        self.host.skipped_frames().wrapping_add(resting)
    }

    /// Copy of the host side for another location in the buffers.
    fn copied_host(&self, timed_frames: u32) -> HostCloth {
        let mut host = self.host.copy();
        let skipped_frames = self.skipped_frames(timed_frames);
        host.count_skipped(skipped_frames.wrapping_sub(host.skipped_frames()));
        host
    }
}

/// Buffers of one frame that may be in flight before submission. Its writes are scattered from them
/// in the caller's encoder, so that frames recorded before one submission do not overwrite each
/// other's inputs.
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

/// Pipeline and uniform of a dispatch of the cloth kernel.
type Dispatch = (OverrideValues, DispatchParameters);

/// Cloths that run with the same pipeline overrides.
#[derive(Default)]
struct Bucket {
    /// Indices of all its cloths, in the order of adding.
    cloths: Vec<usize>,
    /// Slots of the dispatched cloths, as on the device.
    active: Vec<u32>,
    /// Iteration count of each dispatched cloth.
    iteration_counts: Vec<u32>,
    /// Range of the `active` list in the pool of fabrics.
    list: Range<u32>,
    /// Largest iteration count of the dispatched cloths.
    iteration_count: u32,
    /// Largest number of loop trips per iteration of the dispatched cloths.
    trips: u64,
    /// True if membership, rest state, iterations or trip counts have changed.
    is_stale: bool,
}

impl Bucket {
    fn is_active(&self) -> bool {
        !self.active.is_empty()
    }
}

/// Size of one report \[bytes\].
pub(crate) const FEEDBACK_BYTES: u64 = size_of::<Feedback>() as u64;

/// Simulates cloths on a device of the application.
pub struct Engine {
    device: wgpu::Device,
    queue: wgpu::Queue,
    options: EngineOptions,
    tier_limits: TierLimits,
    lane_choice: LaneChoice,
    pipelines: Pipelines,
    cloths: Cloths<GpuCloth>,
    colliders: ColliderSet,
    /// Offsets of each fabric, and its whole range in the pool.
    fabrics: SharedFabrics<(FabricOffsets, Range<u32>)>,
    fabric_pool: Pool<1>,
    input_pool: Pool<1>,
    /// Frame constants of each cloth.
    frame_pool: Pool<1>,
    /// Kernel parameters of each cloth, indexed by slot like `feedback`.
    parameters: GrowableBuffer,
    /// Buffers `current` and `previous`.
    particles: Pool<2>,
    scratch: Pool<1>,
    feedback: Pool<1>,
    changes: changes::PendingChanges,
    slots: Vec<FrameSlot>,
    next_slot: usize,
    buckets: BTreeMap<OverrideValues, Bucket>,
    visits: visits::Visits,
    /// Indices of the cloths that the begun frame visited.
    visited: Vec<usize>,
    /// Length of the last frame (bits) and stamps of its colliders.
    seen: Option<(u32, ColliderStamps)>,
    /// Visited cloths that need the full packing path.
    slow: Vec<usize>,
    /// Scratch memory for building lists.
    listed: Vec<u32>,
    packers: Vec<packer::Packer>,
    /// Number of cloths in collision between cloths.
    participant_count: usize,
    /// True if a frame was begun and no cloth removed since.
    is_begun: bool,
    /// Number of frames begun so far that took time.
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
    /// Creates an engine without cloths. Request [`crate::required_limits`] when creating the
    /// device; WebGPU's default limits suffice.
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
            changes: changes::PendingChanges::default(),
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

    /// Number of cloths.
    pub fn cloth_count(&self) -> usize {
        self.cloths.len()
    }

    /// Handles of the cloths, in the order of adding.
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

    /// Settings, inputs and pose of a cloth, to change them; changes act from the next recorded
    /// frame on.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn cloth_mut(&mut self, id: ClothId) -> Result<&mut LiveCloth, NoSuchCloth> {
        let index = self.cloths.index(id)?;
        self.visits.add(index);
        Ok(self.cloths.values_mut()[index].host.live_mut())
    }

    /// True if pipelines are being compiled in the background ([`Compilation::Background`]); cloths
    /// that need them stand still.
    pub fn is_compiling(&self) -> bool {
        let contact = self.contacts.is_compiling() || self.triangles.is_compiling();
        self.pipelines.is_compiling() || contact
    }

    /// Waits for the pipelines of all cloths in their state at adding or at the last begun frame.
    pub fn finish_compiling(&mut self) {
        self.pipelines.finish_compiling();
        self.contacts.finish_compiling();
        self.triangles.finish_compiling();
    }

    /// Colliders in world space, shared by all cloths.
    pub fn colliders(&self) -> &ColliderSet {
        &self.colliders
    }

    /// Colliders in world space, to add, move and remove colliders; changes act from the next
    /// recorded frame on.
    pub fn colliders_mut(&mut self) -> &mut ColliderSet {
        &mut self.colliders
    }

    /// Memory tier and lane count of a cloth, as of adding or of the last begun frame.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn tier(&self, id: ClothId) -> Result<(MemoryTier, u32), NoSuchCloth> {
        self.cloths.get(id).map(|cloth| (cloth.bucket.memory.tier, cloth.bucket.lane_count))
    }

    /// Size of the packed fabrics in use \[bytes\]; a fabric that many cloths share counts once.
    pub fn fabric_bytes(&self) -> u64 {
        let lists = self.buckets.values().map(|bucket| bucket.list.len() as u64).sum::<u64>();
        // The pool of fabrics also holds the dispatch lists.
        4 * (u64::from(self.fabric_pool.used()) - lists)
    }

    /// Device memory held for cloths \[bytes\], in use or kept for later, including pending
    /// uploads.
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

    /// Size of the parameters, inputs and particle writes that the last recorded frame uploaded
    /// \[bytes\], without added cloths.
    pub fn uploaded_bytes(&self) -> u64 {
        self.uploaded_bytes
    }

    /// Buffer of the particles of all cloths, 16 bytes each: position \[m\], working inverse mass
    /// [1/kg]. It is a vertex and storage buffer in which each cloth has its
    /// [`Engine::particle_range`]. The buffer is replaced when an added cloth does not fit; the new
    /// buffer has the contents once the next recorded frame, or [`Engine::encode_changes`], was
    /// submitted.
    pub fn particle_buffer(&self) -> &wgpu::Buffer {
        self.particles.buffer(0)
    }

    /// Buffer of the positions one iteration ago and the user's inverse masses, laid out like
    /// [`Engine::particle_buffer`].
    pub fn previous_particle_buffer(&self) -> &wgpu::Buffer {
        self.particles.buffer(1)
    }

    /// Buffer of counters and faults: a [`Feedback`] in the slot of each cloth
    /// ([`Engine::feedback_slot`]).
    pub fn feedback_buffer(&self) -> &wgpu::Buffer {
        self.feedback.buffer(0)
    }

    /// Range of a cloth's particles in [`Engine::particle_buffer`], as indices. It stays the same
    /// until the cloth is removed.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn particle_range(&self, id: ClothId) -> Result<Range<u32>, NoSuchCloth> {
        self.cloths.get(id).map(|cloth| cloth.parts.particles.clone())
    }

    /// Index of a cloth's report in [`Engine::feedback_buffer`]. It stays the same until the cloth
    /// is removed.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn feedback_slot(&self, id: ClothId) -> Result<u32, NoSuchCloth> {
        self.cloths.get(id).map(|cloth| cloth.placement.cloth)
    }

    /// Scratch memory of the kernel, which includes the impulses on bodies.
    pub(crate) fn scratch_buffer(&self) -> &wgpu::Buffer {
        self.scratch.buffer(0)
    }

    /// Reports of triangle contact, in the slot of each cloth.
    pub(crate) fn report_buffer(&self) -> &wgpu::Buffer {
        self.triangles.reports.buffer()
    }

    /// Bodies whose crossings a read counts, if the last frame had triangle contact.
    pub(crate) fn crossing_scene(&self) -> Option<CrossingScene> {
        self.triangles.crossing_scene()
    }

    /// Crossings of a cloth that reads have found.
    pub(crate) fn crossing_log(&self, id: ClothId) -> Result<CrossingLog, NoSuchCloth> {
        self.cloths.get(id).map(|cloth| cloth.crossings.clone())
    }

    /// Multipliers of triangle contact: count and multipliers on the device, or those of a snapshot
    /// that are not yet uploaded, and the length of their steps \[s\].
    pub(crate) fn multipliers(
        &self,
    ) -> (Option<[&wgpu::Buffer; 2]>, &poplin_host::ContactMultipliers, f32) {
        self.triangles.multipliers()
    }

    /// Rows of the impulses on bodies in the scratch buffer [vec4] after the last recorded frame,
    /// their bodies, and the number of frames in which the cloth was not dispatched.
    pub(crate) fn last_frame(
        &self,
        id: ClothId,
    ) -> Result<(Range<u32>, FrameBodies, u32), NoSuchCloth> {
        let cloth = self.cloths.get(id)?;
        let skipped_frames = cloth.skipped_frames(self.timed_frames);
        Ok((cloth.impulse_rows.clone(), cloth.impulse_bodies.clone(), skipped_frames))
    }

    /// Number of particles of all cloths.
    pub fn particle_count(&self) -> u32 {
        self.particles.used()
    }

    /// Device on which the engine runs.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    #[cfg(feature = "testing")]
    /// Makes the next frame visit every cloth and pack all of it, for tests that compare both
    /// paths.
    pub fn forget_frame(&mut self) {
        self.seen = None;
    }

    #[cfg(feature = "testing")]
    /// Rows of the begun frame that wait to be written, as address and value; for tests.
    pub fn waiting_rows(&self) -> impl Iterator<Item = (u32, [u32; 4])> + '_ {
        self.rows.iter()
    }

    #[cfg(feature = "testing")]
    /// Slots of the cloths that the begun frame dispatches, in order; for tests.
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
