//! Chain preconditioner of an implicit solve, one chain per lane.
//!
//! A chain is a run of particles along a fiber. The system matrix of a step is
//! `A = I + h^2 M^-1/2 H M^-1/2` with the energy Hessian `H`. Its part along a chain is block
//! tridiagonal with 3 x 3 blocks and is factored as `L D L^T`. With `B_k` the diagonal block of
//! link `k` and `C_k` the block that couples link `k` to link `k - 1`, the factors are
//!
//! `L_k = C_k D_{k-1}^-1` and `D_k = B_k - L_k C_k^T`.
//!
//! Stiffness towards particles outside the chain only enters `B_k`.

use std::ops::Range;

use crate::ClothMemory;
use crate::stage::implicit::{bend_rate, chain_begin, chain_end, link_particle};
use poplin_layout::{MIN_DETERMINANT, NO_OFFSET, STRETCH_SPRINGS};

use super::hessian::{corner_blocks, spring_blocks};
use super::{PLANE, PREDICTION, Solve, nth_vector};
use crate::lanes::{LaneMask as _, MAX_LANES, Real, max, scatter};
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
    values: Vec<f32>,
    /// Residuals of particles \[m\].
    pub(super) residuals: Vec<[f32; 4]>,
    /// Solutions of the chains of both families, per particle.
    solved: [Vec<[f32; 4]>; 2],
}

/// Chains of one block, one per lane.
#[derive(Debug, Clone, Copy)]
struct ChainBlock {
    /// Number of links of each chain.
    lens: [u32; MAX_LANES],
    /// Family of each chain.
    families: [usize; MAX_LANES],
    /// Number of links of the longest chain.
    longest: usize,
    /// First link of the block, in links of the longest chains.
    begin: usize,
}

impl ChainBlock {
    /// Mask of the lanes whose chain has a link `k`.
    #[inline(always)]
    fn has<V: Real>(&self, simd: V::Token, k: usize) -> V::Mask {
        let flag = |lane: usize| if k < self.lens[lane] as usize { 1.0 } else { 0.0 };
        V::splat(simd, 0.0).simd_lt(V::from_fn(simd, flag))
    }
}

impl Chains {
    /// Size of the working memory \[bytes\].
    pub(super) fn size(&self) -> usize {
        let rows: usize = self.solved.iter().map(Vec::capacity).sum();
        size_of::<ChainBlock>() * self.blocks.capacity()
            + size_of::<f32>()
                * (self.particles.capacity() + self.factors.capacity() + self.values.capacity())
            + size_of::<[f32; 4]>() * (rows + self.residuals.capacity())
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
                block.longest = block.longest.max(links.len());
            }
            for k in 0..block.longest as u32 {
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
        self.factors.resize(FACTORS * V::LEN * begin, 0.0);
        let longest = self.blocks.iter().map(|block| block.longest).max().unwrap_or(0);
        self.values.resize(3 * V::LEN * longest, 0.0);
        self.residuals.clear();
        self.residuals.resize(len, [0.0; 4]);
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

    /// Particles of link `k` of a block.
    #[inline(always)]
    fn particles_of<V: Real>(&self, block: &ChainBlock, k: usize) -> &[u32] {
        &self.particles[(block.begin + k) * V::LEN..][..V::LEN]
    }

    /// Loads the factors of link `k` of a block.
    #[inline(always)]
    fn load_factors<V: Real>(&self, simd: V::Token, block: &ChainBlock, k: usize) -> Factors<V> {
        let factors = &self.factors[(block.begin + k) * FACTORS * V::LEN..][..FACTORS * V::LEN];
        Factors {
            lower: [
                nth_vector(simd, factors, 0),
                nth_vector(simd, factors, 1),
                nth_vector(simd, factors, 2),
            ],
            diagonal: nth_vector(simd, factors, 3),
            beside: nth_vector(simd, factors, 4),
            root: V::from_slice(simd, &factors[15 * V::LEN..]),
        }
    }

    #[inline(always)]
    fn store_factors<V: Real>(&mut self, block: &ChainBlock, k: usize, factors: Factors<V>) {
        let slots = &mut self.factors[(block.begin + k) * FACTORS * V::LEN..][..FACTORS * V::LEN];
        let Factors { lower: [l0, l1, l2], diagonal, beside, root } = factors;
        for (n, vector) in [l0, l1, l2, diagonal, beside].into_iter().enumerate() {
            for (axis, value) in [vector.x, vector.y, vector.z].into_iter().enumerate() {
                value.store_slice(&mut slots[(3 * n + axis) * V::LEN..][..V::LEN]);
            }
        }
        root.store_slice(&mut slots[15 * V::LEN..][..V::LEN]);
    }
}

/// Factors of one link: the columns of `L_k`, the diagonal and off-diagonal (xy, xz, yz) of
/// `D_k^-1`, and the root of the inverse mass.
struct Factors<V: Real> {
    lower: [Vec3<V>; 3],
    diagonal: Vec3<V>,
    beside: Vec3<V>,
    root: V,
}

/// Solves all chains for the residuals of their particles, scaled to `M^1/2 r`.
#[inline(always)]
pub(crate) fn solve_chains<V: Real>(
    simd: V::Token,
    _: &mut ClothMemory<'_>,
    _: Range<u32>,
    solve: &mut Solve,
) {
    let chains = &mut solve.chains;
    let zero = V::splat(simd, 0.0);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    for number in 0..chains.blocks.len() {
        let block = chains.blocks[number];
        let mut last: Vec3<V> = nothing;
        for k in 0..block.longest {
            let Factors { lower: [l0, l1, l2], root, .. } = chains.load_factors(simd, &block, k);
            let mut particles = [0; MAX_LANES];
            particles[..V::LEN].copy_from_slice(chains.particles_of::<V>(&block, k));
            // Forward substitution: y_k = M^1/2 r_k - L_k y_{k-1}
            let residual = Vec3::xyz(V::gathered(simd, &chains.residuals, &particles));
            let value = residual.div(root).or(zero.simd_lt(root), nothing);
            let value = value.sub(l0.mul(last.x).add(l1.mul(last.y)).add(l2.mul(last.z)));
            let slots = &mut chains.values[3 * k * V::LEN..][..3 * V::LEN];
            value.x.store_slice(&mut slots[..V::LEN]);
            value.y.store_slice(&mut slots[V::LEN..2 * V::LEN]);
            value.z.store_slice(&mut slots[2 * V::LEN..]);
            last = value;
        }
        // Backward substitution: z_k = D_k^-1 y_k - L_{k+1}^T z_{k+1}
        let mut carried: Vec3<V> = nothing;
        for k in (0..block.longest).rev() {
            let Factors { lower: [l0, l1, l2], diagonal, beside, .. } =
                chains.load_factors(simd, &block, k);
            let Vec3 { x, y, z, .. }: Vec3<V> = nth_vector(simd, &chains.values, k);
            let solved = Vec3::new(
                diagonal.x * x + beside.x * y + beside.y * z,
                beside.x * x + diagonal.y * y + beside.z * z,
                beside.y * x + beside.z * y + diagonal.z * z,
            )
            .sub(carried);
            let first = (block.begin + k) * V::LEN;
            let particles = &chains.particles[first..][..V::LEN];
            let all = &mut chains.solved;
            scatter(solved.with(zero), |lane, row| {
                if k < block.lens[lane] as usize {
                    all[block.families[lane]][particles[lane] as usize] = row;
                }
            });
            // Chains that have not begun yet (they are shorter) carry nothing.
            let next = Vec3::new(l0.dot(solved), l1.dot(solved), l2.dot(solved));
            carried = next.or(block.has::<V>(simd, k), nothing);
        }
    }
}

/// Factors the block tridiagonal part of the system matrix along every chain.
#[inline(always)]
pub(crate) fn factor_chains<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    _: Range<u32>,
    solve: &mut Solve,
) {
    let constants = memory.load_implicit();
    let splat = |value: f32| V::splat(simd, value);
    let (zero, one) = (splat(0.0), splat(1.0));
    let nothing: Vec3<V> = Vec3::splat(simd, [0.0; 3]);
    let all_ones: Vec3<V> = Vec3::splat(simd, [1.0; 3]);
    let step_square = splat(constants.step_square);
    for number in 0..solve.chains.blocks.len() {
        let block = solve.chains.blocks[number];
        let mut previous = [NO_OFFSET; MAX_LANES];
        let mut root_before = zero;
        let (mut diagonal, mut beside) = (nothing, nothing);
        for k in 0..block.longest {
            let mut particles = [0; MAX_LANES];
            particles[..V::LEN].copy_from_slice(solve.chains.particles_of::<V>(&block, k));
            let inverse_mass: V = solve.gather_column(simd, PREDICTION + 3, &particles);
            let root = max(inverse_mass, zero).sqrt();
            let (pivot, coupling) = if constants.stretch_model == STRETCH_SPRINGS {
                spring_blocks::<V>(simd, memory, &particles, &previous)
            } else {
                corner_blocks::<V>(simd, memory, &particles, &previous)
            };
            let plane = Vec3::new(
                solve.gather_column(simd, PLANE, &particles),
                solve.gather_column(simd, PLANE + 1, &particles),
                solve.gather_column(simd, PLANE + 2, &particles),
            );
            // Hessian of contact: kc n n^T
            let held = plane.mul(splat(constants.contact_stiffness));
            let mut rates = [0.0; MAX_LANES];
            for lane in 0..V::LEN {
                rates[lane] = bend_rate(memory, particles[lane]);
            }
            let bend = V::from_slice(simd, &rates[..V::LEN]);
            let scale = step_square * inverse_mass;
            // B_k = I + h^2 w_k (H_k + kc n n^T + bend I), without the identity.
            let own_diagonal =
                pivot.diagonal.add(held.scale(plane)).add(Vec3::new(bend, bend, bend));
            let own_beside = pivot.beside.add(xxy(held).scale(yzz(plane)));
            // C_k = h^2 (w_k w_{k-1})^1/2 H_{k,k-1}
            let between = step_square * (root * root_before);
            let (c0, c1, c2) =
                (coupling[0].mul(between), coupling[1].mul(between), coupling[2].mul(between));
            // L_k = C_k D_{k-1}^-1
            let l0 = c0.mul(diagonal.x).add(c1.mul(beside.x)).add(c2.mul(beside.y));
            let l1 = c0.mul(beside.x).add(c1.mul(diagonal.y)).add(c2.mul(beside.z));
            let l2 = c0.mul(beside.y).add(c1.mul(beside.z)).add(c2.mul(diagonal.z));
            // D_k = B_k - L_k C_k^T: diagonal d, off-diagonal o.
            let scaled = own_diagonal.mul(scale);
            let d = all_ones.add(scaled).sub(l0.scale(c0).add(l1.scale(c1)).add(l2.scale(c2)));
            let products = xxy(l0).scale(yzz(c0)).add(xxy(l1).scale(yzz(c1)));
            let o = own_beside.mul(scale).sub(products.add(xxy(l2).scale(yzz(c2))));
            // D_k^-1 = adj(D_k) / det(D_k)
            let cofactors =
                Vec3::new(d.y * d.z - o.z * o.z, d.x * d.z - o.y * o.y, d.x * d.y - o.x * o.x);
            let minors =
                Vec3::new(o.y * o.z - o.x * d.z, o.x * o.z - o.y * d.y, o.x * o.y - d.x * o.z);
            let determinant = d.x * cofactors.x + o.x * minors.x + o.y * minors.y;
            // Without rounding det(D_k) >= 1. Below the limit, only the diagonal of B_k is
            // inverted.
            let is_regular = splat(MIN_DETERMINANT).simd_le(determinant);
            let plain = all_ones.add(scaled);
            let plain = Vec3::new(one / plain.x, one / plain.y, one / plain.z);
            diagonal = cofactors.div(determinant).or(is_regular, plain);
            beside = minors.div(determinant).or(is_regular, nothing);
            let has = block.has::<V>(simd, k);
            solve.chains.store_factors(
                &block,
                k,
                Factors {
                    lower: [l0.or(has, nothing), l1.or(has, nothing), l2.or(has, nothing)],
                    diagonal: diagonal.or(has, nothing),
                    beside: beside.or(has, nothing),
                    root: has.select(root, zero),
                },
            );
            previous = particles;
            root_before = root;
        }
    }
}

#[inline(always)]
fn xxy<V: Real>(v: Vec3<V>) -> Vec3<V> {
    Vec3::new(v.x, v.x, v.y)
}

#[inline(always)]
fn yzz<V: Real>(v: Vec3<V>) -> Vec3<V> {
    Vec3::new(v.y, v.z, v.z)
}
