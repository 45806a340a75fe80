//! Stiffness and damping of the angles between triangles.

use poplin_model::ClothConfig;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// Stiffness and damping of bends; which there are is in `FabricOffsets`.
    pub struct BendingParameters {
        /// Bending rigidity times the squared iteration step [N m s^2].
        pub rigidity: f32,
        /// Damping of bending over its rigidity and the iteration step.
        pub damping: f32,
    }
}

/// The parameters of a frame.
pub(crate) fn bending_parameters(config: &ClothConfig, scale: &StepScale) -> BendingParameters {
    let rigidity = f64::from(config.bending_rigidity);
    BendingParameters {
        rigidity: config.bending_rigidity * (scale.step * scale.step),
        // As of an edge: alpha beta / h with the compliance 1 / (B weight) of a bend and its damping D weight.
        damping: if rigidity > 0.0 {
            scale.per_step(f64::from(config.bending_damping) / rigidity, 1)
        } else {
            0.0
        },
    }
}
