//! Wide form of `poplin_reference::stage::implicit` over one whole cloth, with a triangle, bend,
//! chain, partial sum or particle per lane.
//!
//! One thread solves a cloth, so that elements scatter their gradients to particles, triangle by
//! triangle and bend by bend. This is the ascending order in which the reference gathers them, so
//! that sums are bit-identical. Values that change in every iteration are stored as columns, one
//! coordinate each. Rows of the cloth's memory hold only contact planes, external displacements,
//! partial sums and the solver state.

mod chains;
mod energy;

use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_layout::{
    BEND_SPRINGS, ImplicitConstants, MIN_EDGE_SQUARE, SOLVE_INERTIA, SOLVE_PARTS, SOLVE_PLANES,
    SOLVE_START, STRETCH_SPRINGS, Stage, Task,
};
use poplin_reference::ClothMemory;
use poplin_reference::stage::implicit::{
    bend_rate, bends_springs, corner_row, is_preconditioned, is_start, part_row, probes_contacts,
    rate_row, solve_row, solve_state, stretch_rate, stretches_springs, takes_bends,
};

use self::chains::Chains;
use self::energy::{
    Edges, bend_ends, bend_gradients, corners_of, shapes_of, slack, spring_gradients,
    stretch_gradients,
};
use super::particles::blocks;
use crate::lanes::{Lanes, MAX_LANES, gather, max, scatter};
use crate::vector::Vec3;

pub(crate) use self::chains::{factor_chains, solve_chains};

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
    fn column<S: Simd, V: Lanes<S>>(&self, simd: S, column: usize, first: usize) -> V {
        V::from_slice(simd, &self.columns[column * self.len + first..][..V::LEN])
    }

    /// Loads three consecutive columns of the rows from `first` on.
    #[inline(always)]
    fn vector<S: Simd, V: Lanes<S>>(&self, simd: S, column: usize, first: usize) -> Vec3<S, V> {
        Vec3::new(
            self.column(simd, column, first),
            self.column(simd, column + 1, first),
            self.column(simd, column + 2, first),
        )
    }

    #[inline(always)]
    fn set_column<S: Simd, V: Lanes<S>>(&mut self, column: usize, first: usize, value: V) {
        value.store_slice(&mut self.columns[column * self.len + first..][..V::LEN]);
    }

    #[inline(always)]
    fn set_vector<S: Simd, V: Lanes<S>>(&mut self, column: usize, first: usize, value: Vec3<S, V>) {
        self.set_column(column, first, value.x);
        self.set_column(column + 1, first, value.y);
        self.set_column(column + 2, first, value.z);
    }

    /// Gathers the entries of `particles` from a column.
    #[inline(always)]
    fn gather_column<S: Simd, V: Lanes<S>>(
        &self,
        simd: S,
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

    /// Starts a solve for the particles from `first` on at `prediction`, with the given inverse
    /// masses.
    #[inline(always)]
    fn start_at<S: Simd, V: Lanes<S>>(
        &mut self,
        simd: S,
        memory: &mut ClothMemory<'_>,
        first: usize,
        prediction: Vec3<S, V>,
        inverse_mass: V,
    ) {
        let (zero, count) = (V::splat(simd, 0.0), memory.cloth.particle_count as usize);
        let mass = V::splat(simd, 1.0) / inverse_mass;
        self.set_vector(PREDICTION, first, prediction);
        self.set_column(PREDICTION + 3, first, inverse_mass);
        self.set_vector(MOVE, first, prediction);
        // m = 1/w, 0 for pinned particles.
        self.set_column(MOVE + 3, first, zero.simd_lt(inverse_mass).select(mass, zero));
        self.set_vector(TRIAL, first, prediction);
        for column in (RESIDUAL..TRIAL).chain(PLANE..COLUMNS) {
            self.set_column(column, first, zero);
        }
        let planes = solve_row(memory, SOLVE_PLANES, 0);
        V::rows(prediction.with(inverse_mass), &mut self.trials[first..][..V::LEN]);
        for i in first..count.min(first + V::LEN) {
            memory.store_current(i as u32, self.trials[i]);
            memory.store_scratch(planes + i as u32, [0.0; 4]);
        }
    }

    /// Displacements found by the solve for the particles from `first` on. If the solve ended
    /// without finite values (`is_held`), particles with mass stay and only pinned ones move.
    #[inline(always)]
    fn solved_moves<S: Simd, V: Lanes<S>>(
        &self,
        simd: S,
        is_held: bool,
        first: usize,
    ) -> Vec3<S, V> {
        let moves = self.vector(simd, MOVE, first);
        if !is_held {
            return moves;
        }
        let inverse_mass: V = self.column(simd, PREDICTION + 3, first);
        let zero = V::splat(simd, 0.0);
        Vec3::splat(simd, [0.0; 3]).or(zero.simd_lt(inverse_mass), moves)
    }

    /// Loads what stays constant during a solve (previous positions, rest edges, chains), once per
    /// solve.
    #[inline(always)]
    fn load<S: Simd, V: Lanes<S>>(&mut self, simd: S, memory: &ClothMemory<'_>) {
        if self.is_loaded {
            return;
        }
        self.is_loaded = true;
        self.bends.fill([0.0; 4]);
        for (row, before) in self.starts.iter_mut().zip(memory.previous) {
            *row = before.get();
        }
        self.edges.clear();
        for block in blocks::<V, S>(0..memory.cloth.fabric.triangle_count) {
            let corners = corners_of::<S, V>(memory, memory.cloth.fabric.triangle_begin, &block);
            let [p, q] = edges_of::<S, V>(simd, &self.starts, &corners);
            let begin = self.edges.len();
            self.edges.resize(begin + 6 * V::LEN, 0.0);
            let edges = &mut self.edges[begin..];
            for (k, value) in [p.x, p.y, p.z, q.x, q.y, q.z].into_iter().enumerate() {
                value.store_slice(&mut edges[k * V::LEN..][..V::LEN]);
            }
        }
        if is_preconditioned(memory) {
            self.chains.load::<S, V>(memory, self.len);
        }
    }

    /// Copies the contact planes from rows to columns.
    #[inline(always)]
    fn load_planes<S: Simd, V: Lanes<S>>(&mut self, simd: S, memory: &ClothMemory<'_>) {
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
    fn last_edges<S: Simd, V: Lanes<S>>(&self, simd: S, first: u32) -> [Vec3<S, V>; 2] {
        let edges = &self.edges[6 * first as usize..][..6 * V::LEN];
        [nth_vector(simd, edges, 0), nth_vector(simd, edges, 1)]
    }

    /// Residuals of the trial displacements of the particles from `first` on \[m\]:
    /// `r = y - u - h^2 w grad E(u)`, 0 for particles without inverse mass.
    #[inline(always)]
    fn residuals<S: Simd, V: Lanes<S>>(
        &mut self,
        simd: S,
        memory: &ClothMemory<'_>,
        constants: &ImplicitConstants,
        first: usize,
        takes_bends: bool,
    ) -> Vec3<S, V> {
        let zero = V::splat(simd, 0.0);
        // Padding rows have no springs: lanes beyond the last particle repeat it.
        let len = V::LEN.min((memory.cloth.particle_count as usize).saturating_sub(first));
        let particles = (first as u32, len.max(1));
        if takes_bends && constants.bend_model == BEND_SPRINGS && len > 0 {
            let bend: Vec3<S, V> = spring_gradients(simd, memory, constants, particles, true);
            V::rows(bend.with(zero), &mut self.bends[first..][..V::LEN]);
        }
        let stretch: Vec3<S, V> = if constants.stretch_model == STRETCH_SPRINGS && len > 0 {
            spring_gradients(simd, memory, constants, particles, false)
        } else {
            Vec3::xyz(V::columns(simd, &self.stretch[first..][..V::LEN]))
        };
        let bend = Vec3::xyz(V::columns(simd, &self.bends[first..][..V::LEN]));
        let force = stretch.add(bend);
        let moved = self.vector(simd, TRIAL, first);
        let inverse_mass: V = self.column(simd, PREDICTION + 3, first);
        let normal = self.vector(simd, PLANE, first);
        // Contact: E = kc/2 max(0, o - n . u)^2, so that grad E = -kc depth n.
        let depth = max(self.column::<S, V>(simd, PLANE + 3, first) - normal.dot(moved), zero);
        let force = force.sub(normal.mul(V::splat(simd, constants.contact_stiffness) * depth));
        // r = y - u - h^2 w grad E
        let scale = V::splat(simd, constants.step_square) * inverse_mass;
        let prediction = self.vector(simd, PREDICTION, first);
        let residual = prediction.sub(moved).sub(force.mul(scale));
        residual.or(zero.simd_lt(inverse_mass), Vec3::splat(simd, [0.0; 3]))
    }
}

/// Gathers the rows of the particles from `first` on, 0 beyond the last.
#[inline(always)]
fn rows_of<S: Simd, V: Lanes<S>>(
    simd: S,
    first: usize,
    count: usize,
    row: impl Fn(u32) -> [f32; 4],
) -> [V; 4] {
    gather(simd, |lane| if first + lane < count { row((first + lane) as u32) } else { [0.0; 4] })
}

/// Begins a step at the predicted positions. From here on, the current position of a particle is
/// its displacement from the previous one.
#[inline(always)]
pub(crate) fn begin_solves<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    let count = items.end as usize;
    solve.is_loaded = false;
    solve.len = count.next_multiple_of(SOLVE_PARTS as usize);
    solve.columns.clear();
    solve.columns.resize(COLUMNS * solve.len, 0.0);
    let len = solve.len;
    for rows in [&mut solve.stretch, &mut solve.bends, &mut solve.starts, &mut solve.trials] {
        rows.clear();
        rows.resize(len, [0.0; 4]);
    }
    let constants = memory.load_implicit();
    let has_inertia = memory.runs(Stage::Integrate);
    let inertias = solve_row(memory, SOLVE_INERTIA, 0);
    let zero = V::splat(simd, 0.0);
    let fraction = V::splat(simd, constants.fraction);
    for first in (0..count).step_by(V::LEN) {
        let [x, y, z, inverse_mass]: [V; 4] =
            rows_of(simd, first, count, |i| memory.load_current(i));
        let before = Vec3::xyz(rows_of(simd, first, count, |i| memory.load_previous(i)));
        let predicted = Vec3::new(x, y, z).sub(before);
        let mut inertia = predicted;
        // Pinned particles follow their prediction; others keep what inertia alone moves them by.
        if has_inertia {
            let own = Vec3::xyz(rows_of(simd, first, count, |i| memory.load_scratch(inertias + i)));
            inertia = own.or(zero.simd_lt(inverse_mass), predicted);
        }
        // A step in n parts has the fraction 1/n. Each part starts from inertia / n and gains
        // (predicted - inertia) / n^2 of displacement from all other accelerations.
        let added = predicted.sub(inertia).mul(fraction * fraction);
        store_rows(memory, inertias, first, count, added.with(zero));
        let start =
            if constants.fraction < 1.0 { inertia.mul(fraction).add(added) } else { predicted };
        solve.start_at(simd, memory, first, start, inverse_mass);
    }
    let takes = if constants.rigidity > 0.0 { 1.0 } else { 0.0 };
    memory.store_scratch(solve_state(memory, 1), [0.0, 0.0, SOLVE_START, takes]);
    memory.store_scratch(solve_state(memory, 3), [0.0; 4]);
    memory.store_scratch(solve_state(memory, 6), [0.0; 4]);
}

/// Stores the rows of a particle array in scratch memory.
#[inline(always)]
fn store_rows<S: Simd, V: Lanes<S>>(
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

/// Begins the next fraction of a divided step, `ratio` times as long as the last solved one.
#[inline(always)]
fn begin_parts<S: Simd, V: Lanes<S>>(simd: S, memory: &mut ClothMemory<'_>, solve: &mut Solve) {
    let [taken, ratio, ..] = memory.load_scratch(solve_state(memory, 0));
    let is_held = memory.load_scratch(solve_state(memory, 3))[3] > 0.0;
    let count = memory.cloth.particle_count as usize;
    let inertias = solve_row(memory, SOLVE_INERTIA, 0);
    let (zero, ratio) = (V::splat(simd, 0.0), V::splat(simd, ratio));
    for first in (0..count).step_by(V::LEN) {
        let inverse_mass = solve.column(simd, PREDICTION + 3, first);
        let prediction: Vec3<S, V> = solve.vector(simd, PREDICTION, first);
        let added = Vec3::xyz(rows_of(simd, first, count, |i| memory.load_scratch(inertias + i)));
        let mut inertia = prediction.sub(added);
        if taken > 0.0 {
            inertia = solve.solved_moves(simd, is_held, first);
            add_to_previous(simd, memory, first, count, inertia);
        }
        // Displacement by acceleration scales with the square of the part's length.
        let added = added.mul(ratio * ratio);
        store_rows(memory, inertias, first, count, added.with(zero));
        let start = inertia.mul(ratio).add(added);
        solve.start_at(simd, memory, first, start, inverse_mass);
    }
    solve.is_loaded = false;
}

/// Adds `by` to the previous positions of the particles from `first` on.
#[inline(always)]
fn add_to_previous<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    first: usize,
    count: usize,
    by: Vec3<S, V>,
) {
    let [x, y, z, w]: [V; 4] = rows_of(simd, first, count, |i| memory.load_previous(i));
    scatter(Vec3::new(x, y, z).add(by).with(w), |lane, row| {
        if first + lane < count {
            memory.store_previous((first + lane) as u32, row);
        }
    });
}

/// Loads vector `k` of an array of vectors, three columns each.
#[inline(always)]
fn nth_vector<S: Simd, V: Lanes<S>>(simd: S, numbers: &[f32], k: usize) -> Vec3<S, V> {
    let numbers = &numbers[3 * k * V::LEN..][..3 * V::LEN];
    Vec3::new(
        V::from_slice(simd, &numbers[..V::LEN]),
        V::from_slice(simd, &numbers[V::LEN..2 * V::LEN]),
        V::from_slice(simd, &numbers[2 * V::LEN..]),
    )
}

/// Edges of triangles from the first corner to the second and third.
#[inline(always)]
fn edges_of<S: Simd, V: Lanes<S>>(
    simd: S,
    rows: &[[f32; 4]],
    corners: &[[u32; MAX_LANES]; 3],
) -> [Vec3<S, V>; 2] {
    let first = Vec3::xyz(V::gathered(simd, rows, &corners[0]));
    let second = Vec3::xyz(V::gathered(simd, rows, &corners[1]));
    let third = Vec3::xyz(V::gathered(simd, rows, &corners[2]));
    [second.sub(first), third.sub(first)]
}

/// Scatters the vectors of a block to the sums of their particles, lane by lane in ascending order.
#[inline(always)]
fn add_rows<S: Simd, V: Lanes<S>, const N: usize>(
    simd: S,
    sums: &mut [[f32; 4]],
    particles: &[[u32; MAX_LANES]; N],
    gradients: [Vec3<S, V>; N],
    len: usize,
) {
    use fearless_simd::f32x4;
    let zero = V::splat(simd, 0.0);
    let mut rows = [[[0.0; 4]; MAX_LANES]; N];
    for (rows, gradient) in rows.iter_mut().zip(gradients) {
        V::rows(gradient.with(zero), rows);
    }
    for lane in 0..len {
        for k in 0..N {
            let sum = &mut sums[particles[k][lane] as usize];
            let added = f32x4::from_slice(simd, sum) + f32x4::from_slice(simd, &rows[k][lane]);
            added.store_slice(sum);
        }
    }
}

/// Computes the stretch gradients of all particles from their triangles.
#[inline(always)]
pub(crate) fn stretch_triangles<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    solve.load::<S, V>(simd, memory);
    let constants = memory.load_implicit();
    solve.stretch.fill([0.0; 4]);
    for block in blocks::<V, S>(items) {
        let corners = corners_of::<S, V>(memory, memory.cloth.fabric.triangle_begin, &block);
        let [p, q] = edges_of::<S, V>(simd, &solve.trials, &corners);
        let [last_p, last_q] = solve.last_edges(simd, block.index(0));
        let shape = shapes_of::<S, V>(simd, memory, &block);
        let edges = Edges { last_p, last_q, p, q };
        let gradients = stretch_gradients(simd, &constants, edges, shape);
        add_rows(simd, &mut solve.stretch, &corners, gradients, block.len());
    }
}

/// Computes the bending gradients of all particles from their bends.
#[inline(always)]
pub(crate) fn fold_bends<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    solve.load::<S, V>(simd, memory);
    let constants = memory.load_implicit();
    solve.bends.fill([0.0; 4]);
    for block in blocks::<V, S>(items) {
        let ends = bend_ends(memory, &block);
        let rows: [&[_]; 2] = [&solve.starts, &solve.trials];
        let gradients = bend_gradients::<S, V>(simd, memory, &constants, &block, &ends, rows);
        add_rows(simd, &mut solve.bends, &ends, gradients, block.len());
    }
}

/// Computes the residuals of the trial displacements, as input of the chain preconditioner.
#[inline(always)]
pub(crate) fn find_residuals<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    solve.load::<S, V>(simd, memory);
    if probes_contacts(memory) {
        solve.load_planes::<S, V>(simd, memory);
    }
    let (takes, constants) = (takes_bends(memory), memory.load_implicit());
    let zero = V::splat(simd, 0.0);
    for first in (0..items.end as usize).step_by(V::LEN) {
        let residual = solve.residuals::<S, V>(simd, memory, &constants, first, takes);
        solve.set_vector(TRIAL_RESIDUAL, first, residual);
        V::rows(residual.with(zero), &mut solve.chains.residuals[first..][..V::LEN]);
    }
}

/// Stores the factors of the triangle Hessians in scratch memory: `wu`, `wv` and the split of their
/// stiffness into an isotropic part and one along the direction.
#[inline(always)]
pub(crate) fn direct_triangles<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    let rows = corner_row(memory, 0);
    let (zero, one) = (V::splat(simd, 0.0), V::splat(simd, 1.0));
    for block in blocks::<V, S>(items) {
        let corners = corners_of::<S, V>(memory, memory.cloth.fabric.triangle_begin, &block);
        let [p, q] = edges_of::<S, V>(simd, &solve.trials, &corners);
        let [last_p, last_q] = solve.last_edges(simd, block.index(0));
        let (p, q) = (last_p.add(p), last_q.add(q));
        let [u_second, u_third, v_second, v_third, _] = shapes_of::<S, V>(simd, memory, &block);
        let wu = p.mul(u_second).add(q.mul(u_third));
        let wv = p.mul(v_second).add(q.mul(v_third));
        let (all_u, all_v) = (max(slack(simd, wu, one), zero), max(slack(simd, wv, one), zero));
        let remainders = [
            remainder_over_square(simd, wu, all_u),
            remainder_over_square(simd, wv, all_v),
            zero,
            zero,
        ];
        for (k, columns) in (0..).zip([wu.with(all_u), wv.with(all_v), remainders]) {
            scatter(columns, |lane, row| {
                if lane < block.len() {
                    memory.store_scratch(rows + 3 * block.index(lane) + k, row);
                }
            });
        }
    }
}

/// Stiffness along `w` beyond the isotropic part: `(1 - all) / |w|^2`, 0 for a `w` without length.
#[inline(always)]
fn remainder_over_square<S: Simd, V: Lanes<S>>(simd: S, w: Vec3<S, V>, all: V) -> V {
    let square = w.dot(w);
    let remainder = (V::splat(simd, 1.0) - all) / square;
    V::splat(simd, MIN_EDGE_SQUARE).simd_lt(square).select(remainder, V::splat(simd, 0.0))
}

/// Preconditions the residuals of the trial and computes their dot products, with as many partial
/// sums as lanes.
#[inline(always)]
pub(crate) fn sum_parts<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    solve.load::<S, V>(simd, memory);
    let by_chains = is_preconditioned(memory);
    if !by_chains && probes_contacts(memory) {
        solve.load_planes::<S, V>(simd, memory);
    }
    let (takes, constants) = (takes_bends(memory), memory.load_implicit());
    let is_start = is_start(memory);
    let count = memory.cloth.particle_count as usize;
    let zero = V::splat(simd, 0.0);
    for block in blocks::<V, S>(items) {
        let (mut along, mut overlap, mut square_sum, mut longest) = (zero, zero, zero, zero);
        let mut rates = [zero; 4];
        // Part p sums the particles p, p + SOLVE_PARTS, ... in ascending order, as the reference
        // does.
        for first in (block.index(0) as usize..count).step_by(SOLVE_PARTS as usize) {
            let inverse_mass: V = solve.column(simd, PREDICTION + 3, first);
            let (trial, conditioned): (Vec3<S, V>, Vec3<S, V>);
            if by_chains {
                trial = solve.vector(simd, TRIAL_RESIDUAL, first);
                // z = M^-1/2 (z_1 + z_2) / 2: the mean of the solutions of both chain families.
                let root = V::splat(simd, 0.5) * inverse_mass.sqrt();
                conditioned = solve.chains.both(simd, first).mul(root);
            } else {
                trial = solve.residuals(simd, memory, &constants, first, takes);
                conditioned = trial;
            }
            // Pinned particles have no residual, and padding rows have no inverse mass.
            let moves = zero.simd_lt(inverse_mass);
            let conditioned = conditioned.or(moves, Vec3::splat(simd, [0.0; 3]));
            let mass: V = solve.column(simd, MOVE + 3, first);
            // The products <r1, d>, <r1, r> and <r1, z1> in the metric of masses.
            let of_direction = mass * trial.dot(solve.vector(simd, DIRECTION, first));
            along += moves.select(of_direction, zero);
            let of_residual = mass * trial.dot(solve.vector(simd, RESIDUAL, first));
            overlap += moves.select(of_residual, zero);
            square_sum += moves.select(mass * trial.dot(conditioned), zero);
            longest = moves.select(max(longest, trial.dot(trial)), longest);
            if is_start {
                let row = |lane: usize| (first + lane).min(count - 1) as u32;
                let normal = solve.vector(simd, PLANE, first);
                let own = particle_rates(simd, memory, &constants, inverse_mass, normal, row);
                for (rate, own) in rates.iter_mut().zip(own) {
                    *rate = moves.select(max(*rate, own), *rate);
                }
            }
            solve.set_vector(TRIAL_RESIDUAL, first, conditioned);
        }
        let part = part_row(memory, block.index(0));
        scatter([along, overlap, square_sum, longest], |lane, row| {
            if lane < block.len() {
                memory.store_scratch(part + 2 * lane as u32, row);
            }
        });
        scatter(rates, |lane, row| {
            if lane < block.len() {
                memory.store_scratch(part + 2 * lane as u32 + 1, row);
            }
        });
    }
}

/// Bounds on the squared frequencies of particles: stretch and contact [1/s^2], bending [1/s^2],
/// and stretch times edge length [m/s^2].
#[inline(always)]
fn particle_rates<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    inverse_mass: V,
    normal: Vec3<S, V>,
    particle: impl Fn(usize) -> u32,
) -> [V; 4] {
    let begin = rate_row(memory, 0);
    let row = |lane: usize| {
        let i = particle(lane);
        let length = memory.fabric_f32(begin + 4 * i + 3);
        [stretch_rate(memory, i), bend_rate(memory, i), length, 0.0]
    };
    let [stretch, bend, length, _]: [V; 4] = gather(simd, row);
    let (stretch, bend) = (stretch * inverse_mass, bend * inverse_mass);
    let zero = V::splat(simd, 0.0);
    let has_none = normal.x.simd_eq(zero) & normal.y.simd_eq(zero) & normal.z.simd_eq(zero);
    let contact = V::splat(simd, constants.contact_stiffness) * inverse_mass;
    [stretch + has_none.select(zero, contact), bend, stretch * length, zero]
}

/// Applies a conjugate gradient step: updates displacements, residuals and directions and computes
/// the next trial.
#[inline(always)]
pub(crate) fn take_steps<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    if is_start(memory) {
        return begin_parts::<S, V>(simd, memory, solve);
    }
    let splat = |value: f32| V::splat(simd, value);
    let [step, kept, taken, renewed] = memory.load_scratch(solve_state(memory, 0)).map(splat);
    let [mixed, trial, ..] = memory.load_scratch(solve_state(memory, 1)).map(splat);
    let count = items.end as usize;
    // Contact probes and springs run on rows, where they read the trial.
    let has_springs = stretches_springs(memory) || bends_springs(memory);
    let is_read = has_springs || probes_contacts(memory);
    for first in (0..count).step_by(V::LEN) {
        let direction: Vec3<S, V> = solve.vector(simd, DIRECTION, first);
        let moved = solve.vector(simd, MOVE, first).add(direction.mul(step));
        // The residual is taken as linear along d: with f = step / trial, r <- (1 - f) r + f r1.
        let residual = solve.vector(simd, RESIDUAL, first).mul(kept);
        let residual = residual.add(solve.vector(simd, TRIAL_RESIDUAL, first).mul(taken));
        // d <- r + beta d (Polak-Ribiere); next trial: u + s d
        let next_direction = residual.mul(renewed).add(direction.mul(mixed));
        let next = moved.add(next_direction.mul(trial));
        solve.set_vector(MOVE, first, moved);
        solve.set_vector(RESIDUAL, first, residual);
        solve.set_vector(DIRECTION, first, next_direction);
        solve.set_vector(TRIAL, first, next);
        let inverse_mass = solve.column(simd, PREDICTION + 3, first);
        V::rows(next.with(inverse_mass), &mut solve.trials[first..][..V::LEN]);
        if is_read {
            for i in first..count.min(first + V::LEN) {
                memory.store_current(i as u32, solve.trials[i]);
            }
        }
    }
}

/// Ends a step: moves particles by their solved displacements.
#[inline(always)]
pub(crate) fn end_solves<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    let constants = memory.load_implicit();
    let is_held = memory.load_scratch(solve_state(memory, 3))[3] > 0.0;
    let planes = solve_row(memory, SOLVE_PLANES, 0);
    let count = items.end as usize;
    let splat = |value: f32| V::splat(simd, value);
    for first in (0..count).step_by(V::LEN) {
        let moved: Vec3<S, V> = solve.solved_moves(simd, is_held, first);
        let inverse_mass: V = solve.column(simd, PREDICTION + 3, first);
        let normal = solve.vector(simd, PLANE, first);
        let reach: V = solve.column(simd, PLANE + 3, first);
        let depth = max(reach - normal.dot(moved), splat(0.0));
        let strength =
            splat(constants.contact_stiffness) * splat(constants.step_square) * inverse_mass;
        // h^2 w kc depth, scaled from the length of a part to that of the whole step.
        let push = strength * depth * (splat(constants.split) * splat(constants.split));
        store_rows(memory, planes, first, count, normal.with(push));
        let before = Vec3::xyz(rows_of(simd, first, count, |i| memory.load_previous(i)));
        if constants.split > 1.0 {
            // A step in n parts ends with the velocity of the last part: the previous position lies
            // n displacements back.
            let back = moved.mul(splat(constants.split - 1.0));
            add_to_previous(simd, memory, first, count, back.neg());
        }
        scatter(before.add(moved).with(inverse_mass), |lane, row| {
            if first + lane < count {
                memory.store_current((first + lane) as u32, row);
            }
        });
    }
}
