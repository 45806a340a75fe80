//! Contact between triangles: vertex-face and edge-edge pairs of cloths and of collider surfaces.
//!
//! Broad phase: trees of boxes ([`Tree`]) over swept paths ([`Path`]). Candidate pairs
//! ([`Candidate`]) are listed for several slices; each round a cheap separating-slab test and then
//! the narrow phase pick the pairs in reach. The response pushes pairs apart with projected Jacobi
//! and then truncates moves so that nothing crosses.

mod body;
mod closest;
mod course;
mod lanes;
mod lists;
mod measure;
mod memory;
mod near;
#[cfg(feature = "testing")]
mod packed;
mod pairs;
mod path;
mod planes;
mod respond;
mod scene;
mod search;
mod slab;
mod slice;
mod solve;
mod tree;
mod untangle;

pub use crate::lanes::{LaneMask, Real};
pub use body::Body;
pub use closest::{Closest, ClosestOf, edge_edge, vertex_face};
pub use lanes::Vector;
pub use memory::{Report, TriangleContact};
pub use pairs::{Candidate, Kind};
#[cfg(feature = "testing")]
pub use path::Ranges;
pub use path::{Path, Reach};
pub use poplin_host::{Role, Surface};
pub use scene::ClothInput;
pub use tree::Tree;
