//! Errors of mesh files and point caches.

use std::fmt;
use std::path::{Path, PathBuf};

use poplin_model::ModelError;
use thiserror::Error;

/// Position in a file.
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

/// Error of reading or writing a file. Each message says what is wrong, where, and the limit.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IoError {
    /// The file could not be opened for reading.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file was opened but could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file could not be created or written, for example because the disk is full.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A mesh file in a common format that is not read.
    #[error("{}: {name} is not read: export OBJ, PLY, STL or glTF", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Name of the format.
        name: &'static str,
    },
    /// A mesh file with a byte that is not text.
    #[error("{}:{line}: this is not an OBJ text file", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A line of a mesh file, with its continuation lines, over the length limit.
    #[error("{}:{line}: this line is longer than {limit} bytes", path.display())]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Maximum length of a line \[bytes\].
        limit: usize,
    },
    /// A line of a mesh file that cannot be parsed.
    #[error("{}:{line}: cannot read `{text}`; expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The line's text, shortened.
        text: String,
        /// Expected form of the line.
        expected: &'static str,
    },
    /// A face with the index of a vertex or texture coordinate that the file does not have.
    #[error(
        "{}:{line}: the face uses {element} {index}, but {}",
        path.display(),
        if *index == 0 { "they count from 1".to_owned() } else { format!("there are only {count}") }
    )]
    IndexOutOfRange {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Kind of the indexed element.
        element: &'static str,
        /// The index as written: from 1, or negative to count back from the line.
        index: i64,
        /// Number of elements.
        count: usize,
    },
    /// Part of a mesh file that its format does not allow.
    #[error("{}{position}: {found}; expected {expected}", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// Position in the file.
        position: FilePosition,
        /// Content found there.
        found: String,
        /// Expected content.
        expected: String,
    },
    /// A coordinate that is NaN, infinite, or beyond [`poplin_model::MAX_COORDINATE`].
    #[error("{}:{line}: {element} {index} has the coordinate {value:?}, which is not a finite number below {:e}", path.display(), poplin_model::MAX_COORDINATE)]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Kind of the element with the coordinate.
        element: &'static str,
        /// Its index in the file, from 1.
        index: usize,
        /// The coordinate.
        value: f32,
    },
    /// A count above its limit.
    #[error("{}: {what}: {count} is more than the limit {limit}", path.display())]
    TooMany {
        /// The file.
        path: PathBuf,
        /// Name of the counted elements.
        what: &'static str,
        /// Count, or a lower bound of it.
        count: usize,
        /// Limit of the count.
        limit: usize,
    },
    /// A file without a required part.
    #[error("{}: the file has no {what}", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Name of the missing part.
        what: &'static str,
    },
    /// A mesh that is not valid.
    #[error("{}: {source}", path.display())]
    Mesh {
        /// The file.
        path: PathBuf,
        /// Cause of the error.
        source: ModelError,
    },
    /// A frame whose vertex count differs from that of its point cache.
    #[error("{}: frame {frame} has {vertex_count} vertices; the cache has {expected}", path.display())]
    FrameLength {
        /// The file.
        path: PathBuf,
        /// The frame, from 0.
        frame: u32,
        /// Vertices of the frame.
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
        /// Allowed values.
        expected: &'static str,
    },
    /// A file that does not start with a point cache header.
    #[error("{}: this is not a PC2 point cache (no POINTCACHE2 header of 32 bytes)", path.display())]
    NotACache {
        /// The file.
        path: PathBuf,
    },
    /// A point cache whose header states more frames than the file has.
    #[error("{}: the header announces {declared} frames, but the file holds {held}", path.display())]
    CacheTruncated {
        /// The file.
        path: PathBuf,
        /// Frames according to the header.
        declared: u32,
        /// Whole frames in the file.
        held: u64,
    },
    /// A position of a point cache that is NaN, infinite or beyond
    /// [`poplin_model::MAX_COORDINATE`].
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
    /// A point cache whose vertex count differs from that of its mesh.
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
    /// An unknown frame format.
    #[error("there is no frame format `{name}`; expected one of {known}")]
    UnknownFormat {
        /// The name.
        name: String,
        /// Known names.
        known: String,
    },
}

impl IoError {
    /// Rejects a frame whose vertex count differs from that of the file.
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

    /// Returns a closure for `map_err` that adds the path to a write error.
    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Write { path: path.to_path_buf(), source }
    }

    /// Returns a closure for `map_err` that adds the path to a read error.
    pub fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Read { path: path.to_path_buf(), source }
    }

    /// Returns a closure for `map_err` that adds the path to an open error.
    pub fn open(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Open { path: path.to_path_buf(), source }
    }
}
