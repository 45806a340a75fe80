//! Test tools of poplin: adapters, comparators, seeded scenes. Not part of any release.

pub mod adapter;
pub mod beams;
pub mod compare;
pub mod crossing_scene;
pub mod fibers;
pub mod fused;
pub mod fuzz;
pub mod generated;
mod ids;
pub mod implicit;
pub mod inputs;
pub mod scenes;
mod scratch;
pub mod skip;
pub mod triangles;

pub use ids::nth_cloth;
pub use scratch::Scratch;
