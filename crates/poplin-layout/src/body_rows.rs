//! Rows of scratch in which the kernel sums the impulses on rigid bodies.

use crate::CHUNK;

/// Number of chunks of [`CHUNK`] particles.
pub fn chunk_count(particle_count: u32) -> u32 {
    particle_count.div_ceil(CHUNK)
}
