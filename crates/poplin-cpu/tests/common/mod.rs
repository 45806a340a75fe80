//! Helpers of the neighbor list tests.

use std::sync::Arc;

use poplin_model::{ClothDesc, Fabric, Particle};

/// SplitMix64 (Steele, Lea, Flood, 2014), in `-1.0..1.0`.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    pub(crate) fn point(&mut self, size: f32) -> [f32; 3] {
        [self.next(), self.next(), self.next()].map(|x| size * x)
    }
}

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
