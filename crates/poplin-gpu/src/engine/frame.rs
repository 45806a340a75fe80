//! Recording of frames: inputs, constants, dispatches.

use super::changes::Target;
use super::dispatches::{Run, push_dispatches, restricted};
use super::packer::{PARAMETER_ROWS, changed_rows, push_rows};
use super::rows::RowTarget;
use super::{Bucket, Dispatch, GpuEngine};
use crate::binding::{UNIFORM_STRIDE, bind_group, push_uniform};
use crate::growable::GrowableBuffer;
use crate::{Compilation, Error};
use bytemuck::{Zeroable, cast_slice};
use poplin_host::{FramePart, State, takes_part};
use poplin_layout::DispatchParameters;
use poplin_shaders::OverrideValues;
use std::collections::BTreeMap;
use std::ops::Range;

/// Allocation granularity of frame constants \[rows\], so that freed ranges can be reused.
const FRAME_RANGE: u32 = 16;
/// Smallest allocation of a dispatch list \[cloths\], for the same reason.
const MIN_LIST: u32 = 64;

/// Compute pass that contains the whole frame.
pub(super) const PASS: wgpu::ComputePassDescriptor<'_> =
    wgpu::ComputePassDescriptor { label: Some("poplin.simulate_cloth"), timestamp_writes: None };

impl GpuEngine {
    /// Records one frame of `dt` seconds of every cloth (`0..=10`) into the caller's encoder,
    /// without submitting or polling. Constants are uploaded through the queue, so at most
    /// [`EngineOptions::frames_per_submit`](crate::EngineOptions::frames_per_submit) frames may be
    /// recorded before a submission.
    ///
    /// # Errors
    /// [`Error`] if the frame is out of range for a cloth; then nothing is recorded and no
    /// cloth's time advances.
    pub fn encode_frame(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        dt: f32,
    ) -> Result<(), Error> {
        self.begin_frame(dt)?;
        self.encode_begun(encoder)
    }

    /// Reads inputs, advances clocks and packs the frame's constants; [`GpuEngine::encode_part`]
    /// then records it. Unchanged cloths cost no time if the frame is as long as the last one.
    ///
    /// # Errors
    /// [`Error`] if the frame is out of range for a cloth or its phases need more loop trips
    /// than the driver runs (then no cloth's time advances), or if the device has no room for new
    /// inputs.
    pub fn begin_frame(&mut self, dt: f32) -> Result<(), Error> {
        // A different length or shared collider concerns every cloth.
        // As bits, so that NaN equals itself and -0 differs from 0.
        let seen = (dt.to_bits(), self.colliders.stamps());
        let is_other = self.seen != Some(seen);
        if is_other {
            self.visits.add_all();
        }
        let mut visited = std::mem::take(&mut self.visited);
        self.visits.fill(self.cloths.len(), &mut visited);
        let result = self
            .check(&visited, dt, is_other)
            // No cloth's time advances before all checks have passed.
            .and_then(|()| self.check_pipelines())
            .and_then(|()| self.visit(&visited, dt, is_other));
        self.visited = visited;
        if result.is_err() {
            // Buckets may already have changed.
            self.drop_begun_frame();
            self.seen = None;
        } else {
            self.seen = Some(seen);
        }
        result
    }

    /// Rejects an invalid frame before any cloth's time advances. Cloths with only changed inputs
    /// are skipped, unless the frame's length or the shared colliders differ from the last frame.
    fn check(&mut self, visited: &[usize], dt: f32, is_other: bool) -> Result<(), Error> {
        let is_strict = is_other || self.options.loop_limit.is_some();
        self.planned.clear();
        for &index in visited {
            let cloth = &self.cloths.values()[index];
            if is_strict
                || cloth.planned != Some(cloth.host.revision())
                || cloth.host.has_other_colliders(&self.colliders)
            {
                cloth.host.validate_frame(dt)?;
                self.plan(index, dt)?;
                self.planned.push(index);
            }
        }
        Ok(())
    }

    /// Applies the changes of a cloth's colliders. If its revision is not the planned one, updates
    /// its lanes, the ranges of its inputs and scratch, and its bucket.
    fn plan(&mut self, index: usize, dt: f32) -> Result<(), Error> {
        let cloth = &mut *self.cloths.values_mut()[index];
        cloth.host.plan(&self.colliders, &self.contacts.settings, dt)?;
        let revision = Some(cloth.host.revision());
        if cloth.planned == revision {
            return Ok(());
        }
        let trips = cloth.lanes.trips;
        self.lane_choice.renew(&mut cloth.lanes, &cloth.host)?;
        if trips != cloth.lanes.trips {
            mark_stale(&mut self.buckets, &cloth.bucket);
        }
        self.participant_count -= usize::from(cloth.takes_part);
        cloth.takes_part = takes_part(&cloth.host, self.contacts.settings.contact);
        self.participant_count += usize::from(cloth.takes_part);
        let (input_len, scratch_len) = (cloth.host.input_len(), cloth.host.scratch_len());
        let (parts, placement) = (&mut cloth.parts, &mut cloth.placement);
        if self.input_pool.enlarge(&self.device, &mut parts.inputs, input_len)? {
            placement.input_begin = parts.inputs.start;
        }
        let before = placement.scratch_begin;
        if self.scratch.enlarge(&self.device, &mut parts.scratch, scratch_len)? {
            placement.scratch_begin = parts.scratch.start;
        }
        if let Some(rows) = cloth.host.stored_remainder_rows() {
            let begin = placement.scratch_begin + cloth.host.remainder_rows().start;
            if begin != before + rows.start {
                self.changes.move_scratch(before + rows.start..before + rows.end, begin);
                cloth.host.note_moved_remainders();
            }
        }
        cloth.planned = revision;
        let cloth = &self.cloths.values()[index];
        let values = self.override_values(&cloth.host, &cloth.placement.fabric, cloth.lanes.count);
        self.change_bucket(index, values);
        Ok(())
    }

    fn visit(&mut self, visited: &[usize], dt: f32, is_other: bool) -> Result<(), Error> {
        self.rows.begin_frame();
        self.note_waiting(visited);
        self.begin_contacts(dt)?;
        let is_sliced = self.contacts.frame.slice_count() > 0;
        // Cloths that have not settled add themselves again while they are packed.
        self.visits.restart();
        self.timed_frames = self.timed_frames.wrapping_add(u32::from(dt > 0.0));
        let mut slow = std::mem::take(&mut self.slow);
        slow.clear();
        if is_other {
            slow.extend_from_slice(visited);
        } else {
            // What the fast path cannot handle ends up in `slow`.
            self.pack_quick(visited, dt, &mut slow)?;
        }
        let planned = std::mem::take(&mut self.planned);
        let mut next = planned.iter().peekable();
        for &index in &slow {
            // Both lists ascend.
            while next.next_if(|&&other| other < index).is_some() {}
            if next.next_if_eq(&&index).is_none() {
                self.plan(index, dt)?;
            }
            self.take_inputs(index);
            self.pack(index, dt, is_sliced)?;
        }
        (self.slow, self.planned) = (slow, planned);
        self.list_active()?;
        self.colliders.end_frame();
        self.is_begun = true;
        Ok(())
    }

    /// Marks the visited cloths that wait for pipelines compiled in the background.
    fn note_waiting(&mut self, visited: &[usize]) {
        if self.options.compilation != Compilation::Background {
            return;
        }
        let is_contact_ready = self.is_contact_ready();
        for &index in visited {
            let cloth = &mut self.cloths.values_mut()[index];
            let is_ready = self.pipelines.is_ready(&cloth.bucket);
            let is_waiting = !is_ready || cloth.takes_part && !is_contact_ready;
            if std::mem::replace(&mut cloth.is_waiting, is_waiting) || is_waiting {
                // Its frame is not as long as the last one.
                cloth.host.expect_changes();
            }
        }
    }

    /// Packs the changes of a cloth's frame; a resting cloth leaves the dispatch list.
    fn pack(&mut self, index: usize, dt: f32, is_sliced: bool) -> Result<(), Error> {
        let cloth = &mut *self.cloths.values_mut()[index];
        // Time does not advance for a waiting cloth.
        let dt = if cloth.is_waiting { 0.0 } else { dt };
        let slot = cloth.placement.cloth;
        // Cloths that collide may wake one another, so they stay dispatched and sleep in their
        // kernel.
        if cloth.host.is_resting() && !(is_sliced && cloth.takes_part) {
            // The clock continues, so that the cloth wakes with the right step.
            cloth.host.rest(dt);
            cloth.impulse_rows = 0..0;
            if cloth.rest_begin.is_none() {
                cloth.rest_begin = Some(self.timed_frames.wrapping_sub(u32::from(dt > 0.0)));
                mark_stale(&mut self.buckets, &cloth.bucket);
            }
        } else {
            if let Some(begin) = cloth.rest_begin.take() {
                let before = self.timed_frames.wrapping_sub(u32::from(dt > 0.0));
                // Frames since the cloth left the dispatch list, without this one.
                cloth.host.count_skipped(before.wrapping_sub(begin));
                mark_stale(&mut self.buckets, &cloth.bucket);
            }
            cloth.impulse_bodies = cloth.host.frame_bodies();
            let known = cloth.parameters;
            let mut parameters = known.unwrap_or(Zeroable::zeroed());
            let is_new =
                cloth.host.update_frame(dt, &cloth.placement, &mut parameters, &mut self.arrays);
            if is_new {
                let rows = &self.arrays.frame_pool;
                let range = &mut cloth.parts.frame;
                let len = (rows.len() as u32).next_multiple_of(FRAME_RANGE);
                self.frame_pool
                    .enlarge(&self.device, range, len)
                    .inspect_err(|_| cloth.host.forget_constants())?;
                self.rows.extend(RowTarget::Frame, range.start, rows);
                // Offsets in packed rows are relative to their begin.
                parameters = parameters.moved_by(range.start);
            }
            if known.is_none_or(|known| known.iteration_count != parameters.iteration_count) {
                mark_stale(&mut self.buckets, &cloth.bucket);
            }
            // Only changed rows are uploaded, except for the first time.
            let all = (1 << PARAMETER_ROWS) - 1;
            let changed = known.map_or(all, |known| changed_rows(&known, &parameters));
            push_rows(&mut self.rows, slot, &parameters, changed);
            cloth.parameters = Some(parameters);
            let (begin, rows) = (cloth.placement.scratch_begin, cloth.host.body_rows());
            // A frame of zero length has no impulses.
            let is_simulated = cloth.host.iteration_count(dt) > 0;
            cloth.impulse_rows =
                if is_simulated { begin + rows.start..begin + rows.end } else { 0..0 };
        }
        if cloth.is_waiting || cloth.takes_part || !cloth.host.is_settled() {
            self.visits.add(index);
        }
        Ok(())
    }

    /// Collects a cloth's particle writes and changed inputs for the next recorded part.
    fn take_inputs(&mut self, index: usize) {
        let cloth = &mut *self.cloths.values_mut()[index];
        let rows = &mut self.rows;
        let particles = cloth.placement.particle_begin;
        cloth.host.take_writes(|particle, value| {
            rows.push(RowTarget::Particles, particles + particle, bytemuck::cast(value));
        });
        let inputs = cloth.placement.input_begin;
        cloth
            .host
            .take_inputs(inputs, |address, values| rows.extend(RowTarget::Inputs, address, values));
    }

    /// Updates the lists of dispatched cloths.
    fn list_active(&mut self) -> Result<(), Error> {
        let Self { buckets, cloths, fabric_pool, changes, device, listed, .. } = self;
        for bucket in buckets.values_mut().filter(|bucket| bucket.is_stale) {
            listed.clear();
            bucket.iteration_counts.clear();
            (bucket.iteration_count, bucket.trips) = (0, 1);
            for &index in &bucket.cloths {
                let cloth = &cloths.values()[index];
                if cloth.rest_begin.is_none() {
                    let iteration_count = cloth.parameters.map_or(0, |it| it.iteration_count);
                    listed.push(cloth.placement.cloth);
                    bucket.iteration_counts.push(iteration_count);
                    bucket.iteration_count = bucket.iteration_count.max(iteration_count);
                    bucket.trips = bucket.trips.max(cloth.lanes.trips);
                }
            }
            if *listed != bucket.active {
                // Powers of two, so that cloths that wake and fall asleep rarely move the list.
                let len = (listed.len() as u32).next_power_of_two().max(MIN_LIST);
                fabric_pool.enlarge(device, &mut bucket.list, len)?;
                let begin = 4 * u64::from(bucket.list.start);
                // Kernels find their cloths by this list.
                changes.write(Target::Fabrics, begin, cast_slice(listed));
                bucket.active.clone_from(listed);
            }
            bucket.is_stale = false;
        }
        Ok(())
    }

    /// Reads the kernels' reports, so that sleeping cloths leave the dispatch list.
    /// [`crate::Headless`] calls it for every state that it reads; otherwise sleeping cloths are
    /// only skipped inside their kernel.
    pub fn note_feedback(&mut self, state: &State) {
        self.triangles.note_reports(state);
        for &id in state.ids() {
            // The cloth may have been removed since.
            if let (Ok(index), Ok(reported)) = (self.cloths.index(id), state.cloth(id)) {
                let cloth = &mut self.cloths.values_mut()[index];
                cloth.host.note_feedback(reported.feedback);
                if cloth.host.is_resting() != cloth.rest_begin.is_some() {
                    self.visits.add(index);
                }
            }
        }
    }

    /// Records a part of the begun frame.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the frame's constants exceed what the device binds.
    pub fn encode_part(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        part: &FramePart,
    ) -> Result<(), Error> {
        self.encode_changes(encoder)?;
        let mut dispatches = std::mem::take(&mut self.dispatches);
        dispatches.clear();
        self.plan_dispatches(part, &mut dispatches)?;
        self.pack_dispatches(&dispatches);
        let result = self.record(encoder, &dispatches);
        self.dispatches = dispatches;
        result
    }

    fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        dispatches: &[Dispatch],
    ) -> Result<(), Error> {
        if dispatches.is_empty() && self.rows.is_empty() {
            return Ok(());
        }
        let row_count = self.upload()?;
        let slot = self.take_slot();
        let mut pass = encoder.begin_compute_pass(&PASS);
        self.record_scatter(&mut pass, slot, row_count);
        self.record_dispatches(&mut pass, slot, dispatches, 0..dispatches.len());
        Ok(())
    }

    /// Returns the slot whose buffers were uploaded, and selects another for the next frame.
    pub(super) fn take_slot(&mut self) -> usize {
        let index = self.next_slot;
        self.next_slot = (index + 1) % self.slots.len();
        index
    }

    /// Records some of the dispatches with packed uniforms.
    pub(super) fn record_dispatches(
        &self,
        pass: &mut wgpu::ComputePass<'_>,
        slot: usize,
        dispatches: &[Dispatch],
        range: Range<usize>,
    ) {
        let bind_group =
            self.slots[slot].bind_group.as_ref().expect("upload creates the bind group");
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

    /// Plans one dispatch per bucket, or more if the iterations exceed the limit of one.
    fn plan_dispatches(
        &mut self,
        part: &FramePart,
        dispatches: &mut Vec<Dispatch>,
    ) -> Result<(), Error> {
        let Self { buckets, pipelines, device, .. } = self;
        if !self.is_begun {
            return Ok(());
        }
        for (bucket_values, bucket) in buckets.iter().filter(|(_, bucket)| bucket.is_active()) {
            let values = restricted(bucket_values, part.stages);
            let iterations = part.iterations.start..bucket.iteration_count.min(part.iterations.end);
            if iterations.is_empty() {
                continue;
            }
            pipelines.prepare(values)?;
            let run = Run {
                values,
                trips: bucket.trips,
                slots: 0..bucket.active.len() as u32,
                iterations,
                phases: part.phase_range(),
            };
            push_dispatches(device, &self.options, bucket, run, dispatches);
        }
        Ok(())
    }

    /// Packs the uniforms of the dispatches.
    pub(super) fn pack_dispatches(&mut self, dispatches: &[Dispatch]) {
        self.dispatch_bytes.clear();
        for (_, parameters) in dispatches {
            push_uniform(&mut self.dispatch_bytes, parameters);
        }
    }

    /// Uploads uniforms and rows; returns the number of rows.
    pub(super) fn upload(&mut self) -> Result<usize, Error> {
        self.uploaded_bytes = self.dispatch_bytes.len() as u64;
        let slot = &mut self.slots[self.next_slot];
        let device = &self.device;
        if slot.dispatches.upload(device, &self.queue, &self.dispatch_bytes)? {
            // A replaced buffer invalidates the bind group.
            slot.bind_group = None;
        }
        if slot.bind_group.is_none() {
            let storage = [
                &self.parameters,
                &self.frame_pool.buffers()[0],
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
                slot.dispatches.buffer(),
                &storage.map(GrowableBuffer::buffer),
            ));
        }
        self.upload_rows()
    }
}

pub(super) fn mark_stale(buckets: &mut BTreeMap<OverrideValues, Bucket>, values: &OverrideValues) {
    if let Some(bucket) = buckets.get_mut(values) {
        bucket.is_stale = true;
    }
}
