//! A cloth: a fabric with particles and settings.

use std::sync::Arc;

use crate::error::{ModelError, check_finite, check_range, check_unused};
use crate::{ClothConfig, Colliders, Fabric, PhaseConfig, Pose};

/// One simulated cloth. Cloths cut from one [`Fabric`] share it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cloth {
    /// The constraints.
    pub fabric: Arc<Fabric>,
    /// Position \[m\] and inverse mass [1/kg] of every particle, shape `[particle_count]`; inverse mass 0 pins.
    pub particles: Vec<[f32; 4]>,
    /// Positions one iteration earlier \[m\], shape `[particle_count]`, or empty for a cloth at rest. The initial velocity
    /// is `(particles - previous_positions) / h`.
    pub previous_positions: Vec<[f32; 3]>,
    /// Acceleration of each particle on top of gravity [m/s^2], shape `[particle_count]`, or empty.
    pub particle_accelerations: Vec<[f32; 3]>,
    /// Where the cloth's local frame stands in the world at the start (default: at the origin, unturned). Particles are in
    /// local coordinates.
    pub pose: Pose,
    /// Settings.
    pub config: ClothConfig,
    /// Phases in solving order.
    pub phase_configs: Vec<PhaseConfig>,
    /// What the cloth collides with, as it stands at the start.
    pub colliders: Colliders,
}

impl Cloth {
    /// A cloth at rest with default settings: every phase of the fabric once, fully stiff.
    pub fn new(fabric: Arc<Fabric>, particles: Vec<[f32; 4]>) -> Self {
        let phase_configs = (0..fabric.phases.len() as u32).map(PhaseConfig::stiff).collect();
        Self {
            fabric,
            particles,
            previous_positions: Vec::new(),
            particle_accelerations: Vec::new(),
            pose: Pose::default(),
            config: ClothConfig::default(),
            phase_configs,
            colliders: Colliders::default(),
        }
    }

    /// Number of particles.
    pub fn particle_count(&self) -> usize {
        self.particles.len()
    }

    /// Checks the fabric, the particles, the settings, and that no set of the fabric races for these inverse masses.
    ///
    /// # Errors
    /// The first [`ModelError`] found, with its place.
    pub fn validate(&self) -> Result<(), ModelError> {
        self.fabric.validate()?;
        let expected = self.fabric.particle_count as usize;
        if self.particles.len() != expected {
            return Err(ModelError::Length { what: "cloth particles", len: self.particles.len(), expected });
        }
        check_finite("cloth particle", &self.particles)?;
        for particle in &self.particles {
            check_range("inverse mass", particle[3], 0.0, crate::MAX_COORDINATE)?;
        }
        for (what, values) in [
            ("cloth previous_positions", &self.previous_positions),
            ("cloth particle_accelerations", &self.particle_accelerations),
        ] {
            if !values.is_empty() && values.len() != expected {
                return Err(ModelError::Length { what, len: values.len(), expected });
            }
            check_finite(what, values)?;
        }
        self.config.validate()?;
        self.pose.validate()?;
        self.colliders.validate()?;
        self.validate_phase_configs(&self.phase_configs)?;
        self.validate_config(&self.config)?;
        self.fabric.validate_sets(|particle| self.particles[particle as usize][3])
    }

    /// Checks that every particle acceleration is finite.
    ///
    /// # Errors
    /// [`ModelError::NotFinite`] with the particle.
    pub fn validate_accelerations(&self) -> Result<(), ModelError> {
        check_finite("cloth particle_accelerations", &self.particle_accelerations)
    }

    /// Checks phase settings against this cloth's fabric.
    ///
    /// # Errors
    /// [`ModelError`] that names the field.
    pub fn validate_phase_configs(&self, configs: &[PhaseConfig]) -> Result<(), ModelError> {
        configs.iter().try_for_each(|config| config.validate(self.fabric.phases.len()))?;
        configs.iter().try_for_each(|config| config.validate_solver(self.config.solver))
    }

    /// Checks settings against this cloth's fabric and phases: what the solver would not read must have its default.
    ///
    /// # Errors
    /// [`ModelError`] that names the field.
    pub fn validate_config(&self, config: &ClothConfig) -> Result<(), ModelError> {
        config.validate()?;
        if config.solver.is_xpbd()
            && let Some(&value) = self.fabric.edge_stiffness_log2.first()
        {
            let (field, needs) = ("fabric edge_stiffness_log2", "solver pbd");
            return Err(ModelError::Unused { field, value, default: 0.0, needs });
        }
        if config.bending_rigidity > 0.0 && self.fabric.bends.is_empty() {
            check_unused("bending_rigidity", config.bending_rigidity, 0.0, "bends in the fabric (cook it with `bends`)")?;
        }
        self.phase_configs.iter().try_for_each(|phase| phase.validate_solver(config.solver))
    }

    /// Checks a write of particles (position and working inverse mass) during the simulation.
    ///
    /// # Errors
    /// [`ModelError`] if the lengths differ, an index is out of range, a number is not finite, or a pinned particle is
    /// given mass.
    pub fn validate_write(&self, indices: &[u32], particles: &[[f32; 4]]) -> Result<(), ModelError> {
        if indices.len() != particles.len() {
            return Err(ModelError::Length { what: "written particles", len: particles.len(), expected: indices.len() });
        }
        crate::error::check_indices("written particle", indices.iter().copied(), self.particles.len())?;
        check_finite("written particle", particles)?;
        for (&particle, value) in indices.iter().zip(particles) {
            check_range("inverse mass", value[3], 0.0, crate::MAX_COORDINATE)?;
            if self.particles[particle as usize][3] == 0.0 && value[3] > 0.0 {
                return Err(ModelError::PinnedParticle { particle, inverse_mass: value[3] });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Phase, PhaseKind};

    fn cloth() -> Cloth {
        let fabric = Fabric {
            particle_count: 2,
            phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
            set_fiber_begin: vec![0, 1],
            fiber_edge_begin: vec![0, 1],
            fiber_vertices: vec![0, 1],
            rest_lengths: vec![1.0],
            ..Default::default()
        };
        Cloth::new(Arc::new(fabric), vec![[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    }

    #[test]
    fn a_default_cloth_is_valid() {
        cloth().validate().unwrap();
    }

    #[test]
    fn every_kind_of_damage_is_refused() {
        let broken: [fn(&mut Cloth); 9] = [
            |c| c.particles.pop().map(|_| ()).unwrap(),
            |c| c.particles[1][0] = f32::INFINITY,
            |c| c.particles[1][3] = -1.0,
            |c| c.previous_positions = vec![[0.0; 3]],
            |c| c.particle_accelerations = vec![[f32::NAN; 3]; 2],
            |c| c.config.solver_frequency = 0.0,
            |c| c.config.damping[2] = f32::NAN,
            |c| c.phase_configs[0].phase = 1,
            |c| c.phase_configs[0].stretch_limit = 0.5,
        ];
        for (index, damage) in broken.iter().enumerate() {
            let mut cloth = cloth();
            damage(&mut cloth);
            assert!(cloth.validate().is_err(), "damage {index} went unnoticed");
        }
    }

    #[test]
    fn writes_may_move_pins_but_not_free_them() {
        let cloth = cloth();
        cloth.validate_write(&[0], &[[5.0, 0.0, 0.0, 0.0]]).unwrap();
        assert_eq!(
            cloth.validate_write(&[0], &[[5.0, 0.0, 0.0, 1.0]]).unwrap_err(),
            ModelError::PinnedParticle { particle: 0, inverse_mass: 1.0 }
        );
        assert!(cloth.validate_write(&[2], &[[0.0; 4]]).is_err());
        assert!(cloth.validate_write(&[0, 1], &[[0.0; 4]]).is_err());
    }
}
