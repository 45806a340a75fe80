//! Lower bounds on the distance of the simplices of eight pairs, by a separating slab.
//!
//! Both simplices are projected on one direction: from the middle of a face to the vertex, or
//! between points of two edges after three alternating projections. This costs less than the
//! closest points and rejects most pairs that no box axis separates. Margins cover all rounding, so
//! a rejected pair is never in reach: lane count and instruction set change no bit of the result.

use fearless_simd::{Simd, f32x8, mask32x8};

use super::lanes::{LANES, Vector, Wide, columns};
use super::pairs::{Candidate, Kind};
use crate::lanes::{LaneMask as _, Real};

/// Margins for rounding of the distance between closest points: a factor on the distance, and a
/// fraction of the size of the pair.
pub(super) const ROUNDING: [f32; 2] = [1.001, 4e-6];

/// Rows of the corners of up to eight pairs without planes, their rest distances, and the mask of
/// vertex-face pairs.
pub(super) type SideBySide<S> = ([[u32; LANES]; 4], f32x8<S>, mask32x8<S>);

/// Transposes up to eight pairs.
#[inline(always)]
pub(super) fn side_by_side<'a, S: Simd>(
    simd: S,
    pairs: impl Iterator<Item = &'a Candidate>,
) -> SideBySide<S> {
    let mut rows = [[0; LANES]; 4];
    let mut rest = [f32::INFINITY; LANES];
    let mut faces = 0;
    for (lane, pair) in pairs.enumerate() {
        for (rows, row) in rows.iter_mut().zip(pair.rows) {
            rows[lane] = row;
        }
        rest[lane] = pair.rest;
        faces |= u64::from(pair.kind == Kind::VertexFace) << lane;
    }
    (rows, f32x8::from_slice(simd, &rest), mask32x8::from_bitmask(simd, faces))
}

/// Returns a bit mask of the pairs whose slab exceeds their reach. `between` is the slab's
/// thickness times the length of `normal`; a zero normal rejects nothing. `push` is the contact
/// distance, `moves` the largest relative move, and the last column of `steps` the crossing radius:
/// a pair whose rows may not be truncated crosses only within the relative move.
#[inline(always)]
pub(super) fn out_of_reach<S: Simd>(
    is_face: mask32x8<S>,
    (between, normal): (f32x8<S>, Wide<S>),
    push: f32x8<S>,
    moves: f32x8<S>,
    [a, b, c, d]: &[[f32x8<S>; 4]; 4],
    size: f32x8<S>,
) -> u64 {
    let zero = push.all(0.0);
    let cross = reaches(is_face, a[3].abs(), b[3].abs(), c[3].abs(), d[3].abs());
    let may_hold =
        zero.simd_lt(Real::greater(Real::greater(a[3], b[3]), Real::greater(c[3], d[3])));
    let reach = Real::greater(push + moves, may_hold.select(cross, zero));
    let reach = reach + size * push.all(ROUNDING[1]);
    // between / |n| > reach, without the division
    let square = normal.dot3(normal) * (reach * reach);
    (zero.simd_lt(between) & square.simd_lt(between * between)).to_bitmask()
}

/// Returns the largest relative move of a corner of one side and a corner of the other, from the
/// moves of all corners.
#[inline(always)]
pub(super) fn against<S: Simd>(is_face: mask32x8<S>, steps: &[[f32x8<S>; 4]; 4]) -> f32x8<S> {
    let [a, b, c, d] = steps;
    // Per axis: the largest difference between the ranges of both sides.
    let mut moves = [a[0]; 3];
    for k in 0..3 {
        let (with_first, with_second) = (is_face.select(a[k], b[k]), is_face.select(b[k], c[k]));
        let apart =
            Real::greater(a[k], with_first) - Real::lesser(with_second, Real::lesser(c[k], d[k]));
        let against =
            Real::greater(with_second, Real::greater(c[k], d[k])) - Real::lesser(a[k], with_first);
        moves[k] = Real::greater(apart, against);
    }
    let moves = Wide::of(moves);
    moves.dot3(moves).sqrt()
}

/// Corners of both simplices relative to the third corner.
pub(super) struct Sides<S: Simd> {
    /// Vertex twice, or both ends of the first edge.
    first: [Wide<S>; 2],
    /// Two corners of the face, or the end and the middle of the second edge.
    second: [Wide<S>; 2],
    /// Middle of the first edge.
    middle: Wide<S>,
    /// Size of the pair \[m\]: sum of the largest coordinates.
    pub(super) size: f32x8<S>,
}

impl<S: Simd> Sides<S> {
    #[inline(always)]
    pub(super) fn new(is_face: mask32x8<S>, [a, b, c, d]: [Wide<S>; 4]) -> Self {
        let half = a.x.all(0.5);
        // Relative to corner c, which is 0 from here on.
        let (x, y, z) = (a - c, b - c, d - c);
        let mut size = half.all(0.0);
        for (x, y, z) in [(x.x, y.x, z.x), (x.y, y.y, z.y), (x.z, y.z, z.z)] {
            size += Real::greater(x.abs(), Real::greater(y.abs(), z.abs()));
        }
        Self {
            first: [x, Wide::select(is_face, x, y)],
            second: [z, Wide::select(is_face, y, z * half)],
            middle: (x + y) * half,
            size,
        }
    }

    /// Returns the direction of the slab: from the middle of a face to the vertex, or between
    /// points of two edges after alternating projections.
    #[inline(always)]
    pub(super) fn direction(&self, is_face: mask32x8<S>) -> Wide<S> {
        let ([x, y], [z, w]) = (self.first, self.second);
        let zero = self.size.all(0.0);
        let none = Wide::new(zero, zero, zero);
        // Alternating projections approach the closest points of two lines; any direction gives a
        // valid bound.
        let on_second = project(self.middle, none, z);
        let on_first = project(on_second, x, y - x);
        let on_second = project(on_first, none, z);
        Wide::select(is_face, x - (w + z) * zero.all(1.0 / 3.0), on_first - on_second)
    }

    /// Returns the thickness of the slab along a direction, times the length of the direction;
    /// negative if the projections overlap.
    #[inline(always)]
    pub(super) fn between(&self, along: Wide<S>) -> f32x8<S> {
        let ([x, y], [z, w]) = (self.first, self.second);
        // Lowest projection of the first side minus the highest of the second; corner c projects to
        // 0.
        let low = Real::lesser(along.dot3(x), along.dot3(y));
        low - Real::greater(self.size.all(0.0), Real::greater(along.dot3(z), along.dot3(w)))
    }
}

/// Extracts the position from the first three columns.
#[inline(always)]
pub(super) fn position<S: Simd>([x, y, z, _]: [f32x8<S>; 4]) -> Wide<S> {
    Wide::new(x, y, z)
}

/// Returns the distance within which two simplices interact, from the radii of their corners.
#[inline(always)]
pub(super) fn reaches<S: Simd>(
    is_face: mask32x8<S>,
    a: f32x8<S>,
    b: f32x8<S>,
    c: f32x8<S>,
    d: f32x8<S>,
) -> f32x8<S> {
    let (with_first, with_second) = (is_face.select(a, b), is_face.select(b, c));
    Real::greater(a, with_first) + Real::greater(with_second, Real::greater(c, d))
}

/// Projects a point on an edge.
#[inline(always)]
fn project<S: Simd>(at: Wide<S>, from: Wide<S>, along: Wide<S>) -> Wide<S> {
    from + along * ((at - from).dot3(along) / along.dot3(along)).clamp_unit()
}

/// Gathers one of `N` parts of the four corner rows of each lane.
#[inline(always)]
pub(super) fn corners<S: Simd, const N: usize>(
    simd: S,
    rows: &[[u32; LANES]; 4],
    parts: &[[[f32; 4]; N]],
    part: usize,
) -> [[f32x8<S>; 4]; 4] {
    let parts = parts.as_flattened();
    [
        columns::<S, N>(simd, parts, part, &rows[0]),
        columns::<S, N>(simd, parts, part, &rows[1]),
        columns::<S, N>(simd, parts, part, &rows[2]),
        columns::<S, N>(simd, parts, part, &rows[3]),
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use glam::Vec3;
    use poplin_layout::TRIANGLE_EAGER;

    use super::super::pairs::closest;
    use super::*;

    /// Largest deviation of a row from its path \[m\].
    pub(crate) const RESERVE: f32 = 0.05;

    /// Pair among 32 rows. Only pairs of one cloth have a rest distance.
    pub(crate) fn pair(k: u32, round: usize, hard: f32) -> Candidate {
        let kind = [Kind::VertexFace, Kind::EdgeEdge, Kind::VertexPlane][k as usize % 3];
        let [a, b, c, d] = [0, 1, 2, 3].map(|corner| (4 * k + corner + round as u32) % 32);
        let rows = if kind == Kind::VertexPlane { [a, b, b, b] } else { [a, b, c, d] };
        let rest = if hard > 0.0 { 2 } else { k as usize / 2 % 3 };
        Candidate {
            rows,
            kind,
            owned: 0,
            beyond: [0; 3],
            friction: 0.0,
            rest: [0.15, 0.3, f32::INFINITY][rest],
            is_own: false,
            rank: [0, 0, 0, k],
        }
    }

    /// Tests whether a pair of radius 0.1 pushes in a round with these positions and steps, whether
    /// it would if it moved with its fastest approaching corners, and whether it may cross.
    pub(crate) fn in_reach(
        pair: &Candidate,
        at: &[Vec3],
        steps: &[Vec3],
        planes: &[Vec3],
        may_hold: impl Fn(usize) -> bool,
        hard: f32,
    ) -> [bool; 3] {
        let corner = pair.rows.map(|row| row as usize);
        let closest = closest(pair.kind, corner.map(|row| at[row]));
        let (normal, distance) = if pair.kind == Kind::VertexPlane {
            (planes[corner[1]], planes[corner[1]].dot(closest.delta))
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
        let change: f32 =
            moves.iter().zip(closest.weights).map(|(along, weight)| along * weight).sum();
        let pushes =
            |change: f32| distance < thickness || closing + change < TRIANGLE_EAGER * RESERVE;
        let held = [0, 1, 2, 3].map(|k| if may_hold(corner[k]) { 0.0 } else { moves[k] });
        let (first_held, second_held) = held.split_at(pair.first_count());
        let first = first_held.iter().copied().fold(first_low, f32::min);
        let second = second_held.iter().copied().fold(second_high, f32::max);
        let crosses = distance - 2.0 * hard + (first - second).min(0.0) < 2.0 * RESERVE;
        [pushes(change), pushes(first_low - second_high), crosses]
    }
}
