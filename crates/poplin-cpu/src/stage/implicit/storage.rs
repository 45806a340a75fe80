//! Storage of an implicit solve: scratch rows of the cloth for the twin, memory of its own for the
//! CPU backend.

use poplin_layout::{SOLVE_FORCES, SOLVE_TRIALS};

use super::chains::Factors;
use super::rows::{
    bend_end_row, chain_begin, chain_value_row, corner_row, link_particle, link_row, load_rows,
    rate_row, solve_row, store_rows,
};
use super::stretch::edges_of;
use crate::ClothMemory;
use crate::lanes::{MAX_LANES, Real};
use crate::particles::Block;
use crate::vector::Vec3;

/// Rows of all particles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Positions one step ago, with inverse masses \[m\].
    Previous,
    /// Displacements of the trial, with inverse masses \[m\].
    Trial,
    /// Residuals of the trial \[m\].
    Residual,
}

/// Storage of an implicit solve. Contact planes and displacements by acceleration are always in
/// scratch rows.
///
/// A block of chains has one chain per lane; beyond the end of a shorter chain, particles and
/// factors are arbitrary.
pub(crate) trait Storage<V: Real> {
    /// Makes room for a solve.
    fn begin(&mut self, _: &ClothMemory<'_>) {}

    /// Loads what stays constant during a part of a step, after previous positions are set.
    fn begin_part(&mut self, _: V::Token, _: &ClothMemory<'_>) {}

    /// Loads particles of an array up to `SOLVE_FORCES`.
    fn load(&self, simd: V::Token, memory: &ClothMemory<'_>, array: u32, block: Block<V>)
    -> [V; 4];

    /// Stores particles of an array up to `SOLVE_FORCES`.
    fn store(&mut self, memory: &mut ClothMemory<'_>, array: u32, block: Block<V>, values: [V; 4]);

    /// Displacements of the trial and inverse masses.
    fn trial(&self, simd: V::Token, memory: &ClothMemory<'_>, block: Block<V>) -> [V; 4];

    /// Stores displacements of the trial and inverse masses.
    fn store_trial(&mut self, memory: &mut ClothMemory<'_>, block: Block<V>, trial: [V; 4]);

    /// Loads one particle per lane.
    fn gathered(
        &self,
        simd: V::Token,
        memory: &ClothMemory<'_>,
        source: Source,
        particles: &[u32; MAX_LANES],
    ) -> [V; 4];

    /// Edges of triangles from their first corners one step ago \[m\].
    fn last_edges(
        &self,
        simd: V::Token,
        memory: &ClothMemory<'_>,
        triangles: Block<V>,
        corners: &[[u32; MAX_LANES]; 3],
    ) -> [Vec3<V>; 2];

    /// Begins to add the gradients of triangles, or of bends.
    fn clear_gradients(&mut self, _of_bends: bool) {}

    /// Adds the gradients of triangles (`N` = 3) or bends (`N` = 4) at their particles \[N\].
    fn add_gradients<const N: usize>(
        &mut self,
        simd: V::Token,
        memory: &mut ClothMemory<'_>,
        elements: Block<V>,
        particles: &[[u32; MAX_LANES]; N],
        gradients: [Vec3<V>; N],
    );

    /// Sums of the gradients of the triangles of particles, or of their bends, in ascending order
    /// \[N\].
    fn gradient(
        &self,
        simd: V::Token,
        memory: &ClothMemory<'_>,
        block: Block<V>,
        of_bends: bool,
    ) -> Vec3<V>;

    /// Number of links of each chain, 0 without a chain.
    fn lens(&self, memory: &ClothMemory<'_>, chains: Block<V>) -> [u32; MAX_LANES];

    /// Particles of link k of chains.
    fn link(&self, memory: &ClothMemory<'_>, chains: Block<V>, k: u32) -> [u32; MAX_LANES];

    /// Factors of link k of chains.
    fn factors(
        &self,
        simd: V::Token,
        memory: &ClothMemory<'_>,
        chains: Block<V>,
        k: u32,
    ) -> Factors<V>;

    /// Stores the factors of link k of chains.
    fn store_factors(
        &mut self,
        memory: &mut ClothMemory<'_>,
        chains: Block<V>,
        k: u32,
        factors: Factors<V>,
    );

    /// Result of the forward substitution at link k of chains.
    fn value(&self, simd: V::Token, memory: &ClothMemory<'_>, chains: Block<V>, k: u32) -> Vec3<V>;

    /// Stores the result of the forward substitution at link k of chains.
    fn store_value(
        &mut self,
        memory: &mut ClothMemory<'_>,
        chains: Block<V>,
        k: u32,
        value: Vec3<V>,
    );

    /// Stores the solution at link k of chains.
    fn store_solution(
        &mut self,
        simd: V::Token,
        memory: &mut ClothMemory<'_>,
        chains: Block<V>,
        k: u32,
        solution: Vec3<V>,
    );

    /// Sums of the solutions of both families of chains at particles.
    fn chain_sum(&self, simd: V::Token, memory: &ClothMemory<'_>, block: Block<V>) -> Vec3<V>;
}

/// Storage in scratch rows of the cloth, one particle or element at a time. Elements store their
/// gradients, and particles add them up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScratchRows;

impl ScratchRows {
    /// Row of the solution of a chain at its link k.
    fn value_row(memory: &ClothMemory<'_>, chain: u32, k: u32) -> u32 {
        let (begin, count) = (chain_begin(memory, chain), memory.cloth.particle_count);
        // The second family of chains starts after one link per particle.
        let family = if begin >= count { count } else { 0 };
        chain_value_row(memory, family + link_particle(memory, begin + k))
    }
}

impl Storage<f32> for ScratchRows {
    fn load(&self, (): (), memory: &ClothMemory<'_>, array: u32, block: Block<f32>) -> [f32; 4] {
        debug_assert!(array <= SOLVE_FORCES);
        load_rows((), memory, array, block)
    }

    fn store(
        &mut self,
        memory: &mut ClothMemory<'_>,
        array: u32,
        block: Block<f32>,
        values: [f32; 4],
    ) {
        store_rows(memory, array, block, values);
    }

    fn trial(&self, (): (), memory: &ClothMemory<'_>, block: Block<f32>) -> [f32; 4] {
        block.load((), memory.current)
    }

    fn store_trial(&mut self, memory: &mut ClothMemory<'_>, block: Block<f32>, trial: [f32; 4]) {
        block.store(memory.current, trial);
    }

    fn gathered(
        &self,
        (): (),
        memory: &ClothMemory<'_>,
        source: Source,
        particles: &[u32; MAX_LANES],
    ) -> [f32; 4] {
        match source {
            Source::Previous => memory.load_previous(particles[0]),
            Source::Trial => memory.load_current(particles[0]),
            Source::Residual => memory.load_scratch(solve_row(memory, SOLVE_TRIALS, particles[0])),
        }
    }

    fn last_edges(
        &self,
        (): (),
        memory: &ClothMemory<'_>,
        _: Block<f32>,
        corners: &[[u32; MAX_LANES]; 3],
    ) -> [Vec3<f32>; 2] {
        edges_of((), memory, self, Source::Previous, corners)
    }

    fn add_gradients<const N: usize>(
        &mut self,
        (): (),
        memory: &mut ClothMemory<'_>,
        elements: Block<f32>,
        _: &[[u32; MAX_LANES]; N],
        gradients: [Vec3<f32>; N],
    ) {
        let first = N as u32 * elements.index(0);
        let row = if N == 3 { corner_row(memory, first) } else { bend_end_row(memory, first) };
        for (k, gradient) in (0..).zip(gradients) {
            memory.store_scratch(row + k, gradient.with(0.0));
        }
    }

    fn gradient(
        &self,
        (): (),
        memory: &ClothMemory<'_>,
        block: Block<f32>,
        of_bends: bool,
    ) -> Vec3<f32> {
        let count = memory.cloth.particle_count;
        let begins =
            if of_bends { rate_row(memory, count) } else { memory.cloth.fabric.corner_begin };
        let first_row = if of_bends { bend_end_row(memory, 0) } else { corner_row(memory, 0) };
        let [begin, end] = [0, 1].map(|next| memory.fabric(begins + block.index(0) + next));
        let mut sum = Vec3::splat((), [0.0; 3]);
        for k in begin..end {
            let row = first_row + memory.fabric(begins + count + 1 + k);
            sum = sum + Vec3::xyz(memory.load_scratch(row));
        }
        sum
    }

    fn lens(&self, memory: &ClothMemory<'_>, chains: Block<f32>) -> [u32; MAX_LANES] {
        let [begin, end] = [0, 1].map(|next| chain_begin(memory, chains.index(0) + next));
        [end - begin; MAX_LANES]
    }

    fn link(&self, memory: &ClothMemory<'_>, chains: Block<f32>, k: u32) -> [u32; MAX_LANES] {
        [link_particle(memory, chain_begin(memory, chains.index(0)) + k); MAX_LANES]
    }

    fn factors(
        &self,
        (): (),
        memory: &ClothMemory<'_>,
        chains: Block<f32>,
        k: u32,
    ) -> Factors<f32> {
        let row = link_row(memory, chain_begin(memory, chains.index(0)) + k);
        let [l0, l1, l2, beside] = [0, 1, 2, 3].map(|column| memory.load_scratch(row + column));
        Factors {
            lower: [l0, l1, l2].map(Vec3::xyz),
            diagonal: Vec3::new(l0[3], l1[3], l2[3]),
            beside: Vec3::xyz(beside),
            root: beside[3],
        }
    }

    fn store_factors(
        &mut self,
        memory: &mut ClothMemory<'_>,
        chains: Block<f32>,
        k: u32,
        factors: Factors<f32>,
    ) {
        let row = link_row(memory, chain_begin(memory, chains.index(0)) + k);
        let Factors { lower: [l0, l1, l2], diagonal, beside, root } = factors;
        memory.store_scratch(row, l0.with(diagonal.x));
        memory.store_scratch(row + 1, l1.with(diagonal.y));
        memory.store_scratch(row + 2, l2.with(diagonal.z));
        memory.store_scratch(row + 3, beside.with(root));
    }

    fn value(&self, (): (), memory: &ClothMemory<'_>, chains: Block<f32>, k: u32) -> Vec3<f32> {
        Vec3::xyz(memory.load_scratch(Self::value_row(memory, chains.index(0), k)))
    }

    fn store_value(
        &mut self,
        memory: &mut ClothMemory<'_>,
        chains: Block<f32>,
        k: u32,
        value: Vec3<f32>,
    ) {
        memory.store_scratch(Self::value_row(memory, chains.index(0), k), value.with(0.0));
    }

    fn store_solution(
        &mut self,
        (): (),
        memory: &mut ClothMemory<'_>,
        chains: Block<f32>,
        k: u32,
        solution: Vec3<f32>,
    ) {
        self.store_value(memory, chains, k, solution);
    }

    fn chain_sum(&self, (): (), memory: &ClothMemory<'_>, block: Block<f32>) -> Vec3<f32> {
        let [first, second] = [0, memory.cloth.particle_count]
            .map(|family| memory.load_scratch(chain_value_row(memory, family + block.index(0))));
        Vec3::xyz(first) + Vec3::xyz(second)
    }
}
