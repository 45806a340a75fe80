//! Meshes far from the origin, where `f32` has too few digits for their shape.

use glam::DVec3;
use poplin_model::Mesh;

/// Coarsest resolution of positions, as a fraction of the mean edge, at which a mesh needs no
/// origin of its own.
pub const MAX_RESOLUTION: f32 = 1e-3;

/// Returns an origin in whole metres near which a mesh with these positions keeps its shape in
/// `f32`. The origin is 0 along each axis unless the mesh's center is farther from the world's
/// origin than the mesh's own size, and `f32` resolves no more than [`MAX_RESOLUTION`] of its mean
/// edge there.
pub fn origin_of(mesh: &Mesh, positions: &[DVec3]) -> DVec3 {
    let faces = mesh.quads.iter().map(|it| &it[..]).chain(mesh.triangles.iter().map(|it| &it[..]));
    let [mut low, mut high] = [DVec3::INFINITY, DVec3::NEG_INFINITY];
    let (mut sum, mut count) = (0.0, 0.0);
    for face in faces {
        let mut before = positions[face[face.len() - 1] as usize];
        for &corner in face {
            let position = positions[corner as usize];
            (low, high) = (low.min(position), high.max(position));
            sum += position.distance(before);
            count += 1.0;
            before = position;
        }
    }
    if sum == 0.0 {
        return DVec3::ZERO;
    }
    // Distance at which the spacing of f32, |x| EPSILON, reaches MAX_RESOLUTION mean edges.
    let resolved = f64::from(MAX_RESOLUTION) * sum / count / f64::from(f32::EPSILON);
    // A mesh near the origin relative to its own size keeps the origin 0.
    let near = resolved.max((high - low).length());
    let whole = |middle: f64| if middle.abs() > near { middle.round() } else { 0.0 };
    DVec3::from((0.5 * (low + high)).to_array().map(whole))
}
