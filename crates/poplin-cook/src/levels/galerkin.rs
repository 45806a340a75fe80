//! Sums that make the matrix of a level from that of the finer one: `A' = P^T A P`.

use poplin_geometry::Csr;
use poplin_model::{Parents, Term};

/// Blocks of a matrix and their terms.
pub(super) struct Sums {
    pub(super) blocks: Vec<[u32; 2]>,
    pub(super) ends: Vec<u32>,
    pub(super) terms: Vec<Term>,
}

/// Sums of the first level. A spring between particles i and j adds `W` to the blocks of `[i, i]`
/// and `[j, j]` and `-W` to that of `[i, j]`, and `W d_a d_b` to that of the nodes a and b, where d
/// is the difference of the weights of i and j.
pub(super) fn of_springs(springs: &[[u32; 2]], parents: &[Parents], count: usize) -> Sums {
    let spring_count = springs.len() as u32;
    let of_spring = springs.iter().zip(0..).flat_map(|(ends, source)| {
        let [a, b] = ends.map(|end| parents[end as usize]);
        let difference = difference(a, b);
        pairs(difference).map(move |(nodes, factor)| (nodes, source, factor))
    });
    let of_particle = parents.iter().zip(spring_count..).flat_map(|(parents, source)| {
        let mut weights = [(u32::MAX, 0.0); 6];
        parents
            .iter()
            .zip(&mut weights)
            .for_each(|((node, weight), entry)| *entry = (node, f64::from(weight)));
        pairs(weights).map(move |(nodes, factor)| (nodes, source, factor))
    });
    sums(count, of_spring.chain(of_particle))
}

/// Sums of a level over another one.
pub(super) fn of_blocks(blocks: &[[u32; 2]], parents: &[Parents], count: usize) -> Sums {
    let products = blocks.iter().zip(0..).flat_map(|(&[a, b], source)| {
        parents[a as usize].iter().flat_map(move |(x, v)| {
            parents[b as usize].iter().filter_map(move |(y, w)| {
                // The block of a node has both orders of its parents; other blocks stand for the
                // two blocks of either order.
                let is_counted = a != b || x <= y;
                let twice = if a != b && x == y { 2.0 } else { 1.0 };
                let factor = twice * f64::from(v) * f64::from(w);
                is_counted.then_some(([x.min(y), x.max(y)], source, factor))
            })
        })
    });
    sums(count, products)
}

/// Difference of the weights of two particles, by node.
fn difference(a: Parents, b: Parents) -> [(u32, f64); 6] {
    let mut all = [(u32::MAX, 0.0); 6];
    let mut len = 0;
    let signed = a.iter().map(|it| (it, 1.0)).chain(b.iter().map(|it| (it, -1.0)));
    for ((node, weight), sign) in signed {
        let at = all[..len].iter().position(|it| it.0 == node).unwrap_or(len);
        len = len.max(at + 1);
        all[at] = (node, all[at].1 + sign * f64::from(weight));
    }
    all
}

/// Products of the weights of every pair of nodes, each pair once.
fn pairs(weights: [(u32, f64); 6]) -> impl Iterator<Item = ([u32; 2], f64)> + Clone {
    (0..6)
        .flat_map(move |k| (0..=k).map(move |l| (weights[k], weights[l])))
        .filter_map(|((a, v), (b, w))| (v * w != 0.0).then_some(([a.min(b), a.max(b)], v * w)))
}

/// Sorts products into blocks and adds those of one source.
fn sums(count: usize, products: impl Iterator<Item = ([u32; 2], u32, f64)> + Clone) -> Sums {
    let by_row = products.map(|([a, b], source, factor)| (a, (b, source, factor as f32)));
    let rows = Csr::new(count, by_row);
    let (mut blocks, mut ends, mut terms) = (Vec::new(), Vec::new(), Vec::new());
    let mut row = Vec::new();
    for a in 0..count {
        row.clear();
        row.extend_from_slice(rows.row(a));
        row.sort_by_key(|&(b, source, _)| (b, source));
        if row.first().is_none_or(|first| first.0 != a as u32) {
            // Only pins: a block of 0.
            blocks.push([a as u32; 2]);
            ends.push(terms.len() as u32);
        }
        for block in row.chunk_by(|x, y| x.0 == y.0) {
            for equal in block.chunk_by(|x, y| x.1 == y.1) {
                let factor = equal.iter().map(|it| it.2).sum();
                terms.push(Term { source: equal[0].1, factor });
            }
            blocks.push([a as u32, block[0].0]);
            ends.push(terms.len() as u32);
        }
    }
    Sums { blocks, ends, terms }
}
