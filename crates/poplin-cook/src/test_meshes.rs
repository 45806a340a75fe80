//! Meshes of tests.

use poplin_geometry::Rng;
use poplin_model::Mesh;

/// Sheet 1 m wide in irregular triangles with edges of `1 / columns` m: inner vertices up to a
/// quarter of an edge off.
pub(crate) fn irregular(columns: u32, rows: u32) -> Mesh {
    let depth = rows as f32 / columns as f32;
    let mut mesh = Mesh::grid(columns + 1, rows + 1, 1.0, depth);
    let mut rng = Rng::new(5);
    for (k, place) in (0..).zip(&mut mesh.positions) {
        let (column, row) = (k % (columns + 1), k / (columns + 1));
        if (1..columns).contains(&column) && (1..rows).contains(&row) {
            let [dx, _, dz] = rng.point(-0.25, 0.25).map(|it: f32| it / columns as f32);
            (place[0], place[2]) = (place[0] + dx, place[2] + dz);
        }
    }
    for (k, quad) in mesh.quads.iter_mut().enumerate() {
        quad.rotate_left(k * k / 3 % 2);
    }
    (mesh.triangles, mesh.quads) = (mesh.triangulated(), Vec::new());
    mesh
}
