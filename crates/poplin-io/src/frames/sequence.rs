//! Numbered mesh files in a folder, one per frame.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use poplin_model::{CornerUvs, Mesh};

use super::source::faces;
use super::spool::{write_floats, write_whole};
use super::{FrameFormat, FrameSink, FrameSource};
use crate::IoError;
use crate::obj::write_text;

/// OBJ sequence entry of the format table.
pub(super) const OBJ: FrameFormat = FrameFormat {
    name: "obj",
    doc: "a folder NAME-obj of an OBJ file per frame, with faces and texture coordinates",
    is_sequence: true,
    create: |path, source| {
        Sequence::create(path, source, "obj", |mesh, positions, out| {
            write_text(out, &[(mesh, positions)], [0.0; 3])
        })
    },
};

/// PLY sequence entry of the format table.
pub(super) const PLY: FrameFormat = FrameFormat {
    name: "ply",
    doc: "a folder NAME-ply of a binary PLY file per frame, with faces and texture coordinates",
    is_sequence: true,
    create: |path, source| Sequence::create(path, source, "ply", write_ply),
};

/// Number of digits of a frame index.
const DIGITS: usize = 6;

type WriteFrame = fn(&Mesh, &[[f32; 3]], &mut BufWriter<File>) -> io::Result<()>;

/// Writes each frame to its own file, under a temporary name until it is complete.
#[derive(Debug)]
struct Sequence {
    folder: PathBuf,
    extension: &'static str,
    mesh: Mesh,
    frame_count: u32,
    write: WriteFrame,
}

impl Sequence {
    fn create(
        folder: &Path,
        source: &FrameSource<'_>,
        extension: &'static str,
        write: WriteFrame,
    ) -> Result<Box<dyn FrameSink>, IoError> {
        // Frames of an earlier, longer run must not remain.
        remove_frames(folder).or_else(|fault| match fault.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(IoError::Write { path: folder.to_path_buf(), source: fault }),
        })?;
        std::fs::create_dir_all(folder).map_err(IoError::write(folder))?;
        let (folder, mesh) = (folder.to_path_buf(), source.joined());
        Ok(Box::new(Self { folder, extension, mesh, frame_count: 0, write }))
    }
}

impl FrameSink for Sequence {
    fn push(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        let counts = [positions.len(), self.mesh.positions.len()];
        IoError::check_frame(&self.folder, self.frame_count, counts)?;
        let name = format!("{:0DIGITS$}.{}", self.frame_count, self.extension);
        write_whole(&self.folder.join(name), |out| (self.write)(&self.mesh, positions, out))?;
        self.frame_count += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), IoError> {
        Ok(())
    }
}

/// Removes written frames: a file, or the numbered files of a folder, and the folder itself if it
/// is empty then.
///
/// # Errors
/// Same as [`std::fs::remove_file`].
pub fn remove_frames(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    if !path.symlink_metadata()?.is_dir() {
        return std::fs::remove_file(path);
    }
    for entry in std::fs::read_dir(path)? {
        let own = entry?.path();
        let stem = own.file_stem().unwrap_or_default().to_string_lossy();
        // Only own files: at least six digits, and a mesh extension.
        let is_numbered = stem.len() >= DIGITS && stem.bytes().all(|byte| byte.is_ascii_digit());
        let is_mesh = own.extension().is_some_and(|it| it == OBJ.name || it == PLY.name);
        if is_numbered && is_mesh {
            std::fs::remove_file(&own)?;
        }
    }
    // Files of the user stay, and the folder with them.
    let _ = std::fs::remove_dir(path);
    Ok(())
}

/// Writes binary PLY, little-endian; texture coordinates of corners as in MeshLab.
fn write_ply(mesh: &Mesh, positions: &[[f32; 3]], out: &mut BufWriter<File>) -> io::Result<()> {
    let (has_uvs, corner_uvs) = (!mesh.uvs.is_empty(), &mesh.corner_uvs.coordinates);
    let uv = if has_uvs { "property float s\nproperty float t\n" } else { "" };
    let texcoord = if corner_uvs.is_empty() { "" } else { "property list uchar float texcoord\n" };
    write!(
        out,
        "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float z\n{uv}\
         element face {}\nproperty list uchar int vertex_indices\n{texcoord}end_header\n",
        positions.len(),
        mesh.quads.len() + mesh.triangles.len()
    )?;
    for (k, position) in positions.iter().enumerate() {
        write_floats(out, position)?;
        write_floats(out, mesh.uvs.get(k).map_or(&[], |uv| &uv[..]))?;
    }
    for (corners, uvs) in faces(mesh) {
        out.write_all(&[corners.len() as u8])?;
        corners.iter().try_for_each(|corner| out.write_all(&corner.to_le_bytes()))?;
        if !corner_uvs.is_empty() {
            let uvs =
                uvs.filter(|uvs| uvs.iter().all(|&uv| uv != CornerUvs::NONE)).unwrap_or_default();
            out.write_all(&[2 * uvs.len() as u8])?;
            uvs.iter().try_for_each(|&uv| write_floats(out, &corner_uvs[uv as usize]))?;
        }
    }
    Ok(())
}
