//! The engine: cloths in, a recorded frame out.

mod add;
mod contacts;
mod frame;

use crate::GpuError;
use crate::growable::GrowableBuffer;
use crate::pipelines::Pipelines;
use crate::requirements::{check_device, tier_limits};
use bytemuck::cast_slice;
use poplin_host::{HostCloth, LoopTrips, TierLimits};
use poplin_layout::{
    ClothParameters, ClothPlacement, DispatchParameters, FabricOffsets, Feedback, FrameArrays,
    MemoryTier,
};
use poplin_model::Fabric;
use poplin_shaders::OverrideValues;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Number of a cloth in its engine, in the order of adding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClothId(pub usize);

/// Choices at the engine's creation.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Puts every cloth in this tier, for tests and measurements; must fit. Default: the fastest that fits each cloth.
    pub tier: Option<MemoryTier>,
    /// Lanes of every workgroup, for tests and measurements; one of [`poplin_host::LANE_COUNTS`]. Default: by cloth.
    pub lane_count: Option<u32>,
    /// More usages of the particle buffer than STORAGE, VERTEX, COPY_SRC and COPY_DST. Default: none.
    pub particle_usages: wgpu::BufferUsages,
    /// Frames that may be recorded before one of them is submitted, `1..=64`. Default: 1.
    ///
    /// While a recorded frame is not yet submitted, add no cloth and give none more colliders than before: a buffer that must
    /// grow is copied at once, without what that frame will write.
    pub frames_per_submit: usize,
    /// Loop trips per lane after which a frame is cut into more dispatches of the same kernel: keeps operating systems'
    /// watchdogs away. Default: 1,000,000, about 0.1 s on a slow GPU.
    pub trips_per_dispatch: u64,
    /// Loop trips per lane at which the driver stops without a word, as the loop canary found. Default: none.
    pub loop_limit: Option<u64>,
    /// Compiles the pipeline of a set of stages when a frame first needs it, not when a cloth is added: for tests that run only
    /// parts of frames. Default: false, so that no frame waits for a compiler.
    pub lazy_pipelines: bool,
    /// Replaces the composed kernel, for negative controls of tests.
    pub shader_text: Option<String>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            tier: None,
            lane_count: None,
            particle_usages: wgpu::BufferUsages::empty(),
            frames_per_submit: 1,
            trips_per_dispatch: 1_000_000,
            loop_limit: None,
            lazy_pipelines: false,
            shader_text: None,
        }
    }
}

struct GpuCloth {
    host: HostCloth,
    placement: ClothPlacement,
    /// Vec4 of its parts of `input_pool` and `scratch`.
    input_capacity: u32,
    scratch_capacity: u32,
    /// Where the last frame's impulses on bodies are in `scratch` [vec4].
    impulse_rows: Range<u32>,
    tier: MemoryTier,
    lane_count: u32,
    loop_trips: LoopTrips,
    trips: u64,
    bucket: OverrideValues,
}

impl GpuCloth {
    /// Loop trips of a lane in one iteration with the present settings.
    fn trips_per_iteration(&self) -> u64 {
        self.loop_trips.of(&self.host.cloth().phase_configs, &self.host)
    }
}

/// A write that belongs to a frame: it is copied from the frame's uploads in the caller's encoder, so that frames recorded
/// before one submission do not see each other's inputs.
struct Copy {
    /// Into the particle buffer, else into the input pool.
    to_particles: bool,
    source: u64,
    destination: u64,
    len: u64,
}

/// Buffers of one frame that may be in flight before submission.
struct FrameSlot {
    dispatches: GrowableBuffer,
    cloth_parameters: GrowableBuffer,
    frame_pool: GrowableBuffer,
    uploads: GrowableBuffer,
    bind_group: Option<wgpu::BindGroup>,
    contacts: contacts::ContactSlot,
}

/// A dispatch of the cloth kernel: its pipeline and its uniform.
type Dispatch = (OverrideValues, DispatchParameters);

/// Cloths of one bucket that are awake in the begun frame.
struct ActiveBucket {
    values: OverrideValues,
    cloths: Range<u32>,
    trips: u64,
}

/// Bytes of one report.
pub(crate) const FEEDBACK_BYTES: u64 = size_of::<Feedback>() as u64;

/// Simulates cloths on a device that the application owns.
pub struct Engine {
    device: wgpu::Device,
    queue: wgpu::Queue,
    options: EngineOptions,
    tier_limits: TierLimits,
    pipelines: Pipelines,
    cloths: Vec<GpuCloth>,
    fabrics: Vec<(Arc<Fabric>, FabricOffsets)>,
    fabric_pool: GrowableBuffer,
    input_pool: GrowableBuffer,
    current: GrowableBuffer,
    previous: GrowableBuffer,
    scratch: GrowableBuffer,
    feedback: GrowableBuffer,
    slots: Vec<FrameSlot>,
    next_slot: usize,
    buckets: BTreeMap<OverrideValues, Vec<usize>>,
    arrays: FrameArrays,
    active: Vec<ActiveBucket>,
    part_frames: Vec<ClothParameters>,
    dispatch_bytes: Vec<u8>,
    upload_bytes: Vec<u8>,
    copies: Vec<Copy>,
    contacts: contacts::Contacts,
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
        let storage = wgpu::BufferUsages::STORAGE;
        let particles = storage | wgpu::BufferUsages::VERTEX | options.particle_usages;
        let new = |name, usage| GrowableBuffer::new(device, name, usage);
        let slot = |_| FrameSlot {
            dispatches: new(
                "poplin.simulate_cloth.dispatch_parameters",
                wgpu::BufferUsages::UNIFORM,
            ),
            cloth_parameters: new("poplin.simulate_cloth.cloth_parameters", storage),
            frame_pool: new("poplin.simulate_cloth.frame_pool", storage),
            uploads: new("poplin.simulate_cloth.uploads", wgpu::BufferUsages::empty()),
            bind_group: None,
            contacts: contacts::ContactSlot::new(device),
        };
        Ok(Self {
            contacts: contacts::Contacts::new(device),
            tier_limits: tier_limits(&device.limits()),
            pipelines: Pipelines::new(device, options.shader_text.as_deref()),
            cloths: Vec::new(),
            fabrics: Vec::new(),
            fabric_pool: new("poplin.simulate_cloth.fabric_pool", storage),
            input_pool: new("poplin.simulate_cloth.input_pool", storage),
            current: new("poplin.simulate_cloth.current", particles),
            previous: new("poplin.simulate_cloth.previous", particles),
            scratch: new("poplin.simulate_cloth.scratch", storage),
            feedback: new("poplin.simulate_cloth.feedback", storage),
            slots: (0..options.frames_per_submit.clamp(1, 64)).map(slot).collect(),
            next_slot: 0,
            buckets: BTreeMap::new(),
            arrays: FrameArrays::default(),
            active: Vec::new(),
            part_frames: Vec::new(),
            dispatch_bytes: Vec::new(),
            upload_bytes: Vec::new(),
            copies: Vec::new(),
            device: device.clone(),
            queue: queue.clone(),
            options,
        })
    }

    /// Number of cloths.
    pub fn cloth_count(&self) -> usize {
        self.cloths.len()
    }

    fn get(&self, id: ClothId) -> Result<&GpuCloth, GpuError> {
        let count = self.cloths.len();
        self.cloths.get(id.0).ok_or(GpuError::NoSuchCloth { cloth: id.0, count })
    }

    /// A cloth's host side: settings, inputs, local frame.
    ///
    /// # Errors
    /// [`GpuError::NoSuchCloth`].
    pub fn cloth(&self, id: ClothId) -> Result<&HostCloth, GpuError> {
        Ok(&self.get(id)?.host)
    }

    /// A cloth's host side, to change settings and inputs; they act from the next recorded frame on.
    ///
    /// # Errors
    /// [`GpuError::NoSuchCloth`].
    pub fn cloth_mut(&mut self, id: ClothId) -> Result<&mut HostCloth, GpuError> {
        let count = self.cloths.len();
        let cloth =
            self.cloths.get_mut(id.0).ok_or(GpuError::NoSuchCloth { cloth: id.0, count })?;
        Ok(&mut cloth.host)
    }

    /// The tier and lanes that a cloth runs with.
    ///
    /// # Errors
    /// [`GpuError::NoSuchCloth`].
    pub fn tier(&self, id: ClothId) -> Result<(MemoryTier, u32), GpuError> {
        self.get(id).map(|cloth| (cloth.tier, cloth.lane_count))
    }

    /// Particles of all cloths, 16 bytes each: position \[m\], working inverse mass [1/kg]. A vertex and storage buffer.
    /// It is replaced when an added cloth does not fit.
    pub fn particle_buffer(&self) -> &wgpu::Buffer {
        self.current.buffer()
    }

    /// Positions one iteration ago and the user's inverse masses, laid out as [`Engine::particle_buffer`].
    pub fn previous_particle_buffer(&self) -> &wgpu::Buffer {
        self.previous.buffer()
    }

    /// Counters and faults, one [`Feedback`] per cloth.
    pub fn feedback_buffer(&self) -> &wgpu::Buffer {
        self.feedback.buffer()
    }

    /// Particles of one cloth in [`Engine::particle_buffer`], as indices.
    ///
    /// # Errors
    /// [`GpuError::NoSuchCloth`].
    pub fn particle_range(&self, id: ClothId) -> Result<Range<u32>, GpuError> {
        let cloth = self.get(id)?;
        Ok(cloth.placement.particle_begin
            ..cloth.placement.particle_begin + cloth.placement.particle_count)
    }

    /// Working memory of the kernel, with the impulses on bodies.
    pub(crate) fn scratch_buffer(&self) -> &wgpu::Buffer {
        self.scratch.buffer()
    }

    /// Where the last recorded frame leaves the impulses on a cloth's bodies in the scratch buffer [vec4].
    pub(crate) fn impulse_rows(&self, id: ClothId) -> Range<u32> {
        self.get(id).map_or(0..0, |cloth| cloth.impulse_rows.clone())
    }

    /// Particles of all cloths together.
    pub fn particle_count(&self) -> u32 {
        (self.current.len() / 16) as u32
    }

    /// The device that the engine works on.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Replaces the whole state of a cloth, for tests that start from a given state.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such cloth or a length is wrong.
    pub fn set_state(
        &mut self,
        id: ClothId,
        current: &[[f32; 4]],
        previous: &[[f32; 4]],
    ) -> Result<(), GpuError> {
        let placement = self.get(id)?.placement;
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
        let offset = 16 * u64::from(placement.particle_begin);
        self.queue.write_buffer(self.current.buffer(), offset, cast_slice(current));
        self.queue.write_buffer(self.previous.buffer(), offset, cast_slice(previous));
        Ok(())
    }
}
