//! What poplin is judged by: strain, speed, depth in colliders, crossings and gaps of layers, measured reference cases, and
//! workloads to time. The command line, the tests and the benches all measure with this crate.

pub mod bench;
mod box_tree;
pub mod case;
pub mod conform;
pub mod depth;
pub mod entanglement;
pub mod metrics;
pub mod separation;
pub mod shape_arrays;
pub mod stage_case;
#[cfg(feature = "stages")]
pub mod stage_runner;
pub mod strain;
pub mod table;
pub mod tangle;
