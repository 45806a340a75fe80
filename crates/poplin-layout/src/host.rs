//! The host side of a cloth, the same for both backends: its settings and its clock.

use poplin_model::{Cloth, ClothConfig, Frame, ModelError, PhaseConfig};

use crate::{ClothPlacement, FrameArrays, FrameClock, MAX_ITERATIONS_PER_FRAME, StageMask, pack_cloth_frame};

/// A validated cloth with what the host remembers between frames.
#[derive(Debug, Clone)]
pub struct HostCloth {
    cloth: Cloth,
    clock: FrameClock,
}

impl HostCloth {
    /// Takes a cloth into simulation.
    ///
    /// # Errors
    /// [`ModelError`] if [`Cloth::validate`] refuses it.
    pub fn new(cloth: Cloth) -> Result<Self, ModelError> {
        cloth.validate()?;
        Ok(Self { cloth, clock: FrameClock::default() })
    }

    /// The cloth as it was added, with its present settings.
    pub fn cloth(&self) -> &Cloth {
        &self.cloth
    }

    /// Replaces the settings from the next frame on.
    ///
    /// # Errors
    /// [`ModelError`] if a field is out of range; the old settings stay.
    pub fn set_config(&mut self, config: ClothConfig) -> Result<(), ModelError> {
        config.validate()?;
        self.cloth.config = config;
        Ok(())
    }

    /// Replaces the phases and their order from the next frame on.
    ///
    /// # Errors
    /// [`ModelError`] if a phase does not exist or a field is out of range; the old phases stay.
    pub fn set_phase_configs(&mut self, configs: &[PhaseConfig]) -> Result<(), ModelError> {
        self.cloth.validate_phase_configs(configs)?;
        self.cloth.phase_configs = configs.to_vec();
        Ok(())
    }

    /// Current particles as the kernel starts with them: position and inverse mass.
    pub fn initial_current(&self) -> &[[f32; 4]] {
        &self.cloth.particles
    }

    /// Previous particles as the kernel starts with them; their inverse mass is the user's and never changes.
    pub fn initial_previous(&self) -> Vec<[f32; 4]> {
        let mut previous = self.cloth.particles.clone();
        for (particle, &[x, y, z]) in previous.iter_mut().zip(&self.cloth.previous_positions) {
            *particle = [x, y, z, particle[3]];
        }
        previous
    }

    /// Accelerations as `input_pool` holds them; empty if the cloth has none.
    pub fn packed_accelerations(&self) -> Vec<[f32; 4]> {
        self.cloth.particle_accelerations.iter().map(|&[x, y, z]| [x, y, z, 0.0]).collect()
    }

    /// Replaces the accelerations.
    ///
    /// # Errors
    /// [`ModelError`] if the length differs from the particle count or a number is not finite; the old ones stay.
    pub fn set_particle_accelerations(&mut self, accelerations: &[[f32; 3]]) -> Result<(), ModelError> {
        let expected = self.cloth.particle_count();
        if accelerations.len() != expected {
            return Err(ModelError::Length { what: "cloth particle_accelerations", len: accelerations.len(), expected });
        }
        let old = std::mem::replace(&mut self.cloth.particle_accelerations, accelerations.to_vec());
        self.cloth.validate_accelerations().inspect_err(|_| self.cloth.particle_accelerations = old)
    }

    /// Checks that the next frame is in range for this cloth, before any cloth is stepped.
    ///
    /// # Errors
    /// [`ModelError`] if the frame is out of range or needs more than [`MAX_ITERATIONS_PER_FRAME`] iterations.
    pub fn validate_frame(&self, frame: &Frame) -> Result<(), ModelError> {
        frame.validate()?;
        let count = (frame.dt * self.cloth.config.solver_frequency + 0.5).floor() as usize;
        let limit = MAX_ITERATIONS_PER_FRAME as usize;
        if count > limit {
            Err(ModelError::TooMany { what: "iterations of a frame (dt * solver_frequency)", count, limit })
        } else {
            Ok(())
        }
    }

    /// The stages that this cloth needs in its kernel.
    pub fn stages(&self, placement: &ClothPlacement) -> StageMask {
        placement.stages(&self.cloth.config)
    }

    /// Cuts the next frame and appends this cloth's constants to `arrays`.
    pub fn pack_frame(&mut self, frame: &Frame, placement: &ClothPlacement, arrays: &mut FrameArrays) {
        let steps = self.clock.begin_frame(frame.dt, &self.cloth.config);
        pack_cloth_frame(&self.cloth, placement, steps.as_ref(), arrays);
    }
}
