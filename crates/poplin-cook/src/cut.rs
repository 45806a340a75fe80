//! Choice of the fiber length if the options do not set one.

use std::cmp::Reverse;

use poplin_model::LaneCost;

use crate::fibers::Fibers;
use crate::sets::color_fibers;

/// Candidate lengths, in addition to uncut fibers.
const LENGTHS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// Cost of cutting a chain, besides sets and barriers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cuts {
    /// No additional cost: Gauss-Seidel solves edge by edge anyway.
    AreFree,
    /// More iterations: fibers are solved together, and relaxing a chain of p pieces takes about
    /// p^2 iterations, like relaxing n edges one by one takes n^2.
    TakeIterations,
}

/// Largest fiber length for which an iteration costs a workgroup the least ([`LaneCost::GPU`]),
/// multiplied by the iterations that its pieces need: short fibers keep many lanes busy, long ones
/// need fewer sets. `whole` are the uncut fibers. On ties the shorter length wins.
pub(crate) fn best_length(whole: &Fibers, inverse_masses: &[f32], cuts: Cuts) -> usize {
    let set_count = color_fibers(whole, inverse_masses).len();
    let lengths: Vec<usize> =
        (0..whole.len()).map(|fiber| whole.vertices(fiber).len() - 1).collect();
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let cost = |length: usize| {
        let iterations = match cuts {
            Cuts::AreFree => 1.0,
            Cuts::TakeIterations => mean_square_of_pieces(&lengths, length),
        };
        iterations * cost_of_pieces(&lengths, length, set_count)
    };
    let candidates = LENGTHS.into_iter().filter(|&length| length < longest).chain([longest]);
    candidates
        .map(|length| (cost(length), length))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(longest, |(_, length)| length)
}

/// Squared number of pieces into which the chain of an edge is cut, averaged over all edges.
fn mean_square_of_pieces(fibers: &[usize], length: usize) -> f64 {
    let sum: usize = fibers.iter().map(|fiber| fiber * fiber.div_ceil(length).pow(2)).sum();
    sum as f64 / fibers.iter().sum::<usize>().max(1) as f64
}

/// Cost of an iteration over fibers of these lengths, which need `set_count` sets uncut, after they
/// are cut.
///
/// Cutting turns each of one or two sets into two, with every other piece; with more sets, as on
/// irregular meshes, pieces fill the gaps and one set is added. Pieces are distributed over the
/// sets by length.
fn cost_of_pieces(fibers: &[usize], length: usize, set_count: usize) -> f64 {
    let mut pieces = Vec::new();
    for &fiber in fibers {
        let count = fiber.div_ceil(length);
        pieces.extend((0..count).map(|k| (fiber * (k + 1) / count - fiber * k / count) as u32));
    }
    // 1 -> 2, 2 -> 4, n -> n + 1 otherwise
    let cut_count = (set_count + 1).max(2 * set_count.min(2));
    let set_count = if pieces.len() > fibers.len() { cut_count } else { set_count };
    pieces.sort_unstable_by_key(|&length| Reverse(length));
    (0..set_count)
        .map(|set| LaneCost::GPU.of_set(pieces.iter().copied().skip(set).step_by(set_count)))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Best length for `count` parallel fibers of `length` edges.
    fn best(count: u32, length: u32, cuts: Cuts) -> usize {
        let vertices = (0..count * (length + 1)).collect();
        let begin: Vec<u32> = (0..=count).map(|fiber| fiber * (length + 1)).collect();
        let whole = Fibers { chain_begin: (0..=count).collect(), begin, vertices };
        best_length(&whole, &vec![1.0; (count * (length + 1)) as usize], cuts)
    }

    #[test]
    fn few_fibers_are_cut_and_many_are_kept_long() {
        // One fiber of 64 edges: 64 pieces of one edge in two sets run at once.
        assert_eq!(best(1, 64, Cuts::AreFree), 1);
        // 64 fibers: in two sets of 256 pieces every lane has 8 edges; shorter pieces take several
        // rounds, longer ones leave lanes idle.
        assert_eq!(best(64, 64, Cuts::AreFree), 8);
        // 1024 fibers take several rounds anyway: cutting them only adds starts.
        assert_eq!(best(1024, 64, Cuts::AreFree), 64);
    }

    #[test]
    fn semi_implicit_fibers_are_cut_only_if_few_are_long() {
        assert_eq!(best(64, 64, Cuts::TakeIterations), 64);
        let squares = [16, 64].map(|length| mean_square_of_pieces(&[64, 8], length));
        assert_eq!(squares, [(64.0 * 16.0 + 8.0) / 72.0, 1.0]);
        // Similar to a garment: six chains go around it, thousands are short.
        let lengths: Vec<usize> = [[200; 6].as_slice(), &[8; 4000]].concat();
        let cost =
            |length| mean_square_of_pieces(&lengths, length) * cost_of_pieces(&lengths, length, 6);
        assert!(cost(64) < cost(200) && cost(64) < cost(8), "{:?}", [8, 16, 32, 64, 200].map(cost));
    }
}
