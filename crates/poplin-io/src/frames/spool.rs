//! Temporary storage of frames, for formats whose header needs the number of frames.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use glam::DVec3;
use poplin_model::{MAX_PARTICLES, Mesh};

use super::{FrameSink, FrameSource};
use crate::{IoError, vertex_normals};

/// All frames of a run, from which a format is written.
#[derive(Debug)]
pub(super) struct Recording<'a> {
    /// Surface at rest.
    pub(super) mesh: &'a Mesh,
    /// Frames per second \[1/s\].
    pub(super) frame_rate: f32,
    pub(super) frame_count: u32,
    frames: &'a File,
}

impl Recording<'_> {
    /// Visits the index and the positions, shape `[vertex_count]`, of every frame.
    pub(super) fn visit(
        &self,
        mut visit: impl FnMut(u32, &[[f32; 3]]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut frames = self.frames;
        frames.rewind()?;
        let mut reader = BufReader::with_capacity(1 << 16, frames);
        let mut bytes = vec![0; self.mesh.positions.len() * 12];
        let mut positions = Vec::with_capacity(self.mesh.positions.len());
        for index in 0..self.frame_count {
            reader.read_exact(&mut bytes)?;
            positions.clear();
            positions.extend(triples(&bytes));
            visit(index, &positions)?;
        }
        Ok(())
    }

    /// Time of a frame \[s\].
    pub(super) fn time(&self, frame: u32) -> f32 {
        (f64::from(frame) / f64::from(self.frame_rate)) as f32
    }
}

/// Function that writes a whole file.
pub(super) type WriteRecording = fn(&Recording<'_>, &mut BufWriter<File>) -> io::Result<()>;

/// Collects frames in a temporary file, from which the final file is written at the end: that file
/// is complete or missing.
#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    frames: Temporary,
    mesh: Mesh,
    frame_rate: f32,
    frame_count: u32,
    max_frames: u32,
    write: WriteRecording,
}

impl Spool {
    /// Creates a sink for at most `max_frames` frames.
    pub(super) fn create(
        path: &Path,
        source: &FrameSource<'_>,
        max_frames: u32,
        write: WriteRecording,
    ) -> Result<Box<dyn FrameSink>, IoError> {
        let mesh = source.joined();
        let count = mesh.positions.len();
        let fault =
            |what, count, limit| IoError::TooMany { path: path.to_path_buf(), what, count, limit };
        if count > MAX_PARTICLES {
            return Err(fault("vertices of a frame", count, MAX_PARTICLES));
        }
        if source.frame_count > max_frames {
            let what = "frames for this format and these vertices";
            return Err(fault(what, source.frame_count as usize, max_frames as usize));
        }
        if path.exists() {
            std::fs::remove_file(path).map_err(IoError::write(path))?;
        }
        let frames = Temporary::create(path, "frames")?;
        let (path, frame_rate) = (path.to_path_buf(), source.frame_rate);
        Ok(Box::new(Self { path, frames, mesh, frame_rate, frame_count: 0, max_frames, write }))
    }
}

impl FrameSink for Spool {
    fn push(&mut self, positions: &[[f32; 3]]) -> Result<(), IoError> {
        let counts = [positions.len(), self.mesh.positions.len()];
        IoError::check_frame(&self.path, self.frame_count, counts)?;
        if self.frame_count >= self.max_frames {
            let (path, limit) = (self.path.clone(), self.max_frames as usize);
            return Err(IoError::TooMany { path, what: "frames", count: limit + 1, limit });
        }
        self.frames.append(positions).map_err(IoError::write(&self.path))?;
        self.frame_count += 1;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), IoError> {
        let recording = Recording {
            mesh: &self.mesh,
            frame_rate: self.frame_rate,
            frame_count: self.frame_count,
            frames: &self.frames.file,
        };
        write_whole(&self.path, |out| (self.write)(&recording, out))
    }
}

/// Decodes positions from little-endian bytes.
pub(super) fn triples(bytes: &[u8]) -> impl Iterator<Item = [f32; 3]> {
    let (words, _) = bytes.as_chunks::<4>();
    let (triples, _) = words.as_chunks::<3>();
    triples.iter().map(|triple| triple.map(f32::from_le_bytes))
}

/// Computes area-weighted unit normals; up for a vertex without a triangle of positive area.
pub(super) fn normals(triangles: &[[u32; 3]], positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let upright = |normal| if normal == DVec3::ZERO { DVec3::Y } else { normal };
    let normals = vertex_normals(positions, triangles.iter().copied());
    normals.into_iter().map(|normal| upright(normal).as_vec3().to_array()).collect()
}

/// Writes little-endian floats.
pub(super) fn write_floats(out: &mut (impl Write + ?Sized), values: &[f32]) -> io::Result<()> {
    values.iter().try_for_each(|x| out.write_all(&x.to_le_bytes()))
}

/// Bounding box of positions, lowest and highest corner; infinite without positions.
pub(super) fn bounds(positions: &[[f32; 3]]) -> [[f32; 3]; 2] {
    let none = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];
    positions.iter().fold(none, |[low, high], p| {
        [std::array::from_fn(|k| low[k].min(p[k])), std::array::from_fn(|k| high[k].max(p[k]))]
    })
}

/// Writes a file under a temporary name and renames it once it is on the disk.
pub(super) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), IoError> {
    let part = Temporary::create(path, "part")?;
    let file = part.file.try_clone().map_err(IoError::write(path))?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write(&mut out).and_then(|()| out.flush()).map_err(IoError::write(path))?;
    part.rename(path)
}

/// Hidden file next to another file, removed unless it is renamed.
#[derive(Debug)]
pub(super) struct Temporary {
    file: File,
    path: PathBuf,
    /// Number of appended bytes.
    length: u64,
}

impl Temporary {
    pub(super) fn create(of: &Path, extension: &str) -> Result<Self, IoError> {
        // In the same folder, so that the rename stays on one file system.
        let name = of.file_name().unwrap_or_default().to_string_lossy();
        let path = of.with_file_name(format!(".{name}.{extension}"));
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path);
        Ok(Self { file: file.map_err(IoError::write(&path))?, path, length: 0 })
    }

    /// Appends positions, to be read with [`triples`]; a failed append is overwritten by the next
    /// one.
    pub(super) fn append<'a>(
        &mut self,
        positions: impl IntoIterator<Item = &'a [f32; 3]>,
    ) -> io::Result<()> {
        let numbers = positions.into_iter().flatten();
        let bytes: Vec<u8> = numbers.flat_map(|x| x.to_le_bytes()).collect();
        // Overwrites the remains of a failed append.
        self.file.seek(io::SeekFrom::Start(self.length))?;
        self.file.write_all(&bytes)?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Renames the file to `path`, once it is on the disk.
    pub(super) fn rename(self, path: &Path) -> Result<(), IoError> {
        let renamed = self.file.sync_all().and_then(|()| std::fs::rename(&self.path, path));
        renamed.map_err(IoError::write(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
