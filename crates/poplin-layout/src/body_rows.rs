//! The rows of scratch in which the kernel sums up the impulses on rigid bodies.

use poplin_model::BodyImpulse;

use crate::{BODY_ROWS, CHUNK, Feedback};

/// Chunks of [`CHUNK`] particles.
pub fn chunk_count(particle_count: u32) -> u32 {
    particle_count.div_ceil(CHUNK)
}

/// The impulses of a frame on bodies, from the rows that the kernel left (the host says which of the cloth's scratch); none if the cloth
/// was not simulated, because it sleeps or is frozen.
pub fn body_impulses(rows: &[[f32; 4]], feedback: &Feedback) -> Vec<BodyImpulse> {
    let xyz = |[x, y, z, _]: [f32; 4]| [x, y, z];
    let impulse = |[linear, angular, _]: &[[f32; 4]; BODY_ROWS as usize]| BodyImpulse {
        linear: xyz(*linear),
        angular: xyz(*angular),
        contact_count: linear[3] as u32,
    };
    let is_simulated = feedback.is_asleep == 0 && feedback.fault_count == 0;
    rows.as_chunks().0.iter().filter(|_| is_simulated).map(impulse).collect()
}
