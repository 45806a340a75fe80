//! Cleaned mesh: welded, without degenerate or duplicate faces and unused vertices.

use glam::DVec3;
use poplin_geometry::{Bounds, weld_vertices, wide};
use poplin_model::{Mesh, halves_of_quad};

use crate::{CookError, Weld};

/// Largest number of faces of a mesh, so that the number of corners fits in `u32`.
const MAX_FACES: usize = 1 << 26;

/// Height over the longest side, as a fraction of that side, below which a triangle is degenerate.
/// `f32` coordinates of a mesh around the origin have a relative precision of 6e-8.
const MIN_RELATIVE_HEIGHT: f64 = 1e-6;

/// A triangle or quad.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Face {
    particles: [u32; 4],
    vertices: [u32; 4],
    corner_count: usize,
}

impl Face {
    /// Particles at the corners, in ring order.
    pub(crate) fn corners(&self) -> &[u32] {
        &self.particles[..self.corner_count]
    }

    /// Mesh vertices at the corners, which keep the texture coordinates that welding merges.
    pub(crate) fn mesh_vertices(&self) -> &[u32] {
        &self.vertices[..self.corner_count]
    }

    /// True for a quad.
    pub(crate) fn is_quad(&self) -> bool {
        self.corner_count == 4
    }

    /// Sides as particle pairs.
    pub(crate) fn sides(&self) -> impl Iterator<Item = [u32; 2]> + Clone {
        let face = *self;
        (0..face.corner_count)
            .map(move |k| [face.particles[k], face.particles[(k + 1) % face.corner_count]])
    }

    /// Triangles of the face: one, or the two of a quad according to [`halves_of_quad`].
    pub(crate) fn triangles(&self) -> impl Iterator<Item = [u32; 3]> + Clone {
        halves_of_quad(self.particles).into_iter().take(self.corner_count - 2)
    }
}

/// A clean mesh over particles.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surface {
    /// Position of each particle \[m\].
    pub(crate) positions: Vec<DVec3>,
    /// Triangles, then quads.
    pub(crate) faces: Vec<Face>,
    /// Particle of each mesh vertex; `None` if no face uses the vertex.
    pub(crate) vertex_to_particle: Vec<Option<u32>>,
    /// First mesh vertex of each particle.
    pub(crate) particle_to_vertex: Vec<u32>,
    /// Number of mesh vertices that were welded to another vertex.
    pub(crate) welded_vertex_count: usize,
    /// Number of mesh vertices that no remaining face uses.
    pub(crate) dropped_vertex_count: usize,
    /// Number of faces with a repeated corner or without area.
    pub(crate) degenerate_face_count: usize,
    /// Number of faces with the same corners as an earlier face.
    pub(crate) duplicate_face_count: usize,
}

impl Surface {
    /// Cleans a valid mesh.
    pub(crate) fn new(mesh: &Mesh, weld: Weld) -> Result<Self, CookError> {
        let count = mesh.triangles.len() + mesh.quads.len();
        if count > MAX_FACES {
            return Err(CookError::TooManyFaces { count, limit: MAX_FACES });
        }
        let vertices: Vec<DVec3> = mesh.positions.iter().copied().map(wide).collect();
        let corners = mesh.quads.as_flattened().iter().chain(mesh.triangles.as_flattened());
        let tolerance = weld_tolerance(corners.map(|&corner| vertices[corner as usize]), weld);
        let representative = weld_vertices(&vertices, tolerance);
        let mut surface = Self {
            welded_vertex_count: representative
                .iter()
                .enumerate()
                .filter(|&(i, &r)| i as u32 != r)
                .count(),
            ..Self::default()
        };
        let triangles = mesh.triangles.iter().map(|&[a, b, c]| ([a, b, c, a], 3));
        let quads = mesh.quads.iter().map(|&quad| (quad, 4));
        surface.faces = triangles
            .chain(quads)
            .filter_map(|(corners, corner_count)| {
                clean_face(corners, corner_count, &vertices, &representative)
            })
            .collect();
        // Quads that lost a corner are triangles now; triangles come first.
        // Stable: the order of the mesh is kept within triangles and within quads.
        surface.faces.sort_by_key(|face| face.corner_count);
        surface.degenerate_face_count = count - surface.faces.len();
        surface.drop_duplicates();
        if surface.faces.is_empty() {
            let degenerate = surface.degenerate_face_count;
            return Err(CookError::NoFaces { degenerate, tolerance: tolerance.unwrap_or(0.0) });
        }
        surface.number_particles(&vertices, &representative);
        Ok(surface)
    }

    /// Iterates over all faces as triangles.
    pub(crate) fn triangles(&self) -> impl Iterator<Item = [u32; 3]> + Clone + '_ {
        self.faces.iter().flat_map(Face::triangles)
    }

    fn drop_duplicates(&mut self) {
        let mut keys: Vec<([u32; 4], u32)> = Vec::with_capacity(self.faces.len());
        for (index, face) in self.faces.iter().enumerate() {
            let mut key = face.particles;
            if !face.is_quad() {
                // A triangle's fourth entry repeats its first; exclude it from the key.
                key[3] = u32::MAX;
            }
            key.sort_unstable();
            keys.push((key, index as u32));
        }
        keys.sort_unstable();
        let mut repeated = vec![false; self.faces.len()];
        for pair in keys.windows(2) {
            repeated[pair[1].1 as usize] = pair[0].0 == pair[1].0;
        }
        let before = self.faces.len();
        let mut flags = repeated.into_iter();
        self.faces.retain(|_| !flags.next().unwrap_or(false));
        self.duplicate_face_count = before - self.faces.len();
    }

    /// Numbers the used vertices in mesh order, so that an already clean mesh keeps its indices.
    fn number_particles(&mut self, vertices: &[DVec3], representative: &[u32]) {
        let mut used = vec![false; vertices.len()];
        for &corner in self.faces.iter().flat_map(Face::corners) {
            used[corner as usize] = true;
        }
        let mut particle = vec![None; vertices.len()];
        for (vertex, _) in used.iter().enumerate().filter(|&(_, &used)| used) {
            particle[vertex] = Some(self.positions.len() as u32);
            self.positions.push(vertices[vertex]);
            self.particle_to_vertex.push(vertex as u32);
        }
        for corner in self.faces.iter_mut().flat_map(|face| &mut face.particles) {
            *corner = particle[*corner as usize].expect("every corner was marked as used");
        }
        self.vertex_to_particle =
            representative.iter().map(|&vertex| particle[vertex as usize]).collect();
        self.dropped_vertex_count =
            self.vertex_to_particle.iter().filter(|particle| particle.is_none()).count();
    }
}

/// Maps a face to welded vertices and removes repeated corners; `None` if the result has no area.
fn clean_face(
    vertices: [u32; 4],
    corner_count: usize,
    positions: &[DVec3],
    representative: &[u32],
) -> Option<Face> {
    let (mut kept, mut welded, mut count) = ([0; 4], [0; 4], 0);
    for &vertex in &vertices[..corner_count] {
        let corner = representative[vertex as usize];
        if welded[..count].contains(&corner) {
            continue;
        }
        (kept[count], welded[count]) = (vertex, corner);
        count += 1;
    }
    // A quad with equal opposite corners is folded onto itself and does not leave a triangle.
    let folded = corner_count == 4 && count == 3 && {
        let at = |k: usize| representative[vertices[k] as usize];
        at(0) == at(2) || at(1) == at(3)
    };
    if count < 3 || folded {
        return None;
    }
    // Unused entries repeat the first corner.
    (count..4).for_each(|k| (kept[k], welded[k]) = (kept[0], welded[0]));
    let at = |k: usize| positions[welded[k] as usize];
    let has_area = has_area(at(0), at(1), at(2))
        || count == 4
            && (has_area(at(2), at(3), at(0))
                || has_area(at(1), at(2), at(3))
                || has_area(at(3), at(0), at(1)));
    has_area.then_some(Face { particles: welded, vertices: kept, corner_count: count })
}

/// Distance \[m\] within which vertices are welded, or `None` for no welding. `corners` are those
/// of all faces, since unused vertices do not count for the size of the mesh.
fn weld_tolerance(corners: impl Iterator<Item = DVec3>, weld: Weld) -> Option<f64> {
    match weld {
        Weld::Off => None,
        Weld::Distance(distance) => Some(distance.into()),
        Weld::Relative(part) => {
            Some(Bounds::of(corners).size().max(DVec3::ZERO).length() * f64::from(part))
        }
    }
}

/// True if the triangle is not degenerate.
pub(crate) fn has_area(a: DVec3, b: DVec3, c: DVec3) -> bool {
    let longest = a.distance_squared(b).max(b.distance_squared(c)).max(c.distance_squared(a));
    // |(b-a) x (c-a)| = longest side * height over it
    (b - a).cross(c - a).length() > MIN_RELATIVE_HEIGHT * longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh(positions: &[[f32; 3]], triangles: &[[u32; 3]], quads: &[[u32; 4]]) -> Mesh {
        Mesh {
            positions: positions.to_vec(),
            triangles: triangles.to_vec(),
            quads: quads.to_vec(),
            ..Mesh::default()
        }
    }

    const SQUARE: [[f32; 3]; 4] =
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 1.0]];

    #[test]
    fn clean_mesh_keeps_its_indices() {
        let surface = Surface::new(&Mesh::grid(3, 3, 1.0, 1.0), Weld::Relative(1e-6)).unwrap();
        assert_eq!(surface.vertex_to_particle, (0..9).map(Some).collect::<Vec<_>>());
        assert_eq!(
            (surface.faces.len(), surface.welded_vertex_count, surface.dropped_vertex_count),
            (4, 0, 0)
        );
    }

    #[test]
    fn degenerate_and_duplicate_faces_are_dropped() {
        let mesh = mesh(&SQUARE, &[[0, 1, 2], [2, 1, 0], [0, 1, 1], [1, 2, 0]], &[[0, 2, 0, 3]]);
        let surface = Surface::new(&mesh, Weld::Off).unwrap();
        assert_eq!(
            (surface.faces.len(), surface.duplicate_face_count, surface.degenerate_face_count),
            (1, 2, 2)
        );
        assert_eq!(surface.vertex_to_particle, [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn quad_with_a_repeated_corner_becomes_a_triangle() {
        let surface =
            Surface::new(&mesh(&SQUARE, &[], &[[0, 1, 1, 2], [0, 1, 2, 3]]), Weld::Off).unwrap();
        assert_eq!(surface.faces.iter().map(Face::is_quad).collect::<Vec<_>>(), [false, true]);
        assert_eq!(surface.faces[0].corners(), [0, 1, 2]);
    }

    #[test]
    fn flat_triangle_is_degenerate_at_every_scale() {
        for scale in [1e-12f32, 1.0, 1e12] {
            let flat = [[0.0, 0.0, 0.0], [scale, 0.0, 0.0], [0.5 * scale, 1e-8 * scale, 0.0]];
            let error = Surface::new(&mesh(&flat, &[[0, 1, 2]], &[]), Weld::Off).unwrap_err();
            assert_eq!(error, CookError::NoFaces { degenerate: 1, tolerance: 0.0 });
        }
    }
}
