//! Settings of tethers.

use crate::error::{ModelError, check_range};

/// Tethers (long-range attachments), which limit the distance of particles from pinned ones.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Tethers {
    /// Fraction of the excess length removed, stiffness-like, `0..=1` (default 1; 0 = off).
    pub stiffness: f32,
    /// Factor on all tether lengths, `0..=1000` (default 1; in scenes of cloth with a stretch
    /// stiffness 1 and four times the strain that its weight causes at its top, since tethers do
    /// not stretch).
    pub scale: f32,
}

impl Default for Tethers {
    fn default() -> Self {
        Self { stiffness: 1.0, scale: 1.0 }
    }
}

impl Tethers {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("stiffness", self.stiffness, 0.0, 1.0)?;
        check_range("scale", self.scale, 0.0, 1000.0)
    }
}
