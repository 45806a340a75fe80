//! Colliders of one cloth on the host: shape arrays, index lists and trees in the layout that the
//! kernel reads.

mod arrays;
mod grown;
mod impulses;
mod layout;
mod lists;
mod parameters;
mod refit;
mod sources;
#[cfg(test)]
mod tests;
mod tree;
mod update;

use glam::DQuat;
use poplin_model::{ColliderSet, InteractionGroups};

use crate::InterpolatedArray;
pub(crate) use arrays::Halves;
use arrays::{Bodies, Mesh, Owner, Round, Twist};
use layout::{PART_COUNT, Rows};
use lists::Lists;
#[cfg(feature = "save")]
pub(crate) use refit::StoredTrees;
use sources::SourceStamps;
use tree::{Bounds, Tree};

pub use arrays::BodyRef;
pub(crate) use arrays::SpaceMotion;
pub use impulses::{ClothImpulses, FrameBodies};
pub(crate) use update::ColliderChange;

/// Displacement larger than the clearance of any particle \[m\].
const JUMP: f32 = 1e30;

/// Colliders that a cloth meets, in its local space, as arrays, lists and trees.
#[derive(Debug, Clone, Default)]
// Fields that are read for every cloth with moving spheres come first: they share cache lines.
#[repr(C)]
pub(crate) struct HostColliders {
    spheres: InterpolatedArray,
    /// Remaining motion of the spheres before the trees must be refitted \[m\]; below 0: now.
    shape_slack: f32,
    /// True if nothing but spheres of the cloth's own set moves, or could move while the set keeps
    /// its members.
    has_only_own_spheres: bool,
    sphere_tree_rows: Rows,
    twist_rows: Rows,
    /// Stamps of the last update; `None` before the first.
    seen: Option<SourceStamps>,
    bodies: Bodies,
    /// Rotation from local to world axes at the start of the frame; `None` if it is the identity.
    to_world: Option<DQuat>,
    /// Spheres at the ends of each capsule.
    capsules: Vec<[u32; 2]>,
    sphere_owners: Vec<Owner>,
    capsule_owners: Vec<Owner>,
    /// Planes of each convex shape.
    convexes: Vec<Vec<u32>>,
    /// Motion of each convex over the frame.
    convex_twists: Vec<Twist>,
    /// True if a sphere or capsule turns, or a convex moves, in the next frame.
    is_turning: bool,
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
    /// Ranges of the index lists, of which the `free` ones are of shapes without a body.
    free: Lists,
    free_spheres: Vec<u32>,
    free_capsules: Vec<u32>,
    is_mesh_closed: bool,
    /// True until a frame has searched the mesh without memory of an earlier one.
    has_new_mesh: bool,
    /// Rows reserved for each part; a longer part needs a new layout of the inputs.
    capacities: [u32; PART_COUNT],
}

fn pad([x, y, z]: [f32; 3]) -> [f32; 4] {
    [x, y, z, 0.0]
}

impl HostColliders {
    /// Ends a frame in which only spheres moved. Returns the offsets of their starts and targets in
    /// the colliders' inputs, and true if they differ.
    pub(crate) fn end_spheres(&mut self) -> ([u32; 2], bool) {
        (self.spheres.offsets(), self.spheres.end_frame())
    }

    /// See [`crate::HostCloth::fetch`].
    pub(crate) fn fetch(&self) -> u32 {
        let seen = self.seen.map_or(0, |seen| seen.own.members ^ seen.world.bodies);
        seen as u32
            ^ self.shape_slack.to_bits()
            ^ u32::from(self.sphere_tree_rows.uploaded.is_nowhere())
            ^ u32::from(self.twist_rows.uploaded.is_nowhere())
    }

    /// See [`crate::HostCloth::fetch_lists`].
    pub(crate) fn fetch_lists(&self) -> u32 {
        self.spheres.fetch()
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

    /// Ends the frame: targets become starts. Returns true if the parameters of the next frame are
    /// different even if nothing changes.
    pub(crate) fn end_frame(&mut self, is_simulated: bool) -> bool {
        let mut has_moved = self.has_new_mesh || self.is_turning;
        if std::mem::take(&mut self.is_turning) {
            // A collider that stops is not visited again.
            self.round.spins.iter_mut().flatten().for_each(|spin| *spin = [0.0; 4]);
            self.convex_twists.fill(Twist::default());
            let count = self.twist_rows.rows.len();
            self.twist_rows.set(std::iter::repeat_n([0; 4], count));
        }
        // A frame of zero length did not search the mesh, so the search is still due.
        self.has_new_mesh &= !is_simulated;
        for array in [&mut self.spheres, &mut self.planes, &mut self.boxes, &mut self.vertices] {
            has_moved |= array.end_frame();
        }
        has_moved
    }
}
