//! Symmetric 3x3 matrices.

/// Entries xx, xy, xz, yy, yz, zz.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Symmetric(pub(super) [f32; 6]);

impl Symmetric {
    /// Multiple of the identity.
    pub(super) fn scalar(value: f32) -> Self {
        Self([value, 0.0, 0.0, value, 0.0, value])
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }

    pub(super) fn scaled(self, factor: f32) -> Self {
        Self(self.0.map(|value| value * factor))
    }

    /// Adds `factor (q q^T + t 1)`.
    pub(super) fn add_spring(&mut self, [x, y, z, t]: [f32; 4], factor: f32) {
        let added = [x * x + t, x * y, x * z, y * y + t, y * z, z * z + t];
        *self = self.plus(Self(added).scaled(factor));
    }

    pub(super) fn times(self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let [xx, xy, xz, yy, yz, zz] = self.0;
        [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z]
    }

    /// Inverse by `L D L^T`; 0 if the matrix is not positive definite.
    pub(super) fn inverse(self) -> Self {
        let [a, b, c, d, e, f] = self.0;
        let (l10, l20) = (b / a, c / a);
        let second = d - l10 * b;
        let coupled = e - l10 * c;
        let l21 = coupled / second;
        let third = f - l20 * c - l21 * coupled;
        let is_definite = a > 0.0 && second > 0.0 && third > 0.0;
        if !is_definite {
            return Self::default();
        }
        // Columns of the inverse of L, then their products over D.
        let m20 = l10 * l21 - l20;
        let (p, q, r) = (a.recip(), second.recip(), third.recip());
        let inverse = Self([
            p + l10 * l10 * q + m20 * m20 * r,
            -l10 * q - m20 * l21 * r,
            m20 * r,
            q + l21 * l21 * r,
            -l21 * r,
            r,
        ]);
        if inverse.0.iter().all(|value| value.is_finite()) { inverse } else { Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_geometry::Rng;

    #[test]
    fn the_inverse_inverts() {
        let mut rng = Rng::new(3);
        for _ in 0..1000 {
            let mut matrix = Symmetric::scalar(0.1);
            (0..4).for_each(|_| {
                let [x, y, z] = rng.point(-1.0, 1.0);
                matrix.add_spring([x, y, z, 0.01], 1.0);
            });
            let vector = rng.point(-1.0, 1.0);
            let found = matrix.inverse().times(matrix.times(vector));
            for (x, y) in found.into_iter().zip(vector) {
                assert!((x - y).abs() < 1e-4, "{found:?} {vector:?}");
            }
        }
        for broken in [[0.0; 6], [-1.0, 0.0, 0.0, 1.0, 0.0, 1.0], [f32::NAN; 6]] {
            assert_eq!(Symmetric(broken).inverse(), Symmetric::default());
        }
    }
}
