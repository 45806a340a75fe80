//! Smooth vertex normals.

use glam::DVec3;

use super::Surface;

/// Area-weighted unit normals, shape `[vertex_count]`; zero for a vertex without a triangle of positive area.
pub(super) fn vertex_normals(surface: &Surface) -> Vec<DVec3> {
    let position = |vertex: usize| DVec3::from(surface.positions[vertex].map(f64::from));
    let mut normals = vec![DVec3::ZERO; surface.positions.len()];
    for triangle in surface.drawable_triangles() {
        let [a, b, c] = triangle.map(position);
        // The cross product is twice the area long: summing it weights by area.
        let normal = (b - a).cross(c - a);
        triangle.iter().for_each(|&vertex| normals[vertex] += normal);
    }
    normals.into_iter().map(|normal| normal.normalize_or_zero()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_triangle_outweighs_a_small_one() {
        let positions = vec![[0.0; 3], [10.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 0.1]];
        let surface = Surface::new(positions, vec![[0, 1, 2], [0, 2, 3]], [0; 3]);
        let normals = vertex_normals(&surface);
        assert!(normals[0].z > 0.99, "{}", normals[0]);
        assert_eq!(normals[1], DVec3::Z);
    }

    #[test]
    fn a_triangle_without_area_gives_no_normal() {
        let surface = Surface::new(vec![[1.0; 3]; 3], vec![[0, 1, 2]], [0; 3]);
        assert_eq!(vertex_normals(&surface), [DVec3::ZERO; 3]);
    }
}
