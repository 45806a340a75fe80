//! The rows of scratch in which the kernel sums up the impulses on rigid bodies.

/// Particles whose impulses on bodies are summed by one lane: [`chunk_count`].
pub const CHUNK: u32 = 16;

/// Rows that the kernel keeps for each body over a frame, in front of the rows of the chunks.
pub const BODY_ROWS: u32 = 3;

/// Rows that each chunk of particles has for each body.
pub const CHUNK_ROWS: u32 = 2;

/// Chunks of [`CHUNK`] particles.
pub fn chunk_count(particle_count: u32) -> u32 {
    particle_count.div_ceil(CHUNK)
}
