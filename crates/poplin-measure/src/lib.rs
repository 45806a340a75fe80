//! Measurements: strain, speed, depth in colliders, crossings and distances of layers, reference
//! cases, benchmark workloads, and the self-check of a GPU. The command line, the tests and the
//! benches share this crate.

pub mod bench;
pub mod case;
pub mod conform;
pub mod depth;
pub mod doctor;
pub mod entanglement;
pub mod metrics;
pub mod separation;
pub mod shape_arrays;
pub mod shipped;
pub mod stage_case;
#[cfg(feature = "stages")]
pub mod stage_runner;
pub mod strain;
pub mod table;
pub mod tangle;
