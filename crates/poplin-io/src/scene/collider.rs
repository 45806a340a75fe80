//! Shapes of a scene that cloths collide with.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{FrameKey, MeshMotion, SceneBody, Transform};

/// One `[[collider]]` of a scene: a shape in the world, still or moving.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneCollider {
    /// Name (default `collider <index>`).
    pub name: String,
    /// The shape: `sphere`, `capsule`, `plane`, `box`, `cylinder`, `convex` or `mesh`.
    pub shape: ColliderShape,
    /// Its pose before `keys` move it; in the world, if there are none.
    pub transform: Transform,
    /// Path of the body that the shape is fixed to, rising in time (default none: it is at rest). Keys are those of
    /// [`super::LocalFrame`].
    pub keys: Vec<FrameKey>,
    /// Makes a rigid body of it, which cloths and gravity move (default none).
    pub body: Option<SceneBody>,
    /// Factor on the friction of the cloths that touch it, `0..=100` (default 1).
    pub friction: f32,
    /// Names of the cloths that feel it, at least one (default: all).
    pub cloths: Option<Vec<String>>,
    /// Takes a mesh that is not closed as it is: everything behind its nearest triangle is inside, however far (default: such a
    /// mesh is refused, but for small holes).
    pub is_open: bool,
    /// How the vertices of its mesh move (default: they do not).
    pub motion: Option<MeshMotion>,
}

/// What a collider is.
#[derive(Debug, Clone, PartialEq)]
pub enum ColliderShape {
    /// A ball.
    Sphere(SphereShape),
    /// A ball drawn out along a line, its radius changing evenly.
    Capsule(CapsuleShape),
    /// Everything behind a plane, for example the ground.
    Plane(PlaneShape),
    /// A right-angled box.
    Box(BoxShape),
    /// A cylinder or a cone.
    Cylinder(CylinderShape),
    /// What is behind several planes: each plane is a side.
    Convex(Vec<PlaneShape>),
    /// The inside of a closed surface from a mesh file ([`crate::MESH_FORMATS`]), its path resolved against the scene file; see [`super::close_surface`].
    Mesh(PathBuf),
}

/// A ball.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SphereShape {
    /// Radius \[m\], `1e-6..=1e6`.
    pub radius: f32,
    /// Center \[m\] (default 0).
    #[serde(default)]
    pub center: [f32; 3],
}

/// The hull of two balls. In files `radius` stands for two equal `radii`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapsuleShape {
    /// Center of one end \[m\].
    pub from: [f32; 3],
    /// Center of the other end \[m\].
    pub to: [f32; 3],
    /// Radius at each end \[m\], `1e-6..=1e6`.
    pub radii: [f32; 2],
}

/// A half-space: the points x with `normal . x < offset` are behind the plane.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaneShape {
    /// Outward direction, of any length but 0; the normal is this direction at length 1.
    pub normal: [f32; 3],
    /// Distance of the plane from the origin along the normal \[m\] (default 0).
    #[serde(default)]
    pub offset: f32,
}

/// A right-angled box.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoxShape {
    /// Lengths along x, y, z \[m\], `1e-6..=1e6`.
    pub size: [f32; 3],
    /// Middle \[m\] (default 0).
    #[serde(default)]
    pub center: [f32; 3],
}

/// A cylinder or a cut-off cone, upright: its axis is along y.
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
    /// Flat sides that stand for the round one, `3..=1024` (default 32); see [`poplin_model::Shape::cylinder`].
    #[serde(default = "default_sides")]
    pub sides: u32,
}

fn default_sides() -> u32 {
    32
}

impl SceneCollider {
    /// A shape at rest in the world, which all cloths feel.
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

    /// Whether the cloth of this name feels it.
    pub fn acts_on(&self, cloth: &str) -> bool {
        acts_on(&self.cloths, cloth)
    }
}

/// Whether a list of cloths, or none for all, holds this one.
pub(super) fn acts_on(cloths: &Option<Vec<String>>, cloth: &str) -> bool {
    cloths.as_ref().is_none_or(|names| names.iter().any(|name| name == cloth))
}
