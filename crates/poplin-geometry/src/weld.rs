//! Welding of vertices by position.

use std::collections::HashMap;

use glam::DVec3;

/// Vertices by their exact position; -0 equals 0.
#[derive(Debug, Clone, Default)]
pub struct Spots(HashMap<[u64; 3], u32>);

impl Spots {
    /// Returns the first vertex at a position: `vertex`, if there is none yet.
    pub fn first(&mut self, position: DVec3, vertex: u32) -> u32 {
        *self.0.entry(key(position)).or_insert(vertex)
    }
}

/// Bits of a vector. Adding 0.0 turns -0.0 into 0.0, so that both have the same bits.
fn key(vector: DVec3) -> [u64; 3] {
    (vector + 0.0).to_array().map(f64::to_bits)
}

/// Returns for each vertex the first vertex at exactly the same position, for example the one
/// across a texture seam.
pub fn first_at_positions(positions: impl IntoIterator<Item = DVec3>) -> Vec<u32> {
    let mut spots = Spots::default();
    (0..).zip(positions).map(|(vertex, position)| spots.first(position, vertex)).collect()
}

/// Returns the triangles with each corner replaced by the [first vertex](first_at_positions) at
/// its position, without those that become degenerate.
pub fn weld_triangles(
    positions: impl IntoIterator<Item = DVec3>,
    triangles: &[[u32; 3]],
) -> Vec<[u32; 3]> {
    let firsts = first_at_positions(positions);
    let all = triangles.iter().map(|corners| corners.map(|corner| firsts[corner as usize]));
    all.filter(|[a, b, c]| a != b && b != c && c != a).collect()
}

/// Returns true if every edge of the triangles is shared with exactly one other triangle, in the
/// opposite direction.
pub fn is_closed(triangles: &[[u32; 3]]) -> bool {
    // Every directed edge occurs once, and so does its reverse.
    balanced_edges(triangles).is_some_and(|edges| edges.windows(2).all(|pair| pair[0] != pair[1]))
}

/// Returns true if the triangles have no rim: each directed edge occurs as often as its reverse. A
/// point outside their bounding box is then outside.
pub fn is_rimless(triangles: &[[u32; 3]]) -> bool {
    balanced_edges(triangles).is_some()
}

/// Returns the directed edges of triangles, sorted, if each occurs as often as its reverse.
fn balanced_edges(triangles: &[[u32; 3]]) -> Option<Vec<[u32; 2]>> {
    let edges = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let mut forward: Vec<_> = edges.collect();
    let mut backward: Vec<_> = forward.iter().map(|&[a, b]| [b, a]).collect();
    forward.sort_unstable();
    backward.sort_unstable();
    (!forward.is_empty() && forward == backward).then_some(forward)
}

/// Positions \[m\] and triangles of a mesh.
pub type CompactMesh = (Vec<[f32; 3]>, Vec<[u32; 3]>);

/// Returns a mesh with one vertex at each position and each triangle once; `None` if it is so
/// already. Triangles keep their order and their first corner, vertices that of their first use.
pub fn compact_mesh(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Option<CompactMesh> {
    let wide = positions.iter().map(|position| crate::wide(*position));
    let welded = weld_triangles(wide, triangles);
    let mut known = std::collections::HashSet::with_capacity(welded.len());
    let once: Vec<_> = welded
        .iter()
        .copied()
        .filter(|&[a, b, c]| {
            // The same in any rotation, not in the other orientation.
            let first = [[a, b, c], [b, c, a], [c, a, b]].into_iter().min();
            known.insert(first)
        })
        .collect();
    if once == triangles {
        return None;
    }
    let mut places = HashMap::new();
    let mut used = Vec::new();
    let compact = once.iter().map(|corners| {
        corners.map(|corner| {
            *places.entry(corner).or_insert_with(|| {
                used.push(positions[corner as usize]);
                used.len() as u32 - 1
            })
        })
    });
    let compact = compact.collect();
    Some((used, compact))
}

/// Finds the representative of each vertex, shape `[vertex_count]`: the first within the tolerance
/// \[m\], `None` for no welding.
///
/// In index order every vertex joins the lowest earlier representative within the tolerance, or
/// becomes one itself. A vertex is therefore never farther than the tolerance from its
/// representative (no chains), and the result does not depend on the hash.
pub fn weld_vertices(positions: &[DVec3], tolerance: Option<f64>) -> Vec<u32> {
    match tolerance {
        None => (0..positions.len() as u32).collect(),
        Some(tolerance) if tolerance > 0.0 => weld_near(positions, tolerance),
        Some(_) => first_at_positions(positions.iter().copied()),
    }
}

fn weld_near(positions: &[DVec3], tolerance: f64) -> Vec<u32> {
    const END: u32 = u32::MAX;
    // With cells of four tolerances most queries touch one cell, and no cell holds more than a few
    // hundred representatives, because these are at least a tolerance apart.
    let inverse_cell = 0.25 / tolerance;
    // Cell coordinates are f64: if coordinates are too large for the tolerance, a cell is one value
    // and nothing overflows.
    let cell = |p: DVec3| key((p * inverse_cell).floor());
    let mut head: HashMap<[u64; 3], u32> = HashMap::with_capacity(positions.len());
    let mut next = vec![END; positions.len()];
    let mut representative = Vec::with_capacity(positions.len());
    for (index, &position) in positions.iter().enumerate() {
        let (low, high) = (cell(position - tolerance), cell(position + tolerance));
        let mut best = END;
        let sides = |axis: usize| {
            let other = (low[axis] != high[axis]).then_some(high[axis]);
            std::iter::once(low[axis]).chain(other)
        };
        // Up to 8 cells around the position contain every representative within the tolerance.
        for x in sides(0) {
            for y in sides(1) {
                for z in sides(2) {
                    let mut other = head.get(&[x, y, z]).copied().unwrap_or(END);
                    while other != END {
                        if other < best
                            && position.distance_squared(positions[other as usize])
                                <= tolerance * tolerance
                        {
                            best = other;
                        }
                        other = next[other as usize];
                    }
                }
            }
        }
        if best == END {
            best = index as u32;
            next[index] = head.insert(cell(position), best).unwrap_or(END);
        }
        representative.push(best);
    }
    representative
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(x: &[f64]) -> Vec<DVec3> {
        x.iter().map(|&x| DVec3::new(x, 0.0, 0.0)).collect()
    }

    #[test]
    fn lowest_index_within_the_tolerance_wins() {
        assert_eq!(
            weld_vertices(&line(&[1.0, 0.0, 0.05, 0.99, -0.05]), Some(0.1)),
            [0, 1, 1, 0, 1]
        );
    }

    #[test]
    fn welding_does_not_chain() {
        assert_eq!(weld_vertices(&line(&[0.0, 0.09, 0.18, 0.27]), Some(0.1)), [0, 0, 2, 2]);
    }

    #[test]
    fn zero_tolerance_welds_exact_duplicates_only() {
        assert_eq!(weld_vertices(&line(&[0.0, -0.0, 1e-30, 0.0]), Some(0.0)), [0, 0, 2, 0]);
    }

    #[test]
    fn huge_coordinates_and_tiny_tolerances_stay_finite() {
        let weld = weld_vertices(&line(&[1e15, -1e15, 1e15, 0.0]), Some(1e-30));
        assert_eq!(weld, [0, 1, 0, 3]);
    }

    #[test]
    fn off_keeps_every_vertex() {
        assert_eq!(weld_vertices(&line(&[0.0, 0.0]), None), [0, 1]);
    }

    /// Tetrahedron with a separate vertex for each corner of each face.
    fn split() -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let all = faces.iter().flatten().map(|&corner: &usize| corners[corner]);
        (all.collect(), (0..4).map(|face| [0, 1, 2].map(|k| 3 * face + k)).collect())
    }

    #[test]
    fn meshes_are_compacted_to_one_vertex_and_one_triangle_each() {
        let (positions, mut faces) = split();
        let positions: Vec<_> = positions.iter().map(|x| x.as_vec3().to_array()).collect();
        faces.push([1, 2, 0]);
        faces.push([0, 1, 1]);
        let (vertices, triangles) = compact_mesh(&positions, &faces).unwrap();
        assert_eq!((vertices.len(), triangles.len()), (4, 4));
        assert!(is_closed(&triangles) && !is_rimless(&faces));
        assert_eq!(triangles[0], [0, 1, 2]);
        assert_eq!(compact_mesh(&vertices, &triangles), None);
        // Both sides of a sheet stay, and have no rim.
        let sides = [[0, 1, 2], [0, 2, 1]];
        assert_eq!(compact_mesh(&vertices, &sides), None);
        assert!(is_rimless(&sides) && !is_rimless(&sides[..1]) && !is_rimless(&[]));
    }

    #[test]
    fn vertices_at_equal_positions_are_welded_to_the_first() {
        let weld = |positions: &[DVec3], faces: &[[u32; 3]]| {
            weld_triangles(positions.iter().copied(), faces)
        };
        let (mut positions, mut faces) = split();
        let expected = [[0, 1, 2], [0, 2, 5], [0, 5, 1], [2, 1, 5]];
        assert_eq!(weld(&positions, &faces), expected);
        positions[3] = DVec3::splat(-0.0);
        assert_eq!(weld(&positions, &faces), expected, "-0 equals 0");
        positions[3].x = 1e-6;
        assert_eq!(weld(&positions, &faces)[1], [3, 2, 5], "a near position is not equal");
        faces.push([0, 6, 1]);
        assert_eq!(weld(&positions, &faces).len(), 4, "a degenerate triangle is dropped");
    }

    #[test]
    fn is_closed_rejects_open_and_doubled_meshes() {
        let tetrahedron = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
        assert!(is_closed(&tetrahedron));
        assert!(!is_closed(&tetrahedron[1..]));
        assert!(!is_closed(&[[0, 1, 2], [0, 2, 1], [0, 1, 2], [0, 2, 1]]));
        assert!(!is_closed(&[]));
    }
}
