//! Host side of a cloth, shared by both backends: settings, inputs, frame and clock.

#[cfg(feature = "save")]
mod stored;

use bytemuck::cast_slice;
use std::sync::OnceLock;

use poplin_layout::{
    BODY_ROWS, ClothParameters, ClothPlacement, Feedback, FrameArrays, FrameSteps, InputOffsets,
    NO_OFFSET, STAGES, Stage, StageMask, pack_cloth_parameters, solve_scratch_len,
    stage_scratch_len,
};
use poplin_model::{
    BendModel, Cloth, ClothContactSolver, ColliderSet, FiberSolver, Frame, ModelError, Particle,
    Phase, Pose, Preconditioner, Solver, StretchModel,
};

#[cfg(feature = "save")]
pub(crate) use stored::StoredCloth;

use crate::clock::iteration_count;
use crate::colliders::{FrameBodies, Halves, SpaceMotion};
use crate::contacts::collides_by_triangles;
use crate::live::ChangeScope;
use crate::self_collision::member_count;
use crate::{
    FrameClock, FrameMotion, InterpolatedArray, LiveCloth, MAX_ITERATIONS_PER_FRAME, MemoryNeeds,
    ParticleMotion, motion_constants,
};

/// Scratch memory of [`HostCloth::move_spheres`], shared by all cloths so that it stays in the
/// cache.
#[derive(Debug, Default)]
pub struct MovedSpheres(Halves);

/// Number of writes up to which duplicates are found by comparing all pairs instead of sorting.
const FEW_WRITES: usize = 16;

/// A validated cloth in simulation, as its engine sees it: the [`LiveCloth`] with the user's
/// settings, plus sleep and the layout of its inputs.
#[derive(Debug, Clone)]
// Fields that are read for every changed cloth come first, as in LiveCloth.
#[repr(C)]
pub struct HostCloth {
    sleep_pass_count: u32,
    wake_count: u32,
    skipped_frames: u32,
    is_settled: bool,
    /// True if the cloth is settled, apart from its colliders.
    is_still: bool,
    /// True if the cloth could sleep in the last frame; wakings are counted only then.
    can_sleep: bool,
    /// Lengths of the inputs \[vec4\]: per particle, self collision, colliders.
    input_lens: [u32; 3],
    live: LiveCloth,
    /// Scratch of the stages before the colliders, and additional scratch of an implicit solve
    /// \[vec4\].
    stage_scratch_lens: [u32; 2],
    /// Solvability of each phase's fibers as a whole; computed on first use.
    whole_fibers: OnceLock<Vec<WholeFibers>>,
    /// True if settings have changed since the constants were packed.
    has_new_constants: bool,
    /// True if the packed constants are of a local space at rest in their frame and the frame
    /// before.
    has_still_constants: bool,
    /// Steps of the frame and the pose at its end for which the constants were packed.
    packed_for: Option<(Option<FrameSteps>, Pose)>,
}

/// Offsets of the per-particle inputs of a cloth in its part of `input_pool` \[vec4\]. The inputs
/// of self collision and colliders follow them.
#[derive(Debug, Clone, Copy)]
struct ParticleSlots {
    particle_count: u32,
}

impl ParticleSlots {
    fn accelerations(self) -> u32 {
        0
    }

    /// Offset of the motion spheres: starts, then targets.
    fn motion(self) -> u32 {
        self.particle_count
    }

    /// Offset of the separation spheres: starts, then targets.
    fn separation(self) -> u32 {
        3 * self.particle_count
    }

    fn total(self) -> u32 {
        5 * self.particle_count
    }
}

impl HostCloth {
    /// Validates a cloth and prepares it for simulation.
    ///
    /// # Errors
    /// [`ModelError`] if [`Cloth::validate`] rejects the cloth.
    pub fn new(cloth: Cloth) -> Result<Self, ModelError> {
        cloth.validate()?;
        Ok(Self {
            input_lens: [0; 3],
            stage_scratch_lens: [
                stage_scratch_len(&cloth.fabric),
                solve_scratch_len(&cloth.fabric),
            ],
            whole_fibers: OnceLock::new(),
            sleep_pass_count: 0,
            wake_count: 0,
            skipped_frames: 0,
            has_new_constants: true,
            has_still_constants: false,
            packed_for: None,
            is_settled: false,
            is_still: false,
            can_sleep: false,
            live: LiveCloth::new(cloth),
        })
    }

    /// Returns a copy for another location in the buffers, which uploads all its inputs again.
    #[must_use]
    pub fn copy(&self) -> Self {
        let mut copy = self.clone();
        copy.input_lens = [0; 3];
        copy.live.accelerations_changed = true;
        copy.live.changes = ChangeScope::Anything;
        // The scratch is not copied, so the nearest triangles are unknown.
        copy.live.colliders.forget_nearby();
        (copy.live.has_new_plan, copy.is_settled, copy.is_still) = (true, false, false);
        copy.live.forget_holds();
        copy
    }

    /// User's view of the cloth: settings, inputs, pose and clock.
    pub fn live(&self) -> &LiveCloth {
        &self.live
    }

    /// User's view of the cloth, to change it from the next frame on.
    pub fn live_mut(&mut self) -> &mut LiveCloth {
        &mut self.live
    }

    /// Cloth as it was added, with its present settings; see [`LiveCloth::cloth`].
    pub fn cloth(&self) -> &Cloth {
        &self.live.cloth
    }

    /// Resets clock, local space and counters to their state when the cloth was added, and discards
    /// writes to particles. Keeps settings and inputs.
    pub fn reset(&mut self) {
        self.live.clock = FrameClock::default();
        self.live.motion = FrameMotion::new(self.live.cloth.pose);
        self.live.forget_writes();
        (self.sleep_pass_count, self.skipped_frames) = (0, 0);
        self.live.has_new_plan = true;
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
        Ok(previous)
    }

    /// Applies changes of the cloth's own colliders and of the engine's colliders `world` for a
    /// frame of `dt` seconds. Call this first in a frame. With triangle contact, which keeps half
    /// the thickness from colliders, rigid bodies meet particles at that distance.
    ///
    /// # Errors
    /// [`ModelError::MeshesOfBodies`]; the cloth then keeps its previous colliders.
    pub fn update_colliders(
        &mut self,
        world: &ColliderSet,
        contact: &ClothContactSolver,
        dt: f32,
    ) -> Result<(), ModelError> {
        let motion = SpaceMotion { start: self.live.pose(), target: self.live.target_pose(), dt };
        let LiveCloth { cloth, colliders, is_woken, .. } = &mut self.live;
        let margin = 0.5 * cloth.config.thickness;
        let body_margin = if collides_by_triangles(contact) { margin } else { 0.0 };
        let (own, groups) = (&cloth.colliders, cloth.collider_groups);
        *is_woken |= colliders.update(own, world, groups, motion, body_margin)?;
        Ok(())
    }

    /// True if the next frame may be rejected, supposing that it is as long as the last one:
    /// settings or the set of colliders have changed.
    pub fn needs_check(&self, world: &ColliderSet) -> bool {
        let LiveCloth { cloth, colliders, has_new_plan, changes, .. } = &self.live;
        let groups = cloth.collider_groups;
        *has_new_plan
            || (*changes != ChangeScope::Nothing
                && colliders.has_other_members(&cloth.colliders, world, groups))
    }

    /// Bodies whose impulses the next frame reports.
    pub fn frame_bodies(&self) -> FrameBodies {
        self.live.colliders.frame_bodies()
    }

    /// Rows of the impulses on bodies in the cloth's scratch \[vec4\]; [`FrameBodies::impulses`]
    /// reads them.
    pub fn body_rows(&self) -> std::ops::Range<u32> {
        let begin = self.stage_scratch_len()
            + self.live.colliders.impulse_begin(self.live.cloth.particle_count() as u32);
        begin..begin + BODY_ROWS * self.live.colliders.body_count()
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

    fn has_particle_inputs(&self) -> bool {
        self.live.has_motion_spheres()
            || self.live.separation_spheres.is_set()
            || !self.live.cloth.particle_accelerations.is_empty()
    }

    /// Lays out the inputs and returns their length in `input_pool` \[vec4\]; call after
    /// [`HostCloth::update_colliders`]. A longer result than in the last frame means a new layout:
    /// then [`HostCloth::take_inputs`] uploads everything again.
    pub fn input_len(&mut self) -> u32 {
        let before = self.input_lens;
        // Once laid out, the part is kept, so that setting and clearing inputs moves nothing.
        if self.has_particle_inputs() {
            self.input_lens[0] =
                ParticleSlots { particle_count: self.live.cloth.particle_count() as u32 }.total();
        }
        self.input_lens[1] = self.live.self_collision.input_len(&self.live.cloth);
        self.input_lens[2] = self.live.colliders.input_len();
        if self.input_lens != before {
            self.live.accelerations_changed = true;
            self.live.motion_spheres.mark_all();
            self.live.holds.spheres_mut().mark_all();
            self.live.separation_spheres.mark_all();
            self.live.self_collision.mark_all();
            self.live.colliders.mark_all();
        }
        self.input_lens.iter().sum()
    }

    /// Begins of the parts of the inputs \[vec4\]: per particle, self collision, colliders.
    fn input_begins(&self) -> [u32; 3] {
        let [particles, own, _] = self.input_lens;
        [0, particles, particles + own]
    }

    /// Scratch of the stages before the colliders \[vec4\].
    fn stage_scratch_len(&self) -> u32 {
        let [stages, solve] = self.stage_scratch_lens;
        let is_implicit = self.live.cloth.config.solver.as_implicit().is_some();
        if is_implicit { stages + solve } else { stages }
    }

    /// Begins of the scratch of colliders and of self collision \[vec4\].
    fn scratch_begins(&self) -> [u32; 2] {
        let colliders = self.live.colliders.scratch_len(self.live.cloth.particle_count() as u32);
        [self.stage_scratch_len(), self.stage_scratch_len() + colliders]
    }

    /// Rows of the scratch that carry values from frame to frame: nearest triangles of a mesh, and
    /// impulses on bodies. All other rows are written before they are read in every iteration.
    pub fn kept_rows(&self) -> std::ops::Range<u32> {
        let [begin, end] = self.scratch_begins();
        let keeps = self.live.colliders.has_free_mesh() || self.live.colliders.has_bodies();
        begin..if keeps { end } else { begin }
    }

    /// Length of the scratch of the cloth \[vec4\]; call after [`HostCloth::input_len`].
    pub fn scratch_len(&self) -> u32 {
        self.scratch_begins()[1] + self.live.self_collision.scratch_len(&self.live.cloth)
    }

    /// Uploads each changed part of the inputs (floats as their bits) with its offset in the
    /// cloth's part of `input_pool` \[vec4\].
    pub fn take_inputs(&mut self, mut upload: impl FnMut(u32, &[[u32; 4]])) {
        let slots = ParticleSlots { particle_count: self.live.cloth.particle_count() as u32 };
        if std::mem::take(&mut self.live.accelerations_changed) {
            let packed: Vec<_> = self
                .live
                .cloth
                .particle_accelerations
                .iter()
                .map(|&[x, y, z]| [x, y, z, 0.0])
                .collect();
            if !packed.is_empty() {
                upload(slots.accelerations(), cast_slice(&packed));
            }
        }
        self.live
            .merge_spheres()
            .take_changed(|offset, values| upload(slots.motion() + offset, cast_slice(values)));
        self.live
            .separation_spheres
            .take_changed(|offset, values| upload(slots.separation() + offset, cast_slice(values)));
        let [_, own, colliders] = self.input_begins();
        self.live
            .self_collision
            .take_changed(&self.live.cloth, |offset, values| upload(own + offset, values));
        self.live.colliders.take_changed(|offset, values| upload(colliders + offset, values));
    }

    /// Passes on the last write to each particle since the last call.
    pub fn take_writes(&mut self, mut write: impl FnMut(u32, Particle)) {
        let writes = &mut self.live.writes;
        if writes.len() > FEW_WRITES {
            // The sort is stable: the last write to a particle stays last.
            writes.sort_by_key(|(particle, _)| *particle);
        }
        for (k, &(particle, value)) in writes.iter().enumerate() {
            let later = &writes[k + 1..];
            let later =
                if writes.len() > FEW_WRITES { later.get(..1).unwrap_or(&[]) } else { later };
            if later.iter().all(|(other, _)| *other != particle) {
                write(particle, value);
            }
        }
        writes.clear();
    }

    /// Tests that the next frame is in range for this cloth, before any cloth is stepped.
    ///
    /// # Errors
    /// [`ModelError`] if the frame is out of range or needs more than [`MAX_ITERATIONS_PER_FRAME`]
    /// iterations.
    pub fn validate_frame(&self, frame: &Frame) -> Result<(), ModelError> {
        frame.validate()?;
        // The iteration counts of the other solvers are settings and have been validated.
        let Solver::Pbd(pbd) = &self.live.cloth.config.solver else { return Ok(()) };
        let count = (frame.dt * pbd.frequency + 0.5).floor() as usize;
        let limit = MAX_ITERATIONS_PER_FRAME as usize;
        if count > limit {
            Err(ModelError::TooMany {
                what: "iterations of a frame (dt * solver.pbd.frequency)",
                count,
                limit,
            })
        } else {
            Ok(())
        }
    }

    /// Iterations of the next frame, 0 if it simulates nothing.
    pub fn iteration_count(&self, frame: &Frame) -> u32 {
        iteration_count(frame.dt, &self.live.cloth.config)
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

    /// Needs of the cloth in workgroup memory, with `fiber_row_count` rows in each half of the rows
    /// of whole fibers.
    pub fn memory_needs(&self, fiber_row_count: u32) -> MemoryNeeds {
        let stages = self.stages();
        let has_rows = stages.intersects(StageMask::WHOLE_FIBERS);
        MemoryNeeds {
            particle_count: self.cloth().particle_count() as u32,
            member_count: stages.contains(Stage::SelfCollide).then(|| self.self_collision_count()),
            row_len: if has_rows { 2 * fiber_row_count } else { 0 },
        }
    }

    /// Solver of the fibers of a phase in the next frame, and its rounds of cyclic reduction.
    pub fn fiber_solver(&self, phase: u32) -> (FiberSolver, u32) {
        let solver = self.live.cloth.fiber_solver(phase);
        if solver == FiberSolver::GaussSeidel {
            return (solver, 0);
        }
        let Cloth { fabric, .. } = &self.live.cloth;
        let of = |phase| WholeFibers::of(&self.live.cloth, phase);
        match self.whole_fibers.get_or_init(|| fabric.phases.iter().map(of).collect())
            [phase as usize]
        {
            WholeFibers::Knotted => (FiberSolver::GaussSeidel, 0),
            WholeFibers::Free { rounds }
                // Motion spheres can pin any particle, so a fiber may have two pins.
                if solver == FiberSolver::CyclicReduction && !self.live.has_motion_spheres() =>
            {
                (solver, rounds)
            }
            _ => (FiberSolver::SemiImplicit, 0),
        }
    }

    /// Solved phases in order, each with its fiber solver.
    fn solved_phases(&self) -> impl Iterator<Item = (u32, (FiberSolver, u32))> + Clone {
        let Cloth { fabric, config, phase_order, .. } = &self.live.cloth;
        let is_solved =
            |&index: &u32| config.solver.solves(index, fabric.phases[index as usize].kind);
        let phases = phase_order.iter().copied().filter(is_solved);
        phases.map(|phase| (phase, self.fiber_solver(phase)))
    }

    /// Number of lanes that the widest fiber set of the solved phases keeps busy.
    pub fn fiber_width(&self) -> u32 {
        let fabric = &self.live.cloth.fabric;
        let widths = self
            .solved_phases()
            .map(|(phase, (solver, _))| fabric.width_of_phase(phase as usize, solver));
        widths.max().unwrap_or(0) as u32
    }

    /// Stages that this cloth needs in its kernel; call after [`HostCloth::input_len`].
    pub fn stages(&self) -> StageMask {
        let needed = STAGES.iter().map(|row| row.stage).filter(|stage| self.needs(*stage));
        needed.fold(self.implicit_parts(), StageMask::with)
    }

    /// Parts of [`Stage::Implicit`] that this cloth needs.
    fn implicit_parts(&self) -> StageMask {
        let Cloth { config, fabric, .. } = &self.live.cloth;
        let Some(implicit) = config.solver.as_implicit() else {
            return StageMask(0);
        };
        let bends = implicit.bending_rigidity > 0.0;
        let has_springs = [
            implicit.stretch == StretchModel::Springs,
            bends && implicit.bend == BendModel::Springs,
        ];
        let parts = [
            (!has_springs[0], StageMask::TRIANGLES),
            (bends && !has_springs[1] && !fabric.bends.is_empty(), StageMask::BENDS),
            (has_springs.contains(&true), StageMask::SPRINGS),
            (implicit.preconditioner == Preconditioner::Fibers, StageMask::CHAINS),
            (implicit.max_halvings > 0, StageMask::HALVINGS),
        ];
        let needed = parts.into_iter().filter_map(|(is_needed, part)| is_needed.then_some(part));
        needed.fold(StageMask(0), StageMask::union)
    }

    /// True if a stage has an effect on this cloth.
    fn needs(&self, stage: Stage) -> bool {
        let live = &self.live;
        let (config, colliders, fabric) = (&live.cloth.config, &live.colliders, &live.cloth.fabric);
        let has_fibers = |kind| self.solved_phases().any(|(_, (solver, _))| solver == kind);
        match stage {
            Stage::Integrate | Stage::Mass => true,
            Stage::GaussSeidel => has_fibers(FiberSolver::GaussSeidel),
            Stage::SemiImplicit => has_fibers(FiberSolver::SemiImplicit),
            Stage::CyclicReduction => has_fibers(FiberSolver::CyclicReduction),
            Stage::Implicit => config.solver.as_implicit().is_some(),
            Stage::Bend => {
                let rigidity = config.solver.as_xpbd().map_or(0.0, |xpbd| xpbd.bending_rigidity);
                rigidity > 0.0 && !fabric.bends.is_empty()
            }
            Stage::Wind => config.air.acts(),
            Stage::Motion => !live.holds.is_empty() || live.acting_spheres().is_some(),
            Stage::Tether => fabric.tethers_per_particle > 0 && config.tethers.stiffness > 0.0,
            Stage::Separation => live.separation_spheres.is_set(),
            Stage::SelfCollide => {
                live.self_collision.is_on() && config.self_collision.stiffness > 0.0
            }
            Stage::CollideConvex => colliders.has_free_convexes(),
            Stage::CollideBox => colliders.has_free_boxes(),
            Stage::CollideTriangle => colliders.has_free_mesh(),
            Stage::CollideShape => colliders.has_free_shapes() && !config.contact.continuous,
            Stage::CollideContinuous => colliders.has_free_shapes() && config.contact.continuous,
            Stage::CollideBody => colliders.has_bodies() && !colliders.is_empty(),
            Stage::VirtualParticles => {
                colliders.has_free_shapes() && !fabric.virtual_particles.is_empty()
            }
            Stage::LimitSpeed => config.max_speed.is_some(),
            Stage::Sleep => config.sleep.threshold > 0.0,
        }
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
    pub fn skip_frame(&mut self, frame: &Frame) {
        self.rest(frame);
        self.count_skipped(u32::from(frame.dt > 0.0));
    }

    /// Begins a frame in which the resting cloth is not dispatched; [`HostCloth::is_settled`] is
    /// then true if more frames of this length change nothing.
    pub fn rest(&mut self, frame: &Frame) {
        self.live.clock.begin_frame(frame.dt, &self.live.cloth.config);
        self.is_settled = self.live.clock.is_settled();
        self.is_still = false;
    }

    /// Prefetches the collider data of the fast paths; ignore the return value.
    pub fn fetch(&self) -> u32 {
        let LiveCloth { writes, cloth, colliders, .. } = &self.live;
        let set = &cloth.colliders;
        writes.len() as u32 ^ set.len() as u32 ^ set.stamps().bodies as u32 ^ colliders.fetch()
    }

    /// Prefetches the lists that [`HostCloth::fetch`] located; ignore the return value.
    pub fn fetch_lists(&self) -> u32 {
        let LiveCloth { writes, cloth, colliders, .. } = &self.live;
        let write = writes.first().map_or(0, |(particle, _)| *particle);
        write ^ cloth.colliders.fetch() ^ colliders.fetch_lists()
    }

    /// Adds frames in which the cloth was not dispatched.
    pub fn count_skipped(&mut self, frames: u32) {
        self.skipped_frames = self.skipped_frames.wrapping_add(frames);
    }

    /// Number of frames in which the cloth was not dispatched because it slept.
    pub fn skipped_frames(&self) -> u32 {
        self.skipped_frames
    }

    /// Divides the next frame into iterations and appends this cloth's constants to `arrays`.
    pub fn pack_frame(
        &mut self,
        frame: &Frame,
        placement: &ClothPlacement,
        arrays: &mut FrameArrays,
    ) {
        let was_still = self.live.motion.is_settled();
        let steps = self.begin_frame(frame);
        self.pack_constants(frame, placement, steps, was_still, arrays);
        self.end_frame(steps.is_some(), was_still);
    }

    /// Like [`HostCloth::pack_frame`] for an engine that keeps `parameters` and rows of the last
    /// frame: packs only changes. Returns true if `arrays` has new rows; otherwise `arrays` is
    /// empty and the rows of the last frame stay valid.
    pub fn update_frame(
        &mut self,
        frame: &Frame,
        placement: &ClothPlacement,
        parameters: &mut ClothParameters,
        arrays: &mut FrameArrays,
    ) -> bool {
        let was_still = self.live.motion.is_settled();
        let steps = self.begin_frame(frame);
        let is_new = self.has_new_constants
            || !was_still
            || !self.has_still_constants
            || self.packed_for != Some((steps, self.live.pose()));
        arrays.clear();
        if is_new {
            self.pack_constants(frame, placement, steps, was_still, arrays);
            parameters.clone_from(&arrays.cloth_parameters[0]);
        } else {
            parameters.set_inputs(&self.inputs(placement, steps.as_ref()));
        }
        self.end_frame(steps.is_some(), was_still);
        is_new
    }

    /// True if only particles were written and colliders moved since the last frame, supposing that
    /// the next frame is as long and the simulation's colliders have not moved: then
    /// [`HostCloth::move_colliders`] replaces [`HostCloth::update_colliders`],
    /// [`HostCloth::take_inputs`] and [`HostCloth::update_frame`].
    pub fn is_quick(&self) -> bool {
        self.is_still
            && !self.live.has_new_plan
            && self.live.changes != ChangeScope::Anything
            && self.sleep_pass_count == 0
    }

    /// True if a quick cloth has colliders that move, or moved in the last frame.
    pub fn has_moving_colliders(&self) -> bool {
        !self.is_settled || self.live.changes == ChangeScope::Colliders
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

    /// Uploads the moved spheres of a quick cloth, like [`HostCloth::take_inputs`], if nothing else
    /// has moved. Returns the begins of the spheres at the frame's start and end, relative to the
    /// inputs; `None`, with nothing done, for any other cloth.
    pub fn move_spheres(
        &mut self,
        memory: &mut MovedSpheres,
        mut upload: impl FnMut(u32, &[[u32; 4]]),
    ) -> Option<[u32; 2]> {
        let begin = self.input_begins()[2];
        let LiveCloth { cloth, colliders, is_woken, changes, .. } = &mut self.live;
        if *changes != ChangeScope::Colliders {
            return None;
        }
        *is_woken |=
            colliders.move_spheres(&cloth.colliders, cloth.collider_groups, &mut memory.0)?;
        *changes = ChangeScope::Nothing;
        colliders.take_moved_spheres(|offset, values| upload(begin + offset, values));
        self.is_settled = !colliders.has_moving_spheres();
        cloth.colliders.end_frame();
        Some(colliders.end_spheres().map(|row| begin + row))
    }

    /// Uploads the moved colliders of a quick cloth and updates `parameters` except for the wake
    /// count ([`HostCloth::take_wake`]). Returns false if the cloth is not quick after all: then
    /// only [`HostCloth::update_colliders`] was done.
    ///
    /// # Errors
    /// As [`HostCloth::update_colliders`].
    pub fn move_colliders(
        &mut self,
        world: &ColliderSet,
        contact: &ClothContactSolver,
        frame: &Frame,
        placement: &ClothPlacement,
        parameters: &mut ClothParameters,
        mut upload: impl FnMut(u32, &[[u32; 4]]),
    ) -> Result<bool, ModelError> {
        if std::mem::replace(&mut self.live.changes, ChangeScope::Nothing) == ChangeScope::Colliders
        {
            self.update_colliders(world, contact, frame.dt)?;
            if self.live.colliders.has_new_lists() {
                return Ok(false);
            }
            let begin = self.input_begins()[2];
            self.live.colliders.take_changed(|offset, values| upload(begin + offset, values));
            self.is_settled = false;
        }
        if !self.is_settled {
            let steps = self.packed_for.and_then(|(steps, _)| steps);
            let input_begin = placement.input_begin.wrapping_add(self.input_begins()[2]);
            parameters.colliders = self.live.colliders.frame(
                &self.live.cloth.config,
                steps.as_ref(),
                placement.particle_count,
                input_begin,
                self.stage_scratch_len(),
            );
            self.is_settled = self.live.colliders.is_settled();
            self.live.colliders.end_frame(steps.is_some());
            self.live.cloth.colliders.end_frame();
        }
        Ok(true)
    }

    /// True if another frame without changes would repeat the last one: same parameters, no new
    /// input.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Returns true if [`HostCloth::update_colliders`] or the user has changed counts, stages,
    /// layouts or constants since the last call; if false, everything derived from them stays
    /// valid.
    pub fn take_new_plan(&mut self) -> bool {
        let is_new =
            std::mem::take(&mut self.live.has_new_plan) | self.live.colliders.take_new_lists();
        self.has_new_constants |= is_new;
        is_new
    }

    /// Makes the next frame pack all rows, as those of the last frame are lost.
    pub fn forget_constants(&mut self) {
        self.has_new_constants = true;
    }

    /// Divides the frame into iterations; raises the wake count of a woken cloth.
    fn begin_frame(&mut self, frame: &Frame) -> Option<FrameSteps> {
        // A cloth that has just lost the ability to sleep is woken once more.
        let can_sleep = self.live.cloth.config.sleep.threshold > 0.0;
        self.can_sleep |= can_sleep;
        if self.take_wake().is_none() && self.can_sleep && self.live.motion.is_moving() {
            self.wake();
        }
        self.can_sleep = can_sleep;
        self.live.clock.begin_frame(frame.dt, &self.live.cloth.config)
    }

    /// Packs parameters and rows, and advances the local space.
    fn pack_constants(
        &mut self,
        frame: &Frame,
        placement: &ClothPlacement,
        steps: Option<FrameSteps>,
        was_still: bool,
        arrays: &mut FrameArrays,
    ) {
        let velocities = steps.map(|_| self.live.motion.advance(frame.dt));
        let motion = steps.as_ref().zip(velocities.as_ref()).map(|(steps, velocities)| {
            motion_constants(&self.live.cloth.config, steps, velocities)
        });
        pack_cloth_parameters(
            &self.live.cloth,
            self.solved_phases(),
            placement,
            &self.inputs(placement, steps.as_ref()),
            steps.as_ref().zip(motion.as_ref()),
            arrays,
        );
        if let Some(parameters) =
            arrays.cloth_parameters.last_mut().filter(|_| !self.live.holds.is_empty())
        {
            // Merged spheres are already scaled.
            let motion = &mut parameters.motion;
            (motion.scale, motion.bias) = (1.0, 0.0);
            if self.live.acting_spheres().is_none() {
                motion.stiffness = 1.0;
            }
        }
        (self.has_new_constants, self.has_still_constants) = (false, was_still);
        self.packed_for = Some((steps, self.live.pose()));
    }

    /// Offsets of the inputs of this frame.
    fn inputs(&self, placement: &ClothPlacement, steps: Option<&FrameSteps>) -> InputOffsets {
        let slots = ParticleSlots { particle_count: placement.particle_count };
        let at = |is_set: bool, offset: u32| {
            if is_set { placement.input_begin + offset } else { NO_OFFSET }
        };
        let halves = |array: &InterpolatedArray, slot: u32| {
            array.offsets().map(|half| at(array.is_set(), slot + half))
        };
        InputOffsets {
            acceleration_begin: at(
                !self.live.cloth.particle_accelerations.is_empty(),
                slots.accelerations(),
            ),
            motion: halves(self.live.frame_spheres(), slots.motion()),
            separation: halves(&self.live.separation_spheres, slots.separation()),
            wake_count: self.wake_count,
            solve_begin: self.stage_scratch_lens[0],
            self_collision: self.live.self_collision.frame(
                &self.live.cloth,
                steps,
                placement,
                placement.input_begin.wrapping_add(self.input_begins()[1]),
                self.scratch_begins()[1],
            ),
            colliders: self.live.colliders.frame(
                &self.live.cloth.config,
                steps,
                placement.particle_count,
                placement.input_begin.wrapping_add(self.input_begins()[2]),
                self.stage_scratch_len(),
            ),
        }
    }

    /// Ends the frame: targets become starts.
    fn end_frame(&mut self, is_simulated: bool, was_still: bool) {
        let live = &mut self.live;
        let arrays = [&live.motion_spheres, live.holds.spheres(), &live.separation_spheres];
        live.changes = ChangeScope::Nothing;
        self.is_still = live.clock.is_settled()
            && was_still
            && !arrays.into_iter().any(InterpolatedArray::has_target);
        self.is_settled = self.is_still && live.colliders.is_settled();
        live.motion_spheres.end_frame();
        live.holds.end_frame();
        live.separation_spheres.end_frame();
        live.colliders.end_frame(is_simulated);
        live.cloth.colliders.end_frame();
    }
}

/// Solvability of the fibers of a phase as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WholeFibers {
    /// Only edge by edge: a fiber visits a particle twice, so two of its edges would move it at
    /// once.
    Knotted,
    /// Only by the pass along the fiber: a fiber has two pins, so its system may be singular, which
    /// only that pass guards against.
    Held,
    /// Also by cyclic reduction, in `rounds` rounds for the longest fiber.
    Free { rounds: u32 },
}

impl WholeFibers {
    fn of(cloth: &Cloth, phase: &Phase) -> Self {
        let fabric = &cloth.fabric;
        let mut visitor = vec![usize::MAX; cloth.particle_count()];
        let (mut longest, mut is_held) = (1, false);
        for fiber in fabric.fibers_of_phase(phase) {
            let vertices = fabric.fiber_vertices(fiber);
            let mut pin_count = 0;
            for &vertex in vertices {
                if cloth.particles[vertex as usize].is_pinned() {
                    // Pinned particles do not move, so a fiber may visit them twice.
                    pin_count += 1;
                } else if std::mem::replace(&mut visitor[vertex as usize], fiber) == fiber {
                    return Self::Knotted;
                }
            }
            is_held |= pin_count > 1;
            longest = longest.max(vertices.len() as u32 - 1);
        }
        if is_held {
            return Self::Held;
        }
        Self::Free { rounds: longest.next_power_of_two().ilog2() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_layout::pack_fabric;
    use poplin_model::{Fabric, TriangleMesh};
    use std::sync::Arc;

    /// Largest displacement of a mesh vertex in an iteration of the next frame \[m\], as the kernel
    /// reads it.
    fn next_mesh_step(host: &mut HostCloth) -> f32 {
        let placement = ClothPlacement {
            cloth: 0,
            particle_begin: 0,
            particle_count: 1,
            scratch_begin: 0,
            input_begin: 0,
            fabric: pack_fabric(&host.cloth().fabric, &mut Vec::new()),
        };
        let mut arrays = FrameArrays::default();
        host.update_colliders(&ColliderSet::new(), &ClothContactSolver::default(), 0.1).unwrap();
        host.input_len();
        host.pack_frame(&Frame { dt: 0.1 }, &placement, &mut arrays);
        arrays.cloth_parameters[0].colliders.mesh_step
    }

    #[test]
    fn a_copy_searches_the_mesh_again_as_its_scratch_is_new() {
        let fabric = Fabric {
            particle_count: 1,
            set_fiber_begin: vec![0],
            fiber_edge_begin: vec![0],
            ..Fabric::default()
        };
        let mut cloth = Cloth::new(Arc::new(fabric), [[0.0, 0.0, 0.0, 1.0]]);
        let (vertices, triangles) = ([[0.0; 3]; 3].into(), [[0, 1, 2]].into());
        cloth.colliders.add(TriangleMesh { vertices, triangles }).unwrap();
        let mut host = HostCloth::new(cloth).unwrap();
        let steps = [next_mesh_step(&mut host), next_mesh_step(&mut host)];
        assert!(steps[0] > 1e9 && steps[1] == 0.0, "{steps:?}");
        assert!(next_mesh_step(&mut host.copy()) > 1e9);
    }
}
