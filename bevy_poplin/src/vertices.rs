//! Copies of poplin's vertices to the buffers of Bevy's meshes.

use bevy::prelude::*;
use bevy::render::mesh::allocator::MeshBufferSlice;
use poplin::gpu::{Error, RenderId, RenderMeshes, wgpu};

use crate::cloth::Source;

/// Invocations per workgroup.
const LANES: u32 = 64;

/// Words of position, normal and texture coordinates, before the tangent.
const WORDS_BEFORE_TANGENT: u32 = 8;

/// Compute pass that converts poplin's vertices to the layout of Bevy's meshes.
#[derive(Debug)]
pub(crate) struct Interleave {
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::ComputePipeline,
}

/// Vertices of a cloth in the layout of its mesh. They are copied to the mesh, because the buffers
/// of Bevy's allocator may lack storage usage.
#[derive(Debug)]
pub(crate) struct MeshVertices {
    buffer: wgpu::Buffer,
    parameters: wgpu::Buffer,
    count: u32,
    stride: u32,
    /// Bind group, with the vertex and tangent buffers that it binds.
    bind_group: Option<([wgpu::Buffer; 2], wgpu::BindGroup)>,
}

impl Interleave {
    pub(crate) fn new(device: &wgpu::Device) -> Self {
        let module = device.create_shader_module(wgpu::include_wgsl!("interleave.wgsl"));
        let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("bevy_poplin.interleave.layout"),
            entries: &[
                entry(0, wgpu::BufferBindingType::Uniform),
                entry(1, storage(true)),
                entry(2, storage(true)),
                entry(3, storage(false)),
            ],
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("bevy_poplin.interleave.pipeline_layout"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("bevy_poplin.interleave"),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Self { layout, pipeline }
    }

    /// Records the conversion of the vertices of these meshes.
    pub(crate) fn record<'a>(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        meshes: &RenderMeshes,
        vertices: impl Iterator<Item = &'a mut MeshVertices>,
    ) {
        let most = device.limits().max_compute_workgroups_per_dimension;
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("bevy_poplin.interleave"),
            timestamp_writes: None,
        });
        pass.set_pipeline(&self.pipeline);
        for vertices in vertices {
            let workgroups = vertices.count.div_ceil(LANES);
            let width = workgroups.min(most);
            pass.set_bind_group(0, vertices.bind(device, &self.layout, meshes), &[]);
            pass.dispatch_workgroups(width, workgroups.div_ceil(width), 1);
        }
    }
}

impl MeshVertices {
    /// Creates the buffer of a cloth that was added to `meshes`.
    pub(crate) fn new(
        device: &wgpu::Device,
        source: &Source,
        meshes: &RenderMeshes,
        id: RenderId,
    ) -> Result<Self, Error> {
        let contents = source.bevy_mesh().create_packed_vertex_buffer_data();
        let vertices = meshes.vertex_range(id)?;
        let tangents = meshes.tangent_range(id)?;
        let (count, bytes) = (vertices.len() as u32, contents.len() as u64);
        let limits = device.limits();
        let limit = limits.max_buffer_size.min(limits.max_storage_buffer_binding_size);
        if bytes > limit {
            return Err(Error::TooLarge { buffer: "bevy_poplin.vertices", bytes, limit });
        }
        let stride = (bytes / u64::from(count)) as u32;
        let parameters = [
            vertices.start,
            tangents.as_ref().map_or(0, |range| range.start),
            count,
            stride / 4,
            tangents.map_or(0, |_| WORDS_BEFORE_TANGENT),
        ];
        let words: Vec<u8> = parameters.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let buffer = |label, contents: &[u8], usage| {
            wgpu::util::DeviceExt::create_buffer_init(
                device,
                &wgpu::util::BufferInitDescriptor { label: Some(label), contents, usage },
            )
        };
        let made = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        Ok(Self {
            buffer: buffer("bevy_poplin.vertices", &contents, made),
            parameters: buffer("bevy_poplin.parameters", &words, wgpu::BufferUsages::UNIFORM),
            count,
            stride,
            bind_group: None,
        })
    }

    fn bind(
        &mut self,
        device: &wgpu::Device,
        layout: &wgpu::BindGroupLayout,
        meshes: &RenderMeshes,
    ) -> &wgpu::BindGroup {
        let read = [meshes.vertex_buffer().clone(), meshes.tangent_buffer().clone()];
        if self.bind_group.as_ref().is_some_and(|(bound, _)| *bound != read) {
            self.bind_group = None;
        }
        let (_, bind_group) = self.bind_group.get_or_insert_with(|| {
            let buffers = [&self.parameters, &read[0], &read[1], &self.buffer];
            let entries: Vec<_> = (0..)
                .zip(buffers)
                .map(|(binding, buffer)| wgpu::BindGroupEntry {
                    binding,
                    resource: buffer.as_entire_binding(),
                })
                .collect();
            let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("bevy_poplin.interleave.bind_group"),
                layout,
                entries: &entries,
            });
            (read, bind_group)
        });
        bind_group
    }

    /// Records the copy to the mesh, unless its size does not match.
    pub(crate) fn copy(&self, encoder: &mut wgpu::CommandEncoder, mesh: &MeshBufferSlice<'_>) {
        let stride = u64::from(self.stride);
        let offset = stride * u64::from(mesh.range.start);
        let fits = self.count <= mesh.range.len() as u32
            && offset + self.buffer.size() <= mesh.buffer.size();
        if fits {
            encoder.copy_buffer_to_buffer(&self.buffer, 0, mesh.buffer, offset, self.buffer.size());
        }
    }
}
