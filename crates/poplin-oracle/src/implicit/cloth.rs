//! Cloth of masses and energies, and the rates that choose its steps.

use super::law::Element;
use crate::vector::{length, minus};

/// Relative rounding of a force's terms in `f32`.
const ROUNDING: f64 = 2.4e-7;

/// Particles and the energies between them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImplicitCloth {
    /// Inverse masses [1/kg]; particles of 0 follow their prediction.
    pub inverse_masses: Vec<f64>,
    /// Elements that resist stretch and shear.
    pub stretch: Vec<Element>,
    /// Elements that resist bending; their forces may be constant between exact residuals.
    pub bends: Vec<Element>,
    /// Damping coefficient over stiffness of [`stretch`](Self::stretch) \[s\].
    pub stretch_damping: f64,
    /// Damping coefficient over stiffness of [`bends`](Self::bends) \[s\].
    pub bend_damping: f64,
}

impl ImplicitCloth {
    /// Returns `omega_G` [1/s] with `omega_G^2 = 2 max_i w_i sum k` over the stretch elements at
    /// particle i, about 1.6 times the highest frequency of a sheet; `rest` are positions at rest.
    ///
    /// k is the trace of the element's Hessian at i: k of a spring, `A ((Ku + G) cu_i^2 + (Kv + G)
    /// cv_i^2)` of a stretch/shear triangle, which on a grid equals that of its springs.
    pub fn stretch_rate(&self, rest: &[[f64; 3]]) -> f64 {
        (2.0 * self.stiffest(&self.stretch, |element, i| {
            let block = element.hessian(element.gather(rest))[i][i];
            block[0][0] + block[1][1] + block[2][2]
        }))
        .sqrt()
    }

    /// Returns `omega_b` [1/s] with `omega_b^2 = max_i w_i sum_j |H_ij|` over the bends (Frobenius;
    /// `k |g_i| |g_j|` of a face angle): their forces may be constant between exact residuals if `h
    /// omega_b <= 1`.
    pub fn bend_rate(&self, rest: &[[f64; 3]]) -> f64 {
        self.stiffest(&self.bends, |element, i| {
            let row = element.hessian(element.gather(rest))[i];
            row.iter()
                .map(|block| block.as_flattened().iter().map(|x| x * x).sum::<f64>().sqrt())
                .sum()
        })
        .sqrt()
    }

    /// Returns the residual over `h^2` that rounding to `f32` leaves [m/s^2]: `2.4e-7 max_i w_i sum
    /// k L`, with k as in [`Self::stretch_rate`] and L the mean distance of the element's other
    /// particles.
    pub fn floor(&self, rest: &[[f64; 3]]) -> f64 {
        ROUNDING
            * self.stiffest(&self.stretch, |element, i| {
                let x = element.gather(rest);
                let block = element.hessian(x)[i][i];
                let arity = element.law.arity();
                let reach: f64 = (0..arity).map(|j| length(minus(x[j], x[i]))).sum();
                (block[0][0] + block[1][1] + block[2][2]) * reach / (arity - 1) as f64
            })
    }

    /// Returns the largest `w_i sum of(element, corner)` over the elements at a particle.
    fn stiffest(&self, elements: &[Element], of: impl Fn(&Element, usize) -> f64) -> f64 {
        let mut sums = vec![0.0; self.inverse_masses.len()];
        for element in elements {
            for (corner, &particle) in element.members().iter().enumerate() {
                sums[particle] += of(element, corner);
            }
        }
        sums.iter().zip(&self.inverse_masses).map(|(sum, w)| sum * w).fold(0.0, f64::max)
    }

    /// Energy of the elements at positions \[J\].
    pub fn potential(&self, x: &[[f64; 3]]) -> f64 {
        let elements = self.stretch.iter().chain(&self.bends);
        elements.map(|element| element.law.energy(element.gather(x))).sum()
    }

    /// Gradient of [`Self::potential`] \[N\].
    pub fn gradient(&self, x: &[[f64; 3]]) -> Vec<[f64; 3]> {
        let mut sums = vec![[0.0; 3]; x.len()];
        for element in self.stretch.iter().chain(&self.bends) {
            element.scatter(element.law.gradient(element.gather(x)), &mut sums);
        }
        sums
    }
}
