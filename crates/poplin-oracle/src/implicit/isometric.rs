//! Bending energy that is quadratic in positions.

use super::hinge::Hinge;
use super::spring::blend;

/// `E = k/2 |sum c_i x_i|^2` with the cotangent weights of a flat rest shape: for an inextensible
/// surface `k/2 (2 sin(theta/2))^2` (Bergou, Wardetzky, Harmon, Zorin, Grinspun, "A Quadratic
/// Bending Model for Inextensible Surfaces", 2006). The Hessian is constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Isometric {
    /// Stiffness k: bending rigidity times weight [N m/rad].
    pub stiffness: f64,
    /// Weights c of the particles [1/m].
    pub weights: [f64; 4],
    /// Value of `sum c_i x_i` at rest.
    pub rest: [f64; 3],
}

impl Isometric {
    /// Creates a bend that is flat at rest, with the given positions \[m\]; `None` if a triangle
    /// has no height.
    pub fn new(rest: [[f64; 3]; 4], stiffness: f64) -> Option<Self> {
        Some(Self { stiffness, weights: Hinge::new(rest)?.laplacian(), rest: [0.0; 3] })
    }

    /// Energy \[J\].
    pub fn energy(&self, x: [[f64; 3]; 4]) -> f64 {
        0.5 * self.stiffness * self.error(x).iter().map(|e| e * e).sum::<f64>()
    }

    /// Gradient at the particles \[N\].
    pub fn gradient(&self, x: [[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let error = self.error(x);
        self.weights.map(|c| error.map(|e| self.stiffness * c * e))
    }

    /// Hessian, times displacements \[N\].
    pub fn hessian_product(&self, v: [[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let change = self.laplacian(v);
        self.weights.map(|c| change.map(|e| self.stiffness * c * e))
    }

    /// Returns the bend that also resists the change since `previous`; see [`super::Law::damped`].
    #[must_use]
    pub fn damped(self, previous: [[f64; 3]; 4], ratio: f64) -> Self {
        let before = self.laplacian(previous);
        Self {
            stiffness: self.stiffness * (1.0 + ratio),
            rest: [0, 1, 2].map(|k| blend(self.rest[k], before[k], ratio)),
            ..self
        }
    }

    fn laplacian(&self, x: [[f64; 3]; 4]) -> [f64; 3] {
        [0, 1, 2].map(|k| (0..4).map(|i| self.weights[i] * x[i][k]).sum())
    }

    fn error(&self, x: [[f64; 3]; 4]) -> [f64; 3] {
        let laplacian = self.laplacian(x);
        [0, 1, 2].map(|k| laplacian[k] - self.rest[k])
    }
}
