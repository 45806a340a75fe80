//! Constants of the iterations of a frame.

use glam::DVec3;

use crate::gpu_struct::gpu_struct;
use crate::{FrameSteps, MotionConstants};

gpu_struct! {
    /// Constants of one iteration, rows of `frame_pool`.
    pub struct IterationConstants {
        /// Fraction of the last displacement that is kept, per axis; w: elapsed fraction of the
        /// frame, 1 in the last iteration.
        pub velocity_scale: [f32; 4],
        /// Offset added to the current position \[m\]; w: elapsed fraction of the frame in the last
        /// iteration, 0 in the first.
        pub bias: [f32; 4],
        /// Offset added to the position that becomes previous \[m\]; w: 1 if remainders of the
        /// iteration before are known, else 0.
        pub previous_bias: [f32; 4],
        /// Displacement of the local space relative to the wind \[m\]; w: 3, the corner count of a
        /// triangle, a divisor hidden from compilers.
        pub wind: [f32; 4],
    }
}

/// Converts to a row of `frame_pool`.
pub(crate) fn row(v: DVec3, w: f32) -> [f32; 4] {
    [v.x as f32, v.y as f32, v.z as f32, w]
}

/// Computes the constants of every iteration; in a rotating local space biases and wind rotate with
/// it.
pub(crate) fn iteration_constants(
    steps: &FrameSteps,
    motion: &MotionConstants,
) -> impl Iterator<Item = IterationConstants> {
    let count = steps.iteration_count;
    let (step_ratio, kept) = (steps.step_ratio, motion.kept);
    let (mut bias, mut previous_bias, mut wind) = (motion.bias, motion.previous_bias, motion.wind);
    let has_remainders = motion.has_remainders;
    let rotation = motion.rotation.map(|constants| constants.rotation);
    (0..count).map(move |iteration| {
        // The velocity is a displacement over the last step; a changed step scales it once.
        let ratio = if iteration == 0 { step_ratio } else { 1.0 };
        let fraction =
            // Exactly 1 at the end, so that moving inputs reach their targets.
            if iteration + 1 == count { 1.0 } else { (iteration + 1) as f32 / count as f32 };
        let constants = IterationConstants {
            velocity_scale: [kept[0] * ratio, kept[1] * ratio, kept[2] * ratio, fraction],
            bias: row(bias, iteration as f32 / count as f32),
            previous_bias: row(
                previous_bias,
                if iteration == 0 && !has_remainders { 0.0 } else { 1.0 },
            ),
            wind: row(wind, 3.0),
        };
        if let Some(rotation) = rotation {
            (bias, previous_bias, wind) =
                (rotation * bias, rotation * previous_bias, rotation * wind);
        }
        constants
    })
}
