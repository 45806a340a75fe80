//! Update of the collider arrays to the changes of the collider sets.

use poplin_geometry::{is_rimless, weld_triangles, wide};
use poplin_model::{
    ColliderSet, ColliderStamps, InteractionGroups, ModelError, Pose, Rigid, ShapeKind,
};

use super::arrays::{Bodies, Boxes, Flat, Mesh, Round, Twist, View};
use super::sources::SourceStamps;
use super::{Halves, HostColliders, SpaceMotion};
use crate::InterpolatedArray;

/// Extent of a change of the colliders that a cloth meets; each includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ColliderChange {
    Nothing,
    /// Contents of the arrays and trees.
    Contents,
    /// Lists, and thus stages and the lengths of inputs and scratch.
    Lists,
}

impl ColliderChange {
    fn contents(is_changed: bool) -> Self {
        if is_changed { Self::Contents } else { Self::Nothing }
    }

    fn lists(is_changed: bool) -> Self {
        if is_changed { Self::Lists } else { Self::Nothing }
    }
}

impl HostColliders {
    /// Applies the changes of the cloth's own set, the simulation's set and the motion of the local
    /// space, then updates lists and trees. `body_margin` is the distance that rigid bodies keep
    /// from the cloth beyond their shapes \[m\].
    pub(crate) fn update(
        &mut self,
        own: &ColliderSet,
        world: &ColliderSet,
        groups: InteractionGroups,
        motion: SpaceMotion,
        body_margin: f32,
    ) -> Result<ColliderChange, ModelError> {
        let seen =
            SourceStamps { own: own.stamps(), world: world.stamps(), groups, motion, body_margin };
        if self.seen == Some(seen) {
            return Ok(ColliderChange::Nothing);
        }
        // A stamp changes with every edit of a set, so equal stamps mean an unchanged set.
        let views = [View::of_own(own, groups), View::of_world(world, groups, motion)];
        let last = self.seen;
        let is_other = |kind| last.is_none_or(|last| last.has_other_shapes(&seen, kind));
        let mut change = ColliderChange::Nothing;
        if last.is_none_or(|last| last.has_other_bodies(&seen)) {
            let bodies = Bodies::of(&views, body_margin);
            if is_other(ShapeKind::Mesh) {
                // An invalid mesh returns here, before anything is changed.
                change = self.set_mesh(Mesh::of(&views, &bodies))?;
            }
            change = change.max(self.set_bodies(bodies));
        } else if is_other(ShapeKind::Mesh) {
            change = self.set_mesh(Mesh::of(&views, &self.bodies))?;
        }
        if is_other(ShapeKind::Round) {
            // The previous buffers are filled again: no allocation per frame.
            let mut round = std::mem::take(&mut self.round);
            round.collect(&views, &self.bodies);
            change = change.max(self.set_round(&mut round));
            self.round = round;
        }
        if is_other(ShapeKind::Flat) {
            change = change.max(self.set_flat(Flat::of(&views, &self.bodies)));
        }
        if is_other(ShapeKind::Round) || is_other(ShapeKind::Flat) {
            change = change.max(self.set_twists());
        }
        if is_other(ShapeKind::Box) {
            change = change.max(self.set_boxes(Boxes::of(&views, &self.bodies)));
        }
        self.seen = Some(seen);
        self.to_world =
            (motion.start != Pose::default()).then(|| Rigid::new(motion.start).rotation);
        let has_new_lists = change == ColliderChange::Lists;
        if has_new_lists {
            self.make_lists();
        }
        // New lists renumber the items, so that the trees must be rebuilt.
        if has_new_lists || self.shape_slack < 0.0 {
            self.fit_shape_trees(has_new_lists);
        }
        let others = [&self.planes, &self.boxes, &self.vertices];
        // Preconditions of move_spheres for the next frames.
        self.has_only_own_spheres = own.len() == self.sphere_owners.len()
            && self.capsules.is_empty()
            && !self.has_bodies()
            && !self.has_new_mesh
            && !others.into_iter().any(InterpolatedArray::has_target)
            && views[0].has_only_spheres();
        Ok(change)
    }

    /// Fast path of [`HostColliders::update`] for a frame in which only spheres of the cloth's own
    /// set have moved and the cloth meets nothing else. Returns `None`, with nothing changed, in
    /// any other case. `halves` is scratch memory.
    pub(crate) fn move_spheres(
        &mut self,
        own: &ColliderSet,
        groups: InteractionGroups,
        halves: &mut Halves,
    ) -> Option<ColliderChange> {
        let (stamps, seen) = (own.stamps(), &mut self.seen.as_mut()?.own);
        // Equal stamps but for those of shapes: no member, group or body has changed.
        let same_but_spheres = ColliderStamps { kinds: seen.kinds, ..stamps } == *seen;
        if !self.has_only_own_spheres || !same_but_spheres {
            return None;
        }
        let is_still = View::of_own(own, groups).collect_spheres(halves);
        if !is_still || self.twist_rows.uploaded.is_nowhere() {
            return None;
        }
        // From here on the frame is committed to the fast path.
        *seen = stamps;
        let [start, target] = &*halves;
        let change = self.spheres.lead(start, target);
        self.outgrow_trees(change);
        if self.shape_slack < 0.0 {
            self.fit_shape_trees(false);
        }
        Some(ColliderChange::contents(change.is_any()))
    }

    /// Sets spheres and capsules, and swaps the previous lists into `round`.
    fn set_round(&mut self, round: &mut Round) -> ColliderChange {
        let [start, target] = &round.spheres;
        let change = self.spheres.lead(start, target);
        self.outgrow_trees(change);
        let has_new_lists = self.capsules != round.capsules
            || self.sphere_owners != round.sphere_owners
            || self.capsule_owners != round.capsule_owners;
        if has_new_lists {
            std::mem::swap(&mut self.capsules, &mut round.capsules);
            std::mem::swap(&mut self.sphere_owners, &mut round.sphere_owners);
            std::mem::swap(&mut self.capsule_owners, &mut round.capsule_owners);
            let rows = self.capsules.iter().map(|&[a, b]| [a, b, 0, 0]);
            self.capsule_rows.set(rows);
        }
        ColliderChange::contents(change.is_any()).max(ColliderChange::lists(has_new_lists))
    }

    fn set_flat(&mut self, flat: Flat) -> ColliderChange {
        let Flat { planes: [start, target], convexes, convex_owners, twists } = flat;
        self.convex_twists = twists;
        let change = ColliderChange::contents(self.planes.lead(&start, &target).is_any());
        let has_new_lists = (&self.convexes, &self.convex_owners) != (&convexes, &convex_owners);
        (self.convexes, self.convex_owners) = (convexes, convex_owners);
        change.max(ColliderChange::lists(has_new_lists))
    }

    /// Packs the rotations of spheres and capsules and the motions of convexes. A collider that
    /// turns in place is a change, which keeps the cloth awake.
    fn set_twists(&mut self) -> ColliderChange {
        const STILL: [f32; 4] = [0.0; 4];
        let spins = || self.round.spins.iter().flatten();
        let moves = |it: &Twist| it.spin != STILL || it.shift != STILL;
        self.is_turning =
            spins().any(|spin| *spin != STILL) || self.convex_twists.iter().any(moves);
        let of_convexes = self.convex_twists.iter().flat_map(|it| [it.spin, it.center, it.shift]);
        let rows = spins().copied().chain(of_convexes);
        self.twist_rows.set(rows.map(|row| row.map(f32::to_bits)));
        ColliderChange::contents(self.is_turning)
    }

    fn set_boxes(&mut self, boxes: Boxes) -> ColliderChange {
        let Boxes { rows: [start, target], owners } = boxes;
        let change = ColliderChange::contents(self.boxes.lead(&start, &target).is_any());
        let has_new_lists = self.box_owners != owners;
        self.box_owners = owners;
        change.max(ColliderChange::lists(has_new_lists))
    }

    fn set_mesh(&mut self, mut mesh: Mesh) -> Result<ColliderChange, ModelError> {
        if mesh.owners.iter().any(|owner| owner.body != mesh.owners[0].body) {
            // The kernel has one mesh, which belongs to one body or to none.
            return Err(ModelError::MeshesOfBodies);
        }
        let [start, target] = std::mem::take(&mut mesh.vertices);
        // Another mesh may have the same triangles and more vertices that none of them uses.
        let has_new_triangles =
            !mesh.has_triangles_of(&self.mesh) || self.vertices.start().len() != start.len();
        if has_new_triangles {
            self.triangles = mesh.triangles();
            self.triangle_rows.set(self.triangles.iter().map(|&[a, b, c]| [a, b, c, 0]));
            let positions = start.iter().map(|&[x, y, z, _]| wide([x, y, z]));
            self.is_mesh_closed = is_rimless(&weld_triangles(positions, &self.triangles));
        }
        let change = self.vertices.lead(&start, &target);
        // New triangles, or after a jump: those nearest in the last frame are of no use.
        self.has_new_mesh |= has_new_triangles | change.is_jump;
        if has_new_triangles || change.is_any() {
            self.fit_triangle_tree(has_new_triangles);
        }
        let has_new_lists = has_new_triangles || mesh.owners != self.mesh.owners;
        self.mesh = mesh;
        Ok(ColliderChange::contents(change.is_any()).max(ColliderChange::lists(has_new_lists)))
    }

    /// Replaces the bodies. Any difference counts as a change: a moving body keeps the cloth awake.
    fn set_bodies(&mut self, bodies: Bodies) -> ColliderChange {
        let has_new_lists = self.bodies != bodies;
        self.bodies = bodies;
        ColliderChange::lists(has_new_lists)
    }
}
