//! Shapes of colliders.

use std::borrow::Cow;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use crate::error::{ModelError, check_finite, check_indices, check_range};
use crate::{MAX_COORDINATE, MAX_PARTICLES, Placement};

/// Volume of a collider, in the coordinates of its pose. Particles are points and are pushed out of
/// it.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Shape {
    /// A sphere.
    Sphere(Sphere),
    /// The convex hull of two spheres.
    Capsule(Capsule),
    /// The half-space behind a plane.
    Plane(Plane),
    /// A box, right-angled or skewed.
    Parallelepiped(Parallelepiped),
    /// The intersection of the half-spaces behind one or more planes. A particle inside leaves
    /// through the nearest plane.
    Convex(Arc<[Plane]>),
    /// The region behind the nearest triangle of a mesh.
    TriangleMesh(TriangleMesh),
}

/// A sphere. In memory it is a row of four numbers, the `vec4<f32>` of shaders.
#[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
#[repr(C)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sphere {
    /// Center \[m\].
    pub center: [f32; 3],
    /// Radius \[m\], `>= 0`.
    pub radius: f32,
}

/// A tapered capsule: the convex hull of two spheres. If one sphere contains the other, it is that
/// sphere.
///
/// Capsules with bit-identical ends, both at the start and at the end of the frame, share that
/// sphere: a particle in a joint of a chain collides with it once.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Capsule {
    /// The spheres at both ends.
    pub ends: [Sphere; 2],
}

/// A half-space: points x with `normal . x < offset` are behind the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Plane {
    /// Direction of the free side; its length is 1 within 0.01.
    pub normal: [f32; 3],
    /// Distance of the plane from the origin along the normal \[m\].
    pub offset: f32,
}

/// A box of any position, rotation and skew: a corner and the three edges from it. A flat box has
/// no effect.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parallelepiped {
    /// One corner \[m\].
    pub corner: [f32; 3],
    /// The edges from it \[m\].
    pub edges: [[f32; 3]; 3],
}

/// A triangle mesh. A particle behind its nearest triangle is pushed out along that triangle's
/// normal. The front is the side from which corners appear counterclockwise. Triangles without area
/// are ignored.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TriangleMesh {
    /// Vertices \[m\].
    pub vertices: Arc<[[f32; 3]]>,
    /// Corners of each triangle.
    pub triangles: Arc<[[u32; 3]]>,
}

impl Sphere {
    /// Creates a separation sphere whose surface lies `offset` \[m\] behind a surface point,
    /// against its unit `normal`: a backstop that limits how deep the particle at that point can
    /// move. A larger radius \[m\] also covers neighbouring points, provided the surface is that
    /// flat.
    #[must_use]
    pub fn backstop(point: [f32; 3], normal: [f32; 3], offset: f32, radius: f32) -> Self {
        let depth = offset + radius;
        Self { center: std::array::from_fn(|k| point[k] - depth * normal[k]), radius }
    }

    fn validate(&self) -> Result<(), ModelError> {
        check_finite("sphere (center, radius)", &[(*self).into()])?;
        check_range("sphere radius", self.radius, 0.0, MAX_COORDINATE)
    }

    /// Transforms the sphere by a placement.
    #[must_use]
    #[inline]
    pub fn transformed(&self, at: &Placement) -> Self {
        Self { center: at.point(self.center), radius: at.length(self.radius) }
    }
}

impl Plane {
    fn validate(&self) -> Result<(), ModelError> {
        let [x, y, z] = self.normal;
        check_finite("plane (normal, offset)", &[[x, y, z, self.offset]])?;
        check_range("length of a plane's normal", (x * x + y * y + z * z).sqrt(), 0.99, 1.01)
    }

    fn transformed(&self, at: &Placement) -> Self {
        let (normal, offset) = at.plane(self.normal, self.offset);
        Self { normal, offset }
    }
}

impl Parallelepiped {
    /// Creates a right-angled box around the origin with `half_extents` \[m\] along the axes.
    pub fn cuboid(half_extents: [f32; 3]) -> Self {
        let [a, b, c] = half_extents;
        let edges = [[2.0 * a, 0.0, 0.0], [0.0, 2.0 * b, 0.0], [0.0, 0.0, 2.0 * c]];
        Self { corner: [-a, -b, -c], edges }
    }

    /// Sides as triangles of [`Self::corners`], facing outwards unless the edges are left-handed.
    pub const TRIANGLES: [[u32; 3]; 12] = [
        [0, 2, 3],
        [0, 3, 1],
        [4, 5, 7],
        [4, 7, 6],
        [0, 1, 5],
        [0, 5, 4],
        [2, 6, 7],
        [2, 7, 3],
        [0, 4, 6],
        [0, 6, 2],
        [1, 3, 7],
        [1, 7, 5],
    ];

    /// Corners \[m\]: corner k includes edge i if bit i of k is set.
    pub fn corners(&self) -> [[f32; 3]; 8] {
        let [corner, edges @ ..] = self.rows().map(Vec3::from);
        std::array::from_fn(|k| {
            let part = |i: usize| if k >> i & 1 == 1 { edges[i] } else { Vec3::ZERO };
            (corner + part(0) + part(1) + part(2)).to_array()
        })
    }

    /// Corner and edges as four rows.
    pub fn rows(&self) -> [[f32; 3]; 4] {
        [self.corner, self.edges[0], self.edges[1], self.edges[2]]
    }
}

impl TriangleMesh {
    /// Checks everything except arrays shared with `known`, a mesh that was checked before.
    fn validate(&self, known: Option<&Self>) -> Result<(), ModelError> {
        check_count("mesh vertices", self.vertices.len(), MAX_PARTICLES)?;
        // Shared arrays were checked before; skip the pass over all vertices.
        if known.is_none_or(|known| !Arc::ptr_eq(&known.vertices, &self.vertices)) {
            check_finite("mesh vertices", &self.vertices)?;
        }
        let is_checked = |known: &Self| {
            Arc::ptr_eq(&known.triangles, &self.triangles)
                && known.vertices.len() == self.vertices.len()
        };
        if known.is_some_and(is_checked) {
            return Ok(());
        }
        check_count("mesh triangles", self.triangles.len(), MAX_PARTICLES)?;
        check_indices(
            "mesh triangles",
            self.triangles.iter().flatten().copied(),
            self.vertices.len(),
        )
    }
}

impl From<[f32; 4]> for Sphere {
    fn from([x, y, z, radius]: [f32; 4]) -> Self {
        Self { center: [x, y, z], radius }
    }
}

impl From<Sphere> for [f32; 4] {
    fn from(Sphere { center: [x, y, z], radius }: Sphere) -> Self {
        [x, y, z, radius]
    }
}

impl From<Sphere> for Shape {
    fn from(sphere: Sphere) -> Self {
        Self::Sphere(sphere)
    }
}

impl From<Capsule> for Shape {
    fn from(capsule: Capsule) -> Self {
        Self::Capsule(capsule)
    }
}

impl From<Plane> for Shape {
    fn from(plane: Plane) -> Self {
        Self::Plane(plane)
    }
}

impl From<Parallelepiped> for Shape {
    fn from(shape: Parallelepiped) -> Self {
        Self::Parallelepiped(shape)
    }
}

impl From<TriangleMesh> for Shape {
    fn from(mesh: TriangleMesh) -> Self {
        Self::TriangleMesh(mesh)
    }
}

impl Shape {
    /// Creates a sphere around the origin of the pose, radius in m.
    pub fn sphere(radius: f32) -> Self {
        Self::Sphere(Sphere { center: [0.0; 3], radius })
    }

    /// Creates a capsule around the y axis of the pose, with ends `half_length` \[m\] below and
    /// above the origin, radii in m.
    pub fn capsule(half_length: f32, radii: [f32; 2]) -> Self {
        let end = |y: f32, radius: f32| Sphere { center: [0.0, y, 0.0], radius };
        Self::Capsule(Capsule { ends: [end(-half_length, radii[0]), end(half_length, radii[1])] })
    }

    /// Creates a cylinder around the y axis of the pose, with ends `half_length` \[m\] below and
    /// above the origin, radii in m; a cone if one radius is 0. It is a convex of `sides >= 3` flat
    /// sides that touch the round surface from outside; their edges exceed the radius by a fraction
    /// of `1 / cos(pi / sides) - 1`, 0.5 % for 32.
    pub fn cylinder(half_length: f32, radii: [f32; 2], sides: u32) -> Self {
        let [bottom, top] = radii.map(f64::from);
        let half = f64::from(half_length);
        // Normal of the profile from (bottom, -half) to (top, half), outward and up.
        let (outward, up) = (2.0 * half, bottom - top);
        let length = outward.hypot(up).max(f64::MIN_POSITIVE);
        // n . x = offset at the bottom rim (bottom, -half).
        let offset = (bottom * outward - half * up) / length;
        let side = |k: u32| {
            let angle = std::f64::consts::TAU * f64::from(k) / f64::from(sides);
            let normal = [outward * angle.cos(), up, outward * angle.sin()];
            Plane { normal: normal.map(|x| (x / length) as f32), offset: offset as f32 }
        };
        let cap = |y: f32| Plane { normal: [0.0, y, 0.0], offset: half_length };
        Self::Convex([cap(-1.0), cap(1.0)].into_iter().chain((0..sides).map(side)).collect())
    }

    /// Creates a right-angled box around the origin of the pose with `half_extents` \[m\] along its
    /// axes.
    pub fn cuboid(half_extents: [f32; 3]) -> Self {
        Self::Parallelepiped(Parallelepiped::cuboid(half_extents))
    }

    /// Checks values and indices.
    ///
    /// # Errors
    /// The first [`ModelError`] found.
    pub fn validate(&self) -> Result<(), ModelError> {
        self.validate_against(None)
    }

    /// Checks everything except arrays shared with `known`, a shape that was checked before.
    pub(crate) fn validate_against(&self, known: Option<&Self>) -> Result<(), ModelError> {
        match self {
            Self::Sphere(sphere) => sphere.validate(),
            Self::Capsule(capsule) => capsule.ends.iter().try_for_each(Sphere::validate),
            Self::Plane(plane) => plane.validate(),
            Self::Parallelepiped(shape) => check_finite("rows of a box", &shape.rows()),
            Self::Convex(planes) if planes.is_empty() => {
                Err(ModelError::Empty { what: "a convex's list of planes" })
            }
            Self::Convex(planes) => {
                check_count("planes of a convex", planes.len(), MAX_PARTICLES)?;
                planes.iter().try_for_each(Plane::validate)
            }
            Self::TriangleMesh(mesh) => mesh.validate(known.and_then(Self::as_mesh)),
        }
    }

    /// Name of its kind.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sphere(_) => "sphere",
            Self::Capsule(_) => "capsule",
            Self::Plane(_) => "plane",
            Self::Parallelepiped(_) => "box",
            Self::Convex(_) => "convex",
            Self::TriangleMesh(_) => "mesh",
        }
    }

    /// Surface as triangles; `None` for shapes that have other descriptions: spheres, capsules,
    /// planes and convexes.
    pub fn mesh(&self) -> Option<Cow<'_, TriangleMesh>> {
        match self {
            Self::Sphere(_) | Self::Capsule(_) | Self::Plane(_) | Self::Convex(_) => None,
            Self::Parallelepiped(shape) => Some(Cow::Owned(TriangleMesh {
                vertices: shape.corners().into(),
                triangles: Parallelepiped::TRIANGLES.into(),
            })),
            Self::TriangleMesh(mesh) => Some(Cow::Borrowed(mesh)),
        }
    }

    fn as_mesh(&self) -> Option<&TriangleMesh> {
        match self {
            Self::TriangleMesh(mesh) => Some(mesh),
            _ => None,
        }
    }

    /// Transforms the shape by a placement. Triangles are shared.
    #[must_use]
    pub fn transformed(&self, at: &Placement) -> Self {
        match self {
            Self::Sphere(sphere) => Self::Sphere(sphere.transformed(at)),
            Self::Capsule(capsule) => {
                Self::Capsule(Capsule { ends: capsule.ends.map(|end| end.transformed(at)) })
            }
            Self::Plane(plane) => Self::Plane(plane.transformed(at)),
            Self::Parallelepiped(shape) => Self::Parallelepiped(Parallelepiped {
                corner: at.point(shape.corner),
                edges: shape.edges.map(|edge| at.edge(edge)),
            }),
            Self::Convex(planes) => {
                Self::Convex(planes.iter().map(|plane| plane.transformed(at)).collect())
            }
            Self::TriangleMesh(TriangleMesh { vertices, triangles }) => {
                Self::TriangleMesh(TriangleMesh {
                    vertices: vertices.iter().map(|&vertex| at.point(vertex)).collect(),
                    triangles: triangles.clone(),
                })
            }
        }
    }

    /// True if this shape can be interpolated to `other` over a frame: same kind, and the same
    /// plane count, or the same vertex count and triangles.
    pub(crate) fn can_become(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Convex(a), Self::Convex(b)) => a.len() == b.len(),
            (Self::TriangleMesh(a), Self::TriangleMesh(b)) => {
                a.vertices.len() == b.vertices.len()
                    && (Arc::ptr_eq(&a.triangles, &b.triangles) || a.triangles == b.triangles)
            }
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

pub(crate) fn check_count(
    what: &'static str,
    count: usize,
    limit: usize,
) -> Result<(), ModelError> {
    if count > limit { Err(ModelError::TooMany { what, count, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
