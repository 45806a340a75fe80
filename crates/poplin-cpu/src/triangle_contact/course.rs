//! Filter of candidates for the lifetime of the lists: rejects pairs whose separating
//! [slab](super::slab) stays thicker than their reach. Boxes by themselves pass three to five times
//! as many pairs.

use fearless_simd::{Simd, f32x8};
use glam::Vec3;
use poplin_layout::TRIANGLE_EAGER;

use super::lanes::LANES;
use super::pairs::{Candidate, Kind};
use super::path::Reach;
use super::slab::{
    ROUNDING, SideBySide, Sides, against, corners, out_of_reach, position, reaches, side_by_side,
};
use crate::lanes::Real;
use crate::math::length3;

/// Motion bound of a row for the lifetime of the lists. First row: position at their start and
/// contact radius \[m\]; second: displacement per slice and crossing radius, negative if the row
/// may not be truncated; third: largest deviation from that path.
pub(super) type Course = [[f32; 4]; 3];

/// Packs the motion bound of a row. `longest` is the longest round as a fraction of a slice; the
/// row is within `slack` of its path before and after each round.
///
/// The contact distance at the end of a round is smaller by two slacks, and the direction of the
/// pair may change: the third side of a right triangle bounds both. Moves are longer by two slacks.
pub(super) fn course(
    anchor: Vec3,
    speed: Vec3,
    slack: f32,
    reach: &Reach,
    longest: f32,
    may_hold: bool,
) -> Course {
    // See above: both ends deviate by up to a slack.
    let cross = reach.cross + 2.0 * slack;
    let push = (reach.push + 0.5 * slack).max(cross);
    let cross = cross + longest * length3(speed);
    let [push, cross] = [push, cross].map(|it| ROUNDING[0] * it);
    // The sign carries the flag.
    let cross = if may_hold { cross } else { -cross };
    [anchor.extend(push).to_array(), speed.extend(cross).to_array(), [slack, 0.0, 0.0, 0.0]]
}

/// Lifetime and limits of the candidate lists.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Age of the lists and the age at which they expire \[slices\].
    pub(super) times: [f32; 2],
    /// Longest round, as a fraction of a slice.
    pub(super) longest: f32,
    /// Largest deviation of a row from its path by contact \[m\].
    pub(super) reserve: f32,
}

/// Unpacks the start of a row \[m\], its displacement per slice and its largest deviation \[m\].
pub(super) fn parts([anchor, speed, [slack, ..]]: &Course) -> (Vec3, Vec3, f32) {
    (Vec3::from_slice(anchor), Vec3::from_slice(speed), *slack)
}

/// Keeps the candidates of one kind that may be in reach in any later round while their rows stay
/// within their motion bounds.
#[inline(always)]
pub(super) fn keep_near<S: Simd>(
    simd: S,
    pairs: &mut Vec<Candidate>,
    courses: &[Course],
    rest: &[Vec3],
    span: &Span,
) {
    let mut kept = 0;
    for begin in (0..pairs.len()).step_by(LANES) {
        let end = pairs.len().min(begin + LANES);
        let far = if pairs[begin].kind == Kind::VertexPlane {
            stays_above(&pairs[begin..end], courses, rest, span)
        } else {
            stays_far(simd, side_by_side(simd, pairs[begin..end].iter()), courses, span)
        };
        for index in begin..end {
            pairs[kept] = pairs[index];
            kept += usize::from(far >> (index - begin) & 1 == 0);
        }
    }
    pairs.truncate(kept);
}

/// Returns a bit mask of the vertices that stay out of reach of their planes.
#[inline(always)]
fn stays_above(pairs: &[Candidate], courses: &[Course], rest: &[Vec3], span: &Span) -> u64 {
    let mut far = 0;
    for (lane, pair) in pairs.iter().enumerate() {
        let [own, other] = [&courses[pair.rows[0] as usize], &courses[pair.rows[1] as usize]];
        let normal = rest[pair.rows[1] as usize];
        let delta = Vec3::from_slice(&own[0]) - Vec3::from_slice(&other[0]);
        let speed = Vec3::from_slice(&own[1]) - Vec3::from_slice(&other[1]);
        let reach = own[0][3] + other[0][3] + own[1][3].abs() + other[1][3].abs();
        // Heights over the plane at both ends; linear in between.
        let heights = span.times.map(|time| {
            let at = delta + speed * time;
            normal.dot(at) - ROUNDING[1] * at.abs().element_sum()
        });
        far |= u64::from(heights[0].min(heights[1]) > reach * normal.length().max(1.0)) << lane;
    }
    far
}

/// Returns a bit mask of the pairs of one kind, up to eight, that stay out of reach even without a
/// rest distance. `rows` are those of the corners.
#[inline(always)]
pub(super) fn stays_apart<S: Simd>(
    simd: S,
    kind: Kind,
    rows: &[[u32; LANES]; 4],
    courses: &[Course],
    span: &Span,
) -> u64 {
    let rest = f32x8::splat(simd, f32::INFINITY);
    let is_face = fearless_simd::SimdMask::splat(simd, kind == Kind::VertexFace);
    stays_far(simd, (*rows, rest, is_face), courses, span)
}

/// Returns a bit mask of the pairs, up to eight and without planes, that stay out of reach.
#[inline(always)]
fn stays_far<S: Simd>(
    simd: S,
    (rows, rest, is_face): SideBySide<S>,
    courses: &[Course],
    span: &Span,
) -> u64 {
    let [a, b, c, d] = corners::<S, 3>(simd, &rows, courses, 0);
    let steps = corners::<S, 3>(simd, &rows, courses, 1);
    let [p, q, r, s] = steps;
    let [now, end] = span.times;
    let (u, v) = (position(p), position(q));
    let (w, x) = (position(r), position(s));
    let time = f32x8::splat(simd, now);
    let (i, j) = (position(a) + u * time, position(b) + v * time);
    let (k, l) = (position(c) + w * time, position(d) + x * time);
    let sides = Sides::new(is_face, [i, j, k, l]);
    let normal = sides.direction(is_face);
    let between = sides.between(normal);
    // On straight paths the thickness of the slab is linear in time: its smallest value is at one
    // of both ends.
    let time = f32x8::splat(simd, end - now);
    let sides = Sides::new(is_face, [i + u * time, j + v * time, k + w * time, l + x * time]);
    let between = Real::lesser(between, sides.between(normal));
    let push = reaches(is_face, a[3], b[3], c[3], d[3]);
    let [e, f, g, h] = corners::<S, 3>(simd, &rows, courses, 2);
    let slack = reaches(is_face, e[0], f[0], g[0], h[0]);
    // A pair that rests closer pushes only below its rest distance.
    let more = slack * f32x8::splat(simd, 1.5);
    let rest = rest + f32x8::splat(simd, TRIANGLE_EAGER * span.reserve);
    let closer = Real::greater(rest, f32x8::splat(simd, 2.0 * span.reserve) + more) + more;
    let push = Real::lesser(closer * f32x8::splat(simd, ROUNDING[0]), push);
    // Largest relative move in one round.
    let moves = against(is_face, &steps) * f32x8::splat(simd, ROUNDING[0] * span.longest);
    // Rounding grows with the coordinates.
    let size = sides.size + k.x.abs() + k.y.abs() + k.z.abs();
    out_of_reach(is_face, (between, normal), push, moves, &steps, size)
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, dispatch};
    use poplin_geometry::Rng;

    use super::super::slab::tests::{RESERVE, in_reach, pair};
    use super::*;

    #[test]
    fn rejected_pairs_stay_out_of_reach() {
        let mut rng = Rng::new(7);
        let [mut left_out, mut all] = [0, 0];
        for round in 0..6000 {
            let mut point = |size: f32| Vec3::from(rng.point(-size, size));
            let speed = [0.0, 0.05, 0.6][round % 3];
            let anchors: Vec<Vec3> = (0..32).map(|_| point(1.0)).collect();
            let drift = point([0.0, 1.0][round / 8 % 2]);
            let speeds: Vec<Vec3> = (0..32).map(|_| drift + point(speed)).collect();
            let planes: Vec<Vec3> = (0..32).map(|_| point(1.0).normalize_or(Vec3::X)).collect();
            let slack = [0.0, 0.02, 0.1, 0.3][round / 2 % 4];
            let hard = [0.0, 0.1][round / 4 % 2];
            let may_hold =
                |row: usize| (row * 7 + round).is_multiple_of(5) && (round / 4).is_multiple_of(2);
            let (now, end, longest) = (0.5, [1.0, 4.0][round / 3 % 2], [0.25, 1.0][round % 2]);
            let reach = Reach {
                push: 0.1 + 0.5 * TRIANGLE_EAGER * RESERVE + slack,
                cross: hard + RESERVE + slack,
            };
            let courses: Vec<Course> = (0..32)
                .map(|k| course(anchors[k], speeds[k], slack, &reach, longest, may_hold(k)))
                .collect();
            let span = Span { times: [now, end], longest, reserve: RESERVE };
            let pairs: Vec<Candidate> = (0..24).map(|k| pair(k, round, hard)).collect();
            let mut kept = Vec::new();
            for kind in [Kind::VertexFace, Kind::EdgeEdge, Kind::VertexPlane] {
                let mut of = pairs.clone();
                of.retain(|pair| pair.kind == kind);
                dispatch!(Level::new(), simd => keep_near(simd, &mut of, &courses, &planes, &span));
                kept.extend(of.iter().map(|pair| pair.rank));
            }
            all += pairs.len();
            left_out += pairs.len() - kept.len();
            for _ in 0..16 {
                // Random positions within the motion bound before and after a round.
                let part = longest.min(end - now) * point(1.0).x.abs();
                let time = now + (end - part - now) * point(1.0).x.abs();
                let mut near = |time: f32| -> Vec<Vec3> {
                    let off = (0..32).map(|_| point(1.0).normalize_or_zero() * slack);
                    off.zip(anchors.iter().zip(&speeds))
                        .map(|(off, (anchor, speed))| *anchor + *speed * time + off)
                        .collect()
                };
                let (at, then) = (near(time), near(time + part));
                let steps: Vec<Vec3> = at.iter().zip(&then).map(|(at, then)| *then - *at).collect();
                for pair in pairs.iter().filter(|pair| !kept.contains(&pair.rank)) {
                    let [pushes, _, crosses] = in_reach(pair, &at, &steps, &planes, may_hold, hard);
                    assert!(!pushes && !crosses, "{pair:?} in round {round}");
                }
            }
        }
        assert!(8 * left_out > all, "{left_out} of {all}");
    }
}
