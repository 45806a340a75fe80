//! Colouring of fibers into sets that run in parallel.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use poplin_geometry::Csr;

use crate::fibers::Fibers;

/// Rounds of recolouring; the first two bring most of the gain.
const RECOLORING_ROUNDS: usize = 3;

/// Groups fibers, as indices, into sets that share no moving particle.
///
/// Greedy colouring: each fiber goes to the first set that contains none of its moving particles.
/// The order is chosen as follows:
/// 1. Whole chains are coloured first, the longest first. On a grid this separates rows from
///    columns.
/// 2. The uncoloured fiber with the most sets already taken is next; ties follow the chains'
///    colours, and within each chain first every other piece, then those between.
/// 3. Recolouring set by set, the last set first, never needs more sets and often fewer (iterated
///    greedy: Culberson, 1992).
///
/// Finally, fibers move from larger to smaller sets. The number of fibers matters, not their edges,
/// since the largest set determines how many lanes the cloth needs. Pinned particles never move, so
/// fibers of a set may share them.
///
/// Within a set long fibers come first, and fibers of equal length are ordered by their first
/// particles, so that neighbouring lanes do equal work on neighbouring memory. Large sets come
/// before small ones.
pub(crate) fn color_fibers(fibers: &Fibers, inverse_masses: &[f32]) -> Vec<Vec<u32>> {
    let mut conflicts = Conflicts::new(fibers, inverse_masses);
    let mut colors = conflicts.color(chain_order(fibers, inverse_masses));
    let mut sets = conflicts.balance(&mut colors);
    for set in &mut sets {
        set.sort_unstable_by_key(|&fiber| {
            let vertices = fibers.vertices(fiber as usize);
            (Reverse(vertices.len()), vertices[0], fiber)
        });
    }
    sets.sort_by_key(|set| Reverse(set.len()));
    sets
}

/// Returns all fibers ordered by the colour of their chain, then even before odd pieces.
fn chain_order(fibers: &Fibers, inverse_masses: &[f32]) -> Vec<u32> {
    let chain_count = fibers.chain_begin.len() - 1;
    let chain_fibers = |chain: usize| fibers.chain_begin[chain]..fibers.chain_begin[chain + 1];
    let chains = Fibers {
        begin: fibers.chain_begin.iter().map(|&fiber| fibers.begin[fiber as usize]).collect(),
        vertices: fibers.vertices.clone(),
        chain_begin: (0..=chain_count as u32).collect(),
    };
    let mut order: Vec<u32> = (0..chain_count as u32).collect();
    order.sort_by_key(|&chain| Reverse(chains.vertices(chain as usize).len()));
    let colors = Conflicts::new(&chains, inverse_masses).color(order);
    // Neighbouring pieces of a chain conflict: alternate ones come first, then those between.
    let pieces = (0..chain_count).flat_map(|chain| {
        let color = colors[chain];
        chain_fibers(chain).enumerate().map(move |(piece, fiber)| (color, piece % 2, fiber))
    });
    let mut pieces: Vec<(u32, usize, u32)> = pieces.collect();
    pieces.sort_unstable();
    pieces.into_iter().map(|(_, _, fiber)| fiber).collect()
}

/// Marks a fiber without colour.
const NO_COLOR: u32 = u32::MAX;

/// Conflict graph of fibers that share a moving particle.
struct Conflicts<'a> {
    fibers: &'a Fibers,
    /// Fibers at each particle, none at pinned ones.
    at_particle: Csr<u32>,
    /// Last query that found each colour taken.
    taken: Vec<u32>,
    query: u32,
}

impl<'a> Conflicts<'a> {
    fn new(fibers: &'a Fibers, inverse_masses: &[f32]) -> Self {
        let visits = (0..fibers.len())
            .flat_map(|fiber| fibers.vertices(fiber).iter().map(move |&v| (v, fiber as u32)));
        let moving = visits.filter(|&(vertex, _)| inverse_masses[vertex as usize] > 0.0);
        Self {
            fibers,
            at_particle: Csr::new(inverse_masses.len(), moving),
            taken: Vec::new(),
            query: 0,
        }
    }

    /// Colours all fibers by saturation with ties in the given order, then recolours.
    fn color(&mut self, mut order: Vec<u32>) -> Vec<u32> {
        let mut colors = self.saturate(&order);
        for _ in 0..RECOLORING_ROUNDS {
            // Stable: keeps colour classes together, which guarantees that first fit needs no more
            // sets.
            order.sort_by_key(|&fiber| Reverse(colors[fiber as usize]));
            colors = self.first_fit(&order);
        }
        colors
    }

    /// Colours all fibers in `order`, each with its first free colour.
    fn first_fit(&mut self, order: &[u32]) -> Vec<u32> {
        let mut colors = vec![NO_COLOR; order.len()];
        for &fiber in order {
            colors[fiber as usize] = self.free_color(fiber, &colors);
        }
        colors
    }

    /// First colour that no conflicting fiber has.
    fn free_color(&mut self, fiber: u32, colors: &[u32]) -> u32 {
        self.mark_taken(fiber, colors);
        // A colour is taken if the current query has marked it, so that marks need no clearing.
        let free = self.taken.iter().position(|&query| query != self.query);
        let color = free.unwrap_or(self.taken.len());
        self.taken.resize(self.taken.len().max(color + 1), 0);
        color as u32
    }

    /// Colours all fibers, each with its first free colour; the next is always the fiber with the
    /// most distinct colours among its conflicts, ties in `order` (DSATUR: Brélaz, 1979).
    fn saturate(&mut self, order: &[u32]) -> Vec<u32> {
        let mut colors = vec![NO_COLOR; order.len()];
        let mut rank_of = vec![0u32; order.len()];
        order.iter().zip(0u32..).for_each(|(&fiber, rank)| rank_of[fiber as usize] = rank);
        // All colours beyond 63 share a bit: they occur only at hubs and only affect the order.
        let mut around = vec![0u64; order.len()];
        let mut waiting: BinaryHeap<(u32, Reverse<u32>)> =
            rank_of.iter().map(|&rank| (0, Reverse(rank))).collect();
        while let Some((count, Reverse(rank))) = waiting.pop() {
            let fiber = order[rank as usize];
            // Stale heap entry: already coloured, or its saturation has grown since.
            if colors[fiber as usize] != NO_COLOR || count != around[fiber as usize].count_ones() {
                continue;
            }
            let color = self.free_color(fiber, &colors);
            colors[fiber as usize] = color;
            let bit = 1u64 << color.min(63);
            for &vertex in self.fibers.vertices(fiber as usize) {
                for &other in self.at_particle.row(vertex as usize) {
                    let around = &mut around[other as usize];
                    if colors[other as usize] == NO_COLOR && *around & bit == 0 {
                        *around |= bit;
                        waiting.push((around.count_ones(), Reverse(rank_of[other as usize])));
                    }
                }
            }
        }
        colors
    }

    /// Moves fibers to smaller sets where possible, and returns the sets.
    fn balance(&mut self, colors: &mut [u32]) -> Vec<Vec<u32>> {
        let mut counts = vec![0usize; colors.iter().max().map_or(0, |&color| color as usize + 1)];
        colors.iter().for_each(|&color| counts[color as usize] += 1);
        for fiber in 0..colors.len() {
            self.mark_taken(fiber as u32, colors);
            let old = colors[fiber] as usize;
            let free = (0..counts.len()).filter(|&color| self.taken[color] != self.query);
            // Move only if it reduces the imbalance.
            if let Some(new) = free.min_by_key(|&color| counts[color])
                && counts[new] + 1 < counts[old]
            {
                (counts[old], counts[new]) = (counts[old] - 1, counts[new] + 1);
                colors[fiber] = new as u32;
            }
        }
        let mut sets: Vec<Vec<u32>> =
            counts.iter().map(|&count| Vec::with_capacity(count)).collect();
        colors.iter().zip(0u32..).for_each(|(&color, fiber)| sets[color as usize].push(fiber));
        sets
    }

    /// Marks the colours of all fibers that conflict with this one.
    fn mark_taken(&mut self, fiber: u32, colors: &[u32]) {
        self.query += 1;
        for &vertex in self.fibers.vertices(fiber as usize) {
            for &other in self.at_particle.row(vertex as usize) {
                let color = colors[other as usize];
                if color != NO_COLOR {
                    self.taken[color as usize] = self.query;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fibers(list: &[&[u32]]) -> Fibers {
        let mut fibers = Fibers { begin: vec![0], vertices: Vec::new(), chain_begin: vec![0] };
        for vertices in list {
            fibers.vertices.extend_from_slice(vertices);
            fibers.begin.push(fibers.vertices.len() as u32);
            fibers.chain_begin.push(fibers.len() as u32);
        }
        fibers
    }

    #[test]
    fn shared_moving_particles_separate_fibers_but_pins_do_not() {
        let star = fibers(&[&[0, 1], &[0, 2], &[0, 3]]);
        assert_eq!(color_fibers(&star, &[1.0; 4]).len(), 3);
        assert_eq!(color_fibers(&star, &[0.0, 1.0, 1.0, 1.0]), [[0, 1, 2]]);
    }

    #[test]
    fn pieces_of_a_chain_take_two_equal_sets() {
        let mut path = fibers(&[&[0, 1], &[1, 2], &[2, 3], &[3, 4]]);
        path.chain_begin = vec![0, 4];
        let mut sets = color_fibers(&path, &[1.0; 5]);
        sets.sort();
        assert_eq!(sets, [[0, 2], [1, 3]]);
    }

    #[test]
    fn long_fibers_come_first_in_their_set() {
        let apart = fibers(&[&[6, 7], &[0, 1], &[2, 3, 4]]);
        assert_eq!(color_fibers(&apart, &[1.0; 8]), [[2, 1, 0]]);
    }

    #[test]
    fn fibers_are_balanced_over_sets() {
        // 0-1 and 1-2 need two sets; greedy colouring would put all four loose fibers into the
        // first.
        let list = fibers(&[&[0, 1], &[1, 2], &[3, 4], &[5, 6], &[7, 8], &[9, 10]]);
        let sizes: Vec<usize> = color_fibers(&list, &[1.0; 11]).iter().map(Vec::len).collect();
        assert_eq!(sizes, [3, 3]);
    }
}
