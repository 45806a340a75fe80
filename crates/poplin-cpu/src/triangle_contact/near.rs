//! Cheap filter of candidates for one round: rejects pairs that are separated by a
//! [slab](super::slab) thicker than their reach.

use fearless_simd::{Level, Simd, dispatch, f32x8};
use glam::Vec3;

use poplin_layout::TRIANGLE_EAGER;

use super::lanes::LANES;
use super::pairs::{Candidate, Kind};
use super::path::Reach;
use super::slab::{
    ROUNDING, Sides, against, corners, out_of_reach, position, reaches, side_by_side,
};
use crate::lanes::Real;
use crate::math::length3;

/// Position of a row and its contact radius \[m\]; its move and its crossing radius \[m\]. The
/// crossing radius is negative for a row that may not be truncated: such a row meets only rows that
/// move against it.
pub(super) type Point = [[f32; 4]; 2];

/// Packs the point of a row.
pub(super) fn point(at: Vec3, step: Vec3, reach: &Reach, may_hold: bool) -> Point {
    let Reach { push, cross } = *reach;
    let [push, cross] = [push.max(cross), cross + length3(step)].map(|it| ROUNDING[0] * it);
    let cross = if may_hold { cross } else { -cross };
    [at.extend(push).to_array(), step.extend(cross).to_array()]
}

/// Unpacks the position and move of a row \[m\] and whether it may be truncated.
#[cfg(feature = "testing")]
pub(super) fn motion([at, step]: &Point) -> (Vec3, Vec3, bool) {
    (Vec3::from_slice(at), Vec3::from_slice(step), step[3] > 0.0)
}

/// Returns the chosen candidates that may be in reach. `rest` holds the normals of planes;
/// `reserve` is the largest deviation of a row from its path \[m\].
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

/// Tests whether a vertex is out of reach of a plane.
#[inline(always)]
fn is_above(candidate: &Candidate, points: &[Point], rest: &[Vec3]) -> bool {
    let [at, other] = [0, 1].map(|k| points[candidate.rows[k] as usize]);
    let normal = rest[candidate.rows[1] as usize];
    let delta = Vec3::from_slice(&at[0]) - Vec3::from_slice(&other[0]);
    let reach = at[0][3] + other[0][3] + at[1][3].abs() + other[1][3].abs();
    let rounding = ROUNDING[1] * delta.abs().element_sum();
    // Conservative for normals that are not of unit length.
    normal.dot(delta) > (reach + rounding) * normal.length().max(1.0)
}

/// Returns a bit mask of the pairs, up to eight and without planes, that are out of reach.
#[inline(always)]
fn far<S: Simd>(
    simd: S,
    candidates: &[Candidate],
    chosen: &[u32],
    points: &[Point],
    reserve: f32,
) -> u64 {
    let pairs = chosen.iter().map(|&index| &candidates[index as usize]);
    let (rows, rest, is_face) = side_by_side(simd, pairs);
    let [a, b, c, d] = corners::<S, 2>(simd, &rows, points, 0);
    let sides = Sides::new(is_face, [position(a), position(b), position(c), position(d)]);
    let normal = sides.direction(is_face);
    let between = sides.between(normal);
    let push = reaches(is_face, a[3], b[3], c[3], d[3]);
    // A pair that rests closer than the thickness pushes only below its rest distance; it crosses
    // like any other.
    let rest = rest + f32x8::splat(simd, TRIANGLE_EAGER * reserve);
    let closer =
        Real::greater(rest, f32x8::splat(simd, 2.0 * reserve)) * f32x8::splat(simd, ROUNDING[0]);
    // The smaller of rest distance and contact distance.
    let push = Real::lesser(closer, push);
    let steps = corners::<S, 2>(simd, &rows, points, 1);
    let moves = against(is_face, &steps) * f32x8::splat(simd, ROUNDING[0]);
    out_of_reach(is_face, (between, normal), push, moves, &steps, sides.size)
}

#[cfg(test)]
mod tests {
    use poplin_geometry::Rng;

    use super::super::slab::tests::{RESERVE, in_reach, pair};
    use super::*;

    #[test]
    fn rejected_pairs_are_out_of_reach_with_any_instructions() {
        let mut rng = Rng::new(1);
        let [mut left_out, mut far] = [0, 0];
        for round in 0..4000 {
            let mut point_of = |size: f32| Vec3::from(rng.point(-size, size));
            let origin = point_of([0.0, 1000.0][round % 2]);
            let step = [0.0, 0.1, 3.0][round % 3];
            let at: Vec<Vec3> = (0..32).map(|_| origin + point_of(1.0)).collect();
            // Rows that move alike meet only truncated rows.
            let drift = point_of([0.0, 3.0][round / 8 % 2]);
            let steps: Vec<Vec3> = (0..32).map(|_| drift + point_of(step)).collect();
            let rest: Vec<Vec3> = (0..32).map(|_| point_of(1.0).normalize_or(Vec3::X)).collect();
            let hard = [0.0, 0.1][round / 2 % 2];
            let reach = Reach { push: 0.1 + 0.5 * TRIANGLE_EAGER * RESERVE, cross: hard + RESERVE };
            let may_hold: Vec<bool> = (0..32).map(|row| (row * 7 + round) % 5 == 0).collect();
            let may_hold = |row: usize| may_hold[row] && round / 4 % 2 == 0;
            let points: Vec<Point> =
                (0..32).map(|row| point(at[row], steps[row], &reach, may_hold(row))).collect();
            let pairs: Vec<Candidate> = (0..7).map(|k| pair(k, round, hard)).collect();
            let all: Vec<u32> = (0..pairs.len() as u32).collect();
            let found = near(&pairs, &all, &points, &rest, RESERVE);
            let baseline = dispatch!(
                Level::baseline(),
                simd => near_with(simd, &pairs, &all, &points, &rest, RESERVE)
            );
            assert_eq!(found, baseline);
            for (index, pair) in pairs.iter().enumerate() {
                let [_, pushes, crosses] = in_reach(pair, &at, &steps, &rest, may_hold, hard);
                let is_left_out = !found.contains(&(index as u32));
                assert!(!is_left_out || !pushes && !crosses, "{pair:?} at {at:?}");
                left_out += usize::from(is_left_out);
                far += usize::from(!pushes && !crosses);
            }
        }
        assert!(4 * left_out > far, "{left_out} of {far} that are out of reach");
    }
}
