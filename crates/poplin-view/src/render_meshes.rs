//! Render vertices of particles that were read back.
//!
//! The rest of the viewer uses only the layout of [`RenderVertex`], and not its last components.

use poplin::cpu::render_vertices;
use poplin::model::{ModelError, Particle, RenderMesh, RenderVertex};

/// Writes positions and normals of the particles of a cloth to `vertices`.
pub(crate) fn fill(
    vertices: &mut Vec<RenderVertex>,
    mesh: &RenderMesh,
    particles: &[Particle],
) -> Result<(), ModelError> {
    vertices.resize(mesh.vertex_count(), RenderVertex::default());
    render_vertices(mesh, particles.into(), vertices, &mut [])
}

/// Returns the vertices of a static surface.
pub(crate) fn of_surface(
    positions: &[[f32; 3]],
    triangles: &[[u32; 3]],
) -> Result<Vec<RenderVertex>, ModelError> {
    let particles: Vec<_> =
        positions.iter().map(|&position| Particle { position, inverse_mass: 0.0 }).collect();
    let mesh = RenderMesh::of_particles(particles.len() as u32, triangles)?;
    let mut vertices = Vec::new();
    fill(&mut vertices, &mesh, &particles)?;
    Ok(vertices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_normals_by_area_and_rejects_unknown_corners() {
        let positions = [[0.0; 3], [10.0, 0.0, 0.0], [0.0, 10.0, 0.0], [0.0, 0.0, 0.1]];
        let vertices = of_surface(&positions, &[[0, 1, 2], [0, 2, 3]]).unwrap();
        assert_eq!(vertices[1].normal, [0.0, 0.0, 1.0, 0.0]);
        assert!(vertices[0].normal[2] > 0.99, "{:?}", vertices[0]);
        assert_eq!(vertices[3].position, [0.0, 0.0, 0.1, 1.0]);
        let error = of_surface(&positions, &[[0, 1, 9]]).unwrap_err().to_string();
        assert_eq!(error, "render mesh triangles[2] is 9, but there are only 4");
    }
}
