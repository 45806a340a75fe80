//! Settings of contact with colliders.

use crate::error::{ModelError, check_range};

/// How the particles of a cloth collide with shapes.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Contact {
    /// Coefficient of friction, `0..=100` (default 0 = off). Slopes up to `atan(friction)` hold.
    pub friction: f32,
    /// Length below which a push or a tangential displacement counts less in friction \[m\], `0..=1` (default 0). Raise it
    /// to let cloth that hardly touches slip; the pushes of cloth at rest are about `gravity * h^2` for an iteration of `h`
    /// seconds, 0.1 mm at 300 Hz.
    pub friction_slop: f32,
    /// Whether friction moves a particle back (default true), so that what it holds stays where it is. If false it only slows
    /// the particle down: what it holds creeps by one step of gravity per iteration, on a slope of 10 degrees
    /// 6 mm/s at 300 Hz.
    pub friction_holds: bool,
    /// Makes particles that a sphere or capsule pushes heavier for the rest of the iteration: their inverse mass is divided by
    /// `1 + mass_scale * push^2` [1/m^2], `0..=1e9` (default 0 = off).
    pub mass_scale: f32,
    /// Collides with spheres and capsules along the path of a particle since the last iteration, not only where it ends
    /// (default off). Fast shapes then catch what they would pass through.
    pub continuous: bool,
    /// How far from the volume that a shape sweeps in an iteration a particle may end and still be caught by it, in radii of
    /// the shape, `0..=1e6` (default 1e6: however far). Less lets taut cloth slip off a fast shape instead of following it.
    pub continuous_reach: f32,
    /// Speed at which a particle leaves a shape that it was in before [m/s], `0.001..=1e6` (default 1e6: at once). Cloth that
    /// starts in a shape, or that a shape jumps into, is torn apart if it is pushed out at once, since neighbours leave by
    /// different sides; at 0.05 it stays in one piece. What goes in during an iteration, or is met by a
    /// shape that moves, is pushed out in the same, however fast; what a growing sphere reaches, or other cloth pushes in,
    /// counts as inside before. Game engines call it depenetration velocity.
    pub depenetration_speed: f32,
}

impl Default for Contact {
    fn default() -> Self {
        Self {
            friction: 0.0,
            friction_slop: 0.0,
            friction_holds: true,
            mass_scale: 0.0,
            continuous: false,
            continuous_reach: 1e6,
            depenetration_speed: 1e6,
        }
    }
}

impl Contact {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("friction", self.friction, 0.0, 100.0)?;
        check_range("friction_slop", self.friction_slop, 0.0, 1.0)?;
        check_range("mass_scale", self.mass_scale, 0.0, 1e9)?;
        check_range("continuous_reach", self.continuous_reach, 0.0, 1e6)?;
        check_range("depenetration_speed", self.depenetration_speed, 0.001, 1e6)
    }
}
