//! Settings of contact with colliders.

use crate::error::{ModelError, check_range};

/// Collision of the particles of a cloth with colliders.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Contact {
    /// Coefficient of friction, `0..=100` (default 0 = off). Cloth rests on slopes of up to
    /// `atan(friction)`.
    pub friction: f32,
    /// Push or tangential displacement below which friction is reduced \[m\], `0..=1` (default 0).
    /// Raise it to let cloth in light contact slip; the pushes of cloth at rest are about
    /// `gravity * h^2` for an iteration of `h` seconds, 0.1 mm at 300 Hz.
    pub friction_slop: f32,
    /// True if friction moves a particle back, so that cloth held by friction does not drift
    /// (default true). If false, friction only slows the particle down, and held cloth creeps by
    /// one step of gravity per iteration: 6 mm/s on a slope of 10 degrees at 300 Hz.
    pub friction_holds: bool,
    /// Mass scaling of particles pushed by a sphere or capsule, for the rest of the iteration:
    /// their inverse mass is divided by `1 + mass_scale * push^2` [1/m^2], `0..=1e9` (default 0 =
    /// off).
    pub mass_scale: f32,
    /// Continuous collision: tests the path of a particle since the last iteration, not only its
    /// end (default off; scenes turn it on for boxes, convexes and meshes that cloth at 10 m/s
    /// crosses in an iteration). Fast shapes then do not pass through the cloth, nor cloth through
    /// thin plates. Rigid bodies collide without it.
    pub continuous: bool,
    /// Distance from the swept volume of a shape within which continuous collision catches a
    /// particle, in radii of the shape, `0..=1e6` (default 1e6: unlimited). Smaller values let taut
    /// cloth slip off a fast shape instead of following it.
    pub continuous_reach: f32,
    /// Speed at which a particle that was already inside a shape is pushed out [m/s], `0.001..=1e6`
    /// (default 1e6: at once). Cloth that starts inside a shape, or into which a shape jumps, is
    /// torn apart if it is pushed out at once, since neighbours leave on different sides; at 0.05
    /// it stays in one piece. A particle that enters during an iteration, or that a moving shape
    /// meets, is always pushed out in the same iteration; a particle that a growing sphere reaches,
    /// or that other cloth pushes in, counts as already inside. Game engines call this the
    /// depenetration velocity.
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
