//! Mesh files in every supported format.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use glam::DVec3;
use poplin_model::Mesh;

use crate::far::origin_of;
use crate::{IoError, gltf, obj, ply, stl};

/// Limit of a mesh file that is read as a whole (all formats but OBJ) \[bytes\]: 21 million
/// triangles of STL. Readers allocate at most a small multiple of the file size, as counts are
/// checked against the remaining bytes.
pub const MAX_MESH_FILE: u64 = 1 << 30;

/// Format of mesh files.
#[derive(Debug, Clone, Copy)]
pub struct MeshFormat {
    /// File extension, compared without case.
    pub extension: &'static str,
    /// One-line description of the supported content.
    pub doc: &'static str,
    pub(crate) read: fn(&Path) -> Result<Parsed, IoError>,
}

/// All supported formats.
pub const MESH_FORMATS: &[MeshFormat] =
    &[obj::MESH_FORMAT, ply::MESH_FORMAT, stl::MESH_FORMAT, gltf::GLTF, gltf::GLB];

/// Common formats that are not read: extension and name. VRM files are GLB inside.
const OTHER_FORMATS: [(&str, &str); 20] = [
    ("3ds", "3DS"),
    ("3mf", "3MF"),
    ("abc", "Alembic"),
    ("blend", "a Blender file"),
    ("c4d", "a Cinema 4D file"),
    ("dae", "COLLADA"),
    ("dxf", "DXF"),
    ("fbx", "FBX"),
    ("igs", "IGES"),
    ("lwo", "LWO"),
    ("ma", "a Maya file"),
    ("max", "a 3ds Max file"),
    ("mb", "a Maya file"),
    ("off", "OFF"),
    ("step", "STEP"),
    ("usd", "USD"),
    ("usda", "USD"),
    ("usdc", "USD"),
    ("usdz", "USD"),
    ("vrm", "VRM"),
];

/// Name of a common format that is not read, by the extension of a path.
fn other_format(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?;
    let has_it = |(own, _): &&(&str, &str)| extension.eq_ignore_ascii_case(own);
    OTHER_FORMATS.iter().find(has_it).map(|(_, name)| *name)
}

/// Tests whether a file name has the extension of a mesh format, one that is read or another one.
pub fn is_mesh_name(path: &Path) -> bool {
    MeshFormat::of(path).is_some() || other_format(path).is_some()
}

/// Tests whether a file begins like a binary glTF file.
fn begins_as_glb(path: &Path) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == *b"glTF"
}

impl MeshFormat {
    /// Returns the format with the extension of a path.
    pub fn of(path: impl AsRef<Path>) -> Option<Self> {
        let extension = path.as_ref().extension()?;
        let has_it = |format: &&Self| extension.eq_ignore_ascii_case(format.extension);
        MESH_FORMATS.iter().find(has_it).copied()
    }

    /// Tests whether the format is glTF, as text or binary.
    pub fn is_gltf(self) -> bool {
        [gltf::GLTF, gltf::GLB].iter().any(|gltf| gltf.extension == self.extension)
    }
}

/// Mesh from a file, relative to a nearby origin if it is far from the world's.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshFile {
    /// Mesh with positions relative to `origin`.
    pub mesh: Mesh,
    /// Origin of the positions in whole metres \[m\]; 0 along each axis where `f32` resolves the
    /// mesh well enough ([`crate::MAX_RESOLUTION`]).
    pub origin: [f64; 3],
    /// Faces with a flipped triangle.
    pub twisted: TwistedFaces,
}

/// Faces of a mesh file that cannot be triangulated without a flipped triangle: their sides cross,
/// or they are concave with more than 1024 corners. They are triangulated as fans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TwistedFaces {
    /// Number of these faces.
    pub count: usize,
    /// Line of the first such face, from 1; 0 without one, or in a binary file.
    pub first_line: usize,
}

impl TwistedFaces {
    pub(crate) fn add(&mut self, line: usize) {
        self.first_line = if self.count == 0 { line } else { self.first_line.min(line) };
        self.count += 1;
    }
}

/// Content of a mesh file.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) mesh: Mesh,
    /// Positions of all vertices in double precision.
    pub(crate) positions: Vec<DVec3>,
    pub(crate) twisted: TwistedFaces,
}

/// Motion of the vertices of a mesh, from an animation or a point cache.
pub trait VertexMotion: std::fmt::Debug + Send + Sync {
    /// Times of the first and the last known pose \[s\].
    fn span(&self) -> [f64; 2];

    /// Returns the positions of all vertices at a time \[s\]; held before the first pose and after
    /// the last.
    ///
    /// # Errors
    /// [`IoError`] if the file can no longer be read.
    fn positions(&self, time: f64) -> Result<Vec<DVec3>, IoError>;
}

/// Binary search: index of the first of `count` keys, at rising times \[s\], that is after `time`;
/// `count` if there is none.
pub(crate) fn first_after(time: f64, count: usize, time_of: impl Fn(usize) -> f64) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if time_of(middle) <= time { low = middle + 1 } else { high = middle }
    }
    low
}

/// Reads a mesh in the format of the file's extension. If that is none of [`MESH_FORMATS`], the
/// file is read as GLB if it begins like one, otherwise as OBJ. A mesh far from the origin keeps
/// its shape, relative to [`MeshFile::origin`].
///
/// # Errors
/// [`IoError`] with the file and, where there is one, the line, byte or JSON path: a file that is
/// in another common format, missing, unreadable or damaged, has no vertices or no faces, a
/// coordinate that is not finite, an index out of range, or more than
/// [`poplin_model::MAX_PARTICLES`] vertices.
pub fn load_mesh(path: impl AsRef<Path>) -> Result<MeshFile, IoError> {
    let path = path.as_ref();
    let format = match (MeshFormat::of(path), other_format(path)) {
        (Some(format), _) => format,
        (None, _) if begins_as_glb(path) => gltf::GLB,
        (None, Some(name)) => {
            return Err(IoError::OtherFormat { path: path.to_path_buf(), name });
        }
        (None, None) => obj::MESH_FORMAT,
    };
    (format.read)(path).map(MeshFile::from)
}

/// Lists the files beside a mesh file with the rest of it: the buffers of a glTF file; empty if it
/// has none or is damaged.
pub fn other_files_of_mesh(path: &Path) -> Vec<PathBuf> {
    match MeshFormat::of(path) {
        Some(format) if format.is_gltf() => gltf::buffer_files(path),
        _ => Vec::new(),
    }
}

impl From<Parsed> for MeshFile {
    /// Makes positions relative to a nearby origin if they are far from the world's.
    fn from(Parsed { mut mesh, positions, twisted }: Parsed) -> Self {
        let origin = origin_of(&mesh, &positions);
        if origin != DVec3::ZERO {
            mesh.positions = positions.iter().map(|p| (p - origin).as_vec3().to_array()).collect();
        }
        Self { mesh, origin: origin.to_array(), twisted }
    }
}

/// Reads a whole file of at most [`MAX_MESH_FILE`] bytes.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, IoError> {
    let file = File::open(path).map_err(IoError::open(path))?;
    let mut bytes = Vec::new();
    let mut limited = BufReader::new(file).take(MAX_MESH_FILE + 1);
    limited.read_to_end(&mut bytes).map_err(IoError::read(path))?;
    let (count, limit) = (bytes.len(), MAX_MESH_FILE as usize);
    match count > limit {
        true => Err(IoError::TooMany { path: path.to_path_buf(), what: "bytes", count, limit }),
        false => Ok(bytes),
    }
}
