//! Closed surfaces of mesh colliders.

pub use poplin_geometry::{OpenSurface, Repairs};
use poplin_model::TriangleMesh;

/// Returns a mesh with one vertex at each position and each triangle once, which is as solid and
/// faster to collide with than one with a vertex for each corner of each face.
pub fn compact_surface(mesh: TriangleMesh) -> TriangleMesh {
    match poplin_geometry::compact_mesh(&mesh.vertices, &mesh.triangles) {
        Some((vertices, triangles)) => {
            TriangleMesh { vertices: vertices.into(), triangles: triangles.into() }
        }
        None => mesh,
    }
}

/// Orients all triangles of each connected part consistently and outwards, fills small holes, and
/// leaves out smaller parts without a volume. Also returns the boundary vertices of each filled
/// hole, whose center vertices follow all others.
///
/// Vertices at equal positions count as one. A closed part that faces inwards and lies inside
/// larger ones is a cavity and stays one.
///
/// # Errors
/// [`OpenSurface`] if the repaired triangles still enclose no volume.
pub fn close_surface(
    mesh: &TriangleMesh,
) -> Result<(TriangleMesh, Repairs, Vec<Vec<u32>>), OpenSurface> {
    let closed = poplin_geometry::close_surface(&mesh.vertices, &mesh.triangles)?;
    let mesh = if closed.repairs.is_any() {
        let (vertices, triangles) = (closed.positions.into(), closed.triangles.into());
        TriangleMesh { vertices, triangles }
    } else {
        mesh.clone()
    };
    Ok((mesh, closed.repairs, closed.holes))
}
