//! Chains of the preconditioner, one per lane.

use crate::ClothMemory;
use crate::floats::Floats;
use crate::lanes::{MAX_LANES, Real};
use crate::particles::Block;
use crate::stage::implicit::{chain_begin, chain_end, link_particle};

/// Lane vectors per link: three columns of `L_k`, diagonal and off-diagonal of `D_k^-1`, and the
/// root of the inverse mass.
pub(super) const FACTORS: usize = 16;

/// Chains of a cloth, grouped into blocks of one chain per lane.
#[derive(Debug, Default)]
pub(super) struct Chains {
    blocks: Vec<ChainBlock>,
    /// Particle of each link of each lane, block after block; arbitrary beyond the end of a shorter
    /// chain.
    pub(super) particles: Vec<u32>,
    /// Factors of the links, [`FACTORS`] vectors each.
    pub(super) factors: Floats,
    /// Result `y` of the forward substitution of the current block: three vectors per link.
    pub(super) values: Floats,
    /// Solutions of the chains of both families, per particle.
    pub(super) solved: [Vec<[f32; 4]>; 2],
}

/// Chains of one block, one per lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainBlock {
    /// Number of links of each chain.
    pub(super) lens: [u32; MAX_LANES],
    /// Family of each chain.
    pub(super) families: [usize; MAX_LANES],
    /// Number of links of the longest chain.
    longest: u32,
    /// First link of the block, in links of the longest chains.
    begin: u32,
}

impl Chains {
    /// Size of the working memory \[bytes\].
    pub(super) fn size(&self) -> usize {
        let rows: usize = self.solved.iter().map(Vec::capacity).sum();
        size_of::<ChainBlock>() * self.blocks.capacity()
            + size_of::<u32>() * self.particles.capacity()
            + self.factors.size()
            + self.values.size()
            + size_of::<[f32; 4]>() * rows
    }

    /// Loads the chains of a cloth whose particle columns have `len` rows.
    pub(super) fn load<V: Real>(&mut self, memory: &ClothMemory<'_>, len: usize) {
        let count = memory.cloth.particle_count;
        self.blocks.clear();
        self.particles.clear();
        let mut begin = 0;
        for first in (0..chain_end(memory)).step_by(V::LEN) {
            let chains = first..(first + V::LEN as u32).min(chain_end(memory));
            let mut block =
                // Lanes without a chain keep length 0.
                ChainBlock { lens: [0; MAX_LANES], families: [0; MAX_LANES], longest: 0, begin };
            for (lane, chain) in chains.clone().enumerate() {
                let links = chain_begin(memory, chain)..chain_begin(memory, chain + 1);
                block.lens[lane] = links.end - links.start;
                // Links of the second family follow those of the first, of which there is one per
                // particle.
                block.families[lane] = usize::from(links.start >= count);
                block.longest = block.longest.max(block.lens[lane]);
            }
            for k in 0..block.longest {
                for lane in 0..V::LEN {
                    let link = if k < block.lens[lane] {
                        chain_begin(memory, first + lane as u32) + k
                    } else {
                        0
                    };
                    self.particles.push(link_particle(memory, link));
                }
            }
            begin += block.longest;
            self.blocks.push(block);
        }
        self.factors.resize(FACTORS * V::LEN * begin as usize);
        let longest = self.blocks.iter().map(|block| block.longest).max().unwrap_or(0);
        self.values.resize(3 * V::LEN * longest as usize);
        for solved in &mut self.solved {
            solved.clear();
            solved.resize(len, [0.0; 4]);
        }
    }

    /// Chains of a block.
    #[inline(always)]
    pub(super) fn block<V: Real>(&self, chains: Block<V>) -> &ChainBlock {
        &self.blocks[chains.index(0) as usize / V::LEN]
    }

    /// Place of link `k` of a block among the links of all blocks.
    #[inline(always)]
    pub(super) fn place<V: Real>(&self, chains: Block<V>, k: u32) -> usize {
        (self.block(chains).begin + k) as usize
    }
}
