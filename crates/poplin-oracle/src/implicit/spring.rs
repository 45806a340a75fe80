//! Springs along edges.

use crate::vector::{along, dot, length, minus};

/// Length below which an edge has no direction \[m\].
pub(super) const MIN_EDGE: f64 = 1e-12;

/// `E = k/2 (l - L)^2` between two particles, times [`compression`](Self::compression) below L
/// (Provot, 1995).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spring {
    /// Stiffness k [N/m].
    pub stiffness: f64,
    /// Rest length L \[m\].
    pub rest_length: f64,
    /// Factor of the stiffness where the spring is shorter than L, `0..=1`.
    pub compression: f64,
}

impl Spring {
    /// Energy \[J\].
    pub fn energy(&self, x: [[f64; 3]; 2]) -> f64 {
        self.stretch(x).map_or(0.0, |(_, length, k)| 0.5 * k * (length - self.rest_length).powi(2))
    }

    /// Gradient at both ends \[N\].
    pub fn gradient(&self, x: [[f64; 3]; 2]) -> [[f64; 3]; 2] {
        let Some((e, length, k)) = self.stretch(x) else { return [[0.0; 3]; 2] };
        let at_b = e.map(|e| k * (length - self.rest_length) * e);
        [at_b.map(|g| -g), at_b]
    }

    /// Positive semi-definite part of the Hessian, `k (e e^T + max(0, 1 - L/l)(1 - e e^T))`, times
    /// displacements \[N\].
    pub fn hessian_product(&self, x: [[f64; 3]; 2], v: [[f64; 3]; 2]) -> [[f64; 3]; 2] {
        let Some((e, length, k)) = self.stretch(x) else { return [[0.0; 3]; 2] };
        let d = minus(v[1], v[0]);
        let across = (1.0 - self.rest_length / length).max(0.0);
        let at_b = along(d.map(|d| k * across * d), e, k * (1.0 - across) * dot(e, d));
        [at_b.map(|g| -g), at_b]
    }

    /// Returns the spring that also resists the change of its length since `previous`; see
    /// [`super::Law::damped`].
    #[must_use]
    pub fn damped(self, previous: [[f64; 3]; 2], ratio: f64) -> Self {
        let rest_length = blend(self.rest_length, length(minus(previous[1], previous[0])), ratio);
        Self { stiffness: self.stiffness * (1.0 + ratio), rest_length, ..self }
    }

    /// Returns current direction, length and stiffness; `None` if both ends coincide.
    fn stretch(&self, [a, b]: [[f64; 3]; 2]) -> Option<([f64; 3], f64, f64)> {
        let edge = minus(b, a);
        let length = length(edge);
        let factor = if length < self.rest_length { self.compression } else { 1.0 };
        (length >= MIN_EDGE).then(|| (edge.map(|x| x / length), length, self.stiffness * factor))
    }
}

/// Returns `(rest + ratio previous) / (1 + ratio)`: the minimum of `k/2 (C - rest)^2 + ratio k/2 (C
/// - previous)^2`.
pub(super) fn blend(rest: f64, previous: f64, ratio: f64) -> f64 {
    (rest + ratio * previous) / (1.0 + ratio)
}
