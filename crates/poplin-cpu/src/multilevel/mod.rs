//! Multilevel solve: one step of Newton's method for backward Euler, linearised at the prediction,
//! by conjugate gradients with an additive multilevel preconditioner (Bramble, Pasciak, Xu,
//! "Parallel multilevel preconditioners", 1990) on the levels of a [`Hierarchy`].
//!
//! The matrix of a spring of stiffness k under the tension N at length l is `q q^T + t 1` with
//! `t = eps k + max(0, N) / l` and `|q|^2 = k - t`: it is positive, and the small part `eps` of
//! transverse stiffness holds back the rotations that a step linearised once cannot follow.
//! Iterations depend neither on the stiffness nor, to a few, on the number of particles.

mod cycle;
mod sums;
mod symmetric;

use poplin_geometry::Csr;
use poplin_model::{Fabric, Hierarchy, PhaseKind};

use cycle::{LevelMemory, LevelPlan};
use sums::sum;
use symmetric::Symmetric;

/// Weight of the diagonal blocks in the sum over levels.
const JACOBI: f32 = 0.7;

/// Least and largest transverse stiffness of an edge over its stiffness.
const TRANSVERSE: [f32; 2] = [5e-4, 0.03];

/// Transverse stiffness over the fall by gravity in a step, in mean edges.
const TRANSVERSE_PER_FALL: f32 = 0.05;

/// Moduli of a cloth \[N/m\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moduli {
    /// Stiffness along warp (vertical) and weft (horizontal).
    pub stretch: [f32; 2],
    /// Stiffness in shear.
    pub shear: f32,
}

/// Step of the solve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Length \[s\].
    pub length: f32,
    /// Magnitude of gravity \[m/s^2\].
    pub gravity: f32,
    /// Iterations of conjugate gradients.
    pub iterations: u32,
}

/// Cloth as its solve sees it, made once.
#[derive(Debug, Clone)]
pub struct Plan {
    springs: Vec<Spring>,
    /// Springs of each particle.
    slots: Csr<Slot>,
    /// Masses \[kg\], 0 for pins.
    masses: Vec<f32>,
    levels: Vec<LevelPlan>,
    /// First level that is solved by a cycle.
    tail: usize,
    mean_edge: f32,
    has_pins: bool,
}

#[derive(Debug, Clone, Copy)]
struct Spring {
    ends: [u32; 2],
    rest_length: f32,
    /// Stiffness \[N/m\].
    stiffness: f32,
}

/// End of a spring at a particle.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    neighbour: u32,
    spring: u32,
}

/// Vectors and matrices of a solve.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// Matrix of each spring: q and t.
    matrices: Vec<[f32; 4]>,
    /// Inverse diagonal blocks, 0 for pins.
    inverses: Vec<Symmetric>,
    residuals: Vec<[f32; 3]>,
    moves: Vec<[f32; 3]>,
    directions: Vec<[f32; 3]>,
    products: Vec<[f32; 3]>,
    preconditioned: Vec<[f32; 3]>,
    levels: Vec<LevelMemory>,
}

impl Plan {
    /// Prepares a cloth; its fabric has the breadths of edges.
    pub fn new(
        fabric: &Fabric,
        hierarchy: &Hierarchy,
        inverse_masses: &[f32],
        moduli: &Moduli,
    ) -> Self {
        let kinds = fabric.edge_kinds();
        let edges = hierarchy.springs.iter().zip(&hierarchy.spring_edges);
        let spring = |(&ends, &edge): (&[u32; 2], &u32)| {
            let (edge, [warp, weft]) = (edge as usize, moduli.stretch);
            let modulus = match kinds[edge] {
                PhaseKind::Vertical => warp,
                PhaseKind::Horizontal => weft,
                PhaseKind::Shearing | PhaseKind::Bending => moduli.shear,
            };
            let rest_length = fabric.rest_lengths[edge];
            let stiffness = modulus * fabric.edge_breadths[edge] / rest_length;
            Spring { ends, rest_length, stiffness }
        };
        let springs: Vec<Spring> = edges.map(spring).collect();
        let count = inverse_masses.len();
        let slots = springs.iter().zip(0..).flat_map(|(spring, index)| {
            let [a, b] = spring.ends;
            [(a, Slot { neighbour: b, spring: index }), (b, Slot { neighbour: a, spring: index })]
        });
        let mass = |&w: &f32| if w > 0.0 { w.recip() } else { 0.0 };
        let levels: Vec<_> = hierarchy.levels.iter().map(LevelPlan::new).collect();
        Self {
            slots: Csr::new(count, slots),
            springs,
            masses: inverse_masses.iter().map(mass).collect(),
            tail: cycle::tail_of(&levels),
            levels,
            mean_edge: hierarchy.mean_edge,
            has_pins: inverse_masses.contains(&0.0),
        }
    }

    fn particle_count(&self) -> usize {
        self.masses.len()
    }
}

fn dot([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> f32 {
    a * x + b * y + c * z
}

fn add([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    [a + x, b + y, c + z]
}

fn subtract([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    [a - x, b - y, c - z]
}

fn scale([a, b, c]: [f32; 3], factor: f32) -> [f32; 3] {
    [a * factor, b * factor, c * factor]
}

impl Memory {
    /// Makes room for the solves of a cloth.
    pub fn new(plan: &Plan) -> Self {
        let zeros = || vec![[0.0; 3]; plan.particle_count()];
        Self {
            matrices: vec![[0.0; 4]; plan.springs.len()],
            inverses: vec![Symmetric::default(); plan.particle_count()],
            residuals: zeros(),
            moves: zeros(),
            directions: zeros(),
            products: zeros(),
            preconditioned: zeros(),
            levels: plan.levels.iter().map(LevelMemory::new).collect(),
        }
    }

    /// Solves a step: `moves` are the displacements of the particles from their `previous`
    /// positions, by external forces at first, then with those of the springs.
    pub fn solve(
        &mut self,
        plan: &Plan,
        step: &Step,
        previous: &[[f32; 3]],
        moves: &mut [[f32; 3]],
    ) {
        self.set_up(plan, step, previous, moves);
        let inertia = step.length.powi(-2);
        let count = plan.particle_count();
        self.moves.fill([0.0; 3]);
        self.precondition(plan);
        self.directions.clone_from(&self.preconditioned);
        let mut product = sum(count, |k| dot(self.residuals[k], self.preconditioned[k]));
        for iteration in 0..step.iterations {
            self.multiply(plan, inertia);
            let curvature = sum(count, |k| dot(self.directions[k], self.products[k]));
            let is_down = product > 0.0 && curvature > 0.0;
            let taken = if is_down { product / curvature } else { 0.0 };
            for k in 0..count {
                self.moves[k] = add(self.moves[k], scale(self.directions[k], taken));
                self.residuals[k] = subtract(self.residuals[k], scale(self.products[k], taken));
            }
            if iteration + 1 == step.iterations {
                break;
            }
            self.precondition(plan);
            let next = sum(count, |k| dot(self.residuals[k], self.preconditioned[k]));
            let mixed = if product > f32::MIN_POSITIVE { next / product } else { 0.0 };
            for k in 0..count {
                self.directions[k] = add(self.preconditioned[k], scale(self.directions[k], mixed));
            }
            product = next;
        }
        self.keep_momentum(plan);
        for (total, moved) in moves.iter_mut().zip(&self.moves) {
            *total = add(*total, *moved);
        }
    }

    /// Linearises the springs, and makes the residuals and the matrices of all levels.
    fn set_up(&mut self, plan: &Plan, step: &Step, previous: &[[f32; 3]], moves: &[[f32; 3]]) {
        let Step { length, gravity, .. } = *step;
        let fall = gravity * length * length / plan.mean_edge;
        let [least, most] = TRANSVERSE;
        let transverse = (TRANSVERSE_PER_FALL * fall).clamp(least, most);
        let inertia = length.powi(-2);
        let mut forces = std::mem::take(&mut self.products);
        forces.fill([0.0; 3]);
        for (spring, matrix) in plan.springs.iter().zip(&mut self.matrices) {
            let [a, b] = spring.ends.map(|end| end as usize);
            let edge = add(subtract(previous[b], previous[a]), subtract(moves[b], moves[a]));
            let now = dot(edge, edge).sqrt();
            let unit = if now > 0.0 { scale(edge, now.recip()) } else { [0.0; 3] };
            let k = spring.stiffness;
            let tension = k * (now - spring.rest_length);
            let pulled = if now > 0.0 { tension.max(0.0) / now } else { 0.0 };
            let t = transverse * k + pulled;
            let [x, y, z] = scale(unit, (k - t).max(0.0).sqrt());
            *matrix = [x, y, z, t];
            let force = scale(unit, tension);
            forces[a] = add(forces[a], force);
            forces[b] = subtract(forces[b], force);
        }
        for (k, &mass) in plan.masses.iter().enumerate() {
            let mut block = Symmetric::scalar(mass * inertia);
            for slot in plan.slots.row(k) {
                block.add_spring(self.matrices[slot.spring as usize], 1.0);
            }
            let is_free = mass > 0.0;
            self.inverses[k] = if is_free { block.inverse() } else { Symmetric::default() };
            self.residuals[k] = if is_free { forces[k] } else { [0.0; 3] };
        }
        self.products = forces;
        let matrices = &self.matrices;
        let of_particles = |source: u32, block: &mut Symmetric, factor: f32| {
            let source = source as usize;
            match source.checked_sub(matrices.len()) {
                None => block.add_spring(matrices[source], factor),
                Some(particle) => {
                    *block = block.plus(Symmetric::scalar(plan.masses[particle] * inertia * factor))
                }
            }
        };
        for (index, level) in plan.levels.iter().enumerate() {
            let (finer, coarser) = self.levels.split_at_mut(index);
            match finer.last() {
                None => coarser[0].set_up(level, of_particles),
                Some(finer) => coarser[0].set_up(level, |source, block, factor| {
                    *block = block.plus(finer.block(source).scaled(factor));
                }),
            }
        }
        if let (Some(plan), Some(level)) = (plan.levels.last(), self.levels.last_mut()) {
            level.invert(plan);
        }
    }

    /// Multiplies the search directions by the matrix of the cloth.
    fn multiply(&mut self, plan: &Plan, inertia: f32) {
        for (k, &mass) in plan.masses.iter().enumerate() {
            let own = self.directions[k];
            let mut product = scale(own, mass * inertia);
            for slot in plan.slots.row(k) {
                let [x, y, z, t] = self.matrices[slot.spring as usize];
                let apart = subtract(own, self.directions[slot.neighbour as usize]);
                let along = dot([x, y, z], apart);
                product = add(product, add(scale([x, y, z], along), scale(apart, t)));
            }
            self.products[k] = if mass > 0.0 { product } else { [0.0; 3] };
        }
    }

    /// Preconditions the residuals: the sum over all levels.
    fn precondition(&mut self, plan: &Plan) {
        for level in 0..=plan.tail {
            let (finer, coarser) = self.levels.split_at_mut(level);
            let residuals = finer.last().map_or(&self.residuals[..], |it| it.residuals());
            if let Some(coarser) = coarser.first_mut() {
                coarser.restrict(&plan.levels[level], residuals);
            }
        }
        cycle::solve_tail(&plan.levels, &mut self.levels, plan.tail);
        for level in (0..plan.tail).rev() {
            let (finer, coarser) = self.levels.split_at_mut(level + 1);
            finer[level].smooth(&plan.levels[level + 1], &coarser[0]);
        }
        for (k, out) in self.preconditioned.iter_mut().enumerate() {
            *out = scale(self.inverses[k].times(self.residuals[k]), JACOBI);
            if let (Some(level), Some(plan)) = (self.levels.first(), plan.levels.first()) {
                *out = add(*out, level.interpolated(plan, k));
            }
            if plan.masses[k] <= 0.0 {
                *out = [0.0; 3];
            }
        }
    }

    /// Removes the mean motion, which springs cannot cause, of a cloth without pins.
    fn keep_momentum(&mut self, plan: &Plan) {
        if plan.has_pins {
            return;
        }
        let count = plan.particle_count();
        let mass = sum(count, |k| plan.masses[k]);
        let mean: [f32; 3] =
            std::array::from_fn(|axis| sum(count, |k| plan.masses[k] * self.moves[k][axis]) / mass);
        self.moves.iter_mut().for_each(|moved| *moved = subtract(*moved, mean));
    }
}
