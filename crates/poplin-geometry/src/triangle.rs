//! Areas, volumes and solid angles of triangles.

use glam::DVec3;

/// Returns the area of a triangle \[m^2\].
pub fn triangle_area([a, b, c]: [DVec3; 3]) -> f64 {
    0.5 * (b - a).cross(c - a).length()
}

/// Returns six times the signed volume of the tetrahedra from the origin to triangles \[m^3\]: of a
/// closed surface six times its volume, below 0 if its front is inside.
pub fn six_volumes(triangles: impl IntoIterator<Item = [DVec3; 3]>) -> f64 {
    triangles.into_iter().map(|[a, b, c]| a.dot(b.cross(c))).sum()
}

/// Returns the signed solid angle of a triangle seen from the origin (Van Oosterom and Strackee,
/// "The Solid Angle of a Plane Triangle", 1983). The angles of a closed surface sum to 4 pi inside
/// and to 0 outside.
pub fn solid_angle([a, b, c]: [DVec3; 3]) -> f64 {
    let [x, y, z] = [a, b, c].map(DVec3::length);
    // tan(angle / 2) = a . (b x c) / (|a||b||c| + (a.b)|c| + (b.c)|a| + (c.a)|b|)
    let cosine = x * y * z + a.dot(b) * z + b.dot(c) * x + c.dot(a) * y;
    2.0 * a.dot(b.cross(c)).atan2(cosine)
}

/// Returns the edges of triangles, each once, in ascending order with the lower end first. Sides
/// between equal corners are omitted.
pub fn edges_of(triangles: &[[u32; 3]]) -> Vec<[u32; 2]> {
    let sides = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let mut edges: Vec<[u32; 2]> =
        sides.filter(|[a, b]| a != b).map(|[a, b]| [a.min(b), a.max(b)]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tetrahedron_has_its_area_volume_angle_and_edges() {
        let corners = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let seen_from = |point: DVec3| faces.map(|face| face.map(|k| corners[k as usize] - point));
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-12;
        assert!(near(triangle_area(seen_from(DVec3::ZERO)[0]), 0.5));
        for point in [DVec3::splat(0.1), DVec3::ONE] {
            assert!(near(six_volumes(seen_from(point)), 1.0));
        }
        let angle = |point: DVec3| seen_from(point).into_iter().map(solid_angle).sum::<f64>();
        assert!(near(angle(DVec3::splat(0.1)), 4.0 * std::f64::consts::PI));
        assert!(near(angle(DVec3::ONE), 0.0));
        assert_eq!(edges_of(&faces), [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
        assert_eq!(edges_of(&[[4, 4, 2]]), [[2, 4]]);
    }
}
