//! Settings of self collision.

use crate::error::{ModelError, check_range};

/// Fraction of their rest distance at which particles are kept that rest closer than the
/// self-collision distance. Slightly below 1, so that edges determine the distance of neighbours.
pub const SELF_COLLISION_REST_FRACTION: f32 = 0.9;

/// Self collision: particles of one cloth are kept apart.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct SelfCollision {
    /// Distance at which particles are kept apart \[m\], `0..=1000` (0 = off; default: off without
    /// thickness, otherwise the larger of the cloth's thickness and its particle spacing, below
    /// which layers slip between each other's particles). Particles that are closer at rest are
    /// kept at [`SELF_COLLISION_REST_FRACTION`] of their rest distance.
    pub distance: Option<f32>,
    /// Fraction of an overlap removed, stiffness-like, `0..=1` (default 1; 0 = off).
    pub stiffness: f32,
    /// Fraction of the tangential motion between particles in contact that is lost, stiffness-like,
    /// `0..=1` (default 0 = off; 1 sticks). Stable at any value and step.
    pub friction: f32,
    /// True to limit the motion of particles to half the distance per iteration (default off), a
    /// speed limit of `distance / (2 h)` [m/s] for an iteration of `h` seconds. Layers then cannot
    /// pass through each other between two iterations at any speed.
    pub limit_velocity: bool,
}

impl Default for SelfCollision {
    fn default() -> Self {
        Self { distance: None, stiffness: 1.0, friction: 0.0, limit_velocity: false }
    }
}

impl SelfCollision {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("distance", self.distance.unwrap_or(0.0), 0.0, 1000.0)?;
        check_range("stiffness", self.stiffness, 0.0, 1.0)?;
        check_range("friction", self.friction, 0.0, 1.0)
    }
}
