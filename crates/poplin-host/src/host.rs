//! Host side of a cloth, shared by both backends: settings, inputs, frame and clock.

mod frame;
mod inputs;
mod stages;
#[cfg(feature = "save")]
mod stored;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::OnceLock;

use poplin_layout::{Feedback, FrameSteps, solve_scratch_len, stage_scratch_len};
use poplin_model::{
    ClothContactSolver, ClothDesc, ColliderSet, MAX_SUBSTEPS, ModelError, Particle, check_dt,
};

#[cfg(feature = "save")]
pub(crate) use stored::StoredCloth;

use crate::clock::iteration_count;
use crate::colliders::{ColliderChange, FrameBodies, Halves, SpaceMotion};
use crate::contacts::collides_by_triangles;
use crate::live::ChangeScope;
use crate::self_collision::member_count;
use crate::{Cloth, FrameClock, FrameMotion, FrameVelocities, ParticleMotion};
use stages::WholeFibers;

/// Scratch memory of [`HostCloth::move_spheres`], shared by all cloths so that it stays in the
/// cache.
#[derive(Debug, Default)]
pub struct MovedSpheres(Halves);

/// A validated cloth in simulation, as its engine sees it: the [`Cloth`] with the user's
/// settings, plus sleep and the layout of its inputs.
#[derive(Debug, Clone)]
// Fields that are read for every changed cloth come first, as in Cloth.
#[repr(C)]
pub struct HostCloth {
    sleep_pass_count: u32,
    wake_count: u32,
    skipped_frames: u32,
    /// True if the cloth could sleep in the last frame; wakings are counted only then.
    can_sleep: bool,
    /// Lengths of the inputs \[vec4\]: per particle, self collision, colliders.
    input_lens: [u32; 3],
    /// Revision of the settings for which the inputs were laid out.
    laid_out: Option<u32>,
    live: Cloth,
    /// Scratch of the stages before the colliders, and additional scratch of an implicit solve
    /// \[vec4\].
    stage_scratch_lens: [u32; 2],
    /// Solvability of each phase's fibers as a whole; computed on first use.
    whole_fibers: OnceLock<Vec<WholeFibers>>,
    /// Plan of the frame whose constants were packed last; `None` if these are lost.
    last_plan: Option<FramePlan>,
    /// Rows of the scratch that the last frame left for the next one,
    /// [`HostCloth::remainder_rows`], and their parts; `None` if it left none.
    stored_remainders: Option<(Range<u32>, RemainderParts)>,
    /// Row of the scratch of all cloths where the last frame stored the nearest triangles of a
    /// mesh; `None` if they are unknown.
    nearest_begin: Option<u32>,
}

/// Everything on which the packed constants of a frame depend. Equal plans have equal constants.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FramePlan {
    /// Revision of the settings, [`Cloth::revision`].
    revision: u32,
    /// First vec4 of the cloth's scratch.
    scratch_begin: u32,
    /// Division into iterations and velocities of the local space; `None` in a frame that
    /// simulates nothing.
    timing: Option<(FrameSteps, FrameVelocities)>,
    /// True if the remainders of the last frame's displacements are known.
    has_remainders: bool,
}

/// Parts of the scratch of each particle beside the remainder of its displacement.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RemainderParts {
    /// Rest of its position: constraints move displacements, [`Stage::Displacement`].
    has_rests: bool,
    /// Its last move by constraints: velocities are corrected by it, [`Stage::SecondOrder`].
    has_last_moves: bool,
}

impl FramePlan {
    /// Division into iterations; `None` if nothing is simulated.
    fn steps(&self) -> Option<&FrameSteps> {
        self.timing.as_ref().map(|(steps, _)| steps)
    }
}

impl HostCloth {
    /// Validates a cloth and prepares it for simulation.
    ///
    /// # Errors
    /// [`ModelError`] if [`ClothDesc::validate`] rejects the cloth.
    pub fn new(cloth: ClothDesc) -> Result<Self, ModelError> {
        cloth.validate()?;
        Ok(Self {
            input_lens: [0; 3],
            laid_out: None,
            stage_scratch_lens: [
                stage_scratch_len(&cloth.fabric),
                solve_scratch_len(&cloth.fabric),
            ],
            whole_fibers: OnceLock::new(),
            sleep_pass_count: 0,
            wake_count: 0,
            skipped_frames: 0,
            last_plan: None,
            stored_remainders: None,
            nearest_begin: None,
            can_sleep: false,
            live: Cloth::new(cloth),
        })
    }

    /// Returns a copy for another location in the buffers, which uploads all its inputs again.
    #[must_use]
    pub fn copy(&self) -> Self {
        let mut copy = self.clone();
        copy.live.changes = ChangeScope::Anything;
        // The scratch is not copied, so the nearest triangles are unknown.
        copy.nearest_begin = None;
        copy.last_plan = None;
        copy.live.forget_holds();
        copy
    }

    /// User's view of the cloth: settings, inputs, pose and clock.
    pub fn live(&self) -> &Cloth {
        &self.live
    }

    /// User's view of the cloth, to change it from the next frame on.
    pub fn live_mut(&mut self) -> &mut Cloth {
        &mut self.live
    }

    /// Description of the cloth as it was added, with its present settings; see [`Cloth::desc`].
    pub fn desc(&self) -> &ClothDesc {
        &self.live.cloth
    }

    /// Resets clock, local space and counters to their state when the cloth was added, and discards
    /// writes to particles. Keeps settings and inputs.
    pub fn reset(&mut self) {
        self.live.clock = FrameClock::default();
        self.live.motion = FrameMotion::new(self.live.cloth.pose);
        self.live.forget_writes();
        self.stored_remainders = None;
        (self.sleep_pass_count, self.skipped_frames) = (0, 0);
        self.live.replan(false);
    }

    /// Sets new particles like [`Engine::set_particles`](crate::Engine::set_particles); returns the
    /// new previous particles.
    ///
    /// # Errors
    /// [`ModelError`] if a length or value is out of range; then nothing changes.
    pub fn set_particles(
        &mut self,
        particles: &[Particle],
        motion: ParticleMotion<'_>,
    ) -> Result<Vec<Particle>, ModelError> {
        let step = self.live.last_step();
        let masses = self.live.cloth.particles.iter().map(|particle| particle.inverse_mass);
        self.live.check_particles(particles)?;
        let previous = motion.previous(particles, masses, step)?;
        // The displacements are over one `step`, from which the clock rescales to the next one.
        if matches!(motion, ParticleMotion::Velocities(_)) {
            self.live.clock.assume_step(step);
        }
        self.live.forget_writes();
        self.stored_remainders = None;
        self.live.changes = ChangeScope::Anything;
        Ok(previous)
    }

    /// Plans a frame of `dt` seconds: applies changes of the cloth's own colliders and of the
    /// engine's colliders `world`, and lays out the inputs. With triangle contact, which keeps half
    /// the thickness from colliders, rigid bodies meet particles at that distance. Planning again
    /// without changes does nothing.
    ///
    /// # Errors
    /// [`ModelError::MeshesOfBodies`]; the cloth then keeps its previous colliders.
    pub fn plan(
        &mut self,
        world: &ColliderSet,
        contact: &ClothContactSolver,
        dt: f32,
    ) -> Result<(), ModelError> {
        // Colliders of the world move relative to the local space, which may move itself.
        let motion = SpaceMotion { start: self.live.pose(), target: self.live.target_pose(), dt };
        let Cloth { cloth, colliders, .. } = &mut self.live;
        let margin = 0.5 * cloth.config.thickness;
        let body_margin = if collides_by_triangles(contact) { margin } else { 0.0 };
        let (own, groups) = (&cloth.colliders, cloth.collider_groups);
        let change = colliders.update(own, world, groups, motion, body_margin)?;
        self.live.is_woken |= change > ColliderChange::Nothing;
        if change == ColliderChange::Lists {
            self.live.replan(false);
        }
        self.lay_out();
        Ok(())
    }

    /// True if the members of the cloth's own set or of `world` may have changed, so that
    /// [`HostCloth::plan`] may fail.
    pub fn has_other_colliders(&self, world: &ColliderSet) -> bool {
        let Cloth { cloth, colliders, changes, .. } = &self.live;
        *changes != ChangeScope::Nothing
            && colliders.has_other_members(&cloth.colliders, world, cloth.collider_groups)
    }

    /// Bodies whose impulses the next frame reports.
    pub fn frame_bodies(&self) -> FrameBodies {
        self.live.colliders.frame_bodies()
    }

    /// Initial current particles of the kernel: position and inverse mass.
    pub fn initial_current(&self) -> &[Particle] {
        &self.live.cloth.particles
    }

    /// Initial previous particles of the kernel; their inverse mass is the user's and never
    /// changes.
    pub fn initial_previous(&self) -> Vec<Particle> {
        let mut previous = self.live.cloth.particles.clone();
        for (particle, &position) in previous.iter_mut().zip(&self.live.cloth.previous_positions) {
            particle.position = position;
        }
        previous
    }

    /// Tests that the next frame is in range for this cloth, before any cloth is stepped.
    ///
    /// # Errors
    /// [`ModelError`] if the frame is out of range or needs more than [`MAX_SUBSTEPS`]
    /// iterations.
    pub fn validate_frame(&self, dt: f32) -> Result<(), ModelError> {
        check_dt(dt)?;
        let count = self.live.cloth.config.solver.iteration_count(dt) as usize;
        let limit = MAX_SUBSTEPS as usize;
        if count > limit {
            let what = "iterations of a frame (dt * frequency of the solver)";
            return Err(ModelError::TooMany { what, count, limit });
        }
        Ok(())
    }

    /// Iterations of the next frame, 0 if it simulates nothing.
    pub fn iteration_count(&self, dt: f32) -> u32 {
        iteration_count(dt, &self.live.cloth.config)
    }

    /// Loop trips of one particle in one iteration for colliders and self collision.
    pub fn collision_trips(&self) -> u64 {
        self.live.colliders.trips_per_particle() + self.live.self_collision.trips_per_particle()
    }

    /// Distance that the cloth keeps from other cloths \[m\]; 0 if it takes no part in their
    /// collision.
    pub fn cloth_collision_distance(&self) -> f32 {
        self.live.self_collision.cloth_distance()
    }

    /// True if the cloth needs a grid of self collision.
    pub fn has_self_collision(&self) -> bool {
        self.live.self_collision.is_on()
    }

    /// Number of particles that take part in self collision.
    pub fn self_collision_count(&self) -> u32 {
        member_count(&self.live.cloth)
    }

    /// True if the backend reported the cloth asleep and nothing has woken it since; it is then not
    /// dispatched.
    pub fn is_resting(&self) -> bool {
        let config = &self.live.cloth.config;
        let is_asleep =
            config.sleep.threshold > 0.0 && self.sleep_pass_count >= config.sleep.after_count;
        is_asleep && !self.live.is_woken && !self.live.motion.is_moving()
    }

    /// Reads the kernel's report; a report from before the last waking is ignored.
    pub fn note_feedback(&mut self, feedback: &Feedback) {
        self.sleep_pass_count =
            if feedback.wake_count == self.wake_count { feedback.sleep_pass_count } else { 0 };
    }

    /// Counts a frame in which the resting cloth was not dispatched, and advances its clock.
    pub fn skip_frame(&mut self, dt: f32) {
        self.rest(dt);
        self.count_skipped(u32::from(dt > 0.0));
    }

    /// Begins a frame in which the resting cloth is not dispatched; [`HostCloth::is_settled`] is
    /// then true if more frames of this length change nothing.
    pub fn rest(&mut self, dt: f32) {
        self.live.clock.begin_frame(dt, &self.live.cloth.config);
        let is_settled = self.live.clock.is_settled();
        self.live.changes = if is_settled { ChangeScope::Nothing } else { ChangeScope::Anything };
    }

    /// Adds frames in which the cloth was not dispatched.
    pub fn count_skipped(&mut self, frames: u32) {
        self.skipped_frames = self.skipped_frames.wrapping_add(frames);
    }

    /// Number of frames in which the cloth was not dispatched because it slept.
    pub fn skipped_frames(&self) -> u32 {
        self.skipped_frames
    }

    /// Returns the new wake count if the cloth can sleep and was woken since the last call.
    pub fn take_wake(&mut self) -> Option<u32> {
        (std::mem::take(&mut self.live.is_woken) && self.can_sleep).then(|| {
            self.wake();
            self.wake_count
        })
    }

    /// Raises the wake count, which invalidates earlier sleep reports even if nothing is read back
    /// for a while.
    fn wake(&mut self) {
        (self.wake_count, self.sleep_pass_count) = (self.wake_count.wrapping_add(1), 0);
    }

    /// True if the next frame repeats the last one unless something changes: same parameters, no
    /// new input.
    pub fn is_settled(&self) -> bool {
        self.live.changes == ChangeScope::Nothing
    }

    /// Makes the next frame take the full path, [`HostCloth::is_quick`].
    pub fn expect_changes(&mut self) {
        self.live.changes = ChangeScope::Anything;
    }

    /// Revision of counts, stages, layouts and constants: while it stays the same, everything
    /// derived from them stays valid.
    pub fn revision(&self) -> u32 {
        self.live.revision
    }

    /// Makes the next frame pack all rows, as those of the last frame are lost.
    pub fn forget_constants(&mut self) {
        self.last_plan = None;
    }
}
