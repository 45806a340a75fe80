//! Pending device changes after adding, removing and replacing, recorded before the next commands
//! that use the buffers.
//!
//! Frames recorded earlier must keep their contents, so nothing is written through the queue.

use super::{FEEDBACK_BYTES, GpuEngine};
use crate::Error;
use crate::scope::create_buffer;
use poplin_layout::ClothPlacement;
use std::ops::Range;

/// Size of one upload buffer \[bytes\], unless a single write is longer.
const CHUNK_BYTES: usize = 64 << 20;

/// Buffer that is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Current,
    Previous,
    Fabrics,
    Feedback,
    Reports,
    Scratch,
}

/// Pending change of a buffer; changes are recorded in the order of the calls.
enum BufferChange {
    /// Copies bytes of a chunk to a buffer.
    Write { target: Target, chunk: usize, source: u64, destination: u64, len: u64 },
    /// Copies particles and report of a cloth, and these rows of its scratch, to its copies.
    Duplicate { source: ClothPlacement, copies: Vec<ClothPlacement>, rows: Range<u32> },
    /// Copies rows of the scratch buffer to those from `begin` on.
    Move { rows: Range<u32>, begin: u32 },
}

/// Changes that are not recorded yet.
#[derive(Default)]
pub(super) struct PendingChanges {
    chunks: Vec<Vec<u8>>,
    list: Vec<BufferChange>,
}

impl PendingChanges {
    /// Adds a write of `bytes` at `destination` \[bytes\].
    pub(super) fn write(&mut self, target: Target, destination: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // Small writes share an upload buffer.
        match self.chunks.last() {
            Some(chunk) if chunk.len() + bytes.len() <= CHUNK_BYTES => {}
            _ => self.chunks.push(Vec::new()),
        }
        let chunk = self.chunks.len() - 1;
        let source = self.chunks[chunk].len() as u64;
        self.chunks[chunk].extend_from_slice(bytes);
        self.list.push(BufferChange::Write {
            target,
            chunk,
            source,
            destination,
            len: bytes.len() as u64,
        });
    }

    /// Adds a copy of the particles and report of a cloth, and of these rows of its scratch, to its
    /// copies.
    pub(super) fn duplicate(
        &mut self,
        source: ClothPlacement,
        copies: Vec<ClothPlacement>,
        rows: Range<u32>,
    ) {
        self.list.push(BufferChange::Duplicate { source, copies, rows });
    }

    /// Adds a copy of rows of the scratch buffer to those from `begin` on.
    pub(super) fn move_scratch(&mut self, rows: Range<u32>, begin: u32) {
        self.list.push(BufferChange::Move { rows, begin });
    }

    /// Size of pending uploads \[bytes\].
    pub(super) fn size(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.capacity() as u64).sum()
    }
}

impl GpuEngine {
    /// Records pending changes of the device: new particles and fabrics, and the contents of
    /// buffers that had to grow. [`GpuEngine::encode_frame`] and
    /// [`Readback::encode`](crate::Readback::encode) do this first; call it only to draw or copy an
    /// added cloth before its first frame.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] for the new contents; nothing is recorded then; they stay pending.
    pub fn encode_changes(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), Error> {
        let upload = |contents: &Vec<u8>| {
            let (usage, bytes) = (wgpu::BufferUsages::COPY_SRC, contents.len() as u64);
            create_buffer(&self.device, "poplin.changes", usage, bytes, contents)
        };
        let uploads = self.changes.chunks.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        let is_grown = [
            self.particles.record_growth(encoder),
            self.fabric_pool.record_growth(encoder),
            self.input_pool.record_growth(encoder),
            self.frame_pool.record_growth(encoder),
            self.parameters.record_growth(encoder),
            self.scratch.record_growth(encoder),
            self.feedback.record_growth(encoder),
            self.triangles.reports.record_growth(encoder),
        ];
        // Bind groups refer to the replaced buffers.
        if is_grown.contains(&true) {
            for slot in &mut self.slots {
                slot.bind_group = None;
                slot.rows.unbind();
                slot.contacts.unbind();
            }
        }
        if self.changes.list.is_empty() {
            return Ok(());
        }
        let list = std::mem::take(&mut self.changes).list;
        for change in list {
            match change {
                BufferChange::Write { target, chunk, source, destination, len } => {
                    let buffer = self.target(target);
                    encoder.copy_buffer_to_buffer(
                        &uploads[chunk],
                        source,
                        buffer,
                        destination,
                        len,
                    );
                }
                BufferChange::Duplicate { source, copies, rows } => {
                    self.duplicate(encoder, &source, &copies, &rows)
                }
                BufferChange::Move { rows, begin } => {
                    let len = 16 * rows.len() as u64;
                    let from = 16 * u64::from(rows.start);
                    let between = self.between(len);
                    self.copy_through(
                        &between,
                        encoder,
                        Target::Scratch,
                        (from, len),
                        [16 * u64::from(begin)],
                    );
                }
            }
        }
        Ok(())
    }

    fn target(&self, target: Target) -> &wgpu::Buffer {
        match target {
            Target::Current => self.particles.buffer(0),
            Target::Previous => self.particles.buffer(1),
            Target::Fabrics => self.fabric_pool.buffer(0),
            Target::Feedback => self.feedback.buffer(0),
            Target::Reports => self.triangles.reports.buffer(),
            Target::Scratch => self.scratch.buffer(0),
        }
    }

    /// Intermediate buffer for copies within a buffer, as none can be copied to itself.
    fn between(&self, size: u64) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("poplin.between"),
            size,
            usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    /// Copies bytes of a buffer, `(begin, len)`, to other places in it.
    fn copy_through(
        &self,
        between: &wgpu::Buffer,
        encoder: &mut wgpu::CommandEncoder,
        target: Target,
        (begin, len): (u64, u64),
        destinations: impl IntoIterator<Item = u64>,
    ) {
        let buffer = self.target(target);
        encoder.copy_buffer_to_buffer(buffer, begin, between, 0, len);
        for destination in destinations {
            encoder.copy_buffer_to_buffer(between, 0, buffer, destination, len);
        }
    }

    fn duplicate(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        source: &ClothPlacement,
        copies: &[ClothPlacement],
        rows: &Range<u32>,
    ) {
        let bytes = 16 * u64::from(source.particle_count);
        let between = self.between(bytes.max(FEEDBACK_BYTES));
        // Contact reports are not copied: those of a copy start empty.
        for target in [Target::Current, Target::Previous, Target::Feedback, Target::Scratch] {
            let part = |placement: &ClothPlacement| match target {
                Target::Feedback => (FEEDBACK_BYTES * u64::from(placement.cloth), FEEDBACK_BYTES),
                Target::Scratch => {
                    (16 * u64::from(placement.scratch_begin + rows.start), 16 * rows.len() as u64)
                }
                _ => (16 * u64::from(placement.particle_begin), bytes),
            };
            let destinations = copies.iter().map(|copy| part(copy).0);
            self.copy_through(&between, encoder, target, part(source), destinations);
        }
    }
}
