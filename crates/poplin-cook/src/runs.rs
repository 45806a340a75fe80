//! Splitting of chains into vertical and horizontal runs.

use poplin_model::PhaseKind;

use crate::chains::Chain;

/// Cost of a cut, in edges that lie fully across the direction of a run: an end of more than two
/// such edges, or of more than four at 60 degrees, is cut off; so is a middle of twice as many.
/// Wavering about 45 degrees causes no cut.
const CUT_PRICE: f64 = 2.0;

/// Kinds of runs by index.
const KINDS: [PhaseKind; 2] = [PhaseKind::Vertical, PhaseKind::Horizontal];

/// Classifies chains by their course as a whole instead of edge by edge.
#[derive(Debug, Clone)]
pub(crate) struct Runs<'a> {
    /// Length of each edge \[m\] and its uprightness: +1/2 along the vertical, 0 at 45 degrees,
    /// -1/2 across.
    courses: &'a [(f64, f64)],
    /// Kind of the previous edge on the best path, for each edge of a chain and each kind.
    before: Vec<[usize; 2]>,
    kinds: Vec<usize>,
}

impl<'a> Runs<'a> {
    /// Classifies chains over edges with these lengths \[m\] and uprightnesses.
    pub(crate) fn new(courses: &'a [(f64, f64)]) -> Self {
        Self { courses, before: Vec::new(), kinds: Vec::new() }
    }

    /// Calls `visit(kind, run)` for each run of a chain.
    ///
    /// A run lasts as long as its course stays nearer to its direction than to the other. The
    /// partition into vertical and horizontal runs maximises the sum of `length * uprightness` over
    /// vertical edges, minus that over horizontal ones, minus [`CUT_PRICE`] mean edges for each cut
    /// (dynamic programming: Viterbi, 1967). A straight chain has one run.
    pub(crate) fn split(&mut self, chain: Chain<'_>, mut visit: impl FnMut(PhaseKind, Chain<'_>)) {
        self.find_kinds(chain.edges);
        let mut begin = 0;
        for run in self.kinds.chunk_by(|a, b| a == b) {
            visit(KINDS[run[0]], chain.part(begin..begin + run.len()));
            begin += run.len();
        }
    }

    /// Finds the kind of every edge of a chain, as an index into [`KINDS`].
    fn find_kinds(&mut self, edges: &[u32]) {
        let length: f64 = edges.iter().map(|&edge| self.courses[edge as usize].0).sum();
        let price = CUT_PRICE * length / edges.len() as f64;
        let mut gains = [0.0; 2];
        self.before.clear();
        for &edge in edges {
            let (length, uprightness) = self.courses[edge as usize];
            // Best score with the current edge vertical or horizontal: stay in the kind, or pay for
            // a cut.
            let stays = [gains[0] >= gains[1] - price, gains[1] >= gains[0] - price];
            self.before.push([0, 1].map(|kind| if stays[kind] { kind } else { 1 - kind }));
            let best =
                [0, 1].map(|kind| if stays[kind] { gains[kind] } else { gains[1 - kind] - price });
            gains = [best[0] + length * uprightness, best[1] - length * uprightness];
        }
        // Backtrack from the better kind of the last edge.
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

    /// Returns kind and edges of every run of a chain whose edges have these angles to the vertical
    /// \[degrees\].
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
    fn wavering_chain_stays_whole_and_follows_its_course() {
        assert_eq!(runs(&[20.0, 60.0, 25.0, 55.0, 50.0, 10.0]), [(Vertical, (0..6).collect())]);
        assert_eq!(runs(&[70.0, 40.0, 65.0, 35.0, 50.0]), [(Horizontal, (0..5).collect())]);
        assert_eq!((runs(&[30.0])[0].0, runs(&[60.0])[0].0), (Vertical, Horizontal));
    }

    #[test]
    fn turning_chain_is_cut_at_45_degrees() {
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
