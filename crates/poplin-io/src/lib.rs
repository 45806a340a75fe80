//! Files of the poplin cloth engine: OBJ meshes in, frames and contact-sheet pictures out, and scene files.
//!
//! - [`read_obj`] and [`write_obj`] exchange meshes with modelling tools.
//! - [`FRAME_FORMATS`] are the formats of simulated frames; each yields a [`FrameSink`].
//! - [`PointCacheWriter`] streams a simulation to a cache that Blender and others play back; [`PointCache`] reads it.
//! - [`picture`] draws moments of a simulation into one PNG without a GPU.
//! - [`scene`] reads TOML scene files: cloths, pins, settings, colliders, animation.
//!
//! Units are SI. Nothing here trusts a file: every error names the file, the line or field, and the limit.

mod array_file;
mod error;
mod far;
mod frame_format;
mod npy;
mod obj;
pub mod picture;
mod point_cache;
mod polygon;
pub mod scene;
mod split_mix;

pub use array_file::{ArrayFile, Precision};
pub use error::IoError;
pub use far::MAX_RESOLUTION;
pub use frame_format::{CreateFrameSink, FRAME_FORMATS, FrameFormat, FrameSink};
pub use obj::{ObjMesh, TwistedFaces, load_obj, read_obj, write_joined_obj, write_obj};
pub use point_cache::{PointCache, PointCacheWriter};
