//! What can go wrong with mesh files, point caches and pictures.

use std::fmt;
use std::path::{Path, PathBuf};

use poplin_model::ModelError;
use thiserror::Error;

/// Where in a file something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePosition {
    /// A line of a text, from 1.
    Line(usize),
    /// A byte of a binary file, from 0.
    Byte(usize),
    /// A value of a JSON text, such as `meshes[0].primitives[1]`.
    Json(String),
}

impl fmt::Display for FilePosition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(out, ":{line}"),
            Self::Byte(byte) => write!(out, ", byte {byte}"),
            Self::Json(path) => write!(out, ", {path}"),
        }
    }
}

/// Why a file could not be read or written. Each message says what, where and the limit.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IoError {
    /// The file could not be opened for reading.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file was opened but could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The file could not be created or written, for example because the disk is full.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A mesh file with a byte that no text has.
    #[error("{}:{line}: this is not an OBJ text file", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A line of a mesh file, with those that continue it, that is longer than any real one.
    #[error("{}:{line}: this line is longer than {limit} bytes", path.display())]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Most bytes of a line.
        limit: usize,
    },
    /// A line of a mesh file that cannot be understood.
    #[error("{}:{line}: cannot read `{text}`; expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The line's text, shortened.
        text: String,
        /// What was expected there.
        expected: &'static str,
    },
    /// A face that points at a vertex or texture coordinate which the file does not have.
    #[error("{}:{line}: the face uses {element} {index}, but there are only {count}", path.display())]
    IndexOutOfRange {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What the index points at.
        element: &'static str,
        /// The index as written: from 1, or negative to count back from the line.
        index: i64,
        /// How many there are.
        count: usize,
    },
    /// Something in a mesh file that is not as its format has it.
    #[error("{}{position}: {found}; expected {expected}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// Where in it.
        position: FilePosition,
        /// What is there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// A coordinate that is NaN, infinite, or beyond [`poplin_model::MAX_COORDINATE`].
    #[error("{}:{line}: {element} {index} has the coordinate {value:?}, which is not a finite number below {:e}", path.display(), poplin_model::MAX_COORDINATE)]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What has the coordinate.
        element: &'static str,
        /// Its index in the file, from 1.
        index: usize,
        /// The coordinate.
        value: f32,
    },
    /// More of something than is accepted.
    #[error("{}: {what}: {count} is more than the limit {limit}", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
        /// What is counted.
        what: &'static str,
        /// How many there are, at least.
        count: usize,
        /// How many may be.
        limit: usize,
    },
    /// A file without something it must have.
    #[error("{}: the file has no {what}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// A mesh that is not valid.
    #[error("{}: {source}", path.display())]
    Mesh {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ModelError,
    },
    /// A frame with another vertex count than its point cache.
    #[error("{}: frame {frame} has {vertex_count} vertices; the cache has {expected}", path.display())]
    FrameLength {
        /// The file.
        path: PathBuf,
        /// The frame, from 0.
        frame: u32,
        /// Vertices passed.
        vertex_count: usize,
        /// Vertices of every frame of the cache.
        expected: usize,
    },
    /// A header field of a point cache outside its range.
    #[error("{}: point cache {field} is {value}; expected {expected}", path.display())]
    CacheField {
        /// The file.
        path: PathBuf,
        /// The header field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// What it may be.
        expected: &'static str,
    },
    /// A file that does not begin like a point cache.
    #[error("{}: this is not a PC2 point cache (no POINTCACHE2 header of 32 bytes)", path.display())]
    NotACache {
        /// The file.
        path: PathBuf,
    },
    /// A point cache that announces more frames than it holds.
    #[error("{}: the header announces {declared} frames, but the file holds {held}", path.display())]
    CacheTruncated {
        /// The file.
        path: PathBuf,
        /// Frames according to the header.
        declared: u32,
        /// Whole frames in the file.
        held: u64,
    },
    /// A position of a point cache that is NaN, infinite or beyond [`poplin_model::MAX_COORDINATE`].
    #[error("{}: sample {sample}, vertex {vertex} is at {position:?}; expected finite numbers below {:e}", path.display(), poplin_model::MAX_COORDINATE)]
    CachePosition {
        /// The file.
        path: PathBuf,
        /// The sample, from 0.
        sample: usize,
        /// The vertex, from 0.
        vertex: usize,
        /// Its position.
        position: [f32; 3],
    },
    /// A point cache of other vertices than the mesh that it is to move.
    #[error("{}: the point cache has {vertex_count} vertices; {} has {expected}", path.display(), mesh.display())]
    CacheVertices {
        /// The file.
        path: PathBuf,
        /// Vertices of each of its samples.
        vertex_count: usize,
        /// The file of the mesh.
        mesh: PathBuf,
        /// Vertices of the mesh.
        expected: usize,
    },
    /// A format of frames that is not known.
    #[error("there is no frame format `{name}`; expected one of {known}")]
    UnknownFormat {
        /// The name.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// A contact sheet of an impossible size.
    #[error(
        "a contact sheet of {columns} x {rows} tiles of {tile_size} pixels is outside 1..={max_tiles} tiles per side and {min_tile}..={max_tile} pixels"
    )]
    SheetSize {
        /// Tiles in a row.
        columns: u32,
        /// Rows of tiles.
        rows: u32,
        /// Side of a tile in pixels.
        tile_size: u32,
        /// Most tiles per side.
        max_tiles: u32,
        /// Smallest tile.
        min_tile: u32,
        /// Largest tile.
        max_tile: u32,
    },
    /// More moments than the contact sheet has tiles.
    #[error("the contact sheet is full: it has {capacity} tiles")]
    SheetFull {
        /// Count of tiles.
        capacity: usize,
    },
    /// The PNG encoder rejected the picture.
    #[error("cannot write {}: {source}", path.display())]
    Png {
        /// The file.
        path: PathBuf,
        /// What the encoder said.
        source: png::EncodingError,
    },
    /// A picture that cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    PngRead {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl IoError {
    /// Refuses a frame of another vertex count than the file's.
    pub(crate) fn check_frame(
        path: &Path,
        frame: u32,
        [vertex_count, expected]: [usize; 2],
    ) -> Result<(), Self> {
        if vertex_count == expected {
            return Ok(());
        }
        Err(Self::FrameLength { path: path.to_path_buf(), frame, vertex_count, expected })
    }

    /// Makes a closure for `map_err` that adds the path to a write error.
    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Write { path: path.to_path_buf(), source }
    }

    /// Makes a closure for `map_err` that adds the path to a read error.
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Read { path: path.to_path_buf(), source }
    }

    /// Makes a closure for `map_err` that adds the path to an open error.
    pub(crate) fn open(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Open { path: path.to_path_buf(), source }
    }
}
