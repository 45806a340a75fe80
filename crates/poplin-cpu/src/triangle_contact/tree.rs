//! Bounding-volume hierarchy over the simplices of a body, of eight children per node. It keeps its
//! shape while the body moves and is refitted to new paths.

use std::ops::Range;

use fearless_simd::{Level, dispatch, f32x8, mask32x8, prelude::*, u32x8};
use poplin_layout::TRIANGLE_CHILDREN;
use rayon::prelude::*;

use super::lanes::LANES;
use super::path::{AXES, Facing, Path, SIDES, least_of};

/// The children of a node are tested together, one per lane.
const _: () = assert!(LANES == TRIANGLE_CHILDREN as usize);

/// Paths of the eight children of a node, transposed.
#[derive(Debug, Clone, Copy)]
struct Node {
    ranges: [[[f32; LANES]; SIDES]; AXES],
}

impl Node {
    const EMPTY: Self = Self { ranges: [[[f32::INFINITY; LANES]; SIDES]; AXES] };

    #[inline(always)]
    fn set(&mut self, lane: usize, path: &Path) {
        for k in 0..AXES {
            for side in 0..SIDES {
                self.ranges[k][side][lane] = path.ranges[k][side];
            }
        }
    }

    /// Sets the paths of the first children and returns their union.
    #[inline(always)]
    fn fit(&mut self, paths: impl Iterator<Item = Path>) -> Path {
        let mut sum = Path::NOTHING;
        for (lane, path) in paths.enumerate() {
            self.set(lane, &path);
            sum.include(&path);
        }
        sum
    }

    /// Returns the union of all children.
    fn union(&self) -> Path {
        use crate::lanes::Real as _;

        let mut sum = Path::NOTHING;
        for (sides, ranges) in self.ranges.iter().zip(&mut sum.ranges) {
            for ([a, b, c, d, e, f, g, h], range) in sides.iter().zip(ranges) {
                let [a, b, c, d] = least_of(&[*a, *b, *c, *d], &[*e, *f, *g, *h]);
                let [a, b] = least_of(&[a, b], &[c, d]);
                *range = b.lesser(a);
            }
        }
        sum
    }

    /// Transposes the children into paths prepared for the overlap test.
    #[inline(always)]
    fn face<S: Simd>(&self, simd: S, paths: &mut [Facing; LANES]) {
        for (axis, [low, low_end, high, high_end]) in self.ranges.iter().enumerate() {
            let [a, b] = [-f32x8::from_slice(simd, high), -f32x8::from_slice(simd, high_end)];
            let [c, d] = [-f32x8::from_slice(simd, low), -f32x8::from_slice(simd, low_end)];
            let ((ac, more_ac), (bd, more_bd)) = (a.interleave(c), b.interleave(d));
            let ((first, second), (third, fourth)) =
                (ac.interleave(bd), more_ac.interleave(more_bd));
            for (two, paths) in
                [first, second, third, fourth].into_iter().zip(paths.chunks_exact_mut(2))
            {
                let (even, odd) = two.split();
                even.store_slice(&mut paths[0].0[axis]);
                odd.store_slice(&mut paths[1].0[axis]);
            }
        }
    }

    /// Returns the mask of children whose bound `side` along an axis exceeds a coordinate.
    #[inline(always)]
    fn beyond<S: Simd>(&self, simd: S, axis: usize, side: usize, facing: f32) -> mask32x8<S> {
        f32x8::from_slice(simd, &self.ranges[axis][side]).simd_gt(f32x8::splat(simd, facing))
    }

    /// Returns a bit mask of the children among `some` that a path may meet.
    #[inline(always)]
    fn meets<S: Simd>(&self, simd: S, path: &Facing, some: u32) -> u32 {
        let mut misses = u64::from(!some & 0xff);
        for k in 0..AXES {
            let facing = path.0[k];
            let above = self.beyond(simd, k, 0, facing[0]) & self.beyond(simd, k, 1, facing[1]);
            let below = self.beyond(simd, k, 2, facing[2]) & self.beyond(simd, k, 3, facing[3]);
            misses |= (above | below).to_bitmask();
            // Early exit after each group of three axes.
            if k % 3 == 2 && misses == 0xff {
                return 0;
            }
        }
        !misses as u32 & 0xff
    }
}

/// Subset of the simplices of a tree.
#[derive(Debug, Clone, Default)]
pub struct Subset {
    /// Leaves that contain a simplex of the subset, sorted.
    leaves: Vec<usize>,
    /// Bit mask of the simplices of each leaf.
    lanes: Vec<u8>,
}

impl Subset {
    /// Iterates over the leaves with the bit masks of their simplices.
    pub(super) fn groups(&self) -> impl Iterator<Item = (usize, u32)> {
        self.leaves.iter().map(|&leaf| (leaf, u32::from(self.lanes[leaf])))
    }
}

/// Kind of a pair search between simplices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Between {
    /// Two different bodies.
    TwoBodies,
    /// Two trees of one body: only simplices without a common corner.
    OneBody,
    /// One tree with itself: only simplices without a common corner, each pair once.
    OneTree,
}

/// Tree over simplices of `N` corners.
#[derive(Debug, Clone, Default)]
pub struct Tree<const N: usize> {
    /// Nodes of each level, leaves first. Child k of node j is node 8 j + k of the level below.
    levels: Vec<Vec<Node>>,
    /// Union of the paths of each leaf.
    around: Vec<Path>,
    /// Corners of the simplices, eight per leaf.
    corners: Vec<[u32; N]>,
    /// Corners of each leaf, transposed; `u32::MAX` in unused lanes.
    columns: Vec<[[u32; LANES]; N]>,
    /// End of the incident simplices of each corner in `touching`.
    ends: Vec<u32>,
    /// Incident simplices of all corners, corner by corner.
    touching: Vec<u32>,
}

impl<const N: usize> Tree<N> {
    /// Builds a tree over simplices in the given order, see [`Surface`](super::Surface); corners
    /// are below `corner_count`.
    pub fn new(simplices: &[[u32; N]], corner_count: usize) -> Self {
        let (mut levels, mut count) = (Vec::new(), simplices.len());
        while count > 0 {
            let nodes = count.div_ceil(LANES);
            levels.push(vec![Node::EMPTY; nodes]);
            if nodes == 1 {
                break;
            }
            count = nodes;
        }
        let each = || (0..).zip(simplices).flat_map(|(item, all)| all.map(|corner| (corner, item)));
        let mut touching: Vec<(u32, u32)> = each().collect();
        touching.sort_unstable();
        let end = |corner: usize| touching.partition_point(|it| it.0 as usize <= corner) as u32;
        let ends = (0..corner_count).map(end).collect();
        let touching = touching.iter().map(|&(_, item)| item).collect();
        let around = vec![Path::NOTHING; levels.first().map_or(0, Vec::len)];
        let column = |leaf: &[[u32; N]], k: usize| {
            std::array::from_fn(|lane| leaf.get(lane).map_or(u32::MAX, |corners| corners[k]))
        };
        let leaves = simplices.chunks(LANES);
        let columns = leaves.map(|leaf| std::array::from_fn(|k| column(leaf, k))).collect();
        Self { levels, around, corners: simplices.to_vec(), columns, ends, touching }
    }

    /// Returns a bit mask of the simplices of a leaf that have one of some corners.
    #[inline(always)]
    fn sharing<S: Simd>(&self, simd: S, leaf: usize, corners: &[u32]) -> u32 {
        let mut sharing = 0;
        for column in &self.columns[leaf] {
            let column = u32x8::from_slice(simd, column);
            for &corner in corners {
                sharing |= column.simd_eq(u32x8::splat(simd, corner)).to_bitmask();
            }
        }
        sharing as u32
    }

    /// True if the tree has no simplices.
    pub(super) fn is_empty(&self) -> bool {
        self.corners.is_empty()
    }

    /// Returns the simplices incident to a corner.
    fn touching(&self, corner: usize) -> &[u32] {
        let begin = if corner == 0 { 0 } else { self.ends[corner - 1] };
        &self.touching[begin as usize..self.ends[corner] as usize]
    }

    /// Refits the paths of the simplices incident to some corners and of their ancestors; returns
    /// these simplices.
    pub fn refit_touching(&mut self, corners: &[u32], paths: &[Path]) -> Subset {
        let mut leaves = Vec::new();
        let mut lanes = if corners.is_empty() { Vec::new() } else { vec![0; self.leaf_count()] };
        let touching = corners.iter().flat_map(|&corner| self.touching(corner as usize));
        for item in touching.map(|&item| item as usize) {
            let leaf = item / LANES;
            if lanes[leaf] == 0 {
                leaves.push(leaf);
            }
            lanes[leaf] |= 1 << (item % LANES);
        }
        leaves.sort_unstable();
        for &leaf in &leaves {
            for lane in bits(u32::from(lanes[leaf])) {
                let path = Path::around(&self.corners[leaf * LANES + lane], paths);
                self.levels[0][leaf].set(lane, &path);
            }
            self.around[leaf] = self.levels[0][leaf].union();
        }
        // Upwards level by level: each changed node updates its lane in its parent.
        let mut nodes = leaves.clone();
        for level in 1..self.levels.len() {
            nodes.dedup();
            for node in &mut nodes {
                let union = self.levels[level - 1][*node].union();
                self.levels[level][*node / LANES].set(*node % LANES, &union);
                *node /= LANES;
            }
        }
        Subset { leaves, lanes }
    }

    /// Refits the whole tree to the paths of its corners.
    pub fn refit(&mut self, paths: &[Path]) {
        let Some((leaves, levels)) = self.levels.split_first_mut() else { return };
        let each = leaves.par_iter_mut().zip(self.corners.par_chunks(LANES)).with_min_len(64);
        each.map(|(node, simplices)| {
            node.fit(simplices.iter().map(|corners| Path::around(corners, paths)))
        })
        .collect_into_vec(&mut self.around);
        let mut below = &self.around;
        let mut sums;
        for level in levels {
            let each = level.iter_mut().zip(below.chunks(LANES));
            sums = each.map(|(node, paths)| node.fit(paths.iter().copied())).collect();
            below = &sums;
        }
    }

    /// Returns the union of all paths; an empty path for an empty tree.
    pub fn bounds(&self) -> Path {
        self.levels.last().map_or(Path::NOTHING, |level| level[0].union())
    }

    /// Number of leaves.
    pub(super) fn leaf_count(&self) -> usize {
        self.around.len()
    }

    /// Returns the range of the simplices of a leaf.
    pub(super) fn leaf(&self, leaf: usize) -> Range<usize> {
        leaf * LANES..self.corners.len().min((leaf + 1) * LANES)
    }

    /// Visits the simplices whose paths a path may meet, by index and with their corners.
    pub fn visit(&self, path: &Path, found: impl FnMut(u32, &[u32; N])) {
        dispatch!(Level::new(), simd => self.visit_with(simd, path, found));
    }

    /// See [`Tree::visit`].
    #[inline(always)]
    fn visit_with<S: Simd>(&self, simd: S, path: &Path, mut found: impl FnMut(u32, &[u32; N])) {
        let path = path.facing();
        let mut walk = Walk::new(self);
        while let Some(leaf) = walk.next(simd, self, &path, 0) {
            for lane in bits(self.levels[0][leaf].meets(simd, &path, lanes_of(&self.leaf(leaf)))) {
                let item = leaf * LANES + lane;
                found(item as u32, &self.corners[item]);
            }
        }
    }

    /// Visits the pairs of a simplex among `groups` (leaf and bit mask of its simplices) and a
    /// simplex of another tree whose paths may meet, sorted by the first and then the second.
    #[inline(always)]
    pub(super) fn visit_pairs<S: Simd, const M: usize>(
        &self,
        simd: S,
        groups: impl Iterator<Item = (usize, u32)>,
        others: &Tree<M>,
        of: Between,
        mut found: impl FnMut(u32, u32),
    ) {
        let mut lists: [Vec<u32>; LANES] = Default::default();
        let mut own = [Facing([[0.0; SIDES]; AXES]); LANES];
        for (node, lanes) in groups {
            let all = lanes_of(&self.leaf(node));
            let lanes = lanes & all;
            self.levels[0][node].face(simd, &mut own);
            let mut around = Facing([[f32::NEG_INFINITY; SIDES]; AXES]);
            bits(lanes).for_each(|lane| around.include(&own[lane]));
            // Each pair once: only leaves from this one on.
            let from = if of == Between::OneTree { node } else { 0 };
            // The other tree is traversed once per leaf, with the union of its chosen simplices.
            let mut walk = Walk::new(others);
            while let Some(leaf) = walk.next(simd, others, &around, from) {
                let items = others.leaf(leaf);
                let all = lanes_of(&items);
                // Which of this leaf's simplices may meet the other leaf at all.
                let near = self.levels[0][node].meets(simd, &others.around[leaf].facing(), lanes);
                for lane in bits(near) {
                    let mut some = all;
                    if of != Between::TwoBodies {
                        let corners = &self.corners[node * LANES + lane];
                        some &= !others.sharing(simd, leaf, corners);
                    }
                    if of == Between::OneTree && leaf == node {
                        // Within one leaf, only simplices after this one.
                        some &= !1 << lane;
                    }
                    let hits = others.levels[0][leaf].meets(simd, &own[lane], some);
                    lists[lane].extend(bits(hits).map(|hit| (items.start + hit) as u32));
                }
            }
            for lane in bits(lanes) {
                let item = (node * LANES + lane) as u32;
                // Hits were collected leaf by leaf; each list is one simplex's partners in order.
                lists[lane].drain(..).for_each(|other| found(item, other));
            }
        }
    }
}

/// Returns the bit mask of all simplices of a leaf.
#[inline(always)]
fn lanes_of(leaf: &Range<usize>) -> u32 {
    (1 << leaf.len()) - 1
}

/// Ordered traversal of the leaves that a path may meet.
struct Walk {
    /// Stack: node of each level and bit mask of its children still to be visited. The root is the
    /// child of a level above it.
    open: [(usize, u32); 12],
    level: usize,
}

impl Walk {
    /// Starts a traversal at the root.
    #[inline(always)]
    fn new<const N: usize>(tree: &Tree<N>) -> Self {
        let level = tree.levels.len();
        let mut open = [(0, 0); 12];
        open[level].1 = u32::from(level > 0);
        Self { open, level }
    }

    /// Returns the next leaf whose index is at least `from`.
    #[inline(always)]
    fn next<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        tree: &Tree<N>,
        path: &Facing,
        from: usize,
    ) -> Option<usize> {
        loop {
            let (node, children) = self.open[self.level];
            if children == 0 {
                if self.level == tree.levels.len() {
                    return None;
                }
                self.level += 1;
                continue;
            }
            // Removes the lowest set bit.
            self.open[self.level].1 = children & (children - 1);
            let child = node * LANES + children.trailing_zeros() as usize;
            let below = self.level - 1;
            // A NaN path meets even the unused children of a node.
            // 3 bits of the leaf index per level.
            if child < from >> (3 * below) || child >= tree.levels[below].len() {
                continue;
            }
            if below == 0 {
                return Some(child);
            }
            self.open[below] = (child, tree.levels[below][child].meets(simd, path, 0xff));
            self.level = below;
        }
    }
}

/// Iterates over the set bits of a mask.
#[inline(always)]
fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (bit < u32::BITS).then_some(bit as usize)
    })
}
