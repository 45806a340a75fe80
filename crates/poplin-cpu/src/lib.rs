//! Internal crate of [poplin](https://docs.rs/poplin), no API of its own: depend on `poplin`.
//!
//! CPU backend. [`stage`] mirrors `shaders/stage` function by function with the same order of
//! arithmetic on the same packed buffers, so both round alike. A stage is written once, generic
//! over the number of lanes: [`Team`] runs it in one lane, the twin of the kernel, and runs the
//! items between two barriers in any order: orders with different results reveal a race.
//! [`WideTeam`] runs it in SIMD lanes, over several items or cloths at a time. [`kernel`] walks the
//! schedule of `poplin-layout`, from which the shader's loops are generated, too.
//!
//! Every lane performs the same operations in the same order, without fused multiply-add, so that
//! results are bit-identical on every instruction set. SIMD comes from `fearless_simd`: SSE2,
//! SSE4.2, AVX2 and AVX-512 are chosen at run time, NEON and WebAssembly's `simd128` at compile
//! time.

mod colliders;
pub mod contact;
pub mod engine;
mod fibers;
mod floats;
mod geometry;
mod grid;
pub mod kernel;
mod lanes;
pub mod math;
pub mod memory;
pub mod multilevel;
mod particles;
mod render;
mod shapes;
pub mod stage;
pub mod team;
mod transpose;
pub mod triangle_contact;
mod vector;
mod wide;

pub use engine::{LaneEngine, ReferenceEngine, thread_count};
pub use grid::bucket_of_cell;
pub use memory::{ClothMemory, Counters, Solves};
pub use poplin_host::{FramePart, HostCloth};
pub use poplin_layout::{Stage, StageMask};
pub use render::{DrawnParticles, render_vertices};
pub use team::{LaneOrder, Member, Parts, StageFunction, Team, Work, Workers, simulate_in_order};
pub use wide::{ContactLists, Neighbors, WideTeam};

/// CPU engine: simulates many cloths in parallel, in SIMD lanes.
pub type CpuEngine = LaneEngine<WideTeam>;
