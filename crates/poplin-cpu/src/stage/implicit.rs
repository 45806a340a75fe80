//! Implicit solve: backward Euler by non-linear conjugate gradients. Twin of
//! `shaders/stage/implicit.wgsl` in one lane, CPU backend in several.
//!
//! From `begin_solve` to `end_solve` the current position of a particle is its displacement u from
//! the previous one: differences of small numbers keep the digits that the forces of stiff cloth
//! consist of.

mod chains;
mod contact;
mod control;
mod fold;
mod hessian;
mod residual;
mod rows;
mod springs;
mod storage;
mod stretch;

use std::ops::Range;

use poplin_layout::{
    NO_OFFSET, SOLVE_DIRECTIONS, SOLVE_DONE, SOLVE_FORCES, SOLVE_INERTIA, SOLVE_MOVES,
    SOLVE_PLANES, SOLVE_PREDICTIONS, SOLVE_RESIDUALS, SOLVE_START, SOLVE_TRIALS, Stage, StageMask,
};

use self::contact::plane_slide;
use crate::ClothMemory;
use crate::lanes::{LaneMask as _, Real};
use crate::particles::{Block, Particles as _, blocks};
use crate::vector::Vec3;

pub(crate) use self::chains::{Factors, factor_chain, solve_chain};
pub(crate) use self::contact::{ContactPlane, exits};
pub use self::contact::{probe_contacts, probes_contacts};
pub use self::control::choose_step;
pub(crate) use self::fold::{Hinge, balanced, bend_ends, fold_bend};
pub(crate) use self::hessian::direct_triangle;
pub use self::residual::sum_parts;
pub(crate) use self::residual::{find_residual, sum_part};
pub use self::rows::{
    bend_count, bends_springs, chain_begin, chain_end, evaluation_count, is_factored,
    is_preconditioned, is_solved, link_particle, solve_row, solve_state, stretches_springs,
    takes_bends,
};
pub(crate) use self::rows::{load_rows, store_rows};
pub(crate) use self::storage::{ScratchRows, Source, Storage};
pub(crate) use self::stretch::{corners_of, edges_of, stretch_triangle};

/// Begins a step at the predictions of particles.
///
/// A step may be made in 2^j equal parts, each a step of backward Euler. External acceleration adds
/// as much speed to each: the displacement of a part exceeds that of the part before by (y - x -
/// inertia) / 4^j.
#[inline(always)]
pub(crate) fn begin_solve<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    storage.begin(memory);
    let constants = memory.load_implicit();
    let has_inertia = memory.runs(Stage::Integrate);
    let has_remainders = has_inertia && memory.cloth.remainder_begin != NO_OFFSET;
    let zero = V::splat(simd, 0.0);
    let fraction = V::splat(simd, constants.fraction);
    for block in blocks::<V>(items.clone()) {
        let [x, y, z, inverse_mass] = block.load(simd, memory.current);
        let before = Vec3::xyz(block.load(simd, memory.previous));
        let mut predicted = Vec3::new(x, y, z) - before;
        if has_remainders {
            let remainder: Vec3<V> = memory.rows(simd, memory.cloth.remainder_begin, block);
            predicted = predicted + remainder;
        }
        let mut inertia = predicted;
        // Pinned particles follow their prediction; the others only move by inertia.
        if has_inertia {
            let own = Vec3::xyz(load_rows(simd, memory, SOLVE_INERTIA, block));
            inertia = own.or(zero.simd_lt(inverse_mass), predicted);
        }
        // Displacement by external acceleration scales with the square of the step.
        let added = (predicted - inertia) * (fraction * fraction);
        store_rows(memory, SOLVE_INERTIA, block, added.with(zero));
        let start = if constants.fraction < 1.0 { inertia * fraction + added } else { predicted };
        start_at(simd, memory, storage, block, start.with(inverse_mass));
    }
    if items.start == 0 {
        let takes = if constants.rigidity > 0.0 { 1.0 } else { 0.0 };
        memory.store_scratch(solve_state(memory, 1), [0.0, 0.0, SOLVE_START, takes]);
        memory.store_scratch(solve_state(memory, 3), [0.0; 4]);
        let floored = memory.load_scratch(solve_state(memory, 6))[3];
        memory.store_scratch(solve_state(memory, 6), [0.0, 0.0, 0.0, floored]);
    }
    storage.begin_part(simd, memory);
}

/// Initializes the solve of particles with their predictions and inverse masses.
#[inline(always)]
fn start_at<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    storage: &mut impl Storage<V>,
    block: Block<V>,
    [x, y, z, inverse_mass]: [V; 4],
) {
    let zero = V::splat(simd, 0.0);
    let mass = V::splat(simd, 1.0) / inverse_mass;
    let mass = zero.simd_lt(inverse_mass).select(mass, zero);
    storage.store_trial(memory, block, [x, y, z, inverse_mass]);
    storage.store(memory, SOLVE_PREDICTIONS, block, [x, y, z, inverse_mass]);
    storage.store(memory, SOLVE_MOVES, block, [x, y, z, mass]);
    for array in [SOLVE_RESIDUALS, SOLVE_TRIALS, SOLVE_DIRECTIONS, SOLVE_FORCES] {
        storage.store(memory, array, block, [zero; 4]);
    }
    store_rows(memory, SOLVE_PLANES, block, [zero; 4]);
}

/// Moves particles along their search directions, updates residuals and directions, and sets the
/// next trial.
#[inline(always)]
pub(crate) fn take_step<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    let [step, kept, taken, renewed] = memory.load_scratch(solve_state(memory, 0));
    let [mixed, trial, mode, _] = memory.load_scratch(solve_state(memory, 1));
    if mode == SOLVE_START {
        return begin_part(simd, memory, items, storage, step > 0.0, kept);
    }
    let splat = |value: f32| V::splat(simd, value);
    let (step, kept, taken, renewed) = (splat(step), splat(kept), splat(taken), splat(renewed));
    let (mixed, trial, zero) = (splat(mixed), splat(trial), splat(0.0));
    for block in blocks::<V>(items) {
        let direction = Vec3::xyz(storage.load(simd, memory, SOLVE_DIRECTIONS, block));
        let [x, y, z, mass] = storage.load(simd, memory, SOLVE_MOVES, block);
        let moved = Vec3::new(x, y, z) + direction * step;
        // The residual is taken as linear along d: r = (1 - f) r + f r1;  d = z + beta d
        let residual = Vec3::xyz(storage.load(simd, memory, SOLVE_RESIDUALS, block)) * kept;
        let tried = Vec3::xyz(storage.load(simd, memory, SOLVE_TRIALS, block));
        let residual = residual + tried * taken;
        let next_direction = residual * renewed + direction * mixed;
        let [.., inverse_mass] = storage.load(simd, memory, SOLVE_PREDICTIONS, block);
        storage.store(memory, SOLVE_MOVES, block, moved.with(mass));
        storage.store(memory, SOLVE_RESIDUALS, block, residual.with(zero));
        storage.store(memory, SOLVE_DIRECTIONS, block, next_direction.with(zero));
        let next = moved + next_direction * trial;
        storage.store_trial(memory, block, next.with(inverse_mass));
    }
}

/// Begins the next part of a step, `ratio` times as long as the last one; after that one if it is
/// taken, else again from its start.
#[inline(always)]
fn begin_part<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
    is_taken: bool,
    ratio: f32,
) {
    let (zero, ratio) = (V::splat(simd, 0.0), V::splat(simd, ratio));
    for block in blocks::<V>(items) {
        let [x, y, z, inverse_mass] = storage.load(simd, memory, SOLVE_PREDICTIONS, block);
        let added = Vec3::xyz(load_rows(simd, memory, SOLVE_INERTIA, block));
        let mut inertia = Vec3::new(x, y, z) - added;
        if is_taken {
            inertia = solved_move(simd, memory, storage, block, inverse_mass);
            add_to_previous(simd, memory, block, inertia);
        }
        // Displacement by external acceleration scales with the square of the step.
        let added = added * (ratio * ratio);
        store_rows(memory, SOLVE_INERTIA, block, added.with(zero));
        let start = inertia * ratio + added;
        start_at(simd, memory, storage, block, start.with(inverse_mass));
    }
    storage.begin_part(simd, memory);
}

/// Adds to the previous positions of particles.
#[inline(always)]
fn add_to_previous<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    block: Block<V>,
    by: Vec3<V>,
) {
    let [x, y, z, w] = block.load(simd, memory.previous);
    block.store(memory.previous, (Vec3::new(x, y, z) + by).with(w));
}

/// Displacements of particles by the solve; 0 without a finite result, unless a particle is pinned.
#[inline(always)]
fn solved_move<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    storage: &impl Storage<V>,
    block: Block<V>,
    inverse_mass: V,
) -> Vec3<V> {
    let moved = Vec3::xyz(storage.load(simd, memory, SOLVE_MOVES, block));
    let is_held = memory.load_scratch(solve_state(memory, 3))[3] > 0.0;
    if !is_held {
        return moved;
    }
    Vec3::splat(simd, [0.0; 3]).or(V::splat(simd, 0.0).simd_lt(inverse_mass), moved)
}

/// Moves particles to the result of the solve, less what friction takes off their slide along
/// contact planes. After a step in parts the previous position is set back, so that the velocity is
/// that of the last part.
#[inline(always)]
pub(crate) fn end_solve<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    debug_assert_eq!(memory.load_scratch(solve_state(memory, 1))[2], SOLVE_DONE);
    let split = memory.load_implicit().split;
    let touches = StageMask(memory.registers.stages).intersects(StageMask::PROBES);
    let holds = memory.cloth.colliders.friction_holds != 0;
    let remainders = memory.cloth.remainder_begin;
    for block in blocks::<V>(items) {
        let [.., inverse_mass] = storage.load(simd, memory, SOLVE_PREDICTIONS, block);
        let moved = solved_move(simd, memory, storage, block, inverse_mass);
        let [x, y, z, w] = block.load(simd, memory.previous);
        let start = Vec3::new(x, y, z);
        let mut before = start;
        let mut last = moved;
        if split > 1.0 {
            before = before - moved * V::splat(simd, split - 1.0);
            last = moved * V::splat(simd, split);
        }
        let mut position = start + moved;
        if touches {
            let slide = plane_slide(simd, memory, block, moved, inverse_mass);
            // As in the collision stages: friction moves the particle back or only slows it down.
            if holds {
                position = position - slide;
            } else {
                before = before + slide;
            }
            last = last - slide;
        }
        if remainders != NO_OFFSET {
            let remainder = last - (position - before);
            memory.set_rows(remainders, block, remainder.with(V::splat(simd, 0.0)));
        }
        block.store(memory.previous, before.with(w));
        block.store(memory.current, position.with(inverse_mass));
    }
}
