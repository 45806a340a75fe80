//! Settings of collision of a cloth with itself.

use crate::error::{ModelError, check_range};

/// Fraction of their distance at rest to which particles that rest closer than the distance of self collision are kept apart:
/// a little below 1, so that the distance of neighbours is left to their edges.
pub const SELF_COLLISION_REST_FRACTION: f32 = 0.9;

/// How the particles of one cloth are kept apart.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct SelfCollision {
    /// Distance at which particles are kept apart \[m\], `0..=1000` (0 = off; default: the larger of the cloth's
    /// thickness and its particle spacing, below which layers slip between each other's particles; off without thickness).
    /// Particles closer than that at rest are kept at [`SELF_COLLISION_REST_FRACTION`] of their distance at rest.
    pub distance: Option<f32>,
    /// Fraction of an overlap removed, stiffness-like, `0..=1` (default 1; 0 = off).
    pub stiffness: f32,
    /// Fraction of the tangential motion between touching particles that is lost, stiffness-like, `0..=1` (default 0 = off;
    /// 1 sticks). Stable at any value and step.
    pub friction: f32,
    /// Whether no particle moves by more than half the distance in an iteration (default off), which is a speed limit of
    /// `distance / (2 h)` [m/s] for an iteration of `h` seconds: then layers cannot pass through each other between two
    /// iterations, however fast they are.
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
