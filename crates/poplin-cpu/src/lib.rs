//! CPU backend: the stages of `poplin-reference` in SIMD lanes. A lane holds a fiber or a particle
//! of one cloth, or one of several cloths that share a fabric. The loops of a large cloth are split
//! over several threads.
//!
//! Every wide stage performs the operations of its reference version in the same order in every
//! lane, without fused multiply-add, so that results are bit-identical on every instruction set. A
//! stage without a wide form runs its reference version, item by item. SIMD comes from
//! `fearless_simd`: SSE2, SSE4.2, AVX2 and AVX-512 are chosen at run time, NEON and WebAssembly's
//! `simd128` at compile time.

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

/// CPU engine: simulates many cloths in parallel, in SIMD lanes.
pub type CpuEngine = poplin_reference::LaneEngine<WideTeam>;
