//! Bounding volume hierarchy for box overlap queries.

/// Largest number of boxes in a leaf.
const LEAF_SIZE: usize = 4;

/// Closed axis-aligned box \[m\].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) low: [f64; 3],
    pub(crate) high: [f64; 3],
}

/// Tree of indexed boxes, split recursively at the median, so that single large boxes cost little.
pub(crate) struct BoxTree {
    /// Index and box, in the order of the leaves.
    entries: Vec<(u32, Bounds)>,
    /// Bounds of all entries below a node; the children of node `i` are `2 i + 1` and `2 i + 2`.
    nodes: Vec<Bounds>,
}

impl Bounds {
    const EMPTY: Self = Self { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };

    /// Bounds of points; `None` unless all are finite.
    pub(crate) fn of(points: impl IntoIterator<Item = [f64; 3]>) -> Option<Self> {
        points.into_iter().try_fold(Self::EMPTY, |bounds, point| {
            point
                .iter()
                .all(|x| x.is_finite())
                .then(|| bounds.and(&Self { low: point, high: point }))
        })
    }

    /// Bounds extended by `margin` \[m\] on all sides.
    pub(crate) fn grown(&self, margin: f64) -> Self {
        Self { low: self.low.map(|x| x - margin), high: self.high.map(|x| x + margin) }
    }

    fn and(&self, other: &Self) -> Self {
        Self {
            low: std::array::from_fn(|k| self.low[k].min(other.low[k])),
            high: std::array::from_fn(|k| self.high[k].max(other.high[k])),
        }
    }

    /// Tests whether both boxes have a common point.
    fn touches(&self, other: &Self) -> bool {
        (0..3).all(|k| self.low[k] <= other.high[k] && other.low[k] <= self.high[k])
    }

    fn widest_axis(&self) -> usize {
        let width = |k: &usize| self.high[*k] - self.low[*k];
        (0..3).max_by(|a, b| width(a).total_cmp(&width(b))).expect("three axes")
    }
}

impl BoxTree {
    /// Builds a tree of indexed boxes.
    pub(crate) fn new(entries: impl Iterator<Item = (u32, Bounds)>) -> Self {
        let mut entries: Vec<_> = entries.collect();
        let mut nodes = Vec::new();
        build(&mut entries, 0, &mut nodes);
        Self { entries, nodes }
    }

    /// Calls `visitor` with the index of every box that overlaps `bounds`.
    pub(crate) fn visit(&self, bounds: &Bounds, mut visitor: impl FnMut(u32)) {
        let mut pending = vec![(0, &self.entries[..])];
        while let Some((node, entries)) = pending.pop() {
            if entries.len() <= LEAF_SIZE {
                entries
                    .iter()
                    .filter(|(_, entry)| entry.touches(bounds))
                    .for_each(|(index, _)| visitor(*index));
            } else if self.nodes[node].touches(bounds) {
                let (left, right) = entries.split_at(entries.len() / 2);
                pending.extend([(2 * node + 1, left), (2 * node + 2, right)]);
            }
        }
    }
}

/// Partitions the entries below a node into its children. Leaves have no bounds of their own.
fn build(entries: &mut [(u32, Bounds)], node: usize, nodes: &mut Vec<Bounds>) {
    if entries.len() <= LEAF_SIZE {
        return;
    }
    let bounds = entries.iter().fold(Bounds::EMPTY, |all, (_, entry)| all.and(entry));
    // Median splits keep the tree nearly complete, so that implicit child indices waste little.
    nodes.resize(nodes.len().max(node + 1), Bounds::EMPTY);
    nodes[node] = bounds;
    let axis = bounds.widest_axis();
    let middle = entries.len() / 2;
    let center = |(_, entry): &(u32, Bounds)| entry.low[axis] + entry.high[axis];
    entries.select_nth_unstable_by(middle, |a, b| center(a).total_cmp(&center(b)));
    let (left, right) = entries.split_at_mut(middle);
    build(left, 2 * node + 1, nodes);
    build(right, 2 * node + 2, nodes);
}
