//! Element of a cloth: particles and the energy between them.

use super::{FaceAngle, Isometric, PlaneProjection, Spring, StretchShear, Trispring};

/// Energy of two to four particles. Its forces and torques sum to 0; a degenerate element has no
/// force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Spring between two particles.
    Spring(Spring),
    /// Stretch and shear of a triangle along its threads.
    StretchShear(StretchShear),
    /// Isotropic membrane of a triangle.
    Trispring(Trispring),
    /// Bending by the dihedral angle of two triangles.
    FaceAngle(FaceAngle),
    /// Bending by the depths of two triangles behind each other's plane.
    PlaneProjection(PlaneProjection),
    /// Quadratic bending of two triangles.
    Isometric(Isometric),
}

impl Law {
    /// Number of particles.
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

    /// Returns the product of a positive semi-definite part of the Hessian at `x` and displacements
    /// `v` \[N\].
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

    /// Returns the energy of this element plus dampers that resist the change of its measures C
    /// (length, `|wu|`, angle, ...) since the positions `previous`, `ratio` times as stiff as the
    /// element.
    ///
    /// `k/2 (C - C0)^2 + ratio k/2 (C - C_n)^2` is, up to a constant, `k*/2 (C - C*)^2` with `k* =
    /// k (1 + ratio)` and `C* = (C0 + ratio C_n) / (1 + ratio)`. A damping coefficient c over the
    /// stiffness k is a time `beta = c/k`; with a backward difference over the step h, `ratio =
    /// beta / h`. The forces are internal, so momentum is conserved.
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

/// Law and the particles that it acts on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Element {
    /// Particles; only the first [`Law::arity`] are used.
    pub particles: [usize; 4],
    /// Energy between them.
    pub law: Law,
}

impl Element {
    /// Particles of the element.
    pub fn members(&self) -> &[usize] {
        &self.particles[..self.law.arity()]
    }

    /// Gathers the entries of `values` for its particles.
    pub fn gather(&self, values: &[[f64; 3]]) -> [[f64; 3]; 4] {
        let mut gathered = [[0.0; 3]; 4];
        for (slot, &particle) in gathered.iter_mut().zip(self.members()) {
            *slot = values[particle];
        }
        gathered
    }

    /// Adds the gradient at its particles to `sums`.
    pub(super) fn scatter(&self, gradient: [[f64; 3]; 4], sums: &mut [[f64; 3]]) {
        for (&particle, gradient) in self.members().iter().zip(gradient) {
            (0..3).for_each(|k| sums[particle][k] += gradient[k]);
        }
    }

    /// Blocks of the positive semi-definite Hessian at local positions `x`, `[i][j]` of particles i
    /// and j [N/m].
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
