//! Storage buffer that grows.

use crate::{Error, scope};

/// Buffer with spare capacity. Lengths are bytes.
#[derive(Debug)]
pub(crate) struct GrowableBuffer {
    name: &'static str,
    usage: wgpu::BufferUsages,
    buffer: wgpu::Buffer,
    /// Previous buffer, until its contents have been copied.
    replaced: Option<wgpu::Buffer>,
}

impl GrowableBuffer {
    pub(crate) fn new(
        device: &wgpu::Device,
        name: &'static str,
        usage: wgpu::BufferUsages,
    ) -> Self {
        let usage = usage | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        Self { name, usage, buffer: create(device, name, usage, 256), replaced: None }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// Size on the device \[bytes\].
    pub(crate) fn size(&self) -> u64 {
        self.buffer.size()
    }

    /// Length of the longest buffer that the device binds.
    pub(crate) fn limit(device: &wgpu::Device) -> u64 {
        let limits = device.limits();
        limits.max_buffer_size.min(limits.max_storage_buffer_binding_size)
    }

    /// Makes room for `len` bytes; returns true if the buffer was replaced, without its contents
    /// (bind groups must be recreated). Nothing changes if the device cannot bind that many bytes
    /// or has no memory for them.
    pub(crate) fn grow(&mut self, device: &wgpu::Device, len: u64) -> Result<bool, Error> {
        let limit = Self::limit(device);
        if len > limit {
            return Err(Error::TooLarge { buffer: self.name, bytes: len, limit });
        }
        if len <= self.buffer.size() {
            return Ok(false);
        }
        // Powers of two keep the number of replacements logarithmic.
        let size = len.next_power_of_two().min(limit / 16 * 16).max(len);
        let create = |size| scope::create_buffer(device, self.name, self.usage, size, &[]);
        // A nearly full device may have room for what is needed.
        self.buffer = create(size).or_else(|_| create(len.next_multiple_of(16)))?;
        Ok(true)
    }

    /// Replaces the contents before the next submission; returns true if the buffer was replaced.
    pub(crate) fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        bytes: &[u8],
    ) -> Result<bool, Error> {
        let is_replaced = self.grow(device, bytes.len() as u64)?;
        queue.write_buffer(&self.buffer, 0, bytes);
        Ok(is_replaced)
    }

    /// Makes room like [`GrowableBuffer::grow`], but [`GrowableBuffer::record_growth`] copies the
    /// contents.
    pub(crate) fn grow_keeping(&mut self, device: &wgpu::Device, len: u64) -> Result<(), Error> {
        let old = self.buffer.clone();
        if self.grow(device, len)? {
            // Of several growths without a recording the first old buffer has the contents: nothing
            // was recorded that could have written to the ones between.
            self.replaced.get_or_insert(old);
        }
        Ok(())
    }

    /// Records the copy from the previous buffer; returns true if there was one.
    pub(crate) fn record_growth(&mut self, encoder: &mut wgpu::CommandEncoder) -> bool {
        let Some(old) = self.replaced.take() else { return false };
        encoder.copy_buffer_to_buffer(&old, 0, &self.buffer, 0, old.size());
        true
    }
}

fn create(
    device: &wgpu::Device,
    name: &'static str,
    usage: wgpu::BufferUsages,
    size: u64,
) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(name),
        size,
        usage,
        mapped_at_creation: false,
    })
}
