//! Bending by the dihedral angle.

use super::hinge::Hinge;
use super::spring::blend;
use crate::vector::dot;

/// `E = k/2 (theta - theta0)^2` (Grinspun, Hirani, Desbrun, Schroeder, "Discrete Shells", 2003;
/// gradient of Bridson, Marino, Fedkiw, 2003), with the error in (-pi, pi].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaceAngle {
    /// Stiffness k: bending rigidity times weight [N m/rad].
    pub stiffness: f64,
    /// Angle at rest \[rad\].
    pub rest_angle: f64,
}

impl FaceAngle {
    /// Energy \[J\].
    pub fn energy(&self, x: [[f64; 3]; 4]) -> f64 {
        Hinge::new(x).map_or(0.0, |hinge| 0.5 * self.stiffness * self.error(&hinge).powi(2))
    }

    /// Gradient at the particles \[N\].
    pub fn gradient(&self, x: [[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let Some(hinge) = Hinge::new(x) else { return [[0.0; 3]; 4] };
        let moment = self.stiffness * self.error(&hinge);
        hinge.angle_gradient().map(|g| g.map(|g| moment * g))
    }

    /// Positive semi-definite part of the Hessian, `k grad grad^T`, times displacements \[N\].
    pub fn hessian_product(&self, x: [[f64; 3]; 4], v: [[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let Some(hinge) = Hinge::new(x) else { return [[0.0; 3]; 4] };
        let gradient = hinge.angle_gradient();
        let change: f64 = gradient.iter().zip(v).map(|(&g, v)| dot(g, v)).sum();
        gradient.map(|g| g.map(|g| self.stiffness * change * g))
    }

    /// Returns the bend that also resists the change of its angle since `previous`; see
    /// [`super::Law::damped`].
    #[must_use]
    pub fn damped(self, previous: [[f64; 3]; 4], ratio: f64) -> Self {
        let Some(hinge) = Hinge::new(previous) else { return self };
        let before = self.rest_angle + self.error(&hinge);
        Self {
            stiffness: self.stiffness * (1.0 + ratio),
            rest_angle: blend(self.rest_angle, before, ratio),
        }
    }

    fn error(&self, hinge: &Hinge) -> f64 {
        let (half, whole) = (std::f64::consts::PI, std::f64::consts::TAU);
        half - (half - hinge.angle() + self.rest_angle).rem_euclid(whole)
    }
}
