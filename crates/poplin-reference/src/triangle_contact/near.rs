//! Which listed pairs may be in reach in a round: all but those between which a slab lies that is too thick, several at once.
//!
//! Where both simplices of a pair lie along a direction says how far apart they are at least. The direction is that from the middle of
//! a face to a vertex, and that between points of two edges which three projections have brought close. It takes less than their
//! closest points and leaves out most of what no axis keeps apart. A pair that is left out could not be in reach, whatever rounding does:
//! so lanes and instructions change no bit.

use fearless_simd::{Level, dispatch, f32x8, mask32x8, prelude::*};
use glam::Vec3;

use poplin_layout::TRIANGLE_EAGER;

use super::lanes::{LANES, Real, Vector, Wide, columns};
use super::pairs::{Candidate, Kind};
use super::tree::Reach;
use crate::math::length3;

/// Position of a row and from how far away it pushes \[m\], then its move and from how far away it may cross something \[m\]; below 0 if
/// it cannot be held back, so that only who moves against it meets it.
pub(super) type Point = [[f32; 4]; 2];

/// How much more than that is needed to leave a pair out, because the distance of its closest points is rounded: in parts of
/// that, and of the size of the pair.
const ROUNDING: [f32; 2] = [1.001, 4e-6];

/// The point of a row.
pub(super) fn point(at: Vec3, step: Vec3, reach: &Reach, may_hold: bool) -> Point {
    let Reach { push, cross } = *reach;
    let [push, cross] = [push.max(cross), cross + length3(step)].map(|it| ROUNDING[0] * it);
    let cross = if may_hold { cross } else { -cross };
    [at.extend(push).to_array(), step.extend(cross).to_array()]
}

/// Where a row is and its move \[m\], and whether it may be held back.
#[cfg(feature = "testing")]
pub(super) fn motion([at, step]: &Point) -> (Vec3, Vec3, bool) {
    (Vec3::from_slice(at), Vec3::from_slice(step), step[3] > 0.0)
}

/// Those of some pairs that may be in reach. `rest` has the normals of planes; `reserve` is how far contact may take a row off its path
/// \[m\].
pub(super) fn near(
    candidates: &[Candidate],
    chosen: &[u32],
    points: &[Point],
    rest: &[Vec3],
    reserve: f32,
) -> Vec<u32> {
    dispatch!(Level::new(), simd => near_with(simd, candidates, chosen, points, rest, reserve))
}

/// See [`near`].
#[inline(always)]
fn near_with<S: Simd>(
    simd: S,
    candidates: &[Candidate],
    chosen: &[u32],
    points: &[Point],
    rest: &[Vec3],
    reserve: f32,
) -> Vec<u32> {
    let mut found = Vec::with_capacity(chosen.len() / 4);
    for chosen in chosen.chunks(LANES) {
        let far = far(simd, candidates, chosen, points, reserve);
        for (lane, &index) in chosen.iter().enumerate() {
            let candidate = &candidates[index as usize];
            let is_far = if candidate.kind == Kind::VertexPlane {
                is_above(candidate, points, rest)
            } else {
                far >> lane & 1 != 0
            };
            if !is_far {
                found.push(index);
            }
        }
    }
    found
}

/// Whether a vertex is out of reach of a plane.
#[inline(always)]
fn is_above(candidate: &Candidate, points: &[Point], rest: &[Vec3]) -> bool {
    let [at, other] = [0, 1].map(|k| points[candidate.rows[k] as usize]);
    let normal = rest[candidate.rows[1] as usize];
    let delta = Vec3::from_slice(&at[0]) - Vec3::from_slice(&other[0]);
    let reach = at[0][3] + other[0][3] + at[1][3].abs() + other[1][3].abs();
    let rounding = ROUNDING[1] * delta.abs().element_sum();
    normal.dot(delta) > (reach + rounding) * normal.length().max(1.0)
}

/// Which of up to eight pairs of no plane are out of reach: a bit for each.
#[inline(always)]
fn far<S: Simd>(
    simd: S,
    candidates: &[Candidate],
    chosen: &[u32],
    points: &[Point],
    reserve: f32,
) -> u64 {
    let mut rows = [[0; LANES]; 4];
    let mut rest = [f32::INFINITY; LANES];
    let mut faces = 0;
    for (lane, &index) in chosen.iter().enumerate() {
        let candidate = &candidates[index as usize];
        for (rows, row) in rows.iter_mut().zip(candidate.rows) {
            rows[lane] = row;
        }
        rest[lane] = candidate.rest;
        faces |= u64::from(candidate.kind == Kind::VertexFace) << lane;
    }
    let is_face = mask32x8::from_bitmask(simd, faces);
    let zero = f32x8::splat(simd, 0.0);
    let (half, third) = (f32x8::splat(simd, 0.5), f32x8::splat(simd, 1.0 / 3.0));
    let [a, b, c, d] = corners(simd, &rows, points, 0);
    let (mut normal, mut first, mut second) = ([zero; 3], [[zero; 3]; 2], [[zero; 3]; 2]);
    let (mut middle, mut along, mut across) = ([zero; 3], [zero; 3], [zero; 3]);
    let mut size = zero;
    // All from the third corner. The second is of the face, or of the first edge; the middle of the second edge stands in for it then.
    for k in 0..3 {
        let [x, y, z] = [a[k] - c[k], b[k] - c[k], d[k] - c[k]];
        first[0][k] = x;
        first[1][k] = is_face.select(x, y);
        second[0][k] = z;
        second[1][k] = is_face.select(y, z * half);
        across[k] = z;
        normal[k] = x - (y + z) * third;
        middle[k] = (x + y) * half;
        along[k] = y - x;
        size += Real::greater(x.abs(), Real::greater(y.abs(), z.abs()));
    }
    // Points of two edges that come closer and closer.
    let (none, across) = (Wide([zero; 3]), Wide(across));
    let on_second = project(Wide(middle), none, across);
    let on_first = project(on_second, Wide(first[0]), Wide(along));
    let on_second = project(on_first, none, across);
    let normal = Wide::select(is_face, Wide(normal), on_first - on_second);
    let low = Real::lesser(normal.dot3(Wide(first[0])), normal.dot3(Wide(first[1])));
    let high = Real::greater(
        zero,
        Real::greater(normal.dot3(Wide(second[0])), normal.dot3(Wide(second[1]))),
    );
    let push = reaches(is_face, a[3], b[3], c[3], d[3]);
    // What rests closer pushes later; it is of one cloth and crosses as any other.
    let rest = f32x8::from_slice(simd, &rest) + f32x8::splat(simd, TRIANGLE_EAGER * reserve);
    let closer =
        Real::greater(rest, f32x8::splat(simd, 2.0 * reserve)) * f32x8::splat(simd, ROUNDING[0]);
    let push = Real::lesser(closer, push);
    let [a, b, c, d] = corners(simd, &rows, points, 1);
    let cross = reaches(is_face, a[3].abs(), b[3].abs(), c[3].abs(), d[3].abs());
    let may_hold =
        Real::greater(Real::greater(a[3], b[3]), Real::greater(c[3], d[3])).simd_gt(zero);
    // How far any two corners move against each other.
    let mut moves = [zero; 3];
    for k in 0..3 {
        let (with_first, with_second) = (is_face.select(a[k], b[k]), is_face.select(b[k], c[k]));
        let apart =
            Real::greater(a[k], with_first) - Real::lesser(with_second, Real::lesser(c[k], d[k]));
        let against =
            Real::greater(with_second, Real::greater(c[k], d[k])) - Real::lesser(a[k], with_first);
        moves[k] = Real::greater(apart, against);
    }
    let moves = Wide(moves).dot3(Wide(moves)).sqrt() * f32x8::splat(simd, ROUNDING[0]);
    // Who cannot be held back crosses nothing that is not within reach of what it moves against it.
    let reach = Real::greater(push + moves, may_hold.select(cross, zero));
    let reach = reach + size * f32x8::splat(simd, ROUNDING[1]);
    let between = low - high;
    let is_far =
        between.simd_gt(zero) & (between * between).simd_gt(normal.dot3(normal) * (reach * reach));
    is_far.to_bitmask()
}

/// How far away two simplices are in reach of each other by these distances of their corners.
#[inline(always)]
fn reaches<S: Simd>(
    is_face: mask32x8<S>,
    a: f32x8<S>,
    b: f32x8<S>,
    c: f32x8<S>,
    d: f32x8<S>,
) -> f32x8<S> {
    let (with_first, with_second) = (is_face.select(a, b), is_face.select(b, c));
    Real::greater(a, with_first) + Real::greater(with_second, Real::greater(c, d))
}

/// The point of an edge that is closest to a point.
#[inline(always)]
fn project<S: Simd>(at: Wide<S>, from: Wide<S>, along: Wide<S>) -> Wide<S> {
    from + along * ((at - from).dot3(along) / along.dot3(along)).clamp_unit()
}

/// The columns of one half of the points of four rows in each lane.
#[inline(always)]
fn corners<S: Simd>(
    simd: S,
    rows: &[[u32; LANES]; 4],
    points: &[Point],
    half: usize,
) -> [[f32x8<S>; 4]; 4] {
    [
        columns::<S, 2>(simd, points.as_flattened(), half, &rows[0]),
        columns::<S, 2>(simd, points.as_flattened(), half, &rows[1]),
        columns::<S, 2>(simd, points.as_flattened(), half, &rows[2]),
        columns::<S, 2>(simd, points.as_flattened(), half, &rows[3]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::pairs::closest;
    use super::*;

    /// How far contact may take a row off its path \[m\].
    const RESERVE: f32 = 0.05;

    /// A number from -1 to 1 of a sequence that looks random.
    fn next(state: &mut u32) -> f32 {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (*state >> 8) as f32 / (1 << 23) as f32 - 1.0
    }

    #[test]
    fn what_is_left_out_is_out_of_reach_with_any_instructions() {
        let mut state = 1;
        let [mut left_out, mut far] = [0, 0];
        for round in 0..4000 {
            let mut point_of = |size: f32| Vec3::from([0; 3].map(|_| size * next(&mut state)));
            let origin = point_of([0.0, 1000.0][round % 2]);
            let step = [0.0, 0.1, 3.0][round % 3];
            let at: Vec<Vec3> = (0..32).map(|_| origin + point_of(1.0)).collect();
            // What moves alike meets only who is held back.
            let drift = point_of([0.0, 3.0][round / 8 % 2]);
            let steps: Vec<Vec3> = (0..32).map(|_| drift + point_of(step)).collect();
            let rest: Vec<Vec3> = (0..32).map(|_| point_of(1.0).normalize_or(Vec3::X)).collect();
            let hard = [0.0, 0.1][round / 2 % 2];
            let reach = Reach { push: 0.1 + 0.5 * TRIANGLE_EAGER * RESERVE, cross: hard + RESERVE };
            let may_hold: Vec<bool> = (0..32).map(|row| (row * 7 + round) % 5 == 0).collect();
            let may_hold = |row: usize| may_hold[row] && round / 4 % 2 == 0;
            let points: Vec<Point> =
                (0..32).map(|row| point(at[row], steps[row], &reach, may_hold(row))).collect();
            let pair = |k: u32| {
                let kind = [Kind::VertexFace, Kind::EdgeEdge, Kind::VertexPlane][k as usize % 3];
                let [a, b, c, d] = [0, 1, 2, 3].map(|corner| (4 * k + corner + round as u32) % 32);
                let rows = if kind == Kind::VertexPlane { [a, b, b, b] } else { [a, b, c, d] };
                let rank = [0, 0, 0, k];
                Candidate {
                    rows,
                    kind,
                    owned: 0,
                    beyond: [0; 3],
                    friction: 0.0,
                    // Only what is of a cloth rests close.
                    rest: [0.15, 0.3, f32::INFINITY]
                        [if hard > 0.0 { 2 } else { k as usize / 2 % 3 }],
                    is_own: false,
                    rank,
                }
            };
            let pairs: Vec<Candidate> = (0..7).map(pair).collect();
            let all: Vec<u32> = (0..pairs.len() as u32).collect();
            let found = near(&pairs, &all, &points, &rest, RESERVE);
            let baseline = dispatch!(
                Level::baseline(),
                simd => near_with(simd, &pairs, &all, &points, &rest, RESERVE)
            );
            assert_eq!(found, baseline);
            for (index, pair) in pairs.iter().enumerate() {
                let corner = pair.rows.map(|row| row as usize);
                let closest = closest(pair.kind, corner.map(|row| at[row]));
                let (normal, distance) = if pair.kind == Kind::VertexPlane {
                    (rest[corner[1]], rest[corner[1]].dot(closest.delta))
                } else {
                    (closest.delta.normalize_or_zero(), closest.delta.length())
                };
                let moves = corner.map(|row| normal.dot(steps[row]));
                let (first, second) = moves.split_at(pair.first_count());
                let [first_low, second_high] = [
                    first.iter().copied().fold(f32::INFINITY, f32::min),
                    second.iter().copied().fold(f32::NEG_INFINITY, f32::max),
                ];
                let thickness = pair.rest.min(0.2);
                let closing = (distance - thickness).max(0.0);
                let closer = closing + first_low - second_high < TRIANGLE_EAGER * RESERVE;
                let pushes = distance < thickness || closer;
                let held = [0, 1, 2, 3].map(|k| if may_hold(corner[k]) { 0.0 } else { moves[k] });
                let (first_held, second_held) = held.split_at(pair.first_count());
                let first = first_held.iter().copied().fold(first_low, f32::min);
                let second = second_held.iter().copied().fold(second_high, f32::max);
                let crosses = distance - 2.0 * hard + (first - second).min(0.0) < 2.0 * RESERVE;
                let is_left_out = !found.contains(&(index as u32));
                assert!(!is_left_out || !pushes && !crosses, "{pair:?} at {at:?}");
                left_out += usize::from(is_left_out);
                far += usize::from(!pushes && !crosses);
            }
        }
        assert!(4 * left_out > far, "{left_out} of {far} that are out of reach");
    }
}
