//! How settings in seconds become constants of one iteration.

use poplin_model::ClothConfig;

use crate::{effective_stiffness, stiffness_to_log2};

/// The iteration step of a frame and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepScale {
    /// Iteration step \[s\]; 0 in a frame that simulates nothing.
    pub step: f32,
    /// `stiffness_frequency * step`, the exponent of every stiffness.
    pub exponent: f32,
}

impl StepScale {
    /// The scale of a frame whose iterations take `step` \[s\].
    pub fn new(config: &ClothConfig, step: f32) -> Self {
        Self { step, exponent: config.stiffness_frequency * step }
    }

    /// What a stiffness, damping or drag in `0..=1` is in one iteration.
    pub fn effective(&self, stiffness: f32) -> f32 {
        effective_stiffness(stiffness_to_log2(stiffness), self.exponent)
    }

    /// `value / step^power`, 0 without a step, kept so small that products with masses stay finite.
    pub fn per_step(&self, value: f64, power: i32) -> f32 {
        if self.step > 0.0 {
            (value / f64::from(self.step).powi(power)).min(1e20) as f32
        } else {
            0.0
        }
    }
}
