//! Errors of a device, returned by the call that causes them.

use std::sync::Arc;

use crate::Error;

/// Runs calls that create objects of a device, and returns the error that it reports for them. The
/// objects are unusable then. In a browser errors come later, to the handler of the application.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn caught<T>(device: &wgpu::Device, make: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
    let invalid = device.push_error_scope(wgpu::ErrorFilter::Validation);
    let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
    let full = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
    let made = make();
    // Outside of browsers the futures are ready. The innermost scope ends first.
    let errors = [full, internal, invalid].map(|scope| pollster::block_on(scope.pop()));
    errors.into_iter().flatten().next().map_or(Ok(made), Err)
}

/// Runs calls that create objects of a device. Its errors come later, to the handler of the
/// application.
#[cfg(target_family = "wasm")]
pub(crate) fn caught<T>(_: &wgpu::Device, make: impl FnOnce() -> T) -> Result<T, wgpu::Error> {
    Ok(make())
}

/// Creates a buffer that begins with `contents` and is zero after them, or returns that the device
/// has no memory for it. `bytes` is a multiple of 4.
pub(crate) fn create_buffer(
    device: &wgpu::Device,
    name: &'static str,
    usage: wgpu::BufferUsages,
    bytes: u64,
    contents: &[u8],
) -> Result<wgpu::Buffer, Error> {
    let descriptor = wgpu::BufferDescriptor {
        label: Some(name),
        size: bytes,
        usage,
        mapped_at_creation: !contents.is_empty(),
    };
    let created = caught(device, || device.create_buffer(&descriptor));
    let buffer = created.map_err(|error| match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { buffer: name, bytes },
        error => Error::Device(Arc::new(error)),
    })?;
    if !contents.is_empty() {
        // Fails if the device is lost.
        let mapped = buffer.get_mapped_range_mut(..);
        let mut view = mapped.map_err(|error| Error::Device(Arc::new(error)))?;
        view.slice(..contents.len()).copy_from_slice(contents);
        drop(view);
        buffer.unmap();
    }
    Ok(buffer)
}

/// Builds what consists of many objects of a device, or returns the first error of any of them.
pub(crate) fn built<T>(
    device: &wgpu::Device,
    make: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    caught(device, make).unwrap_or_else(|error| Err(Error::Device(Arc::new(error))))
}
