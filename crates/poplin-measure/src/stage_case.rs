//! Measured states after every stage of one frame, file format `poplin-stages/1`.

use std::path::Path;

use serde::Deserialize;

use crate::case::{CaseError, parse_json, read_json};

/// Format tag of a stage file.
const FORMAT: &str = "poplin-stages/1";

/// Measured stages of one frame of a case.
#[derive(Debug, Clone, Deserialize)]
pub struct StageCase {
    /// Format tag: `poplin-stages/1`.
    pub format: String,
    /// Name of the case.
    pub case: String,
    /// Index of the frame, from 0.
    pub frame_index: usize,
    /// State after each stage, in order of execution.
    pub stages: Vec<StageState>,
}

/// State after one stage.
#[derive(Debug, Clone, Deserialize)]
pub struct StageState {
    /// Name of the stage.
    pub stage: String,
    /// Number of iterations left in the frame, including this one.
    pub iterations_left: u32,
    /// Position \[m\] and inverse mass [1/kg] of each particle, shape `[particle_count * 4]`.
    pub particles: Vec<f32>,
    /// Previous positions and inverse masses in the same layout, if the stage changed them.
    #[serde(default)]
    pub previous: Option<Vec<f32>>,
}

impl StageCase {
    /// Reads a stage file.
    ///
    /// # Errors
    /// [`CaseError`] if the file cannot be read or is not a `poplin-stages/1`.
    pub fn load(path: &Path) -> Result<Self, CaseError> {
        read_json(path, FORMAT)
    }

    /// Parses the text of a stage file of this name.
    ///
    /// # Errors
    /// [`CaseError::Format`] if it is not a `poplin-stages/1`.
    pub fn parse(name: &str, text: &str) -> Result<Self, CaseError> {
        parse_json(name, text, FORMAT)
    }
}
