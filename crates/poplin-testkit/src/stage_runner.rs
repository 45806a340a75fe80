//! Runs one frame stage by stage from measured states, to find the stage that is wrong.

use poplin::SimulationOptions;

use crate::case::{Case, CaseError};
use crate::stage_case::StageCase;

/// How one stage came out.
#[derive(Debug, Clone, PartialEq)]
pub struct StageVerdict {
    /// Iteration of the frame, from 0.
    pub iteration: u32,
    /// Name of the stage as in the file; phases of the fabric are numbered: `fabric_phase 3`.
    pub stage: String,
    /// Largest distance of a particle to the measured one \[m\]; `None` if this build has no such stage (it is skipped).
    pub error: Option<f32>,
    /// What is allowed \[m\].
    pub tolerance: f32,
}

impl StageVerdict {
    /// Within the tolerance, or skipped; NaN never passes.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.error.is_none_or(|error| error <= self.tolerance)
    }
}

/// Runs every stage from the measured state before it and compares the state after it.
///
/// # Errors
/// [`CaseError`] if the files do not fit together or cannot be run.
pub fn run_stages(case: &Case, stages: &StageCase, _options: &SimulationOptions) -> Result<Vec<StageVerdict>, CaseError> {
    Err(CaseError::Unsupported(format!("stages of {} for {}", stages.case, case.name)))
}
