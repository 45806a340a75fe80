//! CPU side of poplin: a lane-structured twin of the GPU kernels, which `poplin-cpu` vectorizes,
//! and an f64 oracle.
//!
//! [`stage`] mirrors `shaders/stage` function by function with the same order of arithmetic on the
//! same packed buffers, so both round alike. [`kernel`] runs these functions by the
//! schedule of `poplin-layout`, which a test compares with the shader. [`Team`] runs the interval
//! between two barriers lane by lane in any order: orders with different results reveal a race.
//! [`LaneEngine`] steps many cloths in parallel, each by one of the [`Workers`];
//! [`ReferenceEngine`] uses one lane per cloth. [`oracle`] implements every constraint a second
//! time in `f64`, in its plainest form.

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
