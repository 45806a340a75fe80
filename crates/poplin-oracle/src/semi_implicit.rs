//! Chain of edges, solved as one dense system.

use super::SoftRange;
use super::vector::{along, dot, length, minus};

/// Edges of a chain over one step.
#[derive(Debug, Clone, Copy)]
pub struct Chain<'a> {
    /// Positions of the particles \[m\].
    pub positions: &'a [[f64; 3]],
    /// Positions at the start of the step \[m\].
    pub previous: &'a [[f64; 3]],
    /// Inverse masses [1/kg].
    pub inverse_masses: &'a [f64],
    /// Rest length of each edge \[m\].
    pub rest_lengths: &'a [f64],
    /// Compliance of each edge over the squared step [1/kg].
    pub compliance: f64,
    /// Compliance times damping coefficient over the step.
    pub damping: f64,
    /// Fraction of the errors that is removed.
    pub stiffness: f64,
    /// Range in which edges are softer, if any.
    pub soft: Option<SoftRange>,
}

impl Chain<'_> {
    /// Returns whether an edge of length `length` is in its soft range, and the length error to
    /// correct.
    ///
    /// Within the range the whole error is corrected by a compliant edge; outside, the fraction
    /// `multiplier` of the limit's error stays.
    fn error(&self, length: f64, rest_length: f64) -> (bool, f64) {
        let error = length - rest_length;
        let Some(soft) = self
            .soft
            .filter(|soft| soft.compression_limit < soft.stretch_limit && soft.multiplier > 0.0)
        else {
            return (false, error);
        };
        let relative = 1.0 - rest_length / length;
        let limits = [1.0 - 1.0 / soft.compression_limit, 1.0 - 1.0 / soft.stretch_limit];
        let left = relative.clamp(limits[0], limits[1]);
        if left == relative {
            (true, error)
        } else {
            (false, error - soft.multiplier * left * length)
        }
    }
}

/// Solution of the system of a chain.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainSolution {
    /// New positions \[m\].
    pub positions: Vec<[f64; 3]>,
    /// Infinity norm of the inverse of the system \[kg\].
    pub inverse_norm: f64,
    /// Infinity norm of the system [1/kg].
    pub norm: f64,
    /// Largest multiplier [kg m].
    pub multiplier: f64,
}

/// Moves the particles so that `((1 + damping) G W G^T + compliance I) lambda = -stiffness C -
/// damping G (x - x_previous)` and `x += W G^T lambda` (Macklin, Müller, Chentanez, "XPBD", 2016,
/// eq. 26, for all edges at once; with a stiffness of 1 and without compliance Kim, "Character
/// Clothing in PhysX-3", 2011). An edge in its soft range, where a fraction 1 - m of its error is
/// corrected, has m / (1 - m) times the sum of its inverse masses as a compliance. Edges between
/// pins, without length or without rest length do nothing.
pub fn solve_chain(chain: &Chain<'_>) -> ChainSolution {
    let (x, w) = (chain.positions, chain.inverse_masses);
    let count = chain.rest_lengths.len();
    let is_active = |j: usize| {
        w[j] + w[j + 1] > 0.0
            && chain.rest_lengths[j] > 2e-7
            && length(minus(x[j + 1], x[j])) > 1e-15
    };
    let edges: Vec<usize> = (0..count).filter(|&j| is_active(j)).collect();
    // Gradient of the length of edge j at particle i.
    let gradient = |j: usize, i: usize| {
        let delta = minus(x[j + 1], x[j]);
        let sign = if i == j + 1 {
            1.0
        } else if i == j {
            -1.0
        } else {
            0.0
        };
        delta.map(|d| sign * d / length(delta))
    };
    let entry = |&j: &usize, &k: &usize| {
        let shared: f64 = (0..x.len()).map(|i| w[i] * dot(gradient(j, i), gradient(k, i))).sum();
        let (is_soft, _) = chain.error(length(minus(x[j + 1], x[j])), chain.rest_lengths[j]);
        let give = chain
            .soft
            .filter(|_| is_soft)
            .map_or(0.0, |soft| soft.multiplier / (1.0 - soft.multiplier).max(1e-6));
        (1.0 + chain.damping) * shared
            + if j == k { chain.compliance + give * (w[j] + w[j + 1]) } else { 0.0 }
    };
    let matrix: Vec<Vec<f64>> =
        edges.iter().map(|j| edges.iter().map(|k| entry(j, k)).collect()).collect();
    let right: Vec<f64> = edges
        .iter()
        .map(|&j| {
            let rate: f64 =
                (j..=j + 1).map(|i| dot(gradient(j, i), minus(x[i], chain.previous[i]))).sum();
            -chain.stiffness * chain.error(length(minus(x[j + 1], x[j])), chain.rest_lengths[j]).1
                - chain.damping * rate
        })
        .collect();
    let inverse = invert(&matrix);
    let lambda: Vec<f64> =
        inverse.iter().map(|row| row.iter().zip(&right).map(|(a, b)| a * b).sum()).collect();
    let mut positions = x.to_vec();
    for (&j, &lambda) in edges.iter().zip(&lambda) {
        for i in [j, j + 1] {
            positions[i] = along(positions[i], gradient(j, i), w[i] * lambda);
        }
    }
    let norm = |matrix: &[Vec<f64>]| {
        matrix.iter().map(|row| row.iter().map(|x| x.abs()).sum()).fold(0.0, f64::max)
    };
    let multiplier = lambda.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    ChainSolution { positions, inverse_norm: norm(&inverse), norm: norm(&matrix), multiplier }
}

/// Inverts a matrix by Gauss-Jordan elimination, with the largest pivot of each column.
fn invert(matrix: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = matrix.len();
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            matrix[i]
                .iter()
                .copied()
                .chain((0..n).map(|j| if i == j { 1.0 } else { 0.0 }))
                .collect()
        })
        .collect();
    for column in 0..n {
        let best = (column..n)
            .max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))
            .unwrap_or(column);
        rows.swap(column, best);
        let pivot = rows[column][column];
        rows[column].iter_mut().for_each(|x| *x /= pivot);
        for other in (0..n).filter(|&other| other != column) {
            let factor = rows[other][column];
            let pivot_row = rows[column].clone();
            rows[other].iter_mut().zip(pivot_row).for_each(|(x, p)| *x -= factor * p);
        }
    }
    rows.into_iter().map(|row| row[n..].to_vec()).collect()
}
