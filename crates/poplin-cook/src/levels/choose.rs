//! Nodes of a coarser level: Poisson disks.

use std::f64::consts::PI;

use glam::DVec3;

use super::Nodes;

/// Nodes closer to a chosen one than this part of the radius are not chosen, so that nodes of a
/// grid at that very distance are.
const DISK: f64 = 0.999;

/// Angle of the triangles at a corner of the border, less than this \[rad\].
const MAX_CORNER: f64 = 0.7 * PI;

/// Order in which nodes are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Corner,
    Border,
    Interior,
}

/// Ranks of the vertices of a surface.
pub(super) fn ranks(positions: &[DVec3], triangles: &[[u32; 3]]) -> Vec<Rank> {
    let mut sides: Vec<[u32; 2]> = triangles
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
        .map(|[a, b]| [a.min(b), a.max(b)])
        .collect();
    sides.sort_unstable();
    let mut ranks = vec![Rank::Interior; positions.len()];
    let single = sides.chunk_by(|a, b| a == b).filter(|equal| equal.len() == 1);
    single.flat_map(|equal| equal[0]).for_each(|vertex| ranks[vertex as usize] = Rank::Border);
    let mut angles = vec![0.0; positions.len()];
    for &[a, b, c] in triangles {
        for [corner, left, right] in [[a, b, c], [b, c, a], [c, a, b]] {
            let [corner_at, left, right] =
                [corner, left, right].map(|vertex| positions[vertex as usize]);
            angles[corner as usize] += (left - corner_at).angle_between(right - corner_at);
        }
    }
    for (rank, angle) in ranks.iter_mut().zip(angles) {
        if *rank == Rank::Border && angle < MAX_CORNER {
            *rank = Rank::Corner;
        }
    }
    ranks
}

/// Chooses nodes at least `radius` \[m\] apart along the surface, such that every node is closer to
/// a chosen one than that, by rank, then by index; none without neighbours. Returns them in
/// ascending order.
pub(super) fn choose_nodes(nodes: &Nodes, radius: f64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..nodes.len() as u32).collect();
    // Stable: by index within a rank.
    order.sort_by_key(|&node| nodes.ranks[node as usize]);
    let mut is_covered = vec![false; nodes.len()];
    let mut seen = vec![u32::MAX; nodes.len()];
    let (mut chosen, mut queue) = (Vec::new(), Vec::new());
    for node in order {
        if !is_covered[node as usize] && nodes.is_connected(node as usize) {
            nodes.within(node, DISK * radius, (&mut seen, node), &mut queue, |near, _| {
                is_covered[near as usize] = true;
            });
            chosen.push(node);
        }
    }
    chosen.sort_unstable();
    chosen
}
