//! Two-ring edges, which span a vertex or a fold line and resist folding.

use glam::DVec3;

use crate::quadify::QuadPairs;
use crate::straight::StraightPairs;
use crate::surface::Surface;
use crate::topology::{Topology, pair_key};

/// Largest deflection of a two-ring edge at the vertex it spans, in the surface \[rad\]: 45
/// degrees.
const MAX_BENDING_TURN: f64 = std::f64::consts::FRAC_PI_4;

/// Finds the keys of two-ring pairs, unsorted, with duplicates and possibly one-ring pairs.
///
/// - At every vertex, two neighbours that continue each other straight across it form a pair. On a
///   grid these are the neighbours left and right, above and below.
/// - If triangles are so irregular that no such pair crosses the fold line along an edge (at either
///   end), the two vertices opposite to that edge form a pair.
///
/// The shared edge of two triangles that form a quad takes part in the first rule only if `quadify`
/// is false.
pub(crate) fn bending_pairs(
    surface: &Surface,
    topology: &Topology,
    quad_pairs: &QuadPairs,
    normals: &[DVec3],
    quadify: bool,
) -> Vec<u64> {
    let mut straight = StraightPairs::new(MAX_BENDING_TURN);
    let mut keys = Vec::with_capacity(2 * surface.positions.len());
    // True for edges whose fold line is crossed by a straight pair at either end.
    let mut is_held = vec![false; topology.edges.len()];
    let mut around: Vec<(u32, u32)> = Vec::new();
    for (vertex, (&center, &normal)) in surface.positions.iter().zip(normals).enumerate() {
        around.clear();
        for &edge in topology.vertex_edges.row(vertex) {
            let [a, b] = topology.edges[edge as usize];
            if !(quadify && quad_pairs.is_shared_edge[edge as usize]) {
                around.push((edge, if a as usize == vertex { b } else { a }));
            }
        }
        let ends = around.iter().map(|&(_, end)| surface.positions[end as usize]);
        let pairs = straight.find(center, normal, ends);
        keys.extend(
            pairs.iter().map(|&[i, j]| pair_key([around[i as usize].1, around[j as usize].1])),
        );
        // A straight pair that does not contain the edge itself crosses its line at this vertex.
        for (position, &(edge, _)) in around.iter().enumerate() {
            is_held[edge as usize] |= pairs.iter().any(|pair| !pair.contains(&(position as u32)));
        }
    }
    for edge in
        (0..topology.edges.len()).filter(|&edge| !is_held[edge] && !quad_pairs.is_shared_edge[edge])
    {
        keys.extend(
            topology.triangle_pair(edge, &surface.faces).map(|(_, opposite)| pair_key(opposite)),
        );
    }
    keys
}
