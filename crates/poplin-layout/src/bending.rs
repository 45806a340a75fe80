//! Stiffness and damping of dihedral angles.

use poplin_model::Solver;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// Stiffness and damping of bends; their list is in `FabricOffsets`.
    pub struct BendingParameters {
        /// Bending rigidity times the squared iteration step [N m s^2].
        pub rigidity: f32,
        /// Damping of bending over its rigidity and the iteration step.
        pub damping: f32,
    }
}

/// Computes the parameters of a frame; the rigidity is 0 for a solver without this stage.
pub(crate) fn bending_parameters(solver: &Solver, scale: &StepScale) -> BendingParameters {
    let (rigidity, damping) = match solver {
        Solver::Pbd(_) | Solver::Implicit(_) | Solver::Multilevel(_) => (0.0, 0.0),
        Solver::Xpbd(xpbd) => (xpbd.bending_rigidity, xpbd.bending_damping),
    };
    BendingParameters {
        rigidity: rigidity * (scale.step * scale.step),
        // Same as for an edge: alpha beta / h with the compliance 1 / (B weight) of a bend and its
        // damping D weight.
        damping: if rigidity > 0.0 {
            scale.per_step(f64::from(damping) / f64::from(rigidity), 1)
        } else {
            0.0
        },
    }
}
