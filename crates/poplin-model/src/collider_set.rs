//! Colliders and rigid bodies that cloths collide with.

mod collider;
mod sizes;
mod stamps;
#[cfg(feature = "serde")]
mod stored;

use std::sync::Arc;

pub use collider::{BodyId, Collider, ColliderId, ColliderMotion};
use collider::{Entry, Start, check_friction};
use sizes::Sizes;
pub use sizes::{MAX_BODIES, MAX_SHAPES, ShapeKind};
pub use stamps::ColliderStamps;
use stamps::next_stamp;
#[cfg(feature = "serde")]
pub use stored::StoredColliders;

use crate::arena::Arena;
use crate::error::ModelError;
use crate::shape::check_count;
use crate::{InteractionGroups, Pose, RigidBody, Shape};

/// Colliders and the rigid bodies that they belong to.
///
/// The set of a simulation is in world space and is shared by all cloths. The set of a cloth is in
/// the cloth's local space, moves with it and acts only on that cloth, such as the limbs of a
/// character under its garment. [`InteractionGroups`] filter the colliders of both sets.
///
/// A changed shape or pose is interpolated over the next frame, with every vertex and center on a
/// straight line. Friction acts on the velocity of the surface, which for spheres, capsules, planes
/// and convexes follows from the pose: a sphere that turns carries cloth. Colliders are in the
/// order in which they were added, except that slots of removed colliders are reused.
#[derive(Debug, Clone, Default)]
// Fields that moving a collider touches come first: they share cache lines.
#[repr(C)]
pub struct ColliderSet {
    colliders: Arena<Entry>,
    stamps: ColliderStamps,
    has_moved: bool,
    bodies: Arena<RigidBody>,
    sizes: Sizes,
}

impl PartialEq for ColliderSet {
    fn eq(&self, other: &Self) -> bool {
        let colliders = |set: &Self| {
            let all = set.colliders.iter();
            all.map(|(key, entry)| (key, entry.collider.clone(), entry.start.clone())).collect()
        };
        let (own, others): (Vec<_>, Vec<_>) = (colliders(self), colliders(other));
        own == others && self.bodies.iter().eq(other.bodies.iter())
    }
}

const NO_COLLIDER: ModelError = ModelError::StaleHandle { what: "collider" };
const NO_BODY: ModelError = ModelError::StaleHandle { what: "body" };

impl ColliderSet {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of colliders.
    pub fn len(&self) -> usize {
        self.colliders.len()
    }

    /// True if the set has no colliders.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Change stamps of the set.
    pub fn stamps(&self) -> ColliderStamps {
        self.stamps
    }

    /// Adds a collider, or a shape at rest at the origin that collides with every cloth. It acts
    /// from the next frame on.
    ///
    /// # Errors
    /// [`ModelError`] if a value or index is out of range, there are too many shapes, or the body
    /// is not in the set; nothing is added.
    pub fn add(&mut self, collider: impl Into<Collider>) -> Result<ColliderId, ModelError> {
        let collider = collider.into();
        collider.shape.validate()?;
        collider.pose.validate()?;
        check_friction(collider.friction)?;
        collider.body.map_or(Ok(()), |body| self.body(body).map(drop))?;
        self.sizes = self.sizes.exchanged(None, Some(&collider.shape))?;
        self.stamps.members = next_stamp();
        Ok(ColliderId(self.colliders.insert(Entry { collider, start: Start::Same })))
    }

    /// Removes a collider.
    ///
    /// # Errors
    /// [`ModelError::StaleHandle`].
    pub fn remove(&mut self, id: ColliderId) -> Result<Collider, ModelError> {
        let entry = self.colliders.remove(id.0).ok_or(NO_COLLIDER)?;
        self.sizes = self.sizes.exchanged(Some(&entry.collider.shape), None)?;
        self.stamps.members = next_stamp();
        Ok(entry.collider)
    }

    /// Removes all colliders and bodies.
    pub fn clear(&mut self) {
        self.colliders.clear();
        self.bodies.clear();
        self.sizes = Sizes::default();
        self.stamps.members = next_stamp();
    }

    /// Returns a collider in its state at the end of the next frame.
    ///
    /// # Errors
    /// [`ModelError::StaleHandle`].
    pub fn get(&self, id: ColliderId) -> Result<&Collider, ModelError> {
        self.colliders.get(id.0).map(|entry| &entry.collider).ok_or(NO_COLLIDER)
    }

    /// Iterates over all colliders in their state at the end of the next frame.
    pub fn iter(&self) -> impl Iterator<Item = (ColliderId, &Collider)> {
        self.colliders.iter().map(|(key, entry)| (ColliderId(key), &entry.collider))
    }

    /// Iterates over the motion of all colliders over the next frame.
    pub fn motions(&self) -> impl Iterator<Item = ColliderMotion<'_>> {
        self.colliders.iter().map(|(_, Entry { collider, start })| {
            let (start_shape, start_pose) = match start {
                Start::Same => (&collider.shape, collider.pose),
                Start::Pose(pose) => (&collider.shape, *pose),
                Start::Shape(earlier) => (&earlier.0, earlier.1),
            };
            ColliderMotion { collider, start_shape, start_pose }
        })
    }

    /// Prefetches the collider data into the cache; ignore the return value.
    pub fn fetch(&self) -> u32 {
        self.colliders.iter().fold(0, |sum, (_, Entry { collider, start })| {
            let start = match start {
                Start::Same => 0,
                Start::Pose(pose) => pose.rotation[0].to_bits(),
                Start::Shape(earlier) => earlier.1.rotation[0].to_bits(),
            };
            let shape = u32::from(matches!(collider.shape, Shape::Sphere(_)));
            sum ^ start
                ^ shape
                ^ collider.pose.translation[0].to_bits()
                ^ collider.pose.rotation[3].to_bits()
        })
    }

    fn entry_mut(&mut self, id: ColliderId) -> Result<&mut Entry, ModelError> {
        self.colliders.get_mut(id.0).ok_or(NO_COLLIDER)
    }

    fn mark(&mut self, kind: ShapeKind) {
        self.stamps.kinds[kind as usize] = next_stamp();
    }

    /// Moves a collider to `pose` over the next frame.
    ///
    /// # Errors
    /// [`ModelError`] if the handle is stale or the pose is not valid; the collider stays.
    pub fn set_pose(&mut self, id: ColliderId, pose: Pose) -> Result<(), ModelError> {
        pose.validate()?;
        let Entry { collider, start } = self.entry_mut(id)?;
        if collider.pose != pose {
            let old = std::mem::replace(&mut collider.pose, pose);
            // Keeps the start of the frame if the pose is set several times.
            if *start == Start::Same {
                *start = Start::Pose(old);
            }
            let kind = ShapeKind::of(&collider.shape);
            self.has_moved = true;
            self.mark(kind);
        }
        Ok(())
    }

    /// Moves a collider to `pose` at once: it has no velocity and collides with nothing between the
    /// poses.
    ///
    /// # Errors
    /// [`ModelError`] if the handle is stale or the pose is not valid; the collider stays.
    pub fn teleport(&mut self, id: ColliderId, pose: Pose) -> Result<(), ModelError> {
        pose.validate()?;
        let Entry { collider, start } = self.entry_mut(id)?;
        if collider.pose != pose || *start != Start::Same {
            (collider.pose, *start) = (pose, Start::Same);
            let kind = ShapeKind::of(&collider.shape);
            self.mark(kind);
        }
        Ok(())
    }

    /// Changes a shape, interpolated over the next frame. Unlike [`ColliderSet::set_pose`] it does
    /// not tell how surfaces turn, which only boxes and meshes show. A shape of another kind, a
    /// convex with another plane count and a mesh with other triangles take effect at once.
    ///
    /// # Errors
    /// [`ModelError`] if the handle is stale or the shape is not valid or too large; the old shape
    /// stays.
    pub fn set_shape(&mut self, id: ColliderId, shape: impl Into<Shape>) -> Result<(), ModelError> {
        let (shape, sizes) = (shape.into(), self.sizes);
        let Entry { collider, start } = self.entry_mut(id)?;
        shape.validate_against(Some(&collider.shape))?;
        if collider.shape == shape {
            return Ok(());
        }
        let sizes = sizes.exchanged(Some(&collider.shape), Some(&shape))?;
        let kind = ShapeKind::of(&shape);
        // Otherwise there is no vertex correspondence to interpolate.
        let is_reached = collider.shape.can_become(&shape);
        let old = std::mem::replace(&mut collider.shape, shape);
        if is_reached {
            *start = match std::mem::replace(start, Start::Same) {
                Start::Same => Start::Shape(Box::new((old, collider.pose))),
                // Both pose and shape change in this frame: keep the start of each.
                Start::Pose(pose) => Start::Shape(Box::new((old, pose))),
                earlier @ Start::Shape(..) => earlier,
            };
            self.has_moved = true;
            self.mark(kind);
        } else {
            *start = Start::Same;
            self.stamps.members = next_stamp();
        }
        self.sizes = sizes;
        Ok(())
    }

    /// Replaces a shape at once, without interpolation from the old one.
    ///
    /// # Errors
    /// Same as [`ColliderSet::set_shape`].
    pub fn replace_shape(
        &mut self,
        id: ColliderId,
        shape: impl Into<Shape>,
    ) -> Result<(), ModelError> {
        self.set_shape(id, shape)?;
        let Entry { collider, start } = self.entry_mut(id)?;
        if std::mem::replace(start, Start::Same) != Start::Same {
            let kind = ShapeKind::of(&collider.shape);
            self.mark(kind);
        }
        Ok(())
    }

    /// Moves the vertices \[m\] of a triangle mesh over the next frame; its triangles stay and are
    /// not checked again.
    ///
    /// # Errors
    /// [`ModelError`] if the handle is stale, the collider is not a mesh or has another vertex
    /// count, or a value is not finite; the old vertices stay.
    pub fn set_vertices(
        &mut self,
        id: ColliderId,
        vertices: impl Into<Arc<[[f32; 3]]>>,
    ) -> Result<(), ModelError> {
        let vertices = vertices.into();
        let Shape::TriangleMesh(mesh) = &self.get(id)?.shape else {
            return Err(ModelError::Length { what: "vertices", len: vertices.len(), expected: 0 });
        };
        let expected = mesh.vertices.len();
        if vertices.len() != expected {
            let len = vertices.len();
            return Err(ModelError::Length { what: "mesh vertices", len, expected });
        }
        let mesh = crate::TriangleMesh { vertices, triangles: mesh.triangles.clone() };
        self.set_shape(id, mesh)
    }

    /// Sets the factor on friction, `0..=100`, effective from the next frame.
    ///
    /// # Errors
    /// [`ModelError`] if the handle is stale or the factor is out of range; the old one stays.
    pub fn set_friction(&mut self, id: ColliderId, friction: f32) -> Result<(), ModelError> {
        check_friction(friction)?;
        let collider = &mut self.entry_mut(id)?.collider;
        if std::mem::replace(&mut collider.friction, friction) != friction {
            self.stamps.members = next_stamp();
        }
        Ok(())
    }

    /// Sets the collision groups of a collider, effective from the next frame.
    ///
    /// # Errors
    /// [`ModelError::StaleHandle`].
    pub fn set_groups(
        &mut self,
        id: ColliderId,
        groups: InteractionGroups,
    ) -> Result<(), ModelError> {
        let collider = &mut self.entry_mut(id)?.collider;
        if std::mem::replace(&mut collider.groups, groups) != groups {
            self.stamps.members = next_stamp();
        }
        Ok(())
    }

    /// Attaches a collider to a rigid body, or detaches it.
    ///
    /// # Errors
    /// [`ModelError::StaleHandle`].
    pub fn attach(&mut self, id: ColliderId, body: Option<BodyId>) -> Result<(), ModelError> {
        body.map_or(Ok(()), |body| self.body(body).map(drop))?;
        let collider = &mut self.entry_mut(id)?.collider;
        if std::mem::replace(&mut collider.body, body) != body {
            self.stamps.members = next_stamp();
        }
        Ok(())
    }

    /// Adds a rigid body without colliders.
    ///
    /// # Errors
    /// [`ModelError`] if a value is out of range or there are [`MAX_BODIES`] already; nothing is
    /// added.
    pub fn add_body(&mut self, body: RigidBody) -> Result<BodyId, ModelError> {
        body.validate()?;
        check_count("bodies", self.bodies.len() + 1, MAX_BODIES)?;
        self.stamps.members = next_stamp();
        Ok(BodyId(self.bodies.insert(body)))
    }

    /// Removes a rigid body; its colliders stay, attached to no body.
    ///
    /// # Errors
    /// [`ModelError::StaleHandle`].
    pub fn remove_body(&mut self, id: BodyId) -> Result<RigidBody, ModelError> {
        let body = self.bodies.remove(id.0).ok_or(NO_BODY)?;
        let colliders = self.colliders.values_mut().map(|entry| &mut entry.collider);
        colliders.filter(|collider| collider.body == Some(id)).for_each(|it| it.body = None);
        self.stamps.members = next_stamp();
        Ok(body)
    }

    /// Returns a rigid body with the state set last.
    ///
    /// # Errors
    /// [`ModelError::StaleHandle`].
    pub fn body(&self, id: BodyId) -> Result<&RigidBody, ModelError> {
        self.bodies.get(id.0).ok_or(NO_BODY)
    }

    /// Iterates over all rigid bodies.
    pub fn bodies(&self) -> impl Iterator<Item = (BodyId, &RigidBody)> {
        self.bodies.iter().map(|(key, body)| (BodyId(key), body))
    }

    /// Sets mass, position and velocities of a rigid body for the next frame.
    ///
    /// # Errors
    /// [`ModelError`] if the handle is stale or a value is out of range; the old state stays.
    pub fn set_body(&mut self, id: BodyId, body: RigidBody) -> Result<(), ModelError> {
        body.validate()?;
        let old = self.bodies.get_mut(id.0).ok_or(NO_BODY)?;
        if std::mem::replace(old, body) != body {
            self.stamps.bodies = next_stamp();
        }
        Ok(())
    }

    /// Ends the frame: start states become equal to end states. Called by engines.
    pub fn end_frame(&mut self) {
        if std::mem::take(&mut self.has_moved) {
            self.colliders.values_mut().for_each(|entry| entry.start = Start::Same);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plane, TriangleMesh};

    fn at(x: f32) -> Pose {
        Pose { translation: [x, 0.0, 0.0], ..Pose::default() }
    }

    fn start_x(set: &ColliderSet) -> Vec<f32> {
        set.motions().map(|motion| motion.start_pose.translation[0]).collect()
    }

    #[test]
    fn stale_handles_are_rejected() {
        let mut set = ColliderSet::new();
        let id = set.add(Shape::sphere(1.0)).unwrap();
        let body = set.add_body(RigidBody::default()).unwrap();
        set.attach(id, Some(body)).unwrap();
        set.remove_body(body).unwrap();
        assert_eq!(set.get(id).unwrap().body, None);
        set.remove(id).unwrap();
        let other = set.add(Shape::sphere(2.0)).unwrap();
        for result in [
            set.get(id).map(drop),
            set.set_pose(id, at(1.0)),
            set.set_shape(id, Shape::sphere(3.0)),
            set.set_groups(id, InteractionGroups::default()),
            set.remove(id).map(drop),
        ] {
            assert_eq!(result, Err(NO_COLLIDER));
        }
        assert_eq!(set.body(body), Err(NO_BODY));
        assert_eq!(set.attach(other, Some(body)), Err(NO_BODY));
        assert_eq!(set.get(other).unwrap().shape, Shape::sphere(2.0));
    }

    #[test]
    fn moved_colliders_keep_their_start_until_end_of_frame() {
        let mut set = ColliderSet::new();
        let id = set.add(Shape::sphere(1.0)).unwrap();
        set.set_pose(id, at(1.0)).unwrap();
        set.set_pose(id, at(2.0)).unwrap();
        assert_eq!((start_x(&set), set.get(id).unwrap().pose), (vec![0.0], at(2.0)));
        set.end_frame();
        assert_eq!(start_x(&set), [2.0]);
        set.set_pose(id, at(3.0)).unwrap();
        set.teleport(id, at(5.0)).unwrap();
        assert_eq!(start_x(&set), [5.0]);
    }

    #[test]
    fn stamps_change_only_for_changed_parts() {
        let mut set = ColliderSet::new();
        let ball = set.add(Shape::sphere(1.0)).unwrap();
        let floor = set.add(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }).unwrap();
        let before = set.stamps();
        set.set_pose(ball, Pose::default()).unwrap();
        set.set_shape(floor, set.get(floor).unwrap().shape.clone()).unwrap();
        assert_eq!(set.stamps(), before, "nothing has changed");
        set.set_pose(ball, at(1.0)).unwrap();
        let (members, kinds) = (before.members, set.stamps().kinds);
        assert_eq!(set.stamps().members, members);
        assert!(kinds[1..].iter().all(|&stamp| stamp == 0), "{kinds:?}");
        assert_ne!(kinds[0], before.kinds[0]);
        assert_ne!(set.clone().add(Shape::sphere(1.0)), set.add(Shape::sphere(1.0)).map(|_| ball));
    }

    #[test]
    fn rejected_changes_leave_the_set_unchanged() {
        let mut set = ColliderSet::new();
        let vertices = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let mesh = TriangleMesh { vertices: vertices.into(), triangles: [[0, 1, 2]].into() };
        let id = set.add(mesh).unwrap();
        let before = set.clone();
        assert!(set.add(Shape::sphere(f32::NAN)).is_err());
        assert!(set.set_vertices(id, vec![[0.0; 3]; 2]).is_err());
        assert!(set.set_vertices(id, vec![[f32::NAN; 3]; 3]).is_err());
        assert!(set.set_pose(id, Pose { rotation: [0.0; 4], ..Pose::default() }).is_err());
        assert!(set.add_body(RigidBody { restitution: 1.5, ..Default::default() }).is_err());
        assert!(set.add_body(RigidBody { inverse_mass: -1.0, ..Default::default() }).is_err());
        assert_eq!((&set, set.stamps()), (&before, before.stamps()));
    }
}
