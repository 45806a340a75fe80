//! Continuous collision of a point with a sphere or the side of a cone (Kim, "Character Clothing in
//! PhysX-3", 2011).

use super::vector::{along, dot, length, minus};

/// Result of sweeping a point past a sphere.
#[derive(Debug, Clone, Copy)]
pub struct Sweep {
    /// Position before the point is kept outside the sphere \[m\].
    pub position: [f64; 3],
    /// True if the sphere stops the point.
    pub is_hit: bool,
    /// Distance of the path from the center as a fraction of the radius; paths beyond 0.8 only
    /// graze and are ignored.
    pub offset: f64,
}

/// Sweeps a point from `before` to `now` while the center of a sphere of constant radius moves from
/// one center to the other.
///
/// Relative to the sphere the point moves on a straight path. It enters the sphere at `enter`, is
/// nearest to the center at `middle` and leaves it at `middle + half`, all in fractions of the
/// path; the rest of the path is shortened so that however long it is, the point stays on its side
/// of the middle: it moves on by `rest * half / (rest + half)`, with `rest = 1 - enter`.
pub fn sweep_sphere(before: [f64; 3], now: [f64; 3], centers: [[f64; 3]; 2], radius: f64) -> Sweep {
    let e = minus(before, centers[0]);
    let d = minus(now, centers[1]);
    let path = minus(d, e);
    let square = dot(path, path);
    let middle = -dot(e, path) / square;
    let nearest = length(along(e, path, middle));
    let offset = nearest / radius;
    let half = ((radius * radius - nearest * nearest).max(0.0) / square).sqrt();
    let enter = (middle - half).max(0.0);
    let is_hit = offset < 0.8 && enter < 1.0 && middle > 0.0 && half > 0.0;
    let rest = 1.0 - enter;
    // A point that starts inside enters at once.
    let fraction = if is_hit { enter + rest - rest * rest / (rest + half) } else { 1.0 };
    Sweep { position: along(centers[1], along(e, path, fraction), 1.0), is_hit, offset }
}

/// Result of sweeping a point past the side of a cone.
#[derive(Debug, Clone, Copy)]
pub struct SideSweep {
    /// Position of the point \[m\].
    pub position: [f64; 3],
    /// True if the side stops the point; a point that enters the cone before or beyond its ends is
    /// left to the spheres there.
    pub is_hit: bool,
    /// Distance of the path from the axis as a fraction of the radius there; paths beyond 0.8 only
    /// graze and are ignored.
    pub offset: f64,
    /// Position on the axis from which the side would push the point at the impact; -1 and 1 are
    /// the ends.
    pub foot: f64,
}

/// Sweeps a point from `before` to `now` while the cone between two spheres (`ends`, at the end)
/// moves by `shift` without rotation.
///
/// Relative to the cone the point moves on a straight path, and its offset from the axis and the
/// cone's radius there are linear: `|p(t)| = r(t)` is a quadratic, with the roots `middle -+ half`.
/// On a hit the path is shortened as at a sphere.
pub fn sweep_side(
    before: [f64; 3],
    now: [f64; 3],
    ends: [([f64; 3], f64); 2],
    shift: [f64; 3],
) -> SideSweep {
    let [(a, ra), (b, rb)] = ends;
    let full = length(minus(b, a));
    let axis = minus(b, a).map(|x| x / full);
    let slope = (rb - ra) / (full * full - (rb - ra) * (rb - ra)).sqrt();
    let cosine = 1.0 / (1.0 + slope * slope).sqrt();
    // The side is `radius = ra / cosine + slope * y` at the position y on the axis.
    let start = minus(along(before, shift, 1.0), a);
    let end = minus(now, a);
    let split = |d: [f64; 3]| {
        (along(d, axis, -dot(d, axis)), (ra / cosine + slope * dot(d, axis)).max(0.0))
    };
    let ((p, r), (q, s)) = (split(start), split(end));
    let (path, growth) = (minus(q, p), s - r);
    let square = dot(path, path) - growth * growth;
    let middle = -(dot(p, path) - r * growth) / square;
    let half = (middle * middle - (dot(p, p) - r * r) / square).max(0.0).sqrt();
    let radius = r + growth * middle;
    let offset = (1.0 - square * half * half / (radius * radius)).max(0.0).sqrt();
    let enter = (middle - half).max(0.0);
    let rest = 1.0 - enter;
    let impact = along(start, minus(end, start), enter);
    let y = dot(impact, axis);
    let foot = (y + slope * length(along(impact, axis, -y))) / (full / 2.0) - 1.0;
    let is_hit = square > 0.0
        && half > 0.0
        && offset < 0.8
        && enter < 1.0
        && middle > 0.0
        && foot.abs() < 1.0;
    let fraction = if is_hit { enter + rest - rest * rest / (rest + half) } else { 1.0 };
    SideSweep {
        position: along(a, along(start, minus(end, start), fraction), 1.0),
        is_hit,
        offset,
        foot,
    }
}
