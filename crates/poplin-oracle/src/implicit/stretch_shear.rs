//! Stretch along two threads and shear between them.

use super::spring::{MIN_EDGE, blend};
use crate::vector::{along, dot, length};

/// `E = A/2 (Ku (|wu| - 1)^2 + Kv (|wv| - 1)^2 + G (wu . wv)^2)` of a triangle, with `wu`, `wv` the
/// derivatives of its position by rest coordinates (Baraff, Witkin, "Large Steps in Cloth
/// Simulation", 1998, eqs. 9 to 11).
///
/// Deviation: weighted by the area A once, as an energy density, where the paper's squared
/// conditions have A^2.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StretchShear {
    /// Weight of each corner in `wu` and in `wv` [1/m].
    pub weights: [[f64; 3]; 2],
    /// Area at rest [m^2].
    pub area: f64,
    /// Stiffnesses `Ku`, `Kv`: force per width over strain along either thread [N/m].
    pub stretch: [f64; 2],
    /// Stiffness `G`: force per width over the shear angle [N/m].
    pub shear: f64,
    /// Values of `|wu|`, `|wv|` and `wu . wv` at rest.
    pub rest: [f64; 3],
}

impl StretchShear {
    /// Creates a triangle with the given rest coordinates \[m\]; a degenerate triangle has no
    /// force.
    pub fn new(corners: [[f64; 2]; 3], stretch: [f64; 2], shear: f64) -> Self {
        let [[u1, v1], [u2, v2]] =
            [1, 2].map(|i| [corners[i][0] - corners[0][0], corners[i][1] - corners[0][1]]);
        let determinant = u1 * v2 - u2 * v1;
        let weights = if determinant == 0.0 {
            [[0.0; 3]; 2]
        } else {
            // wu = (v2 p - v1 q) / D, wv = (u1 q - u2 p) / D
            [[v2, -v1], [-u2, u1]].map(|[p, q]| [-p - q, p, q].map(|c| c / determinant))
        };
        Self { weights, area: 0.5 * determinant.abs(), stretch, shear, rest: [1.0, 1.0, 0.0] }
    }

    /// Energy \[J\].
    pub fn energy(&self, x: [[f64; 3]; 3]) -> f64 {
        let w = self.derivatives(x);
        let stretch: f64 = (0..2)
            .filter(|&i| length(w[i]) >= MIN_EDGE)
            .map(|i| self.stretch[i] * (length(w[i]) - self.rest[i]).powi(2))
            .sum();
        0.5 * self.area * (stretch + self.shear * (dot(w[0], w[1]) - self.rest[2]).powi(2))
    }

    /// Gradient at the corners \[N\].
    pub fn gradient(&self, x: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let w = self.derivatives(x);
        let shear = self.shear * (dot(w[0], w[1]) - self.rest[2]);
        self.at_corners([0, 1].map(|i| {
            let length = length(w[i]);
            let slack = if length < MIN_EDGE { 0.0 } else { 1.0 - self.rest[i] / length };
            along(w[i].map(|w| self.stretch[i] * slack * w), w[1 - i], shear)
        }))
    }

    /// Returns the product of the positive semi-definite part of the Hessian and displacements
    /// \[N\]: `1 - rest/|w|` is clamped to 0, and the shear force keeps its direction.
    pub fn hessian_product(&self, x: [[f64; 3]; 3], v: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let (w, dw) = (self.derivatives(x), self.derivatives(v));
        let shear = self.shear * (dot(dw[0], w[1]) + dot(w[0], dw[1]));
        self.at_corners([0, 1].map(|i| {
            let length = length(w[i]);
            let stretch = if length < MIN_EDGE {
                [0.0; 3]
            } else {
                let across = (1.0 - self.rest[i] / length).max(0.0);
                let projected = (1.0 - across) * dot(w[i], dw[i]) / length.powi(2);
                along(dw[i].map(|d| across * d), w[i], projected)
            };
            along(stretch.map(|s| self.stretch[i] * s), w[1 - i], shear)
        }))
    }

    /// Returns the triangle that also resists the change since `previous`; see
    /// [`super::Law::damped`].
    #[must_use]
    pub fn damped(self, previous: [[f64; 3]; 3], ratio: f64) -> Self {
        let w = self.derivatives(previous);
        let before = [length(w[0]), length(w[1]), dot(w[0], w[1])];
        Self {
            stretch: self.stretch.map(|k| k * (1.0 + ratio)),
            shear: self.shear * (1.0 + ratio),
            rest: std::array::from_fn(|i| blend(self.rest[i], before[i], ratio)),
            ..self
        }
    }

    /// Returns `wu` and `wv`.
    fn derivatives(&self, x: [[f64; 3]; 3]) -> [[f64; 3]; 2] {
        self.weights.map(|c| along(along(x[0].map(|x| c[0] * x), x[1], c[1]), x[2], c[2]))
    }

    /// Returns `A (cu P_u + cv P_v)` at each corner, from the derivatives by `wu` and `wv`.
    fn at_corners(&self, p: [[f64; 3]; 2]) -> [[f64; 3]; 3] {
        let [cu, cv] = self.weights;
        [0, 1, 2].map(|i| along(p[0].map(|p| self.area * cu[i] * p), p[1], self.area * cv[i]))
    }
}
