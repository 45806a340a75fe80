//! Conjugate gradients of a multilevel solve.

use poplin_layout::MultilevelConstants;

use super::bends::BendMemory;
use super::contact::ContactOptions;
use super::contacts::ContactMemory;
use super::cycle::LevelMemory;
use super::parallel::{each, each_pair, in_pool};
use super::sums::sum;
use super::symmetric::Symmetric;
use super::touching::ContactLink;
use super::triangles::TriangleMemory;
use super::{LevelsPlan, Spring, add, apart, dot, scale, subtract};
use crate::stage::implicit::ContactPlane;

mod accuracy;
mod matrix;
mod momentum;
mod repair;

use accuracy::{Accuracy, MAX_EXTENSION, SOLVED_RESIDUAL};

/// Largest error of a linearised edge, in rest lengths, that needs no further Newton step.
const EDGE_ERROR: f32 = 0.003;

/// One in how many edges may have a larger one.
const EDGES_PER_ERROR: usize = 100;

/// Largest pull of contact planes, over the push of the others, with which their loads are known.
const MAX_PULL: f32 = 0.02;

/// Most times that planes are released before friction follows the loads.
const MAX_RELEASES: u32 = 4;

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
        if self.masses[particle] <= 0.0 {
            return [0.0; 3];
        }
        let own = self.inertia(particle, constants);
        self.contacts.held_slide(particle, |it| self.moves[it], own, constants)
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
    /// plane of a particle for a displacement; `links` are those of edges and faces.
    ///
    /// Particles that touch nothing begin where inertia alone moves them: cloth at rest is at its
    /// solution there, so that the errors of the iterations fade with the motion. From the
    /// prediction they are those of all that balances gravity, and shake the cloth for ever.
    pub(super) fn solve(
        &mut self,
        plan: &LevelsPlan,
        constants: &MultilevelConstants,
        (options, links): (ContactOptions, &[ContactLink]),
        fall: [f32; 3],
        mut probe: impl FnMut(usize, [f32; 3]) -> Option<ContactPlane>,
    ) -> Solved {
        self.contacts.clear(options, links);
        self.directions.fill([0.0; 3]);
        for k in 0..self.masses.len() {
            let contact = if self.masses[k] > 0.0 { probe(k, self.moves[k]) } else { None };
            contact.into_iter().for_each(|contact| self.contacts.touch(k, contact));
        }
        let Self { contacts, moves, masses, directions, .. } = self;
        contacts.touch_links(|it| moves[it]);
        contacts.split_inertia(|it| masses[it] * constants.inertia);
        contacts.predict_links(|it| moves[it], constants);
        for k in 0..masses.len() {
            if masses[k] > 0.0 {
                let own = masses[k] * constants.inertia;
                let Some(moved) = contacts.predict(k, moves[k], own, constants) else {
                    moves[k] = subtract(moves[k], fall);
                    directions[k] = fall;
                    continue;
                };
                moves[k] = moved;
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
            // Loads, which set friction, are those of what bears once nothing pulls.
            let releases = if self.contacts.has_links() { MAX_RELEASES } else { 0 };
            for release in 0..=releases {
                let is_last = release == releases || release > 0 && !self.pulls(constants);
                if self.renew_contacts(constants, is_last, &mut probe) {
                    in_pool(self.masses.len(), || {
                        let renewed = (accuracy.renewed, accuracy.residual);
                        self.iterate(plan, constants, renewed, &mut start, &mut solved);
                    });
                }
                self.keep_momentum(constants);
                if is_last {
                    break;
                }
            }
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

    /// True if planes pull so much that they must be released before the others tell their loads.
    fn pulls(&self, constants: &MultilevelConstants) -> bool {
        let [pushing, pulling] = self.contacts.loads(|it| self.trial(it), constants);
        pulling > MAX_PULL * pushing
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
    /// shapes, and may set friction by the loads of the solution, with the residuals that follow.
    /// Returns true if there were any contacts.
    fn renew_contacts(
        &mut self,
        constants: &MultilevelConstants,
        renews_friction: bool,
        mut probe: impl FnMut(usize, [f32; 3]) -> Option<ContactPlane>,
    ) -> bool {
        let mut is_changed = false;
        for k in 0..self.masses.len() {
            if self.masses[k] <= 0.0 {
                continue;
            }
            let (trial, own) = (self.trial(k), self.inertia(k, constants));
            let before = self.contacts.own_force(k, trial, constants);
            if self.contacts.is_touching(k) {
                if self.contacts.depth(k, trial) < 0.0 {
                    self.contacts.release(k);
                } else if renews_friction {
                    self.contacts.renew_friction(k, trial, own, constants);
                }
            } else if let Some(contact) = probe(k, trial) {
                self.contacts.meet(k, contact, [self.targets[k], trial], own, constants);
            } else {
                continue;
            }
            let after = self.contacts.own_force(k, trial, constants);
            self.residuals[k] = add(self.residuals[k], subtract(after, before));
            is_changed = true;
        }
        let Self { contacts, moves, targets, corrections, masses, residuals, .. } = self;
        let trial = |it: usize| add(moves[it], corrections[it]);
        let is_free = |it: usize| masses[it] > 0.0;
        let displacements = (trial, |it: usize| targets[it]);
        contacts.renew_links(displacements, renews_friction, is_free, constants, residuals);
        is_changed || contacts.has_links()
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
}
