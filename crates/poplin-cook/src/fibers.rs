//! Chains of connected edges that one thread works in order.

use glam::DVec3;

use crate::csr::Csr;
use crate::straight::StraightPairs;

/// Fibers over the edges of one kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fibers {
    /// First vertex of every fiber, and the number of vertices: shape `[fiber_count + 1]`.
    pub(crate) begin: Vec<u32>,
    /// Vertices, fiber after fiber.
    pub(crate) vertices: Vec<u32>,
    /// First fiber of every chain, and the number of fibers: the pieces that a chain was cut into follow each other.
    pub(crate) chain_begin: Vec<u32>,
}

impl Fibers {
    /// Number of fibers.
    pub(crate) fn len(&self) -> usize {
        self.begin.len() - 1
    }

    /// Vertices of one fiber.
    pub(crate) fn vertices(&self, fiber: usize) -> &[u32] {
        &self.vertices[self.begin[fiber] as usize..self.begin[fiber + 1] as usize]
    }

    /// Threads all edges on fibers of at most `max_length` edges.
    ///
    /// At every vertex edges are paired by straightness ([`StraightPairs`]); followed along, the pairs give chains and
    /// loops. Each is cut into pieces of equal length (by at most one edge), and where it would meet itself, so that no
    /// fiber visits a vertex twice. On a grid these are the rows and columns.
    pub(crate) fn thread(edges: &[[u32; 2]], positions: &[DVec3], normals: &[DVec3], max_turn: f64, max_length: usize) -> Self {
        let next = link_ends(edges, positions, normals, max_turn);
        let mut fibers = Self { begin: vec![0], vertices: Vec::new(), chain_begin: vec![0] };
        let mut is_visited = vec![false; edges.len()];
        let mut last_fiber = vec![u32::MAX; positions.len()];
        let mut chain = Vec::new();
        // Chains start at an end without continuation; what is left after them are loops, started anywhere.
        for loops in [false, true] {
            for start in 0..next.len() {
                if is_visited[start / 2] || (!loops && next[start] != NO_END) {
                    continue;
                }
                chain.clear();
                chain.push(edges[start / 2][start % 2]);
                let mut entry = start as u32;
                while entry != NO_END && !is_visited[entry as usize / 2] {
                    is_visited[entry as usize / 2] = true;
                    let exit = entry as usize ^ 1;
                    chain.push(edges[exit / 2][exit % 2]);
                    entry = next[exit];
                }
                fibers.cut(&chain, max_length, &mut last_fiber);
            }
        }
        fibers
    }

    /// Cuts a chain of vertices into fibers; `last_fiber` is the last fiber that visited each particle.
    fn cut(&mut self, chain: &[u32], max_length: usize, last_fiber: &mut [u32]) {
        let length = chain.len() - 1;
        let is_loop = chain.first() == chain.last();
        let pieces = length.div_ceil(max_length).max(if is_loop { 2 } else { 1 });
        for piece in 0..pieces {
            let (first, last) = (length * piece / pieces, length * (piece + 1) / pieces);
            self.visit(chain[first], last_fiber);
            for position in first + 1..=last {
                if last_fiber[chain[position] as usize] == self.len() as u32 {
                    self.close();
                    self.visit(chain[position - 1], last_fiber);
                }
                self.visit(chain[position], last_fiber);
            }
            self.close();
        }
        self.chain_begin.push(self.len() as u32);
    }

    fn visit(&mut self, vertex: u32, last_fiber: &mut [u32]) {
        last_fiber[vertex as usize] = self.len() as u32;
        self.vertices.push(vertex);
    }

    fn close(&mut self) {
        self.begin.push(self.vertices.len() as u32);
    }
}

/// Marks an edge end that nothing continues.
const NO_END: u32 = u32::MAX;

/// The edge end that continues each edge end (end `2 * edge + side` lies at `edges[edge][side]`), or [`NO_END`].
fn link_ends(edges: &[[u32; 2]], positions: &[DVec3], normals: &[DVec3], max_turn: f64) -> Vec<u32> {
    let ends = edges.as_flattened();
    let mut next = vec![NO_END; ends.len()];
    let at_vertex = Csr::new(positions.len(), ends.iter().copied().zip(0u32..));
    let mut straight = StraightPairs::new(max_turn);
    for vertex in 0..positions.len() {
        let here = at_vertex.row(vertex);
        if here.len() < 2 {
            continue;
        }
        let far = here.iter().map(|&end| positions[ends[end as usize ^ 1] as usize]);
        for &[i, j] in straight.find(positions[vertex], normals[vertex], far) {
            let (a, b) = (here[i as usize], here[j as usize]);
            (next[a as usize], next[b as usize]) = (b, a);
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(edges: &[[u32; 2]], positions: &[DVec3], max_length: usize) -> Vec<Vec<u32>> {
        let fibers = Fibers::thread(edges, positions, &vec![DVec3::ZERO; positions.len()], 0.8, max_length);
        (0..fibers.len()).map(|fiber| fibers.vertices(fiber).to_vec()).collect()
    }

    #[test]
    fn a_long_chain_is_cut_into_even_pieces() {
        let positions: Vec<_> = (0..6).map(|x| DVec3::X * f64::from(x)).collect();
        let edges: Vec<_> = (0..5).map(|x| [x, x + 1]).collect();
        assert_eq!(thread(&edges, &positions, 16), [vec![0, 1, 2, 3, 4, 5]]);
        assert_eq!(thread(&edges, &positions, 4), [vec![0, 1, 2], vec![2, 3, 4, 5]]);
        assert_eq!(thread(&edges, &positions, 1).len(), 5);
    }

    #[test]
    fn a_loop_is_opened() {
        let place = |k: u32| (f64::from(k) * std::f64::consts::FRAC_PI_4).sin_cos();
        let positions: Vec<_> = (0..8).map(|k| DVec3::new(place(k).1, place(k).0, 0.0)).collect();
        let edges: Vec<_> = (0..8).map(|k| [k, (k + 1) % 8]).collect();
        assert_eq!(thread(&edges, &positions, 16), [vec![0, 1, 2, 3, 4], vec![4, 5, 6, 7, 0]]);
    }

    #[test]
    fn a_corner_ends_a_fiber() {
        let positions = [DVec3::ZERO, DVec3::X, DVec3::X + DVec3::Y];
        assert_eq!(thread(&[[0, 1], [1, 2]], &positions, 16), [vec![0, 1], vec![1, 2]]);
    }

    #[test]
    fn a_chain_that_crosses_itself_is_cut_there() {
        let points = [[-1, 0], [0, 0], [1, 0], [2, 1], [2, 2], [1, 3], [0, 2], [0, 1], [0, -1]];
        let positions: Vec<_> = points.map(|[x, y]| DVec3::new(f64::from(x), f64::from(y), 0.0)).to_vec();
        let edges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [1, 7], [1, 8]];
        let fibers = Fibers::thread(&edges, &positions, &[DVec3::ZERO; 9], 0.8, 16);
        assert!((0..fibers.len()).all(|fiber| {
            let mut vertices = fibers.vertices(fiber).to_vec();
            vertices.sort_unstable();
            vertices.windows(2).all(|pair| pair[0] != pair[1])
        }));
        assert_eq!(fibers.vertices.len() - fibers.len(), edges.len());
    }
}
