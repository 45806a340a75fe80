//! Hooks for tests.

use poplin_host::ClothId;

use super::GpuEngine;
use crate::Error;

impl GpuEngine {
    /// Makes the next frame visit every cloth and pack all of it, for tests that compare both
    /// paths.
    pub fn forget_frame(&mut self) {
        self.seen = None;
        self.cloths.values_mut().iter_mut().for_each(|cloth| cloth.host.forget_constants());
    }

    /// Rows of the begun frame that wait to be written, as address and value; for tests.
    pub fn waiting_rows(&self) -> impl Iterator<Item = (u32, [u32; 4])> + '_ {
        self.rows.iter()
    }

    /// Slots of the cloths that the begun frame dispatches, in order; for tests.
    pub fn dispatched_slots(&self) -> Vec<u32> {
        self.buckets.values().flat_map(|bucket| bucket.active.iter().copied()).collect()
    }

    /// Replaces the whole state of a cloth, for tests that start from a chosen state.
    ///
    /// # Errors
    /// [`Error`] if there is no such cloth or a length is wrong.
    pub fn set_state(
        &mut self,
        id: ClothId,
        current: &[poplin_model::Particle],
        previous: &[poplin_model::Particle],
    ) -> Result<(), Error> {
        let placement = self.cloths.get(id)?.placement;
        let expected = placement.particle_count as usize;
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
        self.write_particles(&placement, current, previous);
        Ok(())
    }
}
