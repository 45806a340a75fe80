//! Accuracy of a multilevel solve.

use super::LevelsMemory;

/// When conjugate gradients end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Accuracy {
    /// Product of residuals and their preconditioned form, over that at the start of the step, from
    /// which on there are no more iterations than usual.
    pub(super) residual: f32,
    /// Iterations after contacts have changed.
    pub(super) renewed: u32,
}

impl Accuracy {
    /// Accuracy that lets cloth come to rest: errors that remain keep it in motion. At 0.01 a hung
    /// sheet of 0.6 m still moved by 0.1 m/s after five seconds.
    const FINE: Self = Self { residual: 0.001, renewed: 5 };
    /// Accuracy with contact of particles, where what bears changes from step to step and keeps
    /// cloth in motion, too: `FINE` takes twice the time for a skirt that rests no sooner.
    const COARSE: Self = Self { residual: SOLVED_RESIDUAL, renewed: 3 };
}

/// Most iterations where residuals remain, over the usual number.
pub(super) const MAX_EXTENSION: u32 = 4;

/// Largest such product, after all but the last iteration, that counts as solved.
pub(super) const SOLVED_RESIDUAL: f32 = 0.01;

impl LevelsMemory {
    /// Accuracy for the contacts that are known.
    pub(super) fn accuracy(&self) -> Accuracy {
        let options = self.contacts.options;
        let meets = options.meets_itself || self.contacts.has_any();
        if meets && !options.is_by_triangles { Accuracy::COARSE } else { Accuracy::FINE }
    }
}
