//! Contact of triangles: vertices against faces and edges against edges, of cloths and of the surfaces of colliders.

mod body;
mod closest;
mod course;
mod lanes;
mod measure;
mod memory;
mod near;
#[cfg(feature = "testing")]
mod packed;
mod pairs;
mod respond;
mod scene;
mod slab;
mod solve;
mod tree;
mod untangle;

pub use body::Body;
pub use closest::{Closest, ClosestOf, edge_edge, vertex_face};
pub use lanes::{Real, Vector};
pub use memory::{Report, TriangleContact};
pub use pairs::{Candidate, Kind};
pub use poplin_host::{Role, Surface};
pub use scene::ClothInput;
#[cfg(feature = "testing")]
pub use tree::Ranges;
pub use tree::{Path, Reach, Tree};
