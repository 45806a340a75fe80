//! Serialised form of a set of colliders.

use serde::{Deserialize, Serialize};

use super::{
    Arena, ColliderSet, ColliderStamps, Entry, MAX_BODIES, NO_BODY, Sizes, Start, check_count,
    check_friction, next_stamp,
};
use crate::{ModelError, RigidBody};

/// Serialised form of a [`ColliderSet`]: its colliders and bodies under their handles, with the
/// states at the start and at the end of the next frame. Deserialisation checks nothing; the
/// conversion to a [`ColliderSet`] does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredColliders {
    colliders: Arena<Entry>,
    bodies: Arena<RigidBody>,
}

impl From<&ColliderSet> for StoredColliders {
    fn from(set: &ColliderSet) -> Self {
        Self { colliders: set.colliders.clone(), bodies: set.bodies.clone() }
    }
}

/// Restores a set in which old handles refer to the same colliders and bodies as in the original,
/// and later additions get the same handles.
impl TryFrom<StoredColliders> for ColliderSet {
    type Error = ModelError;

    fn try_from(
        StoredColliders { colliders, bodies }: StoredColliders,
    ) -> Result<Self, ModelError> {
        colliders.validate("free slots of colliders")?;
        bodies.validate("free slots of bodies")?;
        check_count("bodies", bodies.len(), MAX_BODIES)?;
        bodies.iter().try_for_each(|(_, body)| body.validate())?;
        let (mut sizes, mut has_moved) = (Sizes::default(), false);
        for (index, (_, Entry { collider, start })) in colliders.iter().enumerate() {
            collider.shape.validate()?;
            collider.pose.validate()?;
            check_friction(collider.friction)?;
            collider.body.map_or(Ok(()), |body| bodies.get(body.0).map(drop).ok_or(NO_BODY))?;
            sizes = sizes.exchanged(None, Some(&collider.shape))?;
            has_moved |= *start != Start::Same;
            match start {
                Start::Same => {}
                Start::Pose(pose) => pose.validate()?,
                Start::Shape(earlier) => {
                    let (shape, pose) = &**earlier;
                    shape.validate_against(Some(&collider.shape))?;
                    pose.validate()?;
                    if !shape.can_become(&collider.shape) {
                        return Err(ModelError::OtherShape { index });
                    }
                }
            }
        }
        let stamps = ColliderStamps { members: next_stamp(), ..ColliderStamps::default() };
        Ok(Self { colliders, bodies, sizes, has_moved, stamps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collider, Plane, Pose, Shape};

    fn at(x: f32) -> Pose {
        Pose { translation: [x, 0.0, 0.0], ..Pose::default() }
    }

    fn set() -> ColliderSet {
        let mut set = ColliderSet::new();
        let body = set.add_body(RigidBody::default()).unwrap();
        let removed = set.add(Shape::sphere(1.0)).unwrap();
        let ball = set.add(Shape::sphere(2.0)).unwrap();
        let floor = set.add(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }).unwrap();
        set.add(Collider { body: Some(body), ..Shape::cuboid([1.0; 3]).into() }).unwrap();
        set.end_frame();
        set.remove(removed).unwrap();
        set.set_pose(floor, at(1.0)).unwrap();
        set.set_shape(ball, Shape::sphere(3.0)).unwrap();
        set
    }

    #[test]
    fn round_trip_keeps_handles_starts_and_free_slots() {
        let mut set = set();
        let mut other = ColliderSet::try_from(StoredColliders::from(&set)).unwrap();
        assert_eq!(other, set);
        assert_eq!(other.add(Shape::sphere(1.0)), set.add(Shape::sphere(1.0)));
        set.end_frame();
        other.end_frame();
        assert_eq!(other, set);
        assert_ne!(other.stamps().members, set.stamps().members);
    }

    #[test]
    fn conversion_rejects_every_kind_of_damage() {
        let broken: [fn(&mut StoredColliders); 8] = [
            |it| it.colliders.values_mut().for_each(|entry| entry.collider.friction = -1.0),
            |it| it.colliders.values_mut().for_each(|entry| entry.collider.pose.rotation[3] = 2.0),
            |it| it.colliders.values_mut().for_each(|it| it.collider.shape = Shape::sphere(-1.0)),
            |it| it.colliders.values_mut().for_each(|it| it.start = Start::Pose(at(f32::NAN))),
            |it| {
                let start = || Start::Shape(Box::new((Shape::Convex([].into()), at(0.0))));
                it.colliders.values_mut().for_each(|entry| entry.start = start());
            },
            |it| {
                let start = || Start::Shape(Box::new((Shape::capsule(1.0, [0.1; 2]), at(0.0))));
                it.colliders.values_mut().for_each(|entry| entry.start = start());
            },
            |it| it.bodies.clear(),
            |it| it.bodies.values_mut().for_each(|body| body.restitution = 2.0),
        ];
        for (index, damage) in broken.iter().enumerate() {
            let mut stored = StoredColliders::from(&set());
            damage(&mut stored);
            assert!(ColliderSet::try_from(stored).is_err(), "damage {index} was not detected");
        }
    }
}
