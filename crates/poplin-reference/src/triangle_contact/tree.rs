//! Boxes around the simplices of a body, in a tree that keeps its shape while the body moves.
//!
//! A simplex is followed along a straight path, by a box around where its corners are at the start and one around where they are
//! at the end. Two simplices can meet only if no axis keeps them apart at both: on straight paths that are walked at the same
//! time, what is on one side at both ends is there all the time. So a sheet that falls as a whole is not near itself because it
//! is fast.

use glam::Vec3;

/// Boxes around the start and the end of a path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// Lowest corners.
    pub low: [Vec3; 2],
    /// Highest corners.
    pub high: [Vec3; 2],
}

impl Path {
    /// Around nothing.
    pub const NOTHING: Self = Self { low: [Vec3::INFINITY; 2], high: [Vec3::NEG_INFINITY; 2] };

    /// Around both.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self {
            low: [self.low[0].min(other.low[0]), self.low[1].min(other.low[1])],
            high: [self.high[0].max(other.high[0]), self.high[1].max(other.high[1])],
        }
    }

    /// Around the paths of some rows.
    pub(super) fn around(rows: &[u32], paths: &[Self]) -> Self {
        let all = rows.iter().map(|&row| &paths[row as usize]);
        all.fold(Self::NOTHING, |sum, path| sum.with(path))
    }

    /// Whether an axis keeps them apart all the time.
    pub fn misses(&self, other: &Self) -> bool {
        let below = |a: &Self, b: &Self| a.high[0].cmplt(b.low[0]) & a.high[1].cmplt(b.low[1]);
        (below(self, other) | below(other, self)).any()
    }
}

/// Children of a node.
const LANES: usize = 8;

/// The boxes of the children of a node, coordinate by coordinate: at the start x, y, z, then at the end.
#[derive(Debug, Clone, Copy)]
struct Node {
    low: [[f32; LANES]; 6],
    high: [[f32; LANES]; 6],
}

impl Node {
    const EMPTY: Self =
        Self { low: [[f32::INFINITY; LANES]; 6], high: [[f32::NEG_INFINITY; LANES]; 6] };

    fn set(&mut self, lane: usize, path: &Path) {
        for (k, (low, high)) in self.low.iter_mut().zip(&mut self.high).enumerate() {
            (low[lane], high[lane]) = (path.low[k / 3][k % 3], path.high[k / 3][k % 3]);
        }
    }

    /// Around all children.
    fn union(&self) -> Path {
        let low = self.low.map(|lanes| lanes.into_iter().fold(f32::INFINITY, f32::min));
        let high = self.high.map(|lanes| lanes.into_iter().fold(f32::NEG_INFINITY, f32::max));
        let halves = |it: [f32; 6]| [Vec3::from_slice(&it[..3]), Vec3::from_slice(&it[3..])];
        Path { low: halves(low), high: halves(high) }
    }

    /// Which children a path may meet: a bit for each.
    #[inline]
    fn meets(&self, low: &[f32; 6], high: &[f32; 6]) -> u32 {
        let mut misses = [0u32; LANES];
        for k in 0..3 {
            let (start, end) = (k, k + 3);
            for (lane, misses) in misses.iter_mut().enumerate() {
                let above =
                    (low[start] > self.high[start][lane]) & (low[end] > self.high[end][lane]);
                let below =
                    (high[start] < self.low[start][lane]) & (high[end] < self.low[end][lane]);
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
    /// Which simplices they are.
    items: Vec<u32>,
}

/// Brings items into an order in which those of each node are near each other. `unit` is how many a child may have.
fn arrange(items: &mut [u32], mut unit: usize, centers: &[Vec3]) {
    while items.len() <= unit {
        if unit == 1 {
            return;
        }
        unit /= LANES;
    }
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for &item in items.iter() {
        (low, high) = (low.min(centers[item as usize]), high.max(centers[item as usize]));
    }
    let axis = (high - low).max_position();
    let middle = items.len().div_ceil(unit) / 2 * unit;
    items.select_nth_unstable_by(middle, |&a, &b| {
        let key = |item: u32| centers[item as usize][axis];
        key(a).total_cmp(&key(b)).then(a.cmp(&b))
    });
    let (first, second) = items.split_at_mut(middle);
    arrange(first, unit, centers);
    arrange(second, unit, centers);
}

impl<const N: usize> Tree<N> {
    /// Which simplices there are, in the order of the tree.
    #[cfg(feature = "testing")]
    pub(super) fn items(&self) -> &[u32] {
        &self.items
    }

    /// A tree over simplices with these corners, split by where they are at rest.
    pub fn new(simplices: &[[u32; N]], rest: &[Vec3]) -> Self {
        let center = |corners: &[u32; N]| {
            corners.iter().map(|&corner| rest[corner as usize]).sum::<Vec3>() / N as f32
        };
        let centers: Vec<Vec3> = simplices.iter().map(center).collect();
        let mut items: Vec<u32> = (0..simplices.len() as u32).collect();
        let (mut levels, mut unit, mut count) = (Vec::new(), 1, items.len());
        while count > 0 {
            let nodes = count.div_ceil(LANES);
            levels.push(vec![Node::EMPTY; nodes]);
            if nodes == 1 {
                break;
            }
            (unit, count) = (unit * LANES, nodes);
        }
        arrange(&mut items, unit, &centers);
        let corners = items.iter().map(|&item| simplices[item as usize]).collect();
        Self { levels, corners, items }
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
        let flat = |[a, b]: [Vec3; 2]| [a.x, a.y, a.z, b.x, b.y, b.z];
        let (low, high) = (flat(path.low), flat(path.high));
        let Some(top) = self.levels.len().checked_sub(1) else { return };
        // A path that is no number meets even the children that a node has not.
        let meets = |level: usize, node: usize| {
            self.levels[level].get(node).map_or(0, |node| node.meets(&low, &high))
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
