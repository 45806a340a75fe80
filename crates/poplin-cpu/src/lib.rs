//! The CPU backend: the stages of `poplin-reference` in SIMD lanes, over the fibers or particles of one cloth or over cloths of
//! one fabric; the loops of a large cloth are split over several threads.
//!
//! Every wide stage does the operations of its twin in the same order in every lane, without fused multiply-add, so that its
//! results are the twin's, bit for bit, with any instructions. A stage without a wide form runs as its twin does, item by item.
//! SIMD comes from `fearless_simd`: SSE2, SSE4.2, AVX2 and AVX-512 are chosen at run time, NEON and WebAssembly's `simd128`
//! when compiling.

mod cloths;
mod contact;
mod lanes;
mod near;
mod split;
mod stage;
mod team;
mod vector;

pub use contact::ContactLists;
pub use poplin_reference::{DrawnParticles, render_vertices, thread_count};
pub use stage::self_collide::Neighbors;
pub use team::WideTeam;

/// The CPU engine: many cloths in parallel, in SIMD lanes.
pub type CpuEngine = poplin_reference::LaneEngine<WideTeam>;
