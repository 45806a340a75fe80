//! Length of a frame.

use crate::error::{ModelError, check_range};

/// Largest frame length \[s\].
pub(crate) const MAX_DT: f32 = 10.0;

/// Checks the length of a frame \[s\], `0..=10`; 0 simulates nothing.
///
/// # Errors
/// [`ModelError::OutOfRange`] if `dt` is NaN, negative or above 10 s.
pub fn check_dt(dt: f32) -> Result<(), ModelError> {
    check_range("frame dt", dt, 0.0, MAX_DT)
}
