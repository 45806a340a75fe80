//! Surface and timing of frames.

use poplin_model::{CornerUvs, Mesh};

/// Surface whose vertices the frames move, and the frame rate.
#[derive(Debug, Clone, Copy)]
pub struct FrameSource<'a> {
    /// Meshes and their number of copies: the vertices of all copies are concatenated.
    pub parts: &'a [(&'a Mesh, usize)],
    /// Frames per second \[1/s\].
    pub frame_rate: f32,
    /// Number of frames, including the start; fewer may follow if a run is stopped.
    pub frame_count: u32,
}

impl FrameSource<'_> {
    /// Number of vertices of a frame.
    pub fn vertex_count(&self) -> usize {
        self.parts.iter().map(|(mesh, copies)| mesh.positions.len() * copies).sum()
    }

    /// Joins all copies to one mesh. Texture coordinates are per vertex if all parts have them per
    /// vertex, otherwise per corner.
    pub(crate) fn joined(&self) -> Mesh {
        let mut joined = Mesh::default();
        let has_uvs = self.parts.iter().all(|(mesh, _)| !mesh.uvs.is_empty());
        for (mesh, copies) in self.parts {
            for _ in 0..*copies {
                let first = joined.positions.len() as u32;
                let first_uv = joined.corner_uvs.coordinates.len() as u32;
                joined.positions.extend(&mesh.positions);
                joined.triangles.extend(mesh.triangles.iter().map(|it| it.map(|k| k + first)));
                joined.quads.extend(mesh.quads.iter().map(|it| it.map(|k| k + first)));
                if has_uvs {
                    joined.uvs.extend(&mesh.uvs);
                    continue;
                }
                // Parts with vertex and corner coordinates are mixed: all become corner
                // coordinates.
                let shifted = |uv: u32| if uv == CornerUvs::NONE { uv } else { uv + first_uv };
                let own = &mesh.corner_uvs;
                let corner_uvs = &mut joined.corner_uvs;
                if !mesh.uvs.is_empty() {
                    corner_uvs.coordinates.extend(&mesh.uvs);
                    corner_uvs.triangles.extend(mesh.triangles.iter().map(|it| it.map(shifted)));
                    corner_uvs.quads.extend(mesh.quads.iter().map(|it| it.map(shifted)));
                } else if !own.coordinates.is_empty() {
                    corner_uvs.coordinates.extend(&own.coordinates);
                    corner_uvs.triangles.extend(own.triangles.iter().map(|it| it.map(shifted)));
                    corner_uvs.quads.extend(own.quads.iter().map(|it| it.map(shifted)));
                } else {
                    let none = CornerUvs::NONE;
                    corner_uvs.triangles.resize(joined.triangles.len(), [none; 3]);
                    corner_uvs.quads.resize(joined.quads.len(), [none; 4]);
                }
            }
        }
        if joined.corner_uvs.coordinates.is_empty() {
            joined.corner_uvs = CornerUvs::default();
        }
        joined
    }
}

/// Iterates over the faces of a mesh, quads first: the corners of each and, if it has any, the
/// indices of their texture coordinates in [`Mesh::uvs`], which are the corners themselves, or in
/// [`CornerUvs::coordinates`].
pub(crate) fn faces(mesh: &Mesh) -> impl Iterator<Item = (&[u32], Option<&[u32]>)> {
    let has_uvs = !mesh.uvs.is_empty();
    let quads = mesh.quads.iter().enumerate().map(move |(k, quad)| {
        let own = mesh.corner_uvs.quads.get(k).map(|uvs| &uvs[..]);
        (&quad[..], own.or(has_uvs.then_some(&quad[..])))
    });
    let triangles = mesh.triangles.iter().enumerate().map(move |(k, triangle)| {
        let own = mesh.corner_uvs.triangles.get(k).map(|uvs| &uvs[..]);
        (&triangle[..], own.or(has_uvs.then_some(&triangle[..])))
    });
    quads.chain(triangles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_concatenated_with_their_uvs() {
        let grid = Mesh::grid(2, 2, 1.0, 1.0);
        let bare = Mesh { uvs: Vec::new(), ..grid.clone() };
        fn join(parts: &[(&Mesh, usize)]) -> Mesh {
            FrameSource { parts, frame_rate: 60.0, frame_count: 1 }.joined()
        }
        let joined = join(&[(&grid, 2)]);
        joined.validate().unwrap();
        assert_eq!((joined.quads[1], joined.uvs.len()), (grid.quads[0].map(|k| k + 4), 8));
        let joined = join(&[(&bare, 1), (&grid, 2)]);
        joined.validate().unwrap();
        assert!(joined.uvs.is_empty());
        assert_eq!(joined.corner_uvs.quads[0], [CornerUvs::NONE; 4]);
        assert_eq!(joined.corner_uvs.quads[2], grid.quads[0].map(|k| k + 4));
        assert_eq!(join(&[(&bare, 3)]).corner_uvs, CornerUvs::default());
    }
}
