//! Colliders of one cloth on the host: shape arrays, index lists and trees in the layout that the
//! kernel reads.

mod arrays;
mod grown;
mod impulses;
mod tree;

use bytemuck::{Zeroable, cast_slice};
use glam::DQuat;
use poplin_layout::{
    BODY_ROWS, BOX_ROWS, CAPSULE_ROWS, CHUNK_ROWS, ColliderParameters, FrameSteps, NEARBY_ROWS,
    NO_OFFSET, SPHERE_ROWS, chunk_count, groups_by_member,
};
use poplin_model::{
    ClothConfig, ColliderSet, ColliderStamps, InteractionGroups, ModelError, Pose, Rigid, ShapeKind,
};

use crate::InterpolatedArray;
use crate::interpolated::PathChange;
pub(crate) use arrays::Halves;
use arrays::{Bodies, Boxes, Flat, Mesh, Owner, Round, View};
use tree::{Bounds, Tree, bounds_of};

pub use arrays::BodyRef;
pub(crate) use arrays::SpaceMotion;
pub use impulses::{ClothImpulses, FrameBodies};

/// Margin of the tree boxes, in units of the smallest radius: shapes may move this far before the
/// trees are refitted and uploaded again, as with the fat boxes of Box2D's dynamic tree.
const SHAPE_SLACK: f32 = 0.5;

/// Displacement larger than the clearance of any particle \[m\].
const JUMP: f32 = 1e30;

/// Rows that change rarely (floats as their bits), with a flag for a pending upload.
#[derive(Debug, Clone, Default)]
struct Rows {
    rows: Vec<[u32; 4]>,
    is_changed: bool,
}

impl Rows {
    fn set(&mut self, rows: Vec<[u32; 4]>) {
        self.is_changed |= rows != self.rows;
        self.rows = rows;
    }

    /// Packs a refitted tree.
    fn fit(&mut self, tree: &Tree) {
        tree.rows(&mut self.rows);
        self.is_changed = true;
    }
}

/// Bounding box of the paths of some items of an array over the next frame.
fn bounds_of_paths(
    array: &InterpolatedArray,
    items: &[u32],
    radius: impl Fn([f32; 4]) -> f32,
) -> Bounds {
    let halves = [array.start(), array.target()];
    let ends = |&item: &u32| {
        halves.map(|half| {
            let row @ [x, y, z, _] = half[item as usize];
            ([x, y, z], radius(row))
        })
    };
    bounds_of(items.iter().flat_map(ends))
}

/// Collider parts of the inputs of a cloth, in their order in memory.
#[derive(Debug, Clone, Copy)]
enum Part {
    Spheres,
    Planes,
    Boxes,
    Vertices,
    Capsules,
    Triangles,
    SphereTree,
    CapsuleTree,
    TriangleTree,
    Indices,
    Bodies,
}

const PART_COUNT: usize = Part::Bodies as usize + 1;

/// Ranges and begins of the index lists \[indices\]; a pair is begin and length.
#[derive(Debug, Clone, Copy, Default)]
struct Lists {
    free_spheres: [u32; 2],
    free_capsules: [u32; 2],
    free_convexes: [u32; 2],
    free_boxes: [u32; 2],
    sphere_capsules: u32,
    convex_planes: u32,
    /// Begin of the friction factors; `None` if all are 1.
    frictions: Option<u32>,
}

/// Stamps and settings from which the arrays of a cloth were built.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    own: ColliderStamps,
    world: ColliderStamps,
    groups: InteractionGroups,
    motion: SpaceMotion,
    /// See [`HostColliders::update`].
    body_margin: f32,
}

impl Seen {
    fn has_other_members(&self, other: &Self) -> bool {
        self.own.members != other.own.members
            || self.world.members != other.world.members
            || self.groups != other.groups
    }

    fn has_other_shapes(&self, other: &Self, kind: ShapeKind) -> bool {
        let kind = kind as usize;
        let poses = |seen: &Self| [seen.motion.start, seen.motion.target];
        self.has_other_members(other)
            || self.own.kinds[kind] != other.own.kinds[kind]
            || self.world.kinds[kind] != other.world.kinds[kind]
            || poses(self) != poses(other)
            || self.body_margin != other.body_margin
    }

    fn has_other_bodies(&self, other: &Self) -> bool {
        self.has_other_members(other)
            || self.own.bodies != other.own.bodies
            || self.world.bodies != other.world.bodies
            || self.motion != other.motion
            || self.body_margin != other.body_margin
    }
}

/// See [`HostColliders::stored_trees`].
#[cfg(feature = "save")]
pub(crate) type StoredTrees = (f32, [tree::StoredTree; 2]);

/// Colliders that a cloth meets, in its local space, as arrays, lists and trees.
#[derive(Debug, Clone, Default)]
// Fields that are read for every cloth with moving spheres come first: they share cache lines.
#[repr(C)]
pub(crate) struct HostColliders {
    spheres: InterpolatedArray,
    /// Remaining motion of the spheres before the trees must be refitted \[m\].
    shape_slack: f32,
    /// True if nothing but spheres of the cloth's own set moves, or could move while the set keeps
    /// its members.
    has_own_spheres_alone: bool,
    sphere_tree_rows: Rows,
    seen: Option<Seen>,
    bodies: Bodies,
    to_world: Option<DQuat>,
    capsules: Vec<[u32; 2]>,
    sphere_owners: Vec<Owner>,
    capsule_owners: Vec<Owner>,
    convexes: Vec<Vec<u32>>,
    convex_owners: Vec<Owner>,
    box_owners: Vec<Owner>,
    mesh: Mesh,
    triangles: Vec<[u32; 3]>,
    planes: InterpolatedArray,
    boxes: InterpolatedArray,
    vertices: InterpolatedArray,
    capsule_rows: Rows,
    triangle_rows: Rows,
    capsule_tree_rows: Rows,
    triangle_tree_rows: Rows,
    index_rows: Rows,
    body_rows: Rows,
    sphere_tree: Tree,
    capsule_tree: Tree,
    triangle_tree: Tree,
    /// Previous spheres and capsules, kept to reuse their memory.
    round: Round,
    /// Boxes of the items of a tree, kept to reuse their memory.
    bounds: Vec<Bounds>,
    free: Lists,
    free_spheres: Vec<u32>,
    free_capsules: Vec<u32>,
    is_mesh_closed: bool,
    has_new_mesh: bool,
    needs_lists: bool,
    needs_shape_trees: bool,
    needs_triangle_tree: bool,
    needs_refit: bool,
    /// True if lists or triangles have changed since [`Self::take_new_lists`], and with them counts
    /// and the length of the inputs.
    has_new_lists: bool,
    /// Rows reserved for each part; a longer part needs a new layout of the inputs.
    capacities: [u32; PART_COUNT],
}

fn pad([x, y, z]: [f32; 3]) -> [f32; 4] {
    [x, y, z, 0.0]
}

fn bits(row: [f32; 4]) -> [u32; 4] {
    row.map(f32::to_bits)
}

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
        let seen = Seen { own: own.stamps(), world: world.stamps(), groups, motion, body_margin };
        if self.seen == Some(seen) {
            return Ok(false);
        }
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
        self.has_own_spheres_alone = own.len() == self.sphere_owners.len()
            && self.capsules.is_empty()
            && !self.has_bodies()
            && !self.has_new_mesh
            && !others.into_iter().any(InterpolatedArray::has_target)
            && views[0].has_spheres_alone();
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
        if !self.has_own_spheres_alone || !same_but_spheres {
            return None;
        }
        *seen = stamps;
        View::of_own(own, groups).collect_spheres(halves);
        let [start, target] = &*halves;
        let change = self.spheres.lead(start, target);
        if self.outgrow_trees(change) {
            self.fit_shape_trees(false);
        }
        Some(change.is_any())
    }

    /// Uploads the changes of [`HostColliders::move_spheres`], like
    /// [`HostColliders::take_changed`].
    pub(crate) fn take_moved_spheres(&mut self, mut upload: impl FnMut(u32, &[[u32; 4]])) {
        const { assert!(Part::Spheres as u32 == 0, "spheres are the first part") };
        self.spheres.take_changed(|offset, rows| upload(offset, cast_slice(rows)));
        if std::mem::take(&mut self.sphere_tree_rows.is_changed) {
            upload(self.begins()[Part::SphereTree as usize], &self.sphere_tree_rows.rows);
        }
    }

    /// Ends a frame in which only spheres moved and returns the offsets of their starts and targets
    /// in the colliders' inputs.
    pub(crate) fn end_spheres(&mut self) -> [u32; 2] {
        let offsets = self.spheres.offsets();
        self.spheres.end_frame();
        offsets
    }

    /// See [`crate::HostCloth::fetch`].
    pub(crate) fn fetch(&self) -> u32 {
        let seen = self.seen.map_or(0, |seen| seen.own.members ^ seen.world.bodies);
        seen as u32 ^ self.shape_slack.to_bits() ^ u32::from(self.sphere_tree_rows.is_changed)
    }

    /// See [`crate::HostCloth::fetch_lists`].
    pub(crate) fn fetch_lists(&self) -> u32 {
        self.spheres.fetch()
    }

    /// True if spheres move over the next frame.
    pub(crate) fn has_moving_spheres(&self) -> bool {
        self.spheres.has_target()
    }

    /// True if members or groups differ from those of the last frame, so that the next frame may be
    /// rejected.
    pub(crate) fn has_other_members(
        &self,
        own: &ColliderSet,
        world: &ColliderSet,
        groups: InteractionGroups,
    ) -> bool {
        self.seen.is_none_or(|seen| {
            seen.own.members != own.stamps().members
                || seen.world.members != world.stamps().members
                || seen.groups != groups
        })
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

    /// Bodies whose impulses the next frame reports.
    pub(crate) fn frame_bodies(&self) -> FrameBodies {
        FrameBodies { refs: self.bodies.refs.clone(), to_world: self.to_world }
    }

    /// Rigid body that owns the mesh.
    fn mesh_body(&self) -> Option<u32> {
        self.mesh.owners.first().and_then(|owner| owner.body)
    }

    pub(crate) fn has_bodies(&self) -> bool {
        !self.bodies.refs.is_empty()
    }

    pub(crate) fn body_count(&self) -> u32 {
        self.bodies.refs.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.spheres.is_set()
            && self.convexes.is_empty()
            && !self.boxes.is_set()
            && self.triangles.is_empty()
    }

    pub(crate) fn has_free_convexes(&self) -> bool {
        self.free.free_convexes[1] > 0
    }

    pub(crate) fn has_free_boxes(&self) -> bool {
        self.free.free_boxes[1] > 0
    }

    pub(crate) fn has_free_mesh(&self) -> bool {
        !self.triangles.is_empty() && self.mesh_body().is_none()
    }

    pub(crate) fn has_free_shapes(&self) -> bool {
        self.free.free_spheres[1] + self.free.free_capsules[1] > 0
    }

    /// Makes the next frame search the mesh again instead of starting from the nearest triangles of
    /// the last frame.
    pub(crate) fn forget_nearby(&mut self) {
        self.has_new_mesh = !self.triangles.is_empty();
    }

    /// Length of the frame of the last update \[s\].
    #[cfg(feature = "save")]
    pub(crate) fn last_dt(&self) -> f32 {
        self.seen.map_or(0.0, |seen| seen.motion.dt)
    }

    /// State that depends on earlier frames: the remaining slack of the trees of spheres and
    /// capsules, and the trees.
    #[cfg(feature = "save")]
    pub(crate) fn stored_trees(&self) -> StoredTrees {
        (self.shape_slack, [&self.sphere_tree, &self.capsule_tree].map(Tree::stored))
    }

    /// Restores the result of [`Self::stored_trees`] for the same colliders; call after
    /// [`Self::update`].
    #[cfg(feature = "save")]
    pub(crate) fn set_trees(&mut self, (slack, trees): StoredTrees) -> Result<(), ModelError> {
        let [spheres, capsules] = trees;
        let spheres = spheres.tree(self.free_spheres.len())?;
        self.capsule_tree = capsules.tree(self.free_capsules.len())?;
        (self.shape_slack, self.sphere_tree) = (slack, spheres);
        self.sphere_tree_rows.fit(&self.sphere_tree);
        self.capsule_tree_rows.fit(&self.capsule_tree);
        Ok(())
    }

    /// Updates lists and trees.
    fn derive(&mut self) {
        let has_new_lists = std::mem::take(&mut self.needs_lists);
        if has_new_lists {
            self.make_lists();
        }
        self.has_new_lists |= has_new_lists | self.needs_triangle_tree;
        if std::mem::take(&mut self.needs_shape_trees) || has_new_lists {
            self.fit_shape_trees(has_new_lists);
        }
        let needs_tree = std::mem::take(&mut self.needs_triangle_tree);
        if std::mem::take(&mut self.needs_refit) || needs_tree {
            let bounds = |corners: &[u32; 3]| bounds_of_paths(&self.vertices, corners, |_| 0.0);
            self.bounds.clear();
            self.bounds.extend(self.triangles.iter().map(bounds));
            self.triangle_tree.follow(&self.bounds, needs_tree);
            self.triangle_tree_rows.fit(&self.triangle_tree);
        }
    }

    /// True if lists or triangles have changed since [`Self::take_new_lists`].
    pub(crate) fn has_new_lists(&self) -> bool {
        self.has_new_lists
    }

    /// Returns true if lists or triangles have changed since the last call.
    pub(crate) fn take_new_lists(&mut self) -> bool {
        std::mem::take(&mut self.has_new_lists)
    }

    /// True if the next frame has the same offsets if nothing changes; call before
    /// [`Self::end_frame`].
    pub(crate) fn is_settled(&self) -> bool {
        let arrays = [&self.spheres, &self.planes, &self.boxes, &self.vertices];
        !self.has_new_mesh && !arrays.into_iter().any(InterpolatedArray::has_target)
    }

    fn make_lists(&mut self) {
        let mut indices: Vec<u32> = Vec::new();
        let mut append = |list: &mut dyn Iterator<Item = u32>| {
            let begin = indices.len() as u32;
            indices.extend(list);
            [begin, indices.len() as u32 - begin]
        };
        let of_body = |owners: &[Owner], body: Option<u32>| -> Vec<u32> {
            (0..).zip(owners).filter(|(_, own)| own.body == body).map(|(shape, _)| shape).collect()
        };
        self.free_spheres = of_body(&self.sphere_owners, None);
        self.free_capsules = of_body(&self.capsule_owners, None);
        // Prefix sum of the plane counts, without the leading 0.
        let plane_begin = self.convexes.iter().scan(0, |sum, convex| {
            *sum += convex.len() as u32;
            Some(*sum)
        });
        let sphere_capsules = groups_by_member(self.sphere_owners.len(), &self.capsules);
        let owners =
            [&self.sphere_owners, &self.capsule_owners, &self.convex_owners, &self.box_owners];
        // Friction factors in the order spheres, capsules, convexes, boxes, meshes.
        let of_shapes = owners.into_iter().flatten().map(|owner| owner.friction);
        let frictions: Vec<_> = of_shapes.chain(self.mesh.frictions()).map(f32::to_bits).collect();
        let has_frictions = frictions.iter().any(|&bits| bits != 1.0_f32.to_bits());
        self.free = Lists {
            frictions: has_frictions.then(|| append(&mut frictions.into_iter())[0]),
            free_spheres: append(&mut self.free_spheres.iter().copied()),
            free_capsules: append(&mut self.free_capsules.iter().copied()),
            free_convexes: append(&mut of_body(&self.convex_owners, None).into_iter()),
            free_boxes: append(&mut of_body(&self.box_owners, None).into_iter()),
            sphere_capsules: append(&mut sphere_capsules.into_iter())[0],
            convex_planes: append(
                &mut std::iter::once(0)
                    .chain(plane_begin)
                    .chain(self.convexes.iter().flatten().copied()),
            )[0],
        };
        let mut rows = Vec::with_capacity(8 * self.bodies.states.len());
        for (index, body) in (0..).zip(&self.bodies.states) {
            let mut list = |owners: &[Owner]| append(&mut of_body(owners, Some(index)).into_iter());
            let [sphere, capsule] = [list(&self.sphere_owners), list(&self.capsule_owners)];
            let [convex, shape] = [list(&self.convex_owners), list(&self.box_owners)];
            let has_mesh = self.mesh_body() == Some(index);
            let with = |[x, y, z]: [f32; 3], w: f32| [x, y, z, w];
            rows.extend(
                [
                    with(body.center, body.inverse_mass),
                    with(body.velocity, body.restitution),
                    with(body.angular_velocity, f32::from(u8::from(has_mesh))),
                ]
                .map(bits),
            );
            rows.extend(body.inverse_inertia.map(pad).map(bits));
            rows.push([sphere[0], sphere[1], capsule[0], capsule[1]]);
            rows.push([convex[0], convex[1], shape[0], shape[1]]);
        }
        indices.resize(indices.len().next_multiple_of(4), 0);
        self.index_rows.set(indices.as_chunks::<4>().0.to_vec());
        self.body_rows.set(rows);
    }

    /// Reduces the slack by the motion of the spheres; returns true if it is used up.
    fn outgrow_trees(&mut self, change: PathChange) -> bool {
        if change.is_any() {
            self.shape_slack -= self.spheres.drift();
        }
        change.is_jump || self.shape_slack < 0.0
    }

    /// Refits the trees of spheres and capsules, or rebuilds them for new lists.
    fn fit_shape_trees(&mut self, has_new_lists: bool) {
        let smallest = self.spheres.start().iter().map(|sphere| sphere[3]).fold(JUMP, f32::min);
        // No margin for new shapes, which may never move, or for fast ones, which would use it up
        // at once.
        let has_room = !has_new_lists && self.spheres.drift() < SHAPE_SLACK * smallest;
        let room = if has_room { SHAPE_SLACK * smallest } else { 0.0 };
        // 1 % less than the margin, against rounding.
        self.shape_slack = 0.99 * room;
        let radius = |[.., radius]: [f32; 4]| radius + room;
        self.bounds.clear();
        let of_sphere = |&sphere: &u32| bounds_of_paths(&self.spheres, &[sphere], radius);
        self.bounds.extend(self.free_spheres.iter().map(of_sphere));
        self.sphere_tree.follow(&self.bounds, has_new_lists);
        self.sphere_tree_rows.fit(&self.sphere_tree);
        self.bounds.clear();
        let of_capsule = |&capsule: &u32| {
            bounds_of_paths(&self.spheres, &self.capsules[capsule as usize], radius)
        };
        self.bounds.extend(self.free_capsules.iter().map(of_capsule));
        self.capsule_tree.follow(&self.bounds, has_new_lists);
        self.capsule_tree_rows.fit(&self.capsule_tree);
    }

    fn lens(&self) -> [u32; PART_COUNT] {
        let halves = |array: &InterpolatedArray| 2 * array.start().len();
        let lens = [
            halves(&self.spheres),
            halves(&self.planes),
            halves(&self.boxes),
            halves(&self.vertices),
            self.capsule_rows.rows.len(),
            self.triangle_rows.rows.len(),
            self.sphere_tree_rows.rows.len(),
            self.capsule_tree_rows.rows.len(),
            self.triangle_tree_rows.rows.len(),
            self.index_rows.rows.len(),
            self.body_rows.rows.len(),
        ];
        lens.map(|len| len as u32)
    }

    /// Length of the inputs \[vec4\]; a longer result than before means a new layout of all parts.
    pub(crate) fn input_len(&mut self) -> u32 {
        let lens = self.lens();
        if lens.iter().zip(&self.capacities).any(|(len, capacity)| len > capacity) {
            // A part that has grown once grows again: doubling its room keeps old copies from
            // filling the pool.
            let room = |len: u32, capacity: u32| {
                if len <= capacity { capacity } else { len.max(2 * capacity) }
            };
            self.capacities = std::array::from_fn(|part| room(lens[part], self.capacities[part]));
            self.mark_all();
        }
        self.capacities.iter().sum()
    }

    /// Marks every part for the next upload.
    pub(crate) fn mark_all(&mut self) {
        for array in [&mut self.spheres, &mut self.planes, &mut self.boxes, &mut self.vertices] {
            array.mark_all();
        }
        for rows in self.static_rows() {
            rows.is_changed = true;
        }
    }

    /// Parts after the interpolated arrays, in order.
    fn static_rows(&mut self) -> [&mut Rows; PART_COUNT - 4] {
        [
            &mut self.capsule_rows,
            &mut self.triangle_rows,
            &mut self.sphere_tree_rows,
            &mut self.capsule_tree_rows,
            &mut self.triangle_tree_rows,
            &mut self.index_rows,
            &mut self.body_rows,
        ]
    }

    fn begins(&self) -> [u32; PART_COUNT] {
        let mut sum = 0;
        self.capacities.map(|capacity| {
            sum += capacity;
            sum - capacity
        })
    }

    /// Uploads every changed part with its offset in the colliders' inputs \[vec4\].
    pub(crate) fn take_changed(&mut self, mut upload: impl FnMut(u32, &[[u32; 4]])) {
        let begins = self.begins();
        let arrays = [&mut self.spheres, &mut self.planes, &mut self.boxes, &mut self.vertices];
        for (array, begin) in arrays.into_iter().zip(begins) {
            array.take_changed(|offset, rows| upload(begin + offset, cast_slice(rows)));
        }
        for (rows, begin) in self.static_rows().into_iter().zip(&begins[Part::Capsules as usize..])
        {
            if std::mem::take(&mut rows.is_changed) && !rows.rows.is_empty() {
                upload(*begin, &rows.rows);
            }
        }
    }

    /// Length of the scratch of the colliders \[vec4\].
    pub(crate) fn scratch_len(&self, particle_count: u32) -> u32 {
        self.prepared_len() + self.nearest_len(particle_count) + self.impulse_len(particle_count)
    }

    fn prepared_len(&self) -> u32 {
        let (spheres, capsules) = (self.sphere_owners.len() as u32, self.capsules.len() as u32);
        let (planes, boxes) = (self.planes.start().len() as u32, self.box_owners.len() as u32);
        SPHERE_ROWS * spheres + CAPSULE_ROWS * capsules + planes + BOX_ROWS * boxes
    }

    fn nearest_len(&self, particle_count: u32) -> u32 {
        if self.triangles.is_empty() { 0 } else { NEARBY_ROWS * particle_count }
    }

    fn impulse_len(&self, particle_count: u32) -> u32 {
        self.body_count() * (BODY_ROWS + CHUNK_ROWS * chunk_count(particle_count))
    }

    /// Begin of the impulse rows of bodies in the colliders' scratch \[vec4\].
    pub(crate) fn impulse_begin(&self, particle_count: u32) -> u32 {
        self.prepared_len() + self.nearest_len(particle_count)
    }

    /// Loop trips of one particle in one iteration: every plane and box, and a usual share of the
    /// tree nodes.
    pub(crate) fn trips_per_particle(&self) -> u64 {
        // A traversal of a large tree visits about 192 nodes.
        let of_tree = |count: u32| u64::from(count).min(192);
        let of_convexes = self.convexes.iter().map(Vec::len).sum::<usize>();
        let one_by_one = self.planes.start().len() + self.box_owners.len() + of_convexes;
        one_by_one as u64
            + of_tree(self.triangle_tree.node_count())
            + of_tree(self.sphere_tree.node_count())
            + of_tree(self.capsule_tree.node_count())
    }

    /// Constants of the next frame. `input_begin` is the begin of the colliders' inputs in
    /// `input_pool`, `scratch_begin` that of their part of the cloth's scratch.
    pub(crate) fn frame(
        &self,
        config: &ClothConfig,
        steps: Option<&FrameSteps>,
        particle_count: u32,
        input_begin: u32,
        scratch_begin: u32,
    ) -> ColliderParameters {
        if self.is_empty() {
            return Zeroable::zeroed();
        }
        let begins = self.begins().map(|begin| input_begin + begin);
        let begin = |part: Part| begins[part as usize];
        let halves =
            |array: &InterpolatedArray, part: Part| array.offsets().map(|half| begin(part) + half);
        let [sphere_start, sphere_target] = halves(&self.spheres, Part::Spheres);
        let [plane_start, plane_target] = halves(&self.planes, Part::Planes);
        let [box_start, box_target] = halves(&self.boxes, Part::Boxes);
        let [vertex_start, vertex_target] = halves(&self.vertices, Part::Vertices);
        let prepared_begin = scratch_begin;
        let nearest_begin = prepared_begin + self.prepared_len();
        ColliderParameters {
            sphere_count: self.sphere_owners.len() as u32,
            sphere_start,
            sphere_target,
            capsule_count: self.capsules.len() as u32,
            capsule_begin: begin(Part::Capsules),
            plane_count: self.planes.start().len() as u32,
            plane_start,
            plane_target,
            box_count: self.box_owners.len() as u32,
            box_start,
            box_target,
            vertex_start,
            vertex_target,
            triangle_begin: begin(Part::Triangles),
            triangle_count: self.triangles.len() as u32,
            triangle_tree_begin: begin(Part::TriangleTree),
            triangle_tree_count: self.triangle_tree.node_count(),
            is_mesh_closed: u32::from(self.is_mesh_closed),
            sphere_tree_begin: begin(Part::SphereTree),
            sphere_tree_count: self.sphere_tree.node_count(),
            capsule_tree_begin: begin(Part::CapsuleTree),
            capsule_tree_count: self.capsule_tree.node_count(),
            number_begin: begin(Part::Indices),
            free_sphere_begin: self.free.free_spheres[0],
            free_capsule_begin: self.free.free_capsules[0],
            free_convex_begin: self.free.free_convexes[0],
            free_convex_count: self.free.free_convexes[1],
            free_box_begin: self.free.free_boxes[0],
            free_box_count: self.free.free_boxes[1],
            sphere_capsule_begin: self.free.sphere_capsules,
            convex_plane_begin: self.free.convex_planes,
            convex_count: self.convexes.len() as u32,
            body_begin: begin(Part::Bodies),
            body_count: self.body_count(),
            prepared_begin,
            nearest_begin,
            impulse_begin: nearest_begin + self.nearest_len(particle_count),
            friction: config.contact.friction,
            friction_factor_begin: self.free.frictions.unwrap_or(NO_OFFSET),
            friction_slop: config.contact.friction_slop,
            friction_holds: u32::from(config.contact.friction_holds),
            mass_scale: config.contact.mass_scale,
            continuous_reach: 1.0 + config.contact.continuous_reach,
            depenetration_step: config.contact.depenetration_speed
                * steps.map_or(0.0, |steps| steps.step),
            mesh_step: self.mesh_step(steps),
            step: steps.map_or(0.0, |steps| steps.step),
            iteration_fraction: steps.map_or(0.0, |steps| 1.0 / steps.iteration_count as f32),
        }
    }

    /// Largest displacement of a mesh vertex in one iteration of the next frame \[m\]; [`JUMP`] in
    /// the frame after the mesh was replaced.
    fn mesh_step(&self, steps: Option<&FrameSteps>) -> f32 {
        if self.has_new_mesh {
            return JUMP;
        }
        let (start, target) = (self.vertices.start(), self.vertices.target());
        let square =
            |(a, b): (&[f32; 4], &[f32; 4])| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>();
        let farthest = if self.vertices.has_target() {
            start.iter().zip(target).map(square).fold(0.0, f32::max)
        } else {
            0.0
        };
        // 0.1 % more than computed, against rounding.
        1.001 * farthest.sqrt() / steps.map_or(1.0, |steps| steps.iteration_count as f32)
    }

    /// Ends the frame: targets become starts.
    pub(crate) fn end_frame(&mut self, is_simulated: bool) {
        // A frame of zero length did not search the mesh, so the search is still due.
        self.has_new_mesh &= !is_simulated;
        for array in [&mut self.spheres, &mut self.planes, &mut self.boxes, &mut self.vertices] {
            array.end_frame();
        }
    }
}

/// Returns true if every edge of the triangles is shared with exactly one other triangle, in the
/// opposite direction.
pub(crate) fn is_closed(triangles: &[[u32; 3]]) -> bool {
    let edges = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let mut forward: Vec<_> = edges.collect();
    let mut backward: Vec<_> = forward.iter().map(|&[a, b]| [b, a]).collect();
    forward.sort_unstable();
    backward.sort_unstable();
    // Every directed edge occurs once, and so does its reverse.
    !forward.is_empty() && forward == backward && forward.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_model::{Capsule, Collider, RigidBody, Shape, Sphere, TriangleMesh};

    #[test]
    fn is_closed_rejects_open_and_doubled_meshes() {
        let tetrahedron = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]];
        assert!(is_closed(&tetrahedron));
        assert!(!is_closed(&tetrahedron[1..]));
        assert!(!is_closed(&[[0, 1, 2], [0, 2, 1], [0, 1, 2], [0, 2, 1]]));
        assert!(!is_closed(&[]));
    }

    fn updated(host: &mut HostColliders, own: &ColliderSet) {
        let pose = Pose::default();
        let motion = SpaceMotion { start: pose, target: pose, dt: 0.1 };
        let (world, groups) = (ColliderSet::new(), InteractionGroups::default());
        host.update(own, &world, groups, motion, 0.0).unwrap();
    }

    fn uploaded(host: &mut HostColliders) -> usize {
        host.input_len();
        let mut rows = 0;
        host.take_changed(|_, part| rows += part.len());
        rows
    }

    #[test]
    fn shapes_of_bodies_are_not_free() {
        let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
        let body = set.add_body(RigidBody::default()).unwrap();
        set.add(Shape::capsule(1.0, [0.5, 0.4])).unwrap();
        let owned = Collider::from(Shape::capsule(1.0, [0.5, 0.4]));
        set.add(Collider { body: Some(body), ..owned }).unwrap();
        updated(&mut host, &set);
        assert_eq!((&host.free_spheres, &host.free_capsules), (&vec![0, 1], &vec![0]));
    }

    #[test]
    fn capsules_share_the_sphere_of_a_joint_until_they_separate() {
        let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
        let ball = |y: f32| Sphere { center: [0.0, y, 0.0], radius: 0.1 };
        let bone = |from: f32, to: f32| Capsule { ends: [ball(from), ball(to)] };
        set.add(bone(0.0, 1.0)).unwrap();
        let shin = set.add(bone(1.0, 2.0)).unwrap();
        set.add(ball(1.0)).unwrap();
        updated(&mut host, &set);
        assert_eq!(host.capsules, [[0, 1], [1, 2]]);
        assert_eq!(host.sphere_owners.len(), 4, "a separate sphere is not a joint");
        set.set_shape(shin, bone(1.5, 2.0)).unwrap();
        updated(&mut host, &set);
        assert_eq!(host.capsules, [[0, 1], [2, 3]]);
        assert_eq!(host.spheres.start()[2][1], 1.0, "the new sphere starts at the joint");
    }

    #[test]
    fn a_part_beyond_its_capacity_uploads_all_parts_again() {
        let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
        set.add(Shape::sphere(1.0)).unwrap();
        set.add(Shape::sphere(2.0)).unwrap();
        updated(&mut host, &set);
        let first = host.input_len();
        let before = uploaded(&mut host);
        assert!(before >= 3, "two spheres and the indices");
        set.add(Shape::cuboid([1.0; 3])).unwrap();
        updated(&mut host, &set);
        assert!(host.input_len() >= first + 8);
        let again = uploaded(&mut host);
        assert!(again >= before + 4, "{again}");
    }

    #[test]
    fn moving_one_shape_uploads_only_its_kind() {
        let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
        let at = |x: f32| Pose { translation: [x, 0.0, 0.0], ..Pose::default() };
        let ball = set.add(Shape::sphere(1.0)).unwrap();
        let shape = set.add(Shape::cuboid([1.0; 3])).unwrap();
        let vertices: Vec<_> = (0..3000).map(|k| [k as f32, 0.0, (k % 2) as f32]).collect();
        let triangles: Vec<_> = (0..1000).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
        let (vertices, triangles) = (vertices.into(), triangles.into());
        let mesh = set.add(TriangleMesh { vertices, triangles }).unwrap();
        updated(&mut host, &set);
        let all = uploaded(&mut host);
        assert!(all > 3000 + 1000, "{all}");
        updated(&mut host, &set);
        assert_eq!(uploaded(&mut host), 0, "nothing changed");
        set.set_pose(shape, at(1.0)).unwrap();
        updated(&mut host, &set);
        assert_eq!(uploaded(&mut host), 4, "the target of the box");
        host.end_frame(true);
        set.end_frame();
        set.set_pose(ball, at(1.0)).unwrap();
        updated(&mut host, &set);
        assert_eq!(uploaded(&mut host), 1 + 2, "the target of the ball and its tree");
        host.end_frame(true);
        set.end_frame();
        set.set_pose(mesh, at(1.0)).unwrap();
        updated(&mut host, &set);
        let nodes = 2 * 1000 - 1;
        assert_eq!(uploaded(&mut host), 3000 + 2 * nodes, "vertices and tree, not the triangles");
    }

    #[test]
    fn trees_bound_moving_shapes_and_are_kept_within_their_slack() {
        let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
        let ids = [Shape::sphere(0.1), Shape::capsule(0.4, [0.1, 0.2]), Shape::sphere(0.3)]
            .map(|shape| set.add(shape).unwrap());
        let (mut positions, mut kept, mut seed) = ([[0.0_f32; 3]; 3], 0, 7_u32);
        for frame in 0..600 {
            // Slow, at rest, then fast with jumps.
            let speed = [0.005, 0.0, 0.2][frame / 40 % 3];
            for (id, position) in ids.into_iter().zip(&mut positions) {
                for x in position.iter_mut() {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    *x += speed * ((seed >> 8) as f32 / 8_388_608.0 - 1.0);
                }
                let is_jump = frame % 40 == 20;
                position[0] += f32::from(u8::from(is_jump));
                let pose = Pose { translation: *position, ..Pose::default() };
                let set_pose = if is_jump { ColliderSet::teleport } else { ColliderSet::set_pose };
                set_pose(&mut set, id, pose).unwrap();
            }
            host.sphere_tree_rows.is_changed = false;
            updated(&mut host, &set);
            kept += usize::from(!host.sphere_tree_rows.is_changed);
            let ends = [host.capsules[0].to_vec(), vec![host.free_spheres[0]]];
            for (rows, items) in
                [&host.capsule_tree_rows, &host.sphere_tree_rows].into_iter().zip(&ends)
            {
                let path = bounds_of_paths(&host.spheres, items, |[.., radius]| radius);
                // Bounds of the root node.
                let [low, high] = [0, 1].map(|row| rows.rows[row].map(f32::from_bits));
                for k in 0..3 {
                    assert!(low[k] <= path.min[k] && path.max[k] <= high[k], "frame {frame}");
                }
            }
            host.end_frame(true);
            set.end_frame();
        }
        assert!((300..450).contains(&kept), "the trees were kept in {kept} frames");
    }

    #[test]
    fn meshes_of_different_bodies_are_rejected() {
        let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
        let (vertices, triangles) = ([[0.0; 3]; 3].into(), [[0, 1, 2]].into());
        let mesh = TriangleMesh { vertices, triangles };
        let body = set.add_body(RigidBody::default()).unwrap();
        set.add(mesh.clone()).unwrap();
        set.add(Collider { body: Some(body), ..Collider::from(mesh) }).unwrap();
        let pose = Pose::default();
        let motion = SpaceMotion { start: pose, target: pose, dt: 0.1 };
        let groups = InteractionGroups::default();
        let result = host.update(&set, &ColliderSet::new(), groups, motion, 0.0);
        assert_eq!(result, Err(ModelError::MeshesOfBodies));
    }
}
