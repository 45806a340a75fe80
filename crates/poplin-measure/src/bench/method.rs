//! Solvers of benchmark setups.

use poplin_model::{
    FiberSolver, Implicit, Multilevel, Pbd, PbdPhase, PhaseKind, Phases, Preconditioner, Solver,
};

use super::FRAME_RATE;

/// Bending rigidity with the implicit solver [N m].
const BENDING: f32 = 1e-6;

/// Fiber length limit above every fiber here, for fibers from border to border \[edges\].
const WHOLE: u32 = 1 << 12;

/// Solver of the edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// PBD, edge by edge: fibers of a single edge by Gauss-Seidel.
    SingleEdges,
    /// PBD with default settings.
    Default,
    /// PBD with the settings and iterations of [`poplin_model::ClothDesc::choose_solver`].
    Chosen,
    /// PBD with the default solvers and fibers from border to border.
    WholeFibers,
    /// PBD with all phases solved semi-implicitly over fibers from border to border.
    SemiImplicit,
    /// [`Method::SemiImplicit`] with each iteration removing the whole error of a fiber.
    SemiImplicitFully,
    /// XPBD without compliance over fibers from border to border.
    Xpbd,
    /// Implicit solver; the iterations of a setup are its substeps.
    Implicit {
        /// Membrane stiffness [N/m].
        stretch: u16,
        /// Shear stiffness [N/m].
        shear: u16,
        /// Preconditioner of the conjugate gradients.
        preconditioner: Preconditioner,
        /// Largest number of iterations per substep.
        most: u16,
    },
    /// Multilevel solver; the iterations of a setup are its substeps.
    Multilevel {
        /// Membrane stiffness, ten times that of shear [N/m].
        stretch: u32,
        /// Iterations per substep.
        iterations: u16,
    },
}

impl Method {
    /// Implicit solver preconditioned by mass.
    pub(super) const fn by_mass(stretch: u16, shear: u16, most: u16) -> Self {
        Self::Implicit { stretch, shear, preconditioner: Preconditioner::Mass, most }
    }

    /// Implicit solver preconditioned by fibers.
    pub(super) const fn by_fibers(stretch: u16, shear: u16, most: u16) -> Self {
        Self::Implicit { stretch, shear, preconditioner: Preconditioner::Fibers, most }
    }

    /// Fiber length limit \[edges\]; `None` leaves it to the cooker.
    pub(super) fn max_fiber_length(self) -> Option<u32> {
        match self {
            Self::SingleEdges => Some(1),
            Self::Default | Self::Chosen | Self::Implicit { .. } | Self::Multilevel { .. } => None,
            Self::WholeFibers | Self::SemiImplicit | Self::SemiImplicitFully | Self::Xpbd => {
                Some(WHOLE)
            }
        }
    }

    /// Solver settings with `iterations` per frame and, for PBD, this stiffness of stretch, shear
    /// and bending edges.
    pub(super) fn solver(self, iterations: u32, [stretch, shear, bending]: [f32; 3]) -> Solver {
        let fiber_solver = match self {
            Self::SingleEdges => Some(FiberSolver::GaussSeidel),
            Self::Default | Self::Chosen | Self::WholeFibers => None,
            Self::SemiImplicit | Self::SemiImplicitFully => Some(FiberSolver::SemiImplicit),
            Self::Xpbd => return Solver::xpbd(iterations),
            Self::Implicit { stretch, shear, preconditioner, most } => {
                return Implicit {
                    substeps: iterations,
                    stretch_stiffness: [stretch.into(); 2],
                    shear_stiffness: shear.into(),
                    bending_rigidity: BENDING,
                    preconditioner,
                    max_iterations: most.into(),
                    ..Implicit::default()
                }
                .into();
            }
            Self::Multilevel { stretch, iterations: own } => {
                return Multilevel {
                    substeps: iterations,
                    iterations: Some(own.into()),
                    stretch_stiffness: [stretch as f32; 2],
                    shear_stiffness: 0.1 * stretch as f32,
                    ..Multilevel::default()
                }
                .into();
            }
        };
        let mut phases = Phases::default();
        for kind in PhaseKind::ALL {
            let stiffness = match kind {
                PhaseKind::Vertical | PhaseKind::Horizontal => stretch,
                PhaseKind::Shearing => shear,
                PhaseKind::Bending => bending,
            };
            *phases.kind_mut(kind) = PbdPhase { fiber_solver, stiffness, ..PbdPhase::default() };
        }
        Pbd { frequency: (iterations * FRAME_RATE) as f32, phases, ..Pbd::default() }.into()
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SingleEdges => "Gauss-Seidel, single edges",
            Self::Default => "default",
            Self::Chosen => "as chosen",
            Self::WholeFibers => "default, whole fibers",
            Self::SemiImplicit => "all semi-implicit, whole fibers",
            Self::SemiImplicitFully => "all semi-implicit, whole fibers, full stiffness",
            Self::Xpbd => "XPBD, whole fibers",
            Self::Implicit { preconditioner: Preconditioner::Mass, .. } => "implicit by mass",
            Self::Implicit { preconditioner: Preconditioner::Fibers, .. } => "implicit by fibers",
            Self::Multilevel { .. } => "multilevel",
        }
    }
}
