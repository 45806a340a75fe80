//! The engine: cloths in, a recorded frame out.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::{bytes_of, cast_slice};
use poplin_layout::{
    ClothFrame, ClothPlacement, DispatchParameters, FabricOffsets, Feedback, FrameArrays, FramePart, HostCloth, InputSlots,
    MemoryTier, NO_OFFSET, StageMask, TierLimits, choose_lane_count, loop_trips_per_iteration, pack_fabric,
};
use poplin_model::{Cloth, Fabric, Frame};
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
    bucket: OverrideValues,
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
    cloth_frames: GrowableBuffer,
    frame_pool: GrowableBuffer,
    uploads: GrowableBuffer,
    bind_group: Option<wgpu::BindGroup>,
}

/// Cloths of one bucket that are awake in the begun frame.
struct ActiveBucket {
    values: OverrideValues,
    cloths: Range<u32>,
    trips: u64,
}

/// Bytes of one report.
pub(crate) const FEEDBACK_BYTES: u64 = size_of::<Feedback>() as u64;

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
    active: Vec<ActiveBucket>,
    part_frames: Vec<ClothFrame>,
    dispatch_bytes: Vec<u8>,
    upload_bytes: Vec<u8>,
    copies: Vec<Copy>,
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
            uploads: new("poplin.simulate_cloth.uploads", wgpu::BufferUsages::empty()),
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
        let particle_bytes = self.current.len() + 16 * u64::from(particle_count);
        let fabric_begin = self.fabric_pool.len();
        let cloth = self.cloths.len() as u32;
        let wanted = [
            (&self.current, particle_bytes),
            (&self.previous, particle_bytes),
            (&self.fabric_pool, fabric_begin + 4 * packed.len() as u64),
            (&self.scratch, self.scratch.len() + 16 * u64::from(fabric.scratch_len())),
            (&self.feedback, FEEDBACK_BYTES * (u64::from(cloth) + 1)),
        ];
        wanted.iter().try_for_each(|(buffer, len)| buffer.check(&self.device, *len))?;

        let placement = ClothPlacement {
            cloth,
            particle_begin: (self.current.len() / 16) as u32,
            particle_count,
            scratch_begin: (self.scratch.len() / 16) as u32,
            input_begin: NO_OFFSET,
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
        self.queue.write_buffer(self.feedback.buffer(), FEEDBACK_BYTES * u64::from(cloth), bytes_of(&Feedback::default()));
        let bucket = self.override_values(&host, tier, lane_count);
        self.cloths.push(GpuCloth { host, placement, tier, lane_count, trips, bucket });
        self.place_in_bucket(cloth as usize, bucket);
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

    fn grow(&mut self, [current, previous, fabric, scratch, feedback]: [u64; 5]) {
        let (device, queue) = (&self.device, &self.queue);
        let replaced = [
            self.current.grow(device, queue, current),
            self.previous.grow(device, queue, previous),
            self.fabric_pool.grow(device, queue, fabric),
            self.scratch.grow(device, queue, scratch),
            self.feedback.grow(device, queue, feedback),
        ];
        if replaced.contains(&true) {
            self.slots.iter_mut().for_each(|slot| slot.bind_group = None);
        }
    }

    /// Overrides of the kernel that a cloth needs.
    fn override_values(&self, host: &HostCloth, tier: MemoryTier, lane_count: u32) -> OverrideValues {
        // Few capacities, so that few pipelines are built; less workgroup memory lets more workgroups share a core.
        let limit = self.tier_limits.particles_in(tier).unwrap_or(1);
        let particle_count = host.cloth().particle_count() as u32;
        let capacity = if tier == MemoryTier::Streamed { 1 } else { particle_count.next_power_of_two().max(64).min(limit) };
        OverrideValues { lane_count, tier, capacity, stages: host.stages() }
    }

    fn place_in_bucket(&mut self, cloth: usize, values: OverrideValues) {
        self.buckets.values_mut().for_each(|cloths| cloths.retain(|&other| other != cloth));
        self.pipelines.prepare(&self.device, values);
        let bucket = self.buckets.entry(values).or_default();
        let place = bucket.partition_point(|&other| other < cloth);
        bucket.insert(place, cloth);
        self.buckets.retain(|_, cloths| !cloths.is_empty());
        self.cloths[cloth].bucket = values;
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
        let cloth = self.cloths.get_mut(id.0).ok_or(GpuError::NoSuchCloth { cloth: id.0, count })?;
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

    /// Replaces the whole state of a cloth, for tests that start from a given state.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such cloth or a length is wrong.
    pub fn set_state(&mut self, id: ClothId, current: &[[f32; 4]], previous: &[[f32; 4]]) -> Result<(), GpuError> {
        let placement = self.get(id)?.placement;
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

    /// Takes over every cloth's inputs, advances its clock and packs the frame's constants; [`Engine::encode_part`] then
    /// records it.
    ///
    /// # Errors
    /// [`GpuError`] if the frame is out of range for a cloth or its phases need more loop trips than the driver runs (then no
    /// cloth's time advances), or if the device has no room for new inputs.
    pub fn begin_frame(&mut self, frame: &Frame) -> Result<(), GpuError> {
        for cloth in &mut self.cloths {
            cloth.host.validate_frame(frame)?;
            let trips = loop_trips_per_iteration(cloth.host.cloth(), cloth.lane_count);
            if let Some(limit) = self.options.loop_limit.filter(|&limit| trips > limit) {
                return Err(GpuError::LoopTooLong { trips, limit });
            }
            cloth.trips = trips;
        }
        for index in 0..self.cloths.len() {
            self.take_inputs(index)?;
            let cloth = &self.cloths[index];
            let values = self.override_values(&cloth.host, cloth.tier, cloth.lane_count);
            if values != cloth.bucket {
                self.place_in_bucket(index, values);
            }
        }
        self.arrays.clear();
        self.active.clear();
        for (values, cloths) in &self.buckets {
            let begin = self.arrays.cloth_frames.len() as u32;
            let mut trips = 1;
            for &index in cloths {
                let cloth = &mut self.cloths[index];
                if cloth.host.is_resting() {
                    cloth.host.skip_frame(frame);
                    continue;
                }
                cloth.host.pack_frame(frame, &cloth.placement, &mut self.arrays);
                trips = trips.max(cloth.trips);
            }
            let end = self.arrays.cloth_frames.len() as u32;
            if end > begin {
                self.active.push(ActiveBucket { values: *values, cloths: begin..end, trips });
            }
        }
        Ok(())
    }

    /// Gathers a cloth's particle writes and changed inputs for the next recorded part.
    fn take_inputs(&mut self, index: usize) -> Result<(), GpuError> {
        let cloth = &mut self.cloths[index];
        if cloth.placement.input_begin == NO_OFFSET && cloth.host.needs_inputs() {
            let len = self.input_pool.len() + 16 * u64::from(InputSlots::new(cloth.placement.particle_count).len());
            self.input_pool.check(&self.device, len)?;
            cloth.placement.input_begin = (self.input_pool.len() / 16) as u32;
            if self.input_pool.grow(&self.device, &self.queue, len) {
                self.slots.iter_mut().for_each(|slot| slot.bind_group = None);
            }
        }
        let cloth = &mut self.cloths[index];
        let (bytes, copies) = (&mut self.upload_bytes, &mut self.copies);
        let mut upload = |to_particles: bool, destination: u64, values: &[[f32; 4]]| {
            let (source, len) = (bytes.len() as u64, 16 * values.len() as u64);
            bytes.extend_from_slice(cast_slice(values));
            match copies.last_mut() {
                Some(last) if last.to_particles == to_particles && last.destination + last.len == destination => last.len += len,
                _ => copies.push(Copy { to_particles, source, destination, len }),
            }
        };
        let particles = 16 * u64::from(cloth.placement.particle_begin);
        for (particle, value) in cloth.host.take_writes() {
            upload(true, particles + 16 * u64::from(particle), &[value]);
        }
        let inputs = 16 * u64::from(cloth.placement.input_begin);
        cloth.host.take_inputs(|offset, values| upload(false, inputs + 16 * u64::from(offset), values));
        Ok(())
    }

    /// Takes over what the kernels reported, so that cloths that sleep leave the dispatch list. [`crate::Headless`] does it
    /// with every snapshot; without it sleeping cloths are still skipped inside their kernel.
    pub fn note_feedback(&mut self, snapshot: &crate::Snapshot) {
        for (index, cloth) in self.cloths.iter_mut().enumerate() {
            if let Some(feedback) = snapshot.reported(ClothId(index)) {
                cloth.host.note_feedback(feedback);
            }
        }
    }

    /// Records a part of the begun frame.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] if the frame's constants exceed what the device binds.
    pub fn encode_part(&mut self, encoder: &mut wgpu::CommandEncoder, part: &FramePart) -> Result<(), GpuError> {
        if self.arrays.cloth_frames.is_empty() && self.copies.is_empty() {
            return Ok(());
        }
        self.part_frames.clear();
        self.part_frames.extend(self.arrays.cloth_frames.iter().map(|frame| part.restrict(frame)));
        let dispatches = self.plan_dispatches(part);
        self.upload()?;

        let slot = &self.slots[self.next_slot];
        self.next_slot = (self.next_slot + 1) % self.slots.len();
        let bind_group = slot.bind_group.as_ref().expect("upload makes the bind group");
        for copy in self.copies.drain(..) {
            let destination = if copy.to_particles { &self.current } else { &self.input_pool };
            encoder.copy_buffer_to_buffer(slot.uploads.buffer(), copy.source, destination.buffer(), copy.destination, copy.len);
        }
        self.upload_bytes.clear();
        if dispatches.is_empty() {
            return Ok(());
        }
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
        let mut dispatches = Vec::with_capacity(self.active.len());
        for bucket in &self.active {
            let values = OverrideValues { stages: StageMask(bucket.values.stages.0 & part.stages.0), ..bucket.values };
            self.pipelines.prepare(&self.device, values);
            let (cloth_begin, cloth_count) = (bucket.cloths.start, bucket.cloths.end - bucket.cloths.start);
            let frames = &self.part_frames[bucket.cloths.start as usize..bucket.cloths.end as usize];
            let iterations = frames.iter().map(|frame| frame.iteration_count).max().unwrap_or(0);
            let per_dispatch = (trip_limit / bucket.trips).clamp(1, u64::from(u32::MAX)) as u32;
            let end = iterations.min(part.iterations.end);
            let mut begin = part.iterations.start;
            while begin < end {
                let next = begin.saturating_add(per_dispatch).min(end);
                let parameters = DispatchParameters {
                    cloth_begin,
                    cloth_count,
                    row_width: cloth_count.min(max_row),
                    iteration_begin: begin,
                    iteration_end: next,
                    padding: [0; 3],
                };
                dispatches.push((values, parameters));
                begin = next;
            }
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
            (&mut slot.uploads, self.upload_bytes.as_slice()),
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
