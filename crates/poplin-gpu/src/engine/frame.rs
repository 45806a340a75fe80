//! Recording frames: inputs, constants, dispatches.

use super::{ActiveBucket, Copy, Dispatch, Engine};
use crate::GpuError;
use crate::binding::{UNIFORM_STRIDE, bind_group, push_uniform};
use crate::pool::Pool;
use bytemuck::cast_slice;
use poplin_host::{FramePart, State, takes_part};
use poplin_layout::{DispatchParameters, Stage, StageMask};
use poplin_model::Frame;
use poplin_shaders::OverrideValues;
use std::ops::Range;

impl Engine {
    /// Records one frame of every cloth into the caller's encoder. Nothing is submitted or polled; constants go through the
    /// queue, so at most [`EngineOptions::frames_per_submit`](crate::EngineOptions::frames_per_submit) frames may be recorded before a submission.
    ///
    /// # Errors
    /// [`GpuError`] if the frame is out of range for a cloth; then nothing is recorded and no cloth's time advances.
    pub fn encode_frame(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        frame: &Frame,
    ) -> Result<(), GpuError> {
        self.begin_frame(frame)?;
        self.encode_begun(encoder)
    }

    /// Takes over every cloth's inputs, advances its clock and packs the frame's constants; [`Engine::encode_part`] then
    /// records it.
    ///
    /// # Errors
    /// [`GpuError`] if the frame is out of range for a cloth or its phases need more loop trips than the driver runs (then no
    /// cloth's time advances), or if the device has no room for new inputs.
    pub fn begin_frame(&mut self, frame: &Frame) -> Result<(), GpuError> {
        for cloth in self.cloths.values_mut() {
            cloth.host.validate_frame(frame)?;
            // The trips depend on the colliders.
            cloth.host.update_colliders(&self.colliders, frame.dt)?;
            let trips = cloth.trips_per_iteration();
            if let Some(limit) = self.options.loop_limit.filter(|&limit| trips > limit) {
                return Err(GpuError::LoopTooLong { trips, limit });
            }
            cloth.trips = trips;
        }
        for index in 0..self.cloths.len() {
            self.take_inputs(index)?;
            let cloth = &self.cloths.values()[index];
            let fabric = &cloth.placement.fabric;
            let values = self.override_values(&cloth.host, fabric, cloth.tier, cloth.lane_count);
            if values != cloth.bucket {
                self.change_bucket(index, values);
            }
        }
        self.contacts.begin_frame(&self.device, self.cloths.values(), frame, &self.options)?;
        let is_sliced = self.contacts.frame.slice_count() > 0;
        self.arrays.clear();
        self.active.clear();
        for (values, cloths) in &self.buckets {
            let begin = self.arrays.cloth_parameters.len() as u32;
            let mut trips = 1;
            for &index in cloths {
                let cloth = &mut self.cloths.values_mut()[index];
                // Cloths that collide may wake one another: they sleep in their kernel.
                if cloth.host.is_resting() && !(is_sliced && takes_part(&cloth.host)) {
                    cloth.host.skip_frame(frame);
                    cloth.impulse_rows = 0..0;
                    continue;
                }
                cloth.impulse_bodies = cloth.host.frame_bodies();
                cloth.host.pack_frame(frame, &cloth.placement, &mut self.arrays);
                let (begin, rows) = (cloth.placement.scratch_begin, cloth.host.body_rows());
                // A frame that takes no time leaves everything as it was.
                let is_simulated = cloth.host.iteration_count(frame) > 0;
                cloth.impulse_rows =
                    if is_simulated { begin + rows.start..begin + rows.end } else { 0..0 };
                trips = trips.max(cloth.trips);
            }
            let end = self.arrays.cloth_parameters.len() as u32;
            if end > begin {
                self.active.push(ActiveBucket { values: *values, cloths: begin..end, trips });
            }
        }
        self.colliders.end_frame();
        Ok(())
    }

    /// Gathers a cloth's particle writes and changed inputs for the next recorded part.
    fn take_inputs(&mut self, index: usize) -> Result<(), GpuError> {
        let cloth = &mut self.cloths.values_mut()[index];
        let (input_len, scratch_len) = (cloth.host.input_len(), cloth.host.scratch_len());
        // What moves leaves its range to commands recorded later: a recorded frame may still read it.
        let device = &self.device;
        let move_part = |pool: &mut Pool<1>, range: &mut Range<u32>, begin: &mut u32, len: u32| {
            if len > range.end - range.start {
                let larger = pool.allocate(device, len)?;
                *begin = larger.start;
                pool.free(std::mem::replace(range, larger));
            }
            Ok::<(), GpuError>(())
        };
        let (parts, placement) = (&mut cloth.parts, &mut cloth.placement);
        let begin = &mut placement.input_begin;
        move_part(&mut self.input_pool, &mut parts.inputs, begin, input_len)?;
        let begin = &mut placement.scratch_begin;
        move_part(&mut self.scratch, &mut parts.scratch, begin, scratch_len)?;
        let (bytes, copies) = (&mut self.upload_bytes, &mut self.copies);
        let first = copies.len();
        let mut upload = |to_particles: bool, destination: u64, values: &[[u32; 4]]| {
            let (source, len) = (bytes.len() as u64, 16 * values.len() as u64);
            bytes.extend_from_slice(cast_slice(values));
            match copies[first..].last_mut() {
                Some(last)
                    if last.to_particles == to_particles
                        && last.destination + last.len == destination =>
                {
                    last.len += len
                }
                _ => copies.push(Copy { to_particles, source, destination, len }),
            }
        };
        let particles = 16 * u64::from(cloth.placement.particle_begin);
        for (particle, value) in cloth.host.take_writes() {
            upload(true, particles + 16 * u64::from(particle), cast_slice(&[value]));
        }
        let inputs = 16 * u64::from(cloth.placement.input_begin);
        cloth
            .host
            .take_inputs(|offset, values| upload(false, inputs + 16 * u64::from(offset), values));
        Ok(())
    }

    /// Takes over what the kernels reported, so that cloths that sleep leave the dispatch list. [`crate::Headless`] does it
    /// with every snapshot; without it sleeping cloths are still skipped inside their kernel.
    pub fn note_feedback(&mut self, state: &State) {
        for &id in state.ids() {
            // A cloth may be gone since.
            if let (Ok(cloth), Ok(reported)) = (self.cloths.get_mut(id), state.cloth(id)) {
                cloth.host.note_feedback(reported.feedback);
            }
        }
    }

    /// Records a part of the begun frame.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] if the frame's constants exceed what the device binds.
    pub fn encode_part(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        part: &FramePart,
    ) -> Result<(), GpuError> {
        self.encode_changes(encoder);
        if self.arrays.cloth_parameters.is_empty() && self.copies.is_empty() {
            return Ok(());
        }
        self.part_frames.clear();
        self.part_frames
            .extend(self.arrays.cloth_parameters.iter().map(|frame| part.restrict(frame)));
        let dispatches = self.plan_dispatches(part);
        self.upload()?;

        let slot = self.record_copies(encoder);
        if dispatches.is_empty() {
            return Ok(());
        }
        let descriptor = wgpu::ComputePassDescriptor {
            label: Some("poplin.simulate_cloth"),
            timestamp_writes: None,
        };
        let mut pass = encoder.begin_compute_pass(&descriptor);
        self.record_dispatches(&mut pass, slot, &dispatches, 0..dispatches.len());
        Ok(())
    }

    /// Records the copies of particle writes and inputs; returns the slot that the dispatches are to use.
    pub(super) fn record_copies(&mut self, encoder: &mut wgpu::CommandEncoder) -> usize {
        let index = self.next_slot;
        self.next_slot = (index + 1) % self.slots.len();
        let uploads = self.slots[index].uploads.buffer();
        for copy in self.copies.drain(..) {
            let destination = if copy.to_particles {
                self.particles.buffer(0)
            } else {
                self.input_pool.buffer(0)
            };
            encoder.copy_buffer_to_buffer(
                uploads,
                copy.source,
                destination,
                copy.destination,
                copy.len,
            );
        }
        self.upload_bytes.clear();
        index
    }

    /// Records some of the dispatches whose uniforms were packed.
    pub(super) fn record_dispatches(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        slot: usize,
        dispatches: &[Dispatch],
        range: Range<usize>,
    ) {
        let bind_group = self.slots[slot].bind_group.as_ref().expect("upload makes the bind group");
        for (index, (values, parameters)) in range.clone().zip(&dispatches[range]) {
            pass.set_pipeline(
                self.pipelines.get(values).expect("planning prepares every pipeline"),
            );
            pass.set_bind_group(0, bind_group, &[(index as u64 * UNIFORM_STRIDE) as u32]);
            pass.dispatch_workgroups(
                parameters.row_width,
                parameters.cloth_count.div_ceil(parameters.row_width),
                1,
            );
        }
    }

    /// One dispatch per bucket, more where the iterations are too many for one.
    fn plan_dispatches(&mut self, part: &FramePart) -> Vec<Dispatch> {
        let mut dispatches = Vec::with_capacity(self.active.len());
        for bucket in &self.active {
            let stages = StageMask(bucket.values.stages.0 & part.stages.0);
            let grid_cells =
                if stages.contains(Stage::SelfCollide) { bucket.values.grid_cells } else { 1 };
            let has_rows = stages.intersects(StageMask::WHOLE_FIBERS);
            let row_capacity = if has_rows { bucket.values.row_capacity } else { 0 };
            let values = OverrideValues { stages, grid_cells, row_capacity, ..bucket.values };
            self.pipelines.prepare(&self.device, values);
            let frames =
                &self.part_frames[bucket.cloths.start as usize..bucket.cloths.end as usize];
            let iterations = frames.iter().map(|frame| frame.iteration_count).max().unwrap_or(0);
            let iterations = part.iterations.start..iterations.min(part.iterations.end);
            self.push_dispatches(
                values,
                bucket.trips,
                bucket.cloths.clone(),
                iterations,
                &mut dispatches,
            );
        }
        self.pack_dispatches(&dispatches);
        dispatches
    }

    /// Adds the dispatches of some iterations of some cloths, `trips` loop trips a lane and iteration.
    pub(super) fn push_dispatches(
        &self,
        values: OverrideValues,
        trips: u64,
        cloths: Range<u32>,
        iterations: Range<u32>,
        dispatches: &mut Vec<Dispatch>,
    ) {
        let max_row = self.device.limits().max_compute_workgroups_per_dimension;
        let trip_limit =
            self.options.trips_per_dispatch.min(self.options.loop_limit.unwrap_or(u64::MAX));
        let per_dispatch = (trip_limit / trips).clamp(1, u64::from(u32::MAX)) as u32;
        let (cloth_begin, cloth_count) = (cloths.start, cloths.end - cloths.start);
        let mut begin = iterations.start;
        while begin < iterations.end {
            let next = begin.saturating_add(per_dispatch).min(iterations.end);
            let parameters = DispatchParameters {
                cloth_begin,
                cloth_count,
                row_width: cloth_count.min(max_row),
                iteration_begin: begin,
                iteration_end: next,
                padding_0: 0,
                padding_1: 0,
                padding_2: 0,
            };
            dispatches.push((values, parameters));
            begin = next;
        }
    }

    /// Lays out the uniforms of the dispatches.
    pub(super) fn pack_dispatches(&mut self, dispatches: &[Dispatch]) {
        self.dispatch_bytes.clear();
        for (_, parameters) in dispatches {
            push_uniform(&mut self.dispatch_bytes, parameters);
        }
    }

    pub(super) fn upload(&mut self) -> Result<(), GpuError> {
        let slot = &mut self.slots[self.next_slot];
        let device = &self.device;
        let cloth_parameters: &[u8] = cast_slice(&self.part_frames);
        let frame_pool: &[u8] = cast_slice(&self.arrays.frame_pool);
        self.uploaded_bytes = 0;
        for (buffer, bytes) in [
            (&mut slot.dispatches, self.dispatch_bytes.as_slice()),
            (&mut slot.cloth_parameters, cloth_parameters),
            (&mut slot.frame_pool, frame_pool),
            (&mut slot.uploads, self.upload_bytes.as_slice()),
        ] {
            buffer.check(device, bytes.len() as u64)?;
            if buffer.grow(device, bytes.len() as u64) {
                slot.bind_group = None;
            }
            self.queue.write_buffer(buffer.buffer(), 0, bytes);
            self.uploaded_bytes += bytes.len() as u64;
        }
        if slot.bind_group.is_none() {
            let storage = [
                &slot.cloth_parameters,
                &slot.frame_pool,
                &self.fabric_pool.buffers()[0],
                &self.input_pool.buffers()[0],
                &self.particles.buffers()[0],
                &self.particles.buffers()[1],
                &self.scratch.buffers()[0],
                &self.feedback.buffers()[0],
            ];
            let (label, layout) = ("poplin.simulate_cloth.bind_group", &self.pipelines.layout);
            slot.bind_group = Some(bind_group::<DispatchParameters>(
                device,
                label,
                layout,
                &slot.dispatches,
                &storage,
            ));
        }
        Ok(())
    }
}
