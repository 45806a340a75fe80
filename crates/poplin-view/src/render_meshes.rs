//! The vertices of a cloth: positions as read back, normals computed here.
//!
//! Everything else of the viewer knows only the layout of [`RenderVertex`], of which it does not read the last components, and the buffer of
//! them. A normal is zero where there is no triangle of positive area.

use glam::Vec3;
use poplin_model::{Particle, RenderVertex};

/// Positions and area-weighted normals of the particles of a cloth, into `vertices`.
pub(crate) fn fill(
    vertices: &mut Vec<RenderVertex>,
    particles: &[Particle],
    triangles: &[[u32; 3]],
) {
    vertices.clear();
    vertices.extend(
        particles
            .iter()
            .map(|&particle| RenderVertex { position: particle.into(), normal: [0.0; 4] }),
    );
    add_normals(vertices, triangles);
}

/// Vertices of a surface that stands still.
pub(crate) fn of_surface(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Vec<RenderVertex> {
    let vertex =
        |&[x, y, z]: &[f32; 3]| RenderVertex { position: [x, y, z, 1.0], normal: [0.0; 4] };
    let mut vertices: Vec<_> = positions.iter().map(vertex).collect();
    add_normals(&mut vertices, triangles);
    vertices
}

/// Adds the normals; triangles of vertices that do not exist are left out.
fn add_normals(vertices: &mut [RenderVertex], triangles: &[[u32; 3]]) {
    for triangle in triangles {
        let corners = triangle.map(|corner| vertices.get(corner as usize).map(|it| it.position));
        let [Some(a), Some(b), Some(c)] = corners else { continue };
        let [a, b, c] = [a, b, c].map(|[x, y, z, _]| Vec3::new(x, y, z));
        // The cross product is twice the area long: summing it weights by area.
        let normal = (b - a).cross(c - a);
        for &corner in triangle {
            let sum = &mut vertices[corner as usize].normal;
            (sum[0], sum[1], sum[2]) = (sum[0] + normal.x, sum[1] + normal.y, sum[2] + normal.z);
        }
    }
    for vertex in vertices {
        let [x, y, z, _] = vertex.normal;
        vertex.normal = Vec3::new(x, y, z).normalize_or_zero().extend(0.0).to_array();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_are_weighted_by_area_and_unknown_corners_left_out() {
        let positions = [[0.0; 3], [10.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 0.1]];
        let vertices = of_surface(&positions, &[[0, 1, 2], [0, 2, 3], [0, 1, 9]]);
        assert_eq!(vertices[1].normal, [0.0, 0.0, 1.0, 0.0]);
        assert!(vertices[0].normal[2] > 0.99, "{:?}", vertices[0]);
    }
}
