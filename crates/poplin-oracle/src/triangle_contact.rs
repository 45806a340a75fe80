//! Distances of points, segments and triangles as the minimum over their features, and near pairs
//! by brute force.

use super::vector::{along, cross, dot, length, minus};

/// Pairs of simplices below a distance, sorted, without pairs that share a vertex.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NearPairs {
    /// A vertex and the three corners of a triangle, in the order of the triangle.
    pub vertex_face: Vec<[u32; 4]>,
    /// Ends of two edges, each in ascending order, lower edge first.
    pub edge_edge: Vec<[u32; 4]>,
}

/// Returns the distance of two points \[m\].
fn point_point(p: [f64; 3], q: [f64; 3]) -> f64 {
    length(minus(p, q))
}

/// Returns the distance of a point and a segment \[m\], which may be degenerate: the minimum over
/// its ends and the foot, if that is between them.
fn point_segment(p: [f64; 3], [a, b]: [[f64; 3]; 2]) -> f64 {
    let ab = minus(b, a);
    let ends = point_point(p, a).min(point_point(p, b));
    let parameter = dot(minus(p, a), ab) / dot(ab, ab);
    let has_foot = 0.0 < parameter && parameter < 1.0;
    if has_foot { ends.min(point_point(p, along(a, ab, parameter))) } else { ends }
}

/// Returns the distance of a point and a triangle \[m\], which may be degenerate: the minimum over
/// its sides and the foot, if that is inside.
pub fn point_triangle(p: [f64; 3], [a, b, c]: [[f64; 3]; 3]) -> f64 {
    let sides = [[a, b], [b, c], [c, a]];
    let border = sides.map(|side| point_segment(p, side)).into_iter().fold(f64::INFINITY, f64::min);
    let normal = cross(minus(b, a), minus(c, a));
    let square = dot(normal, normal);
    if square == 0.0 {
        return border;
    }
    let foot = along(p, normal, -dot(minus(p, a), normal) / square);
    let is_within =
        sides.iter().all(|&[q, r]| dot(normal, cross(minus(r, q), minus(foot, q))) > 0.0);
    if is_within { border.min(point_point(p, foot)) } else { border }
}

/// Returns the distance of two segments \[m\], which may be parallel or degenerate: the minimum
/// over each end to the other segment, and over the feet of the common normal, if both are between
/// the ends.
pub fn segment_segment([a, b]: [[f64; 3]; 2], [c, d]: [[f64; 3]; 2]) -> f64 {
    let ends = [
        point_segment(a, [c, d]),
        point_segment(b, [c, d]),
        point_segment(c, [a, b]),
        point_segment(d, [a, b]),
    ];
    let ends = ends.into_iter().fold(f64::INFINITY, f64::min);
    let (u, v, w) = (minus(b, a), minus(d, c), minus(c, a));
    let normal = cross(u, v);
    let square = dot(normal, normal);
    // a + s u + r n = c + t v:  the products with v x n and u x n leave one unknown each.
    let (s, t) = (dot(cross(w, v), normal) / square, dot(cross(w, u), normal) / square);
    let has_feet = 0.0 < s && s < 1.0 && 0.0 < t && t < 1.0;
    if has_feet { ends.min(point_point(along(a, u, s), along(c, v, t))) } else { ends }
}

/// Returns all vertex-triangle and edge-edge pairs without a common vertex that are closer than
/// `limit` \[m\], a function of one vertex of each simplex.
pub fn near_pairs(
    positions: &[[f64; 3]],
    triangles: &[[u32; 3]],
    limit: impl Fn(u32, u32) -> f64,
) -> NearPairs {
    let at = |vertex: u32| positions[vertex as usize];
    let mut edges: Vec<[u32; 2]> = Vec::new();
    for &[a, b, c] in triangles {
        edges.extend([[a.min(b), a.max(b)], [b.min(c), b.max(c)], [c.min(a), c.max(a)]]);
    }
    edges.sort_unstable();
    edges.dedup();
    let mut vertices: Vec<u32> = triangles.as_flattened().to_vec();
    vertices.sort_unstable();
    vertices.dedup();
    let mut pairs = NearPairs::default();
    for &vertex in &vertices {
        for &[a, b, c] in triangles {
            if vertex != a
                && vertex != b
                && vertex != c
                && point_triangle(at(vertex), [a, b, c].map(at)) < limit(vertex, a)
            {
                pairs.vertex_face.push([vertex, a, b, c]);
            }
        }
    }
    for (index, &[a, b]) in edges.iter().enumerate() {
        for &[c, d] in &edges[index + 1..] {
            if a != c
                && a != d
                && b != c
                && b != d
                && segment_segment([a, b].map(at), [c, d].map(at)) < limit(a, c)
            {
                pairs.edge_edge.push([a, b, c, d]);
            }
        }
    }
    pairs.vertex_face.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tolerance for results of the size 1 m \[m\].
    const ROUNDING: f64 = 1e-14;

    #[track_caller]
    fn assert_is(distance: f64, expected: f64) {
        assert!((distance - expected).abs() < ROUNDING, "{distance} is not {expected}");
    }

    #[test]
    fn a_point_is_nearest_to_the_face_a_side_or_a_corner() {
        let triangle = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]];
        assert_is(point_triangle([1.0, 1.0, -3.0], triangle), 3.0);
        assert_is(point_triangle([2.0, -3.0, 4.0], triangle), 5.0);
        assert_is(point_triangle([4.0, 4.0, 1.0], triangle), 3.0);
        assert_is(point_triangle([-1.0, -2.0, 2.0], triangle), 3.0);
        assert_is(point_triangle([1.0, 1.0, 0.0], triangle), 0.0);
    }

    #[test]
    fn a_triangle_without_area_is_its_sides() {
        let line = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]];
        assert_is(point_triangle([2.0, 3.0, 4.0], line), 5.0);
        assert_is(point_triangle([4.0, 2.0, 2.0], line), 3.0);
        assert_is(point_triangle([3.0, 4.0, 0.0], [[0.0; 3]; 3]), 5.0);
    }

    #[test]
    fn segments_are_nearest_inside_both_at_an_end_or_at_two() {
        let first = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
        assert_is(segment_segment(first, [[0.5, -1.0, 2.0], [0.5, 2.0, 2.0]]), 2.0);
        assert_is(segment_segment(first, [[0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]), 1.0);
        assert_is(segment_segment(first, [[2.0, 2.0, 2.0], [3.0, 9.0, 2.0]]), 3.0);
        assert_is(segment_segment(first, [[0.25, -1.0, 0.0], [0.0, 3.0, 0.0]]), 0.0);
    }

    #[test]
    fn parallel_collinear_and_empty_segments_have_a_distance() {
        let first = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
        assert_is(segment_segment(first, [[0.0, 0.0, 2.0], [5.0, 0.0, 2.0]]), 2.0);
        assert_is(segment_segment(first, [[4.0, 4.0, 0.0], [9.0, 4.0, 0.0]]), 5.0);
        assert_is(segment_segment(first, [[3.0, 0.0, 0.0], [2.0, 0.0, 0.0]]), 1.0);
        assert_is(segment_segment(first, [[0.5, 0.0, 0.0], [7.0, 0.0, 0.0]]), 0.0);
        assert_is(segment_segment(first, [[0.0, 3.0, 4.0]; 2]), 5.0);
        assert_is(segment_segment([[0.0; 3]; 2], [[2.0, 2.0, 1.0]; 2]), 3.0);
    }

    #[test]
    fn pairs_without_a_common_vertex_are_found_below_the_limit() {
        let positions = [
            [0., 0., 0.],
            [1., 0., 0.],
            [0., 1., 0.],
            [0.2, 0.2, 0.1],
            [1.2, 0.2, 5.],
            [0.2, 1.2, 5.],
        ];
        let pairs = near_pairs(&positions, &[[0, 1, 2], [3, 4, 5]], |_, _| 0.11);
        assert_eq!(pairs.vertex_face, [[3, 0, 1, 2]]);
        assert_eq!(pairs.edge_edge, [[0_u32; 4]; 0]);
        let pairs = near_pairs(&positions, &[[0, 1, 2], [3, 4, 5]], |_, _| 0.25);
        assert_eq!(pairs.edge_edge, [[0, 1, 3, 4], [0, 1, 3, 5], [0, 2, 3, 4], [0, 2, 3, 5]]);
        let common = near_pairs(&positions[..4], &[[0, 1, 2], [1, 2, 3]], |_, _| 1.0);
        assert_eq!(common.vertex_face, [[0, 1, 2, 3], [3, 0, 1, 2]]);
        assert_eq!(common.edge_edge, [[0, 1, 2, 3], [0, 2, 1, 3]]);
    }
}
