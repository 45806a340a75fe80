//! Twins of `shaders/kernel`.

mod simulate_cloth;

pub use simulate_cloth::{fetch_counters, flush_counters, run_iterations, simulate_cloth};
