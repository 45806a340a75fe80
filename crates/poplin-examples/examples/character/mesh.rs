//! Triangle mesh of the body.

use std::collections::HashMap;

use bytemuck::{Pod, Zeroable};
use glam::{IVec3, Vec3, ivec3, vec3};
use poplin::gpu::wgpu::{VertexAttribute, VertexBufferLayout, VertexStepMode, vertex_attr_array};

use crate::body::{BONES, Body, UPPER_ARM, Weights};

/// Vertex of the body in the rest pose.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct BodyVertex {
    position: [f32; 3],
    normal: [f32; 3],
    bones: [u32; 4],
    weights: [f32; 4],
}

impl BodyVertex {
    const ATTRIBUTES: [VertexAttribute; 4] =
        vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Uint32x4, 3 => Float32x4];
    pub(crate) const LAYOUT: VertexBufferLayout<'static> = VertexBufferLayout {
        array_stride: size_of::<Self>() as u64,
        step_mode: VertexStepMode::Vertex,
        attributes: &Self::ATTRIBUTES,
    };
}

/// Triangulates the zero level of the distance field by surface nets: a vertex in each cell that
/// the surface passes, a quad across each grid edge that it cuts.
pub(crate) fn body_mesh(body: &Body) -> (Vec<BodyVertex>, Vec<u32>) {
    const CELL: f32 = 0.014;
    let [low, high] = [vec3(-0.56, -0.04, -0.18), vec3(0.56, 1.8, 0.22)];
    let size = ((high - low) / CELL).as_ivec3();
    let point = |at: Vec3| low + CELL * at;
    let index = |at: IVec3| ((at.z * size.y + at.y) * size.x + at.x) as usize;
    let cells = || {
        let (x, y, z) = (0..size.x, 0..size.y, 0..size.z);
        z.flat_map(move |z| {
            let x = x.clone();
            y.clone().flat_map(move |y| x.clone().map(move |x| ivec3(x, y, z)))
        })
    };
    let is_inside: Vec<bool> =
        cells().map(|at| body.distance(point(at.as_vec3()), 0..BONES) < 0.0).collect();

    let (mut vertices, mut indices, mut of_cell) = (Vec::new(), Vec::new(), HashMap::new());
    let mut vertex = |cell: IVec3| {
        *of_cell.entry(cell).or_insert_with(|| {
            let corner = cell.as_vec3();
            let mut position = point(corner + 0.5);
            for _ in 0..4 {
                position -= body.distance(position, 0..BONES) * body.normal(position, 0..BONES);
            }
            // Clamped to its cell, so that no triangle flips.
            position = position.clamp(point(corner), point(corner + 1.0));
            let Weights { bones, weights } = skin_weights(body, position);
            vertices.push(BodyVertex {
                position: position.to_array(),
                normal: body.normal(position, 0..BONES).to_array(),
                bones,
                weights,
            });
            vertices.len() as u32 - 1
        })
    };
    for at in cells().filter(|at| at.cmplt(size - 1).all() && at.min_element() > 0) {
        for [along, u, v] in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
            let [along, u, v] = [along, u, v].map(|axis| IVec3::AXES[axis]);
            let [here, there] = [at, at + along].map(|at| is_inside[index(at)]);
            if here != there {
                let quad = [at - u - v, at - v, at, at - u].map(&mut vertex);
                let [a, b, c, d] = if here { quad } else { [quad[3], quad[2], quad[1], quad[0]] };
                indices.extend([a, b, c, c, d, a]);
            }
        }
    }
    (vertices, indices)
}

/// Returns the skinning weights of all bones except the limbs of the other side.
fn skin_weights(body: &Body, point: Vec3) -> Weights {
    let is_left = point.x > 0.0;
    let is_near = |bone: &usize| *bone < UPPER_ARM || bone.is_multiple_of(2) == is_left;
    body.weights(point, (0..BONES).filter(is_near), 0.025)
}
