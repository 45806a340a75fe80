//! Choice of the constraint solver.

use super::{FiberSolver, Implicit, Multilevel, Pbd, Xpbd};
use crate::PhaseKind;
use crate::error::{Context, ModelError};

/// Constraint solver of a cloth, with its settings.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
pub enum Solver {
    /// Position-based dynamics (default).
    Pbd(Pbd),
    /// Extended position-based dynamics with small steps.
    Xpbd(Xpbd),
    /// Backward Euler.
    Implicit(Implicit),
    /// Backward Euler on coarser levels of the cloth, for fine cloth; on the CPU alone.
    Multilevel(Multilevel),
}

impl Default for Solver {
    fn default() -> Self {
        Self::Pbd(Pbd::default())
    }
}

impl Solver {
    /// Position-based dynamics with `frequency` iterations per second [1/s] and defaults otherwise.
    pub fn pbd(frequency: f32) -> Self {
        Self::Pbd(Pbd { frequency, ..Pbd::default() })
    }

    /// Extended position-based dynamics with `substeps` iterations per frame and defaults
    /// otherwise.
    pub fn xpbd(substeps: u32) -> Self {
        Self::Xpbd(Xpbd { substeps, ..Xpbd::default() })
    }

    /// Backward Euler with `substeps` steps per frame and defaults otherwise.
    pub fn implicit(substeps: u32) -> Self {
        Self::Implicit(Implicit { substeps, ..Implicit::default() })
    }

    /// True for [`Solver::Xpbd`].
    pub fn is_xpbd(&self) -> bool {
        matches!(self, Self::Xpbd(_))
    }

    /// Settings of [`Solver::Pbd`], otherwise `None`.
    pub fn as_pbd(&self) -> Option<&Pbd> {
        if let Self::Pbd(pbd) = self { Some(pbd) } else { None }
    }

    /// Settings of [`Solver::Pbd`], mutable, otherwise `None`.
    pub fn as_pbd_mut(&mut self) -> Option<&mut Pbd> {
        if let Self::Pbd(pbd) = self { Some(pbd) } else { None }
    }

    /// Settings of [`Solver::Xpbd`], otherwise `None`.
    pub fn as_xpbd(&self) -> Option<&Xpbd> {
        if let Self::Xpbd(xpbd) = self { Some(xpbd) } else { None }
    }

    /// Settings of [`Solver::Xpbd`], mutable, otherwise `None`.
    pub fn as_xpbd_mut(&mut self) -> Option<&mut Xpbd> {
        if let Self::Xpbd(xpbd) = self { Some(xpbd) } else { None }
    }

    /// Share of the second-order correction of velocities, [`Xpbd::second_order`]; 0 with the other
    /// solvers.
    pub fn second_order(&self) -> f32 {
        self.as_xpbd().map_or(0.0, |xpbd| xpbd.second_order)
    }

    /// Settings of [`Solver::Implicit`], otherwise `None`.
    pub fn as_implicit(&self) -> Option<&Implicit> {
        if let Self::Implicit(implicit) = self { Some(implicit) } else { None }
    }

    /// Settings of [`Solver::Implicit`], mutable, otherwise `None`.
    pub fn as_implicit_mut(&mut self) -> Option<&mut Implicit> {
        if let Self::Implicit(implicit) = self { Some(implicit) } else { None }
    }

    /// Settings of [`Solver::Multilevel`], otherwise `None`.
    pub fn as_multilevel(&self) -> Option<&Multilevel> {
        if let Self::Multilevel(multilevel) = self { Some(multilevel) } else { None }
    }

    /// Settings of [`Solver::Multilevel`], mutable, otherwise `None`.
    pub fn as_multilevel_mut(&mut self) -> Option<&mut Multilevel> {
        if let Self::Multilevel(multilevel) = self { Some(multilevel) } else { None }
    }

    /// Steps per frame of a solver that has them; `None` for [`Solver::Pbd`].
    pub fn substeps_mut(&mut self) -> Option<&mut u32> {
        match self {
            Self::Pbd(_) => None,
            Self::Xpbd(xpbd) => Some(&mut xpbd.substeps),
            Self::Implicit(implicit) => Some(&mut implicit.substeps),
            Self::Multilevel(multilevel) => Some(&mut multilevel.substeps),
        }
    }

    /// Steps per frame of a solver that has them; `None` for [`Solver::Pbd`].
    pub fn substeps(&self) -> Option<u32> {
        match self {
            Self::Pbd(_) => None,
            Self::Xpbd(xpbd) => Some(xpbd.substeps),
            Self::Implicit(implicit) => Some(implicit.substeps),
            Self::Multilevel(multilevel) => Some(multilevel.substeps),
        }
    }

    /// Iterations or steps per second [1/s]; `None` if they are counted per frame.
    pub fn frequency(&self) -> Option<f32> {
        match self {
            Self::Pbd(pbd) => Some(pbd.frequency),
            Self::Xpbd(xpbd) => xpbd.frequency,
            Self::Implicit(implicit) => implicit.frequency,
            Self::Multilevel(multilevel) => multilevel.frequency,
        }
    }

    /// Number of iterations or steps of a frame of `dt` seconds, at least 1. Engines reject frames
    /// of more than [`crate::MAX_SUBSTEPS`]: a mistyped frequency does not look like a hang.
    pub fn iteration_count(&self, dt: f32) -> u32 {
        let of_frequency = |frequency: f32| (dt * frequency + 0.5).floor().max(1.0) as u32;
        self.frequency().map(of_frequency).or(self.substeps()).unwrap_or(1)
    }

    /// Bending rigidity of the cloth [N m], 0 if off or not supported by the solver.
    pub fn bending_rigidity(&self) -> f32 {
        match self {
            Self::Pbd(_) => 0.0,
            Self::Xpbd(xpbd) => xpbd.bending_rigidity,
            Self::Implicit(implicit) => implicit.bending_rigidity,
            Self::Multilevel(multilevel) => multilevel.bending_rigidity,
        }
    }

    /// True if the solver applies a bending rigidity to [`crate::Fabric::bends`], the angles
    /// between triangles.
    pub fn needs_bends(&self) -> bool {
        self.bending_rigidity() > 0.0 && !self.needs_two_ring_edges()
    }

    /// True if the solver applies a bending rigidity to two-ring edges ([`PhaseKind::Bending`]).
    pub fn needs_two_ring_edges(&self) -> bool {
        let bends_by_springs = |implicit: &Implicit| implicit.bend == super::BendModel::Springs;
        self.bending_rigidity() > 0.0 && self.as_implicit().is_some_and(bends_by_springs)
    }

    /// Sets the bending rigidity [N m]; no effect with [`Solver::Pbd`].
    pub fn set_bending_rigidity(&mut self, rigidity: f32) {
        match self {
            Self::Pbd(_) => {}
            Self::Xpbd(xpbd) => xpbd.bending_rigidity = rigidity,
            Self::Implicit(implicit) => implicit.bending_rigidity = rigidity,
            Self::Multilevel(multilevel) => multilevel.bending_rigidity = rigidity,
        }
    }

    /// Fiber solver set for phase `index` of a fabric, whose kind is `kind`; `None` if not set.
    pub fn fiber_solver(&self, index: u32, kind: PhaseKind) -> Option<FiberSolver> {
        match self {
            Self::Pbd(pbd) => pbd.phases.of(index, kind).fiber_solver,
            Self::Xpbd(xpbd) => xpbd.phases.of(index, kind).fiber_solver,
            Self::Implicit(_) | Self::Multilevel(_) => None,
        }
    }

    /// Sets the fiber solver of all phases; `None` leaves the choice to
    /// [`crate::ClothDesc::fiber_solver`]. No effect with [`Solver::Implicit`] and
    /// [`Solver::Multilevel`], which do not solve fibers.
    pub fn set_fiber_solver(&mut self, fiber_solver: Option<FiberSolver>) {
        match self {
            Self::Pbd(pbd) => {
                pbd.phases.iter_mut().for_each(|phase| phase.fiber_solver = fiber_solver);
            }
            Self::Xpbd(xpbd) => {
                xpbd.phases.iter_mut().for_each(|phase| phase.fiber_solver = fiber_solver);
            }
            Self::Implicit(_) | Self::Multilevel(_) => {}
        }
    }

    /// True if phase `index` of a fabric, whose kind is `kind`, is solved: never with
    /// [`Solver::Implicit`] and [`Solver::Multilevel`], and not with a stiffness of 0.
    pub fn solves(&self, index: u32, kind: PhaseKind) -> bool {
        match self {
            Self::Pbd(pbd) => pbd.phases.of(index, kind).stiffness > 0.0,
            Self::Xpbd(_) => true,
            Self::Implicit(_) | Self::Multilevel(_) => false,
        }
    }

    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        match self {
            Self::Pbd(pbd) => pbd.validate().within(self.name()),
            Self::Xpbd(xpbd) => xpbd.validate().within(self.name()),
            Self::Implicit(implicit) => implicit.validate().within(self.name()),
            Self::Multilevel(multilevel) => multilevel.validate().within(self.name()),
        }
    }

    /// Name in scene files: `pbd`, `xpbd`, `implicit` or `multilevel`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pbd(_) => "pbd",
            Self::Xpbd(_) => "xpbd",
            Self::Implicit(_) => "implicit",
            Self::Multilevel(_) => "multilevel",
        }
    }

    /// Rejects settings of single phases that the fabric does not have.
    pub(crate) fn validate_indices(&self, phase_count: usize) -> Result<(), ModelError> {
        match self {
            Self::Pbd(pbd) => pbd.phases.validate_indices(phase_count),
            Self::Xpbd(xpbd) => xpbd.phases.validate_indices(phase_count),
            Self::Implicit(_) | Self::Multilevel(_) => Ok(()),
        }
    }
}

impl From<Pbd> for Solver {
    fn from(pbd: Pbd) -> Self {
        Self::Pbd(pbd)
    }
}

impl From<Xpbd> for Solver {
    fn from(xpbd: Xpbd) -> Self {
        Self::Xpbd(xpbd)
    }
}

impl From<Implicit> for Solver {
    fn from(implicit: Implicit) -> Self {
        Self::Implicit(implicit)
    }
}

impl From<Multilevel> for Solver {
    fn from(multilevel: Multilevel) -> Self {
        Self::Multilevel(multilevel)
    }
}
