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

/// Result of sweeping a point past a convex polyhedron.
#[derive(Debug, Clone, Copy)]
pub struct PolyhedronSweep {
    /// Displacement of the end of the path \[m\]; 0 unless it passed the middle of the part behind
    /// the face by which it entered.
    pub back: [f64; 3],
    /// Distance of the result from another one \[m\]: of the path from a miss or from an edge, and
    /// of its end from the middle.
    pub clearance: f64,
    /// True if the path starts outside; the result is only that of the sweep if it does.
    pub starts_outside: bool,
}

/// Sweeps a point that starts outside from `before` to `now` while the planes (unit normal, offset)
/// of a convex polyhedron move from the first to the second of each pair.
///
/// The largest height over the planes is a convex function of the fraction of the path: its minimum
/// is found by golden sections, the entry before it and the thickness behind the face by bisection.
pub fn sweep_convex(before: [f64; 3], now: [f64; 3], planes: &[[[f64; 4]; 2]]) -> PolyhedronSweep {
    let over = |[a, b, c, d]: [f64; 4], x| dot([a, b, c], x) + d;
    let heights: Vec<[f64; 2]> =
        planes.iter().map(|&[old, new]| [over(old, before), over(new, now)]).collect();
    let height = |time: f64| {
        let all = heights.iter().map(|[from, to]| from + (to - from) * time);
        all.enumerate().fold((0, f64::MIN), |best, next| if next.1 > best.1 { next } else { best })
    };
    let mut low = 0.0;
    let mut high = 1.0;
    for _ in 0..200 {
        let [a, b] = [2.0 * low + high, low + 2.0 * high].map(|time| time / 3.0);
        if height(a).1 < height(b).1 { high = b } else { low = a }
    }
    let deepest = 0.5 * (low + high);
    let start = height(0.0).1;
    let miss = PolyhedronSweep {
        back: [0.0; 3],
        clearance: height(deepest).1.abs().min(start.abs()),
        starts_outside: start > 0.0,
    };
    if height(deepest).1 >= 0.0 || start <= 0.0 {
        return miss;
    }
    let [mut outside, mut inside] = [0.0, deepest];
    for _ in 0..100 {
        let time = 0.5 * (outside + inside);
        if height(time).1 > 0.0 { outside = time } else { inside = time }
    }
    let (face, _) = height(outside);
    // Height of the next face where it enters: 0 at an edge.
    let others = heights.iter().enumerate().filter(|&(other, _)| other != face);
    let next = others.map(|(_, [from, to])| from + (to - from) * outside).fold(f64::MIN, f64::max);
    let [a, b, c, _] = planes[face][1];
    let (normal, end) = ([a, b, c], heights[face][1]);
    let foot = along(now, normal, -end);
    let behind = |depth: f64| {
        let point = along(foot, normal, -depth);
        let others = planes.iter().enumerate().filter(|&(other, _)| other != face);
        others.map(|(_, &[_, new])| over(new, point)).fold(f64::MIN, f64::max)
    };
    let beside = behind(0.0);
    let [mut within, mut beyond] = [0.0, 1e4];
    for _ in 0..200 {
        let depth = 0.5 * (within + beyond);
        if behind(depth) < 0.0 { within = depth } else { beyond = depth }
    }
    let from_middle = -end - 0.5 * within;
    let clearance = miss.clearance.min(-next).min(beside.abs()).min(from_middle.abs());
    let is_passed = beside < 0.0 && from_middle > 0.0;
    let back = if is_passed { normal.map(|x| -x * (end + 0.25 * within)) } else { [0.0; 3] };
    PolyhedronSweep { back, clearance, starts_outside: true }
}
