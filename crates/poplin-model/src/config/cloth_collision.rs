//! Settings of a cloth in collision with other cloths.

use crate::error::{ModelError, check_range};

/// Whether and at what distance a cloth collides with other cloths. How the contacts are solved is set once for all cloths
/// of a simulation: [`crate::ClothContactSolver`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ClothCollision {
    /// Distance to which the cloth's particles are kept from those of another cloth that collides \[m\], `0..=1000` (0 = the
    /// cloth takes no part; default: from the thickness, as [`crate::SelfCollision::distance`]); two cloths keep the
    /// mean of theirs.
    pub distance: Option<f32>,
    /// Groups that the cloth belongs to, one per bit (default 1).
    pub group: u32,
    /// Groups that the cloth collides with, one per bit (default all). Two cloths collide if each wants the other.
    pub mask: u32,
}

impl Default for ClothCollision {
    fn default() -> Self {
        Self { distance: None, group: 1, mask: u32::MAX }
    }
}

impl ClothCollision {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("distance", self.distance.unwrap_or(0.0), 0.0, 1000.0)
    }
}
