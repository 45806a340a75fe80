//! Conversion of settings per second to constants per iteration.

use poplin_model::ClothConfig;

use crate::{effective_stiffness, stiffness_to_log2};

/// Iteration step of a frame and derived factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepScale {
    /// Iteration step \[s\]; 0 in a frame that simulates nothing.
    pub step: f32,
    /// Exponent of every stiffness, `stiffness_frequency * step`.
    pub exponent: f32,
}

impl StepScale {
    /// Creates the scale of a frame with iterations of `step` \[s\].
    pub fn new(config: &ClothConfig, step: f32) -> Self {
        Self { step, exponent: config.stiffness_frequency * step }
    }

    /// Converts a stiffness, damping or drag in `0..=1` to its effect in one iteration.
    pub fn effective(&self, stiffness: f32) -> f32 {
        effective_stiffness(stiffness_to_log2(stiffness), self.exponent)
    }

    /// Returns `value / step^power`, 0 without a step, limited so that products with masses stay
    /// finite.
    pub fn per_step(&self, value: f64, power: i32) -> f32 {
        if self.step > 0.0 {
            (value / f64::from(self.step).powi(power)).min(1e20) as f32
        } else {
            0.0
        }
    }
}
