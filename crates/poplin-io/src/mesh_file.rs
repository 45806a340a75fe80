//! Mesh files of every format that is read.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use glam::DVec3;
use poplin_model::Mesh;

use crate::far::origin_of;
use crate::{IoError, gltf, obj, ply, stl};

/// Most bytes of a mesh file that is read as a whole (all but OBJ): 21 million triangles of STL. What a reader
/// allocates beside the file is a small multiple of this at most, as counts are checked against the bytes that are left.
pub const MAX_MESH_FILE: u64 = 1 << 30;

/// A format of mesh files.
#[derive(Debug, Clone, Copy)]
pub struct MeshFormat {
    /// The extension of its files, whatever its case.
    pub extension: &'static str,
    /// What is read of it, in a line.
    pub doc: &'static str,
    pub(crate) read: fn(&Path) -> Result<Parsed, IoError>,
}

/// Every format that is read.
pub const MESH_FORMATS: &[MeshFormat] =
    &[obj::MESH_FORMAT, ply::MESH_FORMAT, stl::MESH_FORMAT, gltf::GLTF, gltf::GLB];

impl MeshFormat {
    /// The format whose extension a path has.
    pub fn of(path: impl AsRef<Path>) -> Option<Self> {
        let extension = path.as_ref().extension()?;
        let has_it = |format: &&Self| extension.eq_ignore_ascii_case(format.extension);
        MESH_FORMATS.iter().find(has_it).copied()
    }

    /// Whether it is glTF, as text or binary.
    pub(crate) fn is_gltf(self) -> bool {
        [gltf::GLTF, gltf::GLB].iter().any(|gltf| gltf.extension == self.extension)
    }
}

/// A mesh from a file, far from the origin or not.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshFile {
    /// The mesh; its positions count from `origin`.
    pub mesh: Mesh,
    /// Whole metres in the world, 0 along each axis where `f32` resolves the mesh well enough ([`crate::MAX_RESOLUTION`]) \[m\].
    pub origin: [f64; 3],
    /// Faces that have a flipped triangle.
    pub twisted: TwistedFaces,
}

/// Faces of a mesh file that could not be cut into triangles without flipping one: their sides cross, or they are concave and have
/// more than 1024 corners. They are fans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TwistedFaces {
    /// How many there are.
    pub count: usize,
    /// Line of the first one, from 1; 0 if there is none, or the file is binary.
    pub first_line: usize,
}

impl TwistedFaces {
    pub(crate) fn add(&mut self, line: usize) {
        self.first_line = if self.count == 0 { line } else { self.first_line.min(line) };
        self.count += 1;
    }
}

/// What a file holds.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) mesh: Mesh,
    /// Of every vertex, in double precision.
    pub(crate) positions: Vec<DVec3>,
    pub(crate) twisted: TwistedFaces,
}

/// How the vertices of a mesh move.
pub(crate) trait VertexMotion: std::fmt::Debug + Send + Sync {
    /// Time of the first and of the last pose that is known \[s\].
    fn span(&self) -> [f64; 2];

    /// Where all vertices are at a time \[s\]; held before the first pose and after the last.
    fn positions(&self, time: f64) -> Result<Vec<DVec3>, IoError>;
}

/// The first of so many keys, at rising times \[s\], that is after a time; their count if none is.
pub(crate) fn first_after(time: f64, count: usize, time_of: impl Fn(usize) -> f64) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if time_of(middle) <= time { low = middle + 1 } else { high = middle }
    }
    low
}

/// Reads a mesh in the format that the file's extension states, OBJ if it states none of [`MESH_FORMATS`], with what there is to
/// say about it, and so that a mesh far from the origin keeps its shape.
///
/// # Errors
/// [`IoError`] with the file and, where there is one, the line, byte or JSON path: a file that is missing, unreadable or damaged,
/// has no vertices or no faces, a coordinate that is not finite, an index out of range, or more than
/// [`poplin_model::MAX_PARTICLES`] vertices.
pub fn load_mesh(path: impl AsRef<Path>) -> Result<MeshFile, IoError> {
    let path = path.as_ref();
    let format = MeshFormat::of(path).unwrap_or(obj::MESH_FORMAT);
    (format.read)(path).map(MeshFile::from)
}

impl From<Parsed> for MeshFile {
    /// Counts positions from an origin near them, if they are far from the world's.
    fn from(Parsed { mut mesh, positions, twisted }: Parsed) -> Self {
        let origin = origin_of(&mesh, &positions);
        if origin != DVec3::ZERO {
            mesh.positions = positions.iter().map(|p| (p - origin).as_vec3().to_array()).collect();
        }
        Self { mesh, origin: origin.to_array(), twisted }
    }
}

/// Reads a whole file of no more than [`MAX_MESH_FILE`] bytes.
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
