//! Serialized form of a cloth in simulation.

use std::sync::Arc;

use poplin_layout::Feedback;
use poplin_model::{
    ClothConfig, ClothContactSolver, ClothDesc, ColliderSet, Fabric, InteractionGroups, ModelError,
    Particle, Pose, StoredColliders, check_dt, check_finite,
};
use serde::{Deserialize, Serialize};

use super::HostCloth;
use crate::colliders::StoredTrees;
use crate::live::Cloth;
use crate::{FrameClock, FrameMotion, InterpolatedArray, SnapshotCloth};

/// Length of a report \[u32\].
const FEEDBACK_LEN: usize = size_of::<Feedback>() / size_of::<u32>();

/// Cloth of a snapshot without its fabric; values that can be derived from others are not stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredCloth {
    particles: Vec<Particle>,
    previous_positions: Vec<[f32; 3]>,
    particle_accelerations: Vec<[f32; 3]>,
    rest_positions: Vec<[f32; 3]>,
    self_collision_indices: Vec<u32>,
    pose: Pose,
    config: ClothConfig,
    phase_order: Vec<u32>,
    colliders: StoredColliders,
    collider_groups: InteractionGroups,
    clock: FrameClock,
    motion: FrameMotion,
    motion_spheres: InterpolatedArray,
    separation_spheres: InterpolatedArray,
    writes: Vec<(u32, Particle)>,
    last_write: (Vec<u32>, Vec<Particle>),
    is_woken: bool,
    can_sleep: bool,
    wake_count: u32,
    skipped_frames: u32,
    collider_dt: f32,
    trees: StoredTrees,
    current: Vec<Particle>,
    /// Positions one iteration ago; the inverse masses are those with which the particles were
    /// added.
    previous: Vec<[f32; 3]>,
    /// Remainders of the last displacements, one per particle or none; with a second-order
    /// correction of velocities the last moves by constraints follow.
    remainders: Vec<[f32; 3]>,
    feedback: [u32; FEEDBACK_LEN],
}

impl StoredCloth {
    /// Serializes a cloth that meets the colliders `world` with these contact settings.
    ///
    /// # Errors
    /// [`ModelError::MeshesOfBodies`], which the next frame would return.
    pub(crate) fn new(
        cloth: &SnapshotCloth,
        world: &ColliderSet,
        contact: &ClothContactSolver,
    ) -> Result<Self, ModelError> {
        let SnapshotCloth { host, current, previous, remainders, feedback } = cloth;
        // Applies pending collider changes like the next frame would; otherwise their waking of the
        // cloth would be lost.
        let mut host = host.clone();
        let collider_dt = host.live.colliders.last_dt();
        host.plan(world, contact, collider_dt)?;
        let remainders = if host.stored_remainder_rows().is_some() { &remainders[..] } else { &[] };
        let HostCloth { live, can_sleep, wake_count, skipped_frames, .. } = host;
        let Cloth { cloth, clock, motion, motion_spheres, separation_spheres, .. } = live;
        Ok(Self {
            colliders: StoredColliders::from(&cloth.colliders),
            particles: cloth.particles,
            previous_positions: cloth.previous_positions,
            particle_accelerations: cloth.particle_accelerations,
            rest_positions: cloth.rest_positions,
            self_collision_indices: cloth.self_collision_indices,
            pose: cloth.pose,
            config: cloth.config,
            phase_order: cloth.phase_order,
            collider_groups: cloth.collider_groups,
            clock,
            motion,
            motion_spheres,
            separation_spheres,
            writes: live.writes,
            last_write: live.last_write,
            is_woken: live.is_woken,
            can_sleep,
            wake_count,
            skipped_frames,
            collider_dt,
            trees: live.colliders.stored_trees(),
            current: current.clone(),
            previous: previous.iter().map(|particle| particle.position).collect(),
            remainders: remainders.iter().map(|&[x, y, z, _]| [x, y, z]).collect(),
            feedback: bytemuck::cast(*feedback),
        })
    }

    /// Restores the cloth with this fabric, the colliders `world` and these contact settings.
    ///
    /// # Errors
    /// The first [`ModelError`] found: all values are validated like user input.
    pub(crate) fn cloth(
        self,
        fabric: Arc<Fabric>,
        world: &ColliderSet,
        contact: &ClothContactSolver,
    ) -> Result<SnapshotCloth, ModelError> {
        let mut host = HostCloth::new(ClothDesc {
            fabric,
            particles: self.particles,
            previous_positions: self.previous_positions,
            particle_accelerations: self.particle_accelerations,
            rest_positions: self.rest_positions,
            self_collision_indices: self.self_collision_indices,
            pose: self.pose,
            config: self.config,
            phase_order: self.phase_order,
            colliders: self.colliders.try_into()?,
            collider_groups: self.collider_groups,
        })?;
        let count = host.desc().particle_count();
        self.clock.validate()?;
        self.motion.validate()?;
        self.motion_spheres.validate("motion_spheres", count)?;
        self.separation_spheres.validate("separation_spheres", count)?;
        for (index, particle) in &self.writes {
            host.desc().validate_write(&[*index], &[*particle])?;
        }
        host.desc().validate_write(&self.last_write.0, &self.last_write.1)?;
        check_dt(self.collider_dt)?;
        // Everything is validated before the first field is set.
        let feedback: Feedback = bytemuck::cast(self.feedback);
        check_counters(&feedback)?;
        let previous = check_state(host.desc(), &self.current, &self.previous)?;
        let remainders = remainder_rows(&self.remainders, host.remainder_rows().len())?;

        (host.live.clock, host.can_sleep) = (self.clock, self.can_sleep);
        (host.wake_count, host.skipped_frames) = (self.wake_count, self.skipped_frames);
        // After wake_count, which decides whether the report counts.
        host.note_feedback(&feedback);
        let live = &mut host.live;
        live.motion = self.motion;
        live.motion_spheres = self.motion_spheres;
        live.separation_spheres = self.separation_spheres;
        (live.writes, live.last_write) = (self.writes, self.last_write);
        // Rebuilds lists and trees; set_trees then restores the trees of the time of saving.
        host.plan(world, contact, self.collider_dt)?;
        host.live.colliders.set_trees(self.trees)?;
        // Restoring the colliders has marked the cloth as woken, although they are unchanged.
        host.live.is_woken = self.is_woken;
        host.stored_remainders = (!remainders.is_empty()).then(|| host.left_remainders());
        Ok(SnapshotCloth { host, current: self.current, previous, remainders, feedback })
    }
}

/// Validates the current particles of a cloth and completes the previous ones. Positions are not
/// limited: the next frame freezes a cloth that leaves the range of `f32`. A pinned particle must
/// stay pinned, on which parallel loops rely.
fn check_state(
    cloth: &ClothDesc,
    current: &[Particle],
    previous: &[[f32; 3]],
) -> Result<Vec<Particle>, ModelError> {
    let expected = cloth.particle_count();
    for (what, len) in [("current particles", current.len()), ("previous", previous.len())] {
        if len != expected {
            return Err(ModelError::Length { what, len, expected });
        }
    }
    // validate_write rejects positions out of range, which are allowed here.
    let at_origin =
        |&Particle { inverse_mass, .. }: &Particle| Particle { position: [0.0; 3], inverse_mass };
    let indices: Vec<u32> = (0..expected as u32).collect();
    cloth.validate_write(&indices, &current.iter().map(at_origin).collect::<Vec<_>>())?;
    let masses = cloth.particles.iter().map(|particle| particle.inverse_mass);
    let particle = |(&position, inverse_mass)| Particle { position, inverse_mass };
    Ok(previous.iter().zip(masses).map(particle).collect())
}

/// Validates the remainders of a cloth that has none or `expected`, and returns their rows.
fn remainder_rows(remainders: &[[f32; 3]], expected: usize) -> Result<Vec<[f32; 4]>, ModelError> {
    let len = remainders.len();
    if len != expected && len != 0 {
        return Err(ModelError::Length { what: "remainders", len, expected });
    }
    check_finite("remainders", remainders)?;
    Ok(remainders.iter().map(|&[x, y, z]| [x, y, z, 0.0]).collect())
}

/// Validates the counters that are added to or compared with others.
fn check_counters(feedback: &Feedback) -> Result<(), ModelError> {
    const LIMIT: usize = 1 << 30;
    for (what, count) in [
        ("time since the last test for rest (sleep_time)", feedback.sleep_time),
        ("passed tests for rest (sleep_pass_count)", feedback.sleep_pass_count),
        ("halvings of steps (implicit_halvings)", feedback.implicit_halvings),
        ("solved steps in a row (implicit_quick)", feedback.implicit_quick),
    ] {
        let count = count as usize;
        if count > LIMIT {
            return Err(ModelError::TooMany { what, count, limit: LIMIT });
        }
    }
    Ok(())
}
