//! Settings of the air around a cloth.

use crate::error::{ModelError, check_finite, check_range};

/// Air (or water) around a cloth. It acts on triangles, and only if drag, lift or pressure is set.
///
/// In a step the air takes at most the whole motion of the cloth relative to it, and never adds to
/// its energy: no wind makes a cloth unstable.
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
    /// Drag of a triangle, stiffness-like, `0..=1` (default 0 = off). Its force grows with the
    /// frequency of the solver's steps; `drag_coefficient` is physical.
    pub drag: f32,
    /// Lift of a triangle, stiffness-like like `drag`, `0..=1` (default 0 = off).
    pub lift: f32,
    /// Drag coefficient C of the cloth, `0..=100` (default 0 = off): a triangle of area A that
    /// moves at v relative to air of density rho, at the angle a to its normal, is pulled along the
    /// flow by `rho/2 C A v^2 |cos a|`. A square plate across the flow has 1.2. The force depends
    /// neither on step nor on mesh, unlike that of `drag`, to which it adds.
    pub drag_coefficient: f32,
    /// Lift coefficient C of the cloth, `0..=100` (default 0 = off): a force `rho/2 C A v^2 cos a
    /// sin^2 a` at right angles to the flow, in its plane with the normal. Adds to `lift`.
    pub lift_coefficient: f32,
    /// Density of the air or water [kg/m^3], `0..=1e6` (default 1; air has 1.2, water 1000).
    pub density: f32,
    /// Pressure behind every triangle minus the pressure in front of it \[Pa\], `-1e6..=1e6`
    /// (default 0). It inflates a closed mesh with outward-facing triangles (the front is the side
    /// from which corners appear counterclockwise), and fills a sail.
    pub pressure: f32,
}

impl Default for Air {
    fn default() -> Self {
        Self {
            wind_velocity: [0.0; 3],
            drag: 0.0,
            lift: 0.0,
            drag_coefficient: 0.0,
            lift_coefficient: 0.0,
            density: 1.0,
            pressure: 0.0,
        }
    }
}

impl Air {
    /// True if drag, lift or pressure acts on the cloth.
    pub fn acts(&self) -> bool {
        self.feels_wind() || self.pressure != 0.0
    }

    /// True if wind acts on the cloth: drag, lift or one of their coefficients is set.
    pub fn feels_wind(&self) -> bool {
        let all = [self.drag, self.lift, self.drag_coefficient, self.lift_coefficient];
        all.into_iter().any(|value| value > 0.0)
    }

    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_finite("wind_velocity", &[self.wind_velocity])?;
        check_range("drag", self.drag, 0.0, 1.0)?;
        check_range("lift", self.lift, 0.0, 1.0)?;
        check_range("drag_coefficient", self.drag_coefficient, 0.0, 100.0)?;
        check_range("lift_coefficient", self.lift_coefficient, 0.0, 100.0)?;
        check_range("density", self.density, 0.0, 1e6)?;
        check_range("pressure", self.pressure, -1e6, 1e6)
    }
}
