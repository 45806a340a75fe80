//! Meshes far from the origin, where `f32` has no digits left for their shape.

use glam::DVec3;
use poplin_model::Mesh;

/// Of the mean edge, the coarsest resolution of positions that a mesh is taken with as it is.
pub const MAX_RESOLUTION: f32 = 1e-3;

/// Whole metres near which a mesh at these positions keeps its shape in `f32`: along each axis 0, unless its middle is farther from
/// the origin than its own size, and `f32` resolves no more than [`MAX_RESOLUTION`] of its mean edge there.
pub(crate) fn origin_of(mesh: &Mesh, positions: &[DVec3]) -> DVec3 {
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
    let resolved = f64::from(MAX_RESOLUTION) * sum / count / f64::from(f32::EPSILON);
    let near = resolved.max((high - low).length());
    let whole = |middle: f64| if middle.abs() > near { middle.round() } else { 0.0 };
    DVec3::from((0.5 * (low + high)).to_array().map(whole))
}
