//! Residuals of trials, and their sums over all particles.

use std::ops::Range;

use poplin_layout::{
    BEND_SPRINGS, ImplicitConstants, SOLVE_DIRECTIONS, SOLVE_FORCES, SOLVE_MOVES, SOLVE_PARTS,
    SOLVE_PLANES, SOLVE_PREDICTIONS, SOLVE_RESIDUALS, SOLVE_START, SOLVE_SUMS, SOLVE_TRIALS,
    STRETCH_SPRINGS,
};

use super::contact::plane_depth;
use super::rows::{
    bends_springs, is_preconditioned, load_rows, part_row, rate_row, scatter_rows, solve_state,
    stretches_springs, sum_row, takes_bends,
};
use super::springs::{spring_gradient, spring_sum};
use super::storage::Storage;
use crate::ClothMemory;
use crate::lanes::{LaneMask as _, Real, gather, max};
use crate::particles::{Block, blocks};
use crate::vector::Vec3;

/// Residuals of the trials of particles \[m\]: y - u - h^2 w grad E, the negative gradients of m/(2
/// h^2) |u - y|^2 + E(x + u) in the metric m/h^2; 0 for immovable particles.
#[inline(always)]
fn trial_residual<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    storage: &mut impl Storage<V>,
    constants: &ImplicitConstants,
    takes_bends: bool,
    block: Block<V>,
) -> Vec3<V> {
    let (zero, nothing) = (V::splat(simd, 0.0), Vec3::splat(simd, [0.0; 3]));
    let [x, y, z, inverse_mass] = storage.load(simd, memory, SOLVE_PREDICTIONS, block);
    let moves = zero.simd_lt(inverse_mass);
    if !moves.any_true() {
        return nothing;
    }
    let mut bend = Vec3::xyz(storage.load(simd, memory, SOLVE_FORCES, block));
    if takes_bends {
        bend = if constants.bend_model == BEND_SPRINGS {
            spring_gradient(simd, memory, constants, block, true)
        } else {
            storage.gradient(simd, memory, block, true)
        };
        storage.store(memory, SOLVE_FORCES, block, bend.with(zero));
    }
    let stretch = if constants.stretch_model == STRETCH_SPRINGS {
        spring_gradient(simd, memory, constants, block, false)
    } else {
        storage.gradient(simd, memory, block, false)
    };
    let plane = load_rows(simd, memory, SOLVE_PLANES, block);
    let moved = Vec3::xyz(storage.trial(simd, memory, block));
    // grad of kc/2 depth^2 = -kc depth n
    let pressure = V::splat(simd, constants.contact_stiffness) * plane_depth(simd, plane, moved);
    let force = stretch + bend - Vec3::xyz(plane) * pressure;
    let scale = V::splat(simd, constants.step_square) * inverse_mass;
    (Vec3::new(x, y, z) - moved - force * scale).or(moves, nothing)
}

/// Stores the residuals of the trials of particles for the chains.
#[inline(always)]
pub(crate) fn find_residual<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    let (takes, constants) = (takes_bends(memory), memory.load_implicit());
    for block in blocks::<V>(items) {
        let residual = trial_residual(simd, memory, storage, &constants, takes, block);
        storage.store(memory, SOLVE_TRIALS, block, residual.with(V::splat(simd, 0.0)));
    }
}

/// Stores the preconditioned residuals z1 of every `SOLVE_PARTS`-th particle from each part on, and
/// their partial sums: m r1 . d, m r1 . z, m r1 . z1 and the largest |r1|^2; at the start of a
/// solve also the largest squared rates.
#[inline(always)]
pub(crate) fn sum_part<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    let (takes, constants) = (takes_bends(memory), memory.load_implicit());
    let by_chains = is_preconditioned(memory);
    let is_start = memory.load_scratch(solve_state(memory, 1))[2] == SOLVE_START;
    let particle_count = memory.cloth.particle_count;
    let (zero, nothing) = (V::splat(simd, 0.0), Vec3::splat(simd, [0.0; 3]));
    for parts in blocks::<V>(items) {
        let mut sums = [zero; 4];
        let mut rates = [zero; 4];
        for first in (parts.index(0)..particle_count).step_by(SOLVE_PARTS as usize) {
            let block = Block::<V>::at(first, particle_count);
            let [.., inverse_mass] = storage.load(simd, memory, SOLVE_PREDICTIONS, block);
            let (trial, conditioned);
            if by_chains {
                trial = Vec3::xyz(storage.load(simd, memory, SOLVE_TRIALS, block));
                // Mean of the solutions along both families of chains, back in displacements: z =
                // sqrt(w) x.
                let root = V::splat(simd, 0.5) * inverse_mass.sqrt();
                conditioned = storage.chain_sum(simd, memory, block) * root;
            } else {
                trial = trial_residual(simd, memory, storage, &constants, takes, block);
                conditioned = trial;
            }
            let moves = zero.simd_lt(inverse_mass) & V::Mask::from_bitmask(simd, block.bits());
            let conditioned = conditioned.or(moves, nothing);
            let [.., mass] = storage.load(simd, memory, SOLVE_MOVES, block);
            let direction = Vec3::xyz(storage.load(simd, memory, SOLVE_DIRECTIONS, block));
            let residual = Vec3::xyz(storage.load(simd, memory, SOLVE_RESIDUALS, block));
            sums[0] += moves.select(mass * trial.dot(direction), zero);
            sums[1] += moves.select(mass * trial.dot(residual), zero);
            sums[2] += moves.select(mass * trial.dot(conditioned), zero);
            sums[3] = moves.select(max(sums[3], trial.dot(trial)), sums[3]);
            if is_start {
                let own = particle_rates(simd, memory, &constants, block, inverse_mass);
                for (rate, own) in rates.iter_mut().zip(own) {
                    *rate = moves.select(max(*rate, own), *rate);
                }
            }
            storage.store(memory, SOLVE_TRIALS, block, conditioned.with(zero));
        }
        let row = part_row(memory, 0);
        scatter_rows(memory, row, 2, parts, sums);
        scatter_rows(memory, row + 1, 2, parts, rates);
    }
}

/// Returns an upper bound on the bending stiffness at particle i [N/m].
#[inline]
pub(super) fn bend_rate(memory: &ClothMemory<'_>, i: u32) -> f32 {
    if bends_springs(memory) {
        return 2.0 * spring_sum(memory, i, true);
    }
    memory.load_implicit().rigidity * memory.fabric_f32(rate_row(memory, i) + 2)
}

/// Returns the stretch stiffness at particle i at rest, or of its springs along their directions
/// [N/m].
#[inline]
fn stretch_rate(memory: &ClothMemory<'_>, i: u32) -> f32 {
    if stretches_springs(memory) {
        return spring_sum(memory, i, false);
    }
    let (row, implicit) = (rate_row(memory, i), memory.load_implicit());
    implicit.rate_u * memory.fabric_f32(row) + implicit.rate_v * memory.fabric_f32(row + 1)
}

/// Squared rates of particles: of stretch and contact [1/s^2], of bending [1/s^2], and of stretch
/// times the length of their edges [m/s^2].
#[inline(always)]
fn particle_rates<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    block: Block<V>,
    inverse_mass: V,
) -> [V; 4] {
    let [stretch, bend, length, zero]: [V; 4] = gather(simd, |lane| {
        let i = block.index(lane);
        let length = memory.fabric_f32(rate_row(memory, i) + 3);
        [stretch_rate(memory, i), bend_rate(memory, i), length, 0.0]
    });
    let (stretch, bend) = (stretch * inverse_mass, bend * inverse_mass);
    let [x, y, z, _] = load_rows(simd, memory, SOLVE_PLANES, block);
    let has_none = x.simd_eq(zero) & y.simd_eq(zero) & z.simd_eq(zero);
    let contact = V::splat(simd, constants.contact_stiffness) * inverse_mass;
    [stretch + has_none.select(zero, contact), bend, stretch * length, zero]
}

/// Adds the partial sums from row `begin` on, in order.
pub(super) fn add_sums(memory: &ClothMemory<'_>, begin: u32, count: u32) -> [[f32; 4]; 2] {
    let mut sums = [0.0f32; 4];
    let mut rates = [0.0f32; 4];
    for rows in memory.scratch[begin as usize..][..2 * count as usize].chunks_exact(2) {
        let [part, others] = [0, 1].map(|k| rows[k].get().map(f32::from_bits));
        (0..3).for_each(|axis| sums[axis] += part[axis]);
        sums[3] = sums[3].max(part[3]);
        rates = std::array::from_fn(|axis| rates[axis].max(others[axis]));
    }
    [sums, rates]
}

/// Adds the partial sums of one group of parts.
pub fn sum_parts(memory: &mut ClothMemory<'_>, sum: u32) {
    let count = SOLVE_PARTS / SOLVE_SUMS;
    let [sums, rates] = add_sums(memory, part_row(memory, sum * count), count);
    memory.store_scratch(sum_row(memory, sum), sums);
    memory.store_scratch(sum_row(memory, sum) + 1, rates);
}
