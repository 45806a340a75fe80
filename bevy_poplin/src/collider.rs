//! A shape that pushes cloths.

use bevy::prelude::*;
use poplin::model::{Collider, InteractionGroups, Shape};

/// A shape that every cloth collides with. It moves with the [`Transform`] of its entity, with a velocity that cloths feel by friction.
///
/// [`Shape`] makes them around the entity's origin: spheres, capsules along y as Bevy's, boxes, planes, convexes, meshes. A scale is not
/// taken over.
#[derive(Component, Debug, Clone)]
#[require(Transform)]
pub struct ClothCollider {
    /// The volume, in the local space of the entity.
    pub shape: Shape,
    /// Factor on the friction of the cloths that touch it, `0..=100` (default 1).
    pub friction: f32,
    /// Which cloths it meets (default: all).
    pub groups: InteractionGroups,
}

impl ClothCollider {
    /// A shape that meets every cloth.
    pub fn new(shape: impl Into<Shape>) -> Self {
        let Collider { shape, friction, groups, .. } = Collider::from(shape);
        Self { shape, friction, groups }
    }
}
