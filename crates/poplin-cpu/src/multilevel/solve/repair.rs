//! Repair of a multilevel solve where other stages have pushed particles since.

use poplin_layout::MultilevelConstants;

use super::super::{LevelsPlan, add, dot, scale, subtract};
use super::{Accuracy, LevelsMemory, Solved};

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

    /// Follows a particle that has moved since, nothing of which is a push.
    pub(in crate::multilevel) fn follow(&mut self, particle: usize, position: [f32; 3]) {
        let moved = subtract(position, self.ends[particle]);
        if moved != [0.0; 3] {
            self.end_at(particle, add(self.moves[particle], moved), position);
        }
    }

    /// Takes up the position of a particle since the end of the step. Returns true if it was
    /// pushed: then its motion counts as inertia, and a plane keeps it from moving back: that of
    /// the collider that it or an edge or face of it touches, which follows it with contact of
    /// triangles.
    pub(in crate::multilevel) fn push(&mut self, particle: usize, position: [f32; 3]) -> bool {
        let push = subtract(position, self.ends[particle]);
        let length = dot(push, push).sqrt();
        if length <= 0.0 || self.masses[particle] <= 0.0 {
            return false;
        }
        self.end_at(particle, add(self.moves[particle], push), position);
        self.targets[particle] = add(self.targets[particle], push);
        if self.contacts.is_touching(particle) {
            if self.contacts.options.is_by_triangles {
                self.contacts.raise(particle, self.moves[particle]);
            }
        } else if !self.contacts.is_linked(particle) {
            let normal = scale(push, length.recip());
            let [x, y, z] = normal;
            let plane = [x, y, z, dot(normal, self.moves[particle])];
            self.contacts.push(particle, plane);
        }
        true
    }

    /// Takes a Newton step more from where pushes left the particles; none if it is not finite.
    /// Returns the iterations.
    ///
    /// Pushes have changed the momentum by what they do, so that planes that stand for them give
    /// none in free flight. What lies on something gets it from there: to take it back would fling
    /// its free parts the other way.
    pub(in crate::multilevel) fn repair(
        &mut self,
        plan: &LevelsPlan,
        constants: &MultilevelConstants,
        is_flying: bool,
    ) -> u32 {
        let mut solved = Solved::default();
        self.contacts.raise_links(&self.moves);
        self.set_up(plan, constants);
        self.corrections.fill([0.0; 3]);
        let Accuracy { residual, renewed } = self.accuracy();
        self.iterate(plan, constants, (renewed, residual), &mut None, &mut solved);
        self.shift(constants, !is_flying, |it, k| {
            let moved = it.corrections[k];
            let is_pushed = it.contacts.is_pushed(k);
            let back = if is_pushed {
                [0.0; 3]
            } else {
                it.contacts.product(k, |other| it.corrections[other], constants)
            };
            scale(add(scale(moved, it.inertia(k, constants)), back), -1.0)
        });
        if !self.has_finite_corrections() {
            self.corrections.fill([0.0; 3]);
        }
        solved.iterations
    }

    /// Returns the position of a particle with the last correction, from that before.
    pub(in crate::multilevel) fn corrected(
        &mut self,
        particle: usize,
        position: [f32; 3],
    ) -> [f32; 3] {
        let end = add(position, self.corrections[particle]);
        self.end_at(particle, self.trial(particle), end);
        end
    }
}
