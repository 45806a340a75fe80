//! Device of the viewer.

use crate::ViewError;

/// Device, queue and adapter for drawing.
#[derive(Debug, Clone)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) adapter: wgpu::Adapter,
}

/// Creates an instance of wgpu with Vulkan, Metal and DirectX 12.
pub(crate) fn instance() -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    descriptor.flags = descriptor.flags.difference(wgpu::InstanceFlags::DEBUG).with_env();
    wgpu::Instance::new(descriptor)
}

impl Gpu {
    /// Opens the best adapter that can draw, a software adapter if there is no other.
    ///
    /// # Errors
    /// [`ViewError::NoAdapter`], [`ViewError::NoDevice`].
    pub fn new() -> Result<Self, ViewError> {
        Self::of(&instance(), None)
    }

    /// Opens the best adapter that can draw into a surface.
    pub(crate) fn of(
        instance: &wgpu::Instance,
        surface: Option<&wgpu::Surface<'_>>,
    ) -> Result<Self, ViewError> {
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            compatible_surface: surface,
            ..wgpu::RequestAdapterOptions::default()
        };
        let adapter = pollster::block_on(instance.request_adapter(&options)).map_err(|error| {
            log::info!("{error}");
            ViewError::NoAdapter
        })?;
        let info = adapter.get_info();
        log::info!("drawing on {} ({:?})", info.name, info.backend);
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("poplin.view"),
            required_features: poplin::gpu::required_features(&adapter),
            required_limits: wgpu::Limits::default().using_resolution(adapter.limits()),
            ..wgpu::DeviceDescriptor::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|source| ViewError::NoDevice { adapter: info.name, source })?;
        device
            .on_uncaptured_error(std::sync::Arc::new(|error: wgpu::Error| log::error!("{error}")));
        Ok(Self { device, queue, adapter })
    }
}
