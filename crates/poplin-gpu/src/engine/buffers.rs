//! Access to the engine's buffers and the ranges of cloths in them.

use std::ops::Range;

use poplin_host::{ClothId, FrameBodies, NoSuchCloth};

use super::{FrameSlot, GpuEngine};
use crate::crossings::{CrossingLog, CrossingScene};
use crate::pool::Pool;

impl GpuEngine {
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
    /// [`GpuEngine::particle_range`]. The buffer is replaced when an added cloth does not fit; the
    /// new buffer has the contents once the next recorded frame, or [`GpuEngine::encode_changes`],
    /// was submitted.
    pub fn particle_buffer(&self) -> &wgpu::Buffer {
        self.particles.buffer(0)
    }

    /// Buffer of the positions one iteration ago and the user's inverse masses, laid out like
    /// [`GpuEngine::particle_buffer`].
    pub fn previous_particle_buffer(&self) -> &wgpu::Buffer {
        self.particles.buffer(1)
    }

    /// Buffer of counters and faults: a [`poplin_layout::Feedback`] in the slot of each cloth
    /// ([`GpuEngine::feedback_slot`]).
    pub fn feedback_buffer(&self) -> &wgpu::Buffer {
        self.feedback.buffer(0)
    }

    /// Range of a cloth's particles in [`GpuEngine::particle_buffer`], as indices. It stays the
    /// same until the cloth is removed.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn particle_range(&self, id: ClothId) -> Result<Range<u32>, NoSuchCloth> {
        self.cloths.get(id).map(|cloth| cloth.parts.particles.clone())
    }

    /// Index of a cloth's report in [`GpuEngine::feedback_buffer`]. It stays the same until the
    /// cloth is removed.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn feedback_slot(&self, id: ClothId) -> Result<u32, NoSuchCloth> {
        self.cloths.get(id).map(|cloth| cloth.placement.cloth)
    }

    /// Rows of the scratch buffer with the remainders of a cloth's last displacements; empty
    /// without.
    pub(crate) fn remainder_rows(&self, id: ClothId) -> Result<Range<u32>, NoSuchCloth> {
        let cloth = self.cloths.get(id)?;
        let begin = cloth.placement.scratch_begin;
        let rows = cloth.host.stored_remainder_rows();
        Ok(rows.map_or(0..0, |rows| begin + rows.start..begin + rows.end))
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

    /// Rows of the impulses on bodies in the scratch buffer \[vec4\] after the last recorded frame,
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
}
