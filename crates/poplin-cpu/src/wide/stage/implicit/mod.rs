//! Wide form of `crate::stage::implicit` over one whole cloth, with a triangle, bend,
//! chain, partial sum or particle per lane.
//!
//! One thread solves a cloth, so that elements scatter their gradients to particles, triangle by
//! triangle and bend by bend. This is the ascending order in which the reference gathers them, so
//! that sums are bit-identical. Values that change in every iteration are stored as columns, one
//! coordinate each. Rows of the cloth's memory hold only contact planes, external displacements,
//! partial sums and the solver state.

mod chains;
mod energy;
mod hessian;
mod residual;
mod step;

use crate::ClothMemory;
use crate::stage::implicit::{is_preconditioned, solve_row};
use poplin_layout::{SOLVE_PLANES, Task};

use self::chains::Chains;
use self::energy::corners_of;
use crate::lanes::{MAX_LANES, Real, gather, scatter};
use crate::particles::blocks;
use crate::vector::Vec3;

pub(crate) use self::chains::{factor_chains, solve_chains};
pub(crate) use self::hessian::direct_triangles;
pub(crate) use self::residual::{find_residuals, fold_bends, stretch_triangles, sum_parts};
pub(crate) use self::step::{begin_solves, end_solves, take_steps};

/// First column of each particle array of a solve. `PREDICTION + 3` is the inverse mass, `MOVE + 3`
/// the mass and `PLANE + 3` the offset of the contact plane.
const PREDICTION: usize = 0;
const MOVE: usize = 4;
const RESIDUAL: usize = 8;
const DIRECTION: usize = 11;
const TRIAL_RESIDUAL: usize = 14;
const TRIAL: usize = 17;
const PLANE: usize = 21;
const COLUMNS: usize = 25;

/// Working memory of an implicit solve.
#[derive(Debug, Default)]
pub(crate) struct Solve {
    /// True if `edges` and `chains` belong to the running solve.
    is_loaded: bool,
    /// Rows of a column: the particle count, padded to a multiple of [`SOLVE_PARTS`].
    len: usize,
    /// Columns one after another, shape `[COLUMNS, len]`.
    columns: Vec<f32>,
    /// Previous positions and trial displacements of particles, as rows \[m\].
    starts: Vec<[f32; 4]>,
    trials: Vec<[f32; 4]>,
    /// Stretch gradients at particles \[N\].
    stretch: Vec<[f32; 4]>,
    /// Bending gradients at particles \[N\], held between the evaluations that renew them.
    bends: Vec<[f32; 4]>,
    /// Edges of each triangle from its first corner to the other two, one step ago \[m\]: six
    /// vectors per block.
    edges: Vec<f32>,
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
        size_of::<f32>() * (self.columns.capacity() + self.edges.capacity())
            + size_of::<[f32; 4]>() * (2 * self.starts.capacity() + 2 * self.stretch.capacity())
            + self.chains.size()
    }

    /// Loads one column of the rows from `first` on.
    #[inline(always)]
    fn column<V: Real>(&self, simd: V::Token, column: usize, first: usize) -> V {
        V::from_slice(simd, &self.columns[column * self.len + first..][..V::LEN])
    }

    /// Loads three consecutive columns of the rows from `first` on.
    #[inline(always)]
    fn vector<V: Real>(&self, simd: V::Token, column: usize, first: usize) -> Vec3<V> {
        Vec3::new(
            self.column(simd, column, first),
            self.column(simd, column + 1, first),
            self.column(simd, column + 2, first),
        )
    }

    #[inline(always)]
    fn set_column<V: Real>(&mut self, column: usize, first: usize, value: V) {
        value.store_slice(&mut self.columns[column * self.len + first..][..V::LEN]);
    }

    #[inline(always)]
    fn set_vector<V: Real>(&mut self, column: usize, first: usize, value: Vec3<V>) {
        self.set_column(column, first, value.x);
        self.set_column(column + 1, first, value.y);
        self.set_column(column + 2, first, value.z);
    }

    /// Gathers the entries of `particles` from a column.
    #[inline(always)]
    fn gather_column<V: Real>(
        &self,
        simd: V::Token,
        column: usize,
        particles: &[u32; MAX_LANES],
    ) -> V {
        let numbers = &self.columns[column * self.len..][..self.len];
        let mut gathered = [0.0; MAX_LANES];
        for lane in 0..V::LEN {
            gathered[lane] = numbers[particles[lane] as usize];
        }
        V::from_slice(simd, &gathered[..V::LEN])
    }

    /// Loads what stays constant during a solve (previous positions, rest edges, chains), once per
    /// solve.
    #[inline(always)]
    fn load<V: Real>(&mut self, simd: V::Token, memory: &ClothMemory<'_>) {
        if self.is_loaded {
            return;
        }
        self.is_loaded = true;
        // Bending forces stay 0 until bends are evaluated.
        self.bends.fill([0.0; 4]);
        for (row, before) in self.starts.iter_mut().zip(memory.previous) {
            *row = before.get();
        }
        self.edges.clear();
        for block in blocks::<V>(0..memory.cloth.fabric.triangle_count) {
            let corners = corners_of::<V>(memory, memory.cloth.fabric.triangle_begin, &block);
            let [p, q] = edges_of::<V>(simd, &self.starts, &corners);
            // The last block may have fewer triangles, but its edges fill whole vectors.
            let begin = self.edges.len();
            self.edges.resize(begin + 6 * V::LEN, 0.0);
            let edges = &mut self.edges[begin..];
            for (k, value) in [p.x, p.y, p.z, q.x, q.y, q.z].into_iter().enumerate() {
                value.store_slice(&mut edges[k * V::LEN..][..V::LEN]);
            }
        }
        if is_preconditioned(memory) {
            self.chains.load::<V>(memory, self.len);
        }
    }

    /// Copies the contact planes from rows to columns.
    #[inline(always)]
    fn load_planes<V: Real>(&mut self, simd: V::Token, memory: &ClothMemory<'_>) {
        let begin = solve_row(memory, SOLVE_PLANES, 0);
        let count = memory.cloth.particle_count as usize;
        for first in (0..count).step_by(V::LEN) {
            let [x, y, z, reach]: [V; 4] =
                rows_of(simd, first, count, |i| memory.load_scratch(begin + i));
            self.set_vector(PLANE, first, Vec3::new(x, y, z));
            self.set_column(PLANE + 3, first, reach);
        }
    }

    /// Edges of a block of triangles one step ago.
    #[inline(always)]
    fn last_edges<V: Real>(&self, simd: V::Token, first: u32) -> [Vec3<V>; 2] {
        let edges = &self.edges[6 * first as usize..][..6 * V::LEN];
        [nth_vector(simd, edges, 0), nth_vector(simd, edges, 1)]
    }
}

/// Gathers the rows of the particles from `first` on, 0 beyond the last.
#[inline(always)]
fn rows_of<V: Real>(
    simd: V::Token,
    first: usize,
    count: usize,
    row: impl Fn(u32) -> [f32; 4],
) -> [V; 4] {
    gather(simd, |lane| if first + lane < count { row((first + lane) as u32) } else { [0.0; 4] })
}

/// Stores the rows of a particle array in scratch memory.
#[inline(always)]
fn store_rows<V: Real>(
    memory: &mut ClothMemory<'_>,
    array: u32,
    first: usize,
    count: usize,
    columns: [V; 4],
) {
    scatter(columns, |lane, row| {
        if first + lane < count {
            memory.store_scratch(array + (first + lane) as u32, row);
        }
    });
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

/// Edges of triangles from the first corner to the second and third.
#[inline(always)]
fn edges_of<V: Real>(
    simd: V::Token,
    rows: &[[f32; 4]],
    corners: &[[u32; MAX_LANES]; 3],
) -> [Vec3<V>; 2] {
    let first = Vec3::xyz(V::gathered(simd, rows, &corners[0]));
    let second = Vec3::xyz(V::gathered(simd, rows, &corners[1]));
    let third = Vec3::xyz(V::gathered(simd, rows, &corners[2]));
    [second.sub(first), third.sub(first)]
}
