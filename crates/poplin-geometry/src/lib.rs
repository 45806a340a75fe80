//! Geometry of poplin. An internal crate without a stable API.
//!
//! Each algorithm has one implementation here, which every other crate uses. Lengths are in meters.

mod rng;

pub use rng::{Rng, split_mix};
