//! Kinds of shapes in a set of colliders, and limits of its size.

use crate::error::ModelError;
use crate::shape::check_count;
use crate::{MAX_PARTICLES, Shape};

/// Largest number of spheres, of capsules, of boxes, and of planes and convexes together, in one
/// set.
pub const MAX_SHAPES: usize = 1 << 16;

/// Largest number of rigid bodies in a set.
pub const MAX_BODIES: usize = 256;

/// Categories of shapes that are packed together; a changed shape causes all shapes of its kind to
/// be packed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeKind {
    /// Spheres and capsules.
    Round,
    /// Planes and convexes.
    Flat,
    /// Boxes.
    Box,
    /// Triangle meshes.
    Mesh,
}

impl ShapeKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Round, Self::Flat, Self::Box, Self::Mesh];

    /// Returns the kind of a shape.
    pub fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Sphere(_) | Shape::Capsule(_) => Self::Round,
            Shape::Plane(_) | Shape::Convex(_) => Self::Flat,
            Shape::Parallelepiped(_) => Self::Box,
            Shape::TriangleMesh(_) => Self::Mesh,
        }
    }
}

/// Counts of everything that has a limit, in the order of [`Sizes::LIMITS`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes([usize; 7]);

impl Sizes {
    const LIMITS: [(&'static str, usize); 7] = [
        ("spheres", MAX_SHAPES),
        ("capsules", MAX_SHAPES),
        ("boxes", MAX_SHAPES),
        ("planes and convexes", MAX_SHAPES),
        ("planes of all convexes", MAX_PARTICLES),
        ("mesh vertices", MAX_PARTICLES),
        ("mesh triangles", MAX_PARTICLES),
    ];

    fn of(shape: &Shape) -> Self {
        Self(match shape {
            Shape::Sphere(_) => [1, 0, 0, 0, 0, 0, 0],
            Shape::Capsule(_) => [0, 1, 0, 0, 0, 0, 0],
            Shape::Parallelepiped(_) => [0, 0, 1, 0, 0, 0, 0],
            Shape::Plane(_) => [0, 0, 0, 1, 1, 0, 0],
            Shape::Convex(planes) => [0, 0, 0, 1, planes.len(), 0, 0],
            Shape::TriangleMesh(mesh) => [0, 0, 0, 0, 0, mesh.vertices.len(), mesh.triangles.len()],
        })
    }

    /// Returns the sizes after one shape is replaced by another, either of which may be absent.
    pub(super) fn exchanged(
        self,
        old: Option<&Shape>,
        new: Option<&Shape>,
    ) -> Result<Self, ModelError> {
        let [old, new] = [old, new].map(|shape| shape.map(Self::of).unwrap_or_default());
        let sizes = std::array::from_fn(|k| self.0[k] - old.0[k] + new.0[k]);
        for (count, (what, limit)) in sizes.into_iter().zip(Self::LIMITS) {
            check_count(what, count, limit)?;
        }
        Ok(Self(sizes))
    }
}
