//! Settings of the inertial forces from the motion of the local space.

use crate::error::{ModelError, check_range};

/// Inertial forces on a cloth from the motion of its local space.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Inertia {
    /// Fraction of the acceleration of the local space that acts on the cloth, per world axis,
    /// `0..=1` (default 1).
    pub linear: [f32; 3],
    /// Fraction of the angular acceleration that acts on the cloth, per local axis, `0..=1`
    /// (default 1).
    pub angular: [f32; 3],
    /// Fraction of the centrifugal force of the rotating local space that acts on the cloth, per
    /// local axis, `0..=1` (default 1).
    pub centrifugal: [f32; 3],
    /// Drag of the cloth by the translation of the local space, stiffness-like, per world axis,
    /// `0..=1` (default 0).
    pub linear_drag: [f32; 3],
    /// Drag of the cloth by the rotation of the local space, stiffness-like, per local axis,
    /// `0..=1` (default 0).
    pub angular_drag: [f32; 3],
}

impl Default for Inertia {
    fn default() -> Self {
        Self {
            linear: [1.0; 3],
            angular: [1.0; 3],
            centrifugal: [1.0; 3],
            linear_drag: [0.0; 3],
            angular_drag: [0.0; 3],
        }
    }
}

impl Inertia {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        for (field, values) in [
            ("linear", self.linear),
            ("angular", self.angular),
            ("centrifugal", self.centrifugal),
            ("linear_drag", self.linear_drag),
            ("angular_drag", self.angular_drag),
        ] {
            values.iter().try_for_each(|&value| check_range(field, value, 0.0, 1.0))?;
        }
        Ok(())
    }
}
