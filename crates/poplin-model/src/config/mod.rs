//! Settings of a cloth, in groups.

mod air;
mod cloth_collision;
mod contact;
mod fiber_solver;
mod inertia;
mod motion;
mod pbd;
mod phases;
mod self_collision;
mod sleep;
mod solver;
mod tethers;
mod xpbd;

pub use air::Air;
pub use cloth_collision::ClothCollision;
pub use contact::Contact;
pub use fiber_solver::FiberSolver;
pub use inertia::Inertia;
pub use motion::MotionConstraints;
pub use pbd::{Pbd, PbdPhase};
pub use phases::Phases;
pub use self_collision::{SELF_COLLISION_REST_FRACTION, SelfCollision};
pub use sleep::Sleep;
pub use solver::Solver;
pub use tethers::Tethers;
pub use xpbd::{MAX_SUBSTEPS, Xpbd, XpbdPhase};

use crate::error::{Context, ModelError, check_finite, check_range};

/// Settings of one cloth. Plain fields in groups; [`ClothConfig::validate`] checks the ranges.
///
/// Stiffness-like values x in `0..=1` are stored as `log2(1 - x)` and take effect as
/// `1 - (1 - x)^(stiffness_frequency * h)` in an iteration of `h` seconds, so that they mean the same at any frame rate;
/// `x = 1` is clamped to `log2(1 - x) = -128` (0.948 per iteration at the default frequencies).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ClothConfig {
    /// Acceleration of every particle [m/s^2], world axes (default 0, -9.81, 0).
    pub gravity: [f32; 3],
    /// Fraction of the velocity lost, stiffness-like, per axis, `0..=1` (default 0).
    pub damping: [f32; 3],
    /// Reference rate of all stiffness-like values [1/s], `0.001..=10_000` (default 10).
    pub stiffness_frequency: f32,
    /// Thickness of the cloth \[m\], `0..=1000` (default 0 = off). Above 0 the cloth collides with itself and with other cloths
    /// that have one, at distances that follow from it where they are not set.
    pub thickness: f32,
    /// Largest speed of a particle in its local space [m/s], `0..=1e6`, or `None` (default). It holds at the end of every
    /// iteration, whatever has moved the particle: constraints and shapes need several iterations for what is further away.
    pub max_speed: Option<f32>,
    /// How constraints are solved (default [`Solver::Pbd`]).
    pub solver: Solver,
    /// Long-range attachments to the pins.
    pub tethers: Tethers,
    /// Wind, drag and lift.
    pub air: Air,
    /// What the cloth feels of the motion of its local space.
    pub inertia: Inertia,
    /// Motion constraints.
    pub motion: MotionConstraints,
    /// Contact with colliders.
    pub contact: Contact,
    /// Collision of the cloth with itself.
    pub self_collision: SelfCollision,
    /// Collision with other cloths.
    pub cloth_collision: ClothCollision,
    /// When the cloth comes to rest.
    pub sleep: Sleep,
}

impl Default for ClothConfig {
    fn default() -> Self {
        Self {
            gravity: [0.0, -9.81, 0.0],
            damping: [0.0; 3],
            stiffness_frequency: 10.0,
            thickness: 0.0,
            max_speed: None,
            solver: Solver::default(),
            tethers: Tethers::default(),
            air: Air::default(),
            inertia: Inertia::default(),
            motion: MotionConstraints::default(),
            contact: Contact::default(),
            self_collision: SelfCollision::default(),
            cloth_collision: ClothCollision::default(),
            sleep: Sleep::default(),
        }
    }
}

impl ClothConfig {
    /// Checks every range given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range, with its groups: `air.drag`.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_finite("gravity", &[self.gravity])?;
        self.damping.iter().try_for_each(|&value| check_range("damping", value, 0.0, 1.0))?;
        check_range("stiffness_frequency", self.stiffness_frequency, 0.001, 10_000.0)?;
        check_range("thickness", self.thickness, 0.0, 1000.0)?;
        check_range("max_speed", self.max_speed.unwrap_or(0.0), 0.0, 1e6)?;
        self.solver.validate().within("solver")?;
        self.tethers.validate().within("tethers")?;
        self.air.validate().within("air")?;
        self.inertia.validate().within("inertia")?;
        self.motion.validate().within("motion")?;
        self.contact.validate().within("contact")?;
        self.self_collision.validate().within("self_collision")?;
        self.cloth_collision.validate().within("cloth_collision")?;
        self.sleep.validate().within("sleep")
    }
}
