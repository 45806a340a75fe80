//! Closest points of two simplices of triangles: vertex and face, edge and edge.
//!
//! Ericson, Real-Time Collision Detection (2005), 5.1.5 and 5.1.9; the regions are found with the same signs, degenerate
//! triangles and edges fall back to what they have collapsed to.

use glam::Vec3;

use crate::math::dot3;

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
    if square > 0.0 { (dot3(p - a, along) / square).clamp(0.0, 1.0) } else { 0.0 }
}

/// Closest point of the border of a triangle to a point.
fn on_border(p: Vec3, [a, b, c]: [Vec3; 3]) -> [f32; 3] {
    let (s, t, u) = (on_segment(p, a, b), on_segment(p, b, c), on_segment(p, c, a));
    let sides = [[1.0 - s, s, 0.0], [0.0, 1.0 - t, t], [u, 0.0, 1.0 - u]];
    let square = |w: &[f32; 3]| (p - (a * w[0] + b * w[1] + c * w[2])).length_squared();
    let mut best = sides[0];
    for side in &sides[1..] {
        if square(side) < square(&best) {
            best = *side;
        }
    }
    best
}

/// Closest points of a vertex and a face.
pub fn vertex_face(p: Vec3, face: [Vec3; 3]) -> Closest {
    let [a, b, c] = face;
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (bb, bc, cc) = (dot3(ab, ab), dot3(ab, ac), dot3(ac, ac));
    let (pb, pc) = (dot3(ap, ab), dot3(ap, ac));
    let area = bb * cc - bc * bc;
    let (v, w) = (cc * pb - bc * pc, bb * pc - bc * pb);
    // A sliver has no inside that could be told from its border.
    let is_inside = v > 0.0 && w > 0.0 && v + w < area && area > 1e-6 * bb * cc;
    let on_face = if is_inside {
        let (v, w) = (v / area, w / area);
        [1.0 - v - w, v, w]
    } else {
        on_border(p, face)
    };
    let [x, y, z] = on_face;
    Closest { weights: [1.0, -x, -y, -z], delta: p - (a * x + b * y + c * z), is_inside }
}

/// Closest points of two edges.
pub fn edge_edge(first: [Vec3; 2], second: [Vec3; 2]) -> Closest {
    let ([a, b], [c, d]) = (first, second);
    let (along, across, between) = (b - a, d - c, a - c);
    let (aa, cc, ac) = (dot3(along, along), dot3(across, across), dot3(along, across));
    let (ab, cb) = (dot3(along, between), dot3(across, between));
    let area = aa * cc - ac * ac;
    let (mut s, mut t);
    let mut is_inside = false;
    if area > 1e-6 * aa * cc {
        s = (ac * cb - cc * ab) / area;
        t = (ac * s + cb) / cc;
        is_inside = s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0;
    } else {
        (s, t) = (0.0, 0.0);
    }
    if !is_inside {
        // An end of one of them is closest: the best of four.
        let ends = [
            (0.0, on_segment(a, c, d)),
            (1.0, on_segment(b, c, d)),
            (on_segment(c, a, b), 0.0),
            (on_segment(d, a, b), 1.0),
        ];
        let square = |(s, t): (f32, f32)| (a + along * s - (c + across * t)).length_squared();
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
        delta: a + along * s - (c + across * t),
        is_inside,
    }
}
