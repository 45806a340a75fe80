//! Parts of a frame, for comparison stage by stage.

use std::ops::Range;

use poplin_layout::{ClothParameters, PHASE_ROWS, StageMask};

/// Part of a begun frame: some iterations, some stages, some phases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FramePart {
    /// Iterations to run, capped by the frame's count.
    pub iterations: Range<u32>,
    /// Stages to run.
    pub stages: StageMask,
    /// Phase configs to solve, as entries in the order of solving (those with stiffness above 0),
    /// or all.
    pub phases: Option<Range<u32>>,
}

impl FramePart {
    /// The whole frame.
    pub const WHOLE: Self = Self { iterations: 0..u32::MAX, stages: StageMask::ALL, phases: None };

    /// Index of the first phase, and one past the last.
    pub fn phase_range(&self) -> [u32; 2] {
        self.phases.as_ref().map_or([0, u32::MAX], |phases| [phases.start, phases.end])
    }

    /// Restricts the cloth's frame to this part's phases.
    pub fn restrict(&self, frame: &ClothParameters) -> ClothParameters {
        match &self.phases {
            None => *frame,
            Some(phases) => {
                let begin = phases.start.min(frame.phase_count);
                let end = phases.end.clamp(begin, frame.phase_count);
                ClothParameters {
                    phase_begin: frame.phase_begin + PHASE_ROWS * begin,
                    phase_count: end - begin,
                    ..*frame
                }
            }
        }
    }
}
