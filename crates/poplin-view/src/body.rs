//! GPU meshes of cloths, solids and the ground.

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Vec3};
use poplin::model::RenderVertex;
use wgpu::util::DeviceExt;

/// Per-instance vertex data, `Instance` of `view.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Instance {
    rows: [[f32; 4]; 3],
    front: [f32; 4],
    back: [f32; 4],
}

/// Kind of an instance; shaders compare its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Cloth = 0,
    Solid = 1,
    Ground = 2,
}

impl Instance {
    /// Returns an instance with its transform to world space and the linear colours of front and
    /// back.
    pub(crate) fn new(world_from_local: Mat4, [front, back]: [Vec3; 2], kind: Kind) -> Self {
        let rows = world_from_local.transpose();
        Self {
            rows: [rows.x_axis, rows.y_axis, rows.z_axis].map(|row| row.to_array()),
            front: front.extend(kind as u32 as f32).to_array(),
            back: back.extend(0.0).to_array(),
        }
    }
}

/// Mesh on the GPU.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) vertices: wgpu::Buffer,
    /// Strain at each vertex.
    pub(crate) strains: wgpu::Buffer,
    pub(crate) triangles: wgpu::Buffer,
    pub(crate) index_count: u32,
    pub(crate) world_from_local: Mat4,
    /// Linear colours of front and back.
    pub(crate) colors: [Vec3; 2],
    pub(crate) kind: Kind,
}

impl Body {
    /// Uploads a mesh of triangles.
    pub(crate) fn new(
        device: &wgpu::Device,
        vertices: &[RenderVertex],
        triangles: &[[u32; 3]],
    ) -> Self {
        let buffer = |name: &str, contents: &[u8], usage| {
            // Some drivers reject empty buffers.
            let contents = if contents.is_empty() { &[0; 32] } else { contents };
            let label = format!("poplin.view.{name}");
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: Some(&label),
                contents,
                usage,
            })
        };
        let written = wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST;
        Self {
            vertices: buffer("vertices", bytemuck::cast_slice(vertices), written),
            strains: buffer(
                "strains",
                bytemuck::cast_slice(&vec![0.0_f32; vertices.len()]),
                written,
            ),
            triangles: buffer(
                "triangles",
                bytemuck::cast_slice(triangles.as_flattened()),
                wgpu::BufferUsages::INDEX,
            ),
            index_count: triangles.len() as u32 * 3,
            world_from_local: Mat4::IDENTITY,
            colors: [Vec3::ONE; 2],
            kind: Kind::Cloth,
        }
    }

    /// Returns the instance data for drawing.
    pub(crate) fn instance(&self) -> Instance {
        Instance::new(self.world_from_local, self.colors, self.kind)
    }
}
