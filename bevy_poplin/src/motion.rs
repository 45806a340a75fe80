//! Motion of an entity between two pictures.

use bevy::prelude::*;
use poplin::model::{ModelError, Pose};

/// Last simulated pose and target pose of an entity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Motion {
    reached: Pose,
    target: Pose,
    /// True if the last target was rejected.
    is_refused: bool,
}

impl Motion {
    pub(crate) fn new(pose: Pose) -> Self {
        Self { reached: pose, target: pose, is_refused: false }
    }

    /// Sets the target pose. An invalid pose is rejected and keeps the old target.
    ///
    /// # Errors
    /// Error of the first of consecutive invalid poses.
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

    /// Returns the pose at a fraction of the motion, `0..=1`; `None` if the entity does not move.
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

/// Returns position and rotation of an entity.
pub(crate) fn pose(transform: &GlobalTransform) -> Pose {
    let (_, rotation, translation) = transform.to_scale_rotation_translation();
    Pose { translation: translation.to_array(), rotation: rotation.normalize().to_array() }
}

/// Warns of a scale, which the simulation ignores.
pub(crate) fn warn_of_scale(entity: Entity, transform: &GlobalTransform) {
    let scale = transform.scale();
    if !scale.abs_diff_eq(Vec3::ONE, 1e-3) {
        warn!(
            "{entity}: the scale {scale} of the Transform is ignored by cloths and their colliders"
        );
    }
}
