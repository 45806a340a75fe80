//! Twin of `shaders/lib/geometry.wgsl`.

use glam::{Vec2, Vec3};
use poplin_layout::EPSILON;

use crate::lanes::{Real, max};
use crate::math::{dot3, guarded_square, particle as pack, xyz};
use crate::vector::Vec3 as Lanes;

/// Lateral surface of a tapered capsule, one per lane; fields as in the shader.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cone<V: Real> {
    pub(crate) center: Lanes<V>,
    pub(crate) half_length: V,
    pub(crate) axis: Lanes<V>,
    pub(crate) slope: V,
    pub(crate) radius: V,
    pub(crate) cosine_square: V,
}

/// Point beside the axis of a cone, one per lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beside<V: Real> {
    /// Displacement from the center of the cone \[m\].
    pub(crate) d: Lanes<V>,
    /// Position along the axis \[m\].
    pub(crate) along: V,
    /// Radius of the cone there \[m\].
    pub(crate) radius: V,
    /// Squared distance from the axis, guarded since its root is a divisor \[m^2\].
    pub(crate) across_square: V,
}

/// Position of a point relative to a cone; the CONE constants of the shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Off,
    Outside,
    Before,
    Beyond,
    Inside,
}

/// Returns the rows of the cone tangent to two spheres: center and half length, axis and slope,
/// radius and squared cosine.
pub(crate) fn cone_between(a: [f32; 4], b: [f32; 4]) -> [[f32; 4]; 3] {
    let half_axis = (xyz(b) - xyz(a)) * 0.5;
    let growth = (b[3] - a[3]) * 0.5;
    let length_square = dot3(half_axis, half_axis);
    // The tangent line makes a right triangle with the axis: side^2 = half_axis^2 - growth^2.
    let side_square = length_square - growth * growth;
    let center = (xyz(b) + xyz(a)) * 0.5;
    // Otherwise one sphere contains the other, and there is no cone.
    if side_square > EPSILON * length_square {
        let half_length = length_square.sqrt();
        let side = side_square.sqrt();
        let sine = growth / half_length;
        // Radius at the middle: mean radius over the cosine of the slope.
        let radius = (growth + a[3]) * half_length / side;
        [
            pack(center, half_length),
            pack(half_axis / half_length, growth / side),
            [radius, 1.0 - sine * sine, 0.0, 0.0],
        ]
    } else {
        [pack(center, 0.0), [0.0; 4], [0.0; 4]]
    }
}

impl<V: Real> Cone<V> {
    /// Cone of the rows of [`cone_between`].
    #[inline(always)]
    pub(crate) fn of([first, second, third]: [[V; 4]; 3]) -> Self {
        Self {
            center: Lanes::xyz(first),
            half_length: first[3],
            axis: Lanes::xyz(second),
            slope: second[3],
            radius: third[0],
            cosine_square: third[1],
        }
    }

    /// Returns the position of x beside the axis.
    #[inline(always)]
    pub(crate) fn beside(&self, simd: V::Token, x: Lanes<V>) -> Beside<V> {
        let d = x - self.center;
        let along = d.dot(self.axis);
        // Cone surface: radius(along) = radius + slope * along, across = distance from the axis.
        let radius = max(along * self.slope + self.radius, V::splat(simd, 0.0));
        // |d|^2 - along^2 would lose the digits of points far from the center.
        let across = d - self.axis * along;
        let across_square = max(across.dot(across), V::splat(simd, EPSILON));
        Beside { d, along, radius, across_square }
    }
}

impl Cone<f32> {
    /// Returns the position along the axis from which the lateral surface pushes x.
    pub(crate) fn foot(&self, x: Vec3) -> f32 {
        let Beside { along, across_square, .. } = self.beside((), x.into());
        along + self.slope * across_square.sqrt()
    }

    /// Returns the position of x relative to the cone.
    pub(crate) fn side(&self, x: Vec3) -> Side {
        let Beside { along, radius, across_square, .. } = self.beside((), x.into());
        let is_there = self.half_length > 0.0;
        if is_there && radius * radius > across_square {
            // The surface normal through x meets the axis at the foot.
            let foot = along + self.slope * across_square.sqrt();
            if foot > self.half_length {
                Side::Beyond
            } else if foot < -self.half_length {
                Side::Before
            } else {
                Side::Inside
            }
        } else if is_there {
            Side::Outside
        } else {
            Side::Off
        }
    }
}

/// Impact of a moving point on a moving sphere or cone within an iteration.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Impact {
    pub(crate) is_hit: bool,
    pub(crate) time: f32,
    pub(crate) rest: f32,
}

/// Finds the time at which a point enters a sphere (or the circle of a cone) whose radius and
/// position change linearly.
pub(crate) fn find_impact(before: Vec3, now: Vec3, radius_before: f32, radius_now: f32) -> Impact {
    // |p|^2 - r^2 at the start (pp), mixed (pc) and at the end (cc)
    let pp = dot3(before, before) - radius_before * radius_before;
    let pc = dot3(before, now) - radius_before * radius_now;
    let cc = guarded_square(now) - radius_now * radius_now;
    // |p(t)|^2 = r(t)^2 with p and r linear in t is a quadratic equation.
    let discriminant = pc * pc - cc * pp;
    let half_b = pc - pp;
    let minus_a = pc - cc + half_b;
    let mut impact = Impact::default();
    if discriminant >= 0.0 && minus_a < -EPSILON {
        let root = discriminant.sqrt();
        // First root; a point that starts inside enters at once.
        let entry = (half_b + root).min(0.0);
        let radius = radius_before + half_b / minus_a * (radius_now - radius_before);
        let behind = minus_a - entry;
        impact.time = entry / minus_a;
        // Paths that miss the center by more than 0.8 radii only graze: 0.36 = 1 - 0.8^2.
        impact.is_hit =
            impact.time < 1.0 && half_b < 0.0 && discriminant > -0.36 * minus_a * radius * radius;
        impact.rest = behind / minus_a;
        if impact.rest > EPSILON {
            // Long paths are shortened so that the point stays on its side of the middle.
            impact.rest *= behind / (behind - root);
        }
    }
    impact
}

/// Returns the barycentric weights (v, w) of the point of a triangle that is closest to p.
pub(crate) fn closest_on_triangle(p: Vec3, ab: Vec3, ac: Vec3) -> Vec2 {
    let d1 = dot3(ab, p);
    let d2 = dot3(ac, p);
    let ab_square = dot3(ab, ab);
    let ac_square = dot3(ac, ac);
    let ab_ac = dot3(ab, ac);
    let d3 = d1 - ab_square;
    let d4 = d2 - ab_ac;
    let d5 = d1 - ab_ac;
    let d6 = d2 - ac_square;
    let va = d3 * d6 - d5 * d4;
    let vb = d5 * d2 - d1 * d6;
    let vc = d1 * d4 - d3 * d2;
    // Voronoi regions of the corners, then of the sides, then the face (Ericson 2005, 5.1.5).
    if d1 <= 0.0 && d2 <= 0.0 {
        Vec2::ZERO
    } else if d3 >= 0.0 && d4 <= d3 {
        Vec2::new(1.0, 0.0)
    } else if d6 >= 0.0 && d5 <= d6 {
        Vec2::new(0.0, 1.0)
    } else if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        Vec2::new(d1 / (d1 - d3), 0.0)
    } else if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        Vec2::new(0.0, d2 / (d2 - d6))
    } else if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        Vec2::new(1.0 - w, w)
    } else {
        let sum = va + vb + vc;
        Vec2::new(vb / sum, vc / sum)
    }
}
