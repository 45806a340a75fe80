//! Smooth vertex normals.

use glam::DVec3;

use crate::wide;

/// Computes area-weighted unit normals of vertices; zero for a vertex without a triangle of
/// positive area. Triangles whose normal is not finite are ignored.
pub fn vertex_normals(
    positions: &[[f32; 3]],
    triangles: impl IntoIterator<Item = [u32; 3]>,
) -> Vec<DVec3> {
    let position = |vertex: u32| wide(positions[vertex as usize]);
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for triangle in triangles {
        let [a, b, c] = triangle.map(position);
        // |cross product| = 2 area, so the sum is weighted by area.
        let normal = (b - a).cross(c - a);
        if normal.is_finite() {
            triangle.iter().for_each(|&vertex| normals[vertex as usize] += normal);
        }
    }
    normals.into_iter().map(|normal| normal.normalize_or_zero()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertex_normals_are_weighted_by_area() {
        let positions = vec![[0.0; 3], [10.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 0.1]];
        let normals = vertex_normals(&positions, [[0, 1, 2], [0, 2, 3]]);
        assert!(normals[0].z > 0.99, "{}", normals[0]);
        assert_eq!(normals[1], DVec3::Z);
    }

    #[test]
    fn a_triangle_without_area_gives_no_normal() {
        assert_eq!(vertex_normals(&[[1.0; 3]; 3], [[0, 1, 2]]), [DVec3::ZERO; 3]);
    }
}
