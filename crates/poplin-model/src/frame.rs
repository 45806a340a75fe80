//! Inputs of one frame.

use crate::error::{ModelError, check_range};

/// Largest frame length \[s\].
pub(crate) const MAX_DT: f32 = 10.0;

/// One simulated frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// Length of the frame \[s\], `0..=10` (default 1/60). 0 simulates nothing.
    pub dt: f32,
}

impl Default for Frame {
    fn default() -> Self {
        Self { dt: 1.0 / 60.0 }
    }
}

impl Frame {
    /// Checks the range of `dt`.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] if `dt` is NaN, negative or above 10 s.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("frame dt", self.dt, 0.0, MAX_DT)
    }
}
