//! GPU engine: cloths and their simulation recorded into command encoders.

mod add;
mod buffers;
mod changes;
mod contacts;
mod dispatches;
mod frame;
mod lanes;
mod lifecycle;
mod options;
mod packer;
mod rows;
mod save;
#[cfg(feature = "testing")]
mod testing;
mod triangles;
mod visits;

use crate::Error;
use crate::adapters::is_software;
use crate::crossings::CrossingLog;
use crate::growable::GrowableBuffer;
use crate::pipelines::Pipelines;
use crate::pool::Pool;
use crate::requirements::{check_device, tier_limits};
use crate::scope::built;
use lanes::{LaneChoice, Lanes};
pub use options::EngineOptions;
use poplin_host::{
    Cloth, ClothId, Cloths, FrameBodies, HostCloth, NoSuchCloth, SharedFabrics, TierLimits,
};
use poplin_layout::{
    ClothParameters, ClothPlacement, DispatchParameters, FabricOffsets, Feedback, FrameArrays,
    MemoryTier,
};
use poplin_model::{ColliderSet, ColliderStamps};
use poplin_shaders::OverrideValues;
pub use save::PendingSnapshot;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
pub(crate) use triangles::REPORT_BYTES;

// Fields that are read for every changed cloth come first: thousands of cloths do not fit into a
// cache.
#[repr(C)]
struct GpuCloth {
    placement: ClothPlacement,
    /// Parameters on the device, once all pending rows are written; `None` before the first frame.
    parameters: Option<ClothParameters>,
    /// Value of `timed_frames` when the cloth began to rest; `None` if it does not rest.
    rest_begin: Option<u32>,
    /// True if the cloth takes part in collision between cloths.
    takes_part: bool,
    /// True if the cloth stands still in this frame because its pipeline is not compiled yet.
    is_waiting: bool,
    /// [`HostCloth::revision`] for which ranges, lanes, bucket and `takes_part` were planned.
    planned: Option<u32>,
    host: HostCloth,
    parts: add::Parts,
    /// Rows of the last frame's impulses on bodies in `scratch` \[vec4\].
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
        // Resting and colliding cloths need decisions that only the full path makes.
        self.rest_begin.is_none() && !self.takes_part && self.host.is_quick()
    }

    /// Number of frames in which the cloth was not dispatched, given the present count of timed
    /// frames.
    fn skipped_frames(&self, timed_frames: u32) -> u32 {
        // The present rest is not yet added to the host's counter.
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
pub struct GpuEngine {
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
    /// Indices of those among them that are planned, ascending.
    planned: Vec<usize>,
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

impl fmt::Debug for GpuEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GpuEngine")
            .field("cloth_count", &self.cloth_count())
            .field("particle_count", &self.particle_count())
            .field("memory_bytes", &self.memory_bytes())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl GpuEngine {
    /// Creates an engine without cloths. Request [`crate::required_limits`] when creating the
    /// device; WebGPU's default limits suffice.
    ///
    /// # Errors
    /// [`Error::LimitTooLow`] if the device is below the default limits, [`Error::NotCompiled`] if
    /// it refuses a kernel, [`Error::Device`] if it has no memory.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        options: EngineOptions,
    ) -> Result<Self, Error> {
        built(device, || Self::build(device, queue, options))
    }

    fn build(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        options: EngineOptions,
    ) -> Result<Self, Error> {
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
            // One slot per frame in flight before a submission.
            slots: (0..options.frames_per_submit.clamp(1, 64)).map(slot).collect(),
            next_slot: 0,
            buckets: BTreeMap::new(),
            visits: visits::Visits::default(),
            visited: Vec::new(),
            planned: Vec::new(),
            slow: Vec::new(),
            seen: None,
            listed: Vec::new(),
            packers: packer::packers(options.threads),
            participant_count: 0,
            is_begun: false,
            timed_frames: 0,
            arrays: FrameArrays::default(),
            rows: rows::Rows::default(),
            scatter: rows::Scatter::new(device, &options)?,
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
    pub fn cloth(&self, id: ClothId) -> Result<&Cloth, NoSuchCloth> {
        Ok(self.cloths.get(id)?.host.live())
    }

    /// Settings, inputs and pose of a cloth, to change them; changes act from the next recorded
    /// frame on.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn cloth_mut(&mut self, id: ClothId) -> Result<&mut Cloth, NoSuchCloth> {
        let index = self.cloths.index(id)?;
        self.visits.add(index);
        Ok(self.cloths.values_mut()[index].host.live_mut())
    }

    /// True if pipelines are being compiled in the background ([`crate::Compilation::Background`]);
    /// cloths that need them stand still.
    pub fn is_compiling(&self) -> bool {
        let contact = self.contacts.is_compiling() || self.triangles.is_compiling();
        self.pipelines.is_compiling() || contact
    }

    /// Rejects a frame of cloths whose pipelines were refused.
    fn check_pipelines(&self) -> Result<(), Error> {
        let used = self.buckets.iter().filter(|(_, bucket)| !bucket.cloths.is_empty());
        let mut failures = used.filter_map(|(values, _)| self.pipelines.failure(values));
        failures.next().map_or(Ok(()), |error| Err(error.clone()))
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

    /// Device on which the engine runs.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }
}
