//! Collision between cloths: buffers, pipelines, and frames recorded in slices with collisions
//! between them.

use super::dispatches::{Run, push_dispatches};
use super::frame::PASS;
use super::{Bucket, EngineOptions, GpuCloth, GpuEngine};
use crate::Error;
use crate::binding::{UNIFORM_STRIDE, bind_group, bind_group_layout, push_uniform};
use crate::compilation::Made;
use crate::growable::GrowableBuffer;
use crate::pipelines::{kernel_pipeline, pipeline_layout};
use bytemuck::cast_slice;
use poplin_host::{ContactFrame, FramePart, collides};
use poplin_layout::{CONTACT_LANES, ContactParameters, SCAN_BLOCK};
use poplin_model::{ClothContactSolver, ContactMode};
use poplin_shaders::Kernel;

/// Read-only flags of the contact kernels' storage bindings 1 to 8.
const STORAGE_READ_ONLY: [bool; 8] = [true, false, true, false, false, false, false, false];

/// Device state of collision between cloths.
pub(super) struct Contacts {
    pub(super) settings: ClothContactSolver,
    pub(super) frame: ContactFrame,
    /// Length of a solver iteration of the frame \[s\].
    step: f32,
    /// Scratch memory for packing the uniforms of slices.
    uniforms: Vec<u8>,
    layout: wgpu::BindGroupLayout,
    /// Pipelines, compiled when a cloth first takes part: an engine without such cloths compiles
    /// none.
    pipelines: Made<Result<Vec<wgpu::ComputePipeline>, Error>>,
    pub(super) rows: GrowableBuffer,
    cells: GrowableBuffer,
    pub(super) entries: GrowableBuffer,
    bounds: GrowableBuffer,
}

/// Buffers of a frame slot for collision between cloths.
pub(super) struct ContactSlot {
    pub(super) cloths: GrowableBuffer,
    parameters: GrowableBuffer,
    bind_group: Option<wgpu::BindGroup>,
}

impl ContactSlot {
    pub(super) fn size(&self) -> u64 {
        self.cloths.size() + self.parameters.size()
    }

    pub(super) fn new(device: &wgpu::Device) -> Self {
        Self {
            cloths: GrowableBuffer::new(
                device,
                "poplin.contact.cloths",
                wgpu::BufferUsages::STORAGE,
            ),
            parameters: GrowableBuffer::new(
                device,
                "poplin.contact.parameters",
                wgpu::BufferUsages::UNIFORM,
            ),
            bind_group: None,
        }
    }

    /// Drops the bind group, as a bound buffer was replaced.
    pub(super) fn unbind(&mut self) {
        self.bind_group = None;
    }
}

impl Contacts {
    pub(super) fn new(device: &wgpu::Device) -> Self {
        let new = |name| GrowableBuffer::new(device, name, wgpu::BufferUsages::STORAGE);
        Self {
            settings: ClothContactSolver::default(),
            frame: ContactFrame::default(),
            step: 0.0,
            uniforms: Vec::new(),
            layout: bind_group_layout(device, "poplin.contact.layout", &STORAGE_READ_ONLY),
            pipelines: Made::default(),
            rows: new("poplin.contact.rows"),
            cells: new("poplin.contact.cells"),
            entries: new("poplin.contact.entries"),
            bounds: new("poplin.contact.bounds"),
        }
    }

    /// Size on the device \[bytes\].
    pub(super) fn size(&self) -> u64 {
        [&self.rows, &self.cells, &self.entries, &self.bounds]
            .map(GrowableBuffer::size)
            .iter()
            .sum()
    }

    /// Compiles the pipelines.
    fn compile(
        device: &wgpu::Device,
        layout: &wgpu::BindGroupLayout,
        options: &EngineOptions,
    ) -> Result<Vec<wgpu::ComputePipeline>, Error> {
        let layout = pipeline_layout(device, "poplin.contact.pipeline_layout", layout);
        let pipeline = |kernel: &Kernel| kernel_pipeline(device, *kernel, &layout, options);
        Kernel::CONTACT.iter().map(pipeline).collect()
    }

    /// Requests the pipelines for a cloth that takes part.
    pub(super) fn request(&mut self, device: &wgpu::Device, options: &EngineOptions) {
        let compilation = options.compilation;
        let (device, layout, options) = (device.clone(), self.layout.clone(), options.clone());
        self.pipelines.request(compilation, move || Self::compile(&device, &layout, &options));
    }

    /// Compiles the pipelines if there are none yet, or waits for them.
    fn prepare(&mut self, device: &wgpu::Device, options: &EngineOptions) -> Result<(), Error> {
        self.pipelines.prepare(|| Self::compile(device, &self.layout, options))
    }

    /// Waits for requested pipelines.
    pub(super) fn finish_compiling(&mut self) {
        self.pipelines.wait();
    }

    /// True while the pipelines are being compiled.
    pub(super) fn is_compiling(&self) -> bool {
        self.pipelines.is_running()
    }

    /// True if a frame in which cloths collide need not wait for pipelines.
    pub(super) fn is_ready(&mut self) -> bool {
        self.pipelines.is_ready()
    }

    /// Determines the cloths that may collide in the frame and the slices; call before the cloths
    /// pack the frame.
    fn find(&mut self, cloths: &[Box<GpuCloth>], dt: f32) {
        self.step = dt;
        for (index, cloth) in
            cloths.iter().enumerate().filter(|(_, cloth)| cloth.takes_part && !cloth.is_waiting)
        {
            self.frame.add(index, &cloth.host, dt, &cloth.placement);
        }
        self.frame.finish(&self.settings);
        // Step of the cloth with the most iterations.
        self.step /= self.frame.largest_count().max(1) as f32;
    }

    /// Prepares buffers and pipelines for particle contact, and drops bind groups of buffers that
    /// were replaced.
    fn ready_particles(
        &mut self,
        device: &wgpu::Device,
        options: &EngineOptions,
        slots: &mut [super::FrameSlot],
    ) -> Result<(), Error> {
        // One lane tests a cloth against all others.
        let trips = self.frame.indices().len() as u64;
        if let Some(limit) = options.loop_limit.filter(|&limit| trips > limit) {
            return Err(Error::LoopTooLong { trips, limit });
        }
        self.prepare(device, options)?;
        let lens = self.frame.lens();
        let wanted = [
            (&mut self.rows, 16 * lens.rows),
            (&mut self.cells, 4 * lens.cells),
            (&mut self.entries, 4 * lens.entries),
            (&mut self.bounds, 4 * lens.bounds),
        ];
        for (buffer, bytes) in wanted {
            if buffer.grow(device, bytes)? {
                slots.iter_mut().for_each(|slot| slot.contacts.unbind());
            }
        }
        Ok(())
    }

    /// Number of workgroups of a kernel.
    fn groups(kernel: Kernel, parameters: &ContactParameters) -> u32 {
        // The scan covers one more block, which holds the total.
        let bucket_end = parameters.bucket_count + SCAN_BLOCK;
        match kernel {
            Kernel::ContactGatherParticles => parameters.cloth_count,
            Kernel::ContactFindNearCloths => {
                parameters.cloth_count.max(bucket_end).div_ceil(CONTACT_LANES)
            }
            Kernel::ContactScanBlocks => bucket_end / SCAN_BLOCK,
            Kernel::ContactScanSums => 1,
            _ => parameters.row_count.div_ceil(CONTACT_LANES),
        }
    }

    /// Records the contact passes after a slice.
    fn encode(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        bind_group: &wgpu::BindGroup,
        slice: u32,
        max_row: u32,
    ) {
        let parameters = &self.frame.parameters[slice as usize];
        pass.set_bind_group(0, bind_group, &[(u64::from(slice) * UNIFORM_STRIDE) as u32]);
        for _ in 0..self.settings.iterations {
            for (kernel, pipeline) in
                Kernel::CONTACT.iter().zip(self.pipelines.get().into_iter().flatten().flatten())
            {
                let groups = Self::groups(*kernel, parameters);
                // A dispatch is limited per dimension, so large counts use a second dimension.
                let width = groups.min(max_row);
                pass.set_pipeline(pipeline);
                pass.dispatch_workgroups(width, groups.div_ceil(width), 1);
            }
        }
    }
}

impl GpuEngine {
    /// Settings of collision between cloths.
    pub fn cloth_contact_solver(&self) -> ClothContactSolver {
        self.contacts.settings
    }

    /// Sets collision between cloths from the next frame on. A cloth takes part if its
    /// `cloth_collision.distance` is above 0; a frame recorded in parts
    /// ([`GpuEngine::encode_part`]) has no such collisions.
    ///
    /// # Errors
    /// [`Error::Model`] if a field is out of range; the old settings stay.
    pub fn set_cloth_contact_solver(&mut self, settings: ClothContactSolver) -> Result<(), Error> {
        settings.validate()?;
        let old = std::mem::replace(&mut self.contacts.settings, settings);
        if old.contact != settings.contact || collides(&old) != collides(&settings) {
            // Different cloths may take part and need different pipelines.
            self.cloths.values_mut().iter_mut().for_each(|cloth| cloth.planned = None);
            self.seen = None;
            if !self.cloths.is_empty() {
                self.request_contact();
            }
        }
        Ok(())
    }

    #[cfg(feature = "testing")]
    /// Rows and lists of the last contact pass between cloths, in the layout of the shaders; for
    /// tests.
    pub fn contact_buffers(&self) -> [&wgpu::Buffer; 2] {
        [self.contacts.rows.buffer(), self.contacts.entries.buffer()]
    }

    /// Records the begun frame in slices, each followed by a collision of cloths.
    pub(super) fn encode_slices(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), Error> {
        self.encode_changes(encoder)?;
        let slice_count = self.contacts.frame.slice_count();
        let mut dispatches = std::mem::take(&mut self.dispatches);
        dispatches.clear();
        let mut ends = Vec::with_capacity(slice_count as usize);
        for slice in 0..slice_count {
            self.plan_slice(slice, &mut dispatches)?;
            // Dispatches of all slices share one buffer of uniforms, uploaded once.
            ends.push(dispatches.len());
        }
        self.pack_dispatches(&dispatches);
        let row_count = self.upload()?;
        self.upload_contacts()?;
        let settings = self.contacts.settings;
        let triangles = match settings.contact {
            ContactMode::Particles => None,
            ContactMode::Triangles => {
                Some(self.begin_triangles(encoder, &settings, self.contacts.step)?)
            }
        };

        let slot = self.take_slot();
        let max_row = self.device.limits().max_compute_workgroups_per_dimension;
        let bind_group = self.slots[slot].contacts.bind_group.clone();
        let bind_group = bind_group.expect("upload_contacts creates the bind group");
        let mut pass = encoder.begin_compute_pass(&PASS);
        // Positions before the frame must be stored before particle writes are scattered.
        if let Some(triangles) = &triangles {
            self.record_triangle_start(&mut pass, triangles);
        }
        self.record_scatter(&mut pass, slot, row_count);
        let mut begin = 0;
        for (slice, end) in ends.into_iter().enumerate() {
            self.record_dispatches(&mut pass, slot, &dispatches, begin..end);
            begin = end;
            if let Some(triangles) = &triangles {
                self.record_triangle_slice(&mut pass, triangles, slice);
            } else {
                self.contacts.encode(&mut pass, &bind_group, slice as u32, max_row);
            }
        }
        drop(pass);
        self.dispatches = dispatches;
        Ok(())
    }

    /// Plans the dispatches of one slice: per bucket one for each run of cloths with equal
    /// iteration counts.
    fn plan_slice(
        &mut self,
        slice: u32,
        dispatches: &mut Vec<super::Dispatch>,
    ) -> Result<(), Error> {
        let Self { buckets, pipelines, device, contacts, .. } = self;
        let frame = &contacts.frame;
        // Cloths without iterations may still wait for their pipeline.
        let is_due = |bucket: &Bucket| bucket.is_active() && bucket.iteration_count > 0;
        for (values, bucket) in buckets.iter().filter(|(_, bucket)| is_due(bucket)) {
            pipelines.prepare(*values)?;
            let mut begin = 0;
            // Cloths with different counts end a slice at different iterations.
            for counts in bucket.iteration_counts.chunk_by(|a, b| a == b) {
                let (count, end) = (counts[0], begin + counts.len() as u32);
                let first = if slice == 0 { 0 } else { frame.slice_end(count, slice - 1) };
                let run = Run {
                    values: *values,
                    trips: bucket.trips,
                    slots: begin..end,
                    iterations: first..frame.slice_end(count, slice),
                    phases: FramePart::WHOLE.phase_range(),
                };
                push_dispatches(device, &self.options, bucket, run, dispatches);
                begin = end;
            }
        }
        Ok(())
    }

    /// Determines the cloths that may collide in the frame, and prepares their contact.
    pub(super) fn begin_contacts(&mut self, dt: f32) -> Result<(), Error> {
        let Self { contacts, triangles, device, cloths, options, colliders, slots, .. } = self;
        contacts.frame.clear();
        // Nothing moves in a frame of zero length, so the last recorded positions stay valid.
        if dt > 0.0 {
            triangles.recorded.clear();
        }
        if self.participant_count == 0 {
            return Ok(());
        }
        contacts.find(cloths.values(), dt);
        if contacts.frame.slice_count() == 0 {
            return Ok(());
        }
        match contacts.settings.contact {
            ContactMode::Triangles => {
                triangles.begin_frame(
                    device,
                    cloths.values(),
                    &contacts.frame,
                    colliders,
                    options,
                )?;
            }
            ContactMode::Particles => {
                contacts.ready_particles(device, options, slots)?;
            }
        }
        Ok(())
    }

    /// Requests the pipelines of the selected contact mode, because a cloth takes part.
    pub(super) fn request_contact(&mut self) {
        let Self { contacts, triangles, device, options, .. } = self;
        match contacts.settings.contact {
            ContactMode::Particles => contacts.request(device, options),
            ContactMode::Triangles => triangles.request(device, options),
        }
    }

    /// True if a frame in which cloths collide need not wait; otherwise requests its pipelines.
    pub(super) fn is_contact_ready(&mut self) -> bool {
        if self.participant_count == 0 {
            return true;
        }
        let is_ready = match self.contacts.settings.contact {
            ContactMode::Particles => self.contacts.is_ready(),
            ContactMode::Triangles => self.triangles.is_ready(),
        };
        if !is_ready {
            self.request_contact();
        }
        is_ready
    }

    /// Uploads the inputs of the contact kernels and binds them.
    fn upload_contacts(&mut self) -> Result<(), Error> {
        let Self { contacts, particles, feedback, .. } = self;
        contacts.uniforms.clear();
        for slice in &contacts.frame.parameters {
            push_uniform(&mut contacts.uniforms, slice);
        }
        let slot = &mut self.slots[self.next_slot].contacts;
        let cloths: &[u8] = cast_slice(&contacts.frame.cloths);
        for (buffer, bytes) in
            [(&mut slot.cloths, cloths), (&mut slot.parameters, &contacts.uniforms)]
        {
            if buffer.upload(&self.device, &self.queue, bytes)? {
                slot.bind_group = None;
            }
            self.uploaded_bytes += bytes.len() as u64;
        }
        let storage = [
            &slot.cloths,
            &particles.buffers()[0],
            &particles.buffers()[1],
            &feedback.buffers()[0],
            &contacts.rows,
            &contacts.cells,
            &contacts.entries,
            &contacts.bounds,
        ];
        slot.bind_group.get_or_insert_with(|| {
            let label = "poplin.contact.bind_group";
            let (layout, uniforms) = (&contacts.layout, &slot.parameters);
            bind_group::<ContactParameters>(
                &self.device,
                label,
                layout,
                uniforms.buffer(),
                &storage.map(GrowableBuffer::buffer),
            )
        });
        Ok(())
    }

    /// Records the begun frame: in slices if cloths may collide, otherwise in one piece.
    pub(super) fn encode_begun(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), Error> {
        if self.contacts.frame.slice_count() > 0 {
            self.encode_slices(encoder)
        } else {
            self.encode_part(encoder, &FramePart::WHOLE)
        }
    }
}
