//! Conjugate gradients of a multilevel solve.

use poplin_layout::MultilevelConstants;

use super::bends::BendMemory;
use super::contacts::{ContactMemory, ContactOptions};
use super::cycle::{self, LevelMemory};
use super::parallel::{each, each_pair, in_pool};
use super::sums::sum;
use super::symmetric::Symmetric;
use super::triangles::TriangleMemory;
use super::{LevelsPlan, Spring, add, apart, dot, scale, subtract};
use crate::stage::implicit::ContactPlane;

mod accuracy;
mod momentum;
mod repair;

use accuracy::{Accuracy, MAX_EXTENSION, SOLVED_RESIDUAL};

/// Largest error of a linearised edge, in rest lengths, that needs no further Newton step.
const EDGE_ERROR: f32 = 0.003;

/// One in how many edges may have a larger one.
const EDGES_PER_ERROR: usize = 100;

/// Weight of the diagonal blocks in the sum over levels.
pub(super) const JACOBI: f32 = 0.7;

/// Vectors and matrices of a solve.
#[derive(Debug, Clone, Default)]
pub struct LevelsMemory {
    /// Positions at the start of the step \[m\].
    positions: Vec<[f32; 3]>,
    /// Displacements since: the prediction, then what each Newton step begins from \[m\].
    moves: Vec<[f32; 3]>,
    /// Displacements of the prediction \[m\].
    targets: Vec<[f32; 3]>,
    /// Positions at the end of the step, before others push them \[m\].
    ends: Vec<[f32; 3]>,
    /// Masses \[kg\], 0 for pins.
    masses: Vec<f32>,
    /// Matrix of each spring: q and t.
    matrices: Vec<[f32; 4]>,
    /// Force of each spring on its first end \[N\].
    forces: Vec<[f32; 3]>,
    triangles: TriangleMemory,
    bends: BendMemory,
    contacts: ContactMemory,
    /// Inverse diagonal blocks, 0 for pins.
    inverses: Vec<Symmetric>,
    residuals: Vec<[f32; 3]>,
    /// Corrections of the moves \[m\].
    corrections: Vec<[f32; 3]>,
    directions: Vec<[f32; 3]>,
    products: Vec<[f32; 3]>,
    preconditioned: Vec<[f32; 3]>,
    levels: Vec<LevelMemory>,
}

/// Work of a step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Solved {
    /// Iterations of conjugate gradients.
    pub(super) iterations: u32,
    /// False if the last iterations left large residuals.
    pub(super) is_solved: bool,
    /// False if the last Newton step left too many edges with a large error.
    pub(super) is_converged: bool,
    /// False if no finite solution was found: nothing moves.
    pub(super) is_finite: bool,
}

impl LevelsMemory {
    /// Makes room for the solves of a cloth.
    pub(super) fn fit(&mut self, plan: &LevelsPlan, count: usize) {
        self.masses.resize(count, 0.0);
        self.inverses.resize(count, Symmetric::default());
        for vectors in [
            &mut self.positions,
            &mut self.moves,
            &mut self.targets,
            &mut self.ends,
            &mut self.residuals,
            &mut self.corrections,
            &mut self.directions,
            &mut self.products,
            &mut self.preconditioned,
        ] {
            vectors.resize(count, [0.0; 3]);
        }
        self.matrices.resize(plan.springs.len(), [0.0; 4]);
        self.forces.resize(plan.springs.len(), [0.0; 3]);
        self.contacts.fit(count);
        self.levels.resize_with(plan.levels.len(), LevelMemory::default);
        for (level, plan) in self.levels.iter_mut().zip(&plan.levels) {
            level.fit(plan);
        }
    }

    /// Allocated bytes.
    pub(crate) fn size(&self) -> usize {
        let vectors = [
            &self.positions,
            &self.moves,
            &self.targets,
            &self.ends,
            &self.forces,
            &self.residuals,
            &self.corrections,
            &self.directions,
            &self.products,
            &self.preconditioned,
        ];
        12 * vectors.into_iter().map(Vec::capacity).sum::<usize>()
            + 4 * self.masses.capacity()
            + 16 * self.matrices.capacity()
            + 24 * self.inverses.capacity()
            + self.triangles.size()
            + self.bends.size()
            + self.contacts.size()
            + self.levels.iter().map(LevelMemory::size).sum::<usize>()
    }

    /// Sets the start of a particle, its predicted displacement and its inverse mass.
    pub(super) fn start_at(
        &mut self,
        particle: usize,
        position: [f32; 3],
        moved: [f32; 3],
        inverse_mass: f32,
    ) {
        self.positions[particle] = position;
        self.moves[particle] = moved;
        self.targets[particle] = moved;
        self.masses[particle] = if inverse_mass > 0.0 { inverse_mass.recip() } else { 0.0 };
    }

    /// Displacement of a particle in the step \[m\].
    pub(super) fn moved(&self, particle: usize) -> [f32; 3] {
        self.moves[particle]
    }

    /// Slide that friction takes off this displacement \[m\].
    pub(super) fn held_slide(&self, particle: usize, constants: &MultilevelConstants) -> [f32; 3] {
        let own = self.inertia(particle, constants);
        if own > 0.0 {
            self.contacts.held_slide(particle, self.moves[particle], own, constants)
        } else {
            [0.0; 3]
        }
    }

    /// Inertia of a particle in the step \[N/m\], 0 for pins.
    fn inertia(&self, particle: usize, constants: &MultilevelConstants) -> f32 {
        self.masses[particle] * constants.inertia
    }

    /// Displacement of a particle in the step, with the corrections so far \[m\].
    fn trial(&self, particle: usize) -> [f32; 3] {
        add(self.moves[particle], self.corrections[particle])
    }

    /// Solves a step. `fall` is how far gravity moves particles in it; `probe` finds the contact
    /// plane of a particle for a displacement.
    ///
    /// Particles that touch nothing begin where inertia alone moves them: cloth at rest is at its
    /// solution there, so that the errors of the iterations fade with the motion. From the
    /// prediction they are those of all that balances gravity, and shake the cloth for ever.
    pub(super) fn solve(
        &mut self,
        plan: &LevelsPlan,
        constants: &MultilevelConstants,
        options: ContactOptions,
        fall: [f32; 3],
        mut probe: impl FnMut(usize, [f32; 3]) -> Option<ContactPlane>,
    ) -> Solved {
        self.contacts.clear(options);
        self.directions.fill([0.0; 3]);
        for k in 0..self.masses.len() {
            if self.masses[k] <= 0.0 {
                continue;
            }
            if let Some(contact) = probe(k, self.moves[k]) {
                self.contacts.touch(k, contact);
                let own = self.inertia(k, constants);
                self.moves[k] = self.contacts.predict(k, self.moves[k], own, constants);
            } else {
                self.moves[k] = subtract(self.moves[k], fall);
                self.directions[k] = fall;
            }
        }
        let accuracy = self.accuracy();
        let mut start = None;
        let mut solved = Solved { is_finite: true, ..Solved::default() };
        for newton_step in 0..constants.max_newton_steps {
            in_pool(self.masses.len(), || {
                self.set_up(plan, constants);
                self.corrections.fill([0.0; 3]);
                if newton_step == 0 {
                    self.fall(plan, constants);
                }
                let usual = (constants.iterations, accuracy.residual);
                self.iterate(plan, constants, usual, &mut start, &mut solved);
            });
            if self.renew_contacts(constants, &mut probe) {
                in_pool(self.masses.len(), || {
                    let renewed = (accuracy.renewed, accuracy.residual);
                    self.iterate(plan, constants, renewed, &mut start, &mut solved);
                });
            }
            self.keep_momentum(constants);
            solved.is_finite = self.has_finite_corrections();
            if !solved.is_finite {
                self.moves.fill([0.0; 3]);
                break;
            }
            solved.is_converged = self.is_converged(plan);
            for k in 0..self.masses.len() {
                if self.masses[k] > 0.0 {
                    self.moves[k] = self.trial(k);
                }
            }
            if solved.is_converged {
                break;
            }
        }
        solved
    }

    fn has_finite_corrections(&self) -> bool {
        self.corrections.as_flattened().iter().all(|it| it.is_finite())
    }

    /// True if almost all edges are as long after the corrections as their linearisation says.
    fn is_converged(&self, plan: &LevelsPlan) -> bool {
        let is_off = |spring: &&Spring| {
            let [a, b] = spring.ends.map(|end| end as usize);
            let edge = apart(&self.positions, &self.moves, [a, b]);
            let change = subtract(self.corrections[b], self.corrections[a]);
            let after = add(edge, change);
            let now = dot(edge, edge).sqrt();
            let expected = now + if now > 0.0 { dot(edge, change) / now } else { 0.0 };
            let error = (dot(after, after).sqrt() - expected).abs();
            error > EDGE_ERROR * spring.rest_length
        };
        let off = plan.springs.iter().filter(is_off).count();
        EDGES_PER_ERROR * off <= plan.springs.len()
    }

    /// Lets go of contact planes that pull, adds those of particles that the solution moves into
    /// shapes, and sets friction by the loads of the solution, with the residuals that follow.
    /// Returns true if there were any contacts.
    fn renew_contacts(
        &mut self,
        constants: &MultilevelConstants,
        mut probe: impl FnMut(usize, [f32; 3]) -> Option<ContactPlane>,
    ) -> bool {
        let mut is_changed = false;
        for k in 0..self.masses.len() {
            if self.masses[k] <= 0.0 {
                continue;
            }
            let trial = self.trial(k);
            let before = self.contacts.force(k, trial, constants);
            if self.contacts.is_touching(k) {
                if self.contacts.depth(k, trial) < 0.0 {
                    self.contacts.release(k);
                }
            } else if let Some(contact) = probe(k, trial) {
                self.contacts.touch(k, contact);
            } else {
                continue;
            }
            let own = self.inertia(k, constants);
            self.contacts.renew_friction(k, trial, own, constants);
            let after = self.contacts.force(k, trial, constants);
            self.residuals[k] = add(self.residuals[k], subtract(after, before));
            is_changed = true;
        }
        is_changed
    }

    /// Iterates from the corrections and residuals so far: `least` times, and more while the
    /// product of residuals is above `residual` times that of `start`, which the first call sets.
    fn iterate(
        &mut self,
        plan: &LevelsPlan,
        constants: &MultilevelConstants,
        (least, residual): (u32, f32),
        start: &mut Option<f32>,
        solved: &mut Solved,
    ) {
        let count = self.masses.len();
        self.precondition(plan);
        self.directions.clone_from(&self.preconditioned);
        let mut product = sum(count, |k| dot(self.residuals[k], self.preconditioned[k]));
        let first = *start.get_or_insert(product);
        let enough = residual * first;
        let most = MAX_EXTENSION * least;
        let mut iteration = 0;
        loop {
            iteration += 1;
            let is_last =
                self.descend(plan, constants, product.max(0.0)) == 0.0 || iteration == most;
            if is_last || iteration >= least && product <= enough {
                solved.iterations += iteration;
                solved.is_solved = product <= SOLVED_RESIDUAL * first;
                break;
            }
            self.precondition(plan);
            let next = sum(count, |k| dot(self.residuals[k], self.preconditioned[k]));
            let mixed = if product > f32::MIN_POSITIVE { next / product } else { 0.0 };
            let preconditioned = &self.preconditioned[..];
            each(&mut self.directions, move |k, direction| {
                *direction = add(preconditioned[k], scale(*direction, mixed));
            });
            product = next;
        }
    }

    /// Moves particles along the directions, which are those of gravity, as far as lowers the
    /// energy most: all the way in free fall, not at all at rest.
    fn fall(&mut self, plan: &LevelsPlan, constants: &MultilevelConstants) {
        let slope = sum(self.masses.len(), |k| dot(self.directions[k], self.residuals[k]));
        self.descend(plan, constants, slope);
    }

    /// Moves particles along the directions to the least energy, which falls by `slope` at first.
    /// Returns how far, over the directions: 0 if it has no least.
    fn descend(&mut self, plan: &LevelsPlan, constants: &MultilevelConstants, slope: f32) -> f32 {
        self.multiply(plan, constants);
        let count = self.masses.len();
        let curvature = sum(count, |k| dot(self.directions[k], self.products[k]));
        let taken = if curvature > 0.0 { slope / curvature } else { 0.0 };
        let (directions, products) = (&self.directions[..], &self.products[..]);
        each_pair(&mut self.corrections, &mut self.residuals, move |k, correction, residual| {
            *correction = add(*correction, scale(directions[k], taken));
            *residual = subtract(*residual, scale(products[k], taken));
        });
        taken
    }

    /// Linearises springs and bends, and makes the residuals and the matrices of all levels.
    fn set_up(&mut self, plan: &LevelsPlan, constants: &MultilevelConstants) {
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
            force = add(force, contacts.force(k, moves[k], constants));
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
                    contacts.add_block(particle, constants, &mut own);
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
    fn multiply(&mut self, plan: &LevelsPlan, constants: &MultilevelConstants) {
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
            product = add(product, contacts.product(k, own, constants));
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
    fn precondition(&mut self, plan: &LevelsPlan) {
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
