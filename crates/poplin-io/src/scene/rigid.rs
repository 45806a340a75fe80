//! Poses in double precision.

use glam::{DQuat, DVec3};
use poplin_model::Pose;

/// A rotation, then a displacement, in double precision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rigid {
    pub(super) translation: DVec3,
    pub(super) rotation: DQuat,
}

impl Rigid {
    pub(super) fn new(pose: Pose) -> Self {
        let rotation = DQuat::from_array(pose.rotation.map(f64::from)).normalize();
        Self { translation: DVec3::from(pose.translation.map(f64::from)), rotation }
    }

    /// From the world into this frame.
    pub(super) fn inverse(self) -> Self {
        let rotation = self.rotation.conjugate();
        Self { translation: -(rotation * self.translation), rotation }
    }

    /// `first`, then this.
    pub(super) fn after(self, first: Self) -> Self {
        let rotation = (self.rotation * first.rotation).normalize();
        Self { translation: self.rotation * first.translation + self.translation, rotation }
    }
}
