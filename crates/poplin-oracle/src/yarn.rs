//! Chain of points on edges, each shared by the particles at its ends.

use super::vector::{along, dot, length, minus};

/// Yarn over one step.
#[derive(Debug, Clone)]
pub struct YarnStep {
    /// Positions of the particles at the start of the step \[m\].
    pub previous: Vec<[f64; 3]>,
    /// Inverse masses of the particles [1/kg].
    pub inverse_masses: Vec<f64>,
    /// Ends of the edge of each point and the weight of the second.
    pub points: Vec<([usize; 2], f64)>,
    /// Factors on the inverse masses of the ends in the mobility of each point.
    pub shares: Vec<[f64; 2]>,
    /// Length of each segment at rest \[m\].
    pub rest_lengths: Vec<f64>,
    /// Compliance of each segment over the squared step [1/kg].
    pub compliances: Vec<f64>,
    /// Damping time over the step.
    pub damping: f64,
}

/// Returns the new positions of the particles: `((1 + damping) V + c) lambda = -C - damping grad C
/// (x - x_previous)` for all segments, by dense elimination, and `x += W G^T lambda` with the true
/// inverse masses. `V = G_p diag(v) G_p^T` is the matrix of free points of the inverse masses
/// `v = share_a w_a + share_b w_b` (Macklin, Müller, Chentanez, "XPBD", 2016, eq. 26, with V for `G
/// W G^T`).
pub fn solve_yarn(positions: &[[f64; 3]], yarn: &YarnStep) -> Vec<[f64; 3]> {
    let at = |x: &[[f64; 3]], point: usize| {
        let ([a, b], weight) = yarn.points[point];
        along(x[a], minus(x[b], x[a]), weight)
    };
    let mobility = |point: usize| {
        let ([a, b], _) = yarn.points[point];
        let [first, second] = yarn.shares[point];
        first * yarn.inverse_masses[a] + second * yarn.inverse_masses[b]
    };
    let count = yarn.rest_lengths.len();
    let deltas: Vec<_> =
        (0..count).map(|k| minus(at(positions, k + 1), at(positions, k))).collect();
    let units: Vec<_> = deltas.iter().map(|&d| d.map(|x| x / length(d))).collect();
    let mut matrix = vec![vec![0.0; count]; count];
    let mut right = vec![0.0; count];
    for k in 0..count {
        let masses = mobility(k) + mobility(k + 1);
        matrix[k][k] = (1.0 + yarn.damping) * masses + yarn.compliances[k];
        if k > 0 {
            let coupling = -(1.0 + yarn.damping) * mobility(k) * dot(units[k - 1], units[k]);
            (matrix[k][k - 1], matrix[k - 1][k]) = (coupling, coupling);
        }
        let before = minus(at(&yarn.previous, k + 1), at(&yarn.previous, k));
        let moved = dot(units[k], minus(deltas[k], before));
        right[k] = yarn.rest_lengths[k] - length(deltas[k]) - yarn.damping * moved;
    }
    let lambdas = eliminate(matrix, right);
    let mut moved = positions.to_vec();
    for (k, lambda) in lambdas.into_iter().enumerate() {
        for (point, sign) in [(k, -1.0), (k + 1, 1.0)] {
            let ([a, b], weight) = yarn.points[point];
            for (end, weight) in [(a, 1.0 - weight), (b, weight)] {
                let pull = sign * lambda * weight * yarn.inverse_masses[end];
                moved[end] = along(moved[end], units[k], pull);
            }
        }
    }
    moved
}

/// Solves a positive definite system by elimination.
fn eliminate(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let count = right.len();
    for k in 0..count {
        let (above, below) = matrix.split_at_mut(k + 1);
        let (pivot, value) = (&above[k], right[k]);
        for (row, right) in below.iter_mut().zip(&mut right[k + 1..]) {
            let factor = row[k] / pivot[k];
            row.iter_mut().zip(pivot).for_each(|(entry, above)| *entry -= factor * above);
            *right -= factor * value;
        }
    }
    for k in (0..count).rev() {
        let later: f64 = (k + 1..count).map(|column| matrix[k][column] * right[column]).sum();
        right[k] = (right[k] - later) / matrix[k][k];
    }
    right
}
