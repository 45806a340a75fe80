//! Settings of contact between cloths.

use crate::error::{ModelError, check_range};

/// Primitives of a cloth that collide with itself and with other cloths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum ContactMode {
    /// Particles keep a distance from other particles: cheap, on every backend. Triangles may pass
    /// between them.
    #[default]
    Particles,
    /// Vertices keep the thickness of the cloth from faces, and edges from edges: within a cloth,
    /// between cloths and with colliders. Pairs that do not cross at the start never cross.
    /// Colliders of rigid bodies still collide with particles, at half the thickness.
    Triangles,
}

/// Solver of the contacts between the cloths of a simulation. Participation and distance are
/// settings of each cloth: [`crate::ClothCollision`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ClothContactSolver {
    /// Colliding primitives (default particles).
    pub contact: ContactMode,
    /// Fraction of an overlap removed per pass, `0..=1` (default 1). With 0 and no friction there
    /// is no contact.
    pub stiffness: f32,
    /// Fraction of the tangential motion since the last iteration that a pass removes between
    /// particles in contact, `0..=1` (default 0 = off).
    pub friction: f32,
    /// Consecutive passes per collision of cloths, `1..=64` (default 2); with triangle contact each
    /// pass is four iterations of the Lagrange multipliers.
    pub iterations: u32,
    /// Solver iterations from one collision of cloths to the next, `0..=20_000` (default 1: after
    /// each); 0 = once, at the end of the frame. Pushes become velocity within one iteration, so
    /// larger values are cheaper and bouncier.
    pub every: u32,
    /// Largest number of rounds into which triangle contact divides a solver iteration, `0..=136`
    /// (default 0: on the CPU as many as needed, up to 136; 8 on a GPU, which records every round
    /// whether needed or not). Restarts and repeated broad phases count as rounds. Cloth that moves
    /// so fast that it needs more is held back; pins and colliders, which cannot be held back, are
    /// reported.
    pub max_rounds: u32,
}

impl Default for ClothContactSolver {
    fn default() -> Self {
        Self {
            contact: ContactMode::Particles,
            stiffness: 1.0,
            friction: 0.0,
            iterations: 2,
            every: 1,
            max_rounds: 0,
        }
    }
}

impl ClothContactSolver {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("stiffness", self.stiffness, 0.0, 1.0)?;
        check_range("friction", self.friction, 0.0, 1.0)?;
        check_range("iterations", self.iterations as f32, 1.0, 64.0)?;
        check_range("every", self.every as f32, 0.0, 20_000.0)?;
        check_range("max_rounds", self.max_rounds as f32, 0.0, 136.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validate_checks_every_range() {
        ClothContactSolver::default().validate().unwrap();
        let broken: [fn(&mut ClothContactSolver); 6] = [
            |c| c.stiffness = 1.5,
            |c| c.friction = f32::NAN,
            |c| c.iterations = 0,
            |c| c.iterations = 65,
            |c| c.every = 20_001,
            |c| c.max_rounds = 137,
        ];
        for damage in broken {
            let mut config = ClothContactSolver::default();
            damage(&mut config);
            assert!(config.validate().is_err(), "{config:?}");
        }
    }
}
