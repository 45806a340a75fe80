//! Rest shapes of triangles in thread coordinates.

use glam::DVec3;

use crate::grain::tangent;
use crate::surface::{Surface, has_area};

/// Rest shape `[u1, v1, u2, v2]` \[m\] of each triangle, in the order of [`Surface::triangles`]:
/// second and third corner relative to the first, v along the vertical of its face. All zero for a
/// degenerate triangle.
pub(crate) fn triangle_shapes(surface: &Surface, verticals: &[DVec3]) -> Vec<[f32; 4]> {
    let faces = surface.faces.iter().zip(verticals);
    faces
        .flat_map(|(face, &vertical)| face.triangles().map(move |corners| (corners, vertical)))
        .map(|(corners, vertical)| {
            shape(corners.map(|corner| surface.positions[corner as usize]), vertical)
        })
        .collect()
}

fn shape([a, b, c]: [DVec3; 3], vertical: DVec3) -> [f32; 4] {
    if !has_area(a, b, c) {
        return [0.0; 4];
    }
    let (ab, ac) = (b - a, c - a);
    let normal = ab.cross(ac).normalize();
    let v = tangent(vertical, normal);
    // u x v = (v x n) x v = n, so that u1 v2 - u2 v1 = (ab x ac) . n > 0
    let u = v.cross(normal);
    [u.dot(ab), v.dot(ab), u.dot(ac), v.dot(ac)].map(|coordinate| coordinate as f32)
}
