//! Requirements of the engine on an adapter.

use poplin_host::TierLimits;

use crate::Error;

/// Features to request from the adapter; merge them with the application's features. The kernels
/// run on WebGPU's baseline, but on Vulkan only `MEMORY_DECORATION_COHERENT` makes storage barriers
/// promise what WGSL says. Metal, DX12 and browsers promise it by themselves.
pub fn required_features(adapter: &wgpu::Adapter) -> wgpu::Features {
    match adapter.get_info().backend {
        wgpu::Backend::Vulkan => adapter.features() & wgpu::Features::MEMORY_DECORATION_COHERENT,
        _ => wgpu::Features::empty(),
    }
}

/// Limits to request from the adapter: WebGPU's defaults, raised to the adapter's own where that
/// makes cloths faster (workgroup memory and size) or larger (buffer sizes). Merge them with the
/// application's limits.
pub fn required_limits(adapter: &wgpu::Adapter) -> wgpu::Limits {
    let has = adapter.limits();
    let mut limits = wgpu::Limits::default();
    limits.max_compute_workgroup_storage_size =
        has.max_compute_workgroup_storage_size.max(limits.max_compute_workgroup_storage_size);
    limits.max_compute_invocations_per_workgroup =
        has.max_compute_invocations_per_workgroup.max(limits.max_compute_invocations_per_workgroup);
    limits.max_compute_workgroup_size_x =
        has.max_compute_workgroup_size_x.max(limits.max_compute_workgroup_size_x);
    limits.max_buffer_size = has.max_buffer_size.max(limits.max_buffer_size);
    limits.max_storage_buffer_binding_size =
        has.max_storage_buffer_binding_size.max(limits.max_storage_buffer_binding_size);
    limits
}

/// Limits by which memory tiers and lane counts are chosen.
pub fn tier_limits(limits: &wgpu::Limits) -> TierLimits {
    TierLimits {
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        invocations: limits
            .max_compute_invocations_per_workgroup
            // Workgroups are one-dimensional, so both limits apply.
            .min(limits.max_compute_workgroup_size_x),
    }
}

/// Rejects a device below the requirements of the kernels.
pub(crate) fn check_device(limits: &wgpu::Limits) -> Result<(), Error> {
    let needed = [
        (
            "max_storage_buffers_per_shader_stage",
            u64::from(limits.max_storage_buffers_per_shader_stage),
            8,
        ),
        (
            "max_compute_workgroup_storage_size",
            u64::from(limits.max_compute_workgroup_storage_size),
            16_384,
        ),
        (
            "max_compute_invocations_per_workgroup",
            u64::from(limits.max_compute_invocations_per_workgroup),
            32,
        ),
        (
            "max_dynamic_uniform_buffers_per_pipeline_layout",
            u64::from(limits.max_dynamic_uniform_buffers_per_pipeline_layout),
            1,
        ),
    ];
    match needed.into_iter().find(|&(_, value, needed)| value < needed) {
        Some((limit, value, needed)) => Err(Error::LimitTooLow { limit, value, needed }),
        None => Ok(()),
    }
}
