//! Closest points of two simplices of triangles: vertex and face, edge and edge.
//!
//! As Ericson, Real-Time Collision Detection (2005), 5.1.5 and 5.1.9, but with cross products: products of lengths cancel in a
//! sliver. Degenerate triangles and edges fall back to what they have collapsed to. All is relative to a corner, so that it is
//! as exact far from the origin as near it.
//!
//! Twin of `shaders/contact/triangle_closest.wgsl`.

use glam::Vec3;

use poplin_layout::TRIANGLE_SLIVER;

use crate::math::{clamp_unit, cross3, dot3};

/// The closest points of two simplices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closest {
    /// Weights of the four corners: those of the first simplex sum to 1, those of the second to -1. A vertex and a face are 1 + 3
    /// corners, two edges 2 + 2.
    pub weights: [f32; 4],
    /// From the closest point of the second to that of the first \[m\].
    pub delta: Vec3,
    /// Whether the closest points lie inside the face, or inside both edges: not on their borders.
    pub is_inside: bool,
}

/// Closest point of a segment to a point: its parameter.
fn on_segment(p: Vec3, a: Vec3, b: Vec3) -> f32 {
    let along = b - a;
    let square = dot3(along, along);
    if square > 0.0 { clamp_unit(dot3(p - a, along) / square) } else { 0.0 }
}

/// Closest point of the border of a triangle to a point.
fn on_border(p: Vec3, [a, b, c]: [Vec3; 3]) -> [f32; 3] {
    let on_side = |from: Vec3, to: Vec3| {
        let parameter = on_segment(p, from, to);
        let left = (p - from) - (to - from) * parameter;
        (parameter, dot3(left, left))
    };
    let ((s, at_s), (t, at_t), (u, at_u)) = (on_side(a, b), on_side(b, c), on_side(c, a));
    if at_s <= at_t && at_s <= at_u {
        [1.0 - s, s, 0.0]
    } else if at_t <= at_u {
        [0.0, 1.0 - t, t]
    } else {
        [u, 0.0, 1.0 - u]
    }
}

/// Closest points of a vertex and a face.
pub fn vertex_face(p: Vec3, face: [Vec3; 3]) -> Closest {
    let [a, b, c] = face;
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let normal = cross3(ab, ac);
    let square = dot3(normal, normal);
    let (mut v, mut w) = (0.0, 0.0);
    let mut is_inside = false;
    // A sliver has no inside that could be told from its border.
    if square > TRIANGLE_SLIVER * dot3(ab, ab) * dot3(ac, ac) {
        // p - a = v ab + w ac + h normal. Twice, from what is left: in a sliver rounding is large in comparison to its area.
        for _ in 0..2 {
            let left = ap - (ab * v + ac * w);
            v += dot3(normal, cross3(left, ac)) / square;
            w += dot3(normal, cross3(ab, left)) / square;
        }
        is_inside = v > 0.0 && w > 0.0 && v + w < 1.0;
    }
    let on_face = if is_inside { [1.0 - v - w, v, w] } else { on_border(p, face) };
    let [x, y, z] = on_face;
    Closest { weights: [1.0, -x, -y, -z], delta: ap - (ab * y + ac * z), is_inside }
}

/// Closest points of two edges.
pub fn edge_edge(first: [Vec3; 2], second: [Vec3; 2]) -> Closest {
    let ([a, b], [c, d]) = (first, second);
    let (along, across, between) = (b - a, d - c, a - c);
    let normal = cross3(along, across);
    let square = dot3(normal, normal);
    let (mut s, mut t) = (0.0, 0.0);
    let mut is_inside = false;
    if square > TRIANGLE_SLIVER * dot3(along, along) * dot3(across, across) {
        // a + s along + h normal = c + t across. Twice, as above.
        for _ in 0..2 {
            let left = between + along * s - across * t;
            s -= dot3(normal, cross3(left, across)) / square;
            t -= dot3(normal, cross3(left, along)) / square;
        }
        is_inside = s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0;
    }
    if !is_inside {
        // An end of one of them is closest: the best of four.
        let ends = [
            (0.0, on_segment(a, c, d)),
            (1.0, on_segment(b, c, d)),
            (on_segment(c, a, b), 0.0),
            (on_segment(d, a, b), 1.0),
        ];
        let square = |(s, t): (f32, f32)| {
            let left = between + along * s - across * t;
            dot3(left, left)
        };
        let mut best = ends[0];
        for &end in &ends[1..] {
            if square(end) < square(best) {
                best = end;
            }
        }
        (s, t) = best;
    }
    Closest {
        weights: [1.0 - s, s, t - 1.0, -t],
        delta: between + along * s - across * t,
        is_inside,
    }
}
