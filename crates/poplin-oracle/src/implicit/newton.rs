//! Newton's method with preconditioned conjugate gradients.

use super::block::{Block, inverse, product, sum, times, transposed};
use super::conjugate_gradients::add;
use super::objective::{Objective, longest};
use crate::vector::{along, dot};
use std::collections::BTreeMap;

/// Preconditioner of the linear system.
#[derive(Debug, Clone, Copy)]
pub enum Preconditioner<'a> {
    /// Inverse 3 x 3 blocks of the diagonal.
    Jacobi,
    /// Mean over the families of the inverse of the block-tridiagonal part along the fibers of
    /// each. A family is a list of fibers that together have every particle once.
    Fibers(&'a [Vec<Vec<usize>>]),
}

/// Result of Newton's method.
#[derive(Debug, Clone, PartialEq)]
pub struct NewtonMinimum {
    /// Displacements \[m\].
    pub displacements: Vec<[f64; 3]>,
    /// True if the residual is within the tolerance.
    pub is_converged: bool,
    /// Number of linear systems.
    pub systems: usize,
    /// Number of iterations of conjugate gradients in all of them.
    pub iterations: usize,
    /// Largest residual at the end \[m\].
    pub residual: f64,
}

/// Fraction of the residual to which a linear system is solved, if that exceeds a quarter of the
/// tolerance.
const FORCING: f64 = 0.1;

/// Largest number of linear systems.
const SYSTEM_LIMIT: usize = 400;

/// Minimizes by Newton's method with the positive semi-definite Hessian, from the displacements
/// `start` \[m\], until no residual exceeds `tolerance` \[m\]; at most `iterations` of conjugate
/// gradients (Hestenes, Stiefel, 1952).
///
/// Steps are not damped: the positive semi-definite Hessian of a spring bounds its energy from
/// above, and no line search was ever needed with it.
pub fn minimize_by_newton(
    objective: &Objective<'_>,
    start: &[[f64; 3]],
    preconditioner: Preconditioner<'_>,
    tolerance: f64,
    iterations: usize,
) -> NewtonMinimum {
    let mut u = start.to_vec();
    let mut found = NewtonMinimum {
        displacements: Vec::new(),
        is_converged: false,
        systems: 0,
        iterations: 0,
        residual: 0.0,
    };
    loop {
        let r = objective.residual(&u, &objective.bend_gradient(&u));
        found.residual = longest(&r);
        found.is_converged = found.residual <= tolerance;
        let is_over = found.systems == SYSTEM_LIMIT || found.iterations >= iterations;
        if found.is_converged || is_over || !found.residual.is_finite() {
            found.displacements = u;
            return found;
        }
        let system = System::new(objective, &u);
        let goal = (FORCING * found.residual).max(0.25 * tolerance);
        let left = iterations - found.iterations;
        let (step, count) = system.solve(&r, &system.factor(preconditioner), goal, left);
        found.systems += 1;
        found.iterations += count;
        u = add(&u, &step, 1.0);
    }
}

/// System matrix `m/h^2 + H` in blocks, with the identity for immovable particles.
struct System {
    /// Columns and blocks of each row.
    rows: Vec<Vec<(usize, Block)>>,
    /// Inertia `m/h^2`, 0 for immovable particles [kg/s^2].
    inertias: Vec<f64>,
}

/// Factors of block-tridiagonal matrices along fibers.
struct Factors {
    families: Vec<Vec<FiberFactor>>,
}

/// Factors `L D L^T` along one fiber.
struct FiberFactor {
    particles: Vec<usize>,
    inverse_pivots: Vec<Block>,
    /// Block of `L` below each pivot.
    lower: Vec<Block>,
}

impl System {
    fn new(objective: &Objective<'_>, u: &[[f64; 3]]) -> Self {
        let inertia = |&w: &f64| if w > 0.0 { 1.0 / (w * objective.step.powi(2)) } else { 0.0 };
        let inertias: Vec<f64> = objective.inverse_masses.iter().map(inertia).collect();
        let diagonal = |m: f64| [[m, 0.0, 0.0], [0.0, m, 0.0], [0.0, 0.0, m]];
        let mut rows: Vec<BTreeMap<usize, Block>> = inertias
            .iter()
            .enumerate()
            .map(|(i, &m)| [(i, diagonal(if m > 0.0 { m } else { 1.0 }))].into())
            .collect();
        for element in objective.elements() {
            let blocks = element.hessian(objective.local(element, u));
            for (a, &i) in element.members().iter().enumerate().filter(|(_, i)| inertias[**i] > 0.0)
            {
                for (b, &j) in
                    element.members().iter().enumerate().filter(|(_, j)| inertias[**j] > 0.0)
                {
                    let block = rows[i].entry(j).or_default();
                    *block = sum(block, &blocks[a][b], 1.0);
                }
            }
        }
        for (i, plane, _) in objective.touched(u).filter(|(i, ..)| inertias[*i] > 0.0) {
            let n = plane.normal;
            let block = rows[i].entry(i).or_default();
            *block = sum(block, &n.map(|a| n.map(|b| a * b)), plane.stiffness);
        }
        Self { rows: rows.into_iter().map(|row| row.into_iter().collect()).collect(), inertias }
    }

    fn product(&self, v: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let row = |row: &Vec<(usize, Block)>| {
            row.iter().fold([0.0; 3], |sum, (j, block)| along(sum, times(block, v[*j]), 1.0))
        };
        self.rows.iter().map(row).collect()
    }

    fn block(&self, i: usize, j: usize) -> Block {
        self.rows[i].iter().find(|entry| entry.0 == j).map_or_else(Block::default, |entry| entry.1)
    }

    fn factor(&self, preconditioner: Preconditioner<'_>) -> Factors {
        let singles = || (0..self.rows.len()).map(|i| self.factor_fiber(&[i])).collect();
        let families = match preconditioner {
            Preconditioner::Jacobi => vec![singles()],
            Preconditioner::Fibers(families) => families
                .iter()
                .map(|family| family.iter().map(|fiber| self.factor_fiber(fiber)).collect())
                .collect(),
        };
        Factors { families }
    }

    fn factor_fiber(&self, particles: &[usize]) -> FiberFactor {
        let mut inverse_pivots: Vec<Block> = Vec::with_capacity(particles.len());
        let mut lower: Vec<Block> = Vec::with_capacity(particles.len());
        for (k, &i) in particles.iter().enumerate() {
            let mut pivot = self.block(i, i);
            if k > 0 {
                let coupling = self.block(i, particles[k - 1]);
                let factor = product(&coupling, &inverse_pivots[k - 1]);
                pivot = sum(&pivot, &product(&factor, &transposed(&coupling)), -1.0);
                lower.push(factor);
            }
            inverse_pivots.push(inverse(&pivot));
        }
        FiberFactor { particles: particles.to_vec(), inverse_pivots, lower }
    }

    /// Returns the displacements that reduce the residual `r` \[m\] to `goal` \[m\], and the number
    /// of iterations.
    fn solve(
        &self,
        r: &[[f64; 3]],
        factors: &Factors,
        goal: f64,
        iterations: usize,
    ) -> (Vec<[f64; 3]>, usize) {
        let inner = |a: &[[f64; 3]], b: &[[f64; 3]]| -> f64 {
            a.iter().zip(b).map(|(&a, &b)| dot(a, b)).sum()
        };
        let in_metres = |forces: &[[f64; 3]]| {
            let scaled = forces.iter().zip(&self.inertias).filter(|(_, m)| **m > 0.0);
            longest(&scaled.map(|(f, m)| f.map(|f| f / m)).collect::<Vec<_>>())
        };
        let mut forces: Vec<[f64; 3]> =
            r.iter().zip(&self.inertias).map(|(r, m)| r.map(|r| r * m)).collect();
        let mut x = vec![[0.0; 3]; r.len()];
        let mut z = factors.apply(&forces);
        let mut p = z.clone();
        let mut rz = inner(&forces, &z);
        for k in 0..iterations {
            if in_metres(&forces) <= goal {
                return (x, k);
            }
            let hp = self.product(&p);
            let a = rz / inner(&p, &hp);
            x = add(&x, &p, a);
            forces = add(&forces, &hp, -a);
            z = factors.apply(&forces);
            let next = inner(&forces, &z);
            p = add(&z, &p, next / rz);
            rz = next;
        }
        (x, iterations)
    }
}

impl Factors {
    fn apply(&self, forces: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let mut mean = vec![[0.0; 3]; forces.len()];
        let weight = 1.0 / self.families.len() as f64;
        for fiber in self.families.iter().flatten() {
            let mut y: Vec<[f64; 3]> = fiber.particles.iter().map(|&i| forces[i]).collect();
            for k in 1..y.len() {
                y[k] = along(y[k], times(&fiber.lower[k - 1], y[k - 1]), -1.0);
            }
            for (y, inverse_pivot) in y.iter_mut().zip(&fiber.inverse_pivots) {
                *y = times(inverse_pivot, *y);
            }
            for k in (1..y.len()).rev() {
                y[k - 1] = along(y[k - 1], times(&transposed(&fiber.lower[k - 1]), y[k]), -1.0);
            }
            for (&i, y) in fiber.particles.iter().zip(y) {
                mean[i] = along(mean[i], y, weight);
            }
        }
        mean
    }
}
