//! Momentum of a multilevel solve.

use poplin_layout::MultilevelConstants;

use super::super::sums::sum;
use super::super::symmetric::Symmetric;
use super::super::{add, scale, subtract};
use super::LevelsMemory;

/// Stiffness of a plane that bears any force, over the inertia of its cloth.
const BORNE: f32 = 1e3;

impl LevelsMemory {
    /// Shifts a cloth without pins so that its momentum changes by what colliders give it: forces
    /// inside, which conjugate gradients only approach, change none.
    pub(super) fn keep_momentum(&mut self, constants: &MultilevelConstants) {
        self.shift(constants, false, |it, k| {
            let (own, trial) = (it.inertia(k, constants), it.trial(k));
            let back = scale(subtract(it.targets[k], trial), own);
            add(back, it.contacts.force(k, |other| it.trial(other), constants))
        });
    }

    /// Shifts a cloth without pins as a whole by the sum of these forces on its particles \[N\]. Of
    /// what is grounded, planes that stand for pushes of cloth bear any force.
    pub(super) fn shift(
        &mut self,
        constants: &MultilevelConstants,
        is_grounded: bool,
        force: impl Fn(&Self, usize) -> [f32; 3],
    ) {
        if self.masses.iter().any(|mass| *mass <= 0.0) {
            return;
        }
        let (mut block, mut pushed, mut total) = (Symmetric::default(), Symmetric::default(), 0.0);
        for k in 0..self.masses.len() {
            let own = self.inertia(k, constants);
            total += own;
            block = block.plus(Symmetric::scalar(own));
            let planes = if self.contacts.is_pushed(k) { &mut pushed } else { &mut block };
            self.contacts.add_whole_block(k, constants, planes);
            // The next product overwrites it.
            self.products[k] = force(self, k);
        }
        if is_grounded {
            let factor = BORNE * total / constants.contact_stiffness();
            block = block.plus(pushed.scaled(factor));
        }
        let force: [f32; 3] =
            std::array::from_fn(|axis| sum(self.products.len(), |k| self.products[k][axis]));
        let shift = block.inverse().times(force);
        for k in 0..self.masses.len() {
            let back = scale(shift, self.inertia(k, constants));
            let back = add(back, self.contacts.product(k, |_| shift, constants));
            self.residuals[k] = subtract(self.residuals[k], back);
            self.corrections[k] = add(self.corrections[k], shift);
        }
    }
}
