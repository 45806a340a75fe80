//! Collider component.

use bevy::prelude::*;
use poplin::model::{Collider, InteractionGroups, Shape};

/// Collider of all cloths. It moves with the [`Transform`] of its entity; friction uses its
/// velocity.
///
/// Constructors of [`Shape`] are centered at the entity's origin: spheres, capsules along y like
/// Bevy's, boxes, planes, convexes, meshes. Scale is ignored.
#[derive(Component, Debug, Clone)]
#[require(Transform)]
pub struct ClothCollider {
    /// Volume in the local space of the entity.
    pub shape: Shape,
    /// Factor on the friction of the cloths that touch it, `0..=100` (default 1).
    pub friction: f32,
    /// Interaction groups, which select the cloths that collide with it (default: all).
    pub groups: InteractionGroups,
}

impl ClothCollider {
    /// Creates a collider for all cloths.
    pub fn new(shape: impl Into<Shape>) -> Self {
        let Collider { shape, friction, groups, .. } = Collider::from(shape);
        Self { shape, friction, groups }
    }
}
