//! Stiffness and damping of the angles between triangles.

use poplin_model::Solver;

use crate::StepScale;
use crate::gpu_struct::gpu_struct;

gpu_struct! {
    /// Stiffness and damping of bends; which there are is in `FabricOffsets`.
    pub struct BendingParameters {
        /// Bending rigidity times the squared iteration step [N m s^2].
        pub rigidity: f32,
        /// Damping of bending over its rigidity and the iteration step.
        pub damping: f32,
    }
}

/// The parameters of a frame; a solver without this stage has a rigidity of 0.
pub(crate) fn bending_parameters(solver: &Solver, scale: &StepScale) -> BendingParameters {
    let (rigidity, damping) = match solver {
        Solver::Pbd(_) | Solver::Implicit(_) => (0.0, 0.0),
        Solver::Xpbd(xpbd) => (xpbd.bending_rigidity, xpbd.bending_damping),
    };
    BendingParameters {
        rigidity: rigidity * (scale.step * scale.step),
        // As of an edge: alpha beta / h with the compliance 1 / (B weight) of a bend and its damping D weight.
        damping: if rigidity > 0.0 {
            scale.per_step(f64::from(damping) / f64::from(rigidity), 1)
        } else {
            0.0
        },
    }
}
