//! One element of a cloth: particles and the energy between them.

use super::{FaceAngle, Isometric, PlaneProjection, Spring, StretchShear, Trispring};

/// An energy of two to four particles. Forces and torques of each sum to 0; a degenerate element does nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Of two particles.
    Spring(Spring),
    /// Of a triangle.
    StretchShear(StretchShear),
    /// Of a triangle.
    Trispring(Trispring),
    /// Of two triangles.
    FaceAngle(FaceAngle),
    /// Of two triangles.
    PlaneProjection(PlaneProjection),
    /// Of two triangles.
    Isometric(Isometric),
}

impl Law {
    /// How many particles it has.
    pub fn arity(&self) -> usize {
        match self {
            Self::Spring(_) => 2,
            Self::StretchShear(_) | Self::Trispring(_) => 3,
            Self::FaceAngle(_) | Self::PlaneProjection(_) | Self::Isometric(_) => 4,
        }
    }

    /// Energy \[J\]. Only the first [`arity`](Self::arity) positions count, here as below.
    pub fn energy(&self, x: [[f64; 3]; 4]) -> f64 {
        match self {
            Self::Spring(law) => law.energy(first(x)),
            Self::StretchShear(law) => law.energy(first(x)),
            Self::Trispring(law) => law.energy(first(x)),
            Self::FaceAngle(law) => law.energy(x),
            Self::PlaneProjection(law) => law.energy(x),
            Self::Isometric(law) => law.energy(x),
        }
    }

    /// Gradient at the particles \[N\].
    pub fn gradient(&self, x: [[f64; 3]; 4]) -> [[f64; 3]; 4] {
        match self {
            Self::Spring(law) => padded(law.gradient(first(x))),
            Self::StretchShear(law) => padded(law.gradient(first(x))),
            Self::Trispring(law) => padded(law.gradient(first(x))),
            Self::FaceAngle(law) => law.gradient(x),
            Self::PlaneProjection(law) => law.gradient(x),
            Self::Isometric(law) => law.gradient(x),
        }
    }

    /// A positive semi-definite part of the Hessian at `x`, times displacements `v` \[N\].
    pub fn hessian_product(&self, x: [[f64; 3]; 4], v: [[f64; 3]; 4]) -> [[f64; 3]; 4] {
        match self {
            Self::Spring(law) => padded(law.hessian_product(first(x), first(v))),
            Self::StretchShear(law) => padded(law.hessian_product(first(x), first(v))),
            Self::Trispring(law) => padded(law.hessian_product(first(x), first(v))),
            Self::FaceAngle(law) => law.hessian_product(x, v),
            Self::PlaneProjection(law) => law.hessian_product(x, v),
            Self::Isometric(law) => law.hessian_product(v),
        }
    }

    /// The energy whose force is that of this one and of dampers that resist the change of its measures C (length, `|wu|`,
    /// angle, ...) since the positions `previous`, `ratio` times as stiff as itself.
    ///
    /// `k/2 (C - C0)^2 + ratio k/2 (C - C_n)^2` is, but for a constant, `k*/2 (C - C*)^2` with `k* = k (1 + ratio)` and
    /// `C* = (C0 + ratio C_n) / (1 + ratio)`. A damping coefficient c over the stiffness k is a time `beta = c/k`, and with a
    /// backward difference over the step h `ratio = beta / h`. Internal, so it conserves momentum.
    #[must_use]
    pub fn damped(self, previous: [[f64; 3]; 4], ratio: f64) -> Self {
        match self {
            Self::Spring(law) => Self::Spring(law.damped(first(previous), ratio)),
            Self::StretchShear(law) => Self::StretchShear(law.damped(first(previous), ratio)),
            Self::Trispring(law) => Self::Trispring(law.damped(first(previous), ratio)),
            Self::FaceAngle(law) => Self::FaceAngle(law.damped(previous, ratio)),
            Self::PlaneProjection(law) => Self::PlaneProjection(law.damped(previous, ratio)),
            Self::Isometric(law) => Self::Isometric(law.damped(previous, ratio)),
        }
    }
}

/// A law and the particles it holds for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element {
    /// Particles; only the first [`Law::arity`] count.
    pub particles: [usize; 4],
    /// Energy between them.
    pub law: Law,
}

impl Element {
    /// The particles it has.
    pub fn members(&self) -> &[usize] {
        &self.particles[..self.law.arity()]
    }

    /// What `values` holds for its particles.
    pub fn gather(&self, values: &[[f64; 3]]) -> [[f64; 3]; 4] {
        let mut gathered = [[0.0; 3]; 4];
        for (slot, &particle) in gathered.iter_mut().zip(self.members()) {
            *slot = values[particle];
        }
        gathered
    }

    /// Gradient at its particles, added to `sums`.
    pub(super) fn scatter(&self, gradient: [[f64; 3]; 4], sums: &mut [[f64; 3]]) {
        for (&particle, gradient) in self.members().iter().zip(gradient) {
            (0..3).for_each(|k| sums[particle][k] += gradient[k]);
        }
    }

    /// Blocks of the positive semi-definite Hessian at local positions `x`, `[i][j]` of particles i and j [N/m].
    pub fn hessian(&self, x: [[f64; 3]; 4]) -> [[[[f64; 3]; 3]; 4]; 4] {
        let mut blocks = [[[[0.0; 3]; 3]; 4]; 4];
        for j in 0..self.law.arity() {
            for axis in 0..3 {
                let mut unit = [[0.0; 3]; 4];
                unit[j][axis] = 1.0;
                let column = self.law.hessian_product(x, unit);
                for i in 0..self.law.arity() {
                    (0..3).for_each(|k| blocks[i][j][k][axis] = column[i][k]);
                }
            }
        }
        blocks
    }
}

fn first<const N: usize>(x: [[f64; 3]; 4]) -> [[f64; 3]; N] {
    std::array::from_fn(|i| x[i])
}

fn padded<const N: usize>(x: [[f64; 3]; N]) -> [[f64; 3]; 4] {
    std::array::from_fn(|i| x.get(i).copied().unwrap_or_default())
}
