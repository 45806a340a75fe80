//! Drag, lift and pressure of the air.

use poplin_model::Air;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// Air forces on the triangles of a cloth.
    pub struct AirParameters {
        /// Drag coefficient of this step.
        pub drag: f32,
        /// Lift coefficient of this step.
        pub lift: f32,
        /// Half the fluid density over the step [kg/m^3/s].
        pub impulse_scale: f32,
        /// Impulse of the pressure per unnormalised normal of a triangle, for each corner [kg/m].
        pub pressure_scale: f32,
    }
}

/// Computes the parameters of a frame.
pub(crate) fn air_parameters(air: &Air, scale: &StepScale) -> AirParameters {
    // Each corner gets the impulse of the whole double area, six times that of its share, per step.
    let per_step = scale.step / 6.0;
    AirParameters {
        drag: scale.effective(air.drag) + air.drag_coefficient * per_step,
        lift: scale.effective(air.lift) + air.lift_coefficient * per_step,
        // One impulse serves a triangle whose |normal| is twice its area, over one step.
        // A third of the force `pressure * |normal| / 2` over one step, as mass times displacement.
        pressure_scale: air.pressure * scale.step * scale.step / 6.0,
        impulse_scale: if scale.step > 0.0 { 0.5 * air.density / scale.step } else { 0.0 },
    }
}
