//! Settings of the air around a cloth.

use crate::error::{ModelError, check_finite, check_range};

/// The air (or water) that a cloth moves through. It acts on triangles, only with a drag or lift above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Air {
    /// Wind in world axes \[m/s\] (default 0).
    pub wind_velocity: [f32; 3],
    /// Drag of a triangle, stiffness-like, `0..=1` (default 0 = off).
    pub drag: f32,
    /// Lift of a triangle, stiffness-like, `0..=1` (default 0 = off).
    pub lift: f32,
    /// Density of the air or water [kg/m^3], `0..=1e6` (default 1; the mass of a cloth counts in full, so 1.2 is air).
    pub density: f32,
}

impl Default for Air {
    fn default() -> Self {
        Self { wind_velocity: [0.0; 3], drag: 0.0, lift: 0.0, density: 1.0 }
    }
}

impl Air {
    /// Whether it acts on the cloth at all: it drags or lifts.
    pub fn acts(&self) -> bool {
        self.drag > 0.0 || self.lift > 0.0
    }

    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_finite("wind_velocity", &[self.wind_velocity])?;
        check_range("drag", self.drag, 0.0, 1.0)?;
        check_range("lift", self.lift, 0.0, 1.0)?;
        check_range("density", self.density, 0.0, 1e6)
    }
}
