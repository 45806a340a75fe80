//! Drag and lift of the air.

use poplin_model::ClothConfig;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// Drag and lift of the air on a cloth's triangles.
    pub struct AirParameters {
        /// Drag coefficient of this step.
        pub drag: f32,
        /// Lift coefficient of this step.
        pub lift: f32,
        /// Half the fluid density over the step [kg/m^3/s].
        pub impulse_scale: f32,
    }
}

/// The parameters of a frame.
pub(crate) fn air_parameters(config: &ClothConfig, scale: &StepScale) -> AirParameters {
    AirParameters {
        drag: scale.effective(config.drag_coefficient),
        lift: scale.effective(config.lift_coefficient),
        // One impulse serves a triangle whose |normal| is twice its area, over one step.
        impulse_scale: if scale.step > 0.0 { 0.5 * config.fluid_density / scale.step } else { 0.0 },
    }
}
