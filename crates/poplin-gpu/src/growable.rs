//! A storage buffer that grows and keeps its contents.

use crate::GpuError;

/// A buffer with room to spare. Offsets and lengths are bytes.
pub(crate) struct GrowableBuffer {
    name: &'static str,
    usage: wgpu::BufferUsages,
    buffer: wgpu::Buffer,
    len: u64,
}

impl GrowableBuffer {
    pub(crate) fn new(
        device: &wgpu::Device,
        name: &'static str,
        usage: wgpu::BufferUsages,
    ) -> Self {
        let usage = usage | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        Self { name, usage, buffer: create(device, name, usage, 256), len: 0 }
    }

    pub(crate) fn buffer(&self) -> &wgpu::Buffer {
        &self.buffer
    }

    /// Bytes in use.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Refuses a length that the device cannot bind.
    pub(crate) fn check(&self, device: &wgpu::Device, len: u64) -> Result<(), GpuError> {
        let limits = device.limits();
        let limit = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        if len > limit {
            Err(GpuError::TooLarge { buffer: self.name, bytes: len, limit })
        } else {
            Ok(())
        }
    }

    /// Makes `len` bytes usable; true if the buffer was replaced (bind groups must be made anew). Call
    /// [`GrowableBuffer::check`] first.
    pub(crate) fn grow(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, len: u64) -> bool {
        let old_len = self.len;
        self.len = old_len.max(len);
        if len <= self.buffer.size() {
            return false;
        }
        let limits = device.limits();
        let limit = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        let size = len.next_power_of_two().min(limit / 16 * 16).max(len);
        let larger = create(device, self.name, self.usage, size);
        if old_len > 0 {
            let mut encoder = device
                .create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(self.name) });
            encoder.copy_buffer_to_buffer(&self.buffer, 0, &larger, 0, old_len);
            queue.submit([encoder.finish()]);
        }
        self.buffer = larger;
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
