//! Motion and separation spheres of cloth vertices, and accelerations of vertices.

use poplin_geometry::vertex_normals;
use poplin_model::{Mesh, Sphere};
use schemars::JsonSchema;
use serde::Deserialize;

use super::pin::{PinRule, Side};

/// Motion or separation spheres of some vertices of a cloth. They are fixed to its local space.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneSpheres {
    /// Rules that select the vertices before the transform, as for pins. A vertex in several lists
    /// of a cloth has the sphere of the last list.
    pub vertices: Vec<PinRule>,
    /// Radii at the side [`SceneSpheres::from`] of the vertices' bounding box and at the opposite
    /// side, `0..=1e6` \[m\]; linear between them.
    pub radii: [f32; 2],
    /// Side of the bounding box with the first radius.
    pub from: Side,
    /// Depth behind its rest position, against the normal, to which a particle may go \[m\]; for
    /// separation spheres only.
    pub offset: f32,
}

/// Acceleration of some vertices of a cloth, in addition to gravity.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneAcceleration {
    /// Rules that select the vertices before the transform, as for pins. Accelerations of a vertex
    /// in several lists of a cloth add up.
    pub vertices: Vec<PinRule>,
    /// Keyframes of the acceleration, at least one, rising in time.
    pub keys: Vec<AccelerationKey>,
}

/// Keyframe of an acceleration.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccelerationKey {
    /// Time since the first frame \[s\], 0 or more.
    pub time: f32,
    /// Acceleration in the axes of the local space [m/s^2], each `-1e6..=1e6`.
    pub acceleration: [f32; 3],
}

/// Acceleration of vertices of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct VertexAcceleration {
    /// Vertex indices, rising.
    pub vertices: Vec<u32>,
    /// Keyframes of the acceleration, rising in time.
    pub keys: Vec<AccelerationKey>,
}

impl VertexAcceleration {
    /// Returns the acceleration [m/s^2] at a time \[s\]: linear between keyframes, held before the
    /// first and after the last.
    pub fn at(&self, time: f32) -> [f32; 3] {
        let next = self.keys.partition_point(|key| key.time <= time);
        match (self.keys.get(next.wrapping_sub(1)), self.keys.get(next)) {
            (Some(before), Some(after)) => {
                let fraction = (time - before.time) / (after.time - before.time);
                let [from, to] = [before.acceleration, after.acceleration];
                // Linear interpolation between keyframes.
                std::array::from_fn(|k| from[k] + (to[k] - from[k]) * fraction)
            }
            (Some(key), None) | (None, Some(key)) => key.acceleration,
            (None, None) => [0.0; 3],
        }
    }
}

/// Kind of a sphere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SphereKind {
    /// Sphere around the rest position that the particle may not leave.
    Motion,
    /// Sphere around a point behind the rest position that the particle may not enter:
    /// [`Sphere::backstop`].
    Separation,
}

/// Returns the sphere of each vertex, shape `[vertex_count]`, `None` where it has none; empty
/// without lists. `picked` has for each list its vertices and their distances from its side.
pub(super) fn spheres(
    kind: SphereKind,
    lists: &[SceneSpheres],
    picked: &[Vec<(u32, f32)>],
    mesh: &Mesh,
) -> Vec<Option<Sphere>> {
    if lists.is_empty() {
        return Vec::new();
    }
    let normals = match kind {
        SphereKind::Motion => Vec::new(),
        SphereKind::Separation => vertex_normals(&mesh.positions, mesh.triangulated()),
    };
    let mut all = vec![None; mesh.positions.len()];
    for (SceneSpheres { radii: [first, last], offset, .. }, vertices) in lists.iter().zip(picked) {
        for &(vertex, fraction) in vertices {
            let center = mesh.positions[vertex as usize];
            let radius = first + (last - first) * fraction;
            all[vertex as usize] = match normals.get(vertex as usize) {
                None => Some(Sphere { center, radius }),
                // A vertex without a face has no normal, and no particle either.
                Some(normal) => {
                    let normal = normal.as_vec3().to_array();
                    Some(Sphere::backstop(center, normal, *offset, radius))
                }
            };
        }
    }
    all
}
