//! CPU backend: every stage in SIMD lanes, parallel over cloths and within large ones. Results are
//! bit-identical on every instruction set and for every number of threads.

pub use poplin_cpu::{CpuEngine, DrawnParticles, WideTeam, render_vertices, thread_count};
