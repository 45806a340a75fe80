//! Writer of OBJ text.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use poplin_model::{CornerUvs, Mesh};

use crate::IoError;
use crate::frames::faces;

/// Writes a mesh as OBJ text with `positions` (one frame of a simulation) instead of the mesh's
/// own, quads first, with its texture coordinates.
///
/// # Errors
/// [`IoError::FrameLength`] if `positions` and the mesh differ in their vertex count,
/// [`IoError::Write`] if the file cannot be written.
pub fn write_obj(
    path: impl AsRef<Path>,
    mesh: &Mesh,
    positions: &[[f32; 3]],
) -> Result<(), IoError> {
    write_joined_obj(path, [(mesh, positions)], [0.0; 3])
}

/// Writes several meshes as one, like [`write_obj`]; the vertices of each follow those of the
/// previous one. `origin` \[m\] is added to all positions in double precision.
///
/// # Errors
/// Same as [`write_obj`], for the first mesh with a fault.
pub fn write_joined_obj<'a>(
    path: impl AsRef<Path>,
    parts: impl IntoIterator<Item = (&'a Mesh, &'a [[f32; 3]])>,
    origin: [f64; 3],
) -> Result<(), IoError> {
    let path = path.as_ref();
    let parts: Vec<_> = parts.into_iter().collect();
    for (mesh, positions) in &parts {
        IoError::check_frame(path, 0, [positions.len(), mesh.positions.len()])?;
    }
    let file = File::create(path).map_err(IoError::write(path))?;
    write_text(BufWriter::new(file), &parts, origin).map_err(IoError::write(path))
}

pub(crate) fn write_text(
    mut out: impl Write,
    parts: &[(&Mesh, &[[f32; 3]])],
    origin: [f64; 3],
) -> std::io::Result<()> {
    for position in parts.iter().flat_map(|(_, positions)| *positions) {
        write!(out, "v")?;
        for (x, from) in position.iter().zip(origin) {
            // Without an origin the shortest decimal form of the f32 suffices.
            match from == 0.0 {
                true => write!(out, " {x}")?,
                false => write!(out, " {}", f64::from(*x) + from)?,
            }
        }
        writeln!(out)?;
    }
    for (mesh, _) in parts {
        // A mesh has uvs per vertex or per corner, never both.
        for [u, v] in mesh.uvs.iter().chain(&mesh.corner_uvs.coordinates) {
            writeln!(out, "vt {u} {v}")?;
        }
    }
    // OBJ indices start at 1.
    let [mut first_vertex, mut first_uv] = [1u64; 2];
    for (mesh, positions) in parts {
        write_faces(&mut out, mesh, [first_vertex, first_uv])?;
        first_vertex += positions.len() as u64;
        first_uv += (mesh.uvs.len() + mesh.corner_uvs.coordinates.len()) as u64;
    }
    out.flush()
}

/// Writes the faces of a mesh, given the file indices of its first vertex and texture coordinate.
fn write_faces(
    mut out: impl Write,
    mesh: &Mesh,
    [first_vertex, first_uv]: [u64; 2],
) -> std::io::Result<()> {
    for (face, uvs) in faces(mesh) {
        // A face has texture coordinates at all corners or at none.
        let uvs = uvs.filter(|uvs| uvs.iter().all(|&uv| uv != CornerUvs::NONE));
        write!(out, "f")?;
        for (k, corner) in face.iter().map(|&corner| u64::from(corner) + first_vertex).enumerate() {
            match uvs {
                Some(uvs) => write!(out, " {corner}/{}", u64::from(uvs[k]) + first_uv)?,
                None => write!(out, " {corner}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}
