//! Settings of a cloth and of its fabric phases.

use crate::error::{ModelError, check_finite, check_range, check_unused};

/// Most iterations of a frame with [`Solver::Xpbd`].
pub const MAX_SUBSTEPS: u32 = 20_000;

/// How the constraints of a cloth are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase", deny_unknown_fields)
)]
pub enum Solver {
    /// Position-based dynamics (default): edges by Gauss-Seidel with stiffness as a share per time, so that what a cloth
    /// stretches by depends on [`ClothConfig::solver_frequency`].
    #[default]
    Pbd,
    /// Extended position-based dynamics with small steps: each frame is cut into `substeps` iterations, edges have a
    /// compliance in m/N, bends a rigidity in N m, and neither depends on the step. Fibers are solved as a whole.
    ///
    /// Macklin, Müller, Chentanez, "XPBD", 2016, eq. 18 and 26; Macklin et al., "Small Steps in Physics Simulation", 2019.
    /// Deviations: one linear system per fiber instead of one equation per edge, gravity of the step itself (no
    /// [`ClothConfig::acceleration_filter_width`]), and bends as `shaders/stage/bend.wgsl` says.
    Xpbd {
        /// Iterations of a frame, `1..=20_000`, whatever its length.
        substeps: u32,
    },
}

impl Solver {
    /// Whether it is [`Solver::Xpbd`].
    pub fn is_xpbd(self) -> bool {
        matches!(self, Self::Xpbd { .. })
    }
}

/// Fraction of their distance at rest to which particles that rest closer than the self-collision distance are kept apart: a
/// little below 1, so that the distance of neighbours is left to their edges.
pub const SELF_COLLISION_REST_FRACTION: f32 = 0.9;

/// Settings of one cloth. Plain fields; [`ClothConfig::validate`] checks the ranges.
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
    /// Share of the velocity lost per `1/stiffness_frequency` seconds, per axis, `0..=1` (default 0).
    pub damping: [f32; 3],
    /// Solver iterations per second [1/s], `1..=10_000` (default 300). Higher is stiffer and costs more. [`Solver::Pbd`] only.
    pub solver_frequency: f32,
    /// Reference rate of all stiffness-like values [1/s], `0.001..=10_000` (default 10).
    pub stiffness_frequency: f32,
    /// Iteration steps over which the squared step of gravity is averaged, `1..=1000` (default 30). [`Solver::Pbd`] only.
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
    /// Thickness of the cloth \[m\], `0..=1000` (default 0 = off). Above 0 the cloth collides with itself and with other cloths
    /// that have one, at distances that follow from it where they are not set.
    pub thickness: f32,
    /// Distance at which particles of the cloth are kept apart \[m\], `0..=1000` (0 = off; default `None`: the larger of the
    /// thickness and the particle spacing, below which layers slip between each other's particles; off without thickness).
    /// Particles closer than that at rest are kept at [`SELF_COLLISION_REST_FRACTION`] of their distance at rest.
    pub self_collision_distance: Option<f32>,
    /// Push between such particles, stiffness-like, `0..=1` (default 1).
    pub self_collision_stiffness: f32,
    /// Share of the sideways motion between touching particles of the cloth that is lost, stiffness-like, `0..=1`
    /// (default 0 = off; 1 sticks). Stable at any value and step.
    pub self_collision_friction: f32,
    /// Whether no particle moves by more than half the self-collision distance in an iteration (default off), which is a
    /// speed limit of `distance / 2 * solver_frequency` [m/s]: then layers cannot pass through each other between two
    /// iterations, however fast they are.
    pub limit_velocity: bool,
    /// Distance to which collision between cloths keeps this cloth's particles from those of another with the same setting
    /// \[m\], `0..=1000` (0 = the cloth takes no part; default `None`: from the thickness, as `self_collision_distance`); two
    /// cloths keep the mean of theirs.
    pub cloth_collision_distance: Option<f32>,
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
    /// How constraints are solved (default [`Solver::Pbd`]). A field that only the other solver reads must have its default.
    pub solver: Solver,
    /// Bending rigidity B of the cloth [N m], `0..=1e6` (default 0 = off): the moment per width that bends it to a curvature of
    /// 1/m. Cotton has about 1e-5. Needs [`Solver::Xpbd`] and a fabric with [`crate::Fabric::bends`].
    pub bending_rigidity: f32,
    /// Damping of bending [N m s], `0..=1e6` (default 0): the moment per width against a change of curvature of 1/m per
    /// second. Acts only with a bending rigidity above 0.
    pub bending_damping: f32,
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
            thickness: 0.0,
            self_collision_distance: None,
            self_collision_stiffness: 1.0,
            self_collision_friction: 0.0,
            limit_velocity: false,
            cloth_collision_distance: None,
            collision_group: 1,
            collision_mask: u32::MAX,
            sleep_threshold: 0.0,
            sleep_test_interval: 50,
            sleep_after_count: 10,
            solver: Solver::Pbd,
            bending_rigidity: 0.0,
            bending_damping: 0.0,
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
        check_range(
            "acceleration_filter_width",
            self.acceleration_filter_width as f32,
            1.0,
            1000.0,
        )?;
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
        check_range("thickness", self.thickness, 0.0, 1000.0)?;
        check_range(
            "self_collision_distance",
            self.self_collision_distance.unwrap_or(0.0),
            0.0,
            1000.0,
        )?;
        check_range("self_collision_stiffness", self.self_collision_stiffness, 0.0, 1.0)?;
        check_range("self_collision_friction", self.self_collision_friction, 0.0, 1.0)?;
        check_range(
            "cloth_collision_distance",
            self.cloth_collision_distance.unwrap_or(0.0),
            0.0,
            1000.0,
        )?;
        check_range("sleep_threshold", self.sleep_threshold, 0.0, 1000.0)?;
        check_range("sleep_test_interval", self.sleep_test_interval as f32, 1.0, 60_000.0)?;
        check_range("sleep_after_count", self.sleep_after_count as f32, 1.0, 10_000.0)?;
        check_range("bending_rigidity", self.bending_rigidity, 0.0, 1e6)?;
        check_range("bending_damping", self.bending_damping, 0.0, 1e6)?;
        let default = Self::default();
        match self.solver {
            Solver::Pbd => {
                check_unused("bending_rigidity", self.bending_rigidity, 0.0, "solver xpbd")?;
                check_unused("bending_damping", self.bending_damping, 0.0, "solver xpbd")
            }
            Solver::Xpbd { substeps } => {
                check_range("solver.xpbd.substeps", substeps as f32, 1.0, MAX_SUBSTEPS as f32)?;
                let (width, usual) = (
                    self.acceleration_filter_width as f32,
                    default.acceleration_filter_width as f32,
                );
                check_unused(
                    "solver_frequency",
                    self.solver_frequency,
                    default.solver_frequency,
                    "solver pbd",
                )?;
                check_unused("acceleration_filter_width", width, usual, "solver pbd")?;
                let needs = "a bending_rigidity above 0";
                if self.bending_rigidity > 0.0 {
                    Ok(())
                } else {
                    check_unused("bending_damping", self.bending_damping, 0.0, needs)
                }
            }
        }
    }
}

/// How the edges of a fiber are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum FiberSolver {
    /// One edge after the other, each at once: an error moves on by one edge in an iteration against the order of the fiber.
    /// The cheapest iteration, and the one to soften edges with.
    GaussSeidel,
    /// All edges of a fiber as one linear system, tridiagonal, by elimination forth and back (LDL^T): the fiber is as long as it
    /// should be after one iteration, however many edges it has. One thread per fiber, up to twice the time of Gauss-Seidel.
    ///
    /// Kim, "Character Clothing in PhysX-3", 2011; with [`Solver::Xpbd`] compliance and damping stand on the diagonal
    /// (Macklin et al., "XPBD", 2016, eq. 26). Deviation: the last edge of a fiber between two pins keeps at most half of its
    /// diagonal from the edges before, as `shaders/stage/semi_implicit.wgsl` says.
    SemiImplicit,
    /// The same system by parallel cyclic reduction, many threads per fiber: `log2(edges) + 3` barriers in place of a walk along
    /// the fiber and back. For few long fibers (ropes, ribbons, hair) on a GPU; on the CPU it costs `log2(edges)` times as much
    /// for the same result up to rounding.
    ///
    /// A phase with a fiber of two or more pins, or a cloth with motion spheres, which can pin any particle, is solved as
    /// [`FiberSolver::SemiImplicit`]. Hockney, Jesshope, "Parallel Computers", 1981; Zhang, Cohen, Owens, "Fast Tridiagonal
    /// Solvers on the GPU", 2010.
    CyclicReduction,
}

/// How one phase of the fabric is solved. A phase may appear several times in the solving order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct PhaseConfig {
    /// Index into [`crate::Fabric::phases`].
    pub phase: u32,
    /// How its fibers are solved (default `None`: [`crate::Cloth::fiber_solver`] says).
    #[cfg_attr(feature = "serde", serde(default))]
    pub fiber_solver: Option<FiberSolver>,
    /// Share of the length error removed per `1/stiffness_frequency` seconds, `0..=1` (default 1; 0 drops the phase). A
    /// semi-implicit fiber loses this share of the errors of all its edges at once.
    pub stiffness: f32,
    /// Softens the edge between the two limits: the share of the error *within* them that is still corrected, `0..=1`
    /// (default 1: no soft range). In a semi-implicit fiber an edge in its soft range is a spring that gives way to its neighbours.
    pub stiffness_multiplier: f32,
    /// Shortest relative length of the soft range, `0.001..=1` (default 1).
    pub compression_limit: f32,
    /// Longest relative length of the soft range, `1..=1000` (default 1).
    pub stretch_limit: f32,
    /// Compliance of each edge [m/N], `0..=1e9` (default 0: does not stretch); with [`Solver::Xpbd`] only, where the four fields
    /// above keep their defaults (but `stiffness` 0 drops the phase). A strip of cloth of membrane stiffness K [N/m] per width
    /// has edges of `length / (K * width)` where each carries `width`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub compliance: f32,
    /// Damping of each edge [N s/m], `0..=1e9` (default 0): the force against a change of its length of 1 m/s. Needs a
    /// compliance above 0: an edge that does not stretch has nothing to damp.
    #[cfg_attr(feature = "serde", serde(default))]
    pub damping: f32,
}

impl PhaseConfig {
    /// Full stiffness, no soft range.
    pub fn stiff(phase: u32) -> Self {
        Self {
            phase,
            fiber_solver: None,
            stiffness: 1.0,
            stiffness_multiplier: 1.0,
            compression_limit: 1.0,
            stretch_limit: 1.0,
            compliance: 0.0,
            damping: 0.0,
        }
    }

    /// The same phase with its fibers solved so.
    pub fn with_fiber_solver(self, fiber_solver: FiberSolver) -> Self {
        Self { fiber_solver: Some(fiber_solver), ..self }
    }

    /// Checks the ranges and that the phase exists.
    ///
    /// # Errors
    /// [`ModelError`] that names the field.
    pub fn validate(&self, phase_count: usize) -> Result<(), ModelError> {
        if self.phase as usize >= phase_count {
            return Err(ModelError::IndexOutOfRange {
                what: "phase config",
                position: 0,
                index: self.phase,
                count: phase_count,
            });
        }
        check_range("phase stiffness", self.stiffness, 0.0, 1.0)?;
        check_range("phase stiffness_multiplier", self.stiffness_multiplier, 0.0, 1.0)?;
        check_range("phase compression_limit", self.compression_limit, 0.001, 1.0)?;
        check_range("phase stretch_limit", self.stretch_limit, 1.0, 1000.0)?;
        check_range("phase compliance", self.compliance, 0.0, 1e9)?;
        check_range("phase damping", self.damping, 0.0, 1e9)?;
        if self.compliance > 0.0 {
            Ok(())
        } else {
            check_unused("phase damping", self.damping, 0.0, "a compliance above 0")
        }
    }

    /// Refuses a field off its default that the solver does not read.
    ///
    /// # Errors
    /// [`ModelError::Unused`] that names the field and what reads it.
    pub fn validate_solver(&self, solver: Solver) -> Result<(), ModelError> {
        if !solver.is_xpbd() {
            return check_unused("phase compliance", self.compliance, 0.0, "solver xpbd");
        }
        if self.stiffness > 0.0 {
            check_unused("phase stiffness", self.stiffness, 1.0, "solver pbd")?;
        }
        check_unused("phase stiffness_multiplier", self.stiffness_multiplier, 1.0, "solver pbd")?;
        check_unused("phase compression_limit", self.compression_limit, 1.0, "solver pbd")?;
        check_unused("phase stretch_limit", self.stretch_limit, 1.0, "solver pbd")
    }
}
