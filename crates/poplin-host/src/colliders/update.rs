//! Update of the collider arrays to the changes of the collider sets.

use poplin_geometry::is_closed;
use poplin_model::{
    ColliderSet, ColliderStamps, InteractionGroups, ModelError, Pose, Rigid, ShapeKind,
};

use super::arrays::{Bodies, Boxes, Flat, Mesh, Owner, Round, View};
use super::sources::SourceStamps;
use super::{Halves, HostColliders, SpaceMotion};
use crate::InterpolatedArray;

impl HostColliders {
    /// Applies the changes of the cloth's own set, the simulation's set and the motion of the local
    /// space, then updates lists and trees. Call this first in a frame. Returns true if anything
    /// changed for this cloth. `body_margin` is the distance that rigid bodies keep from the cloth
    /// beyond their shapes \[m\].
    pub(crate) fn update(
        &mut self,
        own: &ColliderSet,
        world: &ColliderSet,
        groups: InteractionGroups,
        motion: SpaceMotion,
        body_margin: f32,
    ) -> Result<bool, ModelError> {
        let seen =
            SourceStamps { own: own.stamps(), world: world.stamps(), groups, motion, body_margin };
        if self.seen == Some(seen) {
            return Ok(false);
        }
        // A stamp changes with every edit of a set, so equal stamps mean an unchanged set.
        let views = [View::of_own(own, groups), View::of_world(world, groups, motion)];
        let last = self.seen;
        let is_other = |kind| last.is_none_or(|last| last.has_other_shapes(&seen, kind));
        let mut is_changed = false;
        if last.is_none_or(|last| last.has_other_bodies(&seen)) {
            let bodies = Bodies::of(&views, body_margin);
            if is_other(ShapeKind::Mesh) {
                // An invalid mesh returns here, before anything is changed.
                is_changed |= self.set_mesh(Mesh::of(&views, &bodies))?;
            }
            is_changed |= self.set_bodies(bodies);
        } else if is_other(ShapeKind::Mesh) {
            is_changed |= self.set_mesh(Mesh::of(&views, &self.bodies))?;
        }
        if is_other(ShapeKind::Round) {
            // The previous buffers are filled again: no allocation per frame.
            let mut round = std::mem::take(&mut self.round);
            round.collect(&views, &self.bodies);
            is_changed |= self.set_round(&mut round);
            self.round = round;
        }
        if is_other(ShapeKind::Flat) {
            is_changed |= self.set_flat(Flat::of(&views, &self.bodies));
        }
        if is_other(ShapeKind::Box) {
            is_changed |= self.set_boxes(Boxes::of(&views, &self.bodies));
        }
        self.seen = Some(seen);
        self.to_world =
            (motion.start != Pose::default()).then(|| Rigid::new(motion.start).rotation);
        self.derive();
        let others = [&self.planes, &self.boxes, &self.vertices];
        // Preconditions of move_spheres for the next frames.
        self.has_only_own_spheres = own.len() == self.sphere_owners.len()
            && self.capsules.is_empty()
            && !self.has_bodies()
            && !self.has_new_mesh
            && !others.into_iter().any(InterpolatedArray::has_target)
            && views[0].has_only_spheres();
        Ok(is_changed)
    }

    /// Fast path of [`HostColliders::update`] for a frame in which only spheres of the cloth's own
    /// set have moved and the cloth meets nothing else. Returns `None`, with nothing changed, in
    /// any other case; otherwise true if anything changed for the cloth. `halves` is scratch
    /// memory.
    pub(crate) fn move_spheres(
        &mut self,
        own: &ColliderSet,
        groups: InteractionGroups,
        halves: &mut Halves,
    ) -> Option<bool> {
        let (stamps, seen) = (own.stamps(), &mut self.seen.as_mut()?.own);
        // Equal stamps but for those of shapes: no member, group or body has changed.
        let same_but_spheres = ColliderStamps { kinds: seen.kinds, ..stamps } == *seen;
        if !self.has_only_own_spheres || !same_but_spheres {
            return None;
        }
        // From here on the frame is committed to the fast path.
        *seen = stamps;
        View::of_own(own, groups).collect_spheres(halves);
        let [start, target] = &*halves;
        let change = self.spheres.lead(start, target);
        if self.outgrow_trees(change) {
            self.fit_shape_trees(false);
        }
        Some(change.is_any())
    }

    /// Sets spheres and capsules, and swaps the previous lists into `round`.
    fn set_round(&mut self, round: &mut Round) -> bool {
        let [start, target] = &round.spheres;
        let change = self.spheres.lead(start, target);
        self.needs_shape_trees |= self.outgrow_trees(change);
        let mut is_changed = change.is_any();
        if self.capsules != round.capsules {
            std::mem::swap(&mut self.capsules, &mut round.capsules);
            let rows = self.capsules.iter().map(|&[a, b]| [a, b, 0, 0]);
            self.capsule_rows.set(rows.collect());
            self.needs_lists = true;
            is_changed = true;
        }
        is_changed |= self.set_owners(|own| &mut own.sphere_owners, &mut round.sphere_owners);
        is_changed | self.set_owners(|own| &mut own.capsule_owners, &mut round.capsule_owners)
    }

    /// Replaces the owners of the shapes of a kind.
    fn set_owners(
        &mut self,
        of: impl Fn(&mut Self) -> &mut Vec<Owner>,
        owners: &mut Vec<Owner>,
    ) -> bool {
        let is_changed = of(self) != owners;
        std::mem::swap(of(self), owners);
        self.needs_lists |= is_changed;
        is_changed
    }

    fn set_flat(&mut self, flat: Flat) -> bool {
        let Flat { planes: [start, target], convexes, mut convex_owners } = flat;
        let mut is_changed = self.planes.lead(&start, &target).is_any();
        if self.convexes != convexes {
            self.convexes = convexes;
            self.needs_lists = true;
            is_changed = true;
        }
        is_changed | self.set_owners(|own| &mut own.convex_owners, &mut convex_owners)
    }

    fn set_boxes(&mut self, boxes: Boxes) -> bool {
        let Boxes { rows: [start, target], mut owners } = boxes;
        let is_changed = self.boxes.lead(&start, &target).is_any();
        is_changed | self.set_owners(|own| &mut own.box_owners, &mut owners)
    }

    fn set_mesh(&mut self, mut mesh: Mesh) -> Result<bool, ModelError> {
        if mesh.owners.iter().any(|owner| owner.body != mesh.owners[0].body) {
            // The kernel has one mesh, which belongs to one body or to none.
            return Err(ModelError::MeshesOfBodies);
        }
        let has_new_triangles = !mesh.has_triangles_of(&self.mesh);
        if has_new_triangles {
            self.triangles = mesh.triangles();
            self.triangle_rows.set(self.triangles.iter().map(|&[a, b, c]| [a, b, c, 0]).collect());
            self.is_mesh_closed = is_closed(&self.triangles);
            self.needs_triangle_tree = true;
            self.has_new_mesh = true;
        }
        let [start, target] = std::mem::take(&mut mesh.vertices);
        let change = self.vertices.lead(&start, &target);
        // After a jump the nearest triangles of the last frame are of no use.
        self.has_new_mesh |= change.is_jump;
        self.needs_refit |= change.is_any();
        let has_new_owners = mesh.owners != self.mesh.owners;
        self.needs_lists |= has_new_owners | has_new_triangles;
        self.mesh = mesh;
        Ok(has_new_triangles | change.is_any() | has_new_owners)
    }

    /// Replaces the bodies. Any difference counts as a change: a moving body keeps the cloth awake.
    fn set_bodies(&mut self, bodies: Bodies) -> bool {
        let is_changed = self.bodies != bodies;
        self.bodies = bodies;
        self.needs_lists |= is_changed;
        is_changed
    }
}
