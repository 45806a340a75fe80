//! Settings of position-based dynamics.

use super::{FiberSolver, Phases};
use crate::error::{Context, ModelError, check_range};

/// Position-based dynamics: the stiffness of edges is a fraction per time, so that the stretch of a
/// cloth depends on the frequency.
///
/// Müller, Heidelberger, Hennix, Ratcliff, "Position Based Dynamics", 2007.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Pbd {
    /// Solver iterations per second [1/s], `1..=10_000` (default 300). Higher is stiffer and costs
    /// more.
    pub frequency: f32,
    /// Number of iterations over which the squared gravity step is averaged, `1..=1000` (default
    /// 30).
    pub acceleration_filter_width: u32,
    /// Response of the edges of each phase (default: fully stiff).
    pub phases: Phases<PbdPhase>,
}

impl Default for Pbd {
    fn default() -> Self {
        Self { frequency: 300.0, acceleration_filter_width: 30, phases: Phases::default() }
    }
}

impl Pbd {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        let width = self.acceleration_filter_width as f32;
        check_range("frequency", self.frequency, 1.0, 10_000.0)?;
        check_range("acceleration_filter_width", width, 1.0, 1000.0)?;
        self.phases.validate_each(PbdPhase::validate).within("phases")
    }
}

/// Response of the edges of a phase in [`Pbd`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct PbdPhase {
    /// Fiber solver of the phase (default: semi-implicit for stretch, otherwise Gauss-Seidel; see
    /// [`crate::ClothDesc::fiber_solver`]).
    pub fiber_solver: Option<FiberSolver>,
    /// Fraction of the length error removed, stiffness-like, `0..=1` (default 1; 0 skips the
    /// phase). A semi-implicit fiber loses this fraction of the errors of all its edges at once.
    pub stiffness: f32,
    /// Fraction of the length error that is still corrected in the soft range between the two
    /// limits, `0..=1` (default 1: no soft range). In a semi-implicit fiber an edge in its soft
    /// range is a spring that yields to its neighbours.
    pub stiffness_multiplier: f32,
    /// Lower limit of the soft range, relative to the rest length, `0.001..=1` (default 1).
    pub compression_limit: f32,
    /// Upper limit of the soft range, relative to the rest length, `1..=1000` (default 1).
    pub stretch_limit: f32,
}

impl Default for PbdPhase {
    fn default() -> Self {
        Self {
            fiber_solver: None,
            stiffness: 1.0,
            stiffness_multiplier: 1.0,
            compression_limit: 1.0,
            stretch_limit: 1.0,
        }
    }
}

impl PbdPhase {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("stiffness", self.stiffness, 0.0, 1.0)?;
        check_range("stiffness_multiplier", self.stiffness_multiplier, 0.0, 1.0)?;
        check_range("compression_limit", self.compression_limit, 0.001, 1.0)?;
        check_range("stretch_limit", self.stretch_limit, 1.0, 1000.0)
    }
}
