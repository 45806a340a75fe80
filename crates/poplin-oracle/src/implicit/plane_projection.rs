//! Bending by the distance of each far corner from the plane of the other triangle.

use super::hinge::Hinge;
use super::spring::blend;
use crate::vector::dot;

/// `E = k/4 ((d3/H3 - sin theta0)^2 + (d2/H2 - sin theta0)^2)`, d the depth of a far corner behind
/// the plane of the other triangle and H its height over the edge at rest: `d/H = sin theta` while
/// the triangles keep their shape.
///
/// The seed calls this "plane projection" without a definition. It needs no trigonometry, is `k/2
/// (theta - theta0)^2` for small angles, and has no restoring force beyond 90 degrees: rest angles
/// must be within 1.2 rad.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlaneProjection {
    /// Stiffness k: bending rigidity times weight [N m/rad].
    pub stiffness: f64,
    /// Heights of p2 and p3 over the edge at rest \[m\].
    pub heights: [f64; 2],
    /// Ratios `d/H` of p2 and p3 at rest.
    pub rest: [f64; 2],
}

impl PlaneProjection {
    /// Creates a bend with the given positions \[m\] and rest angle \[rad\]; `None` if a triangle
    /// has no height.
    pub fn new(rest: [[f64; 3]; 4], stiffness: f64, rest_angle: f64) -> Option<Self> {
        let heights = Hinge::new(rest)?.heights();
        Some(Self { stiffness, heights, rest: [rest_angle.sin(); 2] })
    }

    /// Energy \[J\].
    pub fn energy(&self, x: [[f64; 3]; 4]) -> f64 {
        Hinge::new(x).map_or(0.0, |hinge| {
            let [a, b] = self.errors(&hinge);
            0.25 * self.stiffness * (a * a + b * b)
        })
    }

    /// Gradient at the particles \[N\].
    pub fn gradient(&self, x: [[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let Some(hinge) = Hinge::new(x) else { return [[0.0; 3]; 4] };
        self.combine(&hinge, self.errors(&hinge))
    }

    /// Positive semi-definite part of the Hessian, without second derivatives of d, times
    /// displacements \[N\].
    pub fn hessian_product(&self, x: [[f64; 3]; 4], v: [[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let Some(hinge) = Hinge::new(x) else { return [[0.0; 3]; 4] };
        let gradients = hinge.depth_gradients();
        self.combine(
            &hinge,
            [0, 1].map(|k: usize| {
                let change: f64 = gradients[k].iter().zip(v).map(|(&g, v)| dot(g, v)).sum();
                change / self.heights[k]
            }),
        )
    }

    /// Returns the bend that also resists the change since `previous`; see [`super::Law::damped`].
    #[must_use]
    pub fn damped(self, previous: [[f64; 3]; 4], ratio: f64) -> Self {
        let Some(hinge) = Hinge::new(previous) else { return self };
        let depths = hinge.depths();
        Self {
            stiffness: self.stiffness * (1.0 + ratio),
            rest: [0, 1].map(|k| blend(self.rest[k], depths[k] / self.heights[k], ratio)),
            ..self
        }
    }

    fn errors(&self, hinge: &Hinge) -> [f64; 2] {
        let depths = hinge.depths();
        [0, 1].map(|k| depths[k] / self.heights[k] - self.rest[k])
    }

    /// Returns `k/2 sum_j errors_j grad d_j / H_j`.
    fn combine(&self, hinge: &Hinge, errors: [f64; 2]) -> [[f64; 3]; 4] {
        let gradients = hinge.depth_gradients();
        let factors = [0, 1].map(|k| 0.5 * self.stiffness * errors[k] / self.heights[k]);
        std::array::from_fn(|i| {
            [0, 1, 2].map(|k| factors[0] * gradients[0][i][k] + factors[1] * gradients[1][i][k])
        })
    }
}
