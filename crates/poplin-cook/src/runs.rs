//! Where a chain leaves the vertical for the horizontal, or the other way round.

use poplin_model::PhaseKind;

use crate::chains::Chain;

/// What a chain must stray to be cut, in edges that lie fully across its direction: an end of more than two of them, or of
/// more than four at 60 degrees, is cut off; so is a middle of twice as many. A wavering about 45 degrees is not.
const CUT_PRICE: f64 = 2.0;

/// Kinds of runs, by index.
const KINDS: [PhaseKind; 2] = [PhaseKind::Vertical, PhaseKind::Horizontal];

/// Sorts chains by their course, not edge by edge.
#[derive(Debug, Clone)]
pub(crate) struct Runs<'a> {
    /// Length of every edge \[m\] and how upright it is: +1/2 along the vertical, 0 in between, -1/2 across it.
    courses: &'a [(f64, f64)],
    /// Of every edge of a chain, for each kind, the kind before it on the best path to here.
    before: Vec<[usize; 2]>,
    kinds: Vec<usize>,
}

impl<'a> Runs<'a> {
    /// Sorts chains over edges with these lengths \[m\] and uprightnesses.
    pub(crate) fn new(courses: &'a [(f64, f64)]) -> Self {
        Self { courses, before: Vec::new(), kinds: Vec::new() }
    }

    /// Calls `visit(kind, run)` for each run of a chain.
    ///
    /// A run lasts as long as its course stays nearer to its direction than to the other. Of all partitions of the chain
    /// into vertical and horizontal runs this is the one with the largest sum of `length * uprightness` over vertical edges, less
    /// that over horizontal ones, less [`CUT_PRICE`] mean edges for each cut (dynamic programming: Viterbi, 1967). A straight
    /// chain has one run.
    pub(crate) fn split(&mut self, chain: Chain<'_>, mut visit: impl FnMut(PhaseKind, Chain<'_>)) {
        self.find_kinds(chain.edges);
        let mut begin = 0;
        for run in self.kinds.chunk_by(|a, b| a == b) {
            visit(KINDS[run[0]], chain.part(begin..begin + run.len()));
            begin += run.len();
        }
    }

    /// The kind of every edge of a chain, as an index to [`KINDS`].
    fn find_kinds(&mut self, edges: &[u32]) {
        let length: f64 = edges.iter().map(|&edge| self.courses[edge as usize].0).sum();
        let price = CUT_PRICE * length / edges.len() as f64;
        let mut gains = [0.0; 2];
        self.before.clear();
        for &edge in edges {
            let (length, uprightness) = self.courses[edge as usize];
            let stays = [gains[0] >= gains[1] - price, gains[1] >= gains[0] - price];
            self.before.push([0, 1].map(|kind| if stays[kind] { kind } else { 1 - kind }));
            let best =
                [0, 1].map(|kind| if stays[kind] { gains[kind] } else { gains[1 - kind] - price });
            gains = [best[0] + length * uprightness, best[1] - length * uprightness];
        }
        let mut kind = usize::from(gains[1] > gains[0]);
        self.kinds.clear();
        for before in self.before.iter().rev() {
            self.kinds.push(kind);
            kind = before[kind];
        }
        self.kinds.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PhaseKind::{Horizontal, Vertical};

    /// Kind and edges of every run of a chain whose edges lie at these angles to the vertical \[degrees\].
    fn runs(angles: &[f64]) -> Vec<(PhaseKind, Vec<u32>)> {
        let courses: Vec<_> =
            angles.iter().map(|angle| (0.1, angle.to_radians().cos().powi(2) - 0.5)).collect();
        let edges: Vec<u32> = (0..angles.len() as u32).collect();
        let vertices: Vec<u32> = (0..=angles.len() as u32).collect();
        let mut found = Vec::new();
        Runs::new(&courses).split(Chain { edges: &edges, vertices: &vertices }, |kind, run| {
            assert_eq!(run.vertices.len(), run.edges.len() + 1);
            assert_eq!(run.vertices[0], run.edges[0]);
            found.push((kind, run.edges.to_vec()));
        });
        found
    }

    #[test]
    fn a_wavering_chain_stays_whole_and_goes_by_its_course() {
        assert_eq!(runs(&[20.0, 60.0, 25.0, 55.0, 50.0, 10.0]), [(Vertical, (0..6).collect())]);
        assert_eq!(runs(&[70.0, 40.0, 65.0, 35.0, 50.0]), [(Horizontal, (0..5).collect())]);
        assert_eq!((runs(&[30.0])[0].0, runs(&[60.0])[0].0), (Vertical, Horizontal));
    }

    #[test]
    fn a_chain_that_turns_away_is_cut_in_between() {
        let angles: Vec<_> = (0..=18).map(|k| 5.0 * f64::from(k)).collect();
        let found = runs(&angles);
        assert_eq!(found.iter().map(|run| run.0).collect::<Vec<_>>(), [Vertical, Horizontal]);
        assert!(
            (9..=10).contains(&found[0].1.len()),
            "45 degrees are reached at edge 9: {found:?}"
        );
        let end = |across: usize| runs(&[vec![0.0; 8], vec![90.0; across]].concat()).len();
        assert_eq!([1, 2, 3].map(end), [1, 1, 2]);
        let middle =
            |across: usize| runs(&[vec![0.0; 8], vec![90.0; across], vec![0.0; 8]].concat()).len();
        assert_eq!([1, 4, 5].map(middle), [1, 1, 3]);
    }
}
