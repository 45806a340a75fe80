//! Parameters of the test for rest.

use poplin_model::Sleep;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// Parameters of the test for rest.
    pub struct SleepParameters {
        /// Displacement per iteration below which a particle is at rest \[m\].
        pub distance: f32,
        /// Iteration step \[ms\], at least 1.
        pub step: u32,
        /// Time between tests for rest \[ms\].
        pub interval: u32,
        /// Number of passed tests after which the cloth sleeps.
        pub after_count: u32,
        /// Number of input changes so far; a change restarts the sleep counters.
        pub wake_count: u32,
    }
}

/// Computes the parameters of a frame, without the number of input changes.
pub(crate) fn sleep_parameters(sleep: &Sleep, scale: &StepScale) -> SleepParameters {
    SleepParameters {
        distance: sleep.threshold * scale.step,
        step: ((scale.step * 1000.0) as u32).max(1),
        interval: sleep.test_interval,
        after_count: sleep.after_count,
        wake_count: 0,
    }
}
