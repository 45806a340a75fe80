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
        let end = u64::from(range.end) * bytes;
        let mut buffers = self.buffers.iter_mut();
        match buffers.try_for_each(|buffer| buffer.grow_keeping(device, end)) {
            Ok(()) => Ok(range),
            Err(error) => {
                self.ranges.free(range);
                Err(error)
            }
        }
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Command;

    use super::*;

    /// Variable that is set in the process with little memory.
    const IN_CHILD: &str = "POPLIN_TEST_FULL_DEVICE";

    #[test]
    fn a_full_device_is_an_error_and_changes_nothing() {
        if std::env::var_os(IN_CHILD).is_none() {
            // The memory of wgpu's device without a driver is that of the process.
            let limited = "ulimit -v 1000000 && exec \"$0\" --exact \"$1\"";
            let name = concat!(module_path!(), "::a_full_device_is_an_error_and_changes_nothing");
            let (_, name) = name.split_once("::").unwrap();
            let mut child = Command::new("sh");
            child.args(["-c", limited]).arg(std::env::current_exe().unwrap()).arg(name);
            let output = child.env(IN_CHILD, "1").output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && text.contains("1 passed"), "{output:?}");
            return;
        }
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::NOOP;
        descriptor.backend_options.noop.enable = true;
        let instance = wgpu::Instance::new(descriptor);
        let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::NOOP));
        let limits = wgpu::Limits {
            max_buffer_size: i32::MAX as u64,
            max_storage_buffer_binding_size: i32::MAX as u64,
            ..wgpu::Limits::default()
        };
        let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
        let (device, _) = pollster::block_on(adapters[0].request_device(&descriptor)).unwrap();
        device.on_uncaptured_error(std::sync::Arc::new(|error| panic!("uncaptured: {error}")));
        let names = ["first", "second"];
        let mut pool = Pool::new(&device, names, wgpu::BufferUsages::STORAGE, 1 << 20);
        assert_eq!(pool.allocate(&device, 3).unwrap(), 0..3);
        let size = pool.size();
        for _ in 0..2 {
            let error = pool.allocate(&device, 1500).unwrap_err();
            let expected = Error::OutOfMemory { buffer: "first", bytes: 1503 << 20 };
            assert_eq!(error.to_string(), expected.to_string());
            assert_eq!((pool.used(), pool.size()), (3, size));
        }
        assert_eq!(pool.allocate(&device, 2).unwrap(), 3..5);
    }
}
