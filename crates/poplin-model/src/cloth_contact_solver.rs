//! How contacts between cloths are solved.

use crate::error::{ModelError, check_range};

/// What of a cloth collides with itself and with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum ContactMode {
    /// Particles keep a distance from particles: cheap, on every backend. Triangles may pass between them.
    #[default]
    Particles,
    /// Vertices and faces, edges and edges keep the thickness of the cloth, of one cloth, of several and of colliders; what did not
    /// cross at the start never does. Colliders of rigid bodies meet particles all the same, at half the thickness.
    Triangles,
}

/// How the contacts between the cloths of a simulation are solved, particle against particle. Which cloths take part, and at
/// what distance, is a setting of each cloth: [`crate::ClothCollision`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct ClothContactSolver {
    /// What meets what (default particles).
    pub contact: ContactMode,
    /// Fraction of an overlap removed per pass, `0..=1` (default 1). With 0 and no friction nothing collides.
    pub stiffness: f32,
    /// Fraction of the tangential motion since the last iteration that a pass removes where particles touch, `0..=1`
    /// (default 0 = off).
    pub friction: f32,
    /// Consecutive passes each time that cloths collide, `1..=64` (default 2); of triangles each is four iterations of the multipliers.
    pub iterations: u32,
    /// Solver iterations from one collision of cloths to the next, `0..=20_000` (default 1: after each); 0 = once, at the end
    /// of the frame. Pushes become velocity within one iteration, so the rarer, the cheaper and the bouncier.
    pub every: u32,
    /// Most rounds that contact of triangles cuts a solver iteration into, `0..=136` (default 0: on the CPU as many as it takes, up to
    /// 136; 8 on a GPU, where each has to be recorded whether it is needed or not). One that begins again or looks again at what
    /// is in reach counts. What moves so fast that it takes more is held back; a pin or collider that nothing holds back is reported.
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
    fn ranges_are_checked() {
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
