//! Measured states after every stage of one frame, format `poplin-stages/1`.

use std::path::Path;

use serde::Deserialize;

use crate::case::{CaseError, read_json};

/// The stages of one frame of a case.
#[derive(Debug, Clone, Deserialize)]
pub struct StageCase {
    /// `poplin-stages/1`.
    pub format: String,
    /// Name of the case.
    pub case: String,
    /// The frame, from 0.
    pub frame_index: usize,
    /// States after each stage, in time.
    pub stages: Vec<StageState>,
}

/// The state after one stage.
#[derive(Debug, Clone, Deserialize)]
pub struct StageState {
    /// Which stage.
    pub stage: String,
    /// Iterations left in the frame, this one included.
    pub iterations_left: u32,
    /// x y z w of each particle.
    pub particles: Vec<f32>,
    /// x y z w of each previous particle, where the stage changed them.
    #[serde(default)]
    pub previous: Option<Vec<f32>>,
}

impl StageCase {
    /// Reads a stage file.
    ///
    /// # Errors
    /// [`CaseError`] if the file cannot be read or is not a `poplin-stages/1`.
    pub fn load(path: &Path) -> Result<Self, CaseError> {
        read_json(path, "poplin-stages/1")
    }
}
