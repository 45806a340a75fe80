//! Begin, conjugate gradient updates and end of an implicit step.

use std::ops::Range;

use crate::ClothMemory;
use crate::stage::implicit::{
    bends_springs, is_start, probes_contacts, solve_row, solve_state, stretches_springs,
};
use poplin_layout::{SOLVE_INERTIA, SOLVE_PARTS, SOLVE_PLANES, SOLVE_START, Stage};

use super::{
    COLUMNS, DIRECTION, MOVE, PLANE, PREDICTION, RESIDUAL, Solve, TRIAL, TRIAL_RESIDUAL, rows_of,
    store_rows,
};
use crate::lanes::{LaneMask as _, Real, max, scatter};
use crate::vector::Vec3;

impl Solve {
    /// Starts a solve for the particles from `first` on at `prediction`, with the given inverse
    /// masses.
    #[inline(always)]
    fn start_at<V: Real>(
        &mut self,
        simd: V::Token,
        memory: &mut ClothMemory<'_>,
        first: usize,
        prediction: Vec3<V>,
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
        // Residual, direction and trial residual are contiguous.
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
    fn solved_moves<V: Real>(&self, simd: V::Token, is_held: bool, first: usize) -> Vec3<V> {
        let moves = self.vector(simd, MOVE, first);
        if !is_held {
            return moves;
        }
        let inverse_mass: V = self.column(simd, PREDICTION + 3, first);
        let zero = V::splat(simd, 0.0);
        Vec3::splat(simd, [0.0; 3]).or(zero.simd_lt(inverse_mass), moves)
    }
}

/// Begins a step at the predicted positions. From here on, the current position of a particle is
/// its displacement from the previous one.
#[inline(always)]
pub(crate) fn begin_solves<V: Real>(
    simd: V::Token,
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
        // Pinned particles follow their prediction; the others only move by inertia.
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

/// Begins the next fraction of a divided step, `ratio` times as long as the last solved one.
#[inline(always)]
fn begin_parts<V: Real>(simd: V::Token, memory: &mut ClothMemory<'_>, solve: &mut Solve) {
    let [taken, ratio, ..] = memory.load_scratch(solve_state(memory, 0));
    let is_held = memory.load_scratch(solve_state(memory, 3))[3] > 0.0;
    let count = memory.cloth.particle_count as usize;
    let inertias = solve_row(memory, SOLVE_INERTIA, 0);
    let (zero, ratio) = (V::splat(simd, 0.0), V::splat(simd, ratio));
    for first in (0..count).step_by(V::LEN) {
        let inverse_mass = solve.column(simd, PREDICTION + 3, first);
        let prediction: Vec3<V> = solve.vector(simd, PREDICTION, first);
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
fn add_to_previous<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    first: usize,
    count: usize,
    by: Vec3<V>,
) {
    let [x, y, z, w]: [V; 4] = rows_of(simd, first, count, |i| memory.load_previous(i));
    scatter(Vec3::new(x, y, z).add(by).with(w), |lane, row| {
        if first + lane < count {
            memory.store_previous((first + lane) as u32, row);
        }
    });
}

/// Applies a conjugate gradient step: updates displacements, residuals and directions and computes
/// the next trial.
#[inline(always)]
pub(crate) fn take_steps<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    if is_start(memory) {
        return begin_parts::<V>(simd, memory, solve);
    }
    let splat = |value: f32| V::splat(simd, value);
    let [step, kept, taken, renewed] = memory.load_scratch(solve_state(memory, 0)).map(splat);
    let [mixed, trial, ..] = memory.load_scratch(solve_state(memory, 1)).map(splat);
    let count = items.end as usize;
    // Contact probes and springs run on rows, where they read the trial.
    let has_springs = stretches_springs(memory) || bends_springs(memory);
    let is_read = has_springs || probes_contacts(memory);
    for first in (0..count).step_by(V::LEN) {
        let direction: Vec3<V> = solve.vector(simd, DIRECTION, first);
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
pub(crate) fn end_solves<V: Real>(
    simd: V::Token,
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
        let moved: Vec3<V> = solve.solved_moves(simd, is_held, first);
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
