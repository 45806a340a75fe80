//! Settings of a cloth, in groups.

mod air;
mod cloth_collision;
mod contact;
mod fiber_solver;
mod implicit;
mod inertia;
mod motion;
mod multilevel;
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
pub use implicit::{
    BendModel, Implicit, ImplicitReport, MAX_HALVINGS, MAX_SOLVER_ITERATIONS, Preconditioner,
    StretchModel,
};
pub use inertia::Inertia;
pub use motion::MotionConstraints;
pub use multilevel::{MAX_LEVEL_ITERATIONS, MAX_NEWTON_STEPS, Multilevel};
pub use pbd::{Pbd, PbdPhase};
pub use phases::Phases;
pub use self_collision::{SELF_COLLISION_REST_FRACTION, SelfCollision};
pub use sleep::Sleep;
pub use solver::Solver;
pub use tethers::Tethers;
pub use xpbd::{MAX_FREQUENCY, MAX_SUBSTEPS, Membrane, Xpbd, XpbdPhase};

use crate::error::{Context, ModelError, check_finite, check_range};

/// Settings of one cloth: plain fields in groups; [`ClothConfig::validate`] checks the ranges.
///
/// Stiffness-like values x in `0..=1` are stored as `log2(1 - x)` and act as
/// `1 - (1 - x)^(stiffness_frequency * h)` in an iteration of `h` seconds, so that their effect is
/// independent of the frame rate; `x = 1` is clamped to `log2(1 - x) = -128` (0.948 per iteration
/// at the default frequencies).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ClothConfig {
    /// Acceleration of every particle by gravity [m/s^2], world axes (default 0, -9.81, 0).
    pub gravity: [f32; 3],
    /// Fraction of the velocity lost, stiffness-like, per axis, `0..=1` (default 0).
    pub damping: [f32; 3],
    /// Reference rate of all stiffness-like values [1/s], `0.001..=10_000` (default 10).
    pub stiffness_frequency: f32,
    /// Thickness of the cloth \[m\], `0..=1000` (default 0 = off). Above 0 the cloth collides with
    /// itself and with other cloths of nonzero thickness; contact distances that are not set are
    /// derived from it.
    pub thickness: f32,
    /// Largest speed of a particle in its local space [m/s], `0..=1e6`, or `None` (default).
    /// Applied at the end of every iteration, after constraints and collisions, which therefore
    /// need several iterations to correct larger errors.
    pub max_speed: Option<f32>,
    /// Constraint solver (default [`Solver::Pbd`]).
    pub solver: Solver,
    /// Long-range attachments to pinned particles.
    pub tethers: Tethers,
    /// Wind, drag and lift.
    pub air: Air,
    /// Inertial forces from the motion of the local space.
    pub inertia: Inertia,
    /// Motion constraints.
    pub motion: MotionConstraints,
    /// Contact with colliders.
    pub contact: Contact,
    /// Collision of the cloth with itself.
    pub self_collision: SelfCollision,
    /// Collision with other cloths.
    pub cloth_collision: ClothCollision,
    /// Conditions under which the cloth sleeps.
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
    /// Converts every stiffness-like value to another [`ClothConfig::stiffness_frequency`] [1/s]
    /// with the same effect: x becomes `1 - (1 - x)^(old / new)`. A value of 1 stays 1, and removes
    /// the whole error in one iteration if the new frequency is at least that of the solver. The
    /// stiffness per edge is part of the fabric and is not converted.
    pub fn set_stiffness_frequency(&mut self, frequency: f32) {
        // (1 - x')^new = (1 - x)^old
        let ratio = f64::from(self.stiffness_frequency) / f64::from(frequency);
        let restate = |value: &mut f32| {
            // 1 - (1 - x)^ratio, without cancellation for small x; `0.0 -` avoids -0.
            *value = (0.0 - f64::exp_m1(f64::ln_1p(-f64::from(*value)) * ratio)) as f32;
        };
        let Self { damping, tethers, air, inertia, motion, self_collision, solver, .. } = self;
        damping.iter_mut().for_each(restate);
        inertia.linear_drag.iter_mut().for_each(restate);
        inertia.angular_drag.iter_mut().for_each(restate);
        [&mut tethers.stiffness, &mut air.drag, &mut air.lift, &mut motion.stiffness]
            .into_iter()
            .chain([&mut self_collision.stiffness, &mut self_collision.friction])
            .for_each(restate);
        if let Some(pbd) = solver.as_pbd_mut() {
            for phase in pbd.phases.iter_mut() {
                restate(&mut phase.stiffness);
                // A remaining fraction, not a lost one.
                phase.stiffness_multiplier =
                    f64::from(phase.stiffness_multiplier).powf(ratio) as f32;
            }
        }
        self.stiffness_frequency = frequency;
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converted_stiffness_has_the_same_effect() {
        let mut config = ClothConfig {
            damping: [0.2, 0.0, 1.0],
            air: Air { drag: 0.04, ..Air::default() },
            inertia: Inertia { angular_drag: [0.5; 3], ..Inertia::default() },
            ..ClothConfig::default()
        };
        config.self_collision.friction = 0.7;
        let pbd = config.solver.as_pbd_mut().unwrap();
        pbd.phases.shearing =
            PbdPhase { stiffness: 0.9, stiffness_multiplier: 0.3, ..PbdPhase::default() };
        let old = config.clone();
        config.set_stiffness_frequency(300.0);
        config.validate().unwrap();
        assert_eq!(config.stiffness_frequency, 300.0);
        // Remaining fraction after a tenth of a second.
        let is_same = |old: f32, new: f32| ((1.0 - new).powf(30.0) - (1.0 - old)).abs() < 1e-4;
        let shearing = |config: &ClothConfig| config.solver.as_pbd().unwrap().phases.shearing;
        let values: [fn(&ClothConfig, PbdPhase) -> f32; 6] = [
            |config, _| config.damping[0],
            |config, _| config.air.drag,
            |config, _| config.inertia.angular_drag[1],
            |config, _| config.self_collision.friction,
            |_, shearing| shearing.stiffness,
            |_, shearing| 1.0 - shearing.stiffness_multiplier,
        ];
        for value in values {
            let [old, new] = [&old, &config].map(|config| value(config, shearing(config)));
            assert!(new > 0.0 && new < old && is_same(old, new), "{old} became {new}");
        }
        assert_eq!(config.damping[1..], [0.0, 1.0]);
        assert_eq!([config.tethers.stiffness, config.motion.stiffness], [1.0; 2]);
        // Round trip.
        config.set_stiffness_frequency(10.0);
        assert!((config.damping[0] - 0.2).abs() < 1e-5 && config.damping[1..] == [0.0, 1.0]);
    }
}
