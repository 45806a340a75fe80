//! Errors of pictures.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Error of drawing, reading or writing a picture. Each message says what is wrong, where, and the
/// limit.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The file could not be opened for reading.
    #[error("cannot open {}: {source}", path.display())]
    Open {
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
    /// A contact sheet with a size out of range.
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
        /// Maximum number of tiles per side.
        max_tiles: u32,
        /// Minimum side of a tile in pixels.
        min_tile: u32,
        /// Maximum side of a tile in pixels.
        max_tile: u32,
    },
    /// More moments than the contact sheet has tiles.
    #[error("the contact sheet is full: it has {capacity} tiles")]
    SheetFull {
        /// Number of tiles.
        capacity: usize,
    },
    /// A moment of a reel whose vertex count differs from that of the first.
    #[error("{}: moment {moment} has {vertex_count} vertices; the first has {expected}", path.display())]
    MomentLength {
        /// The file.
        path: PathBuf,
        /// The moment, from 0.
        moment: usize,
        /// Vertices of the moment.
        vertex_count: usize,
        /// Vertices of the first moment.
        expected: usize,
    },
    /// A reel without a moment.
    #[error("{}: the file has no moments", path.display())]
    NoMoments {
        /// The file.
        path: PathBuf,
    },
    /// The PNG encoder rejected the picture.
    #[error("cannot write {}: {source}", path.display())]
    Png {
        /// The file.
        path: PathBuf,
        /// Error of the encoder.
        source: png::EncodingError,
    },
    /// A picture that cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    PngRead {
        /// The file.
        path: PathBuf,
        /// Cause of the error.
        reason: String,
    },
}

impl PictureError {
    /// Returns a closure for `map_err` that adds the path to a write error.
    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Write { path: path.to_path_buf(), source }
    }

    /// Returns a closure for `map_err` that adds the path to an open error.
    pub(crate) fn open(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Open { path: path.to_path_buf(), source }
    }
}
