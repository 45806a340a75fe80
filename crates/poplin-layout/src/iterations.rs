//! Constants of the iterations of a frame.

use glam::DVec3;

use crate::gpu_struct::gpu_struct;
use crate::{FrameSteps, MotionConstants};

gpu_struct! {
    /// Constants of one iteration, rows of `frame_pool`.
    pub struct IterationConstants {
        /// Fraction of the last displacement that is kept, per axis; w: fraction of the frame that is over, 1 in the last iteration.
        pub velocity_scale: [f32; 4],
        /// Added to the current position \[m\]; w: fraction of the frame that was over in the last iteration, 0 in the first.
        pub bias: [f32; 4],
        /// Added to the position that becomes previous \[m\]; w unused.
        pub previous_bias: [f32; 4],
        /// Displacement of the local space against the wind \[m\]; w: corners of a triangle, 3, a divisor that no compiler may see.
        pub wind: [f32; 4],
    }
}

/// A row of `frame_pool`.
pub(crate) fn row(v: DVec3, w: f32) -> [f32; 4] {
    [v.x as f32, v.y as f32, v.z as f32, w]
}

/// The constants of every iteration; in a rotating local space biases and wind rotate with it.
pub(crate) fn iteration_constants(
    steps: &FrameSteps,
    motion: &MotionConstants,
) -> impl Iterator<Item = IterationConstants> {
    let count = steps.iteration_count;
    let (step_ratio, kept) = (steps.step_ratio, motion.kept);
    let (mut bias, mut previous_bias, mut wind) = (motion.bias, motion.previous_bias, motion.wind);
    let rotation = motion.rotation.map(|constants| constants.rotation);
    (0..count).map(move |iteration| {
        let ratio = if iteration == 0 { step_ratio } else { 1.0 };
        let fraction =
            if iteration + 1 == count { 1.0 } else { (iteration + 1) as f32 / count as f32 };
        let constants = IterationConstants {
            velocity_scale: [kept[0] * ratio, kept[1] * ratio, kept[2] * ratio, fraction],
            bias: row(bias, iteration as f32 / count as f32),
            previous_bias: row(previous_bias, 0.0),
            wind: row(wind, 3.0),
        };
        if let Some(rotation) = rotation {
            (bias, previous_bias, wind) =
                (rotation * bias, rotation * previous_bias, rotation * wind);
        }
        constants
    })
}
