//! Mass properties of solids of uniform density.

use glam::{DMat3, DVec3};

/// Mass properties of a solid of uniform density.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MassProperties {
    /// Center of mass \[m\].
    pub center: DVec3,
    /// Inertia about the center for a mass of 1 kg \[m^2\].
    pub inertia: DMat3,
}

impl MassProperties {
    /// Returns the properties of a ball.
    pub fn of_ball(center: DVec3, radius: f64) -> Self {
        // I / m = 2/5 r^2
        let moment = 0.4 * radius * radius;
        Self { center, inertia: DMat3::from_diagonal(DVec3::splat(moment)) }
    }

    /// Returns the properties of a parallelepiped.
    pub fn of_parallelepiped(corner: DVec3, edges: [DVec3; 3]) -> Self {
        // A box is a cube [0, 1]^3 under a linear map: the mean of x x^T over it is known.
        let center = corner + (edges[0] + edges[1] + edges[2]) * 0.5;
        let second = edges.map(|edge| outer(edge, edge) * (1.0 / 12.0));
        let second = second[0] + second[1] + second[2];
        Self { center, inertia: inertia_of(second) }
    }

    /// Returns the properties of a solid by its volume \[m^3\] and the integrals of x and of
    /// x x^T over it, where x is relative to `origin`; `None` without volume.
    pub fn of_integrals(origin: DVec3, volume: f64, first: DVec3, second: DMat3) -> Option<Self> {
        if volume.is_nan() || volume <= 0.0 {
            return None;
        }
        let mean = first / volume;
        Some(Self {
            center: origin + mean,
            inertia: inertia_of(second * volume.recip() - outer(mean, mean)),
        })
    }

    /// Returns the properties of the solid in a closed surface, its front outside; `None` without
    /// volume. Sums over the tetrahedra from one point to each triangle.
    pub fn of_triangles(triangles: &[[DVec3; 3]]) -> Option<Self> {
        let origin = triangles.first()?[0];
        let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
        for triangle in triangles {
            let [a, b, c] = triangle.map(|corner| corner - origin);
            // Six times the volume; the mean of x x^T over a tetrahedron with a corner at 0 is
            // (aa + bb + cc + (a + b + c)(a + b + c)) / 20.
            let six = a.dot(b.cross(c));
            let sum = a + b + c;
            volume += six / 6.0;
            first += sum * (six / 24.0);
            let squares = outer(a, a) + outer(b, b) + outer(c, c) + outer(sum, sum);
            second += squares * (six / 120.0);
        }
        Self::of_integrals(origin, volume, first, second)
    }

    /// Returns the properties of the hull of two balls, by center and radius \[m\]: two caps and a
    /// cone between them; `None` without volume. The integrands are polynomials of degree 4 at most
    /// in the position along the axis, so that three-point Gauss quadrature is exact.
    pub fn of_round_cone([a, b]: [(DVec3, f64); 2]) -> Option<Self> {
        let [(from, small), (to, large)] = if a.1 <= b.1 { [a, b] } else { [b, a] };
        let length = (to - from).length();
        // A ball inside the other adds nothing.
        if length <= large - small {
            return Some(Self::of_ball(to, large));
        }
        let axis = (to - from) / length;
        // The tangent cone touches both balls where sin = (R - r) / length.
        let sine = (large - small) / length;
        let cosine = (1.0 - sine * sine).sqrt();
        let [near, far] = [-small * sine, length - large * sine];
        let ball = |radius: f64, center: f64| move |z: f64| radius * radius - (z - center).powi(2);
        let cone = |z: f64| {
            (cosine * small
                + (z - near) * (large - small) * cosine / (far - near).max(f64::MIN_POSITIVE))
            .powi(2)
        };
        let mut sums = [0.0; 4];
        let mut add = |[begin, end]: [f64; 2], square: &dyn Fn(f64) -> f64| {
            let (middle, half) = (0.5 * (begin + end), 0.5 * (end - begin));
            for (position, weight) in
                [(-0.6f64.sqrt(), 5.0 / 9.0), (0.0, 8.0 / 9.0), (0.6f64.sqrt(), 5.0 / 9.0)]
            {
                let z = middle + half * position;
                let (weight, square) = (weight * half, square(z));
                // Volume, and moments of z, z^2 and of the distance from the axis squared, over pi.
                let terms = [square, z * square, z * z * square, 0.5 * square * square];
                sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += weight * term);
            }
        };
        add([-small, near], &ball(small, 0.0));
        add([near, far], &cone);
        add([far, length + large], &ball(large, length));
        let [volume, first, second, around] = sums;
        if volume.is_nan() || volume <= 0.0 {
            return None;
        }
        let mean = first / volume;
        let (along, around) = (second / volume - mean * mean, around / volume);
        // Each of the two directions across the axis has half of the mean squared distance from it.
        let across = DMat3::IDENTITY - outer(axis, axis);
        let second = outer(axis, axis) * along + across * (0.5 * around);
        Some(Self { center: from + axis * mean, inertia: inertia_of(second) })
    }
}

/// Inertia for a mean `S` of `x x^T` about the center: `tr(S) 1 - S`.
fn inertia_of(second: DMat3) -> DMat3 {
    let trace = second.x_axis.x + second.y_axis.y + second.z_axis.z;
    DMat3::from_diagonal(DVec3::splat(trace)) - second
}

/// Outer product `a b^T`.
pub fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_the_same_properties_as_its_triangles() {
        let corner = |k: u32| DVec3::new((k & 1) as f64, (k >> 1 & 1) as f64, (k >> 2) as f64);
        let sides =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let halves = sides.map(|[a, b, c, d]| [[a, b, c], [a, c, d]]);
        let triangles: Vec<_> =
            halves.as_flattened().iter().map(|it| it.map(|k: u32| 2.0 * corner(k))).collect();
        let found = MassProperties::of_triangles(&triangles).unwrap();
        let edges = [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| 2.0 * axis);
        let expected = MassProperties::of_parallelepiped(DVec3::ZERO, edges);
        assert!((found.center - expected.center).length() < 1e-12);
        let difference = (found.inertia - expected.inertia).to_cols_array();
        assert!(difference.iter().all(|x| x.abs() < 1e-12), "{}", found.inertia);
        assert_eq!(MassProperties::of_triangles(&triangles[..0]), None);
    }

    #[test]
    fn a_ball_in_another_adds_nothing() {
        let found = MassProperties::of_round_cone([(DVec3::X, 0.1), (DVec3::ZERO, 2.0)]);
        assert_eq!(found, Some(MassProperties::of_ball(DVec3::ZERO, 2.0)));
    }
}
