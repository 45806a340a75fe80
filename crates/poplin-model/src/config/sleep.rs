//! Settings of sleep.

use crate::error::{ModelError, check_range};

/// Conditions under which a cloth at rest is no longer simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Sleep {
    /// Speed below which a particle is at rest, per axis [m/s], `0..=1000` (default 0 = never
    /// sleeps).
    pub threshold: f32,
    /// Simulated time between two tests for rest \[ms\], `1..=60_000` (default 50).
    pub test_interval: u32,
    /// Consecutive passed tests after which the cloth sleeps, `1..=10_000` (default 10).
    pub after_count: u32,
}

impl Default for Sleep {
    fn default() -> Self {
        Self { threshold: 0.0, test_interval: 50, after_count: 10 }
    }
}

impl Sleep {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("threshold", self.threshold, 0.0, 1000.0)?;
        check_range("test_interval", self.test_interval as f32, 1.0, 60_000.0)?;
        check_range("after_count", self.after_count as f32, 1.0, 10_000.0)
    }
}
