//! Particles of a cloth.

use bytemuck::{Pod, Zeroable};

/// A particle of a cloth. In memory it is a row of four numbers, the `vec4<f32>` of shaders.
#[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
#[repr(C)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Particle {
    /// Position \[m\], magnitude at most [`MAX_COORDINATE`](crate::MAX_COORDINATE).
    pub position: [f32; 3],
    /// Inverse mass [1/kg], `0..=1e15`; 0 pins the particle.
    pub inverse_mass: f32,
}

impl Particle {
    /// Views particles as rows of position and inverse mass, in the same memory.
    pub fn rows(particles: &[Self]) -> &[[f32; 4]] {
        bytemuck::cast_slice(particles)
    }

    /// Views rows of position and inverse mass as particles, in the same memory.
    pub fn from_rows(rows: &[[f32; 4]]) -> &[Self] {
        bytemuck::cast_slice(rows)
    }

    /// True if the particle is pinned: its inverse mass is 0.
    pub fn is_pinned(&self) -> bool {
        self.inverse_mass == 0.0
    }
}

impl From<[f32; 4]> for Particle {
    fn from([x, y, z, inverse_mass]: [f32; 4]) -> Self {
        Self { position: [x, y, z], inverse_mass }
    }
}

impl From<Particle> for [f32; 4] {
    fn from(particle: Particle) -> Self {
        let [x, y, z] = particle.position;
        [x, y, z, particle.inverse_mass]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_and_rows_share_their_layout() {
        let rows = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 0.0]];
        let particles = rows.map(Particle::from);
        assert_eq!((particles[0].position, particles[0].inverse_mass), ([1.0, 2.0, 3.0], 4.0));
        assert_eq!(particles.map(|particle| particle.is_pinned()), [false, true]);
        assert_eq!(particles.map(<[f32; 4]>::from), rows);
        assert_eq!(Particle::rows(&particles), rows);
        assert_eq!(Particle::from_rows(&rows), particles);
    }
}
