//! Chains: edges that continue each other from vertex to vertex.

use std::ops::Range;

use glam::DVec3;
use poplin_geometry::Csr;

use crate::straight::StraightPairs;

/// Marks an edge end without continuation.
const NO_END: u32 = u32::MAX;

/// Largest number of lengthening rounds; the first two bring most of the gain.
const LENGTHENING_ROUNDS: usize = 5;

/// Number of edges after which a chain counts as too long to be lengthened, because walking to its
/// end costs time.
const MAX_WALK: usize = 256;

/// Particles over which chains run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground<'a> {
    /// Position of each particle \[m\].
    pub(crate) positions: &'a [DVec3],
    /// Unit normal of each particle, or zero.
    pub(crate) normals: &'a [DVec3],
    /// Inverse mass of each particle [1/kg], 0 = pinned.
    pub(crate) inverse_masses: &'a [f32],
}

impl<'a> Ground<'a> {
    /// Iterates over particles that are not pinned.
    fn moving(self) -> impl Iterator<Item = usize> + use<'a> {
        (0..self.positions.len()).filter(move |&vertex| self.inverse_masses[vertex] > 0.0)
    }
}

/// A chain, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain<'a> {
    /// Indices of the edges.
    pub(crate) edges: &'a [u32],
    /// Vertices, one more than edges; a loop ends with its first vertex.
    pub(crate) vertices: &'a [u32],
}

impl Chain<'_> {
    /// Returns the part with these edges.
    pub(crate) fn part(&self, edges: Range<usize>) -> Self {
        Self { vertices: &self.vertices[edges.start..=edges.end], edges: &self.edges[edges] }
    }
}

/// Chains over a list of edges.
#[derive(Debug, Clone)]
pub(crate) struct Chains<'a> {
    edges: &'a [[u32; 2]],
    ground: Ground<'a>,
    straight: StraightPairs,
    /// Edge ends at each vertex: end `2 * edge + side` is at `edges[edge][side]`.
    at_vertex: Csr<u32>,
    /// Edge end that continues each edge end at its vertex, or [`NO_END`].
    next: Vec<u32>,
}

impl<'a> Chains<'a> {
    /// Links the edges at every moving vertex: the most pairs that deflect by at most `max_turn`
    /// \[rad\], and among these the straightest ([`StraightPairs::find_most`]). `price` of an edge
    /// is the cost of each of its ends without continuation.
    ///
    /// Every chain ends at pins.
    pub(crate) fn link(
        edges: &'a [[u32; 2]],
        ground: Ground<'a>,
        max_turn: f64,
        price: impl Fn(u32) -> f64,
    ) -> Self {
        let ends = edges.as_flattened();
        let at_vertex = Csr::new(ground.positions.len(), ends.iter().copied().zip(0u32..));
        // Ends 2 e and 2 e + 1 of edge e: `end ^ 1` is the other end of the same edge.
        let (straight, next) = (StraightPairs::new(max_turn), vec![NO_END; ends.len()]);
        let mut chains = Self { edges, ground, straight, at_vertex, next };
        for vertex in ground.moving() {
            let here = chains.at_vertex.row(vertex);
            let far = here.iter().map(|&end| ground.positions[ends[end as usize ^ 1] as usize]);
            let price = |position: usize| price(here[position] / 2);
            for &[i, j] in chains.straight.find_most(
                ground.positions[vertex],
                ground.normals[vertex],
                far,
                price,
            ) {
                let (a, b) = (here[i as usize], here[j as usize]);
                (chains.next[a as usize], chains.next[b as usize]) = (b, a);
            }
        }
        chains
    }

    /// Makes long chains longer and short ones shorter where a chain ends beside another that
    /// passes: it may take over one half of the other, which then ends there instead. The number of
    /// chains is unchanged.
    ///
    /// Applied wherever the deflections allow it and it raises the mean length of the fiber of an
    /// edge, with fibers of at most `max_length` edges; repeated until nothing changes or for
    /// [`LENGTHENING_ROUNDS`].
    pub(crate) fn lengthen(&mut self, max_length: usize) {
        for _ in 0..LENGTHENING_ROUNDS {
            let mut is_done = true;
            for vertex in self.ground.moving() {
                if let Some((end, half)) = self.better_choice(vertex, max_length) {
                    // The new chain passes through end and half; the other half ends here.
                    let rest = self.next[half as usize];
                    (self.next[end as usize], self.next[half as usize], self.next[rest as usize]) =
                        (half, end, NO_END);
                    is_done = false;
                }
            }
            if is_done {
                return;
            }
        }
    }

    /// Finds an unlinked and a linked edge end at a vertex that are better joined.
    fn better_choice(&self, vertex: usize, max_length: usize) -> Option<(u32, u32)> {
        let here = self.at_vertex.row(vertex);
        let (center, normal) = (self.ground.positions[vertex], self.ground.normals[vertex]);
        let far = |end: u32| {
            self.ground.positions[self.edges[end as usize / 2][(end as usize % 2) ^ 1] as usize]
        };
        let is_alone = |end: &u32| self.next[*end as usize] == NO_END;
        let alone = here.iter().copied().filter(is_alone);
        let mut choices = alone.flat_map(|end| {
            here.iter().filter(|&other| !is_alone(other)).map(move |&half| (end, half))
        });
        choices.find(|&(end, half)| {
            self.straight.is_pair(center, normal, [far(end), far(half)])
                && self.is_longer(end, half, max_length)
        })
    }

    /// True if joining an end with one half of a chain lengthens fibers. False if that chain is the
    /// one of the end, or a loop, because it would meet itself.
    fn is_longer(&self, end: u32, half: u32, max_length: usize) -> bool {
        let rest = self.next[half as usize];
        let [own, first, second] = [end, half, rest].map(|end| self.walk(end));
        let (Some((own, _)), Some((first, first_exit)), Some((second, second_exit))) =
            (own, first, second)
        else {
            return false;
        };
        // A chain of l edges yields n = ceil(l / max_length) fibers of l/n edges; summed over its
        // edges, their lengths give l^2/n.
        let sum = |length: usize| (length * length) as f64 / length.div_ceil(max_length) as f64;
        let meets_itself = first_exit == rest || first_exit == end || second_exit == end;
        !meets_itself && sum(own + first) + sum(second) > sum(first + second) + sum(own)
    }

    /// Returns the number of edges from an edge end to the far end of its chain, and that end: in a
    /// loop the end before the start. `None` beyond [`MAX_WALK`].
    // Ends 2 e and 2 e + 1 of an edge differ in the lowest bit.
    fn walk(&self, end: u32) -> Option<(usize, u32)> {
        let mut exit = end ^ 1;
        for length in 1..=MAX_WALK {
            let next = self.next[exit as usize];
            if next == NO_END || next == end {
                return Some((length, exit));
            }
            exit = next ^ 1;
        }
        None
    }

    /// Calls `visit` for each chain in a fixed order: open chains from their first end, then loops
    /// from their first edge.
    pub(crate) fn follow(&self, mut visit: impl FnMut(Chain<'_>)) {
        let mut is_visited = vec![false; self.edges.len()];
        let (mut vertices, mut edges) = (Vec::new(), Vec::new());
        // Open chains first, so that what is left are loops.
        for loops in [false, true] {
            for start in 0..self.next.len() {
                if is_visited[start / 2] || (!loops && self.next[start] != NO_END) {
                    continue;
                }
                vertices.clear();
                edges.clear();
                vertices.push(self.edges[start / 2][start % 2]);
                let mut entry = start as u32;
                while entry != NO_END && !is_visited[entry as usize / 2] {
                    is_visited[entry as usize / 2] = true;
                    let exit = entry as usize ^ 1;
                    edges.push(entry / 2);
                    vertices.push(self.edges[exit / 2][exit % 2]);
                    entry = self.next[exit];
                }
                visit(Chain { edges: &edges, vertices: &vertices });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chains over edges between points of a plane.
    fn chains(
        points: &[[i32; 2]],
        edges: &[[u32; 2]],
        pins: &[usize],
        lengthen: bool,
    ) -> Vec<Vec<u32>> {
        let positions: Vec<_> =
            points.iter().map(|&[x, y]| DVec3::new(x.into(), y.into(), 0.0)).collect();
        let normals = vec![DVec3::Z; positions.len()];
        let mut inverse_masses = vec![1.0; positions.len()];
        pins.iter().for_each(|&pin| inverse_masses[pin] = 0.0);
        let ground =
            Ground { positions: &positions, normals: &normals, inverse_masses: &inverse_masses };
        let mut chains = Chains::link(edges, ground, 0.8, |_| 0.0);
        if lengthen {
            chains.lengthen(16);
        }
        let mut found = Vec::new();
        chains.follow(|chain| {
            let ends = |&edge: &u32| edges[edge as usize];
            assert!(
                chain
                    .edges
                    .iter()
                    .map(ends)
                    .zip(chain.vertices.windows(2))
                    .all(|([a, b], pair)| pair == [a, b] || pair == [b, a])
            );
            found.push(chain.vertices.to_vec());
        });
        found
    }

    #[test]
    fn chains_end_at_corners_and_pins() {
        assert_eq!(
            chains(&[[0, 0], [1, 0], [1, 1]], &[[0, 1], [1, 2]], &[], false),
            [[0, 1], [1, 2]]
        );
        let line = [[0, 0], [1, 0], [2, 0], [3, 0]];
        let edges = [[0, 1], [1, 2], [2, 3]];
        assert_eq!(chains(&line, &edges, &[], false), [[0, 1, 2, 3]]);
        assert_eq!(chains(&line, &edges, &[2], false), [vec![0, 1, 2], vec![2, 3]]);
    }

    #[test]
    fn ring_becomes_a_loop_from_its_first_edge() {
        let ring = |count: u32| {
            let direction =
                |k: u32| (f64::from(k) * std::f64::consts::TAU / f64::from(count)).sin_cos();
            let points: Vec<_> = (0..count)
                .map(direction)
                .map(|(sin, cos)| [cos, sin].map(|x| (1e6 * x) as i32))
                .collect();
            let edges: Vec<_> = (0..count).map(|k| [k, (k + 1) % count]).collect();
            chains(&points, &edges, &[], false)
        };
        assert_eq!(ring(8), [[0, 1, 2, 3, 4, 5, 6, 7, 0]]);
        assert_eq!(ring(6).len(), 6, "60 degrees exceed the limit");
    }

    #[test]
    fn lengthen_takes_over_the_longer_half_of_a_passing_chain() {
        // A straight line to the right, and a chain of three edges that comes from the lower left
        // and ends on it at vertex 1.
        let points = [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0], [-1, -1], [-2, -2], [-3, -3]];
        let edges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [1, 6], [6, 7], [7, 8]];
        assert_eq!(chains(&points, &edges, &[], false), [vec![0, 1, 2, 3, 4, 5], vec![1, 6, 7, 8]]);
        assert_eq!(chains(&points, &edges, &[], true), [vec![0, 1], vec![5, 4, 3, 2, 1, 6, 7, 8]]);
    }
}
