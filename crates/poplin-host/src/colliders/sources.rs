//! Stamps and settings from which the arrays of a cloth were built.

use poplin_model::{ColliderStamps, InteractionGroups, ShapeKind};

use super::SpaceMotion;

/// Stamps and settings from which the arrays of a cloth were built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SourceStamps {
    pub(super) own: ColliderStamps,
    pub(super) world: ColliderStamps,
    pub(super) groups: InteractionGroups,
    pub(super) motion: SpaceMotion,
    /// See [`super::HostColliders::update`].
    pub(super) body_margin: f32,
}

impl SourceStamps {
    pub(super) fn has_other_members(&self, other: &Self) -> bool {
        self.own.members != other.own.members
            || self.world.members != other.world.members
            || self.groups != other.groups
    }

    pub(super) fn has_other_shapes(&self, other: &Self, kind: ShapeKind) -> bool {
        let kind = kind as usize;
        let poses = |seen: &Self| [seen.motion.start, seen.motion.target];
        self.has_other_members(other)
            || self.own.kinds[kind] != other.own.kinds[kind]
            || self.world.kinds[kind] != other.world.kinds[kind]
            || poses(self) != poses(other)
            || self.body_margin != other.body_margin
    }

    pub(super) fn has_other_bodies(&self, other: &Self) -> bool {
        self.has_other_members(other)
            || self.own.bodies != other.own.bodies
            || self.world.bodies != other.world.bodies
            || self.motion != other.motion
            || self.body_margin != other.body_margin
    }
}
