//! Distribution of fiber lengths.

/// Histogram of fibers by their length in edges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FiberLengths {
    /// Number of fibers with each edge count, shape `[longest + 1]`; the first entry is 0.
    counts: Vec<usize>,
}

impl FiberLengths {
    /// First length of each bucket of a histogram; the last bucket has no end.
    pub const BUCKETS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

    /// Adds one fiber with `length` edges.
    pub(crate) fn add(&mut self, length: usize) {
        self.counts.resize(self.counts.len().max(length + 1), 0);
        self.counts[length] += 1;
    }

    /// Merges two histograms.
    pub(crate) fn merged(mut self, other: &Self) -> Self {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        self
    }

    /// Number of fibers.
    pub fn fiber_count(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Number of edges of all fibers.
    pub fn edge_count(&self) -> usize {
        self.counts.iter().enumerate().map(|(length, count)| length * count).sum()
    }

    /// Edge count of the longest fiber; 0 without fibers.
    pub fn longest(&self) -> usize {
        self.counts.iter().rposition(|&count| count > 0).unwrap_or(0)
    }

    /// Mean edge count of fibers; 0 without fibers.
    pub fn mean(&self) -> f64 {
        self.edge_count() as f64 / self.fiber_count().max(1) as f64
    }

    /// Mean edge count of the longest fibers that contain a fraction of all edges, `0..=1`.
    ///
    /// Fibers are taken in order of decreasing length until they contain at least `fraction` of the
    /// edges; the mean is their edges over their count. At most `1 - fraction` of the edges, in the
    /// shortest fibers, are therefore ignored. 0 if no fiber is taken.
    pub fn mean_of_longest(&self, fraction: f64) -> f64 {
        let wanted = (fraction * self.edge_count() as f64).ceil() as usize;
        let (mut fibers, mut edges) = (0, 0);
        for (length, &count) in self.counts.iter().enumerate().rev() {
            let missing = wanted.saturating_sub(edges);
            // The last fiber may contain more edges than are missing.
            let taken = count.min(missing.div_ceil(length.max(1)));
            (fibers, edges) = (fibers + taken, edges + taken * length);
        }
        edges as f64 / fibers.max(1) as f64
    }

    /// Number of fibers in each of [`Self::BUCKETS`], and their edges.
    pub fn histogram(&self) -> [(usize, usize); Self::BUCKETS.len()] {
        let mut buckets = [(0, 0); Self::BUCKETS.len()];
        for (length, &count) in self.counts.iter().enumerate().skip(1) {
            let bucket = (length.ilog2() as usize).min(buckets.len() - 1);
            buckets[bucket].0 += count;
            buckets[bucket].1 += length * count;
        }
        buckets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(list: &[usize]) -> FiberLengths {
        let mut lengths = FiberLengths::default();
        list.iter().for_each(|&length| lengths.add(length));
        lengths
    }

    #[test]
    fn mean_of_longest_ignores_the_shortest_fibers() {
        // 100 edges; the two long ones hold 90, one of 2 fills up to 92, five more to 98.
        let lengths = lengths(&[60, 30, 2, 2, 2, 1, 1, 1, 1]);
        assert_eq!(lengths.mean_of_longest(0.9), 45.0);
        assert_eq!(lengths.mean_of_longest(0.905), 92.0 / 3.0);
        assert_eq!(lengths.mean_of_longest(1.0), lengths.mean());
        assert_eq!(
            (lengths.mean_of_longest(0.0), FiberLengths::default().mean_of_longest(0.95)),
            (0.0, 0.0)
        );
    }

    #[test]
    fn histogram_sorts_lengths_into_their_buckets() {
        let lengths = lengths(&[1, 1, 2, 3, 7, 8, 15, 16, 64, 500]);
        assert_eq!(
            lengths.histogram(),
            [(2, 2), (2, 5), (1, 7), (2, 23), (1, 16), (0, 0), (2, 564)]
        );
        assert_eq!(
            (lengths.longest(), lengths.fiber_count(), lengths.edge_count()),
            (500, 10, 617)
        );
    }

    #[test]
    fn merged_adds_counts() {
        assert_eq!(lengths(&[1, 4]).merged(&lengths(&[9, 1])), lengths(&[1, 1, 4, 9]));
    }
}
