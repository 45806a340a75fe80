//! The CPU side of poplin: a lane-structured mirror of the GPU kernels, which `poplin-cpu` makes wide, and an f64 oracle.
//!
//! [`stage`] mirrors `shaders/stage` function by function in the same order of arithmetic over the same packed buffers, so they
//! round alike; [`kernel`] runs the functions by the schedule of `poplin-layout`, with which a test compares the shader.
//! [`Team`] runs an interval between two barriers lane by lane in any order: orders that disagree are a race.
//! [`LaneEngine`] steps many cloths in parallel, each by one of the [`Workers`]; [`ReferenceEngine`] does so with one lane each.
//! [`oracle`] holds every constraint again in `f64`, in its plainest form.

mod colliders;
pub mod contact;
pub mod engine;
mod geometry;
mod grid;
pub mod kernel;
pub mod math;
pub mod memory;
#[cfg(feature = "oracle")]
pub mod oracle;
mod render;
pub mod stage;
pub mod team;
pub mod triangle_contact;

pub use engine::{LaneEngine, ReferenceEngine, thread_count};
pub use geometry::Cone;
pub use grid::bucket_of_cell;
pub use memory::{ClothMemory, Counters};
pub use poplin_host::{FramePart, HostCloth};
pub use poplin_layout::{Stage, StageMask};
pub use render::{DrawnParticles, render_vertices};
pub use team::{LaneOrder, Member, Parts, StageFunction, Team, Work, Workers, simulate_in_order};
