//! Settings of the multilevel solver.

use super::implicit::{StretchModel, check_membrane};
use super::xpbd::check_steps;
use crate::error::{ModelError, check_range};

/// Largest value of [`Multilevel::iterations`].
pub const MAX_LEVEL_ITERATIONS: u32 = 100;

/// Largest value of [`Multilevel::max_newton_steps`].
pub const MAX_NEWTON_STEPS: u32 = 20;

/// Backward Euler for fine cloth, on coarser and coarser levels of it: a step is solved by one to a
/// few Newton steps, and each of these by conjugate gradients with an additive multilevel
/// preconditioner (Baraff, Witkin, "Large Steps in Cloth Simulation", 1998; Bramble, Pasciak, Xu,
/// "Parallel multilevel preconditioners", 1990).
///
/// The iterations of a step depend neither on the stiffness nor, to a few, on the number of
/// particles: a sheet of 65,536 holds its length within half a percent without tethers. Models of
/// stretch and shear are those of [`crate::Implicit`]; bending is the angle between triangles. Long
/// steps damp fast motion, as backward Euler does.
///
/// The CPU backend alone has it. Requires a fabric with [`crate::Fabric::hierarchy`],
/// [`crate::Fabric::edge_breadths`] and, but for springs, [`crate::Fabric::triangle_shapes`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Multilevel {
    /// Steps per frame, whatever the length of the frame, `1..=20_000` (default 4; 2 are enough for
    /// cloth that touches nothing). No effect with a [`Self::frequency`].
    pub substeps: u32,
    /// Steps per second [1/s], `1..=100_000` (default: none, [`Self::substeps`] per frame): a frame
    /// of `dt` seconds has `max(1, floor(dt * frequency + 0.5))`. Cloth then moves alike at all
    /// frame rates of which the frequency is a multiple.
    pub frequency: Option<f32>,
    /// Most Newton steps of each step, `1..=20` (default 4): a step begins with one, linearised at
    /// the motion without internal forces, and takes another while more than one edge in 100 is off
    /// its linearised length by more than 0.3 % of its rest length, as where cloth turns fast.
    pub max_newton_steps: u32,
    /// Iterations of each Newton step, `1..=100` (default: none, 4 for up to 10,000 particles, 5
    /// for up to 100,000, 6 for up to 300,000, and 8 beyond, and up to 4 more for stiff bending):
    /// up to four times as many where residuals remain.
    pub iterations: Option<u32>,
    /// Model of the resistance to stretch and shear (default: threads). Springs take a third less
    /// time.
    pub stretch: StretchModel,
    /// Membrane stiffness along warp (vertical) and weft (horizontal), force per width over strain
    /// [N/m], `0..=1e9` (default 5000 each). More takes no longer: 100,000 is practically
    /// inextensible. [`StretchModel::Trispring`] uses the first value in all directions.
    pub stretch_stiffness: [f32; 2],
    /// Shear stiffness, force per width over shear angle [N/m], `0..=1e9` (default 500).
    /// [`StretchModel::Trispring`] derives it from its Poisson ratio instead.
    pub shear_stiffness: f32,
    /// Poisson ratio: transverse contraction as a fraction of the strain, `-0.9..=0.49` (default
    /// 0.3); only for [`StretchModel::Trispring`].
    pub poisson_ratio: f32,
    /// Bending rigidity B of the cloth [N m], `0..=1e6` (default 0 = off): the moment per width
    /// that bends it to a curvature of 1/m. Cotton has about 1e-5. Requires a fabric with
    /// [`crate::Fabric::bends`].
    pub bending_rigidity: f32,
    /// Factor on the force of springs shorter than at rest, `0..=1` (default 1); only for
    /// [`StretchModel::Springs`]. Use less than 1 for cloth that buckles between particles and so
    /// resists compression less.
    pub compression: f32,
}

impl Default for Multilevel {
    fn default() -> Self {
        Self {
            substeps: 4,
            frequency: None,
            max_newton_steps: 4,
            iterations: None,
            stretch: StretchModel::default(),
            stretch_stiffness: [5000.0; 2],
            shear_stiffness: 500.0,
            poisson_ratio: 0.3,
            bending_rigidity: 0.0,
            compression: 1.0,
        }
    }
}

impl Multilevel {
    /// Iterations of each step of a cloth of `particle_count` particles.
    pub fn iterations_for(&self, particle_count: usize) -> u32 {
        self.iterations.unwrap_or(match particle_count {
            0..=10_000 => 4,
            10_001..=100_000 => 5,
            100_001..=300_000 => 6,
            _ => 8,
        })
    }

    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_steps(self.substeps, self.frequency)?;
        let most = MAX_NEWTON_STEPS as f32;
        check_range("max_newton_steps", self.max_newton_steps as f32, 1.0, most)?;
        if let Some(iterations) = self.iterations {
            check_range("iterations", iterations as f32, 1.0, MAX_LEVEL_ITERATIONS as f32)?;
        }
        check_membrane(self.stretch_stiffness, self.shear_stiffness, self.poisson_ratio)?;
        check_range("bending_rigidity", self.bending_rigidity, 0.0, 1e6)?;
        check_range("compression", self.compression, 0.0, 1.0)
    }
}
