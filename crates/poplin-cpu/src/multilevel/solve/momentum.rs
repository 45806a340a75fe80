//! Momentum of a multilevel solve.

use poplin_layout::MultilevelConstants;

use super::super::sums::sum;
use super::super::symmetric::Symmetric;
use super::super::{add, scale, subtract};
use super::LevelsMemory;

impl LevelsMemory {
    /// Shifts a cloth without pins so that its momentum changes by what colliders give it: forces
    /// inside, which conjugate gradients only approach, change none.
    pub(super) fn keep_momentum(&mut self, constants: &MultilevelConstants) {
        self.shift(constants, |it, k| {
            let (own, trial) = (it.inertia(k, constants), it.trial(k));
            let back = scale(subtract(it.targets[k], trial), own);
            add(back, it.contacts.force(k, trial, constants))
        });
    }

    /// Shifts a cloth without pins as a whole by the sum of these forces on its particles \[N\].
    pub(super) fn shift(
        &mut self,
        constants: &MultilevelConstants,
        force: impl Fn(&Self, usize) -> [f32; 3],
    ) {
        if self.masses.iter().any(|mass| *mass <= 0.0) {
            return;
        }
        let mut block = Symmetric::default();
        for k in 0..self.masses.len() {
            block = block.plus(Symmetric::scalar(self.inertia(k, constants)));
            if !self.contacts.is_pushed(k) {
                self.contacts.add_block(k, constants, &mut block);
            }
            // The next product overwrites it.
            self.products[k] = force(self, k);
        }
        let force: [f32; 3] =
            std::array::from_fn(|axis| sum(self.products.len(), |k| self.products[k][axis]));
        let shift = block.inverse().times(force);
        self.corrections.iter_mut().for_each(|moved| *moved = add(*moved, shift));
    }
}
