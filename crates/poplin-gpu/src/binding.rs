//! Bindings of a kernel: a uniform with a dynamic offset at 0, storage buffers from 1 on.

use std::num::NonZeroU64;

use bytemuck::Pod;

/// Alignment of dynamic offsets that every adapter accepts \[bytes\].
pub(crate) const UNIFORM_STRIDE: u64 = 256;

/// Creates a layout with a uniform and storage buffers that the kernel only reads, or also writes.
pub(crate) fn bind_group_layout(
    device: &wgpu::Device,
    label: &str,
    storage_read_only: &[bool],
) -> wgpu::BindGroupLayout {
    let entry = |binding: u32, ty: wgpu::BufferBindingType, has_dynamic_offset: bool| {
        wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
            count: None,
        }
    };
    let storage = |(binding, &read_only)| {
        entry(binding, wgpu::BufferBindingType::Storage { read_only }, false)
    };
    let uniform = entry(0, wgpu::BufferBindingType::Uniform, true);
    let entries: Vec<_> =
        std::iter::once(uniform).chain((1..).zip(storage_read_only).map(storage)).collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(label),
        entries: &entries,
    })
}

/// Binds uniforms of type `T`, packed by [`push_uniform`], and whole storage buffers.
pub(crate) fn bind_group<T>(
    device: &wgpu::Device,
    label: &str,
    layout: &wgpu::BindGroupLayout,
    uniforms: &wgpu::Buffer,
    storage: &[&wgpu::Buffer],
) -> wgpu::BindGroup {
    // One uniform; the dynamic offset selects which.
    let size = NonZeroU64::new(size_of::<T>() as u64);
    let binding = wgpu::BufferBinding { buffer: uniforms, offset: 0, size };
    let uniform = wgpu::BindingResource::Buffer(binding);
    let resources =
        std::iter::once(uniform).chain(storage.iter().map(|buffer| buffer.as_entire_binding()));
    let entries: Vec<_> = (0..)
        .zip(resources)
        .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some(label),
        layout,
        entries: &entries,
    })
}

/// Appends a uniform and pads to the next dynamic offset.
pub(crate) fn push_uniform(bytes: &mut Vec<u8>, uniform: &impl Pod) {
    bytes.extend_from_slice(bytemuck::bytes_of(uniform));
    bytes.resize(bytes.len().next_multiple_of(UNIFORM_STRIDE as usize), 0);
}
