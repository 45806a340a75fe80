//! Copying, resetting and removing of cloths.

use super::changes::Target;
use super::frame::mark_stale;
use super::packer::PARAMETER_ROWS;
use super::rows::RowTarget;
use super::{FEEDBACK_BYTES, GpuCloth, GpuEngine};
use crate::Error;
use crate::crossings::CrossingLog;
use bytemuck::bytes_of;
use poplin_host::{ClothId, FrameBodies, ParticleMotion};
use poplin_layout::{ClothPlacement, Feedback, NO_OFFSET};
use poplin_model::Particle;

impl GpuEngine {
    /// Adds copies of a cloth in its state after all frames recorded so far: particles, clock,
    /// counters, settings and inputs. The copies share its fabric, and no particle passes through
    /// the CPU.
    ///
    /// # Errors
    /// [`Error`] if there is no such cloth or no room for all copies; then nothing is added.
    pub fn clone_cloth(&mut self, id: ClothId, count: usize) -> Result<Vec<ClothId>, Error> {
        let source = self.cloths.get(id)?;
        let (source_placement, fabric) = (source.placement, source.host.desc().fabric.clone());
        // All ranges are allocated before the first copy is added, so that a failure changes
        // nothing.
        let scratch_len = source.parts.scratch.end - source.parts.scratch.start;
        let mut copies = Vec::new();
        for _ in 0..count {
            match self.allocate(source_placement.particle_count, scratch_len) {
                Ok(parts) => copies.push(parts),
                Err(error) => {
                    copies.into_iter().for_each(|parts| self.free_parts(parts));
                    return Err(error);
                }
            }
        }
        let placements: Vec<_> =
            copies.iter().map(|parts| parts.placement(source_placement.fabric)).collect();
        let mut ids = Vec::with_capacity(count);
        for (parts, placement) in copies.into_iter().zip(&placements) {
            // Cannot fail: the fabric is already on the device.
            self.acquire_fabric(&fabric)?;
            let source = self.cloths.get(id)?;
            let cloth = GpuCloth {
                host: source.copied_host(self.timed_frames),
                placement: *placement,
                parameters: None,
                parts,
                impulse_rows: 0..0,
                impulse_bodies: FrameBodies::default(),
                lanes: source.lanes.clone(),
                rest_begin: None,
                takes_part: false,
                is_waiting: false,
                planned: None,
                crossings: CrossingLog::default(),
                ..*source
            };
            ids.push(self.insert(cloth));
        }
        if count > 0 {
            let remainders = self.cloths.get(id)?.host.stored_remainder_rows().unwrap_or_default();
            self.changes.duplicate(source_placement, placements, remainders);
        }
        Ok(ids)
    }

    /// Removes a cloth. Only commands recorded later reuse its ranges in the buffers, so frames
    /// recorded before stay valid; a frame that was begun but not recorded
    /// ([`GpuEngine::begin_frame`]) is dropped.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    pub fn remove(&mut self, id: ClothId) -> Result<(), Error> {
        let index = self.cloths.index(id)?;
        let cloth = self.cloths.remove(id)?;
        self.leave_bucket(index);
        self.participant_count -= usize::from(cloth.takes_part);
        self.drop_begun_frame();
        self.drop_writes(&cloth.placement);
        // Waiting rows must not reach a later cloth in the same ranges.
        self.rows.remove(RowTarget::Inputs, &cloth.parts.inputs);
        self.rows.remove(RowTarget::Frame, &cloth.parts.frame);
        let slot = cloth.placement.cloth;
        let rows = PARAMETER_ROWS * slot..PARAMETER_ROWS * (slot + 1);
        self.rows.remove(RowTarget::Parameters, &rows);
        self.free_parts(cloth.parts);
        if let Some((_, range)) = self.fabrics.release(&cloth.host.desc().fabric) {
            self.fabric_pool.free(range);
        }
        Ok(())
    }

    /// Removes all cloths; the buffers keep their size.
    pub fn clear(&mut self) {
        self.cloths.clear();
        self.buckets.clear();
        self.drop_begun_frame();
        self.rows.clear();
        self.participant_count = 0;
        self.fabrics.clear();
        self.particles.clear();
        self.fabric_pool.clear();
        self.input_pool.clear();
        self.scratch.clear();
        self.frame_pool.clear();
        self.feedback.clear();
        self.changes = super::changes::PendingChanges::default();
        self.triangles.forget();
    }

    /// Resets a cloth to the state in which it was added, from the next recorded frame on:
    /// particles, velocities, pose, clock and counters. Settings, phases, inputs and colliders stay
    /// as they were set last.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    pub fn reset(&mut self, id: ClothId) -> Result<(), Error> {
        let index = self.cloths.index(id)?;
        self.visits.add(index);
        let cloth = &mut self.cloths.values_mut()[index];
        cloth.host.reset();
        cloth.impulse_rows = 0..0;
        // A new log: pending reads complete the old one.
        cloth.crossings = CrossingLog::default();
        if cloth.rest_begin.take().is_some() {
            mark_stale(&mut self.buckets, &cloth.bucket);
        }
        let placement = cloth.placement;
        let (current, previous) =
            (cloth.host.initial_current().to_vec(), cloth.host.initial_previous());
        self.drop_writes(&placement);
        self.write_particles(&placement, &current, &previous);
        self.write_feedback(&placement, &Feedback::default());
        self.write_report(placement.cloth);
        self.triangles.forget();
        Ok(())
    }

    /// Sets all particles of a cloth, from the next recorded frame on; see
    /// [`poplin_host::Engine::set_particles`].
    ///
    /// # Errors
    /// [`Error`] if there is no such cloth, or a length or value is out of range; then nothing
    /// changes.
    pub fn set_particles(
        &mut self,
        id: ClothId,
        particles: &[Particle],
        motion: ParticleMotion<'_>,
    ) -> Result<(), Error> {
        let index = self.cloths.index(id)?;
        self.visits.add(index);
        let cloth = &mut self.cloths.values_mut()[index];
        let previous = cloth.host.set_particles(particles, motion)?;
        let placement = cloth.placement;
        self.drop_writes(&placement);
        self.write_particles(&placement, particles, &previous);
        // Clears `fault_count` and `fault_particle`, which come first in a report, so that a frozen
        // cloth continues.
        let offset = FEEDBACK_BYTES * u64::from(placement.cloth);
        self.changes.write(Target::Feedback, offset, bytes_of(&[0, NO_OFFSET]));
        self.triangles.forget();
        Ok(())
    }

    /// Drops pending particle writes of a cloth, which were collected for a frame that was not
    /// recorded.
    fn drop_writes(&mut self, placement: &ClothPlacement) {
        let begin = placement.particle_begin;
        self.rows.remove(RowTarget::Particles, &(begin..begin + placement.particle_count));
    }

    /// Drops the begun frame, whose cloth indices may no longer be valid.
    pub(super) fn drop_begun_frame(&mut self) {
        self.is_begun = false;
        self.contacts.frame.clear();
        self.visits.restart();
        self.visits.add_all();
    }
}
