//! Spheres that particles may not leave, and spheres that they may not enter.

use poplin_model::MotionConstraints;

use crate::gpu_struct::gpu_struct;
use crate::{NO_OFFSET, StepScale};

gpu_struct! {
    /// Spheres that particles may not leave.
    pub struct MotionParameters {
        /// Spheres at the frame's start in `input_pool`, or `NO_OFFSET`.
        pub sphere_start: u32,
        /// Spheres at the frame's end.
        pub sphere_target: u32,
        /// Factor on the radii.
        pub scale: f32,
        /// Length added to the scaled radii \[m\].
        pub bias: f32,
        /// Fraction of the distance outside the sphere that one iteration removes.
        pub stiffness: f32,
    }
}

gpu_struct! {
    /// Spheres that particles may not enter.
    pub struct SeparationParameters {
        /// Spheres at the frame's start in `input_pool`, or `NO_OFFSET`.
        pub sphere_start: u32,
        /// Spheres at the frame's end.
        pub sphere_target: u32,
    }
}

/// Computes the parameters of a frame, without the offsets of the spheres.
pub(crate) fn motion_parameters(motion: &MotionConstraints, scale: &StepScale) -> MotionParameters {
    MotionParameters {
        sphere_start: NO_OFFSET,
        sphere_target: NO_OFFSET,
        scale: motion.scale,
        bias: motion.bias,
        stiffness: scale.effective(motion.stiffness),
    }
}
