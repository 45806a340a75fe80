//! The host side of a cloth, the same for both backends: its settings, inputs, frame and clock.

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
use crate::live::Changes;
use crate::self_collision::member_count;
use crate::{
    FrameClock, FrameMotion, InterpolatedArray, LiveCloth, MAX_ITERATIONS_PER_FRAME, MemoryNeeds,
    ParticleMotion, motion_constants,
};

/// Memory of [`HostCloth::move_spheres`], one for all cloths: it stays in the cache.
#[derive(Debug, Default)]
pub struct MovedSpheres(Halves);

/// Writes that are compared with one another, in place of sorting them.
const FEW_WRITES: usize = 16;

/// A validated cloth in simulation, as its engine sees it: what its user sets and sees is in the [`LiveCloth`]; sleep and
/// the plan of its inputs are here.
#[derive(Debug, Clone)]
// As LiveCloth: what is read of every changed cloth comes first.
#[repr(C)]
pub struct HostCloth {
    sleep_pass_count: u32,
    wake_count: u32,
    skipped_frames: u32,
    is_settled: bool,
    /// The same but for its colliders.
    is_still: bool,
    /// In the last frame: of a cloth that cannot, no wakings are counted.
    can_sleep: bool,
    /// Vec4 of the inputs: per particle, of self collision, of the colliders.
    input_lens: [u32; 3],
    live: LiveCloth,
    /// Scratch of the stages before the colliders, and what an implicit solve needs besides.
    stage_scratch_lens: [u32; 2],
    /// Of each phase of the fabric; found on first use.
    whole_fibers: OnceLock<Vec<WholeFibers>>,
    /// Settings have changed since the constants were packed.
    has_new_constants: bool,
    /// They are of a local space that neither moved nor had moved in the frame before.
    has_still_constants: bool,
    /// How the frame was divided for which they were packed, and the pose at its end.
    packed_for: Option<(Option<FrameSteps>, Pose)>,
}

/// Where the per-particle inputs of a cloth lie, relative to the beginning of its part of `input_pool`, in vec4. Colliders
/// follow them.
#[derive(Debug, Clone, Copy)]
struct ParticleSlots {
    particle_count: u32,
}

impl ParticleSlots {
    fn accelerations(self) -> u32 {
        0
    }

    /// Both halves.
    fn motion(self) -> u32 {
        self.particle_count
    }

    /// Both halves.
    fn separation(self) -> u32 {
        3 * self.particle_count
    }

    fn total(self) -> u32 {
        5 * self.particle_count
    }
}

impl HostCloth {
    /// Takes a cloth into simulation.
    ///
    /// # Errors
    /// [`ModelError`] if [`Cloth::validate`] refuses it.
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

    /// A copy for another location in the buffers: all its inputs are uploaded again.
    #[must_use]
    pub fn copy(&self) -> Self {
        let mut copy = self.clone();
        copy.input_lens = [0; 3];
        copy.live.accelerations_changed = true;
        copy.live.changes = Changes::Anything;
        // The scratch does not come along.
        copy.live.colliders.forget_nearby();
        (copy.live.has_new_plan, copy.is_settled, copy.is_still) = (true, false, false);
        copy.live.forget_holds();
        copy
    }

    /// What the user sets and sees.
    pub fn live(&self) -> &LiveCloth {
        &self.live
    }

    /// What the user sets and sees, to change it from the next frame on.
    pub fn live_mut(&mut self) -> &mut LiveCloth {
        &mut self.live
    }

    /// The cloth as it was added, with its present settings; see [`LiveCloth::cloth`].
    pub fn cloth(&self) -> &Cloth {
        &self.live.cloth
    }

    /// Resets clock, local space and counters to what they were when the cloth was added, and discards writes to particles.
    /// Settings and inputs stay.
    pub fn reset(&mut self) {
        self.live.clock = FrameClock::default();
        self.live.motion = FrameMotion::new(self.live.cloth.pose);
        self.live.forget_writes();
        (self.sleep_pass_count, self.skipped_frames) = (0, 0);
        self.live.has_new_plan = true;
    }

    /// Takes new particles as [`Engine::set_particles`](crate::Engine::set_particles) does; returns what `previous` becomes.
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
        if matches!(motion, ParticleMotion::Velocities(_)) {
            self.live.clock.assume_step(step);
        }
        self.live.forget_writes();
        Ok(previous)
    }

    /// Takes over what has changed of the cloth's own colliders and of `world`, those of the engine, for a frame of `dt`
    /// seconds with this contact. Call before anything is asked for a frame. Contact of triangles keeps half the thickness from colliders:
    /// rigid bodies then feel particles at that distance.
    ///
    /// # Errors
    /// [`ModelError::MeshesOfBodies`]; the cloth keeps what it met before.
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

    /// Whether the next frame, if it is as long as the last one, may be refused: settings or colliders are others.
    pub fn needs_check(&self, world: &ColliderSet) -> bool {
        let LiveCloth { cloth, colliders, has_new_plan, changes, .. } = &self.live;
        let groups = cloth.collider_groups;
        *has_new_plan
            || (*changes != Changes::Nothing
                && colliders.has_other_members(&cloth.colliders, world, groups))
    }

    /// The bodies whose impulses the next frame reports.
    pub fn frame_bodies(&self) -> FrameBodies {
        self.live.colliders.frame_bodies()
    }

    /// Where the kernel writes the impulses on bodies in the cloth's scratch; [`FrameBodies::impulses`] reads them.
    pub fn body_rows(&self) -> std::ops::Range<u32> {
        let begin = self.stage_scratch_len()
            + self.live.colliders.impulse_begin(self.live.cloth.particle_count() as u32);
        begin..begin + BODY_ROWS * self.live.colliders.body_count()
    }

    /// Current particles as the kernel starts with them: position and inverse mass.
    pub fn initial_current(&self) -> &[Particle] {
        &self.live.cloth.particles
    }

    /// Previous particles as the kernel starts with them; their inverse mass is the user's and never changes.
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

    /// Lays out the inputs and returns the vec4 that they take in `input_pool`; call after
    /// [`HostCloth::update_colliders`]. More than in the last frame means a new layout: then [`HostCloth::take_inputs`]
    /// passes on everything again.
    pub fn input_len(&mut self) -> u32 {
        let before = self.input_lens;
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

    /// Where the parts of the inputs begin: per particle, of self collision, of the colliders.
    fn input_begins(&self) -> [u32; 3] {
        let [particles, own, _] = self.input_lens;
        [0, particles, particles + own]
    }

    /// Scratch of the stages before the colliders.
    fn stage_scratch_len(&self) -> u32 {
        let [stages, solve] = self.stage_scratch_lens;
        let is_implicit = self.live.cloth.config.solver.as_implicit().is_some();
        if is_implicit { stages + solve } else { stages }
    }

    /// Where the scratch of the colliders and of self collision begins.
    fn scratch_begins(&self) -> [u32; 2] {
        let colliders = self.live.colliders.scratch_len(self.live.cloth.particle_count() as u32);
        [self.stage_scratch_len(), self.stage_scratch_len() + colliders]
    }

    /// Rows of the scratch that a frame finds as the last one left them: what particles remember of a mesh, impulses on bodies.
    /// All others are written before they are read in every iteration.
    pub fn kept_rows(&self) -> std::ops::Range<u32> {
        let [begin, end] = self.scratch_begins();
        let keeps = self.live.colliders.has_free_mesh() || self.live.colliders.has_bodies();
        begin..if keeps { end } else { begin }
    }

    /// Vec4 of scratch that the cloth needs; call after [`HostCloth::input_len`].
    pub fn scratch_len(&self) -> u32 {
        self.scratch_begins()[1] + self.live.self_collision.scratch_len(&self.live.cloth)
    }

    /// Passes on each part of the inputs that changed, floats as their bits, with its offset in the cloth's part of
    /// `input_pool` \[vec4\].
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

    /// Passes on the particle writes since the last call: of each particle the last one.
    pub fn take_writes(&mut self, mut write: impl FnMut(u32, Particle)) {
        let writes = &mut self.live.writes;
        if writes.len() > FEW_WRITES {
            // Stable: of equal particles the last one stays last.
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

    /// Checks that the next frame is in range for this cloth, before any cloth is stepped.
    ///
    /// # Errors
    /// [`ModelError`] if the frame is out of range or needs more than [`MAX_ITERATIONS_PER_FRAME`] iterations.
    pub fn validate_frame(&self, frame: &Frame) -> Result<(), ModelError> {
        frame.validate()?;
        // The others have as many iterations as the settings say, which have been checked.
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

    /// Loop trips of one particle in one iteration that its colliders and self collision take.
    pub fn collision_trips(&self) -> u64 {
        self.live.colliders.trips_per_particle() + self.live.self_collision.trips_per_particle()
    }

    /// Distance that the cloth keeps from others \[m\], 0 if it takes no part in their collision.
    pub fn cloth_collision_distance(&self) -> f32 {
        self.live.self_collision.cloth_distance()
    }

    /// Whether it needs a grid of self collision.
    pub fn has_self_collision(&self) -> bool {
        self.live.self_collision.is_on()
    }

    /// Particles that take part in self collision.
    pub fn self_collision_count(&self) -> u32 {
        member_count(&self.live.cloth)
    }

    /// What it would have in the memory of its workgroup, with `fiber_row_count` rows in each half of those of whole fibers.
    pub fn memory_needs(&self, fiber_row_count: u32) -> MemoryNeeds {
        let stages = self.stages();
        let has_rows = stages.intersects(StageMask::WHOLE_FIBERS);
        MemoryNeeds {
            particle_count: self.cloth().particle_count() as u32,
            member_count: stages.contains(Stage::SelfCollide).then(|| self.self_collision_count()),
            row_len: if has_rows { 2 * fiber_row_count } else { 0 },
        }
    }

    /// How the fibers of a phase are solved in the next frame, and the rounds of cyclic reduction that takes.
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
                if solver == FiberSolver::CyclicReduction && !self.live.has_motion_spheres() =>
            {
                (solver, rounds)
            }
            _ => (FiberSolver::SemiImplicit, 0),
        }
    }

    /// The phases that are solved, in order, with how their fibers are.
    fn solved_phases(&self) -> impl Iterator<Item = (u32, (FiberSolver, u32))> + Clone {
        let Cloth { fabric, config, phase_order, .. } = &self.live.cloth;
        let is_solved =
            |&index: &u32| config.solver.solves(index, fabric.phases[index as usize].kind);
        let phases = phase_order.iter().copied().filter(is_solved);
        phases.map(|phase| (phase, self.fiber_solver(phase)))
    }

    /// Lanes that the widest set of its phases keeps busy.
    pub fn fiber_width(&self) -> u32 {
        let fabric = &self.live.cloth.fabric;
        let widths = self
            .solved_phases()
            .map(|(phase, (solver, _))| fabric.width_of_phase(phase as usize, solver));
        widths.max().unwrap_or(0) as u32
    }

    /// The stages that this cloth needs in its kernel; call after [`HostCloth::input_len`].
    pub fn stages(&self) -> StageMask {
        let needed = STAGES.iter().map(|row| row.stage).filter(|stage| self.needs(*stage));
        needed.fold(self.implicit_parts(), StageMask::with)
    }

    /// The parts of [`Stage::Implicit`] that it needs.
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

    /// Whether a stage would do anything to this cloth.
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

    /// Whether the backend reported the cloth asleep and nothing has woken it since: it need not be dispatched.
    pub fn is_resting(&self) -> bool {
        let config = &self.live.cloth.config;
        let is_asleep =
            config.sleep.threshold > 0.0 && self.sleep_pass_count >= config.sleep.after_count;
        is_asleep && !self.live.is_woken && !self.live.motion.is_moving()
    }

    /// Takes over the kernel's report; one from before the last change is ignored.
    pub fn note_feedback(&mut self, feedback: &Feedback) {
        self.sleep_pass_count =
            if feedback.wake_count == self.wake_count { feedback.sleep_pass_count } else { 0 };
    }

    /// Counts a frame in which the resting cloth was not dispatched at all; time goes on for its clock.
    pub fn skip_frame(&mut self, frame: &Frame) {
        self.rest(frame);
        self.count_skipped(u32::from(frame.dt > 0.0));
    }

    /// Begins a frame in which the resting cloth is not dispatched; [`HostCloth::is_settled`] says whether frames like it change
    /// nothing more.
    pub fn rest(&mut self, frame: &Frame) {
        self.live.clock.begin_frame(frame.dt, &self.live.cloth.config);
        self.is_settled = self.live.clock.is_settled();
        self.is_still = false;
    }

    /// Reads a little of what moved colliders are taken over from, so that it is in the cache; the number means nothing.
    pub fn fetch(&self) -> u32 {
        let LiveCloth { writes, cloth, colliders, .. } = &self.live;
        let set = &cloth.colliders;
        writes.len() as u32 ^ set.len() as u32 ^ set.stamps().bodies as u32 ^ colliders.fetch()
    }

    /// The same of the lists there, once [`HostCloth::fetch`] has read where they are.
    pub fn fetch_lists(&self) -> u32 {
        let LiveCloth { writes, cloth, colliders, .. } = &self.live;
        let write = writes.first().map_or(0, |(particle, _)| *particle);
        write ^ cloth.colliders.fetch() ^ colliders.fetch_lists()
    }

    /// Counts frames in which it was not dispatched.
    pub fn count_skipped(&mut self, frames: u32) {
        self.skipped_frames = self.skipped_frames.wrapping_add(frames);
    }

    /// Frames in which the cloth was not dispatched because it slept.
    pub fn skipped_frames(&self) -> u32 {
        self.skipped_frames
    }

    /// Cuts the next frame and appends this cloth's constants to `arrays`.
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

    /// The same for an engine that keeps `parameters` and rows of the last frame: only what has changed since is packed anew.
    /// Returns whether the rows in `arrays` are new; else there are none, and those of the last frame hold.
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

    /// Whether at most particles were written and colliders moved since the last frame, if the next one is as long and the
    /// simulation's colliders are where they were: then [`HostCloth::move_colliders`] does what
    /// [`HostCloth::update_colliders`], [`HostCloth::take_inputs`] and [`HostCloth::update_frame`] would do.
    pub fn is_quick(&self) -> bool {
        self.is_still
            && !self.live.has_new_plan
            && self.live.changes != Changes::Anything
            && self.sleep_pass_count == 0
    }

    /// Whether a quick cloth has colliders that move or have moved.
    pub fn has_moving_colliders(&self) -> bool {
        !self.is_settled || self.live.changes == Changes::Colliders
    }

    /// The new count of a cloth that can sleep and that something has woken.
    pub fn take_wake(&mut self) -> Option<u32> {
        (std::mem::take(&mut self.live.is_woken) && self.can_sleep).then(|| {
            self.wake();
            self.wake_count
        })
    }

    /// Earlier reports no longer count, even if nothing is read back for a while.
    fn wake(&mut self) {
        (self.wake_count, self.sleep_pass_count) = (self.wake_count.wrapping_add(1), 0);
    }

    /// Takes over where the spheres of a quick cloth's own set are, if at most these have moved, and passes on what is new, as
    /// [`HostCloth::take_inputs`]. Returns where the spheres begin at the frame's start and at its end, relative to the inputs; `None`,
    /// and nothing is done, of any other cloth.
    pub fn move_spheres(
        &mut self,
        memory: &mut MovedSpheres,
        mut upload: impl FnMut(u32, &[[u32; 4]]),
    ) -> Option<[u32; 2]> {
        let begin = self.input_begins()[2];
        let LiveCloth { cloth, colliders, is_woken, changes, .. } = &mut self.live;
        if *changes != Changes::Colliders {
            return None;
        }
        *is_woken |=
            colliders.move_spheres(&cloth.colliders, cloth.collider_groups, &mut memory.0)?;
        *changes = Changes::Nothing;
        colliders.take_moved_spheres(|offset, values| upload(begin + offset, values));
        self.is_settled = !colliders.has_moving_spheres();
        cloth.colliders.end_frame();
        Some(colliders.end_spheres().map(|row| begin + row))
    }

    /// Takes over what has moved of a quick cloth's own colliders, and brings `parameters` up to date but for the wakings
    /// ([`HostCloth::take_wake`]). Returns false if it is not quick after all: then nothing but
    /// [`HostCloth::update_colliders`] was done.
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
        if std::mem::replace(&mut self.live.changes, Changes::Nothing) == Changes::Colliders {
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

    /// Whether the last frame would be repeated if nothing changed: the same parameters and no new input.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Takes over what [`HostCloth::update_colliders`] and the user have changed of counts, stages, layouts and constants; false if
    /// nothing, so that what was computed of them holds.
    pub fn take_new_plan(&mut self) -> bool {
        let is_new =
            std::mem::take(&mut self.live.has_new_plan) | self.live.colliders.take_new_lists();
        self.has_new_constants |= is_new;
        is_new
    }

    /// The last frame's rows are lost: the next one packs all of them.
    pub fn forget_constants(&mut self) {
        self.has_new_constants = true;
    }

    /// Divides the frame into iterations; a cloth that was woken gets a new count.
    fn begin_frame(&mut self, frame: &Frame) -> Option<FrameSteps> {
        // One that no longer can is woken once more.
        let can_sleep = self.live.cloth.config.sleep.threshold > 0.0;
        self.can_sleep |= can_sleep;
        if self.take_wake().is_none() && self.can_sleep && self.live.motion.is_moving() {
            self.wake();
        }
        self.can_sleep = can_sleep;
        self.live.clock.begin_frame(frame.dt, &self.live.cloth.config)
    }

    /// Packs parameters and rows; the local space moves on.
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
            // Merged spheres are scaled already.
            let motion = &mut parameters.motion;
            (motion.scale, motion.bias) = (1.0, 0.0);
            if self.live.acting_spheres().is_none() {
                motion.stiffness = 1.0;
            }
        }
        (self.has_new_constants, self.has_still_constants) = (false, was_still);
        self.packed_for = Some((steps, self.live.pose()));
    }

    /// Where the inputs of this frame are.
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

    /// What moved over the frame has arrived.
    fn end_frame(&mut self, is_simulated: bool, was_still: bool) {
        let live = &mut self.live;
        let arrays = [&live.motion_spheres, live.holds.spheres(), &live.separation_spheres];
        live.changes = Changes::Nothing;
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

/// How the fibers of a phase can be solved as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WholeFibers {
    /// Not at all: a fiber visits a particle twice, which two of its edges would move at once.
    Knotted,
    /// By the pass along the fiber alone: one has two pins, so that its system may have no solution, against which only that
    /// pass guards.
    Held,
    /// By cyclic reduction too, in so many rounds for the longest.
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

    /// The largest displacement of a mesh vertex in an iteration of the next frame, as the kernel reads it.
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
    fn a_copy_finds_the_mesh_anew_as_its_scratch_is_of_others() {
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
