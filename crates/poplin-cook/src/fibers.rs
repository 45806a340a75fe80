//! Fibers: pieces of chains that one lane processes in order.

use glam::DVec3;

use crate::chains::Ground;

/// Fibers over the edges of one kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fibers {
    /// First vertex of each fiber, prefix sums, shape `[fiber_count + 1]`.
    pub(crate) begin: Vec<u32>,
    /// Vertices, fiber after fiber.
    pub(crate) vertices: Vec<u32>,
    /// First fiber of each chain, prefix sums, shape `[chain_count + 1]`; the pieces of a chain are
    /// consecutive.
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
}

/// Collects fibers.
#[derive(Debug, Clone)]
pub(crate) struct FiberList<'a> {
    ground: Ground<'a>,
    /// A fiber with no pin, or with pins at both ends, begins at the end that is farther along this
    /// vector; on ties, at the end where its chain begins.
    up: DVec3,
    /// Last fiber that visited each particle.
    last_fiber: Vec<u32>,
    fibers: Fibers,
}

impl<'a> FiberList<'a> {
    /// Starts without fibers.
    pub(crate) fn new(ground: Ground<'a>, up: DVec3) -> Self {
        let fibers = Fibers { begin: vec![0], vertices: Vec::new(), chain_begin: vec![0] };
        Self { ground, up, last_fiber: vec![u32::MAX; ground.positions.len()], fibers }
    }

    /// Cuts a chain into the fewest pieces of at most `max_length` edges, of equal length up to one
    /// edge, and where it would meet itself, so that no fiber visits a vertex twice. Loops are
    /// opened.
    pub(crate) fn cut(&mut self, chain: &[u32], max_length: usize) {
        let length = chain.len() - 1;
        let is_loop = chain[0] == chain[length];
        // A loop needs two pieces: as one fiber it would visit its first vertex twice.
        let count = length.div_ceil(max_length).max(if is_loop { 2 } else { 1 });
        for piece in 0..count {
            self.add(&chain[length * piece / count..=length * (piece + 1) / count]);
        }
        self.fibers.chain_begin.push(self.fibers.len() as u32);
    }

    fn add(&mut self, piece: &[u32]) {
        self.visit(piece[0]);
        for pair in piece.windows(2) {
            // The fiber would meet itself: end it, and continue with a new one from the last
            // vertex.
            if self.last_fiber[pair[1] as usize] == self.fibers.len() as u32 {
                self.close();
                self.visit(pair[0]);
            }
            self.visit(pair[1]);
        }
        self.close();
    }

    /// Returns the fibers of all chains.
    pub(crate) fn finish(self) -> Fibers {
        self.fibers
    }

    fn visit(&mut self, vertex: u32) {
        self.last_fiber[vertex as usize] = self.fibers.len() as u32;
        self.fibers.vertices.push(vertex);
    }

    /// Ends a fiber and orients it to begin at its pin, otherwise at its upper end.
    fn close(&mut self) {
        let begin = self.fibers.begin[self.fibers.len()] as usize;
        let vertices = &mut self.fibers.vertices[begin..];
        let ends = [vertices[0], vertices[vertices.len() - 1]].map(|vertex| vertex as usize);
        // True for a pinned end.
        let [first, last] = ends.map(|vertex| self.ground.inverse_masses[vertex] == 0.0);
        let [here, there] = ends.map(|vertex| self.up.dot(self.ground.positions[vertex]));
        if if first == last { there > here } else { last } {
            vertices.reverse();
        }
        self.fibers.begin.push(self.fibers.vertices.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cuts one chain over particles at these positions.
    fn cut(
        chain: &[u32],
        positions: &[DVec3],
        inverse_masses: &[f32],
        up: DVec3,
        max_length: usize,
    ) -> Vec<Vec<u32>> {
        let normals = vec![DVec3::ZERO; positions.len()];
        let mut list = FiberList::new(Ground { positions, normals: &normals, inverse_masses }, up);
        list.cut(chain, max_length);
        let fibers = list.finish();
        assert_eq!(fibers.chain_begin, [0, fibers.len() as u32]);
        (0..fibers.len()).map(|fiber| fibers.vertices(fiber).to_vec()).collect()
    }

    fn cut_line(chain: &[u32], max_length: usize) -> Vec<Vec<u32>> {
        cut(chain, &[DVec3::ZERO; 9], &[1.0; 9], DVec3::ZERO, max_length)
    }

    #[test]
    fn long_chain_is_cut_into_equal_pieces() {
        let chain = [0, 1, 2, 3, 4, 5];
        assert_eq!(cut_line(&chain, 16), [chain]);
        assert_eq!(cut_line(&chain, 4), [vec![0, 1, 2], vec![2, 3, 4, 5]]);
        assert_eq!(cut_line(&chain, 1).len(), 5);
    }

    #[test]
    fn loops_and_self_meeting_chains_are_cut() {
        assert_eq!(
            cut_line(&[0, 1, 2, 3, 4, 5, 6, 7, 0], 16),
            [vec![0, 1, 2, 3, 4], vec![4, 5, 6, 7, 0]]
        );
        assert_eq!(
            cut_line(&[0, 1, 2, 3, 4, 5, 6, 7, 1, 8], 16),
            [vec![0, 1, 2, 3, 4, 5, 6, 7], vec![7, 1, 8]]
        );
    }

    #[test]
    fn fiber_begins_at_its_only_pin_or_its_upper_end() {
        let positions: Vec<_> = (0..4).map(|k| DVec3::Y * f64::from(k)).collect();
        let begin = |inverse_masses: [f32; 4], up| {
            cut(&[0, 1, 2, 3], &positions, &inverse_masses, up, 16)[0][0]
        };
        for up in [DVec3::Y, DVec3::NEG_Y, DVec3::ZERO] {
            assert_eq!((begin([0.0, 1.0, 1.0, 1.0], up), begin([1.0, 1.0, 1.0, 0.0], up)), (0, 3));
        }
        for inverse_masses in [[1.0; 4], [0.0, 1.0, 1.0, 0.0]] {
            assert_eq!(
                [DVec3::Y, DVec3::NEG_Y, DVec3::ZERO].map(|up| begin(inverse_masses, up)),
                [3, 0, 0]
            );
        }
    }
}
