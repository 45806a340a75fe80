//! Contact pairs: vertex-face, edge-edge and vertex-plane. Twin of
//! `shaders/contact/triangle_pairs.wgsl`.

use fearless_simd::{Simd, f32x8};
use glam::Vec3;
use poplin_layout::{NO_OFFSET, TRIANGLE_BEYOND, TRIANGLE_BORDER, TRIANGLE_REST};

use super::closest::{Closest, ClosestOf, edge_edge, vertex_face};
use super::lanes::{LANES, Vector, load};
use super::memory::TriangleContact;
use crate::lanes::{LaneMask as _, Real};
use crate::math::dot3;

/// Kind of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A vertex and the three corners of a face.
    VertexFace,
    /// Two edges.
    EdgeEdge,
    /// A vertex and a point of a plane, which is repeated three times.
    VertexPlane,
}

/// Candidate pair from the search, with the values that are constant during the lifetime of the
/// lists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Rows of its four corners: a vertex and a face, or two edges.
    pub rows: [u32; 4],
    /// Kind of the pair.
    pub kind: Kind,
    /// Sides and corners that a face owns, see [`Surface::owned`](super::Surface::owned).
    pub owned: u8,
    /// Rows of the corners opposite to the sides of a face in its neighbours, see
    /// [`Surface::beyond`](super::Surface::beyond); none if that corner is the vertex itself.
    pub beyond: [u32; 3],
    /// Coefficient of friction.
    pub friction: f32,
    /// Largest contact distance, because the pair rests this close \[m\]; infinite if it rests
    /// farther apart than the thickness.
    pub rest: f32,
    /// True if both simplices belong to one body.
    pub is_own: bool,
    /// Sort key: both bodies, kind and first simplex, second simplex.
    pub rank: [u32; 4],
}

impl Candidate {
    /// Number of corners of the first simplex.
    pub(super) fn first_count(&self) -> usize {
        first_count(self.kind)
    }

    /// Tests whether this pair owns its closest points, so that shared sides and corners push once.
    /// Closest points at the end of an edge belong to a vertex-face pair; those on a side or corner
    /// of a face to the face that owns it. A vertex whose projection falls on the neighbouring face
    /// beyond a side belongs to that face.
    pub(super) fn owns_feature(&self, weights: &[f32; 4], delta: Vec3, at: &[Vec3]) -> bool {
        let has = weights.map(|weight| weight.abs() > TRIANGLE_BORDER);
        if self.kind != Kind::VertexFace || has == [true; 4] {
            return self.kind == Kind::VertexPlane || has == [true; 4];
        }
        let [_, a, b, c] = has;
        // Bits of `owned`: sides 1, 2, 4, corners 8, 16, 32.
        let (feature, side) = match [a, b, c] {
            [true, true, _] => (1, Some(0)),
            [_, true, true] => (2, Some(1)),
            [true, _, true] => (4, Some(2)),
            [true, _, _] => (8, None),
            [_, true, _] => (16, None),
            _ => (32, None),
        };
        self.owned & feature != 0 && side.is_none_or(|side| !self.is_over(side, delta, at))
    }

    /// Tests whether the vertex, which is closest to a side of the face, lies over the neighbouring
    /// face beyond that side.
    fn is_over(&self, side: usize, delta: Vec3, at: &[Vec3]) -> bool {
        let beyond = self.beyond[side];
        if beyond == NO_OFFSET {
            return false;
        }
        let row = |row: u32| at[row as usize];
        let begin = row(self.rows[1 + side]);
        let edge = row(self.rows[1 + (side + 1) % 3]) - begin;
        // arm: from the closest point to the opposite corner of the neighbour
        let arm = row(beyond) - (row(self.rows[0]) - delta);
        let square = dot3(edge, edge);
        // height = arm - edge (arm . edge) / |edge|^2
        let part = if square > 0.0 { dot3(arm, edge) / square } else { 0.0 };
        // height: in the plane of the neighbouring face, perpendicular to the side
        let height = arm - edge * part;
        dot3(delta, height) > TRIANGLE_BEYOND * dot3(height, height)
    }
}

/// Returns the closest points of a pair of the given kind.
#[inline(always)]
pub(super) fn closest<V: Vector>(kind: Kind, [a, b, c, d]: [V; 4]) -> ClosestOf<V> {
    match kind {
        Kind::VertexFace => vertex_face(a, [b, c, d]),
        Kind::EdgeEdge => edge_edge([a, b], [c, d]),
        Kind::VertexPlane => {
            let delta = a - b;
            let [x, ..] = delta.coordinates();
            let [zero, one] = [x.all(0.0), x.all(1.0)];
            let weights = [one, -one, zero, zero];
            Closest { weights, delta, is_inside: zero.simd_eq(zero) }
        }
    }
}

/// Indices of two bodies that may collide, ascending; equal for self-collision.
pub(super) type BodyPair = [u32; 2];

impl TriangleContact {
    /// Computes [`Candidate::rest`].
    pub fn rest_of(&self, candidate: &Candidate) -> f32 {
        if !candidate.is_own {
            return f32::INFINITY;
        }
        let at = candidate.rows.map(|row| self.rest[row as usize]);
        let radius = candidate.rows.map(|row| self.radius[row as usize]);
        rest_distance(candidate.kind, at, radius)
    }

    /// Sets [`Candidate::rest`] of the pairs of one kind and one body.
    #[inline(always)]
    pub(super) fn set_rests<S: Simd>(&self, simd: S, kind: Kind, pairs: &mut [Candidate]) {
        for some in pairs.chunks_mut(LANES) {
            let mut at = [[[0.0; LANES]; 3]; 4];
            let mut radius = [[0.0; LANES]; 4];
            for (lane, pair) in some.iter().enumerate() {
                for k in 0..4 {
                    let row = pair.rows[k] as usize;
                    let rest = self.rest[row];
                    (at[k][0][lane], at[k][1][lane], at[k][2][lane]) = (rest.x, rest.y, rest.z);
                    radius[k][lane] = self.radius[row];
                }
            }
            let [a, b, c, d] = &at;
            let (first, second) = (load(simd, a), load(simd, b));
            let (third, fourth) = (load(simd, c), load(simd, d));
            let [a, b, c, d] = &radius;
            let (p, q) = (f32x8::from_slice(simd, a), f32x8::from_slice(simd, b));
            let (r, s) = (f32x8::from_slice(simd, c), f32x8::from_slice(simd, d));
            let rest = rest_distance(kind, [first, second, third, fourth], [p, q, r, s]);
            for (lane, pair) in some.iter_mut().enumerate() {
                pair.rest = rest[lane];
            }
        }
    }
}

/// Returns the largest contact distance of a pair from its rest shape and radii \[m\]; infinite if
/// that is at least the thickness.
#[inline(always)]
fn rest_distance<V: Vector>(kind: Kind, at: [V; 4], radius: [V::Real; 4]) -> V::Real {
    let [p, q, r, s] = radius;
    let zero = p.all(0.0);
    // Largest radius of each side, an upper bound on the contact distance.
    let thickness = if first_count(kind) == 1 {
        p.greater(zero) + q.greater(r).greater(s)
    } else {
        p.greater(q) + r.greater(s)
    };
    // The distance of the boxes is a cheap lower bound: most pairs need no closest points.
    let square = box_square(kind, at);
    let is_far = thickness.simd_lt(square.sqrt() * TRIANGLE_REST);
    let far = p.all(f32::INFINITY);
    if is_far.all_true() {
        return far;
    }
    let delta = closest(kind, at).delta;
    is_far.select(far, delta.dot3(delta).sqrt() * TRIANGLE_REST)
}

/// Number of corners of the first simplex.
pub(super) fn first_count(kind: Kind) -> usize {
    if kind == Kind::EdgeEdge { 2 } else { 1 }
}

/// Returns the squared distance of the boxes around both simplices.
#[inline(always)]
fn box_square<V: Vector>(kind: Kind, [a, b, c, d]: [V; 4]) -> V::Real {
    let (a, b) = (a.coordinates(), b.coordinates());
    let (c, d) = (c.coordinates(), d.coordinates());
    let mut sum = a[0].all(0.0);
    let zero = sum;
    for k in 0..3 {
        let (mut low, mut high) = (c[k].lesser(d[k]), c[k].greater(d[k]));
        let (mut first_low, mut first_high) = (a[k], a[k]);
        if first_count(kind) == 1 {
            (low, high) = (low.lesser(b[k]), high.greater(b[k]));
        } else {
            (first_low, first_high) = (a[k].lesser(b[k]), a[k].greater(b[k]));
        }
        // Gap of the two intervals along an axis.
        let between = (first_low - high).greater(low - first_high).greater(zero);
        sum += between * between;
    }
    sum
}
