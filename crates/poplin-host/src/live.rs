//! User's view of a cloth in simulation.

use bytemuck::cast_slice;
use poplin_model::{
    ClothConfig, ClothDesc, ColliderSet, InteractionGroups, ModelError, MotionConstraints,
    Particle, Pose, Sphere,
};

use crate::colliders::HostColliders;
use crate::holds::Holds;
use crate::self_collision::HostSelfCollision;
use crate::uploaded::Uploaded;
use crate::{FrameClock, FrameMotion, HoldId, InterpolatedArray};

/// Settings, inputs and pose of a cloth in simulation. Changes act from the next frame on; one that
/// has an effect wakes a sleeping cloth.
#[derive(Debug, Clone)]
// Fields that every frame reads of every changed cloth come first: thousands of cloths do not fit
// into a cache.
#[repr(C)]
pub struct Cloth {
    pub(crate) changes: ChangeScope,
    pub(crate) is_woken: bool,
    /// Number of changes that affect more than the contents of inputs: stages, layouts or
    /// constants.
    pub(crate) revision: u32,
    pub(crate) writes: Vec<(u32, Particle)>,
    pub(crate) last_write: (Vec<u32>, Vec<Particle>),
    pub(crate) colliders: HostColliders,
    pub(crate) cloth: ClothDesc,
    pub(crate) motion: FrameMotion,
    pub(crate) motion_spheres: InterpolatedArray,
    pub(crate) holds: Holds,
    pub(crate) separation_spheres: InterpolatedArray,
    pub(crate) self_collision: HostSelfCollision,
    pub(crate) uploaded_accelerations: Uploaded,
    pub(crate) clock: FrameClock,
}

/// Scope of what the next frame changes, besides particles: motion that ends with the last frame,
/// and changes since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ChangeScope {
    /// No change.
    Nothing,
    /// Only colliders.
    Colliders,
    /// Possibly everything.
    Anything,
}

impl Cloth {
    /// Wraps a validated cloth.
    pub(crate) fn new(cloth: ClothDesc) -> Self {
        Self {
            changes: ChangeScope::Anything,
            motion: FrameMotion::new(cloth.pose),
            motion_spheres: InterpolatedArray::default(),
            holds: Holds::default(),
            separation_spheres: InterpolatedArray::default(),
            colliders: HostColliders::default(),
            self_collision: HostSelfCollision::new(&cloth),
            uploaded_accelerations: Uploaded::default(),
            writes: Vec::new(),
            last_write: (Vec::new(), Vec::new()),
            is_woken: false,
            revision: 0,
            clock: FrameClock::default(),
            cloth,
        }
    }

    /// Discards holds and writes for the next frame, and wakes the cloth.
    pub(crate) fn forget_writes(&mut self) {
        self.change(true);
        self.forget_holds();
        self.writes.clear();
        self.last_write.0.clear();
        self.last_write.1.clear();
    }

    /// Notes a change of anything; one with an effect wakes the cloth.
    fn change(&mut self, has_effect: bool) {
        self.changes = ChangeScope::Anything;
        self.is_woken |= has_effect;
    }

    /// Notes a change of stages, layouts or constants; one with an effect wakes the cloth.
    pub(crate) fn replan(&mut self, has_effect: bool) {
        self.change(has_effect);
        self.revision = self.revision.wrapping_add(1);
    }

    /// Releases all holds.
    pub(crate) fn forget_holds(&mut self) {
        if !self.holds.is_empty() {
            self.holds.clear();
            self.end_holds();
        }
    }

    /// Switches back to the user's own motion spheres.
    fn end_holds(&mut self) {
        // The merged array was uploaded to the same rows.
        self.motion_spheres.forget_uploads();
        self.replan(false);
    }

    /// User's own motion spheres and their settings; `None` if they have no effect.
    pub(crate) fn acting_spheres(&self) -> Option<(&InterpolatedArray, &MotionConstraints)> {
        acting(&self.motion_spheres, &self.cloth)
    }

    /// True if any particle has a motion sphere.
    pub(crate) fn has_motion_spheres(&self) -> bool {
        self.motion_spheres.is_set() || !self.holds.is_empty()
    }

    /// Motion spheres of the next frame, once holds are merged.
    pub(crate) fn frame_spheres(&self) -> &InterpolatedArray {
        if self.holds.is_empty() { &self.motion_spheres } else { self.holds.spheres() }
    }

    /// Merges holds into the motion spheres of the next frame.
    pub(crate) fn merge_spheres(&mut self) -> &mut InterpolatedArray {
        if self.holds.is_empty() {
            return &mut self.motion_spheres;
        }
        let Self { holds, motion_spheres, cloth, .. } = self;
        holds.merge(acting(motion_spheres, cloth), cloth.particle_count());
        self.holds.spheres_mut()
    }

    /// Validates new values of all particles.
    pub(crate) fn check_particles(&self, particles: &[Particle]) -> Result<(), ModelError> {
        let indices: Vec<u32> = (0..self.cloth.particle_count() as u32).collect();
        self.cloth.validate_write(&indices, particles)
    }

    /// Step of the last iteration \[s\]: velocity is the difference of a particle's last two
    /// positions divided by it. Before the first frame, the step of a frame of 1/60 s.
    pub fn last_step(&self) -> f32 {
        self.clock.last_step(&self.cloth.config)
    }

    /// Description of the cloth as it was added, with its present settings and colliders.
    pub fn desc(&self) -> &ClothDesc {
        &self.cloth
    }

    /// Pose of the local space after the last frame.
    pub fn pose(&self) -> Pose {
        self.motion.pose()
    }

    /// Pose of the local space after the next frame.
    pub fn target_pose(&self) -> Pose {
        self.motion.target()
    }

    /// Replaces the settings.
    ///
    /// # Errors
    /// [`ModelError`] if a field is out of range, or the settings do not fit the fabric; the old
    /// settings stay.
    pub fn set_config(&mut self, config: ClothConfig) -> Result<(), ModelError> {
        self.cloth.validate_config(&config)?;
        self.replan(config != self.cloth.config);
        let distances = |config: &ClothConfig| {
            (config.thickness, config.self_collision.distance, config.cloth_collision.distance)
        };
        let old = std::mem::replace(&mut self.cloth.config, config);
        // Grids depend only on distances; other settings are constants of a frame.
        if distances(&old) != distances(&self.cloth.config) {
            self.self_collision.update(&self.cloth);
        }
        Ok(())
    }

    /// Replaces the order in which the phases of the fabric are solved, [`ClothDesc::phase_order`].
    ///
    /// # Errors
    /// [`ModelError`] if a phase does not exist; the old order stays.
    pub fn set_phase_order(&mut self, order: &[u32]) -> Result<(), ModelError> {
        self.cloth.validate_phase_order(order)?;
        self.replan(order != self.cloth.phase_order);
        self.cloth.phase_order = order.to_vec();
        Ok(())
    }

    /// Replaces the particle accelerations [m/s^2], shape `[particle_count]`; empty switches them
    /// off.
    ///
    /// # Errors
    /// [`ModelError`] if the length differs from the particle count or a value is not finite; the
    /// old ones stay.
    pub fn set_particle_accelerations(
        &mut self,
        accelerations: &[[f32; 3]],
    ) -> Result<(), ModelError> {
        self.check_length("particle_accelerations", accelerations.len())?;
        // Validation reads the cloth, so the new values are set first and restored on error.
        let old = std::mem::replace(&mut self.cloth.particle_accelerations, accelerations.to_vec());
        if let Err(error) = self.cloth.validate_accelerations() {
            self.cloth.particle_accelerations = old;
            return Err(error);
        }
        self.change(old != self.cloth.particle_accelerations);
        // Only the presence of accelerations affects the layout, not their values.
        if old.is_empty() != accelerations.is_empty() {
            self.replan(false);
        }
        self.uploaded_accelerations.forget();
        Ok(())
    }

    /// Sets a sphere around each particle that it may not leave, shape `[particle_count]`; empty
    /// switches them off. The first array acts at once, later ones are reached over the next frame.
    /// A radius of 0 or less holds the particle at the center.
    ///
    /// # Errors
    /// [`ModelError`] if the length differs from the particle count or a value is not finite; the
    /// old ones stay.
    pub fn set_motion_spheres(&mut self, spheres: &[Sphere]) -> Result<(), ModelError> {
        self.check_spheres("motion_spheres", spheres)?;
        self.set_spheres(|cloth| &mut cloth.motion_spheres, spheres);
        Ok(())
    }

    /// Motion spheres that were set last; empty if there are none. Spheres of [`Cloth::hold`]
    /// are not included.
    pub fn motion_spheres(&self) -> &[Sphere] {
        cast_slice(self.motion_spheres.target())
    }

    /// Sets motion spheres of some particles only, for as long as the hold lasts. They override
    /// those of [`Cloth::set_motion_spheres`] and of earlier holds, and act at once, also on
    /// pinned particles. A radius of 0 or less holds the particle at the center; scale and bias of
    /// the settings do not change radii. The stiffness is that of the settings, or 1 where motion
    /// spheres are off.
    ///
    /// [`Cloth::release`] ends the hold, and so does anything that sets all particles of the
    /// cloth, for example a reset. A copy of the cloth is not held. On a GPU the first hold of a
    /// cloth without motion spheres needs a different kernel, which may have to be compiled.
    ///
    /// # Errors
    /// [`ModelError`] if the lengths differ, an index is out of range, or a value is not finite;
    /// nothing is held.
    pub fn hold(&mut self, particles: &[u32], spheres: &[Sphere]) -> Result<HoldId, ModelError> {
        let (what, expected) = ("held particles", particles.len());
        if spheres.len() != expected {
            return Err(ModelError::Length { what, len: spheres.len(), expected });
        }
        let count = self.cloth.particle_count();
        let is_out = |&index: &u32| index as usize >= count;
        if let Some(position) = particles.iter().position(is_out) {
            let index = particles[position];
            return Err(ModelError::IndexOutOfRange { what, position, index, count });
        }
        poplin_model::check_finite::<4>(what, cast_slice(spheres))?;
        self.change(true);
        if self.holds.is_empty() {
            self.replan(false);
        }
        Ok(self.holds.add(particles, cast_slice(spheres)))
    }

    /// Moves the spheres of a hold over the next frame.
    ///
    /// # Errors
    /// [`ModelError::StaleHandle`] if the hold has ended; [`ModelError`] if the length differs from
    /// the number of held particles, or a value is not finite; the old spheres stay.
    pub fn move_hold(&mut self, hold: HoldId, spheres: &[Sphere]) -> Result<(), ModelError> {
        poplin_model::check_finite::<4>("held particles", cast_slice(spheres))?;
        if self.holds.lead(hold, cast_slice(spheres))? {
            self.change(true);
        }
        Ok(())
    }

    /// Releases the particles of a hold, which keep their velocity. Does nothing if the hold has
    /// ended.
    pub fn release(&mut self, hold: HoldId) {
        if self.holds.remove(hold) {
            self.change(true);
            if self.holds.is_empty() {
                self.end_holds();
            }
        }
    }

    /// Sets a sphere for each particle that it may not enter, shape `[particle_count]`; empty
    /// switches them off. The first array acts at once, later ones are reached over the next frame.
    ///
    /// # Errors
    /// [`ModelError`] if the length differs from the particle count or a value is not finite; the
    /// old ones stay.
    pub fn set_separation_spheres(&mut self, spheres: &[Sphere]) -> Result<(), ModelError> {
        self.check_spheres("separation_spheres", spheres)?;
        self.set_spheres(|cloth| &mut cloth.separation_spheres, spheres);
        Ok(())
    }

    /// Separation spheres that were set last; empty if there are none.
    pub fn separation_spheres(&self) -> &[Sphere] {
        cast_slice(self.separation_spheres.target())
    }

    /// Replaces the rest positions \[m\] that decide which neighbours self collision ignores, shape
    /// `[particle_count]`; empty: the particles as the cloth was added.
    ///
    /// # Errors
    /// [`ModelError`] if the length differs from the particle count or a value is not finite; the
    /// old ones stay.
    pub fn set_rest_positions(&mut self, positions: &[[f32; 3]]) -> Result<(), ModelError> {
        self.check_length("rest_positions", positions.len())?;
        poplin_model::check_finite("rest_positions", positions)?;
        self.replan(positions != self.cloth.rest_positions);
        self.cloth.rest_positions = positions.to_vec();
        self.self_collision.update(&self.cloth);
        Ok(())
    }

    /// Restricts self collision to some particles, each listed once; empty: all.
    ///
    /// # Errors
    /// [`ModelError`] if an index is out of range or repeated; the old ones stay.
    pub fn set_self_collision_indices(&mut self, indices: &[u32]) -> Result<(), ModelError> {
        self.cloth.validate_self_collision_indices(indices)?;
        self.replan(indices != self.cloth.self_collision_indices);
        self.cloth.self_collision_indices = indices.to_vec();
        self.self_collision.update(&self.cloth);
        Ok(())
    }

    /// Colliders of the cloth's own set, in its local space.
    pub fn colliders(&self) -> &ColliderSet {
        &self.cloth.colliders
    }

    /// Colliders of the cloth's own set, to add, move and remove colliders.
    pub fn colliders_mut(&mut self) -> &mut ColliderSet {
        self.changes = self.changes.max(ChangeScope::Colliders);
        &mut self.cloth.colliders
    }

    /// Sets the interaction groups that decide which colliders the cloth meets.
    pub fn set_collider_groups(&mut self, groups: InteractionGroups) {
        self.change(false);
        self.cloth.collider_groups = groups;
    }

    /// Writes position \[m\] and working inverse mass [1/kg] of some particles, for example of
    /// animated pins. A pinned particle's inverse mass must stay 0. Repeating the last write does
    /// not wake the cloth.
    ///
    /// # Errors
    /// [`ModelError`] if an index or value is out of range, or a pinned particle gets mass; nothing
    /// is written.
    pub fn write_particles(
        &mut self,
        indices: &[u32],
        particles: &[Particle],
    ) -> Result<(), ModelError> {
        self.cloth.validate_write(indices, particles)?;
        // A pin that is held by writing the same position every frame must not keep the cloth
        // awake.
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

    /// Moves the local space to `pose` over the next frame; the inertia settings scale the
    /// resulting inertial forces.
    ///
    /// # Errors
    /// [`ModelError`] if the pose is not valid; the old target stays.
    pub fn set_pose(&mut self, pose: Pose) -> Result<(), ModelError> {
        self.change(false);
        self.motion.set_target(pose)
    }

    /// Shifts the local space without any effect on the cloth \[m\].
    ///
    /// # Errors
    /// [`ModelError`] if the result is not finite.
    pub fn teleport(&mut self, delta: [f32; 3]) -> Result<(), ModelError> {
        self.change(false);
        self.motion.teleport(delta)
    }

    /// Teleports the local space to `pose` without any effect on the cloth.
    ///
    /// # Errors
    /// [`ModelError`] if the pose is not valid.
    pub fn teleport_to(&mut self, pose: Pose) -> Result<(), ModelError> {
        self.change(false);
        self.motion.teleport_to(pose)
    }

    /// Keeps the local space's last velocities for the next frame, whatever the poses are.
    pub fn ignore_velocity_discontinuity(&mut self) {
        self.change(false);
        self.motion.ignore_velocity_discontinuity();
    }

    /// Moves the local space to its target at once, where it loses all velocity.
    pub fn clear_inertia(&mut self) {
        self.change(false);
        self.motion.clear_inertia();
    }

    /// Wakes the cloth if it sleeps.
    pub fn wake(&mut self) {
        self.is_woken = true;
    }

    /// Sets an array of spheres; its presence affects the layout.
    fn set_spheres(
        &mut self,
        of: impl Fn(&mut Self) -> &mut InterpolatedArray,
        spheres: &[Sphere],
    ) {
        let was_set = of(self).is_set();
        let is_changed = of(self).set(cast_slice(spheres));
        self.change(is_changed);
        if was_set == spheres.is_empty() {
            self.replan(false);
        }
    }

    fn check_length(&self, what: &'static str, len: usize) -> Result<(), ModelError> {
        let expected = self.cloth.particle_count();
        if len == expected || len == 0 {
            Ok(())
        } else {
            Err(ModelError::Length { what, len, expected })
        }
    }

    fn check_spheres(&self, what: &'static str, spheres: &[Sphere]) -> Result<(), ModelError> {
        self.check_length(what, spheres.len())?;
        poplin_model::check_finite::<4>(what, cast_slice(spheres))
    }
}

/// See [`Cloth::acting_spheres`].
fn acting<'a>(
    spheres: &'a InterpolatedArray,
    cloth: &'a ClothDesc,
) -> Option<(&'a InterpolatedArray, &'a MotionConstraints)> {
    let settings = &cloth.config.motion;
    (spheres.is_set() && settings.stiffness > 0.0).then_some((spheres, settings))
}
