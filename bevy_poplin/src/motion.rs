//! Where an entity goes between two pictures.

use bevy::prelude::*;
use poplin::model::{ModelError, Pose};

/// Poses of an entity: the one that was simulated last, and the one to reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Motion {
    reached: Pose,
    target: Pose,
    /// The last target was refused.
    is_refused: bool,
}

impl Motion {
    pub(crate) fn new(pose: Pose) -> Self {
        Self { reached: pose, target: pose, is_refused: false }
    }

    /// Sets the pose to reach. One that is not valid is refused: the entity stands still.
    ///
    /// # Errors
    /// The first of a row of refusals.
    pub(crate) fn set_target(&mut self, target: Pose) -> Result<(), ModelError> {
        let result = target.validate();
        let was_refused = std::mem::replace(&mut self.is_refused, result.is_err());
        if result.is_ok() {
            self.target = target;
        }
        if was_refused { Ok(()) } else { result }
    }

    pub(crate) fn target(&self) -> Pose {
        self.target
    }

    /// The pose at a fraction of the distance, `0..=1`, or none if the entity stands still.
    pub(crate) fn at(&self, fraction: f32) -> Option<Pose> {
        let Self { reached, target, .. } = self;
        if reached == target {
            return None;
        }
        if fraction >= 1.0 {
            return Some(*target);
        }
        let translation = Vec3::from(reached.translation).lerp(target.translation.into(), fraction);
        let [from, to] = [reached, target].map(|pose| Quat::from_array(pose.rotation));
        let rotation = from.slerp(to, fraction).normalize();
        Some(Pose { translation: translation.to_array(), rotation: rotation.to_array() })
    }

    pub(crate) fn reach(&mut self) {
        self.reached = self.target;
    }
}

/// Position and rotation of an entity.
pub(crate) fn pose(transform: &GlobalTransform) -> Pose {
    let (_, rotation, translation) = transform.to_scale_rotation_translation();
    Pose { translation: translation.to_array(), rotation: rotation.normalize().to_array() }
}

/// Warns of a scale, which the simulation leaves out.
pub(crate) fn warn_of_scale(entity: Entity, transform: &GlobalTransform) {
    let scale = transform.scale();
    if !scale.abs_diff_eq(Vec3::ONE, 1e-3) {
        warn!(
            "{entity}: cloths and their colliders are simulated without the scale {scale} of the Transform"
        );
    }
}
