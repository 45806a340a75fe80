//! State of cloths at one moment.

use std::collections::HashMap;
use std::ops::Range;

use poplin_layout::Feedback;
use poplin_model::{BodyId, BodyImpulse, ContactReport, ImplicitReport, Particle};

use crate::{ClothId, ClothImpulses, NoSuchCloth};

/// Particles and counters of cloths, read from an engine at one moment. Later changes of the engine
/// do not affect it: a cloth removed since is still included, one added since is not.
#[derive(Debug, Clone, Default)]
pub struct State {
    current: Vec<Particle>,
    previous: Vec<Particle>,
    ids: Vec<ClothId>,
    parts: HashMap<ClothId, Part>,
}

#[derive(Debug, Clone)]
struct Part {
    particles: Range<usize>,
    feedback: Feedback,
    skipped_frames: u32,
    body_impulses: ClothImpulses,
    contact: ContactReport,
}

/// Data of one cloth in a [`State`] besides its particles; engines build states from it.
#[derive(Debug, Clone)]
pub struct StatePart {
    /// Handle of the cloth.
    pub id: ClothId,
    /// Number of its particles.
    pub particle_count: usize,
    /// Faults and counters as the kernel reported them.
    pub feedback: Feedback,
    /// Frames in which the cloth was not dispatched because it slept.
    pub skipped_frames: u32,
    /// Impulses of the last frame on the rigid bodies that the cloth meets.
    pub body_impulses: ClothImpulses,
    /// Report of contacts that triangle contact could not resolve.
    pub contact: ContactReport,
}

/// One cloth of a [`State`].
#[derive(Debug, Clone, Copy)]
pub struct ClothState<'a> {
    /// Position \[m\] and working inverse mass [1/kg] of every particle.
    pub current: &'a [Particle],
    /// Position one iteration ago \[m\] and the user's inverse mass [1/kg] of every particle; empty
    /// if the state was read without previous positions.
    pub previous: &'a [Particle],
    /// Faults and counters as the kernel reported them.
    pub feedback: &'a Feedback,
    /// Frames that the cloth slept through since it was added or reset.
    pub slept_frames: u32,
    /// Impulses of the last frame on the rigid bodies that the cloth meets.
    pub body_impulses: &'a ClothImpulses,
}

impl State {
    /// Builds a state from the particles of all `parts`, one cloth after another; `previous` may be
    /// empty.
    ///
    /// # Panics
    /// If there are fewer particles than the parts need.
    pub fn new(
        current: Vec<Particle>,
        previous: Vec<Particle>,
        parts: impl IntoIterator<Item = StatePart>,
    ) -> Self {
        let mut state = Self { current, previous, ..Self::default() };
        let mut begin = 0;
        for part in parts {
            let StatePart { id, feedback, skipped_frames, body_impulses, contact, .. } = part;
            let particles = begin..begin + part.particle_count;
            begin = particles.end;
            state.ids.push(id);
            let part = Part { particles, feedback, skipped_frames, body_impulses, contact };
            state.parts.insert(id, part);
        }
        assert!(begin <= state.current.len());
        assert!(begin <= state.previous.len() || state.previous.is_empty());
        state
    }

    /// Number of cloths.
    pub fn cloth_count(&self) -> usize {
        self.ids.len()
    }

    /// Handles of the cloths, in the order of the request, or of adding if all were requested.
    pub fn ids(&self) -> &[ClothId] {
        &self.ids
    }

    /// Position \[m\] and working inverse mass [1/kg] of every particle of all cloths, one cloth
    /// after another, in the order of [`State::ids`].
    pub fn particles(&self) -> &[Particle] {
        &self.current
    }

    /// Everything about one cloth. The shorter methods below return empty data, or zeros, for a
    /// cloth that is not in the state.
    ///
    /// # Errors
    /// [`NoSuchCloth`] if the cloth was not there when the state was read.
    pub fn cloth(&self, id: ClothId) -> Result<ClothState<'_>, NoSuchCloth> {
        let part = self.parts.get(&id).ok_or(NoSuchCloth { id })?;
        Ok(ClothState {
            current: &self.current[part.particles.clone()],
            previous: self.previous.get(part.particles.clone()).unwrap_or(&[]),
            feedback: &part.feedback,
            // Frames skipped in the kernel, and frames without a dispatch.
            slept_frames: part.feedback.sleep_frame_count.wrapping_add(part.skipped_frames),
            body_impulses: &part.body_impulses,
        })
    }

    /// Position \[m\] and working inverse mass [1/kg] of every particle.
    pub fn current(&self, id: ClothId) -> &[Particle] {
        self.cloth(id).map_or(&[], |cloth| cloth.current)
    }

    /// Position one iteration ago \[m\] and the user's inverse mass [1/kg] of every particle; empty
    /// if the state was read without previous positions.
    pub fn previous(&self, id: ClothId) -> &[Particle] {
        self.cloth(id).map_or(&[], |cloth| cloth.previous)
    }

    /// Positions \[m\] of every particle.
    pub fn positions(&self, id: ClothId) -> impl ExactSizeIterator<Item = [f32; 3]> + '_ {
        self.current(id).iter().map(|particle| particle.position)
    }

    /// Faults and counters as the kernel reported them.
    pub fn feedback(&self, id: ClothId) -> Feedback {
        self.cloth(id).map_or_else(|_| Feedback::default(), |cloth| *cloth.feedback)
    }

    /// Number of particles that would have become NaN, infinite or too far away; above 0 the cloth
    /// is frozen at its last valid state.
    pub fn fault_count(&self, id: ClothId) -> u32 {
        self.feedback(id).fault_count
    }

    /// Lowest index of a particle with a fault.
    pub fn fault_particle(&self, id: ClothId) -> Option<u32> {
        let feedback = self.feedback(id);
        (feedback.fault_count > 0).then_some(feedback.fault_particle)
    }

    /// Number of iterations since the cloth was added or reset.
    pub fn iteration_total(&self, id: ClothId) -> u32 {
        self.feedback(id).iteration_total
    }

    /// Work of the implicit or the multilevel solver for a cloth since it was added.
    pub fn implicit_report(&self, id: ClothId) -> ImplicitReport {
        let feedback = self.feedback(id);
        ImplicitReport {
            steps: feedback.implicit_steps,
            iterations: feedback.implicit_iterations,
            unconverged: feedback.implicit_unconverged,
            held: feedback.implicit_held,
            floored: feedback.implicit_floored,
            rejections: feedback.implicit_rejections,
            halvings: feedback.implicit_halvings,
        }
    }

    /// Contacts of a cloth that triangle contact could not resolve since it was added or reset;
    /// empty with particle contact.
    pub fn contact_report(&self, id: ClothId) -> ContactReport {
        self.parts.get(&id).map_or_else(ContactReport::default, |part| part.contact)
    }

    /// Number of consecutive rest tests passed; the cloth sleeps from `sleep_after_count` on.
    pub fn sleep_pass_count(&self, id: ClothId) -> u32 {
        self.feedback(id).sleep_pass_count
    }

    /// Frames that the cloth slept through since it was added or reset.
    pub fn slept_frames(&self, id: ClothId) -> u32 {
        self.cloth(id).map_or(0, |cloth| cloth.slept_frames)
    }

    /// Sum of the impulses of all cloths of this state in the last frame on a rigid body of the
    /// engine's colliders, world axes; zero if none of them meets it.
    pub fn body_impulse(&self, body: BodyId) -> BodyImpulse {
        let mut sum = BodyImpulse::none(body);
        for id in &self.ids {
            // In the order of cloths, so that the float sum is reproducible.
            let own = self.body_impulses(*id).iter().filter(|impulse| impulse.body == body);
            own.for_each(|impulse| sum.add(impulse));
        }
        sum
    }

    /// Impulses of the last frame on the rigid bodies of the engine's colliders that the cloth
    /// meets, world axes; empty if there are none or the cloth was not simulated, because it
    /// sleeps, is frozen or the frame had zero length.
    pub fn body_impulses(&self, id: ClothId) -> &[BodyImpulse] {
        self.cloth(id).map_or(&[], |cloth| &cloth.body_impulses.world)
    }

    /// Impulses of the last frame on the bodies of the cloth's own colliders, axes of its local
    /// space.
    pub fn own_body_impulses(&self, id: ClothId) -> &[BodyImpulse] {
        self.cloth(id).map_or(&[], |cloth| &cloth.body_impulses.own)
    }
}
