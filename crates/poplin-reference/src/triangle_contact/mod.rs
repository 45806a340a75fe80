//! Contact of triangles: vertices against faces and edges against edges, of cloths and of the surfaces of colliders.

mod body;
mod closest;
mod memory;
#[cfg(feature = "testing")]
mod packed;
mod pairs;
mod scene;
mod solve;
mod tree;
mod untangle;
mod weld;

pub use body::{Body, Role, Surface};
pub use closest::{Closest, edge_edge, vertex_face};
pub use memory::{Report, TriangleContact};
pub use pairs::{Candidate, Kind};
pub use scene::ClothInput;
pub use tree::{Path, Reach, Tree};
