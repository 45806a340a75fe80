//! Chains of particles along warp and weft, which precondition an implicit solve.

use poplin_model::{Fabric, PhaseKind};

/// Number of families of chains: edges along the cooking direction and across it.
pub(crate) const CHAIN_FAMILIES: u32 = 2;

/// Chains of the fabric in two families, each of which contains every particle once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chains {
    /// First entry of each chain in `particles`, prefix sums, `[chain_count + 1]`.
    pub begins: Vec<u32>,
    /// Particles, chain after chain, `[2 * particle_count]`.
    pub particles: Vec<u32>,
}

impl Chains {
    /// Builds the chains. Vertical edges become links of the first family, horizontal ones of the
    /// second: in the order of the fabric, every edge whose ends have fewer than two links and
    /// belong to different chains. A particle without link is a chain of its own.
    pub fn new(fabric: &Fabric) -> Self {
        let (kinds, count) = (fabric.edge_kinds(), fabric.particle_count as usize);
        let mut chains = Self { begins: vec![0], particles: Vec::with_capacity(2 * count) };
        for family in [PhaseKind::Vertical, PhaseKind::Horizontal] {
            let mut links = Links::new(count);
            for (edge, ends) in fabric.edges() {
                if kinds[edge] == family {
                    links.add(ends);
                }
            }
            chains.append(&links);
        }
        chains
    }

    /// Appends the chains, each from its end with the lower particle, in the order of these
    /// particles.
    fn append(&mut self, links: &Links) {
        let mut is_taken = vec![false; links.neighbors.len()];
        for first in 0..links.neighbors.len() {
            // Chains start at their ends; rings do not occur.
            if is_taken[first] || links.neighbors[first].iter().flatten().count() == 2 {
                continue;
            }
            let mut next = Some(first as u32);
            while let Some(particle) = next {
                is_taken[particle as usize] = true;
                self.particles.push(particle);
                let open = |other: &&u32| !is_taken[**other as usize];
                next = links.neighbors[particle as usize].iter().flatten().find(open).copied();
            }
            self.begins.push(self.particles.len() as u32);
        }
    }

    /// Number of particles of the longest chain.
    pub fn longest(&self) -> u32 {
        self.begins.windows(2).map(|chain| chain[1] - chain[0]).max().unwrap_or(0)
    }

    /// Packs the chains for `fabric_pool`: their number, then the lists.
    pub(crate) fn words(&self) -> Vec<u32> {
        let count = self.begins.len() as u32 - 1;
        [&[count], &self.begins[..], &self.particles].concat()
    }
}

/// Paths under construction.
struct Links {
    neighbors: Vec<[Option<u32>; 2]>,
    /// Union-find parents: a particle of the same path, or itself for the root.
    parents: Vec<u32>,
}

impl Links {
    fn new(count: usize) -> Self {
        Self { neighbors: vec![[None; 2]; count], parents: (0..count as u32).collect() }
    }

    fn root(&mut self, mut particle: u32) -> u32 {
        while self.parents[particle as usize] != particle {
            let above = self.parents[particle as usize];
            self.parents[particle as usize] = self.parents[above as usize];
            particle = above;
        }
        particle
    }

    fn add(&mut self, [a, b]: [u32; 2]) {
        let free =
            |links: &Self, i: u32| links.neighbors[i as usize].iter().position(Option::is_none);
        // A particle in the middle of a chain has no free side.
        let (Some(of_a), Some(of_b)) = (free(self, a), free(self, b)) else { return };
        let [root_a, root_b] = [a, b].map(|i| self.root(i));
        // Equal roots would close a ring, which is left open.
        if root_a != root_b {
            self.parents[root_a as usize] = root_b;
            self.neighbors[a as usize][of_a] = Some(b);
            self.neighbors[b as usize][of_b] = Some(a);
        }
    }
}

#[cfg(test)]
mod tests {
    use poplin_model::Phase;

    use super::*;

    #[test]
    fn chains_join_fibers_and_open_rings() {
        // A fiber in two parts, a ring, a branch off the fiber, and an isolated particle.
        let fabric = Fabric {
            particle_count: 9,
            set_fiber_begin: vec![0, 4],
            fiber_edge_begin: vec![0, 2, 3, 6, 7],
            fiber_vertices: vec![0, 1, 2, 2, 3, 4, 5, 6, 4, 1, 7],
            rest_lengths: vec![1.0; 7],
            phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
            ..Default::default()
        };
        let chains = Chains::new(&fabric);
        let all: Vec<_> = chains
            .begins
            .windows(2)
            .map(|c| &chains.particles[c[0] as usize..c[1] as usize])
            .collect();
        assert_eq!(all[..4], [&[0, 1, 2, 3][..], &[4, 5, 6], &[7], &[8]]);
        assert_eq!((all.len(), chains.longest()), (4 + 9, 4), "across it nothing is linked");
    }
}
