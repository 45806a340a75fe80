//! Storage of an implicit solve of one whole cloth in SIMD lanes.
//!
//! One thread solves a cloth, so that elements scatter their gradients to particles, triangle by
//! triangle and bend by bend. This is the ascending order in which the twin gathers them, so that
//! sums are bit-identical. Values that change in every iteration are stored as columns, one
//! coordinate each. Rows of the cloth's memory hold only contact planes, external displacements,
//! partial sums and the solver state.

mod chains;

use poplin_layout::{SOLVE_FORCES, SOLVE_PARTS, SOLVE_TRIALS, StageMask, Task};

use self::chains::{Chains, FACTORS};
use crate::ClothMemory;
use crate::floats::Floats;
use crate::lanes::{MAX_LANES, Real, scatter};
use crate::particles::{Block, blocks};
use crate::stage::implicit::{
    Factors, Source, Storage, bends_springs, corners_of, edges_of, is_preconditioned,
    stretches_springs,
};
use crate::vector::Vec3;

/// Number of columns of all particle arrays up to `SOLVE_FORCES`.
const COLUMNS: usize = 4 * (SOLVE_FORCES as usize + 1);

/// Working memory of an implicit solve.
#[derive(Debug, Default)]
pub(crate) struct Solve {
    /// Rows of a column: the particle count, padded to a multiple of [`SOLVE_PARTS`].
    len: usize,
    /// Columns one after another, shape `[COLUMNS, len]`.
    columns: Floats,
    /// Previous positions, trial displacements and trial residuals of particles, as rows \[m\].
    starts: Vec<[f32; 4]>,
    trials: Vec<[f32; 4]>,
    residuals: Vec<[f32; 4]>,
    /// Stretch gradients at particles \[N\].
    stretch: Vec<[f32; 4]>,
    /// Bending gradients at particles \[N\].
    bends: Vec<[f32; 4]>,
    /// Edges of each triangle from its first corner to the other two, one step ago \[m\]: six
    /// vectors per block.
    edges: Floats,
    /// Contact probes and springs read the trial in the memory of the cloth.
    is_read: bool,
    /// Preconditioner: tridiagonal block factors along chains.
    chains: Chains,
}

/// Tests whether a task belongs to an implicit solve and has a wide form here.
pub(crate) fn is_of_solve(task: Task) -> bool {
    matches!(
        task,
        Task::BeginSolve
            | Task::StretchTriangle
            | Task::FoldBend
            | Task::FindResidual
            | Task::DirectTriangle
            | Task::FactorChain
            | Task::SolveChain
            | Task::SumPart
            | Task::TakeStep
            | Task::EndSolve
    )
}

impl Solve {
    /// Size of the working memory \[bytes\].
    pub(crate) fn size(&self) -> usize {
        let rows = [&self.starts, &self.trials, &self.residuals, &self.stretch, &self.bends];
        self.columns.size()
            + self.edges.size()
            + size_of::<[f32; 4]>() * rows.map(Vec::capacity).iter().sum::<usize>()
            + self.chains.size()
    }

    /// Numbers of a column from a block on.
    #[inline(always)]
    fn column<V: Real>(&self, column: u32, block: Block<V>) -> &[f32] {
        &self.columns[column as usize * self.len + block.index(0) as usize..][..V::LEN]
    }
}

impl<V: Real> Storage<V> for Solve {
    #[inline(always)]
    fn begin(&mut self, memory: &ClothMemory<'_>) {
        self.len = (memory.cloth.particle_count as usize).next_multiple_of(SOLVE_PARTS as usize);
        self.columns.clear();
        self.columns.resize(COLUMNS * self.len);
        let rows = [
            &mut self.starts,
            &mut self.trials,
            &mut self.residuals,
            &mut self.stretch,
            &mut self.bends,
        ];
        for rows in rows {
            rows.clear();
            rows.resize(self.len, [0.0; 4]);
        }
        self.is_read = stretches_springs(memory)
            || bends_springs(memory)
            || StageMask(memory.registers.stages).intersects(StageMask::PROBES);
    }

    #[inline(always)]
    fn begin_part(&mut self, simd: V::Token, memory: &ClothMemory<'_>) {
        for (row, before) in self.starts.iter_mut().zip(memory.previous) {
            *row = before.get();
        }
        self.edges.clear();
        for block in blocks::<V>(0..memory.cloth.fabric.triangle_count) {
            let corners = corners_of(memory, block);
            let edges: [Vec3<V>; 2] = edges_of(simd, memory, self, Source::Previous, &corners);
            // The last block may have fewer triangles, but its edges fill whole vectors.
            let begin = self.edges.len();
            self.edges.resize(begin + 6 * V::LEN);
            for (k, edge) in edges.into_iter().enumerate() {
                store_vector(&mut self.edges[begin..], k, edge);
            }
        }
        if is_preconditioned(memory) {
            self.chains.load::<V>(memory, self.len);
        }
    }

    #[inline(always)]
    fn load(&self, simd: V::Token, _: &ClothMemory<'_>, array: u32, block: Block<V>) -> [V; 4] {
        [
            V::from_slice(simd, self.column(4 * array, block)),
            V::from_slice(simd, self.column(4 * array + 1, block)),
            V::from_slice(simd, self.column(4 * array + 2, block)),
            V::from_slice(simd, self.column(4 * array + 3, block)),
        ]
    }

    #[inline(always)]
    fn store(&mut self, _: &mut ClothMemory<'_>, array: u32, block: Block<V>, values: [V; 4]) {
        let first = block.index(0) as usize;
        for (k, value) in values.into_iter().enumerate() {
            let begin = (4 * array as usize + k) * self.len + first;
            value.store_slice(&mut self.columns[begin..][..V::LEN]);
        }
        if array == SOLVE_TRIALS {
            V::rows(values, &mut self.residuals[first..][..V::LEN]);
        }
    }

    #[inline(always)]
    fn trial(&self, simd: V::Token, _: &ClothMemory<'_>, block: Block<V>) -> [V; 4] {
        V::columns(simd, &self.trials[block.index(0) as usize..][..V::LEN])
    }

    #[inline(always)]
    fn store_trial(&mut self, memory: &mut ClothMemory<'_>, block: Block<V>, trial: [V; 4]) {
        let rows = &mut self.trials[block.index(0) as usize..][..V::LEN];
        V::rows(trial, rows);
        if self.is_read {
            for (lane, row) in rows.iter().enumerate().take(block.len()) {
                memory.store_current(block.index(lane), *row);
            }
        }
    }

    #[inline(always)]
    fn gathered(
        &self,
        simd: V::Token,
        _: &ClothMemory<'_>,
        source: Source,
        particles: &[u32; MAX_LANES],
    ) -> [V; 4] {
        let rows = match source {
            Source::Previous => &self.starts,
            Source::Trial => &self.trials,
            Source::Residual => &self.residuals,
        };
        V::gathered(simd, rows, particles)
    }

    #[inline(always)]
    fn last_edges(
        &self,
        simd: V::Token,
        _: &ClothMemory<'_>,
        triangles: Block<V>,
        _: &[[u32; MAX_LANES]; 3],
    ) -> [Vec3<V>; 2] {
        let edges = &self.edges[6 * triangles.index(0) as usize..][..6 * V::LEN];
        [nth_vector(simd, edges, 0), nth_vector(simd, edges, 1)]
    }

    #[inline(always)]
    fn clear_gradients(&mut self, of_bends: bool) {
        let sums = if of_bends { &mut self.bends } else { &mut self.stretch };
        sums.fill([0.0; 4]);
    }

    /// Scatters the gradients of a block to the sums of their particles, lane by lane in ascending
    /// order.
    #[inline(always)]
    fn add_gradients<const N: usize>(
        &mut self,
        simd: V::Token,
        _: &mut ClothMemory<'_>,
        elements: Block<V>,
        particles: &[[u32; MAX_LANES]; N],
        gradients: [Vec3<V>; N],
    ) {
        let sums = if N == 3 { &mut self.stretch } else { &mut self.bends };
        let zero = V::splat(simd, 0.0);
        let mut rows = [[[0.0; 4]; MAX_LANES]; N];
        for (rows, gradient) in rows.iter_mut().zip(gradients) {
            V::rows(gradient.with(zero), rows);
        }
        for lane in 0..elements.len() {
            for k in 0..N {
                V::add_row(simd, &mut sums[particles[k][lane] as usize], &rows[k][lane]);
            }
        }
    }

    #[inline(always)]
    fn gradient(
        &self,
        simd: V::Token,
        _: &ClothMemory<'_>,
        block: Block<V>,
        of_bends: bool,
    ) -> Vec3<V> {
        let sums = if of_bends { &self.bends } else { &self.stretch };
        Vec3::xyz(V::columns(simd, &sums[block.index(0) as usize..][..V::LEN]))
    }

    #[inline(always)]
    fn lens(&self, _: &ClothMemory<'_>, chains: Block<V>) -> [u32; MAX_LANES] {
        self.chains.block(chains).lens
    }

    #[inline(always)]
    fn link(&self, _: &ClothMemory<'_>, chains: Block<V>, k: u32) -> [u32; MAX_LANES] {
        let mut particles = [0; MAX_LANES];
        let first = self.chains.place(chains, k) * V::LEN;
        particles[..V::LEN].copy_from_slice(&self.chains.particles[first..][..V::LEN]);
        particles
    }

    #[inline(always)]
    fn factors(&self, simd: V::Token, _: &ClothMemory<'_>, chains: Block<V>, k: u32) -> Factors<V> {
        let first = self.chains.place(chains, k) * FACTORS * V::LEN;
        let slots = &self.chains.factors[first..][..FACTORS * V::LEN];
        let vector = |n| nth_vector(simd, slots, n);
        Factors {
            lower: [vector(0), vector(1), vector(2)],
            diagonal: vector(3),
            beside: vector(4),
            root: V::from_slice(simd, &slots[15 * V::LEN..]),
        }
    }

    #[inline(always)]
    fn store_factors(
        &mut self,
        _: &mut ClothMemory<'_>,
        chains: Block<V>,
        k: u32,
        factors: Factors<V>,
    ) {
        let first = self.chains.place(chains, k) * FACTORS * V::LEN;
        let slots = &mut self.chains.factors[first..][..FACTORS * V::LEN];
        let Factors { lower: [l0, l1, l2], diagonal, beside, root } = factors;
        for (n, vector) in [l0, l1, l2, diagonal, beside].into_iter().enumerate() {
            store_vector(slots, n, vector);
        }
        root.store_slice(&mut slots[15 * V::LEN..]);
    }

    #[inline(always)]
    fn value(&self, simd: V::Token, _: &ClothMemory<'_>, _: Block<V>, k: u32) -> Vec3<V> {
        nth_vector(simd, &self.chains.values, k as usize)
    }

    #[inline(always)]
    fn store_value(&mut self, _: &mut ClothMemory<'_>, _: Block<V>, k: u32, value: Vec3<V>) {
        store_vector(&mut self.chains.values, k as usize, value);
    }

    #[inline(always)]
    fn store_solution(
        &mut self,
        simd: V::Token,
        memory: &mut ClothMemory<'_>,
        chains: Block<V>,
        k: u32,
        solution: Vec3<V>,
    ) {
        let particles = self.link(memory, chains, k);
        let block = *self.chains.block(chains);
        let solved = &mut self.chains.solved;
        scatter(solution.with(V::splat(simd, 0.0)), |lane, row| {
            if k < block.lens[lane] {
                solved[block.families[lane]][particles[lane] as usize] = row;
            }
        });
    }

    #[inline(always)]
    fn chain_sum(&self, simd: V::Token, _: &ClothMemory<'_>, block: Block<V>) -> Vec3<V> {
        let first = block.index(0) as usize;
        let [one, other] = &self.chains.solved;
        let one = Vec3::xyz(V::columns(simd, &one[first..][..V::LEN]));
        one + Vec3::xyz(V::columns(simd, &other[first..][..V::LEN]))
    }
}

/// Loads vector `k` of an array of vectors, three columns each.
#[inline(always)]
fn nth_vector<V: Real>(simd: V::Token, numbers: &[f32], k: usize) -> Vec3<V> {
    let numbers = &numbers[3 * k * V::LEN..][..3 * V::LEN];
    Vec3::new(
        V::from_slice(simd, &numbers[..V::LEN]),
        V::from_slice(simd, &numbers[V::LEN..2 * V::LEN]),
        V::from_slice(simd, &numbers[2 * V::LEN..]),
    )
}

/// Stores vector `k` of an array of vectors.
#[inline(always)]
fn store_vector<V: Real>(numbers: &mut [f32], k: usize, value: Vec3<V>) {
    let numbers = &mut numbers[3 * k * V::LEN..][..3 * V::LEN];
    value.x.store_slice(&mut numbers[..V::LEN]);
    value.y.store_slice(&mut numbers[V::LEN..2 * V::LEN]);
    value.z.store_slice(&mut numbers[2 * V::LEN..]);
}
