//! Trees over the shapes of a cloth: refitted while shapes move, rebuilt for new lists.

#[cfg(feature = "save")]
use poplin_model::ModelError;

use super::tree::{Bounds, bounds_of};
#[cfg(feature = "save")]
use super::tree::{StoredTree, Tree};
use super::{HostColliders, JUMP};
use crate::InterpolatedArray;
use crate::interpolated::PathChange;

/// Margin of the tree boxes, in units of the smallest radius: shapes may move this far before the
/// trees are refitted and uploaded again, as with the fat boxes of Box2D's dynamic tree.
const SHAPE_SLACK: f32 = 0.5;

/// See [`HostColliders::stored_trees`].
#[cfg(feature = "save")]
pub(crate) type StoredTrees = (f32, [StoredTree; 2]);

/// Bounding box of the paths of some items of an array over the next frame.
pub(super) fn bounds_of_paths(
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

impl HostColliders {
    /// Refits the tree of the mesh, or rebuilds it for new triangles.
    pub(super) fn fit_triangle_tree(&mut self, has_new_triangles: bool) {
        // A box bounds the whole path of a triangle, so the tree holds for every iteration.
        let bounds = |corners: &[u32; 3]| bounds_of_paths(&self.vertices, corners, |_| 0.0);
        self.bounds.clear();
        self.bounds.extend(self.triangles.iter().map(bounds));
        self.triangle_tree.follow(&self.bounds, has_new_triangles);
        self.triangle_tree_rows.fit(&self.triangle_tree);
    }

    /// Reduces the slack by the motion of the spheres; below 0 the trees must be refitted.
    pub(super) fn outgrow_trees(&mut self, change: PathChange) {
        if change.is_jump {
            self.shape_slack = f32::NEG_INFINITY;
        } else if change.is_motion {
            self.shape_slack -= self.spheres.drift();
        }
    }

    /// Refits the trees of spheres and capsules, or rebuilds them for new lists.
    pub(super) fn fit_shape_trees(&mut self, has_new_lists: bool) {
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
}
