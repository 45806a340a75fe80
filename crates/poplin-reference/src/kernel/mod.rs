//! Twins of `shaders/kernel`.

mod simulate_cloth;

pub use simulate_cloth::simulate_cloth;
