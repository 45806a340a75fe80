//! Contact of triangles: vertices against faces and edges against edges, of cloths and of the surfaces of colliders.

mod body;
mod closest;
mod memory;
mod near;
#[cfg(feature = "testing")]
mod packed;
mod pairs;
mod scene;
mod solve;
mod tree;
mod untangle;

pub use body::Body;
pub use closest::{Closest, edge_edge, vertex_face};
pub use memory::{Report, TriangleContact};
pub use pairs::{Candidate, Kind};
pub use poplin_host::{Role, Surface};
pub use scene::ClothInput;
#[cfg(feature = "testing")]
pub use tree::Ranges;
pub use tree::{Path, Reach, Tree};
