//! Largest distances to anchors.

use poplin_model::ClothConfig;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// How tethers hold; which there are is in `FabricOffsets`.
    pub struct TetherParameters {
        /// Stiffness of one tether in this frame's iterations, already divided by the tethers per particle.
        pub stiffness: f32,
        /// Factor on tether lengths.
        pub scale: f32,
    }
}

/// The parameters of a frame.
pub(crate) fn tether_parameters(
    config: &ClothConfig,
    scale: &StepScale,
    tethers_per_particle: u32,
) -> TetherParameters {
    TetherParameters {
        stiffness: scale.effective(config.tether_stiffness) / tethers_per_particle.max(1) as f32,
        scale: config.tether_scale,
    }
}
