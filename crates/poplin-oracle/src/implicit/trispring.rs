//! Trispring: a triangle as three coupled springs.

use super::spring::blend;
use crate::vector::{cross, dot, length, minus};

/// `E = 1/2 D^T Q D` with `D_i = l_i^2 - L_i^2` of the edge opposite corner i: the isotropic St
/// Venant-Kirchhoff membrane (Delingette, "Triangular Springs for Modeling Nonlinear Membranes",
/// 2008).
///
/// `Q = ((lam + 2 mu) c c^T + mu (2 I - 1 1^T)) / (16 A)` with the cotangents c of the corners at
/// rest, `lam = K nu / (1 - nu^2)` and `mu = K / (2 (1 + nu))`. The paper's tensile and angular
/// stiffnesses are the entries of Q.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trispring {
    /// Matrix Q [N/m^3].
    pub stiffness: [[f64; 3]; 3],
    /// Squares of the rest lengths, `L_i^2` [m^2].
    pub rest_squares: [f64; 3],
}

impl Trispring {
    /// Creates a triangle with the given corners at rest \[m\], force per width over strain
    /// `stretch` [N/m] and Poisson ratio; a degenerate triangle has no force.
    pub fn new(corners: [[f64; 3]; 3], stretch: f64, poisson_ratio: f64) -> Self {
        let edges = edges(corners);
        let double_area = length(cross(edges[0], edges[1]));
        let lambda = stretch * poisson_ratio / (1.0 - poisson_ratio.powi(2));
        let mu = stretch / (2.0 * (1.0 + poisson_ratio));
        let cotangent = |i: usize| -dot(edges[(i + 1) % 3], edges[(i + 2) % 3]) / double_area;
        let entry = |i: usize, j: usize| {
            let coupling = if i == j { 1.0 } else { -1.0 };
            ((lambda + 2.0 * mu) * cotangent(i) * cotangent(j) + mu * coupling)
                / (8.0 * double_area)
        };
        let stiffness = if double_area == 0.0 {
            [[0.0; 3]; 3]
        } else {
            std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
        };
        Self { stiffness, rest_squares: edges.map(|e| dot(e, e)) }
    }

    /// Energy \[J\].
    pub fn energy(&self, x: [[f64; 3]; 3]) -> f64 {
        let d = self.elongations(x);
        0.5 * dot(d, self.times(d))
    }

    /// Gradient at the corners \[N\]; it needs no square root.
    pub fn gradient(&self, x: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let tensions = self.times(self.elongations(x)).map(|t| 2.0 * t);
        let edges = edges(x);
        at_corners([0, 1, 2].map(|i| edges[i].map(|e| tensions[i] * e)))
    }

    /// Positive semi-definite part of the Hessian, `grad D^T Q grad D` and tensions above 0, times
    /// displacements \[N\].
    pub fn hessian_product(&self, x: [[f64; 3]; 3], v: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let (e, d) = (edges(x), edges(v));
        let tensions = self.times(self.elongations(x)).map(|t| (2.0 * t).max(0.0));
        let change = self.times([0, 1, 2].map(|i| 2.0 * dot(e[i], d[i])));
        at_corners(
            [0, 1, 2].map(|i| [0, 1, 2].map(|k| 2.0 * change[i] * e[i][k] + tensions[i] * d[i][k])),
        )
    }

    /// Returns the triangle that also resists the change since `previous`; see
    /// [`super::Law::damped`].
    #[must_use]
    pub fn damped(self, previous: [[f64; 3]; 3], ratio: f64) -> Self {
        let before = edges(previous).map(|e| dot(e, e));
        Self {
            stiffness: self.stiffness.map(|row| row.map(|q| q * (1.0 + ratio))),
            rest_squares: [0, 1, 2].map(|i| blend(self.rest_squares[i], before[i], ratio)),
        }
    }

    fn elongations(&self, x: [[f64; 3]; 3]) -> [f64; 3] {
        let edges = edges(x);
        [0, 1, 2].map(|i| dot(edges[i], edges[i]) - self.rest_squares[i])
    }

    fn times(&self, d: [f64; 3]) -> [f64; 3] {
        self.stiffness.map(|row| dot(row, d))
    }
}

/// Returns the edge opposite each corner, counterclockwise.
fn edges(x: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    [0, 1, 2].map(|i| minus(x[(i + 2) % 3], x[(i + 1) % 3]))
}

/// Sums the force at the end of each edge and its negative at the start.
fn at_corners(ends: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    [0, 1, 2].map(|i| minus(ends[(i + 1) % 3], ends[(i + 2) % 3]))
}
