//! Boxes around the triangles or edges of a body, in a tree that keeps its shape while the body moves.

use std::ops::Range;

use glam::Vec3;

/// A node: in preorder, so that the one after it is its first child and `skip` is where the search goes on without it.
#[derive(Debug, Clone, Copy, Default)]
struct Node {
    low: Vec3,
    high: Vec3,
    skip: u32,
    /// Items of a leaf; an inner node has none.
    begin: u32,
    count: u32,
}

/// Most items of a leaf.
const LEAF: usize = 2;

/// A tree over simplices of `N` corners, whose boxes are fitted to the corners' positions and radii.
#[derive(Debug, Clone, Default)]
pub struct Tree<const N: usize> {
    nodes: Vec<Node>,
    /// Corners of the simplices in the order of the leaves.
    corners: Vec<[u32; N]>,
    /// Which simplices they are.
    items: Vec<u32>,
}

fn build<const N: usize>(
    nodes: &mut Vec<Node>,
    order: &mut [u32],
    range: Range<usize>,
    centers: &[Vec3],
) {
    let index = nodes.len();
    nodes.push(Node::default());
    let items = &mut order[range.clone()];
    if items.len() <= LEAF {
        (nodes[index].begin, nodes[index].count) = (range.start as u32, items.len() as u32);
    } else {
        let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        for &item in items.iter() {
            (low, high) = (low.min(centers[item as usize]), high.max(centers[item as usize]));
        }
        let size = high - low;
        let axis = if size.x >= size.y && size.x >= size.z {
            0
        } else if size.y >= size.z {
            1
        } else {
            2
        };
        let middle = items.len() / 2;
        items.select_nth_unstable_by(middle, |&a, &b| {
            let key = |item: u32| centers[item as usize][axis];
            key(a).total_cmp(&key(b)).then(a.cmp(&b))
        });
        let middle = range.start + middle;
        build::<N>(nodes, order, range.start..middle, centers);
        build::<N>(nodes, order, middle..range.end, centers);
    }
    nodes[index].skip = nodes.len() as u32;
}

impl<const N: usize> Tree<N> {
    /// A tree over simplices with these corners, split by where they are at rest.
    pub fn new(simplices: &[[u32; N]], rest: &[Vec3]) -> Self {
        let center = |corners: &[u32; N]| {
            corners.iter().map(|&corner| rest[corner as usize]).sum::<Vec3>() / N as f32
        };
        let centers: Vec<Vec3> = simplices.iter().map(center).collect();
        let mut items: Vec<u32> = (0..simplices.len() as u32).collect();
        let mut nodes = Vec::new();
        if !items.is_empty() {
            let all = 0..items.len();
            build::<N>(&mut nodes, &mut items, all, &centers);
        }
        let corners = items.iter().map(|&item| simplices[item as usize]).collect();
        Self { nodes, corners, items }
    }

    /// Fits the boxes to the corners: a ball of its radius around each.
    pub fn refit(&mut self, positions: &[Vec3], radii: &[f32]) {
        for index in (0..self.nodes.len()).rev() {
            let node = self.nodes[index];
            let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
            if node.count > 0 {
                for item in node.begin..node.begin + node.count {
                    for &corner in &self.corners[item as usize] {
                        let corner = corner as usize;
                        low = low.min(positions[corner] - radii[corner]);
                        high = high.max(positions[corner] + radii[corner]);
                    }
                }
            } else {
                let first = self.nodes[index + 1];
                let second = self.nodes[first.skip as usize];
                (low, high) = (first.low.min(second.low), first.high.max(second.high));
            }
            (self.nodes[index].low, self.nodes[index].high) = (low, high);
        }
    }

    /// Index of the simplex of a rank.
    pub fn item(&self, rank: u32) -> usize {
        self.items[rank as usize] as usize
    }

    /// The box around everything; nothing if there is nothing.
    pub fn bounds(&self) -> Option<[Vec3; 2]> {
        self.nodes.first().map(|root| [root.low, root.high])
    }

    /// Visits the simplices, by their rank in the tree and with their corners, in leaves whose boxes meet another box.
    pub fn visit(&self, low: Vec3, high: Vec3, mut found: impl FnMut(u32, &[u32; N])) {
        let mut index = 0;
        while let Some(node) = self.nodes.get(index) {
            if node.low.cmple(high).all() && low.cmple(node.high).all() {
                for item in node.begin..node.begin + node.count {
                    found(item, &self.corners[item as usize]);
                }
                index += 1;
            } else {
                index = node.skip as usize;
            }
        }
    }
}
