//! How long fibers are best where nobody says.

use std::cmp::Reverse;

use poplin_model::LaneCost;

use crate::fibers::Fibers;
use crate::sets::color_fibers;

/// Lengths that are tried, besides leaving fibers whole.
const LENGTHS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The most edges of a fiber with which an iteration of Gauss-Seidel costs a workgroup the least ([`LaneCost::GPU`]): short ones
/// keep many threads busy, long ones need fewer sets. `whole` are the fibers uncut. Where two lengths cost the same, the shorter.
///
/// A set of cut fibers becomes two, of every other piece: an estimate, since colouring may mix them better.
pub(crate) fn best_length(whole: &Fibers, inverse_masses: &[f32]) -> usize {
    let sets: Vec<Vec<usize>> = color_fibers(whole, inverse_masses)
        .into_iter()
        .map(|set| set.into_iter().map(|fiber| whole.vertices(fiber as usize).len() - 1).collect())
        .collect();
    let longest = sets.iter().flatten().copied().max().unwrap_or(1);
    let cost = |length: usize| sets.iter().map(|set| cost_of_pieces(set, length)).sum::<f64>();
    let lengths = LENGTHS.into_iter().filter(|&length| length < longest).chain([longest]);
    lengths.map(|length| (cost(length), length)).min_by(|a, b| a.0.total_cmp(&b.0)).map_or(longest, |(_, length)| length)
}

/// Cost of the sets that fibers of these lengths make when they are cut.
fn cost_of_pieces(fibers: &[usize], length: usize) -> f64 {
    let mut pieces = [Vec::new(), Vec::new()];
    for &fiber in fibers {
        let count = fiber.div_ceil(length);
        (0..count).for_each(|k| pieces[k % 2].push((fiber * (k + 1) / count - fiber * k / count) as u32));
    }
    let of_set = |mut set: Vec<u32>| {
        set.sort_unstable_by_key(|&length| Reverse(length));
        LaneCost::GPU.of_set(set)
    };
    pieces.into_iter().filter(|set| !set.is_empty()).map(of_set).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many fibers of so many edges, side by side.
    fn threads(count: u32, length: u32) -> usize {
        let vertices = (0..count * (length + 1)).collect();
        let begin: Vec<u32> = (0..=count).map(|fiber| fiber * (length + 1)).collect();
        let whole = Fibers { chain_begin: (0..=count).collect(), begin, vertices };
        best_length(&whole, &vec![1.0; (count * (length + 1)) as usize])
    }

    #[test]
    fn few_threads_are_cut_short_and_many_left_long() {
        // One fiber of 64 edges: 64 pieces of one edge in two sets are done at once.
        assert_eq!(threads(1, 64), 1);
        // 64: in two sets of 256 pieces every lane has 8 edges; shorter pieces come in turns, longer ones leave lanes idle.
        assert_eq!(threads(64, 64), 8);
        // 1024 take turns anyway: cutting them only begins more often.
        assert_eq!(threads(1024, 64), 64);
    }
}
