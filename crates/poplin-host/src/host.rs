//! The host side of a cloth, the same for both backends: its settings, inputs, frame and clock.

use bytemuck::cast_slice;
use std::sync::OnceLock;

use poplin_layout::{
    BODY_ROWS, ClothPlacement, Feedback, FrameArrays, InputOffsets, NO_OFFSET, Stage, StageMask,
    pack_cloth_parameters, stage_scratch_len,
};
use poplin_model::{
    Cloth, ClothConfig, Colliders, FiberSolver, Frame, ModelError, Parallelepiped, Phase,
    PhaseConfig, Pose, RigidBody,
};

use crate::colliders::HostColliders;
use crate::self_collision::{HostSelfCollision, member_count};
use crate::{
    FrameClock, FrameMotion, InterpolatedArray, MAX_ITERATIONS_PER_FRAME, motion_constants,
};

/// A validated cloth in simulation. All changes act from the next frame on; one that really changes something wakes a
/// sleeping cloth.
#[derive(Debug, Clone)]
pub struct HostCloth {
    cloth: Cloth,
    clock: FrameClock,
    motion: FrameMotion,
    motion_spheres: InterpolatedArray,
    separation_spheres: InterpolatedArray,
    colliders: HostColliders,
    self_collision: HostSelfCollision,
    /// Vec4 of the inputs: per particle, of self collision, of the colliders.
    input_lens: [u32; 3],
    /// Scratch of the stages before the colliders.
    stage_scratch_len: u32,
    /// Rounds of cyclic reduction of each phase of the fabric, `None` if one of its fibers has two pins; found when first asked for.
    cyclic_rounds: OnceLock<Vec<Option<u32>>>,
    accelerations_changed: bool,
    writes: Vec<(u32, [f32; 4])>,
    last_write: (Vec<u32>, Vec<[f32; 4]>),
    is_woken: bool,
    sleep_pass_count: u32,
    wake_count: u32,
    skipped_frames: u32,
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
    pub fn new(mut cloth: Cloth) -> Result<Self, ModelError> {
        cloth.validate()?;
        let colliders = std::mem::take(&mut cloth.colliders);
        Ok(Self {
            clock: FrameClock::default(),
            motion: FrameMotion::new(cloth.pose),
            motion_spheres: InterpolatedArray::default(),
            separation_spheres: InterpolatedArray::default(),
            colliders: HostColliders::new(&colliders),
            self_collision: HostSelfCollision::new(&cloth),
            input_lens: [0; 3],
            stage_scratch_len: stage_scratch_len(&cloth.fabric),
            cyclic_rounds: OnceLock::new(),
            accelerations_changed: !cloth.particle_accelerations.is_empty(),
            writes: Vec::new(),
            last_write: (Vec::new(), Vec::new()),
            is_woken: false,
            sleep_pass_count: 0,
            wake_count: 0,
            skipped_frames: 0,
            cloth,
        })
    }

    /// The cloth as it was added, with its present settings; its colliders are in [`HostCloth::colliders`].
    pub fn cloth(&self) -> &Cloth {
        &self.cloth
    }

    /// Where the local frame stands after the last frame.
    pub fn pose(&self) -> Pose {
        self.motion.pose()
    }

    /// Where the local frame will stand after the next frame.
    pub fn target_pose(&self) -> Pose {
        self.motion.target()
    }

    /// Replaces the settings. To change the solver, first give phases that both solvers take ([`PhaseConfig::stiff`]).
    ///
    /// # Errors
    /// [`ModelError`] if a field is out of range, or the solver does not read what the settings, phases or fabric say; the old
    /// settings stay.
    pub fn set_config(&mut self, config: ClothConfig) -> Result<(), ModelError> {
        self.cloth.validate_config(&config)?;
        self.is_woken |= config != self.cloth.config;
        let distances = |config: &ClothConfig| {
            (config.thickness, config.self_collision_distance, config.cloth_collision_distance)
        };
        let old = std::mem::replace(&mut self.cloth.config, config);
        if distances(&old) != distances(&self.cloth.config) {
            self.self_collision.update(&self.cloth);
        }
        Ok(())
    }

    /// Replaces the phases and their order.
    ///
    /// # Errors
    /// [`ModelError`] if a phase does not exist or a field is out of range; the old phases stay.
    pub fn set_phase_configs(&mut self, configs: &[PhaseConfig]) -> Result<(), ModelError> {
        self.cloth.validate_phase_configs(configs)?;
        self.is_woken |= configs != self.cloth.phase_configs;
        self.cloth.phase_configs = configs.to_vec();
        Ok(())
    }

    /// Replaces the particle accelerations [m/s^2], shape `[particle_count]`; empty switches them off.
    ///
    /// # Errors
    /// [`ModelError`] if the length differs from the particle count or a number is not finite; the old ones stay.
    pub fn set_particle_accelerations(
        &mut self,
        accelerations: &[[f32; 3]],
    ) -> Result<(), ModelError> {
        self.check_length("particle_accelerations", accelerations.len())?;
        let old = std::mem::replace(&mut self.cloth.particle_accelerations, accelerations.to_vec());
        if let Err(error) = self.cloth.validate_accelerations() {
            self.cloth.particle_accelerations = old;
            return Err(error);
        }
        self.is_woken |= old != self.cloth.particle_accelerations;
        self.accelerations_changed = true;
        Ok(())
    }

    /// Sets a sphere (center \[m\], radius \[m\]) around each particle that it may not leave, shape `[particle_count]`; empty
    /// switches them off. The first array acts at once, later ones are reached over the next frame. A radius of 0 or less
    /// holds the particle at the center.
    ///
    /// # Errors
    /// [`ModelError`] if the length differs from the particle count or a number is not finite; the old ones stay.
    pub fn set_motion_spheres(&mut self, spheres: &[[f32; 4]]) -> Result<(), ModelError> {
        self.check_spheres("motion_spheres", spheres)?;
        self.is_woken |= self.motion_spheres.set(spheres);
        Ok(())
    }

    /// Sets a sphere (center \[m\], radius \[m\]) for each particle that it may not enter, shape `[particle_count]`; empty
    /// switches them off. The first array acts at once, later ones are reached over the next frame.
    ///
    /// # Errors
    /// [`ModelError`] if the length differs from the particle count or a number is not finite; the old ones stay.
    pub fn set_separation_spheres(&mut self, spheres: &[[f32; 4]]) -> Result<(), ModelError> {
        self.check_spheres("separation_spheres", spheres)?;
        self.is_woken |= self.separation_spheres.set(spheres);
        Ok(())
    }

    /// Replaces the positions at rest \[m\] by which self collision spares neighbours, shape `[particle_count]`; empty: the
    /// particles as the cloth was added.
    ///
    /// # Errors
    /// [`ModelError`] if the length differs from the particle count or a number is not finite; the old ones stay.
    pub fn set_rest_positions(&mut self, positions: &[[f32; 3]]) -> Result<(), ModelError> {
        self.check_length("rest_positions", positions.len())?;
        poplin_model::check_finite("rest_positions", positions)?;
        self.is_woken |= positions != self.cloth.rest_positions;
        self.cloth.rest_positions = positions.to_vec();
        self.self_collision.update(&self.cloth);
        Ok(())
    }

    /// Restricts self collision to some particles, each named once; empty: all.
    ///
    /// # Errors
    /// [`ModelError`] if an index is out of range or repeated; the old ones stay.
    pub fn set_self_collision_indices(&mut self, indices: &[u32]) -> Result<(), ModelError> {
        self.cloth.validate_self_collision_indices(indices)?;
        self.is_woken |= indices != self.cloth.self_collision_indices;
        self.cloth.self_collision_indices = indices.to_vec();
        self.self_collision.update(&self.cloth);
        Ok(())
    }

    /// What the cloth collides with, as last set.
    pub fn colliders(&self) -> &Colliders {
        self.colliders.colliders()
    }

    /// Replaces everything that the cloth collides with. Arrays of unchanged length are reached over the next frame, others
    /// act at once.
    ///
    /// # Errors
    /// [`ModelError`] if a number or index is out of range; the old colliders stay.
    pub fn set_colliders(&mut self, colliders: &Colliders) -> Result<(), ModelError> {
        colliders.validate()?;
        self.is_woken |= self.colliders.replace(colliders);
        Ok(())
    }

    /// Replaces the spheres; as many as before are reached over the next frame, another number acts at once.
    ///
    /// # Errors
    /// [`ModelError`] if a number is out of range or a capsule or body would miss its sphere; the old spheres stay.
    pub fn set_spheres(&mut self, spheres: &[[f32; 4]]) -> Result<(), ModelError> {
        self.colliders.check(|copy| copy.spheres = spheres.to_vec())?;
        self.is_woken |= self.colliders.set_spheres(spheres);
        Ok(())
    }

    /// Replaces the spheres by where they are at the start and at the end of the next frame.
    ///
    /// # Errors
    /// [`ModelError`] as [`HostCloth::set_spheres`], or if the lengths differ; the old spheres stay.
    pub fn set_spheres_start_target(
        &mut self,
        start: &[[f32; 4]],
        target: &[[f32; 4]],
    ) -> Result<(), ModelError> {
        if start.len() != target.len() {
            return Err(ModelError::Length {
                what: "target spheres",
                len: target.len(),
                expected: start.len(),
            });
        }
        for spheres in [start, target] {
            self.colliders.check(|copy| copy.spheres = spheres.to_vec())?;
        }
        self.is_woken |= self.colliders.set_spheres_start_target(start, target);
        Ok(())
    }

    /// Replaces the capsules, pairs of spheres. Acts at once.
    ///
    /// # Errors
    /// [`ModelError`] if an index is out of range; the old capsules stay.
    pub fn set_capsules(&mut self, capsules: &[[u32; 2]]) -> Result<(), ModelError> {
        self.colliders.check(|copy| copy.capsules = capsules.to_vec())?;
        self.is_woken |= self.colliders.set_capsules(capsules);
        Ok(())
    }

    /// Replaces the planes; as many as before are reached over the next frame, another number acts at once.
    ///
    /// # Errors
    /// [`ModelError`] if a number is out of range or a convex would miss its plane; the old planes stay.
    pub fn set_planes(&mut self, planes: &[[f32; 4]]) -> Result<(), ModelError> {
        self.colliders.check(|copy| copy.planes = planes.to_vec())?;
        self.is_woken |= self.colliders.set_planes(planes);
        Ok(())
    }

    /// Replaces the convexes, lists of planes. Acts at once.
    ///
    /// # Errors
    /// [`ModelError`] if an index is out of range or a list is empty; the old convexes stay.
    pub fn set_convexes(&mut self, convexes: &[Vec<u32>]) -> Result<(), ModelError> {
        self.colliders.check(|copy| copy.convexes = convexes.to_vec())?;
        self.is_woken |= self.colliders.set_convexes(convexes);
        Ok(())
    }

    /// Replaces the boxes; as many as before are reached over the next frame, another number acts at once.
    ///
    /// # Errors
    /// [`ModelError`] if a number is not finite or a body would miss its box; the old boxes stay.
    pub fn set_boxes(&mut self, boxes: &[Parallelepiped]) -> Result<(), ModelError> {
        self.colliders.check(|copy| copy.boxes = boxes.to_vec())?;
        self.is_woken |= self.colliders.set_boxes(boxes);
        Ok(())
    }

    /// Replaces the triangle mesh. New triangles are sorted into a tree, the same triangles keep theirs. As many vertices as
    /// before are reached over the next frame.
    ///
    /// # Errors
    /// [`ModelError`] if a number or index is out of range; the old mesh stays.
    pub fn set_mesh(
        &mut self,
        vertices: &[[f32; 3]],
        triangles: &[[u32; 3]],
    ) -> Result<(), ModelError> {
        let (mesh_vertices, mesh_triangles) = (vertices.to_vec(), triangles.to_vec());
        Colliders { mesh_vertices, mesh_triangles, ..Colliders::default() }.validate_mesh()?;
        self.is_woken |= self.colliders.set_mesh(vertices, triangles);
        Ok(())
    }

    /// Moves the vertices of the triangle mesh: they are reached over the next frame.
    ///
    /// # Errors
    /// [`ModelError`] if a number is not finite or the mesh has another number of vertices; the old ones stay.
    pub fn set_mesh_vertices(&mut self, vertices: &[[f32; 3]]) -> Result<(), ModelError> {
        let expected = self.colliders.colliders().mesh_vertices.len();
        if vertices.len() != expected {
            return Err(ModelError::Length {
                what: "mesh_vertices",
                len: vertices.len(),
                expected,
            });
        }
        poplin_model::check_finite("mesh_vertices", vertices)?;
        self.is_woken |= self.colliders.set_mesh_vertices(vertices);
        Ok(())
    }

    /// Replaces the rigid bodies: which shapes they have, their masses and how they move in the next frame.
    ///
    /// # Errors
    /// [`ModelError`] if a number or index is out of range or a shape belongs to two bodies; the old bodies stay.
    pub fn set_bodies(&mut self, bodies: &[RigidBody]) -> Result<(), ModelError> {
        self.colliders.check(|copy| copy.bodies = bodies.to_vec())?;
        self.is_woken |= self.colliders.set_bodies(bodies);
        Ok(())
    }

    /// Where the kernel leaves the impulses on bodies in the cloth's scratch; [`body_impulses`](poplin_layout::body_impulses) reads them.
    pub fn body_rows(&self) -> std::ops::Range<u32> {
        let begin = self.stage_scratch_len
            + self.colliders.impulse_begin(self.cloth.particle_count() as u32);
        begin..begin + BODY_ROWS * self.colliders.body_count()
    }

    /// Writes position \[m\] and working inverse mass [1/kg] of some particles, as an animated pin does. A pinned particle's
    /// inverse mass must stay 0. The same write as the last one does not wake the cloth.
    ///
    /// # Errors
    /// [`ModelError`] if an index or number is out of range, or a pinned particle is given mass; nothing is written.
    pub fn write_particles(
        &mut self,
        indices: &[u32],
        particles: &[[f32; 4]],
    ) -> Result<(), ModelError> {
        self.cloth.validate_write(indices, particles)?;
        // A pin that is held by writing the same place every frame must not keep the cloth awake.
        let is_repeated = self.last_write.0 == indices && self.last_write.1 == particles;
        if !is_repeated && !indices.is_empty() {
            self.is_woken = true;
            self.last_write.0.clear();
            self.last_write.0.extend_from_slice(indices);
            self.last_write.1.clear();
            self.last_write.1.extend_from_slice(particles);
        }
        self.writes.extend(indices.iter().copied().zip(particles.iter().copied()));
        Ok(())
    }

    /// Moves the local frame to `pose` over the next frame; the cloth feels it as its inertia settings say.
    ///
    /// # Errors
    /// [`ModelError`] if the pose is not valid; the old target stays.
    pub fn set_pose(&mut self, pose: Pose) -> Result<(), ModelError> {
        self.motion.set_target(pose)
    }

    /// Shifts the local frame without any effect on the cloth \[m\].
    ///
    /// # Errors
    /// [`ModelError`] if the result is not finite.
    pub fn teleport(&mut self, delta: [f32; 3]) -> Result<(), ModelError> {
        self.motion.teleport(delta)
    }

    /// Puts the local frame at `pose` without any effect on the cloth.
    ///
    /// # Errors
    /// [`ModelError`] if the pose is not valid.
    pub fn teleport_to(&mut self, pose: Pose) -> Result<(), ModelError> {
        self.motion.teleport_to(pose)
    }

    /// Keeps the local frame's last velocities for the next frame, whatever the poses say.
    pub fn ignore_velocity_discontinuity(&mut self) {
        self.motion.ignore_velocity_discontinuity();
    }

    /// Lets the local frame arrive at its target at once and forget all velocity.
    pub fn clear_inertia(&mut self) {
        self.motion.clear_inertia();
    }

    /// Wakes the cloth if it sleeps.
    pub fn wake(&mut self) {
        self.is_woken = true;
    }

    fn check_length(&self, what: &'static str, len: usize) -> Result<(), ModelError> {
        let expected = self.cloth.particle_count();
        if len == expected || len == 0 {
            Ok(())
        } else {
            Err(ModelError::Length { what, len, expected })
        }
    }

    fn check_spheres(&self, what: &'static str, spheres: &[[f32; 4]]) -> Result<(), ModelError> {
        self.check_length(what, spheres.len())?;
        poplin_model::check_finite(what, spheres)
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

    fn has_particle_inputs(&self) -> bool {
        self.motion_spheres.is_set()
            || self.separation_spheres.is_set()
            || !self.cloth.particle_accelerations.is_empty()
    }

    /// Brings the inputs up to date and gives the vec4 that they take in `input_pool`. More than in the last frame means a
    /// new layout: then everything is given again by [`HostCloth::take_inputs`].
    pub fn input_len(&mut self) -> u32 {
        self.colliders.update();
        let before = self.input_lens;
        if self.has_particle_inputs() {
            self.input_lens[0] =
                ParticleSlots { particle_count: self.cloth.particle_count() as u32 }.total();
        }
        self.input_lens[1] = self.self_collision.input_len(&self.cloth);
        self.input_lens[2] = self.colliders.input_len();
        if self.input_lens != before {
            self.accelerations_changed = true;
            self.motion_spheres.mark_all();
            self.separation_spheres.mark_all();
            self.self_collision.mark_all();
            self.colliders.mark_all();
        }
        self.input_lens.iter().sum()
    }

    /// Where the parts of the inputs begin: per particle, of self collision, of the colliders.
    fn input_begins(&self) -> [u32; 3] {
        let [particles, own, _] = self.input_lens;
        [0, particles, particles + own]
    }

    /// Where the scratch of the colliders and of self collision begins.
    fn scratch_begins(&self) -> [u32; 2] {
        let colliders = self.colliders.scratch_len(self.cloth.particle_count() as u32);
        [self.stage_scratch_len, self.stage_scratch_len + colliders]
    }

    /// Vec4 of scratch that the cloth needs; call after [`HostCloth::input_len`].
    pub fn scratch_len(&self) -> u32 {
        self.scratch_begins()[1] + self.self_collision.scratch_len(&self.cloth)
    }

    /// Passes on each part of the inputs that changed, floats as their bits, with its offset in the cloth's part of `input_pool`
    /// \[vec4\].
    pub fn take_inputs(&mut self, mut give: impl FnMut(u32, &[[u32; 4]])) {
        let slots = ParticleSlots { particle_count: self.cloth.particle_count() as u32 };
        if std::mem::take(&mut self.accelerations_changed) {
            let packed: Vec<_> =
                self.cloth.particle_accelerations.iter().map(|&[x, y, z]| [x, y, z, 0.0]).collect();
            if !packed.is_empty() {
                give(slots.accelerations(), cast_slice(&packed));
            }
        }
        self.motion_spheres
            .take_changed(|offset, values| give(slots.motion() + offset, cast_slice(values)));
        self.separation_spheres
            .take_changed(|offset, values| give(slots.separation() + offset, cast_slice(values)));
        let [_, own, colliders] = self.input_begins();
        self.self_collision.take_changed(&self.cloth, |offset, values| give(own + offset, values));
        self.colliders.take_changed(|offset, values| give(colliders + offset, values));
    }

    /// The particle writes since the last call, in the order of writing.
    pub fn take_writes(&mut self) -> Vec<(u32, [f32; 4])> {
        std::mem::take(&mut self.writes)
    }

    /// Checks that the next frame is in range for this cloth, before any cloth is stepped.
    ///
    /// # Errors
    /// [`ModelError`] if the frame is out of range or needs more than [`MAX_ITERATIONS_PER_FRAME`] iterations.
    pub fn validate_frame(&self, frame: &Frame) -> Result<(), ModelError> {
        frame.validate()?;
        if self.cloth.config.solver.is_xpbd() {
            // As many iterations as the settings say, which have been checked.
            return Ok(());
        }
        let count = (frame.dt * self.cloth.config.solver_frequency + 0.5).floor() as usize;
        let limit = MAX_ITERATIONS_PER_FRAME as usize;
        if count > limit {
            Err(ModelError::TooMany {
                what: "iterations of a frame (dt * solver_frequency)",
                count,
                limit,
            })
        } else {
            Ok(())
        }
    }

    /// Iterations of the next frame, 0 if it simulates nothing.
    pub fn iteration_count(&self, frame: &Frame) -> u32 {
        crate::clock::iteration_count(frame.dt, &self.cloth.config)
    }

    /// Loop trips of one particle in one iteration that its colliders and self collision take.
    pub fn collision_trips(&self) -> u64 {
        self.colliders.trips_per_particle() + self.self_collision.trips_per_particle()
    }

    /// Distance that the cloth keeps from others \[m\], 0 if it takes no part in their collision.
    pub fn cloth_collision_distance(&self) -> f32 {
        self.self_collision.cloth_distance()
    }

    /// Particles that take part in self collision.
    pub fn self_collision_count(&self) -> u32 {
        member_count(&self.cloth)
    }

    /// How the fibers of a phase are solved in the next frame, and the rounds of cyclic reduction that takes.
    pub fn fiber_solver(&self, phase: &PhaseConfig) -> (FiberSolver, u32) {
        let solver = self.cloth.fiber_solver(phase);
        if solver != FiberSolver::CyclicReduction {
            return (solver, 0);
        }
        let of_all = || {
            self.cloth.fabric.phases.iter().map(|phase| cyclic_rounds(&self.cloth, phase)).collect()
        };
        match self.cyclic_rounds.get_or_init(of_all)[phase.phase as usize] {
            Some(rounds) if !self.motion_spheres.is_set() => (solver, rounds),
            _ => (FiberSolver::SemiImplicit, 0),
        }
    }

    /// The phases that are solved, in order, with how their fibers are.
    fn solved_phases(&self) -> impl Iterator<Item = (&PhaseConfig, (FiberSolver, u32))> + Clone {
        let phases = self.cloth.phase_configs.iter().filter(|phase| phase.stiffness > 0.0);
        phases.map(|phase| (phase, self.fiber_solver(phase)))
    }

    /// Lanes that the widest set of its phases keeps busy.
    pub fn fiber_width(&self) -> u32 {
        let of_phase = |config: &PhaseConfig| {
            self.cloth.fabric.width_of_phase(config.phase as usize, self.fiber_solver(config).0)
        };
        self.cloth.phase_configs.iter().map(of_phase).max().unwrap_or(0) as u32
    }

    /// The stages that this cloth needs in its kernel; call after [`HostCloth::input_len`].
    pub fn stages(&self) -> StageMask {
        let (config, colliders) = (&self.cloth.config, &self.colliders);
        let is_xpbd = config.solver.is_xpbd();
        let has_fibers = |kind| self.solved_phases().any(|(_, (solver, _))| solver == kind);
        let optional = [
            (Stage::GaussSeidel, has_fibers(FiberSolver::GaussSeidel)),
            (Stage::SemiImplicit, has_fibers(FiberSolver::SemiImplicit)),
            (Stage::CyclicReduction, has_fibers(FiberSolver::CyclicReduction)),
            (
                Stage::Bend,
                is_xpbd && config.bending_rigidity > 0.0 && !self.cloth.fabric.bends.is_empty(),
            ),
            (Stage::Wind, config.drag_coefficient > 0.0 || config.lift_coefficient > 0.0),
            (Stage::Motion, self.motion_spheres.is_set() && config.motion_stiffness > 0.0),
            (
                Stage::Tether,
                self.cloth.fabric.tethers_per_particle > 0 && config.tether_stiffness > 0.0,
            ),
            (Stage::Separation, self.separation_spheres.is_set()),
            (
                Stage::SelfCollide,
                self.self_collision.is_on() && config.self_collision_stiffness > 0.0,
            ),
            (Stage::CollideConvex, colliders.has_free_convexes()),
            (Stage::CollideBox, colliders.has_free_boxes()),
            (Stage::CollideTriangle, colliders.has_free_mesh()),
            (Stage::CollideShape, colliders.has_free_shapes() && !config.continuous_collision),
            (Stage::CollideContinuous, colliders.has_free_shapes() && config.continuous_collision),
            (Stage::CollideBody, colliders.has_bodies() && !colliders.is_empty()),
            (
                Stage::VirtualParticles,
                colliders.has_free_shapes() && !self.cloth.fabric.virtual_particles.is_empty(),
            ),
            (Stage::Sleep, config.sleep_threshold > 0.0),
        ];
        let always = [Stage::Integrate, Stage::Mass].into_iter();
        let needed =
            optional.into_iter().filter(|(_, is_needed)| *is_needed).map(|(stage, _)| stage);
        always.chain(needed).fold(StageMask(0), StageMask::with)
    }

    /// Whether the backend reported the cloth asleep and nothing has woken it since: it need not be dispatched.
    pub fn is_resting(&self) -> bool {
        let config = &self.cloth.config;
        let is_asleep =
            config.sleep_threshold > 0.0 && self.sleep_pass_count >= config.sleep_after_count;
        is_asleep && !self.is_woken && !self.motion.is_moving()
    }

    /// Takes over what the kernel reported; a report from before the last change is ignored.
    pub fn note_feedback(&mut self, feedback: &Feedback) {
        self.sleep_pass_count =
            if feedback.wake_count == self.wake_count { feedback.sleep_pass_count } else { 0 };
    }

    /// Counts a frame in which the resting cloth was not dispatched at all; time goes on for its clock.
    pub fn skip_frame(&mut self, frame: &Frame) {
        self.clock.begin_frame(frame.dt, &self.cloth.config);
        self.skipped_frames += u32::from(frame.dt > 0.0);
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
        let steps = self.clock.begin_frame(frame.dt, &self.cloth.config);
        if std::mem::take(&mut self.is_woken) || self.motion.is_moving() {
            // What was reported before does not count any more, even if nothing is read back for a while.
            (self.wake_count, self.sleep_pass_count) = (self.wake_count.wrapping_add(1), 0);
        }
        let velocities = steps.map(|_| self.motion.advance(frame.dt));
        let slots = ParticleSlots { particle_count: placement.particle_count };
        let at = |is_set: bool, offset: u32| {
            if is_set { placement.input_begin + offset } else { NO_OFFSET }
        };
        let halves = |array: &InterpolatedArray, slot: u32| {
            array.offsets().map(|half| at(array.is_set(), slot + half))
        };
        let inputs = InputOffsets {
            acceleration_begin: at(
                !self.cloth.particle_accelerations.is_empty(),
                slots.accelerations(),
            ),
            motion: halves(&self.motion_spheres, slots.motion()),
            separation: halves(&self.separation_spheres, slots.separation()),
            wake_count: self.wake_count,
            self_collision: self.self_collision.frame(
                &self.cloth,
                steps.as_ref(),
                placement,
                placement.input_begin.wrapping_add(self.input_begins()[1]),
                self.scratch_begins()[1],
            ),
            colliders: self.colliders.frame(
                &self.cloth.config,
                steps.as_ref(),
                placement.particle_count,
                placement.input_begin.wrapping_add(self.input_begins()[2]),
                self.stage_scratch_len,
            ),
        };
        let motion = steps
            .as_ref()
            .zip(velocities.as_ref())
            .map(|(steps, velocities)| motion_constants(&self.cloth.config, steps, velocities));
        let timing = steps.as_ref().zip(motion.as_ref());
        pack_cloth_parameters(
            &self.cloth,
            self.solved_phases(),
            placement,
            &inputs,
            timing,
            arrays,
        );
        self.motion_spheres.end_frame();
        self.separation_spheres.end_frame();
        self.colliders.end_frame(steps.is_some());
    }
}

/// Rounds of cyclic reduction that the longest fiber of a phase takes, `None` if a fiber has two pins: then its system may have
/// no solution, which only the walk along the fiber guards against.
fn cyclic_rounds(cloth: &Cloth, phase: &Phase) -> Option<u32> {
    let fabric = &cloth.fabric;
    let mut longest = 1;
    for fiber in fabric.fibers_of_phase(phase) {
        let vertices = fabric.fiber_vertices(fiber);
        if vertices.iter().filter(|&&vertex| cloth.particles[vertex as usize][3] == 0.0).count() > 1
        {
            return None;
        }
        longest = longest.max(vertices.len() as u32 - 1);
    }
    Some(longest.next_power_of_two().ilog2())
}
