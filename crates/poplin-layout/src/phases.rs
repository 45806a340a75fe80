//! Constants of the phases of a fabric.

use poplin_model::{ClothDesc, FiberSolver, PbdPhase, Solver, XpbdPhase};

use crate::gpu_struct::gpu_struct;
use crate::{StepScale, effective_stiffness, stiffness_to_log2};

gpu_struct! {
    /// Constants of one configured phase in one frame, rows of `frame_pool`.
    pub struct PhaseConstants {
        /// Fraction of an edge's error removed per iteration.
        pub stiffness: f32,
        /// Fraction of the error between the limits that is not corrected,
        /// `1 - multiplier^exponent`.
        pub multiplier: f32,
        /// `1 - 1/compression_limit`, at most 0.
        pub compression: f32,
        /// `1 - 1/stretch_limit`, at least 0.
        pub stretch: f32,
        /// First set.
        pub set_begin: u32,
        /// One past the last set.
        pub set_end: u32,
        /// Compliance over the squared iteration step [1/kg].
        pub compliance: f32,
        /// Compliance times damping over the iteration step.
        pub damping: f32,
        /// Fiber solver: one of the `SOLVER` constants.
        pub fiber_solver: u32,
        /// Compliance of an edge in its soft range in a semi-implicit fiber, over the sum of its
        /// inverse masses.
        pub softness: f32,
        /// Number of rounds of cyclic reduction.
        pub round_count: u32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
    }
}

/// Smallest fraction of an error that an edge of a semi-implicit fiber corrects in its soft range:
/// below it the division by the fraction loses precision, and the edge exerts no force anyway.
const MIN_SOFT_FRACTION: f32 = 1e-6;

/// Computes the constants of a phase from its fiber solver and the number of rounds of cyclic
/// reduction.
pub(crate) fn phase_constants(
    cloth: &ClothDesc,
    index: u32,
    (fiber_solver, round_count): (FiberSolver, u32),
    scale: &StepScale,
) -> PhaseConstants {
    let phase = &cloth.fabric.phases[index as usize];
    // XPBD has compliances instead of a stiffness, so the stiffness is 1.
    let (pbd, xpbd, stiffness) = match &cloth.config.solver {
        Solver::Pbd(solver) => {
            let pbd = *solver.phases.of(index, phase.kind);
            (pbd, XpbdPhase::default(), scale.effective(pbd.stiffness))
        }
        Solver::Xpbd(solver) => (PbdPhase::default(), *solver.phases.of(index, phase.kind), 1.0),
        // These solve no phases.
        Solver::Implicit(_) | Solver::Multilevel(_) => {
            (PbdPhase::default(), XpbdPhase::default(), 0.0)
        }
    };
    // multiplier^exponent = 2^(log2(multiplier) * exponent) = 1 - effective(log2(1 - (1 -
    // multiplier)))
    let multiplier =
        effective_stiffness(stiffness_to_log2(1.0 - pbd.stiffness_multiplier), scale.exponent);
    // XPBD, eq. 26: alpha~ = alpha / h^2, beta~ = h^2 beta, gamma = alpha~ beta~ / h = alpha beta /
    // h.
    let scaled = |compliance: f32, factor: f32, power| {
        scale.per_step(f64::from(compliance) * f64::from(factor), power)
    };
    let has_range = pbd.compression_limit < pbd.stretch_limit;
    PhaseConstants {
        stiffness,
        multiplier,
        compression: 1.0 - 1.0 / pbd.compression_limit,
        stretch: 1.0 - 1.0 / pbd.stretch_limit,
        set_begin: phase.set_begin,
        set_end: phase.set_end,
        compliance: scaled(xpbd.compliance, 1.0, 2),
        damping: scaled(xpbd.compliance, xpbd.damping, 1),
        fiber_solver: fiber_solver as u32,
        softness: if has_range {
            multiplier / (1.0 - multiplier).max(MIN_SOFT_FRACTION)
        } else {
            0.0
        },
        round_count,
        padding_0: 0,
    }
}
