//! When a cloth rests.

use poplin_model::ClothConfig;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// When a cloth rests.
    pub struct SleepParameters {
        /// Displacement per iteration below which a particle rests \[m\].
        pub distance: f32,
        /// Iteration step \[ms\], at least 1.
        pub step: u32,
        /// Time between tests for rest \[ms\].
        pub interval: u32,
        /// Passed tests after which the cloth sleeps.
        pub after_count: u32,
        /// How often an input has changed; a new count restarts the sleep counters.
        pub wake_count: u32,
    }
}

/// The parameters of a frame.
pub(crate) fn sleep_parameters(
    config: &ClothConfig,
    scale: &StepScale,
    wake_count: u32,
) -> SleepParameters {
    SleepParameters {
        distance: config.sleep_threshold * scale.step,
        step: ((scale.step * 1000.0) as u32).max(1),
        interval: config.sleep_test_interval,
        after_count: config.sleep_after_count,
        wake_count,
    }
}
