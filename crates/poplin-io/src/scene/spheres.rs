//! Spheres around vertices of a cloth, and accelerations of them.

use poplin_model::{Mesh, Sphere};
use schemars::JsonSchema;
use serde::Deserialize;

use super::pin::{PinRule, Side};
use crate::normals::vertex_normals;

/// Motion or separation spheres of some vertices of a cloth. They are in its local space and move with it.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneSpheres {
    /// The vertices, picked before the transform, as pins are. A vertex that several of a cloth's lists pick has the sphere of the last.
    pub vertices: Vec<PinRule>,
    /// Radius at the side [`SceneSpheres::from`] of the box that the vertices are in, and at the side opposite, `0..=1e6` \[m\];
    /// between them it changes evenly.
    pub radii: [f32; 2],
    /// The side that the first radius is at.
    pub from: Side,
    /// Of separation spheres: how far behind its rest position, against the normal, a particle may go \[m\].
    pub offset: f32,
}

/// An acceleration of some vertices of a cloth, on top of gravity.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneAcceleration {
    /// The vertices, picked before the transform, as pins are. What several of a cloth's lists say of a vertex adds up.
    pub vertices: Vec<PinRule>,
    /// The acceleration, at least one, rising in time.
    pub keys: Vec<AccelerationKey>,
}

/// An acceleration at one time.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccelerationKey {
    /// Time since the first frame \[s\], 0 or more.
    pub time: f32,
    /// Acceleration in the axes of the local space [m/s^2], each `-1e6..=1e6`.
    pub acceleration: [f32; 3],
}

/// An acceleration of vertices of a mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct VertexAcceleration {
    /// The vertices, rising.
    pub vertices: Vec<u32>,
    /// The acceleration, rising in time.
    pub keys: Vec<AccelerationKey>,
}

impl VertexAcceleration {
    /// The acceleration at a time \[s\] [m/s^2]: linear between keyframes, held before the first and after the last.
    pub fn at(&self, time: f32) -> [f32; 3] {
        let next = self.keys.partition_point(|key| key.time <= time);
        match (self.keys.get(next.wrapping_sub(1)), self.keys.get(next)) {
            (Some(before), Some(after)) => {
                let fraction = (time - before.time) / (after.time - before.time);
                let [from, to] = [before.acceleration, after.acceleration];
                std::array::from_fn(|k| from[k] + (to[k] - from[k]) * fraction)
            }
            (Some(key), None) | (None, Some(key)) => key.acceleration,
            (None, None) => [0.0; 3],
        }
    }
}

/// What spheres are around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SphereKind {
    /// The rest position, for a particle that may not leave.
    Motion,
    /// A point behind it, for a particle that may not enter: [`Sphere::backstop`].
    Separation,
}

/// The sphere of each vertex, shape `[vertex_count]`, `None` where there is none; empty without lists. `picked`: of each list the
/// vertices, with how far each is from its side.
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
                // A vertex that no face uses has no normal, and no particle either.
                Some(normal) => {
                    let normal = normal.as_vec3().to_array();
                    Some(Sphere::backstop(center, normal, *offset, radius))
                }
            };
        }
    }
    all
}
