//! Chains of the preconditioner, one per lane.

use super::{nth_vector, store_vector};
use crate::ClothMemory;
use crate::lanes::{MAX_LANES, Real, scatter};
use crate::particles::Block;
use crate::stage::implicit::{Factors, chain_begin, chain_end, link_particle};
use crate::vector::Vec3;

/// Lane vectors per link: three columns of `L_k`, diagonal and off-diagonal of `D_k^-1`, and the
/// root of the inverse mass.
const FACTORS: usize = 16;

/// Chains of a cloth, grouped into blocks of one chain per lane.
#[derive(Debug, Default)]
pub(super) struct Chains {
    blocks: Vec<ChainBlock>,
    /// Particle of each link of each lane, block after block; arbitrary beyond the end of a shorter
    /// chain.
    particles: Vec<u32>,
    /// Factors of the links, [`FACTORS`] vectors each.
    factors: Vec<f32>,
    /// Result `y` of the forward substitution of the current block: three vectors per link.
    pub(super) values: Vec<f32>,
    /// Solutions of the chains of both families, per particle.
    solved: [Vec<[f32; 4]>; 2],
}

/// Chains of one block, one per lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainBlock {
    /// Number of links of each chain.
    lens: [u32; MAX_LANES],
    /// Family of each chain.
    families: [usize; MAX_LANES],
    /// Number of links of the longest chain.
    pub(super) longest: u32,
    /// First link of the block, in links of the longest chains.
    begin: u32,
}

impl Chains {
    /// Size of the working memory \[bytes\].
    pub(super) fn size(&self) -> usize {
        let rows: usize = self.solved.iter().map(Vec::capacity).sum();
        size_of::<ChainBlock>() * self.blocks.capacity()
            + size_of::<f32>()
                * (self.particles.capacity() + self.factors.capacity() + self.values.capacity())
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
        self.factors.resize(FACTORS * V::LEN * begin as usize, 0.0);
        let longest = self.blocks.iter().map(|block| block.longest).max().unwrap_or(0);
        self.values.resize(3 * V::LEN * longest as usize, 0.0);
        for solved in &mut self.solved {
            solved.clear();
            solved.resize(len, [0.0; 4]);
        }
    }

    /// Sum of the solutions of both chain families for the particles from `first` on.
    #[inline(always)]
    pub(super) fn both<V: Real>(&self, simd: V::Token, first: usize) -> Vec3<V> {
        let [one, other] = &self.solved;
        let one = Vec3::xyz(V::columns(simd, &one[first..][..V::LEN]));
        one.add(Vec3::xyz(V::columns(simd, &other[first..][..V::LEN])))
    }

    /// Chains of a block.
    #[inline(always)]
    pub(super) fn block<V: Real>(&self, chains: Block<V>) -> &ChainBlock {
        &self.blocks[chains.index(0) as usize / V::LEN]
    }

    /// Mask of the chains that have a link `k`.
    #[inline(always)]
    pub(super) fn has_link<V: Real>(&self, simd: V::Token, chains: Block<V>, k: u32) -> V::Mask {
        let lens = &self.block(chains).lens;
        let flag = |lane: usize| if k < lens[lane] { 1.0 } else { 0.0 };
        V::splat(simd, 0.0).simd_lt(V::from_fn(simd, flag))
    }

    /// Particles of link `k` of a block.
    #[inline(always)]
    pub(super) fn link<V: Real>(&self, chains: Block<V>, k: u32) -> [u32; MAX_LANES] {
        let mut particles = [0; MAX_LANES];
        let first = (self.block(chains).begin + k) as usize * V::LEN;
        particles[..V::LEN].copy_from_slice(&self.particles[first..][..V::LEN]);
        particles
    }

    /// Loads the factors of link `k` of a block.
    #[inline(always)]
    pub(super) fn factors<V: Real>(&self, simd: V::Token, chains: Block<V>, k: u32) -> Factors<V> {
        let first = (self.block(chains).begin + k) as usize * FACTORS * V::LEN;
        let slots = &self.factors[first..][..FACTORS * V::LEN];
        Factors {
            lower: [
                nth_vector(simd, slots, 0),
                nth_vector(simd, slots, 1),
                nth_vector(simd, slots, 2),
            ],
            diagonal: nth_vector(simd, slots, 3),
            beside: nth_vector(simd, slots, 4),
            root: V::from_slice(simd, &slots[15 * V::LEN..]),
        }
    }

    /// Stores the factors of link `k` of a block.
    #[inline(always)]
    pub(super) fn store_factors<V: Real>(&mut self, chains: Block<V>, k: u32, factors: Factors<V>) {
        let first = (self.block(chains).begin + k) as usize * FACTORS * V::LEN;
        let slots = &mut self.factors[first..][..FACTORS * V::LEN];
        let Factors { lower: [l0, l1, l2], diagonal, beside, root } = factors;
        for (n, vector) in [l0, l1, l2, diagonal, beside].into_iter().enumerate() {
            store_vector(slots, n, vector);
        }
        root.store_slice(&mut slots[15 * V::LEN..]);
    }

    /// Stores the solutions at link `k` of a block, in the family of each chain.
    #[inline(always)]
    pub(super) fn store_solution<V: Real>(
        &mut self,
        simd: V::Token,
        chains: Block<V>,
        k: u32,
        solution: Vec3<V>,
    ) {
        let particles = self.link(chains, k);
        let block = *self.block(chains);
        let all = &mut self.solved;
        scatter(solution.with(V::splat(simd, 0.0)), |lane, row| {
            if k < block.lens[lane] {
                all[block.families[lane]][particles[lane] as usize] = row;
            }
        });
    }
}
