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

/// Creates a buffer, or returns that the device has no memory for it.
pub(crate) fn create_buffer(
    device: &wgpu::Device,
    name: &'static str,
    bytes: u64,
    make: impl FnOnce() -> wgpu::Buffer,
) -> Result<wgpu::Buffer, Error> {
    caught(device, make).map_err(|error| match error {
        wgpu::Error::OutOfMemory { .. } => Error::OutOfMemory { buffer: name, bytes },
        error => Error::Device(Arc::new(error)),
    })
}

/// Builds what consists of many objects of a device, or returns the first error of any of them.
pub(crate) fn built<T>(
    device: &wgpu::Device,
    make: impl FnOnce() -> Result<T, Error>,
) -> Result<T, Error> {
    caught(device, make).unwrap_or_else(|error| Err(Error::Device(Arc::new(error))))
}
