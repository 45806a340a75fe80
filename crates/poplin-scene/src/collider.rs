//! Shapes of a scene that cloths collide with.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{FrameKey, MeshMotion, SceneBody, Transform};

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

impl SceneCollider {
    /// Creates a collider at rest in the world that acts on all cloths.
    pub fn new(name: impl Into<String>, shape: ColliderShape) -> Self {
        Self {
            name: name.into(),
            shape,
            transform: Transform::default(),
            keys: Vec::new(),
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
