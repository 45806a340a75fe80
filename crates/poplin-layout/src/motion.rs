//! Spheres that particles may not leave, and spheres that they may not enter.

use poplin_model::MotionConstraints;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// Spheres that particles may not leave.
    pub struct MotionParameters {
        /// Spheres at the frame's start in `input_pool`, or `NO_OFFSET`.
        pub sphere_start: u32,
        /// Spheres at the frame's end.
        pub sphere_target: u32,
        /// Factor on the radii.
        pub scale: f32,
        /// Added to the scaled radii \[m\].
        pub bias: f32,
        /// Fraction of the distance to the sphere that one iteration takes back.
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

/// The parameters of a frame; `spheres` locates the motion spheres at its start and at its end.
pub(crate) fn motion_parameters(
    motion: &MotionConstraints,
    scale: &StepScale,
    spheres: [u32; 2],
) -> MotionParameters {
    MotionParameters {
        sphere_start: spheres[0],
        sphere_target: spheres[1],
        scale: motion.scale,
        bias: motion.bias,
        stiffness: scale.effective(motion.stiffness),
    }
}
