//! The engine: cloths in, a recorded frame out.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{bytes_of, cast_slice};
use poplin_layout::{
    ClothFrame, ClothPlacement, DispatchParameters, FabricOffsets, Feedback, FrameArrays, FramePart, HostCloth, MemoryTier,
    NO_OFFSET, StageMask, TierLimits, choose_lane_count, loop_trips_per_iteration, pack_fabric,
};
use poplin_model::{Cloth, ClothConfig, Fabric, Frame, PhaseConfig};
use poplin_shaders::OverrideValues;

use crate::GpuError;
use crate::growable::GrowableBuffer;
use crate::pipelines::Pipelines;
use crate::requirements::{check_device, tier_limits};

/// Number of a cloth in its engine, in the order of adding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClothId(pub usize);

/// Choices at the engine's creation.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Puts every cloth in this tier, for tests and measurements; must fit. Default: the fastest that fits each cloth.
    pub tier: Option<MemoryTier>,
    /// Lanes of every workgroup, for tests and measurements; one of [`poplin_layout::LANE_COUNTS`]. Default: by cloth.
    pub lane_count: Option<u32>,
    /// More usages of the particle buffer than STORAGE, VERTEX, COPY_SRC and COPY_DST. Default: none.
    pub particle_usages: wgpu::BufferUsages,
    /// Frames that may be recorded before one of them is submitted, `1..=64`. Default: 1.
    pub frames_per_submit: usize,
    /// Loop trips per lane after which a frame is cut into more dispatches of the same kernel: keeps operating systems'
    /// watchdogs away. Default: 1,000,000, about 0.1 s on a slow GPU.
    pub trips_per_dispatch: u64,
    /// Loop trips per lane at which the driver stops without a word, as the loop canary found. Default: none.
    pub loop_limit: Option<u64>,
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
            shader_text: None,
        }
    }
}

struct GpuCloth {
    host: HostCloth,
    placement: ClothPlacement,
    tier: MemoryTier,
    lane_count: u32,
    trips: u64,
    acceleration_slot: Option<u32>,
}

/// Buffers of one frame that may be in flight before submission.
struct FrameSlot {
    dispatches: GrowableBuffer,
    cloth_frames: GrowableBuffer,
    frame_pool: GrowableBuffer,
    bind_group: Option<wgpu::BindGroup>,
}

/// Dynamic offsets of uniform buffers stand at multiples of this on every adapter \[bytes\].
const UNIFORM_STRIDE: u64 = 256;

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
    part_frames: Vec<ClothFrame>,
    dispatch_bytes: Vec<u8>,
}

impl Engine {
    /// An engine without cloths. Ask the adapter for [`crate::required_limits`] when creating the device; WebGPU's default
    /// limits suffice.
    ///
    /// # Errors
    /// [`GpuError::LimitTooLow`] if the device is below the default limits.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue, options: EngineOptions) -> Result<Self, GpuError> {
        check_device(&device.limits())?;
        let storage = wgpu::BufferUsages::STORAGE;
        let particles = storage | wgpu::BufferUsages::VERTEX | options.particle_usages;
        let new = |name, usage| GrowableBuffer::new(device, name, usage);
        let slot = |_| FrameSlot {
            dispatches: new("poplin.simulate_cloth.dispatch_parameters", wgpu::BufferUsages::UNIFORM),
            cloth_frames: new("poplin.simulate_cloth.cloth_frames", storage),
            frame_pool: new("poplin.simulate_cloth.frame_pool", storage),
            bind_group: None,
        };
        Ok(Self {
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
            part_frames: Vec::new(),
            dispatch_bytes: Vec::new(),
            device: device.clone(),
            queue: queue.clone(),
            options,
        })
    }

    /// Adds a cloth. Writes go to the queue and take effect with the next submission; buffers that must grow are copied
    /// by a submission of its own.
    ///
    /// # Errors
    /// [`GpuError`] if the cloth is not valid or too large for the device; nothing is added.
    pub fn add(&mut self, cloth: Cloth) -> Result<ClothId, GpuError> {
        let host = HostCloth::new(cloth)?;
        let particle_count = host.cloth().particle_count() as u32;
        let tier = self.choose_tier(particle_count)?;
        let lane_count = match self.options.lane_count {
            Some(count) => count.min(self.tier_limits.invocations),
            None => choose_lane_count(host.cloth().fabric.widest_set() as u32, particle_count, self.tier_limits),
        };
        let trips = loop_trips_per_iteration(host.cloth(), lane_count);
        if let Some(limit) = self.options.loop_limit.filter(|&limit| trips > limit) {
            return Err(GpuError::LoopTooLong { trips, limit });
        }

        // Everything that can be refused is refused before anything is written.
        let source = host.cloth().fabric.clone();
        let known = self.fabrics.iter().find(|(fabric, _)| Arc::ptr_eq(fabric, &source)).map(|(_, offsets)| *offsets);
        let mut packed = Vec::new();
        let fabric = match known {
            Some(offsets) => offsets,
            None => pack_fabric(&source, &mut packed).moved_by((self.fabric_pool.len() / 4) as u32),
        };
        let accelerations = host.packed_accelerations();
        let particle_bytes = self.current.len() + 16 * u64::from(particle_count);
        let fabric_begin = self.fabric_pool.len();
        let input_begin = self.input_pool.len();
        let cloth = self.cloths.len() as u32;
        let wanted = [
            (&self.current, particle_bytes),
            (&self.previous, particle_bytes),
            (&self.fabric_pool, fabric_begin + 4 * packed.len() as u64),
            (&self.input_pool, input_begin + 16 * accelerations.len() as u64),
            (&self.scratch, self.scratch.len() + 16 * u64::from(fabric.anchor_count)),
            (&self.feedback, 16 * (u64::from(cloth) + 1)),
        ];
        wanted.iter().try_for_each(|(buffer, len)| buffer.check(&self.device, *len))?;

        let placement = ClothPlacement {
            cloth,
            particle_begin: (self.current.len() / 16) as u32,
            particle_count,
            scratch_begin: (self.scratch.len() / 16) as u32,
            acceleration_begin: if accelerations.is_empty() { NO_OFFSET } else { (input_begin / 16) as u32 },
            fabric,
        };
        if known.is_none() {
            self.fabrics.push((source, fabric));
        }
        let lens = wanted.map(|(_, len)| len);
        self.grow(lens);
        let particle_offset = 16 * u64::from(placement.particle_begin);
        self.queue.write_buffer(self.current.buffer(), particle_offset, cast_slice(host.initial_current()));
        self.queue.write_buffer(self.previous.buffer(), particle_offset, cast_slice(&host.initial_previous()));
        self.queue.write_buffer(self.fabric_pool.buffer(), fabric_begin, cast_slice(&packed));
        self.queue.write_buffer(self.input_pool.buffer(), input_begin, cast_slice(&accelerations));
        self.queue.write_buffer(self.feedback.buffer(), 16 * u64::from(cloth), bytes_of(&Feedback::default()));
        let acceleration_slot = (!accelerations.is_empty()).then_some(placement.acceleration_begin);
        self.cloths.push(GpuCloth { host, placement, tier, lane_count, trips, acceleration_slot });
        self.place_in_bucket(cloth as usize);
        Ok(ClothId(cloth as usize))
    }

    fn choose_tier(&self, particle_count: u32) -> Result<MemoryTier, GpuError> {
        let Some(tier) = self.options.tier else { return Ok(self.tier_limits.choose_tier(particle_count)) };
        match self.tier_limits.particles_in(tier) {
            Some(capacity) if particle_count > capacity => Err(GpuError::TooLarge {
                buffer: "workgroup memory",
                bytes: u64::from(particle_count) * u64::from(tier.bytes_per_particle()),
                limit: u64::from(self.tier_limits.workgroup_bytes),
            }),
            _ => Ok(tier),
        }
    }

    fn grow(&mut self, [current, previous, fabric, input, scratch, feedback]: [u64; 6]) {
        let (device, queue) = (&self.device, &self.queue);
        let replaced = [
            self.current.grow(device, queue, current),
            self.previous.grow(device, queue, previous),
            self.fabric_pool.grow(device, queue, fabric),
            self.input_pool.grow(device, queue, input),
            self.scratch.grow(device, queue, scratch),
            self.feedback.grow(device, queue, feedback),
        ];
        if replaced.contains(&true) {
            self.slots.iter_mut().for_each(|slot| slot.bind_group = None);
        }
    }

    /// Overrides of the kernel that a cloth needs.
    fn override_values(&self, cloth: &GpuCloth) -> OverrideValues {
        // Few capacities, so that few pipelines are built; less workgroup memory lets more workgroups share a core.
        let limit = self.tier_limits.particles_in(cloth.tier).unwrap_or(1);
        let capacity = if cloth.tier == MemoryTier::Streamed {
            1
        } else {
            cloth.placement.particle_count.next_power_of_two().clamp(64, limit.max(64)).min(limit)
        };
        OverrideValues { lane_count: cloth.lane_count, tier: cloth.tier, capacity, stages: cloth.host.stages(&cloth.placement) }
    }

    fn place_in_bucket(&mut self, cloth: usize) {
        self.buckets.values_mut().for_each(|cloths| cloths.retain(|&other| other != cloth));
        let values = self.override_values(&self.cloths[cloth]);
        self.pipelines.prepare(&self.device, values);
        let bucket = self.buckets.entry(values).or_default();
        let place = bucket.partition_point(|&other| other < cloth);
        bucket.insert(place, cloth);
        self.buckets.retain(|_, cloths| !cloths.is_empty());
    }

    fn cloth_mut(&mut self, id: ClothId) -> Result<&mut GpuCloth, GpuError> {
        let count = self.cloths.len();
        self.cloths.get_mut(id.0).ok_or(GpuError::NoSuchCloth { cloth: id.0, count })
    }

    /// Number of cloths.
    pub fn cloth_count(&self) -> usize {
        self.cloths.len()
    }

    /// The cloth as added, with its present settings.
    ///
    /// # Errors
    /// [`GpuError::NoSuchCloth`].
    pub fn cloth(&self, id: ClothId) -> Result<&Cloth, GpuError> {
        let count = self.cloths.len();
        self.cloths.get(id.0).map(|cloth| cloth.host.cloth()).ok_or(GpuError::NoSuchCloth { cloth: id.0, count })
    }

    /// The tier and lanes that a cloth runs with.
    ///
    /// # Errors
    /// [`GpuError::NoSuchCloth`].
    pub fn tier(&self, id: ClothId) -> Result<(MemoryTier, u32), GpuError> {
        let count = self.cloths.len();
        self.cloths.get(id.0).map(|cloth| (cloth.tier, cloth.lane_count)).ok_or(GpuError::NoSuchCloth { cloth: id.0, count })
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
        let count = self.cloths.len();
        let cloth = self.cloths.get(id.0).ok_or(GpuError::NoSuchCloth { cloth: id.0, count })?;
        Ok(cloth.placement.particle_begin..cloth.placement.particle_begin + cloth.placement.particle_count)
    }

    /// Particles of all cloths together.
    pub fn particle_count(&self) -> u32 {
        (self.current.len() / 16) as u32
    }

    /// The device that the engine works on.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Replaces the settings from the next recorded frame on.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such cloth or a field is out of range.
    pub fn set_config(&mut self, id: ClothId, config: ClothConfig) -> Result<(), GpuError> {
        self.cloth_mut(id)?.host.set_config(config)?;
        self.place_in_bucket(id.0);
        Ok(())
    }

    /// Replaces the phases and their order from the next recorded frame on.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such cloth, a phase does not exist, a field is out of range, or the phases need more
    /// loop trips than the driver runs.
    pub fn set_phase_configs(&mut self, id: ClothId, configs: &[PhaseConfig]) -> Result<(), GpuError> {
        let loop_limit = self.options.loop_limit;
        let cloth = self.cloth_mut(id)?;
        let old = cloth.host.cloth().phase_configs.clone();
        cloth.host.set_phase_configs(configs)?;
        let trips = loop_trips_per_iteration(cloth.host.cloth(), cloth.lane_count);
        if let Some(limit) = loop_limit.filter(|&limit| trips > limit) {
            cloth.host.set_phase_configs(&old)?;
            return Err(GpuError::LoopTooLong { trips, limit });
        }
        cloth.trips = trips;
        Ok(())
    }

    /// Replaces the particle accelerations [m/s^2]; they take effect with the next submission.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such cloth, the length is wrong, a number is not finite, or the device has no room.
    pub fn set_particle_accelerations(&mut self, id: ClothId, accelerations: &[[f32; 3]]) -> Result<(), GpuError> {
        self.cloth_mut(id)?.host.set_particle_accelerations(accelerations)?;
        let cloth = &self.cloths[id.0];
        let packed = cloth.host.packed_accelerations();
        let slot = match cloth.acceleration_slot {
            Some(slot) => slot,
            None => {
                let slot = (self.input_pool.len() / 16) as u32;
                let len = self.input_pool.len() + 16 * packed.len() as u64;
                self.input_pool.check(&self.device, len)?;
                if self.input_pool.grow(&self.device, &self.queue, len) {
                    self.slots.iter_mut().for_each(|slot| slot.bind_group = None);
                }
                slot
            }
        };
        let cloth = &mut self.cloths[id.0];
        cloth.acceleration_slot = Some(slot);
        cloth.placement.acceleration_begin = slot;
        self.queue.write_buffer(self.input_pool.buffer(), 16 * u64::from(slot), cast_slice(&packed));
        Ok(())
    }

    /// Writes position and working inverse mass of some particles, as an animated pin does; takes effect with the next
    /// submission.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such cloth, an index or number is out of range, or a pinned particle is given mass;
    /// nothing is written.
    pub fn write_particles(&mut self, id: ClothId, indices: &[u32], particles: &[[f32; 4]]) -> Result<(), GpuError> {
        let cloth = self.cloth_mut(id)?;
        cloth.host.cloth().validate_write(indices, particles)?;
        let begin = u64::from(cloth.placement.particle_begin);
        for (&index, particle) in indices.iter().zip(particles) {
            self.queue.write_buffer(self.current.buffer(), 16 * (begin + u64::from(index)), bytes_of(particle));
        }
        Ok(())
    }

    /// Replaces the whole state of a cloth, for tests that start from a given state.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such cloth or a length is wrong.
    pub fn set_state(&mut self, id: ClothId, current: &[[f32; 4]], previous: &[[f32; 4]]) -> Result<(), GpuError> {
        let placement = self.cloth_mut(id)?.placement;
        let expected = placement.particle_count as usize;
        for len in [current.len(), previous.len()] {
            if len != expected {
                return Err(poplin_model::ModelError::Length { what: "cloth state", len, expected }.into());
            }
        }
        let offset = 16 * u64::from(placement.particle_begin);
        self.queue.write_buffer(self.current.buffer(), offset, cast_slice(current));
        self.queue.write_buffer(self.previous.buffer(), offset, cast_slice(previous));
        Ok(())
    }

    /// Records one frame of every cloth into the caller's encoder. Nothing is submitted or polled; constants go through the
    /// queue, so at most [`EngineOptions::frames_per_submit`] frames may be recorded before a submission.
    ///
    /// # Errors
    /// [`GpuError`] if the frame is out of range for a cloth; then nothing is recorded and no cloth's time advances.
    pub fn encode_frame(&mut self, encoder: &mut wgpu::CommandEncoder, frame: &Frame) -> Result<(), GpuError> {
        self.begin_frame(frame)?;
        self.encode_part(encoder, &FramePart::WHOLE)
    }

    /// Advances every cloth's clock and packs the frame's constants; [`Engine::encode_part`] then records it.
    ///
    /// # Errors
    /// [`GpuError`] if the frame is out of range for a cloth; then no cloth's time advances.
    pub fn begin_frame(&mut self, frame: &Frame) -> Result<(), GpuError> {
        self.cloths.iter().try_for_each(|cloth| cloth.host.validate_frame(frame))?;
        self.arrays.clear();
        for &cloth in self.buckets.values().flatten() {
            let cloth = &mut self.cloths[cloth];
            cloth.host.pack_frame(frame, &cloth.placement, &mut self.arrays);
        }
        Ok(())
    }

    /// Records a part of the begun frame.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] if the frame's constants exceed what the device binds.
    pub fn encode_part(&mut self, encoder: &mut wgpu::CommandEncoder, part: &FramePart) -> Result<(), GpuError> {
        if self.arrays.cloth_frames.is_empty() {
            return Ok(());
        }
        self.part_frames.clear();
        self.part_frames.extend(self.arrays.cloth_frames.iter().map(|frame| part.restrict(frame)));
        let dispatches = self.plan_dispatches(part);
        self.upload()?;

        let slot = &self.slots[self.next_slot];
        self.next_slot = (self.next_slot + 1) % self.slots.len();
        let bind_group = slot.bind_group.as_ref().expect("upload makes the bind group");
        let descriptor = wgpu::ComputePassDescriptor { label: Some("poplin.simulate_cloth"), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        for (index, (values, parameters)) in dispatches.iter().enumerate() {
            pass.set_pipeline(self.pipelines.get(values).expect("plan_dispatches prepares every pipeline"));
            pass.set_bind_group(0, bind_group, &[(index as u64 * UNIFORM_STRIDE) as u32]);
            pass.dispatch_workgroups(parameters.row_width, parameters.cloth_count.div_ceil(parameters.row_width), 1);
        }
        Ok(())
    }

    /// One dispatch per bucket, more where the iterations are too many for one.
    fn plan_dispatches(&mut self, part: &FramePart) -> Vec<(OverrideValues, DispatchParameters)> {
        let max_row = self.device.limits().max_compute_workgroups_per_dimension;
        let trip_limit = self.options.trips_per_dispatch.min(self.options.loop_limit.unwrap_or(u64::MAX));
        let mut dispatches = Vec::with_capacity(self.buckets.len());
        let mut cloth_begin = 0;
        for (values, cloths) in &self.buckets {
            let values = OverrideValues { stages: StageMask(values.stages.0 & part.stages.0), ..*values };
            self.pipelines.prepare(&self.device, values);
            let cloth_count = cloths.len() as u32;
            let frames = &self.part_frames[cloth_begin as usize..(cloth_begin + cloth_count) as usize];
            let iterations = frames.iter().map(|frame| frame.iteration_count).max().unwrap_or(0);
            let trips = cloths.iter().map(|&cloth| self.cloths[cloth].trips).max().unwrap_or(1).max(1);
            let per_dispatch = (trip_limit / trips).clamp(1, u64::from(u32::MAX)) as u32;
            let end = iterations.min(part.iterations.end);
            let mut begin = part.iterations.start;
            while begin < end {
                let next = begin.saturating_add(per_dispatch).min(end);
                let row_width = cloth_count.min(max_row);
                let parameters = DispatchParameters {
                    cloth_begin,
                    cloth_count,
                    row_width,
                    iteration_begin: begin,
                    iteration_end: next,
                    padding: [0; 3],
                };
                dispatches.push((values, parameters));
                begin = next;
            }
            cloth_begin += cloth_count;
        }
        self.dispatch_bytes.clear();
        for (_, parameters) in &dispatches {
            self.dispatch_bytes.extend_from_slice(bytes_of(parameters));
            self.dispatch_bytes.resize(self.dispatch_bytes.len().next_multiple_of(UNIFORM_STRIDE as usize), 0);
        }
        dispatches
    }

    fn upload(&mut self) -> Result<(), GpuError> {
        let slot = &mut self.slots[self.next_slot];
        let (device, queue) = (&self.device, &self.queue);
        let cloth_frames: &[u8] = cast_slice(&self.part_frames);
        let frame_pool: &[u8] = cast_slice(&self.arrays.frame_pool);
        for (buffer, bytes) in [
            (&mut slot.dispatches, self.dispatch_bytes.as_slice()),
            (&mut slot.cloth_frames, cloth_frames),
            (&mut slot.frame_pool, frame_pool),
        ] {
            buffer.check(device, bytes.len() as u64)?;
            if buffer.grow(device, queue, bytes.len() as u64) {
                slot.bind_group = None;
            }
            queue.write_buffer(buffer.buffer(), 0, bytes);
        }
        if slot.bind_group.is_none() {
            let uniform = wgpu::BufferBinding {
                buffer: slot.dispatches.buffer(),
                offset: 0,
                size: std::num::NonZeroU64::new(size_of::<DispatchParameters>() as u64),
            };
            let storage = [
                &slot.cloth_frames,
                &slot.frame_pool,
                &self.fabric_pool,
                &self.input_pool,
                &self.current,
                &self.previous,
                &self.scratch,
                &self.feedback,
            ];
            let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::Buffer(uniform) }];
            entries.extend(
                storage
                    .iter()
                    .zip(1..)
                    .map(|(buffer, binding)| wgpu::BindGroupEntry { binding, resource: buffer.buffer().as_entire_binding() }),
            );
            slot.bind_group = Some(device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("poplin.simulate_cloth.bind_group"),
                layout: &self.pipelines.layout,
                entries: &entries,
            }));
        }
        Ok(())
    }
}
