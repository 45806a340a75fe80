//! Wavefront OBJ meshes: reading and writing.
//!
//! This reader replaces the `tobj` crate because cloth needs what tobj drops: the file's own vertex
//! order (a point cache is applied to the file in another program; tobj renumbers by first use and
//! splits at groups and materials, which would cut a garment apart), line numbers in every error,
//! and the difference between a corner with and without a texture coordinate. The tests compare
//! this reader with tobj.

mod parser;
#[cfg(test)]
mod tests;
mod writer;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use poplin_model::{MAX_PARTICLES, Mesh};

use self::parser::parse_obj;
pub(crate) use self::writer::write_text;
pub use self::writer::{write_joined_obj, write_obj};
use crate::IoError;
use crate::mesh_file::{MeshFormat, Parsed};

/// Maximum number of faces after triangulation, and of texture coordinates; meshes have about two
/// triangles per vertex.
pub(crate) const MAX_FACES: usize = 4 * MAX_PARTICLES;

/// OBJ entry of the format table.
pub(crate) const MESH_FORMAT: MeshFormat = MeshFormat {
    extension: "obj",
    doc: "Wavefront OBJ: triangles, quads and polygons, texture coordinates",
    read,
};

/// Reads the faces of an OBJ file as one mesh, with vertices in the file's order.
///
/// Quads stay quads, larger polygons become triangles: fans if they are convex. A concave quad is
/// rotated to start at a corner whose diagonal is inside. Objects, groups and materials are merged:
/// their faces share the file's vertices. Texture coordinates become [`Mesh::uvs`] if every vertex
/// has exactly one, otherwise [`Mesh::corner_uvs`]. Normals, colours, a fourth `w` coordinate,
/// lines, points and curves are ignored. A `\` at the end of a line continues it on the next line.
///
/// # Errors
/// [`IoError`] with the file and, where there is one, the line: a file that is missing, unreadable
/// or not text, has no vertices or no faces, a coordinate that is not finite, an index out of
/// range, or more than [`poplin_model::MAX_PARTICLES`] vertices.
pub fn read_obj(path: impl AsRef<Path>) -> Result<Mesh, IoError> {
    read(path.as_ref()).map(|parsed| parsed.mesh)
}

fn read(path: &Path) -> Result<Parsed, IoError> {
    let file = File::open(path).map_err(IoError::open(path))?;
    parse_obj(BufReader::new(file), path)
}
