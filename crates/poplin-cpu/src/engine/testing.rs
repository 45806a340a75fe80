//! Access to state and single parts of a frame, for tests.

use poplin_host::{ClothId, Error, FramePart, NoSuchCloth};
use poplin_model::{ModelError, Particle};

use super::LaneEngine;
use super::cloth::CpuCloth;
use super::crew::{Working, simulate_alike};
use crate::Workers;

impl<W: Workers + Clone + Send + Sync> LaneEngine<W> {
    /// State after the last pass of collision between cloths, for tests.
    pub fn contact_memory(&self) -> &W::Contacts {
        &self.contact_memory
    }

    /// Splits every loop that can be split in `count` parts (at least 1), whatever its length, for
    /// tests.
    pub fn force_parts(&mut self, count: usize) {
        self.forced_parts = Some(count.max(1));
    }

    /// Advances every cloth's clock and packs the frame's constants; [`Self::run_part`]
    /// then simulates it.
    ///
    /// # Errors
    /// [`ModelError`] if the frame is out of range for a cloth; then no cloth's time advances.
    pub fn begin_frame(&mut self, dt: f32) -> Result<(), ModelError> {
        self.update_colliders(dt)?;
        self.cloths.values_mut().iter_mut().for_each(|cloth| cloth.begin_frame(dt, true));
        self.colliders.end_frame();
        Ok(())
    }

    /// Simulates a part of the current frame of one cloth with a given team.
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn run_part(
        &mut self,
        id: ClothId,
        part: &FramePart,
        team: &mut impl Workers<Kept = W::Kept>,
    ) -> Result<(), NoSuchCloth> {
        self.cloths.get_mut(id).map(|cloth| cloth.run_part(part, team))
    }

    /// Simulates a part of the current frame of all cloths with given workers, similar ones in
    /// batches; returns the size of the largest batch.
    pub fn run_alike(&mut self, part: &FramePart, workers: &mut W) -> usize {
        let mut working = Working::default();
        let mut cloths: Vec<&mut CpuCloth<W::Kept>> =
            self.cloths.values_mut().iter_mut().map(Box::as_mut).collect();
        cloths.sort_unstable_by_key(|cloth| cloth.rank());
        let mut largest = 0;
        for alike in cloths.chunk_by_mut(|a, b| a.is_like(b)) {
            for batch in alike.chunks_mut(workers.cloths_at_once()) {
                largest = largest.max(batch.len());
                simulate_alike(workers, &mut working, batch, part);
            }
        }
        largest
    }

    /// Runs a part like [`Self::run_part`], with loops split as set by [`Self::force_parts`].
    ///
    /// # Errors
    /// [`NoSuchCloth`].
    pub fn run_part_split(
        &mut self,
        id: ClothId,
        part: &FramePart,
        team: &mut W,
    ) -> Result<(), NoSuchCloth> {
        let split = self.split();
        let cloth = self.cloths.get_mut(id)?;
        team.in_parts(split.parts(cloth), |team| cloth.run_part(part, team));
        Ok(())
    }

    /// Replaces the whole state of a cloth, for tests that start from a given state.
    ///
    /// # Errors
    /// [`Error`] if there is no such cloth, a length is wrong or a pinned particle gets mass.
    pub fn set_state(
        &mut self,
        id: ClothId,
        current: &[Particle],
        previous: &[Particle],
    ) -> Result<(), Error> {
        let cloth = self.cloths.get_mut(id)?;
        let expected = cloth.current.len();
        for len in [current.len(), previous.len()] {
            if len != expected {
                return Err(poplin_model::ModelError::Length {
                    what: "cloth state",
                    len,
                    expected,
                }
                .into());
            }
        }
        // Parallel parts of a loop rely on this, see `Parts`.
        let masses = cloth.host.desc().particles.iter().map(|particle| particle.inverse_mass);
        for (index, (mass, (a, b))) in masses.zip(current.iter().zip(previous)).enumerate() {
            let inverse_mass = a.inverse_mass.max(b.inverse_mass);
            if mass == 0.0 && inverse_mass > 0.0 {
                let particle = index as u32;
                return Err(ModelError::PinnedParticle { particle, inverse_mass }.into());
            }
        }
        cloth.current.copy_from_slice(Particle::rows(current));
        cloth.previous.copy_from_slice(Particle::rows(previous));
        Ok(())
    }
}
