#import lib/math

/// Side of a tapered capsule: the cone that touches both of its spheres.
struct Cone {
    /// Midpoint of the spheres' centers [m].
    center: vec3<f32>,
    /// Half the distance between the centers [m]; 0 if one sphere contains the other, so that the
    /// capsule is only its spheres.
    half_length: f32,
    /// Unit vector from the first to the second center.
    axis: vec3<f32>,
    /// Growth of the radius along the axis.
    slope: f32,
    /// Radius across the axis at the center [m].
    radius: f32,
    /// Squared cosine of the angle between side and axis.
    cosine_square: f32,
}

/// Side of a point where the capsule has no cone.
const CONE_OFF: u32 = 0u;
/// Side of a point outside the cone.
const CONE_OUTSIDE: u32 = 1u;
/// Side of a point inside, whose foot on the axis lies before the first sphere's center.
const CONE_BEFORE: u32 = 2u;
/// Side of a point inside, whose foot on the axis lies beyond the second sphere's center.
const CONE_BEYOND: u32 = 3u;
/// Side of a point inside, whose foot on the axis is between the centers.
const CONE_INSIDE: u32 = 4u;

/// Location of a point relative to a cone.
struct ConeTouch {
    /// Displacement that takes the point out of the cone, if it is inside [m].
    push: vec3<f32>,
    /// One of the CONE constants.
    side: u32,
    /// Position along the axis from which the side pushes the point, if it is inside [m].
    foot: f32,
}

/// Cone that touches two spheres.
fn cone_between(a: vec4<f32>, b: vec4<f32>) -> Cone {
    // sin = (r_b - r_a) / |b - a| is the sine of the half angle; the side exists if |sin| < 1.
    let half_axis = (b.xyz - a.xyz) * 0.5;
    let growth = (b.w - a.w) * 0.5;
    let length_square = dot3(half_axis, half_axis);
    let side_square = length_square - growth * growth;
    var cone = Cone((b.xyz + a.xyz) * 0.5, 0.0, vec3<f32>(0.0), 0.0, 0.0, 0.0);
    if (side_square > EPSILON * length_square) {
        let half_length = sqrt(length_square);
        let side = sqrt(side_square);
        let sine = growth / half_length;
        cone.half_length = half_length;
        cone.axis = half_axis / half_length;
        cone.slope = growth / side;
        cone.radius = (growth + a.w) * half_length / side;
        cone.cosine_square = 1.0 - sine * sine;
    }
    return cone;
}

/// Locates x relative to a cone, and computes the shortest exit through its side.
fn touch_cone(cone: Cone, x: vec3<f32>) -> ConeTouch {
    var touch = ConeTouch(vec3<f32>(0.0), CONE_OFF, 0.0);
    if (cone.half_length > 0.0) {
        let d = x - cone.center;
        let along = dot3(d, cone.axis);
        let radius = max(along * cone.slope + cone.radius, 0.0);
        // |d|^2 - along^2 would lose the digits of points far from the center.
        let beside = d - cone.axis * along;
        let across_square = max(dot3(beside, beside), EPSILON);
        touch.side = CONE_OUTSIDE;
        if (radius * radius > across_square) {
            let across = sqrt(across_square);
            // The exit is perpendicular to the side, so its foot on the axis is shifted by the
            // slope.
            let foot = along + cone.slope * across;
            touch.side = CONE_INSIDE;
            touch.foot = foot;
            if (foot < -cone.half_length) {
                touch.side = CONE_BEFORE;
            }
            if (foot > cone.half_length) {
                touch.side = CONE_BEYOND;
            }
            touch.push = (d - cone.axis * foot) * (cone.cosine_square * (radius / across - 1.0));
        }
    }
    return touch;
}

/// Position along the axis [m] from which the side pushes x.
fn foot_on_cone(cone: Cone, x: vec3<f32>) -> f32 {
    let d = x - cone.center;
    let along = dot3(d, cone.axis);
    let beside = d - cone.axis * along;
    return along + cone.slope * sqrt(max(dot3(beside, beside), EPSILON));
}

/// Hit of a moving point and a moving sphere or cone within an iteration.
struct Impact {
    /// True if there is a hit.
    is_hit: bool,
    /// Fraction of the iteration before the hit.
    time: f32,
    /// Fraction of the displacement since the last iteration that takes the point back to the
    /// surface.
    rest: f32,
}

/// Finds the time at which a point enters a sphere (or the circle of a cone) whose radius and
/// position change linearly.
///
/// `before` and `now` are the point relative to the center, `radius_before` and `radius_now` the
/// radii. The distance function |p|^2 - r^2 is quadratic in time; with the coefficients below its
/// first root is min(0, h + sqrt(D)) / a, a < 0. Points that move outward at first (h >= 0), or
/// only graze (D small against the radius), are not hits.
fn find_impact(before: vec3<f32>, now: vec3<f32>, radius_before: f32, radius_now: f32) -> Impact {
    // p(t)|^2 - r(t)^2 = pp + 2 t h + t^2 (cc - pc - h),  h = pc - pp,  D = pc^2 - cc pp
    let pp = dot3(before, before) - radius_before * radius_before;
    let pc = dot3(before, now) - radius_before * radius_now;
    let cc = guarded_square(now) - radius_now * radius_now;
    let discriminant = pc * pc - cc * pp;
    let half_b = pc - pp;
    let minus_a = pc - cc + half_b;
    var impact = Impact(false, 0.0, 0.0);
    if (discriminant >= 0.0 && minus_a < -EPSILON) {
        let root = sqrt(discriminant);
        let entry = min(0.0, half_b + root);
        let radius = radius_before + half_b / minus_a * (radius_now - radius_before);
        let behind = minus_a - entry;
        impact.time = entry / minus_a;
        impact.is_hit = impact.time < 1.0 && half_b < 0.0 && discriminant > -0.36 * minus_a * radius * radius;
        impact.rest = behind / minus_a;
        if (impact.rest > EPSILON) {
            impact.rest *= behind / (behind - root);
        }
    }
    return impact;
}

/// Barycentric coordinates (v, w) of the point of a triangle that is nearest to p, with the first
/// corner as the origin (Ericson, "Real-Time Collision Detection", 2004, section 5.1.5).
fn closest_on_triangle(p: vec3<f32>, ab: vec3<f32>, ac: vec3<f32>) -> vec2<f32> {
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
    var barycentric = vec2<f32>(0.0);
    // Voronoi regions: first, second and third corner, sides ab, ac and bc, then the face.
    if (d1 <= 0.0 && d2 <= 0.0) {
        barycentric = vec2<f32>(0.0);
    } else if (d3 >= 0.0 && d4 <= d3) {
        barycentric = vec2<f32>(1.0, 0.0);
    } else if (d6 >= 0.0 && d5 <= d6) {
        barycentric = vec2<f32>(0.0, 1.0);
    } else if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) {
        barycentric = vec2<f32>(d1 / (d1 - d3), 0.0);
    } else if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) {
        barycentric = vec2<f32>(0.0, d2 / (d2 - d6));
    } else if (va <= 0.0 && d4 >= d3 && d5 >= d6) {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        barycentric = vec2<f32>(1.0 - w, w);
    } else {
        let sum = va + vb + vc;
        barycentric = vec2<f32>(vb / sum, vc / sum);
    }
    return barycentric;
}
