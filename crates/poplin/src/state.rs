//! The state of all cloths at one moment.

use poplin_host::Feedback;
use poplin_model::BodyImpulse;

use crate::ClothId;

/// Particles and counters of all cloths, read from the backend.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub(crate) cloths: Vec<ClothState>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ClothState {
    current: Vec<[f32; 4]>,
    previous: Vec<[f32; 4]>,
    feedback: Feedback,
    skipped_frames: u32,
    body_impulses: Vec<BodyImpulse>,
}

impl ClothState {
    pub(crate) fn new(
        current: &[[f32; 4]],
        previous: &[[f32; 4]],
        feedback: Feedback,
        skipped_frames: u32,
    ) -> Self {
        let (current, previous) = (current.to_vec(), previous.to_vec());
        Self { current, previous, feedback, skipped_frames, body_impulses: Vec::new() }
    }

    pub(crate) fn with_impulses(self, body_impulses: Vec<BodyImpulse>) -> Self {
        Self { body_impulses, ..self }
    }
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
        self.feedback(cloth).fault_count
    }

    /// The lowest such particle.
    pub fn fault_particle(&self, cloth: ClothId) -> Option<u32> {
        let feedback = self.feedback(cloth);
        (feedback.fault_count > 0).then_some(feedback.fault_particle)
    }

    /// Iterations run since the cloth was added.
    pub fn iteration_total(&self, cloth: ClothId) -> u32 {
        self.feedback(cloth).iteration_total
    }

    /// Tests for rest passed in a row; the cloth sleeps from `sleep_after_count` on.
    pub fn sleep_pass_count(&self, cloth: ClothId) -> u32 {
        self.feedback(cloth).sleep_pass_count
    }

    /// Frames that the cloth slept through since it was added.
    pub fn slept_frames(&self, cloth: ClothId) -> u32 {
        self.cloths
            .get(cloth.0)
            .map_or(0, |state| state.feedback.sleep_frame_count + state.skipped_frames)
    }

    /// What the last frame did to the rigid bodies that the cloth pushes, in their order; empty if there are none or the cloth
    /// was not simulated, because it sleeps or is frozen.
    pub fn body_impulses(&self, cloth: ClothId) -> &[BodyImpulse] {
        self.cloths.get(cloth.0).map_or(&[], |state| &state.body_impulses)
    }

    fn feedback(&self, cloth: ClothId) -> Feedback {
        self.cloths.get(cloth.0).map_or_else(Feedback::default, |state| state.feedback)
    }
}
