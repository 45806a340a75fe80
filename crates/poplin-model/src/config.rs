//! Settings of a cloth and of its fabric phases.

use crate::error::{ModelError, check_finite, check_range};

/// Settings of one cloth. Plain fields; [`ClothConfig::validate`] checks the ranges.
///
/// Stiffness-like values x in `0..=1` are stored as `log2(1 - x)` and take effect as
/// `1 - (1 - x)^(stiffness_frequency * h)` in an iteration of `h` seconds, so that they mean the same at any frame rate;
/// `x = 1` is clamped to `log2(1 - x) = -128` (0.948 per iteration at the default frequencies).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct ClothConfig {
    /// Acceleration of every particle [m/s^2], world axes (default 0, -9.81, 0).
    pub gravity: [f32; 3],
    /// Share of the velocity lost per `1/stiffness_frequency` seconds, per axis, `0..=1` (default 0).
    pub damping: [f32; 3],
    /// Solver iterations per second [1/s], `1..=10_000` (default 300). Higher is stiffer and costs more.
    pub solver_frequency: f32,
    /// Reference rate of all stiffness-like values [1/s], `0.001..=10_000` (default 10).
    pub stiffness_frequency: f32,
    /// Iteration steps over which the squared step of gravity is averaged, `1..=1000` (default 30).
    pub acceleration_filter_width: u32,
    /// Pull of the tethers, `0..=1` (default 1; 0 = off).
    pub tether_stiffness: f32,
    /// Factor on all tether lengths, `0..=1000` (default 1).
    pub tether_scale: f32,
    /// Wind in world axes \[m/s\] (default 0). Acts only with a drag or lift coefficient above 0.
    pub wind_velocity: [f32; 3],
    /// Air drag of a triangle, stiffness-like, `0..=1` (default 0 = off).
    pub drag_coefficient: f32,
    /// Air lift of a triangle, stiffness-like, `0..=1` (default 0 = off).
    pub lift_coefficient: f32,
    /// Density of the air or water [kg/m^3], `0..=1e6` (default 1; the mass of a cloth counts in full, so 1.2 is air).
    pub fluid_density: f32,
    /// Share of the local frame's acceleration that the cloth feels, per world axis, `0..=1` (default 1).
    pub linear_inertia: [f32; 3],
    /// Share of the local frame's angular acceleration that the cloth feels, per local axis, `0..=1` (default 1).
    pub angular_inertia: [f32; 3],
    /// Share of the centrifugal force of the turning frame that the cloth feels, per local axis, `0..=1` (default 1).
    pub centrifugal_inertia: [f32; 3],
    /// How much the cloth is dragged along with the frame's translation, stiffness-like, per world axis, `0..=1` (default 0).
    pub linear_drag: [f32; 3],
    /// How much the cloth is dragged along with the frame's rotation, stiffness-like, per local axis, `0..=1` (default 0).
    pub angular_drag: [f32; 3],
    /// Factor on the radii of the motion spheres, `0..=1000` (default 1).
    pub motion_scale: f32,
    /// Added to the scaled radii of the motion spheres \[m\], `-1000..=1000` (default 0).
    pub motion_bias: f32,
    /// Pull of the motion spheres, stiffness-like, `0..=1` (default 1).
    pub motion_stiffness: f32,
    /// Coefficient of friction between particles and shapes, `0..=100` (default 0 = off). Slopes up to `atan(friction)` hold.
    pub friction: f32,
    /// Length below which a push or a way along a shape counts less in friction \[m\], `0..=1` (default 0). Raise it to let
    /// cloth that hardly touches slip; the pushes of cloth at rest are about `gravity / solver_frequency^2`, 0.1 mm at 300 Hz.
    pub friction_slop: f32,
    /// Whether friction moves a particle back (default true), so that what it holds stays where it is. If false it only slows
    /// the particle down: what it holds creeps by one step of gravity per iteration, on a slope of 10 degrees
    /// 6 mm/s at 300 Hz.
    pub friction_holds: bool,
    /// Makes particles heavier for the rest of an iteration that a sphere or capsule pushes: their inverse mass is divided by
    /// `1 + collision_mass_scale * push^2` [1/m^2], `0..=1e9` (default 0 = off).
    pub collision_mass_scale: f32,
    /// Collides with spheres and capsules along the path of a particle since the last iteration, not only where it ends
    /// (default off). Fast shapes then catch what they would pass through.
    pub continuous_collision: bool,
    /// How far from the space that a shape sweeps in an iteration a particle may end and still be caught by it, in radii of
    /// the shape, `0..=1e6` (default 1e6: however far). Less lets taut cloth slip off a fast shape instead of following it.
    pub continuous_reach: f32,
    /// Distance to which collision between cloths keeps this cloth's particles from those of another with the same setting
    /// \[m\], `0..=1000` (default 0 = the cloth takes no part); two cloths keep the mean of theirs.
    pub cloth_collision_distance: f32,
    /// Groups of collision between cloths that the cloth belongs to, one per bit (default 1).
    pub collision_group: u32,
    /// Groups that the cloth collides with, one per bit (default all). Two cloths collide if each wants the other.
    pub collision_mask: u32,
    /// Speed below which a particle counts as resting, per axis [m/s], `0..=1000` (default 0 = never sleeps).
    pub sleep_threshold: f32,
    /// Simulated time between two tests for rest \[ms\], `1..=60_000` (default 50).
    pub sleep_test_interval: u32,
    /// Passed tests in a row after which the cloth sleeps, `1..=10_000` (default 10).
    pub sleep_after_count: u32,
}

impl Default for ClothConfig {
    fn default() -> Self {
        Self {
            gravity: [0.0, -9.81, 0.0],
            damping: [0.0; 3],
            solver_frequency: 300.0,
            stiffness_frequency: 10.0,
            acceleration_filter_width: 30,
            tether_stiffness: 1.0,
            tether_scale: 1.0,
            wind_velocity: [0.0; 3],
            drag_coefficient: 0.0,
            lift_coefficient: 0.0,
            fluid_density: 1.0,
            linear_inertia: [1.0; 3],
            angular_inertia: [1.0; 3],
            centrifugal_inertia: [1.0; 3],
            linear_drag: [0.0; 3],
            angular_drag: [0.0; 3],
            motion_scale: 1.0,
            motion_bias: 0.0,
            motion_stiffness: 1.0,
            friction: 0.0,
            friction_slop: 0.0,
            friction_holds: true,
            collision_mass_scale: 0.0,
            continuous_collision: false,
            continuous_reach: 1e6,
            cloth_collision_distance: 0.0,
            collision_group: 1,
            collision_mask: u32::MAX,
            sleep_threshold: 0.0,
            sleep_test_interval: 50,
            sleep_after_count: 10,
        }
    }
}

impl ClothConfig {
    /// Checks every range given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_finite("gravity", &[self.gravity])?;
        self.damping.iter().try_for_each(|&value| check_range("damping", value, 0.0, 1.0))?;
        check_range("solver_frequency", self.solver_frequency, 1.0, 10_000.0)?;
        check_range("stiffness_frequency", self.stiffness_frequency, 0.001, 10_000.0)?;
        check_range("acceleration_filter_width", self.acceleration_filter_width as f32, 1.0, 1000.0)?;
        check_range("tether_stiffness", self.tether_stiffness, 0.0, 1.0)?;
        check_range("tether_scale", self.tether_scale, 0.0, 1000.0)?;
        check_finite("wind_velocity", &[self.wind_velocity])?;
        let shares = [
            ("drag_coefficient", [self.drag_coefficient; 3]),
            ("lift_coefficient", [self.lift_coefficient; 3]),
            ("motion_stiffness", [self.motion_stiffness; 3]),
            ("linear_inertia", self.linear_inertia),
            ("angular_inertia", self.angular_inertia),
            ("centrifugal_inertia", self.centrifugal_inertia),
            ("linear_drag", self.linear_drag),
            ("angular_drag", self.angular_drag),
        ];
        for (field, values) in shares {
            values.iter().try_for_each(|&value| check_range(field, value, 0.0, 1.0))?;
        }
        check_range("fluid_density", self.fluid_density, 0.0, 1e6)?;
        check_range("motion_scale", self.motion_scale, 0.0, 1000.0)?;
        check_range("motion_bias", self.motion_bias, -1000.0, 1000.0)?;
        check_range("friction", self.friction, 0.0, 100.0)?;
        check_range("friction_slop", self.friction_slop, 0.0, 1.0)?;
        check_range("collision_mass_scale", self.collision_mass_scale, 0.0, 1e9)?;
        check_range("continuous_reach", self.continuous_reach, 0.0, 1e6)?;
        check_range("cloth_collision_distance", self.cloth_collision_distance, 0.0, 1000.0)?;
        check_range("sleep_threshold", self.sleep_threshold, 0.0, 1000.0)?;
        check_range("sleep_test_interval", self.sleep_test_interval as f32, 1.0, 60_000.0)?;
        check_range("sleep_after_count", self.sleep_after_count as f32, 1.0, 10_000.0)
    }
}

/// How one phase of the fabric is solved. A phase may appear several times in the solving order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct PhaseConfig {
    /// Index into [`crate::Fabric::phases`].
    pub phase: u32,
    /// Share of the length error removed per `1/stiffness_frequency` seconds, `0..=1` (default 1; 0 drops the phase).
    pub stiffness: f32,
    /// Softens the edge between the two limits: the share of the error *within* them that is still corrected, `0..=1`
    /// (default 1: no soft range).
    pub stiffness_multiplier: f32,
    /// Shortest relative length of the soft range, `0.001..=1` (default 1).
    pub compression_limit: f32,
    /// Longest relative length of the soft range, `1..=1000` (default 1).
    pub stretch_limit: f32,
}

impl PhaseConfig {
    /// Full stiffness, no soft range.
    pub fn stiff(phase: u32) -> Self {
        Self { phase, stiffness: 1.0, stiffness_multiplier: 1.0, compression_limit: 1.0, stretch_limit: 1.0 }
    }

    /// Checks the ranges and that the phase exists.
    ///
    /// # Errors
    /// [`ModelError`] that names the field.
    pub fn validate(&self, phase_count: usize) -> Result<(), ModelError> {
        if self.phase as usize >= phase_count {
            return Err(ModelError::IndexOutOfRange { what: "phase config", position: 0, index: self.phase, count: phase_count });
        }
        check_range("phase stiffness", self.stiffness, 0.0, 1.0)?;
        check_range("phase stiffness_multiplier", self.stiffness_multiplier, 0.0, 1.0)?;
        check_range("phase compression_limit", self.compression_limit, 0.001, 1.0)?;
        check_range("phase stretch_limit", self.stretch_limit, 1.0, 1000.0)
    }
}
