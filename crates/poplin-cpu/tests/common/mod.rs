//! Helpers of the neighbor list tests.

use std::sync::Arc;

use poplin_model::{ClothDesc, Fabric, Particle};

/// Cloth of unconnected particles.
pub(crate) fn loose(particles: impl Iterator<Item = [f32; 4]>) -> ClothDesc {
    let particles: Vec<Particle> = particles.map(Particle::from).collect();
    let fabric = Fabric {
        particle_count: particles.len() as u32,
        set_fiber_begin: vec![0],
        fiber_edge_begin: vec![0],
        ..Fabric::default()
    };
    ClothDesc::new(Arc::new(fabric), particles)
}
