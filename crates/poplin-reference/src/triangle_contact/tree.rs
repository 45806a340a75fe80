//! Boxes around the simplices of a body, in a tree that keeps its shape while the body moves.
//!
//! Paths and whether they miss each other: twin of `shaders/contact/triangle_path.wgsl`.
//!
//! A simplex is followed along a straight path, by a box around where its corners are at the start and one around where they are
//! at the end. Two simplices can meet only if no axis keeps them apart at both: on straight paths that are walked at the same
//! time, what is on one side at both ends is there all the time. So a sheet that falls as a whole is not near itself because it
//! is fast.

use glam::Vec3;
use poplin_host::tree_order;
use poplin_layout::{TRIANGLE_AXES, TRIANGLE_CHILDREN, TRIANGLE_DIAGONAL};

/// Axes along which paths are compared: those of space and, between each two of them, both diagonals.
pub(super) const AXES: usize = 3 * TRIANGLE_AXES as usize;

/// Coordinates of a point along the axes: on diagonals those of a vector that is longer by the root of 2.
fn along(v: Vec3) -> [f32; AXES] {
    let Vec3 { x, y, z } = v;
    [x, y, z, x + y, x - y, y + z, y - z, z + x, z - x]
}

/// Length of the vectors of the axes, rounded up.
const LENGTHS: [f32; AXES] = {
    const D: f32 = TRIANGLE_DIAGONAL;
    [1.0, 1.0, 1.0, D, D, D, D, D, D]
};

/// What is in reach of a point on a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// Its radius \[m\].
    pub radius: f32,
    /// What of it nothing may enter, however it moves \[m\].
    pub hard: f32,
    /// What is added to either \[m\].
    pub more: f32,
}

/// Ranges along the axes of what is in reach at the start and at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// Lowest coordinates at the start, and at the end.
    pub low: [[f32; AXES]; 2],
    /// Highest coordinates.
    pub high: [[f32; AXES]; 2],
}

impl Path {
    /// Around nothing.
    pub const NOTHING: Self =
        Self { low: [[f32::INFINITY; AXES]; 2], high: [[f32::NEG_INFINITY; AXES]; 2] };
    /// Around everything.
    pub const EVERYTHING: Self =
        Self { low: [[f32::NEG_INFINITY; AXES]; 2], high: [[f32::INFINITY; AXES]; 2] };

    /// Of a point that moves by `step` at a time between two others. In reach is what it may push, and what it may cross in the
    /// next step: that of each end.
    pub fn new(ends: [Vec3; 2], steps: [Vec3; 2], reach: &Reach) -> Self {
        let mut path = Self::NOTHING;
        for end in 0..2 {
            let (at, step) = (along(ends[end]), along(steps[end]));
            for k in 0..AXES {
                let [radius, hard, more] =
                    [reach.radius, reach.hard, reach.more].map(|it| it * LENGTHS[k]);
                path.low[end][k] = at[k] - (radius.max(hard + (-step[k]).max(0.0)) + more);
                path.high[end][k] = at[k] + (radius.max(hard + step[k].max(0.0)) + more);
            }
        }
        path
    }

    /// Between two corners all the time; diagonals keep nothing apart.
    pub(super) fn in_box(low: Vec3, high: Vec3) -> Self {
        let mut path = Self::EVERYTHING;
        for end in 0..2 {
            path.low[end][..3].copy_from_slice(&low.to_array());
            path.high[end][..3].copy_from_slice(&high.to_array());
        }
        path
    }

    /// Of a ball that stays.
    pub(super) fn still(at: Vec3, radius: f32) -> Self {
        Self::new([at; 2], [Vec3::ZERO; 2], &Reach { radius, hard: 0.0, more: 0.0 })
    }

    /// Of some points that stay, and what is between them.
    pub(super) fn between(points: &[Vec3]) -> Self {
        let mut sum = Self::NOTHING;
        points.iter().for_each(|&at| sum.include(&Self::still(at, 0.0)));
        sum
    }

    /// Its lowest and highest point at the start; none if it is around nothing.
    pub(super) fn corners(&self) -> Option<[Vec3; 2]> {
        let corners = [self.low[0], self.high[0]].map(|at| Vec3::new(at[0], at[1], at[2]));
        corners[0].cmple(corners[1]).all().then_some(corners)
    }

    /// Widens it around another.
    pub fn include(&mut self, other: &Self) {
        for end in 0..2 {
            for k in 0..AXES {
                self.low[end][k] = self.low[end][k].min(other.low[end][k]);
                self.high[end][k] = self.high[end][k].max(other.high[end][k]);
            }
        }
    }

    /// Around the paths of some rows.
    pub(super) fn around(rows: &[u32], paths: &[Self]) -> Self {
        let mut sum = Self::NOTHING;
        rows.iter().for_each(|&row| sum.include(&paths[row as usize]));
        sum
    }

    /// Whether an axis keeps the paths of some rows apart from those of others all the time.
    #[inline]
    pub(super) fn misses_along(axis: usize, rows: &[u32], others: &[u32], paths: &[Self]) -> bool {
        let range = |rows: &[u32]| {
            let (mut low, mut high) = ([f32::INFINITY; 2], [f32::NEG_INFINITY; 2]);
            for &row in rows {
                let path = &paths[row as usize];
                for end in 0..2 {
                    low[end] = low[end].min(path.low[end][axis]);
                    high[end] = high[end].max(path.high[end][axis]);
                }
            }
            (low, high)
        };
        let ((low, high), (lows, highs)) = (range(rows), range(others));
        low[0] > highs[0] && low[1] > highs[1] || high[0] < lows[0] && high[1] < lows[1]
    }

    /// Whether an axis keeps them apart all the time.
    pub fn misses(&self, other: &Self) -> bool {
        let mut misses = false;
        for k in 0..AXES {
            let above = (self.low[0][k] > other.high[0][k]) & (self.low[1][k] > other.high[1][k]);
            let below = (self.high[0][k] < other.low[0][k]) & (self.high[1][k] < other.low[1][k]);
            misses |= above | below;
        }
        misses
    }
}

/// Children of a node.
const LANES: usize = TRIANGLE_CHILDREN as usize;

/// The paths of the children of a node, coordinate by coordinate.
#[derive(Debug, Clone, Copy)]
struct Node {
    low: [[[f32; LANES]; AXES]; 2],
    high: [[[f32; LANES]; AXES]; 2],
}

impl Node {
    const EMPTY: Self = Self {
        low: [[[f32::INFINITY; LANES]; AXES]; 2],
        high: [[[f32::NEG_INFINITY; LANES]; AXES]; 2],
    };

    fn set(&mut self, lane: usize, path: &Path) {
        for end in 0..2 {
            for k in 0..AXES {
                self.low[end][k][lane] = path.low[end][k];
                self.high[end][k][lane] = path.high[end][k];
            }
        }
    }

    /// Around all children.
    fn union(&self) -> Path {
        let least = |lanes: [f32; LANES]| lanes.into_iter().fold(f32::INFINITY, f32::min);
        let most = |lanes: [f32; LANES]| lanes.into_iter().fold(f32::NEG_INFINITY, f32::max);
        Path { low: self.low.map(|end| end.map(least)), high: self.high.map(|end| end.map(most)) }
    }

    /// Which children a path may meet: a bit for each.
    #[inline]
    fn meets(&self, path: &Path) -> u32 {
        let mut misses = [0u32; LANES];
        for k in 0..AXES {
            let [starts, ends] = [0, 1].map(|end| (&self.low[end][k], &self.high[end][k]));
            let [start, end] = [0, 1].map(|end| (path.low[end][k], path.high[end][k]));
            if k == 3 && misses == [1; LANES] {
                return 0;
            }
            for (lane, misses) in misses.iter_mut().enumerate() {
                let above = (start.0 > starts.1[lane]) & (end.0 > ends.1[lane]);
                let below = (start.1 < starts.0[lane]) & (end.1 < ends.0[lane]);
                *misses |= u32::from(above | below);
            }
        }
        misses.iter().enumerate().fold(0, |mask, (lane, misses)| mask | (misses ^ 1) << lane)
    }
}

/// A tree over simplices of `N` corners.
#[derive(Debug, Clone, Default)]
pub struct Tree<const N: usize> {
    /// Nodes of each level, those of the simplices first. Child k of node j is node 8 j + k of the level below.
    levels: Vec<Vec<Node>>,
    /// Corners of the simplices in the order of the tree.
    corners: Vec<[u32; N]>,
    /// Which simplices they are, and where each of those is.
    items: Vec<u32>,
    ranks: Vec<u32>,
    /// Where the simplices of each corner end, and which they are.
    ends: Vec<u32>,
    touching: Vec<u32>,
}

impl<const N: usize> Tree<N> {
    /// A tree over simplices with these corners, split by where they are at rest.
    pub fn new(simplices: &[[u32; N]], rest: &[Vec3]) -> Self {
        let items = tree_order(simplices, rest);
        let (mut levels, mut count) = (Vec::new(), items.len());
        while count > 0 {
            let nodes = count.div_ceil(LANES);
            levels.push(vec![Node::EMPTY; nodes]);
            if nodes == 1 {
                break;
            }
            count = nodes;
        }
        let corners = items.iter().map(|&item| simplices[item as usize]).collect();
        let mut ranks = vec![0; items.len()];
        (0..).zip(&items).for_each(|(rank, &item)| ranks[item as usize] = rank);
        let each = || (0..).zip(simplices).flat_map(|(item, all)| all.map(|corner| (corner, item)));
        let mut touching: Vec<(u32, u32)> = each().collect();
        touching.sort_unstable();
        let end = |corner: usize| touching.partition_point(|it| it.0 as usize <= corner) as u32;
        let ends = (0..rest.len()).map(end).collect();
        let touching = touching.iter().map(|&(_, item)| item).collect();
        Self { levels, corners, items, ranks, ends, touching }
    }

    /// Whether there are no simplices.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The simplices that have a corner.
    fn touching(&self, corner: usize) -> &[u32] {
        let begin = if corner == 0 { 0 } else { self.ends[corner - 1] };
        &self.touching[begin as usize..self.ends[corner] as usize]
    }

    /// Fits the boxes of the simplices that have one of some corners; which they are, in order.
    pub fn refit_touching(&mut self, corners: &[u32], paths: &[Path]) -> Vec<u32> {
        let touching = corners.iter().flat_map(|&corner| self.touching(corner as usize));
        let mut items: Vec<u32> = touching.copied().collect();
        items.sort_unstable();
        items.dedup();
        self.refit_some(&items, paths);
        items
    }

    /// Fits the boxes of some simplices to the paths of their corners.
    fn refit_some(&mut self, items: &[u32], paths: &[Path]) {
        let mut nodes = Vec::with_capacity(items.len());
        for &item in items {
            let rank = self.ranks[item as usize] as usize;
            let path = Path::around(&self.corners[rank], paths);
            self.levels[0][rank / LANES].set(rank % LANES, &path);
            nodes.push(rank / LANES);
        }
        for level in 1..self.levels.len() {
            nodes.sort_unstable();
            nodes.dedup();
            for node in &mut nodes {
                let union = self.levels[level - 1][*node].union();
                self.levels[level][*node / LANES].set(*node % LANES, &union);
                *node /= LANES;
            }
        }
    }

    /// Fits the boxes to the paths of the corners.
    pub fn refit(&mut self, paths: &[Path]) {
        for (index, corners) in self.corners.iter().enumerate() {
            self.levels[0][index / LANES].set(index % LANES, &Path::around(corners, paths));
        }
        for level in 1..self.levels.len() {
            let (below, above) = self.levels.split_at_mut(level);
            for (index, node) in below[level - 1].iter().enumerate() {
                above[0][index / LANES].set(index % LANES, &node.union());
            }
        }
    }

    /// The boxes around everything; around nothing if there is nothing.
    pub fn bounds(&self) -> Path {
        self.levels.last().map_or(Path::NOTHING, |level| level[0].union())
    }

    /// Visits the simplices whose boxes a path may meet, by their index and with their corners.
    pub fn visit(&self, path: &Path, mut found: impl FnMut(u32, &[u32; N])) {
        let Some(top) = self.levels.len().checked_sub(1) else { return };
        // A path that is no number meets even the children that a node has not.
        let meets = |level: usize, node: usize| {
            self.levels[level].get(node).map_or(0, |node| node.meets(path))
        };
        // The children that are left to visit of the node on each level.
        let mut open = [(0usize, 0u32); 12];
        open[top] = (0, meets(top, 0));
        let mut level = top;
        loop {
            let (node, children) = open[level];
            if children == 0 {
                if level == top {
                    return;
                }
                level += 1;
                continue;
            }
            open[level].1 = children & (children - 1);
            let child = node * LANES + children.trailing_zeros() as usize;
            if level > 0 {
                level -= 1;
                open[level] = (child, meets(level, child));
            } else if let Some(corners) = self.corners.get(child) {
                found(self.items[child], corners);
            }
        }
    }
}
