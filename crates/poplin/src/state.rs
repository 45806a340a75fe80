//! The state of all cloths at one moment.

use crate::ClothId;

/// Particles and counters of all cloths, read from the backend.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub(crate) cloths: Vec<ClothState>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ClothState {
    pub(crate) current: Vec<[f32; 4]>,
    pub(crate) previous: Vec<[f32; 4]>,
    pub(crate) fault_count: u32,
    pub(crate) fault_particle: Option<u32>,
    pub(crate) iteration_total: u32,
}

impl State {
    /// Number of cloths.
    pub fn cloth_count(&self) -> usize {
        self.cloths.len()
    }

    /// Position \[m\] and working inverse mass [1/kg] of every particle; empty for an unknown cloth.
    pub fn current(&self, cloth: ClothId) -> &[[f32; 4]] {
        self.cloths.get(cloth.0).map_or(&[], |state| &state.current)
    }

    /// Position one iteration ago \[m\] and the user's inverse mass [1/kg]; empty for an unknown cloth.
    pub fn previous(&self, cloth: ClothId) -> &[[f32; 4]] {
        self.cloths.get(cloth.0).map_or(&[], |state| &state.previous)
    }

    /// Positions \[m\] of every particle.
    pub fn positions(&self, cloth: ClothId) -> impl ExactSizeIterator<Item = [f32; 3]> + '_ {
        self.current(cloth).iter().map(|&[x, y, z, _]| [x, y, z])
    }

    /// Particles that would have become NaN, infinite or too far away; above 0 the cloth is frozen at its last sane state.
    pub fn fault_count(&self, cloth: ClothId) -> u32 {
        self.cloths.get(cloth.0).map_or(0, |state| state.fault_count)
    }

    /// The lowest such particle.
    pub fn fault_particle(&self, cloth: ClothId) -> Option<u32> {
        self.cloths.get(cloth.0).and_then(|state| state.fault_particle)
    }

    /// Iterations run since the cloth was added.
    pub fn iteration_total(&self, cloth: ClothId) -> u32 {
        self.cloths.get(cloth.0).map_or(0, |state| state.iteration_total)
    }
}
