//! Settings of collision between one cloth and others.

use crate::error::{ModelError, check_range};

/// Collision of a cloth with other cloths: distance and groups. The contact solver is set once for
/// all cloths of a simulation: [`crate::ClothContactSolver`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ClothCollision {
    /// Distance at which the cloth's particles are kept from those of other cloths \[m\],
    /// `0..=1000` (0 = off; default: derived from the thickness, see
    /// [`crate::SelfCollision::distance`]). Two cloths keep the mean of their distances.
    pub distance: Option<f32>,
    /// Groups that the cloth belongs to, one per bit (default 1).
    pub group: u32,
    /// Groups that the cloth collides with, one per bit (default all). Two cloths collide if the
    /// mask of each contains a group of the other.
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
