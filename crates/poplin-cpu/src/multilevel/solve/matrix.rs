//! Matrix, residuals and preconditioner of a multilevel solve.

use poplin_layout::MultilevelConstants;

use super::super::cycle;
use super::super::parallel::{each, each_pair};
use super::super::symmetric::Symmetric;
use super::super::{LevelsPlan, add, apart, dot, scale, subtract};
use super::{JACOBI, LevelsMemory};

impl LevelsMemory {
    /// Linearises springs and bends, and makes the residuals and the matrices of all levels.
    pub(super) fn set_up(&mut self, plan: &LevelsPlan, constants: &MultilevelConstants) {
        let (positions, moves) = (&self.positions[..], &self.moves[..]);
        each_pair(&mut self.matrices, &mut self.forces, move |index, matrix, force| {
            let spring = &plan.springs[index];
            let ends = spring.ends.map(|end| end as usize);
            let edge = apart(positions, moves, ends);
            let now = dot(edge, edge).sqrt();
            let unit = if now > 0.0 { scale(edge, now.recip()) } else { [0.0; 3] };
            let k = spring.stiffness(constants);
            let longer = now - spring.rest_length;
            let tension = if longer < 0.0 { constants.compression * k } else { k } * longer;
            let pulled = if now > 0.0 { tension.max(0.0) / now } else { 0.0 };
            let t = constants.transverse * k + pulled;
            // Also of a spring whose force is soft: a soft matrix would let it overshoot.
            let [x, y, z] = scale(unit, (k - t).max(0.0).sqrt());
            *matrix = [x, y, z, t];
            *force = scale(unit, tension);
        });
        self.triangles.set_up(&plan.triangles, constants, &self.positions, &self.moves);
        self.bends.set_up(&plan.bends, constants, &self.positions, &self.moves);
        let has_springs = constants.stretches_springs();
        let (masses, forces, matrices) = (&self.masses[..], &self.forces[..], &self.matrices[..]);
        let (triangles, bends, contacts) = (&self.triangles, &self.bends, &self.contacts);
        let (moves, targets) = (&self.moves[..], &self.targets[..]);
        each_pair(&mut self.inverses, &mut self.residuals, move |k, inverse, residual| {
            let mass = masses[k];
            if mass <= 0.0 {
                (*inverse, *residual) = (Symmetric::default(), [0.0; 3]);
                return;
            }
            let mut block = Symmetric::scalar(mass * constants.inertia);
            let mut force = [0.0; 3];
            let slots = if has_springs { plan.slots.row(k) } else { &[] };
            for slot in slots {
                let spring = slot.spring as usize;
                block.add_spring(matrices[spring], 1.0);
                let is_first = plan.springs[spring].ends[0] as usize == k;
                let pull = forces[spring];
                force = if is_first { add(force, pull) } else { subtract(force, pull) };
            }
            triangles.add_block(&plan.triangles, k, &mut block);
            bends.add_block(&plan.bends, k, &mut block);
            contacts.add_block(k, constants, &mut block);
            *inverse = block.inverse();
            let back = subtract(targets[k], moves[k]);
            force = add(force, scale(back, mass * constants.inertia));
            force = add(force, contacts.force(k, |it| moves[it], constants));
            force = triangles.force(&plan.triangles, k, force);
            *residual = bends.force(&plan.bends, k, force);
        });
        self.set_up_levels(plan, constants);
    }

    /// Makes the matrices of the coarser levels.
    fn set_up_levels(&mut self, plan: &LevelsPlan, constants: &MultilevelConstants) {
        let (matrices, masses, contacts) = (&self.matrices, &self.masses, &self.contacts);
        let of_particles = move |source: u32, block: &mut Symmetric, factor: f32| {
            let source = source as usize;
            match source.checked_sub(matrices.len()) {
                None => block.add_spring(matrices[source], factor),
                Some(particle) => {
                    let mut own = Symmetric::scalar(masses[particle] * constants.inertia);
                    contacts.add_whole_block(particle, constants, &mut own);
                    *block = block.plus(own.scaled(factor));
                }
            }
        };
        for (index, level) in plan.levels.iter().enumerate() {
            let (finer, coarser) = self.levels.split_at_mut(index);
            match finer.last() {
                None => coarser[0].set_up(level, constants.rigidity, of_particles),
                Some(finer) => coarser[0].set_up(level, 0.0, move |source, block, factor| {
                    *block = block.plus(finer.block(source).scaled(factor));
                }),
            }
        }
        if let (Some(plan), Some(level)) = (plan.levels.last(), self.levels.last_mut()) {
            level.invert(plan);
        }
    }

    /// Multiplies the search directions by the matrix of the cloth.
    pub(super) fn multiply(&mut self, plan: &LevelsPlan, constants: &MultilevelConstants) {
        self.triangles.begin_product(&plan.triangles, &self.directions);
        self.bends.begin_product(&plan.bends, &self.directions);
        let has_springs = constants.stretches_springs();
        let (masses, directions, matrices) =
            (&self.masses[..], &self.directions[..], &self.matrices[..]);
        let (triangles, bends, contacts) = (&self.triangles, &self.bends, &self.contacts);
        each(&mut self.products, move |k, out| {
            let mass = masses[k];
            if mass <= 0.0 {
                *out = [0.0; 3];
                return;
            }
            let own = directions[k];
            let mut product = scale(own, mass * constants.inertia);
            product = add(product, contacts.product(k, |it| directions[it], constants));
            let slots = if has_springs { plan.slots.row(k) } else { &[] };
            for slot in slots {
                let [x, y, z, t] = matrices[slot.spring as usize];
                let apart = subtract(own, directions[slot.neighbour as usize]);
                let along = dot([x, y, z], apart);
                product = add(product, add(scale([x, y, z], along), scale(apart, t)));
            }
            product = triangles.product(&plan.triangles, k, product);
            *out = bends.product(&plan.bends, k, product);
        });
    }

    /// Preconditions the residuals: the sum over all levels.
    pub(super) fn precondition(&mut self, plan: &LevelsPlan) {
        for level in 0..(plan.tail + 1).min(plan.levels.len()) {
            let (finer, coarser) = self.levels.split_at_mut(level);
            let residuals = finer.last().map_or(&self.residuals[..], |it| it.residuals());
            coarser[0].restrict(&plan.levels[level], residuals);
        }
        cycle::solve_tail(&plan.levels, &mut self.levels, plan.tail);
        for level in (0..plan.tail).rev() {
            let (finer, coarser) = self.levels.split_at_mut(level + 1);
            finer[level].smooth(&plan.levels[level + 1], &coarser[0]);
        }
        let (masses, inverses) = (&self.masses[..], &self.inverses[..]);
        let (residuals, levels) = (&self.residuals[..], &self.levels[..]);
        each(&mut self.preconditioned, move |k, out| {
            if masses[k] <= 0.0 {
                *out = [0.0; 3];
                return;
            }
            *out = scale(inverses[k].times(residuals[k]), JACOBI);
            if let (Some(level), Some(plan)) = (levels.first(), plan.levels.first()) {
                *out = add(*out, level.interpolated(plan, k));
            }
        });
    }
}
