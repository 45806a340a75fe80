//! Adapters of the machine.

use poplin_host::TierLimits;
use poplin_layout::MemoryTier;

use crate::requirements::{required_limits, tier_limits};

/// Report of an adapter for `poplin info`.
#[derive(Debug, Clone)]
pub struct AdapterReport {
    /// Name, driver and backend.
    pub info: wgpu::AdapterInfo,
    /// Limits of the adapter.
    pub limits: wgpu::Limits,
    /// Limits by which tiers and lanes are chosen.
    pub tier_limits: TierLimits,
}

impl AdapterReport {
    /// Reads the report of an adapter.
    pub fn new(adapter: &wgpu::Adapter) -> Self {
        Self {
            info: adapter.get_info(),
            limits: adapter.limits(),
            tier_limits: tier_limits(&required_limits(adapter)),
        }
    }

    /// Largest number of particles of one cloth in a tier.
    pub fn particles_in(&self, tier: MemoryTier) -> u64 {
        let storage =
            self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size) / 16;
        let storage = storage.min(poplin_model::MAX_PARTICLES as u64);
        self.tier_limits.particles_in(tier).map_or(storage, |count| u64::from(count).min(storage))
    }
}

/// True if the adapter computes on the CPU.
pub fn is_software(info: &wgpu::AdapterInfo) -> bool {
    info.device_type == wgpu::DeviceType::Cpu
}

/// Creates the instance that the helpers of this crate use: Vulkan, Metal, DX12; no GL, which
/// segfaults on bad indices.
pub(crate) fn instance() -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    // Debug builds would add a source line to every SPIR-V instruction, a third of the compile time
    // of a pipeline.
    descriptor.flags = descriptor.flags.difference(wgpu::InstanceFlags::DEBUG).with_env();
    wgpu::Instance::new(descriptor)
}

/// Prefixes of the names of GPU device files on Linux: the kernel's own drivers, NVIDIA's, AMD's
/// compute driver, that of Windows for WSL, and those of phones and boards.
#[cfg(target_os = "linux")]
const DEVICE_FILES: [&str; 9] =
    ["dri", "nvidia", "nvgpu", "nvhost", "kfd", "dxg", "mali", "kgsl", "pvr"];

/// Tests, without loading a driver, whether the machine may have a real GPU. On Linux every GPU has
/// a device file, and drivers opened in vain take time and write to stderr.
pub(crate) fn may_have_gpu() -> bool {
    #[cfg(target_os = "linux")]
    if let Ok(mut entries) = std::fs::read_dir("/dev") {
        return entries.any(|entry| {
            let name = entry.map(|entry| entry.file_name().to_string_lossy().into_owned());
            name.is_ok_and(|name| DEVICE_FILES.iter().any(|it| name.starts_with(it)))
        });
    }
    true
}

/// Lists all adapters, real GPUs before software ones, discrete before integrated.
pub fn list_adapters() -> Vec<wgpu::Adapter> {
    let mut adapters = pollster::block_on(instance().enumerate_adapters(wgpu::Backends::all()));
    adapters.sort_by_key(|adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    adapters
}
