//! Velocities of particles whose positions are set.

use poplin_model::{ModelError, Particle, check_finite};

/// Motion of the particles that [`Engine::set_particles`](crate::Engine::set_particles) sets.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum ParticleMotion<'a> {
    /// Particles at rest in the local space.
    #[default]
    Rest,
    /// Velocities, local axes [m/s], shape `[particle_count]`.
    Velocities(&'a [[f32; 3]]),
    /// Positions one iteration ago \[m\], shape `[particle_count]`, as in
    /// [`ClothDesc`](poplin_model::ClothDesc).
    PreviousPositions(&'a [[f32; 3]]),
}

impl ParticleMotion<'_> {
    /// Computes the positions one iteration of `step` seconds ago, with the user's inverse masses.
    pub(crate) fn previous(
        self,
        particles: &[Particle],
        masses: impl Iterator<Item = f32>,
        step: f32,
    ) -> Result<Vec<Particle>, ModelError> {
        let (what, values) = match self {
            Self::Rest => ("velocities", &[][..]),
            Self::Velocities(values) => ("velocities", values),
            Self::PreviousPositions(values) => ("previous positions", values),
        };
        let expected = if self == Self::Rest { 0 } else { particles.len() };
        if values.len() != expected {
            return Err(ModelError::Length { what, len: values.len(), expected });
        }
        check_finite(what, values)?;
        let before = |(index, particle): (usize, &Particle)| match self {
            Self::Rest => particle.position,
            Self::Velocities(velocities) => {
                let ([x, y, z], v) = (particle.position, velocities[index]);
                // x_previous = x - v h
                [x - v[0] * step, y - v[1] * step, z - v[2] * step]
            }
            Self::PreviousPositions(positions) => positions[index],
        };
        let positions: Vec<_> = particles.iter().enumerate().map(before).collect();
        check_finite(what, &positions)?;
        let particle = |(position, inverse_mass)| Particle { position, inverse_mass };
        Ok(positions.into_iter().zip(masses).map(particle).collect())
    }
}
