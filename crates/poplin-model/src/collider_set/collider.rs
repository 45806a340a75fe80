//! Colliders, their handles and their motion over a frame.

use crate::arena::Key;
use crate::error::{ModelError, check_range};
use crate::{InteractionGroups, Pose, Shape};

/// Handle of a collider in its set. The handle of a removed collider never refers to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColliderId(pub(super) Key);

impl ColliderId {
    /// Converts the handle to a number, for bindings to other languages.
    pub fn to_bits(self) -> u64 {
        let [slot, generation] = self.0;
        u64::from(generation) << 32 | u64::from(slot)
    }

    /// Converts a number back to a handle. A number that [`ColliderId::to_bits`] did not return
    /// gives a stale handle or that of an arbitrary collider.
    pub fn from_bits(bits: u64) -> Self {
        Self([bits as u32, (bits >> 32) as u32])
    }
}

/// Handle of a rigid body in its set. The handle of a removed body never refers to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BodyId(pub(super) Key);

/// A shape with which cloths collide.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Collider {
    /// Volume from which particles are pushed out.
    pub shape: Shape,
    /// Pose of the shape in the space of its set (default: at the origin, not rotated).
    pub pose: Pose,
    /// Factor on the friction of cloths in contact, `0..=100` (default 1; 0 = slippery). A particle
    /// in contact with several colliders uses the largest factor.
    pub friction: f32,
    /// Collision groups that select the cloths it collides with (default: all).
    pub groups: InteractionGroups,
    /// Rigid body of the same set that it belongs to (default: none, so that contact exerts no
    /// impulse on it). A collider of a body always collides with particles, whatever the
    /// [`ContactMode`](crate::ContactMode): with triangle contact, at half the thickness of the
    /// cloth.
    pub body: Option<BodyId>,
}

impl<S: Into<Shape>> From<S> for Collider {
    fn from(shape: S) -> Self {
        let (shape, groups) = (shape.into(), InteractionGroups::default());
        Self { shape, pose: Pose::default(), friction: 1.0, groups, body: None }
    }
}

/// Motion of a collider over the next frame.
#[derive(Debug, Clone, Copy)]
pub struct ColliderMotion<'a> {
    /// Collider at the end of the frame.
    pub collider: &'a Collider,
    /// Shape at the start of the frame.
    pub start_shape: &'a Shape,
    /// Pose at the start of the frame.
    pub start_pose: Pose,
}

#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Entry {
    pub(super) collider: Collider,
    pub(super) start: Start,
}

/// State of a collider at the start of the next frame, relative to its end.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Start {
    /// Same shape and pose.
    Same,
    /// Same shape, different pose.
    Pose(Pose),
    /// Different shape, and possibly a different pose; boxed, since few colliders have one.
    Shape(Box<(Shape, Pose)>),
}

// Moving a collider reads and writes both: they are most of the memory of a set.
const _: () = assert!(size_of::<Start>() <= 32 && size_of::<Entry>() <= 144);

pub(super) fn check_friction(friction: f32) -> Result<(), ModelError> {
    check_range("friction of a collider", friction, 0.0, 100.0)
}
