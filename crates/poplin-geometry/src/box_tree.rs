//! Bounding volume hierarchy for box overlap and nearest-item queries.

use std::ops::Range;

use glam::DVec3;

use crate::Bounds;

/// Largest number of items in a leaf.
const LEAF_SIZE: usize = 4;

/// Tree of items with boxes, each node divided into halves.
#[derive(Debug)]
pub struct BoxTree<T> {
    /// Nodes in depth-first order: the first child follows its parent.
    nodes: Vec<Node>,
    items: Vec<(Bounds, T)>,
}

#[derive(Debug)]
struct Node {
    bounds: Bounds,
    /// Range of the items of a leaf; empty for an inner node.
    items: Range<usize>,
    /// Index after the subtree.
    end: usize,
}

impl<T> BoxTree<T> {
    /// Builds a tree with median splits along the longest axis, by the center of each item \[m\].
    pub fn new(
        items: impl IntoIterator<Item = (Bounds, T)>,
        center: impl Fn(&Bounds, &T) -> DVec3,
    ) -> Self {
        Self::build(items, &|items, middle| {
            let axis = union(items).size().max_position();
            let key = |(bounds, item): &(Bounds, T)| center(bounds, item)[axis];
            items.select_nth_unstable_by(middle, |a, b| key(a).total_cmp(&key(b)));
        })
    }

    /// Builds a tree over items that are already ordered by location.
    pub fn in_order(items: impl IntoIterator<Item = (Bounds, T)>) -> Self {
        Self::build(items, &|_, _| {})
    }

    fn build(
        items: impl IntoIterator<Item = (Bounds, T)>,
        split: &impl Fn(&mut [(Bounds, T)], usize),
    ) -> Self {
        let mut tree = Self { nodes: Vec::new(), items: items.into_iter().collect() };
        if !tree.items.is_empty() {
            tree.add_node(0..tree.items.len(), split);
        }
        tree
    }

    /// Adds the node of some items and those below it; returns its box.
    fn add_node(
        &mut self,
        items: Range<usize>,
        split: &impl Fn(&mut [(Bounds, T)], usize),
    ) -> Bounds {
        let node = self.nodes.len();
        self.nodes.push(Node { bounds: Bounds::EMPTY, items: 0..0, end: 0 });
        self.nodes[node].bounds = if items.len() <= LEAF_SIZE {
            self.nodes[node].items = items.clone();
            union(&self.items[items])
        } else {
            let middle = items.len() / 2;
            split(&mut self.items[items.clone()], middle);
            let first = self.add_node(items.start..items.start + middle, split);
            first.union(self.add_node(items.start + middle..items.end, split))
        };
        self.nodes[node].end = self.nodes.len();
        self.nodes[node].bounds
    }

    /// Visits the items whose boxes have a common point with a box, in the order of the tree.
    pub fn visit(&self, bounds: &Bounds, mut found: impl FnMut(&T)) {
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            if !node.bounds.touches(bounds) {
                at = node.end;
                continue;
            }
            let near = self.items[node.items.clone()].iter().filter(|(it, _)| it.touches(bounds));
            near.for_each(|(_, item)| found(item));
            at += 1;
        }
    }

    /// Visits the items of every leaf that is not farther from a point than the squared distance
    /// \[m^2\] that `consider` returned last, nearer children first.
    pub fn visit_near(&self, point: DVec3, mut consider: impl FnMut(&T) -> f64) {
        let mut limit = f64::INFINITY;
        let mut stack = Vec::with_capacity(64);
        stack.extend((!self.nodes.is_empty()).then_some(0));
        while let Some(index) = stack.pop() {
            let node = &self.nodes[index];
            if node.bounds.square_distance(point) > limit {
                continue;
            }
            if node.end == index + 1 {
                for (_, item) in &self.items[node.items.clone()] {
                    limit = consider(item);
                }
                continue;
            }
            // The nearer child goes on top of the stack.
            let first = index + 1;
            let mut children = [self.nodes[first].end, first];
            let [second_square, first_square] =
                children.map(|child| self.nodes[child].bounds.square_distance(point));
            if second_square < first_square {
                children.reverse();
            }
            stack.extend(children);
        }
    }
}

fn union<T>(items: &[(Bounds, T)]) -> Bounds {
    items.iter().fold(Bounds::EMPTY, |all, (bounds, _)| all.union(*bounds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn visits_find_the_boxes_of_brute_force() {
        let mut rng = Rng::new(2);
        for count in [0, 1, 4, 5, 300] {
            let mut random = |size: f64| {
                let at = DVec3::from(rng.point_f64(-1.0, 1.0));
                Bounds::of([at, at + DVec3::from(rng.point_f64(0.0, size))])
            };
            let boxes: Vec<(Bounds, usize)> = (0..count).map(|k| (random(0.3), k)).collect();
            let in_order = BoxTree::in_order(boxes.iter().copied());
            let sorted = BoxTree::new(boxes.iter().copied(), |bounds, _| bounds.center());
            for _ in 0..100 {
                let around = random(0.5);
                let near = boxes.iter().filter(|(bounds, _)| bounds.touches(&around));
                let expected: Vec<usize> = near.map(|(_, k)| *k).collect();
                let found = |tree: &BoxTree<usize>| {
                    let mut found = Vec::new();
                    tree.visit(&around, |&k| found.push(k));
                    found
                };
                assert_eq!(found(&in_order), expected, "in order");
                let mut found = found(&sorted);
                found.sort_unstable();
                assert_eq!(found, expected);
            }
        }
    }
}
