//! Buffers shared by many cloths, allocated in ranges.

use std::ops::Range;

use poplin_host::Ranges;

use crate::Error;
use crate::growable::GrowableBuffer;

/// `COUNT` buffers of the same length whose elements are allocated in ranges and reused.
pub(crate) struct Pool<const COUNT: usize> {
    buffers: [GrowableBuffer; COUNT],
    ranges: Ranges,
    element_bytes: u64,
}

impl<const COUNT: usize> Pool<COUNT> {
    pub(crate) fn new(
        device: &wgpu::Device,
        names: [&'static str; COUNT],
        usage: wgpu::BufferUsages,
        element_bytes: u64,
    ) -> Self {
        let limit = GrowableBuffer::limit(device) / element_bytes;
        Self {
            buffers: names.map(|name| GrowableBuffer::new(device, name, usage)),
            ranges: Ranges::new(u32::try_from(limit).unwrap_or(u32::MAX)),
            element_bytes,
        }
    }

    pub(crate) fn buffers(&self) -> &[GrowableBuffer; COUNT] {
        &self.buffers
    }

    pub(crate) fn buffer(&self, index: usize) -> &wgpu::Buffer {
        self.buffers[index].buffer()
    }

    /// Allocates a range of elements; the buffers grow if no gap fits.
    pub(crate) fn allocate(
        &mut self,
        device: &wgpu::Device,
        len: u32,
    ) -> Result<Range<u32>, Error> {
        let bytes = self.element_bytes;
        let range = self.ranges.allocate(len).map_err(|full| Error::TooLarge {
            buffer: self.buffers[0].name(),
            bytes: full.needed.saturating_mul(bytes),
            limit: u64::from(full.limit) * bytes,
        })?;
        // All buffers of a pool have the same length in elements.
        let end = u64::from(self.ranges.end()) * bytes;
        self.buffers.iter_mut().for_each(|buffer| buffer.grow_keeping(device, end));
        Ok(range)
    }

    /// Replaces a range shorter than `len` by one of that length, without its contents; returns
    /// true if it did. The old range may only be reused by commands recorded later, as a recorded
    /// frame may still read it.
    pub(crate) fn enlarge(
        &mut self,
        device: &wgpu::Device,
        range: &mut Range<u32>,
        len: u32,
    ) -> Result<bool, Error> {
        if len <= range.end - range.start {
            return Ok(false);
        }
        let larger = self.allocate(device, len)?;
        self.free(std::mem::replace(range, larger));
        Ok(true)
    }

    /// Frees a range. Only commands recorded from now on may reuse it.
    pub(crate) fn free(&mut self, range: Range<u32>) {
        self.ranges.free(range);
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// Number of elements in use.
    pub(crate) fn used(&self) -> u32 {
        self.ranges.used()
    }

    /// Size on the device \[bytes\].
    pub(crate) fn size(&self) -> u64 {
        self.buffers.iter().map(GrowableBuffer::size).sum()
    }

    /// Records the copies of contents after growth; returns true if there were any.
    pub(crate) fn record_growth(&mut self, encoder: &mut wgpu::CommandEncoder) -> bool {
        self.buffers.iter_mut().fold(false, |any, buffer| buffer.record_growth(encoder) | any)
    }
}
