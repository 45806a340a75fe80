//! Welding of vertices at equal positions.

use glam::Vec3;
use rustc_hash::FxHashMap;

/// Returns for each vertex the first vertex at exactly the same position, for example the one
/// across a texture seam.
pub(crate) fn first_in_spots(positions: impl ExactSizeIterator<Item = Vec3>) -> Vec<u32> {
    let mut first = FxHashMap::default();
    first.reserve(positions.len());
    // Adding 0.0 turns -0.0 into 0.0, so that both have the same bits.
    let spots = positions.map(|position| (position + 0.0).to_array().map(f32::to_bits));
    (0..).zip(spots).map(|(vertex, spot)| *first.entry(spot).or_insert(vertex)).collect()
}

/// Returns the triangles with each corner replaced by the [first vertex](first_in_spots) at its
/// position, without those that become degenerate.
pub(crate) fn welded(positions: &[Vec3], triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let firsts = first_in_spots(positions.iter().copied());
    let all = triangles.iter().map(|corners| corners.map(|corner| firsts[corner as usize]));
    all.filter(|[a, b, c]| a != b && b != c && c != a).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tetrahedron with a separate vertex for each corner of each face.
    fn split() -> (Vec<Vec3>, Vec<[u32; 3]>) {
        let corners = [Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::Z];
        let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let all = faces.iter().flatten().map(|&corner: &usize| corners[corner]);
        (all.collect(), (0..4).map(|face| [0, 1, 2].map(|k| 3 * face + k)).collect())
    }

    #[test]
    fn vertices_at_equal_positions_are_welded_to_the_first() {
        let (mut positions, mut faces) = split();
        let expected = [[0, 1, 2], [0, 2, 5], [0, 5, 1], [2, 1, 5]];
        assert_eq!(welded(&positions, &faces), expected);
        positions[3] = Vec3::splat(-0.0);
        assert_eq!(welded(&positions, &faces), expected, "-0 equals 0");
        positions[3].x = 1e-6;
        assert_eq!(welded(&positions, &faces)[1], [3, 2, 5], "a near position is not equal");
        faces.push([0, 6, 1]);
        assert_eq!(welded(&positions, &faces).len(), 4, "a degenerate triangle is dropped");
    }
}
