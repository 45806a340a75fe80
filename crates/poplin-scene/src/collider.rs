//! Shapes of a scene that cloths collide with.

use std::path::{Path, PathBuf};

use glam::DQuat;
use poplin_geometry::wide;
use poplin_geometry::{HalfSpace, is_empty_convex};
use poplin_model::{Capsule, Parallelepiped, Placement, Plane, Rigid, Shape, Sphere};
use schemars::JsonSchema;
use serde::Deserialize;

use super::locate::{Source, shortest};
use super::validate::{MAX_LENGTH, MIN_LENGTH, empty, validate_mesh};
use super::{FrameKey, MeshMotion, SceneBody, SceneError, Transform};

/// One `[[collider]]` of a scene: a shape in the world, at rest or moving.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneCollider {
    /// Name (default `collider <index>`).
    pub name: String,
    /// Shape: `sphere`, `capsule`, `plane`, `box`, `cylinder`, `convex` or `mesh`.
    pub shape: ColliderShape,
    /// Pose before `keys` move the collider; in the world if there are none.
    pub transform: Transform,
    /// Path of the body that the shape is fixed to, rising in time (default none: the shape is at
    /// rest). Keys are those of [`super::LocalFrame`].
    pub keys: Vec<FrameKey>,
    /// Point about which `keys` and `spin` turn it, where it is before they move it \[m\] (default
    /// 0).
    pub pivot: [f32; 3],
    /// Constant angular velocity about the pivot \[degrees/s\] around the world's axes before
    /// `keys` turn it, each `-36000..=36000` and at most 179 degrees per frame (default 0).
    pub spin: [f32; 3],
    /// Rigid body: cloths and gravity move the collider (default none).
    pub body: Option<SceneBody>,
    /// Factor on the friction of cloths that touch the collider, `0..=100` (default 1).
    pub friction: f32,
    /// Names of the cloths that collide with it, at least one (default: all).
    pub cloths: Option<Vec<String>>,
    /// Accepts a mesh that is not closed: everything behind its nearest triangle is then inside, at
    /// any distance (default: a mesh with more than small holes is an error).
    pub is_open: bool,
    /// Motion of the vertices of the mesh (default none).
    pub motion: Option<MeshMotion>,
}

/// Shape of a collider.
#[derive(Debug, Clone, PartialEq)]
pub enum ColliderShape {
    /// Ball.
    Sphere(SphereShape),
    /// Capsule: the hull of two balls, its radius changing linearly between them.
    Capsule(CapsuleShape),
    /// Half-space behind a plane, for example the ground.
    Plane(PlaneShape),
    /// Rectangular box.
    Box(BoxShape),
    /// Cylinder or cone.
    Cylinder(CylinderShape),
    /// Convex polyhedron: the points behind all of several planes, each of them a face.
    Convex(Vec<PlaneShape>),
    /// Inside of a closed surface from a mesh file ([`poplin_io::MESH_FORMATS`]), its path resolved
    /// against the scene file; see [`super::close_surface`].
    Mesh(PathBuf),
}

/// Ball.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SphereShape {
    /// Radius \[m\], `1e-6..=1e6`.
    pub radius: f32,
    /// Center \[m\] (default 0).
    #[serde(default)]
    pub center: [f32; 3],
}

/// Capsule: the hull of two balls. In files, `radius` stands for two equal `radii`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapsuleShape {
    /// Center of one end \[m\].
    pub from: [f32; 3],
    /// Center of the other end \[m\].
    pub to: [f32; 3],
    /// Radius at each end \[m\], `1e-6..=1e6`.
    pub radii: [f32; 2],
}

/// Half-space: the points x with `normal . x < offset` are behind the plane.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaneShape {
    /// Outward direction, of any length but 0; normalized when used.
    pub normal: [f32; 3],
    /// Distance of the plane from the origin along the normal \[m\] (default 0).
    #[serde(default)]
    pub offset: f32,
}

/// Rectangular box.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxShape {
    /// Lengths along x, y, z \[m\], `1e-6..=1e6`.
    pub size: [f32; 3],
    /// Middle \[m\] (default 0).
    #[serde(default)]
    pub center: [f32; 3],
}

/// Upright cylinder or truncated cone: its axis is along y.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CylinderShape {
    /// Length along y \[m\], `1e-6..=1e6`.
    pub height: f32,
    /// Radius at the lower end \[m\], `1e-6..=1e6`.
    pub radius: f32,
    /// Radius at the upper end \[m\], `0..=1e6` (default: `radius`); 0 is a cone.
    pub top_radius: Option<f32>,
    /// Middle \[m\] (default 0).
    #[serde(default)]
    pub center: [f32; 3],
    /// Number of flat sides that approximate the round one, `3..=1024` (default 32); see
    /// [`poplin_model::Shape::cylinder`].
    #[serde(default = "default_sides")]
    pub sides: u32,
}

fn default_sides() -> u32 {
    32
}

impl ColliderShape {
    /// Reports sizes out of range.
    pub(super) fn validate(&self, field: &str, source: &Source<'_>) {
        let at = |name: &str| format!("{field}.{name}");
        let length = |name: &str, value: f32| {
            source.check_range(&at(name), shortest(value), [MIN_LENGTH, MAX_LENGTH], "m")
        };
        let position =
            |name: &str, value: [f32; 3]| source.check_vector(&at(name), value, MAX_LENGTH, "m");
        match self {
            Self::Sphere(sphere) => {
                length("sphere.radius", sphere.radius);
                position("sphere.center", sphere.center);
            }
            Self::Capsule(capsule) => {
                // Equal radii are most likely stated as `radius`.
                let is_even = capsule.radii[0] == capsule.radii[1];
                let radii = if is_even { "capsule.radius" } else { "capsule.radii" };
                capsule.radii.iter().for_each(|&radius| length(radii, radius));
                position("capsule.from", capsule.from);
                position("capsule.to", capsule.to);
            }
            Self::Plane(plane) => validate_plane(plane, &at("plane"), source),
            Self::Box(shape) => {
                shape.size.iter().for_each(|&side| length("box.size", side));
                position("box.center", shape.center);
            }
            Self::Cylinder(shape) => {
                length("cylinder.height", shape.height);
                length("cylinder.radius", shape.radius);
                let top = shortest(shape.top_radius.unwrap_or(0.0));
                source.check_range(&at("cylinder.top_radius"), top, [0.0, MAX_LENGTH], "m");
                source.check_range(&at("cylinder.sides"), shape.sides, [3.0, 1024.0], "");
                position("cylinder.center", shape.center);
            }
            Self::Convex(planes) if planes.is_empty() => {
                source.refuse(empty(source, &at("convex.planes"), "plane"));
            }
            Self::Convex(planes) => {
                let before = source.fault_count();
                for (index, plane) in planes.iter().enumerate() {
                    validate_plane(plane, &at(&format!("convex.planes[{index}]")), source);
                }
                let (field, count) = (at("convex.planes"), planes.len());
                // Only valid planes can be intersected.
                let are_planes = source.fault_count() == before;
                let planes = planes.iter().map(plane);
                let half_spaces = planes.map(|plane| HalfSpace::new(plane.normal, plane.offset));
                if are_planes && is_empty_convex(&half_spaces.collect::<Vec<_>>()) {
                    let at = source.location(&field);
                    source.refuse(SceneError::EmptyConvex { at, field, count });
                }
            }
            Self::Mesh(mesh) => validate_mesh(mesh, &at("mesh"), source),
        }
    }

    /// Returns the shape before its transform, or else the path of its mesh.
    pub(super) fn shape(&self) -> Result<Shape, &Path> {
        Ok(match self {
            Self::Sphere(sphere) => Sphere { center: sphere.center, radius: sphere.radius }.into(),
            Self::Capsule(capsule) => {
                let [from, to] = capsule.radii;
                let ends = [(capsule.from, from), (capsule.to, to)];
                Capsule { ends: ends.map(|(center, radius)| Sphere { center, radius }) }.into()
            }
            Self::Plane(shape) => plane(shape).into(),
            Self::Convex(planes) => Shape::Convex(planes.iter().map(plane).collect()),
            Self::Box(shape) => {
                let half = shape.size.map(|length| 0.5 * length);
                let corner: [f32; 3] = std::array::from_fn(|k| shape.center[k] - half[k]);
                let mut edges = [[0.0; 3]; 3];
                for (k, edge) in edges.iter_mut().enumerate() {
                    // (center + half) - corner, not 2 half: the far faces are then exactly at
                    // center + half.
                    edge[k] = (shape.center[k] + half[k]) - corner[k];
                }
                Parallelepiped { corner, edges }.into()
            }
            Self::Cylinder(shape) => {
                let radii = [shape.radius, shape.top_radius.unwrap_or(shape.radius)];
                let translation = wide(shape.center);
                Shape::cylinder(0.5 * shape.height, radii, shape.sides).transformed(
                    &Placement::new(1.0, Rigid { translation, rotation: DQuat::IDENTITY }),
                )
            }
            Self::Mesh(path) => return Err(path),
        })
    }
}

impl SceneCollider {
    /// Creates a collider at rest in the world that acts on all cloths.
    pub fn new(name: impl Into<String>, shape: ColliderShape) -> Self {
        Self {
            name: name.into(),
            shape,
            transform: Transform::default(),
            keys: Vec::new(),
            pivot: [0.0; 3],
            spin: [0.0; 3],
            body: None,
            friction: 1.0,
            cloths: None,
            is_open: false,
            motion: None,
        }
    }

    /// Tests whether the collider acts on the cloth of this name.
    pub fn acts_on(&self, cloth: &str) -> bool {
        acts_on(&self.cloths, cloth)
    }
}

/// Tests whether a list of cloth names includes `cloth`; `None` includes all.
pub(super) fn acts_on(cloths: &Option<Vec<String>>, cloth: &str) -> bool {
    cloths.as_ref().is_none_or(|names| names.iter().any(|name| name == cloth))
}

/// Returns a plane with its normal normalized.
fn plane(shape: &PlaneShape) -> Plane {
    let normal = wide(shape.normal).normalize_or_zero().as_vec3().to_array();
    Plane { normal, offset: shape.offset }
}

fn validate_plane(plane: &PlaneShape, field: &str, source: &Source<'_>) {
    let at_normal = format!("{field}.normal");
    source.check_vector(&at_normal, plane.normal, MAX_LENGTH, "");
    source.check_range(
        &format!("{field}.offset"),
        shortest(plane.offset),
        [-MAX_LENGTH, MAX_LENGTH],
        "m",
    );
    if plane.normal == [0.0; 3] {
        source.refuse(SceneError::NoNormal {
            at: source.location(&at_normal),
            field: at_normal,
            normal: plane.normal,
        });
    }
}
