//! Settings of motion constraints.

use crate::error::{ModelError, check_range};

/// Motion constraints: spheres that the particles may not leave. A sphere of radius r keeps its
/// particle within `max(0, r * scale + bias)`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct MotionConstraints {
    /// Factor on the radii, `0..=1000` (default 1).
    pub scale: f32,
    /// Length added to the scaled radii \[m\], `-1000..=1000` (default 0).
    pub bias: f32,
    /// Fraction of the excess distance removed, stiffness-like, `0..=1` (default 1; 0 = off).
    pub stiffness: f32,
}

impl Default for MotionConstraints {
    fn default() -> Self {
        Self { scale: 1.0, bias: 0.0, stiffness: 1.0 }
    }
}

impl MotionConstraints {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("scale", self.scale, 0.0, 1000.0)?;
        check_range("bias", self.bias, -1000.0, 1000.0)?;
        check_range("stiffness", self.stiffness, 0.0, 1.0)
    }
}
