//! Twin of `shaders/lib/geometry.wgsl`.

use glam::{Vec2, Vec3};
use poplin_layout::EPSILON;

use crate::math::{dot3, guarded_square, xyz};

/// Lateral surface of a tapered capsule; fields as in the shader.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the fields are those of the shader's struct")]
pub struct Cone {
    pub center: Vec3,
    pub half_length: f32,
    pub axis: Vec3,
    pub slope: f32,
    pub radius: f32,
    pub cosine_square: f32,
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

/// Contact of a point with a cone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConeTouch {
    pub(crate) push: Vec3,
    pub(crate) side: Side,
    pub(crate) along: f32,
}

/// Returns the cone tangent to two spheres.
pub(crate) fn cone_between(a: [f32; 4], b: [f32; 4]) -> Cone {
    let half_axis = (xyz(b) - xyz(a)) * 0.5;
    let growth = (b[3] - a[3]) * 0.5;
    let length_square = dot3(half_axis, half_axis);
    // The tangent line makes a right triangle with the axis: side^2 = half_axis^2 - growth^2.
    let side_square = length_square - growth * growth;
    let center = (xyz(b) + xyz(a)) * 0.5;
    let mut cone = Cone {
        center,
        half_length: 0.0,
        axis: Vec3::ZERO,
        slope: 0.0,
        radius: 0.0,
        cosine_square: 0.0,
    };
    // Otherwise one sphere contains the other, and there is no cone.
    if side_square > EPSILON * length_square {
        let half_length = length_square.sqrt();
        let side = side_square.sqrt();
        let sine = growth / half_length;
        cone.half_length = half_length;
        cone.axis = half_axis / half_length;
        cone.slope = growth / side;
        // Radius at the middle: mean radius over the cosine of the slope.
        cone.radius = (growth + a[3]) * half_length / side;
        cone.cosine_square = 1.0 - sine * sine;
    }
    cone
}

/// Returns the position of x relative to a cone and its shortest exit through the lateral surface.
pub(crate) fn touch_cone(cone: &Cone, x: Vec3) -> ConeTouch {
    let mut touch = ConeTouch { push: Vec3::ZERO, side: Side::Off, along: 0.0 };
    if cone.half_length > 0.0 {
        let d = x - cone.center;
        let along = dot3(d, cone.axis);
        // Cone surface: radius(along) = radius + slope * along, across = distance from the axis.
        let radius = (along * cone.slope + cone.radius).max(0.0);
        let across_square = (dot3(d, d) - along * along).max(EPSILON);
        touch.side = Side::Outside;
        touch.along = along;
        if radius * radius > across_square {
            let across = across_square.sqrt();
            // The surface normal through x meets the axis at the foot.
            let foot = along + cone.slope * across;
            touch.side = Side::Inside;
            if foot < -cone.half_length {
                touch.side = Side::Before;
            }
            if foot > cone.half_length {
                touch.side = Side::Beyond;
            }
            touch.push = (d - cone.axis * foot) * (cone.cosine_square * (radius / across - 1.0));
        }
    }
    touch
}

/// Returns the position along the axis from which the lateral surface pushes x.
pub(crate) fn foot_on_cone(cone: &Cone, x: Vec3) -> f32 {
    let d = x - cone.center;
    let along = dot3(d, cone.axis);
    along + cone.slope * (dot3(d, d) - along * along).max(EPSILON).sqrt()
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
