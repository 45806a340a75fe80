//! Repair of a multilevel solve where other stages have pushed particles since.

use poplin_layout::MultilevelConstants;

use super::super::{LevelsPlan, add, dot, scale, subtract};
use super::{LevelsMemory, RENEWED_ITERATIONS, Solved};
use crate::stage::implicit::ContactPlane;

impl LevelsMemory {
    /// Sets the displacement and the position of a particle at the end of a step.
    pub(in crate::multilevel) fn end_at(
        &mut self,
        particle: usize,
        moved: [f32; 3],
        end: [f32; 3],
    ) {
        self.moves[particle] = moved;
        self.ends[particle] = end;
    }

    /// Takes up the position of a particle since the end of the step. Returns true if it was
    /// pushed: then a plane keeps it from moving back, if it touches no collider.
    pub(in crate::multilevel) fn push(&mut self, particle: usize, position: [f32; 3]) -> bool {
        let push = subtract(position, self.ends[particle]);
        let length = dot(push, push).sqrt();
        if length <= 0.0 || self.masses[particle] <= 0.0 {
            return false;
        }
        self.moves[particle] = add(self.moves[particle], push);
        if !self.contacts.is_touching(particle) {
            let normal = scale(push, length.recip());
            let [x, y, z] = normal;
            let plane = [x, y, z, dot(normal, self.moves[particle])];
            self.contacts.hold_back(particle, ContactPlane { plane, travel: [0.0; 4] });
        }
        true
    }

    /// Takes a Newton step more from where pushes left the particles; none if it is not finite.
    /// Returns the iterations.
    pub(in crate::multilevel) fn repair(
        &mut self,
        plan: &LevelsPlan,
        constants: &MultilevelConstants,
    ) -> u32 {
        let mut solved = Solved::default();
        self.set_up(plan, constants);
        self.corrections.fill([0.0; 3]);
        self.iterate(plan, constants, RENEWED_ITERATIONS, &mut None, &mut solved);
        self.keep_momentum(constants);
        if !self.corrections.as_flattened().iter().all(|it| it.is_finite()) {
            self.corrections.fill([0.0; 3]);
        }
        solved.iterations
    }

    /// Last correction of a particle \[m\], 0 for pins.
    pub(in crate::multilevel) fn correction(&self, particle: usize) -> [f32; 3] {
        self.corrections[particle]
    }
}
