//! Bounding volume hierarchies for stackless traversal by a kernel.

use glam::Vec3A;
use obvhs::BvhBuildParams;
use obvhs::aabb::Aabb;
use obvhs::bvh2::builder::build_bvh2;
#[cfg(feature = "save")]
use poplin_model::ModelError;

/// Relative margin of every box, against rounding in the kernel.
const MARGIN: f32 = 1e-5;

/// Bounding box of one item.
pub(super) type Bounds = Aabb;

/// Bounding box of some points, each with a radius.
pub(super) fn bounds_of(points: impl IntoIterator<Item = ([f32; 3], f32)>) -> Bounds {
    let grow = |bounds: Bounds, (point, radius): ([f32; 3], f32)| {
        let (center, radius) = (Vec3A::from_array(point), Vec3A::splat(radius));
        Bounds::new(bounds.min.min(center - radius), bounds.max.max(center + radius))
    };
    let bounds = points.into_iter().fold(Bounds::empty(), grow);
    // Rounding errors grow with the coordinates, so the margin does as well.
    let margin = (bounds.min.abs().max(bounds.max.abs())) * MARGIN;
    Bounds::new(bounds.min - margin, bounds.max + margin)
}

#[derive(Debug, Clone, Copy)]
struct Node {
    /// Bounding box of the subtree.
    bounds: Bounds,
    /// Index after this node's subtree, where traversal continues if the box is missed.
    escape: u32,
    /// Item of a leaf.
    item: Option<u32>,
}

/// Nodes in depth-first order; a leaf has one item.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// [`Tree::looseness`] at the time of building.
    looseness: f32,
}

/// Largest number of items that are stored as leaves under one root, in order: no sorting is
/// needed, and traversal costs no more.
const FEW: usize = 8;

/// Factor of growth of [`Tree::looseness`] at which a tree is rebuilt.
const LOOSE: f32 = 1.5;

impl Tree {
    /// Builds a tree over the boxes of items (PLOC: Meister, Bittner, 2018, by the crate `obvhs`).
    fn build(&mut self, bounds: &[Bounds]) {
        self.nodes.clear();
        // A root over all items, if there are several, then the leaves in order.
        if bounds.len() <= FEW {
            if bounds.len() > 1 {
                let escape = bounds.len() as u32 + 1;
                self.nodes.push(Node { bounds: Bounds::empty(), escape, item: None });
            }
            for (item, &bounds) in (0..).zip(bounds) {
                let escape = self.nodes.len() as u32 + 1;
                self.nodes.push(Node { bounds, escape, item: Some(item) });
            }
            self.fit(bounds);
            return;
        }
        // One item per leaf: an item then needs no list of its own.
        let params = BvhBuildParams { max_prims_per_leaf: 1, ..BvhBuildParams::medium_build() };
        let bvh = build_bvh2(bounds, params, &mut std::time::Duration::default());
        let nodes = &mut self.nodes;
        // Either a node of `bvh` to enter, or one of `nodes` whose subtree is complete.
        enum Visit {
            Enter(usize),
            Leave(usize),
        }
        let mut stack = vec![Visit::Enter(0)];
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Leave(node) => nodes[node].escape = nodes.len() as u32,
                Visit::Enter(source) => {
                    let (own, source) = (nodes.len(), &bvh.nodes[source]);
                    let first = source.first_index as usize;
                    let item = source.is_leaf().then(|| bvh.primitive_indices[first]);
                    nodes.push(Node { bounds: source.aabb, escape: own as u32 + 1, item });
                    if item.is_none() {
                        // Popped in reverse: first child, second child, then the escape index.
                        stack.extend([
                            Visit::Leave(own),
                            Visit::Enter(first + 1),
                            Visit::Enter(first),
                        ]);
                    }
                }
            }
        }
        self.looseness = self.looseness();
    }

    /// Updates the tree to moved items, or rebuilds it for new ones.
    pub(super) fn follow(&mut self, bounds: &[Bounds], are_new: bool) {
        if are_new {
            self.build(bounds);
        } else {
            self.refit(bounds);
        }
    }

    /// Refits the boxes to moved items; rebuilds the tree if it has become too loose.
    fn refit(&mut self, bounds: &[Bounds]) {
        self.fit(bounds);
        // Surface area heuristic: cost of traversal is proportional to the area of inner nodes.
        if bounds.len() > FEW && self.looseness() > LOOSE * self.looseness {
            self.build(bounds);
        }
    }

    fn fit(&mut self, bounds: &[Bounds]) {
        // In reverse, children precede their parents.
        for index in (0..self.nodes.len()).rev() {
            self.nodes[index].bounds = match self.nodes[index].item {
                Some(item) => bounds[item as usize],
                None => {
                    let (mut child, mut union) = (index + 1, Bounds::empty());
                    while child < self.nodes[index].escape as usize {
                        union = union.union(&self.nodes[child].bounds);
                        child = self.nodes[child].escape as usize;
                    }
                    union
                }
            };
        }
    }

    /// Surface of all inner nodes relative to that of the root: the expected number of inner nodes
    /// that a traversal visits.
    fn looseness(&self) -> f32 {
        let inner = self.nodes.iter().filter(|node| node.item.is_none());
        let whole = self.nodes.first().map_or(0.0, |root| root.bounds.half_area());
        inner.map(|node| node.bounds.half_area()).sum::<f32>() / whole.max(f32::MIN_POSITIVE)
    }

    /// Converts the tree for a snapshot.
    #[cfg(feature = "save")]
    pub(super) fn stored(&self) -> StoredTree {
        let node = |node: &Node| StoredNode {
            bounds: [node.bounds.min, node.bounds.max].map(|corner| corner.to_array()),
            escape: node.escape,
            item: node.item,
        };
        StoredTree { nodes: self.nodes.iter().map(node).collect(), looseness: self.looseness }
    }

    /// Number of nodes.
    pub(super) fn node_count(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Packs the nodes for the kernel: `min.xyz, escape` and `max.xyz, item + 1`, floats as their
    /// bits.
    pub(super) fn rows(&self, rows: &mut Vec<[u32; 4]>) {
        rows.clear();
        rows.extend(self.nodes.iter().flat_map(|node| {
            let bits = |corner: Vec3A| corner.to_array().map(f32::to_bits);
            let ([x, y, z], [u, v, w]) = (bits(node.bounds.min), bits(node.bounds.max));
            let item = node.item.map_or(0, |item| item + 1);
            [[x, y, z, node.escape], [u, v, w, item]]
        }));
    }
}

/// Tree in a snapshot. Its boxes and their order depend on earlier frames, and a rebuilt tree would
/// visit items in a different order.
#[cfg(feature = "save")]
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct StoredTree {
    nodes: Vec<StoredNode>,
    looseness: f32,
}

#[cfg(feature = "save")]
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
struct StoredNode {
    bounds: [[f32; 3]; 2],
    escape: u32,
    item: Option<u32>,
}

#[cfg(feature = "save")]
impl StoredTree {
    /// Returns the tree if it is valid for `item_count` items: each in one leaf, subtrees nested.
    pub(super) fn tree(self, item_count: usize) -> Result<Tree, ModelError> {
        let node_count = self.nodes.len() as u32;
        let mut is_met = vec![false; item_count.min(self.nodes.len())];
        let mut ends = Vec::new();
        for (index, node) in (0..).zip(&self.nodes) {
            while ends.last() == Some(&index) {
                ends.pop();
            }
            // Ends of the subtrees that contain this node, innermost last.
            let end = ends.last().copied().unwrap_or(node_count);
            let fits = match node.item {
                // An inner node has a child and ends within its parent.
                None => (index + 2..=end).contains(&node.escape),
                Some(item) => {
                    let met = is_met.get_mut(item as usize);
                    // A leaf has no subtree, and each item occurs once.
                    node.escape == index + 1 && met.is_some_and(|met| !std::mem::replace(met, true))
                }
            };
            if !fits {
                let (what, position) = ("nodes of a tree", index as usize);
                let (index, count) = (node.item.unwrap_or(node.escape), item_count);
                return Err(ModelError::IndexOutOfRange { what, position, index, count });
            }
            ends.push(node.escape);
        }
        let len = is_met.into_iter().filter(|&is_met| is_met).count();
        if len != item_count {
            let what = "items of a tree";
            return Err(ModelError::Length { what, len, expected: item_count });
        }
        let node = |StoredNode { bounds, escape, item }| {
            let [min, max] = bounds.map(Vec3A::from_array);
            Node { bounds: Bounds::new(min, max), escape, item }
        };
        let nodes = self.nodes.into_iter().map(node).collect();
        Ok(Tree { nodes, looseness: self.looseness })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of_points(count: u32) -> Vec<Bounds> {
        (0..count).map(|k| bounds_of([([(k * 7919 % 101) as f32, k as f32, 0.0], 0.5)])).collect()
    }

    /// Items whose boxes contain a point, found by the traversal of the kernel, and the number of
    /// visited nodes.
    fn walk(tree: &Tree, point: [f32; 3]) -> (Vec<u32>, u32) {
        let mut rows = Vec::new();
        tree.rows(&mut rows);
        let (mut node, mut found, mut visited) = (0, Vec::new(), 0);
        while node < tree.node_count() {
            let [low, high] = [rows[2 * node as usize], rows[2 * node as usize + 1]];
            let [min, max] = [low, high].map(|row| row.map(f32::from_bits));
            visited += 1;
            if (0..3).all(|k| min[k] <= point[k] && point[k] <= max[k]) {
                if high[3] > 0 {
                    found.push(high[3] - 1);
                }
                node += 1;
            } else {
                node = low[3];
            }
        }
        (found, visited)
    }

    fn tree_of(bounds: &[Bounds]) -> Tree {
        let mut tree = Tree::default();
        tree.build(bounds);
        tree
    }

    #[test]
    fn traversal_finds_all_items_and_visits_few_nodes() {
        for count in [1, 2, 3, 500] {
            let mut bounds = row_of_points(count);
            let mut tree = tree_of(&bounds);
            for round in 0..2 {
                for (item, bounds) in bounds.iter().enumerate() {
                    let (found, visited) = walk(&tree, bounds.center().to_array());
                    assert!(
                        found.contains(&(item as u32)),
                        "item {item} of {count} in round {round}"
                    );
                    assert!(
                        visited < 12 + 2 * count / 5,
                        "{visited} of {} nodes",
                        tree.node_count()
                    );
                }
                bounds
                    .iter_mut()
                    .for_each(|bounds| *bounds = Bounds::new(bounds.min * 1.5, bounds.max * 1.5));
                tree.refit(&bounds);
            }
        }
        assert_eq!(tree_of(&[]).node_count(), 0);
    }

    #[test]
    fn few_items_are_visited_in_order() {
        let bounds: Vec<_> =
            (0..FEW).map(|k| bounds_of([([-(k as f32), 0.0, 0.0], 9.0)])).collect();
        assert_eq!(
            walk(&tree_of(&bounds), [-4.0, 0.0, 0.0]).0,
            (0..FEW as u32).collect::<Vec<_>>()
        );
        let (found, visited) = walk(&tree_of(&bounds), [20.0, 0.0, 0.0]);
        assert_eq!((found.len(), visited), (0, 1), "the root is missed");
    }

    #[test]
    fn a_tree_whose_items_separate_is_rebuilt() {
        // Spheres in a row that change their order.
        let at = |stride: u32, shift: f32| -> Vec<_> {
            let center = |k: u32| [(k * stride % 64) as f32 + shift, 0.0, 0.0];
            (0..64).map(|k| bounds_of([(center(k), 0.1)])).collect()
        };
        let mut tree = tree_of(&at(1, 0.0));
        tree.refit(&at(37, 0.0));
        let (looseness, best) = (tree.looseness(), tree_of(&at(37, 0.0)).looseness());
        assert!(looseness <= 1.01 * best, "{looseness} instead of {best}");
        let items = |tree: &Tree| tree.nodes.iter().map(|node| node.item).collect::<Vec<_>>();
        let (built, mut bounds) = (items(&tree), at(37, 0.0));
        // Items 0 and 45 are neighbours, as 37 * 45 = 1 + 26 * 64.
        bounds.swap(0, 45);
        tree.refit(&bounds);
        assert_eq!(items(&tree), built, "the tree is only refitted");
        assert_ne!(items(&tree_of(&bounds)), built);
    }

    #[test]
    #[cfg(feature = "save")]
    fn a_stored_tree_is_restored_or_rejected() {
        for count in [0, 1, 2, 9, 100] {
            let bounds = row_of_points(count);
            let tree = tree_of(&bounds);
            let rows = |tree: &Tree| {
                let mut rows = Vec::new();
                tree.rows(&mut rows);
                rows
            };
            let read = tree.stored().tree(count as usize).unwrap();
            assert_eq!((rows(&read), read.looseness), (rows(&tree), tree.looseness));
            assert!(tree.stored().tree(count as usize + 1).is_err());
            for index in 0..tree.nodes.len() {
                let damages: [fn(&mut StoredNode); 4] = [
                    |node| node.escape += 1,
                    |node| node.escape -= 1,
                    |node| node.item = node.item.map_or(Some(0), |item| Some(item + 1)),
                    |node| node.item = node.item.map_or(Some(0), |_| None),
                ];
                for (number, damage) in damages.iter().enumerate() {
                    let mut stored = tree.stored();
                    damage(&mut stored.nodes[index]);
                    // An inner node with a different end may be valid in a different tree.
                    let may_fit = number < 2 && stored.nodes[index].item.is_none();
                    if let Ok(mut tree) = stored.tree(count as usize) {
                        assert!(may_fit, "{count}: damage {number} of {index}");
                        tree.refit(&bounds);
                    }
                }
            }
        }
    }
}
