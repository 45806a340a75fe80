//! Narrow phase: distance, normal and weights of pairs at the start of a round, eight side by side.
//! Twin of `shaders/contact/triangle_narrow.wgsl`.

use fearless_simd::{Level, Simd, dispatch, f32x8, mask32x8};
use glam::Vec3;
use poplin_layout::{MIN_NORMAL_SQUARE, MIN_SQUARE, TRIANGLE_BORDER, TRIANGLE_EAGER};
use rayon::prelude::*;

use super::closest::{ClosestOf, Mask};
use super::lanes::{LANES, Vector, Wide, columns, load};
use super::memory::TriangleContact;
use super::pairs::{Candidate, Kind, closest, first_count};
use super::path::{Path, Reach};
use super::solve::Pair;
use crate::lanes::{LaneMask as _, Real};

/// Number of pairs per task.
const BLOCK: usize = 512;

/// Corners of eight pairs in a round.
struct Corners<S: Simd> {
    at: [Wide<S>; 4],
    step: [Wide<S>; 4],
    /// Masks of the corners that may be truncated.
    may_hold: [mask32x8<S>; 4],
    radius: [f32x8<S>; 4],
    hard: [f32x8<S>; 4],
}

/// Returns the largest of some numbers.
#[inline(always)]
fn greatest<R: Real>(all: &[R]) -> R {
    all[1..].iter().fold(all[0], |most, &it| it.greater(most))
}

/// Interpolates a vector field of the corners with the signed weights.
#[inline(always)]
fn mixed<V: Vector>(weights: &[V::Real; 4], field: [V; 4]) -> V {
    let [a, b] = [field[0] * weights[0], field[1] * weights[1]];
    let [c, d] = [field[2] * weights[2], field[3] * weights[3]];
    a + b + c + d
}

/// Interpolates a scalar of the corners with the magnitudes of the weights: of the radii, the
/// contact distance \[m\]; of [`TriangleContact::hard`], its solid portion.
#[inline(always)]
fn weighted<R: Real>(weights: &[R; 4], field: [R; 4]) -> R {
    let [a, b] = [field[0] * weights[0].abs(), field[1] * weights[1].abs()];
    let [c, d] = [field[2] * weights[2].abs(), field[3] * weights[3].abs()];
    a + b + c + d
}

/// Returns the contact and crossing radius of a row, inflated by the reserve of a round and a slack
/// of its path.
#[inline(always)]
pub(super) fn reach<R: Real>(radius: R, hard: R, reserve: f32, slack: f32) -> Reach<R> {
    let slack = radius.all(slack);
    Reach {
        push: radius + radius.all(0.5 * TRIANGLE_EAGER * reserve) + slack,
        cross: hard + hard.all(reserve) + slack,
    }
}

/// Returns the path of a row in a round. A row that may be truncated can stop anywhere on its move,
/// so the end covers all of it.
#[inline(always)]
pub(super) fn path<V: Vector>(
    at: V,
    step: V,
    may_hold: Mask<V>,
    reach: &Reach<V::Real>,
) -> Path<V::Real> {
    let zero = V::of([reach.push.all(0.0); 3]);
    Path::new([at, at + step], [zero, V::select(may_hold, -step, zero)], reach)
}

/// Returns the contact normal and the distance \[m\], which is negative behind a plane. The normal
/// is 0 if the simplices touch.
#[inline(always)]
pub(super) fn apart<V: Vector>(
    kind: Kind,
    [a, b, c, d]: [V; 4],
    plane: V,
    closest: &ClosestOf<V>,
) -> (V, V::Real) {
    let delta = closest.delta;
    if kind == Kind::VertexPlane {
        return (plane, plane.dot3(delta));
    }
    let square = delta.dot3(delta);
    let zero = square.all(0.0);
    let none = V::of([zero; 3]);
    let length = square.sqrt();
    // In the interior of a face or of both edges, the cross product of the sides is as precise as
    // they are long; a small delta is not.
    let direction = delta / length;
    let cross = match kind {
        Kind::VertexFace => (c - b).cross3(d - b),
        _ => (b - a).cross3(d - c),
    };
    let cross = V::select(cross.dot3(direction).simd_lt(zero), -cross, cross);
    // On a border: perpendicular to the edge that contains one of the closest points in its
    // interior.
    let [p, q, r, s] = closest.weights;
    let [p, q] = [!p.simd_eq(zero), !q.simd_eq(zero)];
    let [r, s] = [!r.simd_eq(zero), !s.simd_eq(zero)];
    let along = match kind {
        Kind::VertexFace => {
            let third = V::select(q & !r & s, d - b, none);
            let second = V::select(!q & r & s, d - c, third);
            V::select(q & r & !s, c - b, second)
        }
        _ => V::select(p & q, b - a, V::select(r & s, d - c, none)),
    };
    let along_square = along.dot3(along);
    let is_long = zero.simd_lt(along_square);
    let part = is_long.select(direction.dot3(along) / along_square, zero);
    // direction - along (direction . along) / |along|^2
    let normal = V::select(closest.is_inside, cross, direction - along * part);
    let normal_square = normal.dot3(normal);
    let is_long = zero.all(MIN_NORMAL_SQUARE).simd_lt(normal_square);
    let normal = V::select(is_long, normal / normal_square.sqrt(), direction);
    let touches = square.simd_lt(zero.all(MIN_SQUARE));
    (V::select(touches, none, normal), touches.select(zero, length))
}

impl TriangleContact {
    /// Measures candidates and returns the pairs in reach, in their order. Active pairs may push:
    /// those that own their closest points.
    pub(super) fn in_reach(&self, near: &[u32]) -> Vec<Pair> {
        let blocks = near.par_chunks(BLOCK);
        let each = |block| dispatch!(Level::new(), simd => self.in_reach_with(simd, block));
        blocks.map(each).flatten_iter().collect()
    }

    /// See [`TriangleContact::in_reach`].
    #[inline(always)]
    fn in_reach_with<S: Simd>(&self, simd: S, near: &[u32]) -> Vec<Pair> {
        let mut found = Vec::with_capacity(near.len());
        let kind = |index: &u32| self.candidates[*index as usize].kind;
        for run in near.chunk_by(|a, b| kind(a) == kind(b)) {
            for some in run.chunks(LANES) {
                // Unused lanes repeat the last pair.
                let last = some.len() - 1;
                let lanes =
                    std::array::from_fn(|lane| &self.candidates[some[lane.min(last)] as usize]);
                self.measure(simd, kind(&some[0]), lanes, some.len(), &mut found);
            }
        }
        found
    }

    /// Gathers the corners of eight pairs.
    #[inline(always)]
    fn corners<S: Simd>(&self, simd: S, lanes: &[&Candidate; LANES]) -> Corners<S> {
        let zero = f32x8::splat(simd, 0.0);
        let mut corners = Corners {
            at: [Wide::new(zero, zero, zero); 4],
            step: [Wide::new(zero, zero, zero); 4],
            may_hold: [zero.simd_eq(zero); 4],
            radius: [zero; 4],
            hard: [zero; 4],
        };
        let points = self.work.points.as_flattened();
        for k in 0..4 {
            let mut rows = [0; LANES];
            let [mut radius, mut hard] = [[0.0; LANES]; 2];
            for (lane, pair) in lanes.iter().enumerate() {
                rows[lane] = pair.rows[k];
                radius[lane] = self.radius[pair.rows[k] as usize];
                hard[lane] = self.hard[pair.rows[k] as usize];
            }
            let [x, y, z, _] = columns::<S, 2>(simd, points, 0, &rows);
            let [u, v, w, cross] = columns::<S, 2>(simd, points, 1, &rows);
            (corners.at[k], corners.step[k]) = (Wide::new(x, y, z), Wide::new(u, v, w));
            corners.may_hold[k] = zero.simd_lt(cross);
            corners.radius[k] = f32x8::from_slice(simd, &radius);
            corners.hard[k] = f32x8::from_slice(simd, &hard);
        }
        corners
    }

    /// Gathers the plane normals of vertex-plane pairs.
    #[inline(always)]
    fn planes<S: Simd>(&self, simd: S, lanes: &[&Candidate; LANES]) -> Wide<S> {
        let mut planes = [[0.0; LANES]; 3];
        for (lane, pair) in lanes.iter().enumerate() {
            let plane = self.rest[pair.rows[1] as usize];
            (planes[0][lane], planes[1][lane], planes[2][lane]) = (plane.x, plane.y, plane.z);
        }
        load(simd, &planes)
    }

    /// Returns the paths of corner `k` of eight pairs.
    #[inline(always)]
    fn path<S: Simd>(&self, corners: &Corners<S>, k: usize) -> Path<f32x8<S>> {
        let reach = reach(corners.radius[k], corners.hard[k], self.reserve, 0.0);
        path(corners.at[k], corners.step[k], corners.may_hold[k], &reach)
    }

    /// Tests whether an axis separates the paths of both simplices.
    #[inline(always)]
    fn misses<S: Simd>(&self, corners: &Corners<S>, first_count: usize) -> mask32x8<S> {
        let (mut first, mut second) = (self.path(corners, 0), self.path(corners, 3));
        second.include(&self.path(corners, 2));
        let middle = self.path(corners, 1);
        if first_count == 2 {
            first.include(&middle)
        } else {
            second.include(&middle)
        }
        first.misses(&second)
    }

    /// Measures `count` pairs of one kind and adds those in reach: pairs that push, that may come
    /// closer than their thickness, or that could cross while each corner stays within the reserve
    /// of its move, truncatable corners anywhere on it.
    #[inline(always)]
    fn measure<S: Simd>(
        &self,
        simd: S,
        kind: Kind,
        lanes: [&Candidate; LANES],
        count: usize,
        found: &mut Vec<Pair>,
    ) {
        let corners = self.corners(simd, &lanes);
        let zero = f32x8::splat(simd, 0.0);
        let closest = closest(kind, corners.at);
        let weights = closest.weights;
        let (normal, distance) = apart(kind, corners.at, self.planes(simd, &lanes), &closest);
        let mut rest = [0.0; LANES];
        for (rest, pair) in rest.iter_mut().zip(lanes) {
            *rest = pair.rest;
        }
        let rest = f32x8::from_slice(simd, &rest);
        let thickness = weighted(&weights, corners.radius).lesser(rest);
        let hard = weighted(&weights, corners.hard);
        let gap = distance - hard;
        // closing = max(distance - thickness, 0), overlap = max(thickness - distance, 0)
        let closing = (distance - thickness).greater(zero);
        let overlap = (thickness - distance).greater(zero);

        let first_count = first_count(kind);
        let mut owns_feature = zero.simd_eq(zero);
        let mut is_met = owns_feature;
        if kind != Kind::VertexPlane {
            let border = f32x8::splat(simd, TRIANGLE_BORDER);
            for weight in weights {
                owns_feature &= border.simd_lt(weight.abs());
            }
            is_met = !self.misses(&corners, first_count);
        }
        let [x, y, z] = normal.coordinates();
        // A zero normal marks simplices that touch.
        let touches = x.simd_eq(zero) & y.simd_eq(zero) & z.simd_eq(zero);
        // Change of the distance in this round, without contact.
        let change = normal.dot3(mixed(&weights, corners.step));
        let near = f32x8::splat(simd, TRIANGLE_EAGER * self.reserve);
        let is_near = zero.simd_lt(overlap) | (closing + change).simd_lt(near);
        // coming: motion of each corner towards the other side; a truncatable corner may also stay.
        let mut coming = [zero; 4];
        for (k, coming) in coming.iter_mut().enumerate() {
            let along = normal.dot3(corners.step[k]);
            *coming = if k < first_count { -along } else { along };
            // max(0, coming)
            *coming = corners.may_hold[k].select(coming.greater(zero), *coming);
        }
        let (first, second) = coming.split_at(first_count);
        let come = (greatest(first) + greatest(second)).greater(zero);
        // Each side may deviate from its move by the reserve.
        let may_cross = gap.simd_lt(come + f32x8::splat(simd, 2.0 * self.reserve));
        let (owns_feature, touches) =
            (owns_feature.to_bitmask() as u32, touches.to_bitmask() as u32);
        let (is_near, may_cross) = (is_near.to_bitmask() as u32, may_cross.to_bitmask() as u32);
        let is_met = is_met.to_bitmask() as u32;

        for lane in (0..count).filter(|lane| is_met >> lane & 1 != 0) {
            let is = |mask: u32| mask >> lane & 1 != 0;
            let candidate = lanes[lane];
            let weights = [weights[0][lane], weights[1][lane], weights[2][lane], weights[3][lane]];
            let vector = |of: &Wide<S>| Vec3::new(of.x[lane], of.y[lane], of.z[lane]);
            let delta = vector(&closest.delta);
            // Most pairs own their closest points by their weights; the others ask which face owns
            // the feature.
            let owns_feature =
                is(owns_feature) || candidate.owns_feature(&weights, delta, &self.start);
            let is_active = owns_feature && !is(touches);
            let is_near = is(is_near);
            if is(touches) || is_active && is_near || is(may_cross) {
                found.push(Pair {
                    rank: candidate.rank,
                    rows: candidate.rows,
                    weights,
                    normal: vector(&normal),
                    gap: gap[lane],
                    closing: closing[lane],
                    hard: hard[lane],
                    overlap: overlap[lane],
                    friction: candidate.friction,
                    first_count: first_count as u32,
                    is_near,
                    is_active,
                    fractions: [1.0; 4],
                    ..Pair::default()
                });
            }
        }
    }
}
