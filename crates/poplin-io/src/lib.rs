//! Files of the poplin cloth engine: reading of meshes, writing of frames.
//!
//! - [`load_mesh`] reads meshes in every format of [`MESH_FORMATS`]; [`read_obj`] and [`write_obj`]
//!   exchange OBJ files with modelling tools.
//! - [`FRAME_FORMATS`] lists the formats of simulated frames; each creates a [`FrameSink`].
//! - [`PointCacheWriter`] streams a simulation to a cache that Blender and other programs play
//!   back; [`PointCache`] reads it.
//! - [`load_animated_mesh`] and [`CacheMotion`] read meshes that move vertex by vertex.
//!
//! Units are SI. All files are checked: errors name the file, the line, byte or field, and the
//! limit.

mod array_file;
mod error;
mod far;
mod frames;
mod gltf;
mod mesh_file;
mod obj;
mod ply;
mod polygon;
mod stl;
mod text;
mod weld;

pub use array_file::{ArrayFile, Precision};
pub use error::{FilePosition, IoError};
pub use far::{MAX_RESOLUTION, origin_of};
pub use frames::{
    CacheMotion, CreateFrameSink, FRAME_FORMATS, FrameFormat, FrameSink, FrameSource, PointCache,
    PointCacheWriter, remove_frames,
};
pub use gltf::{AnimationChoice, load_animated_mesh};
pub use mesh_file::{
    MAX_MESH_FILE, MESH_FORMATS, MeshFile, MeshFormat, TwistedFaces, VertexMotion, is_mesh_name,
    load_mesh, other_files_of_mesh,
};
pub use obj::{read_obj, write_joined_obj, write_obj};
pub use poplin_geometry::vertex_normals;
