//! Tethers: largest distances to anchors.

use poplin_model::Tethers;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// Strength of tethers; their list is in `FabricOffsets`.
    pub struct TetherParameters {
        /// Stiffness of one tether in an iteration of this frame, already divided by the tethers
        /// per particle.
        pub stiffness: f32,
        /// Factor on tether lengths.
        pub scale: f32,
    }
}

/// Computes the parameters of a frame.
pub(crate) fn tether_parameters(
    tethers: &Tethers,
    scale: &StepScale,
    tethers_per_particle: u32,
) -> TetherParameters {
    TetherParameters {
        stiffness: scale.effective(tethers.stiffness) / tethers_per_particle.max(1) as f32,
        scale: tethers.scale,
    }
}
