//! Closest points of two simplices: vertex and face, edge and edge.
//!
//! After Ericson, Real-Time Collision Detection (2005), 5.1.5 and 5.1.9, but with cross products,
//! because products of lengths cancel in a sliver. Degenerate triangles and edges are treated as
//! what they have collapsed to. All positions are relative to a corner, so precision does not
//! depend on the distance from the origin.
//!
//! For one pair, or for several side by side: see [`Vector`]. Twin of
//! `shaders/contact/triangle_closest.wgsl`.

use glam::Vec3;

use poplin_layout::TRIANGLE_SLIVER;

use super::lanes::Vector;
use crate::lanes::{LaneMask as _, Real};

/// Closest points of two simplices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closest<R = f32, V = Vec3, M = bool> {
    /// Barycentric weights of the four corners: those of the first simplex sum to 1, those of the
    /// second to -1. A vertex and a face have 1 + 3 corners, two edges 2 + 2.
    pub weights: [R; 4],
    /// Vector from the closest point of the second simplex to that of the first \[m\].
    pub delta: V,
    /// True if the closest points lie in the interior of the face, or of both edges.
    pub is_inside: M,
}

/// Result of a comparison of coordinates.
pub(super) type Mask<V> = <<V as Vector>::Real as Real>::Mask;

/// Closest points of simplices with corners of type `V`.
pub type ClosestOf<V> = Closest<<V as Vector>::Real, V, Mask<V>>;

/// Returns the parameter of the point of a segment that is closest to `p`.
#[inline(always)]
fn on_segment<V: Vector>(p: V, a: V, b: V) -> V::Real {
    let along = b - a;
    let square = along.dot3(along);
    let zero = square.all(0.0);
    // t = clamp((p - a) . (b - a) / |b - a|^2, 0, 1); 0 for a collapsed segment
    let part = ((p - a).dot3(along) / square).clamp_unit();
    zero.simd_lt(square).select(part, zero)
}

/// Returns the parameter of the point of a segment that is closest to `p`, and the squared
/// distance.
#[inline(always)]
fn on_side<V: Vector>(p: V, a: V, b: V) -> (V::Real, V::Real) {
    let parameter = on_segment(p, a, b);
    let left = (p - a) - (b - a) * parameter;
    (parameter, left.dot3(left))
}

/// Returns the barycentric weights of the point of a triangle's border that is closest to `p`.
#[inline(always)]
fn on_border<V: Vector>(p: V, [a, b, c]: [V; 3]) -> [V::Real; 3] {
    let ((s, at_s), (t, at_t)) = (on_side(p, a, b), on_side(p, b, c));
    let (u, at_u) = on_side(p, c, a);
    let (zero, one) = (s.all(0.0), s.all(1.0));
    let is_first = at_s.simd_le(at_t) & at_s.simd_le(at_u);
    let is_second = at_t.simd_le(at_u);
    let x = is_first.select(one - s, is_second.select(zero, u));
    let y = is_first.select(s, is_second.select(one - t, zero));
    let z = is_first.select(zero, is_second.select(t, one - u));
    [x, y, z]
}

/// Computes the closest points of a vertex and a face.
#[inline(always)]
pub fn vertex_face<V: Vector>(p: V, face: [V; 3]) -> ClosestOf<V> {
    let [a, b, c] = face;
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let normal = ab.cross3(ac);
    let square = normal.dot3(normal);
    let (zero, one) = (square.all(0.0), square.all(1.0));
    let (mut v, mut w) = (zero, zero);
    // Solves p - a = v ab + w ac + h normal. The second pass refines the remainder: in a sliver
    // rounding is large relative to its area.
    for _ in 0..2 {
        let left = ap - (ab * v + ac * w);
        v += normal.dot3(left.cross3(ac)) / square;
        w += normal.dot3(ab.cross3(left)) / square;
    }
    // The interior of a sliver cannot be told from its border.
    let is_wide = (ab.dot3(ab) * TRIANGLE_SLIVER * ac.dot3(ac)).simd_lt(square);
    let is_inside = is_wide & zero.simd_lt(v) & zero.simd_lt(w) & (v + w).simd_lt(one);
    let mut on_face = [one - v - w, v, w];
    if !is_inside.all_true() {
        let on_border = on_border(p, face);
        for (own, border) in on_face.iter_mut().zip(on_border) {
            *own = is_inside.select(*own, border);
        }
    }
    let [x, y, z] = on_face;
    Closest { weights: [one, -x, -y, -z], delta: ap - (ab * y + ac * z), is_inside }
}

/// Computes the closest points of two edges.
#[inline(always)]
pub fn edge_edge<V: Vector>(first: [V; 2], second: [V; 2]) -> ClosestOf<V> {
    let ([a, b], [c, d]) = (first, second);
    let (along, across, between) = (b - a, d - c, a - c);
    let normal = along.cross3(across);
    let square = normal.dot3(normal);
    let (zero, one) = (square.all(0.0), square.all(1.0));
    let (mut s, mut t) = (zero, zero);
    // Solves a + s along + h normal = c + t across, with one refinement as above.
    for _ in 0..2 {
        let left = between + along * s - across * t;
        s -= normal.dot3(left.cross3(across)) / square;
        t -= normal.dot3(left.cross3(along)) / square;
    }
    let is_wide = (along.dot3(along) * TRIANGLE_SLIVER * across.dot3(across)).simd_lt(square);
    let is_inside = is_wide & zero.simd_lt(s) & s.simd_lt(one) & zero.simd_lt(t) & t.simd_lt(one);
    if !is_inside.all_true() {
        // An end of one edge is closest: the best of four projections.
        let ends = [
            (zero, on_segment(a, c, d)),
            (one, on_segment(b, c, d)),
            (on_segment(c, a, b), zero),
            (on_segment(d, a, b), one),
        ];
        let square = |(s, t): (V::Real, V::Real)| {
            let left = between + along * s - across * t;
            left.dot3(left)
        };
        let mut best = ends[0];
        for end in &ends[1..] {
            let is_better = square(*end).simd_lt(square(best));
            best = (is_better.select(end.0, best.0), is_better.select(end.1, best.1));
        }
        s = is_inside.select(s, best.0);
        t = is_inside.select(t, best.1);
    }
    Closest {
        weights: [one - s, s, t - one, -t],
        delta: between + along * s - across * t,
        is_inside,
    }
}

#[cfg(test)]
mod tests {
    use fearless_simd::{Level, Simd, dispatch};
    use poplin_geometry::Rng;

    use super::*;
    use crate::triangle_contact::lanes::{LANES, Wide, load};

    /// Computes the closest points of eight pairs side by side, as vertex and face and as two
    /// edges, and returns them lane by lane.
    fn closest_of_all<S: Simd>(simd: S, pairs: &[[Vec3; 4]; LANES]) -> [Vec<Closest>; 2] {
        let corner = |k: usize| {
            let coordinate = |axis: usize| std::array::from_fn(|lane| pairs[lane][k][axis]);
            load(simd, &[coordinate(0), coordinate(1), coordinate(2)])
        };
        let [a, b, c, d] = [corner(0), corner(1), corner(2), corner(3)];
        [vertex_face(a, [b, c, d]), edge_edge([a, b], [c, d])].map(|all: ClosestOf<Wide<S>>| {
            let inside = all.is_inside.to_bitmask();
            let of_lane = |lane: usize| Closest {
                weights: all.weights.map(|weight| weight[lane]),
                delta: Vec3::from(all.delta.coordinates().map(|it| it[lane])),
                is_inside: inside >> lane & 1 != 0,
            };
            (0..LANES).map(of_lane).collect()
        })
    }

    /// Bit patterns for exact comparison.
    fn bits(of: &Closest) -> ([u32; 4], [u32; 3], bool) {
        (of.weights.map(f32::to_bits), of.delta.to_array().map(f32::to_bits), of.is_inside)
    }

    #[test]
    fn lanes_have_the_bits_of_one_pair() {
        let mut rng = Rng::new(1);
        let mut inside = 0;
        for round in 0..4000 {
            let mut point = || Vec3::from(rng.point(-1.0, 1.0));
            let mut pairs = [[Vec3::ZERO; 4]; LANES];
            for (lane, corners) in pairs.iter_mut().enumerate() {
                *corners = std::array::from_fn(|_| point());
                // Degenerate cases: collapsed, collinear, coplanar, parallel, identical.
                let [a, b, c, d] = corners;
                match (lane + round) % 12 {
                    0 => *d = *c,
                    1 => *d = *c + (*c - *b) * 0.5,
                    2 => *a = *b,
                    3 => (a.z, b.z, c.z, d.z) = (0.0, 0.0, 0.0, 0.0),
                    4 => *d = *c + (*b - *a),
                    5 => (*c, *d) = (*a, *b),
                    6 => *d = *c + (*b - *a) * 1e-4 + Vec3::splat(1e-7),
                    _ => {}
                }
            }
            for level in [Level::new(), Level::baseline()] {
                let [faces, edges] = dispatch!(level, simd => closest_of_all(simd, &pairs));
                for (lane, &[a, b, c, d]) in pairs.iter().enumerate() {
                    let face = vertex_face(a, [b, c, d]);
                    let edge = edge_edge([a, b], [c, d]);
                    assert_eq!(bits(&faces[lane]), bits(&face), "{:?}", pairs[lane]);
                    assert_eq!(bits(&edges[lane]), bits(&edge), "{:?}", pairs[lane]);
                    inside += u32::from(face.is_inside) + u32::from(edge.is_inside);
                }
            }
        }
        assert!(inside > 2000, "{inside}");
    }
}
