//! Settings of the air around a cloth.

use crate::error::{ModelError, check_finite, check_range};

/// Air (or water) around a cloth. It acts on triangles, and only if drag, lift or pressure is set.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Air {
    /// Wind velocity in world axes \[m/s\] (default 0).
    pub wind_velocity: [f32; 3],
    /// Drag coefficient of a triangle, stiffness-like, `0..=1` (default 0 = off).
    pub drag: f32,
    /// Lift coefficient of a triangle, stiffness-like, `0..=1` (default 0 = off).
    pub lift: f32,
    /// Density of the air or water [kg/m^3], `0..=1e6` (default 1; air has 1.2, water 1000).
    pub density: f32,
    /// Pressure behind every triangle minus the pressure in front of it \[Pa\], `-1e6..=1e6`
    /// (default 0). It inflates a closed mesh with outward-facing triangles (the front is the side
    /// from which corners appear counterclockwise), and fills a sail.
    pub pressure: f32,
}

impl Default for Air {
    fn default() -> Self {
        Self { wind_velocity: [0.0; 3], drag: 0.0, lift: 0.0, density: 1.0, pressure: 0.0 }
    }
}

impl Air {
    /// True if drag, lift or pressure acts on the cloth.
    pub fn acts(&self) -> bool {
        self.feels_wind() || self.pressure != 0.0
    }

    /// True if wind acts on the cloth: drag or lift is set.
    pub fn feels_wind(&self) -> bool {
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
        check_range("density", self.density, 0.0, 1e6)?;
        check_range("pressure", self.pressure, -1e6, 1e6)
    }
}
