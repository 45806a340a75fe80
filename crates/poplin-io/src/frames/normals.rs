//! Normals of vertices, for files that have them.

use glam::DVec3;

/// Area-weighted unit normals, shape `[vertex_count]`; up for a vertex without a triangle of positive area.
pub(super) fn normals(triangles: &[[u32; 3]], positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let at = |vertex: u32| DVec3::from(positions[vertex as usize].map(f64::from));
    let mut sums = vec![DVec3::ZERO; positions.len()];
    for &triangle in triangles {
        let [a, b, c] = triangle.map(at);
        // The cross product is twice the area long: summing it weights by area.
        let normal = (b - a).cross(c - a);
        if normal.is_finite() {
            triangle.iter().for_each(|&vertex| sums[vertex as usize] += normal);
        }
    }
    sums.iter().map(|sum| sum.normalize_or(DVec3::Y).as_vec3().to_array()).collect()
}
