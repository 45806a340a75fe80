//! Output of each job of a sweep.

use schemars::JsonSchema;
use serde::Deserialize;

use poplin_io::{FrameFormat, Precision};

/// Output of each job.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SweepOutput {
    /// Arrays of each cloth (default positions).
    pub arrays: Vec<ArrayKind>,
    /// Formats in which the frames are written in addition (default none).
    pub formats: Vec<FrameFormat>,
    /// Frame interval of the output: frames 0, `every`, 2 `every`, ... (default: only the last
    /// frame for arrays, all frames for formats).
    pub every: Option<std::num::NonZero<u32>>,
    /// Number format of the arrays (default `f32`).
    pub precision: Precision,
    /// Writes the last frame as OBJ, too (default false).
    pub final_obj: bool,
    /// Draws a contact sheet (default false).
    pub picture: bool,
    /// Draws the last frame and, when all jobs are done, all of them side by side (default false).
    pub overview: bool,
}

impl SweepOutput {
    /// Tests whether jobs write any files.
    pub fn is_any(&self) -> bool {
        let Self { arrays, formats, final_obj, picture, overview, .. } = self;
        !arrays.is_empty() || !formats.is_empty() || *final_obj || *picture || *overview
    }
}

impl Default for SweepOutput {
    fn default() -> Self {
        Self {
            arrays: vec![ArrayKind::Positions],
            formats: Vec::new(),
            every: None,
            precision: Precision::default(),
            final_obj: false,
            picture: false,
            overview: false,
        }
    }
}

/// Content of an array, three numbers per vertex of the mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrayKind {
    /// Positions in the world \[m\].
    Positions,
    /// Unit normals, area-weighted; 0 for a vertex without triangles.
    Normals,
    /// Velocities relative to the local space in the last iteration of a frame, world axes [m/s].
    Velocities,
}

impl ArrayKind {
    /// Name in sweeps and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Positions => "positions",
            Self::Normals => "normals",
            Self::Velocities => "velocities",
        }
    }
}
