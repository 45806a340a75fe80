//! `poplin_reference::stage::implicit`: a triangle, a bend, a part of the sums or a particle per lane.

use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_layout::{
    ImplicitConstants, MIN_EDGE_SQUARE, SOLVE_DIRECTIONS, SOLVE_FORCES, SOLVE_MOVES, SOLVE_PARTS,
    SOLVE_PREDICTIONS, SOLVE_RESIDUALS, SOLVE_START, SOLVE_TRIALS, STRETCH_THREADS,
};
use poplin_reference::ClothMemory;
use poplin_reference::stage::implicit::{
    bend_end_row, corner_row, part_row, rate_row, solve_row, solve_state, takes_bends,
};

use super::particles::{Block, blocks};
use crate::lanes::{Lanes, MAX_LANES, gather, max, scatter};
use crate::vector::Vec3;

/// Gradients of the energies of triangles, to scratch.
#[inline(always)]
pub(crate) fn stretch_triangles<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let constants = memory.load_implicit();
    let rows = corner_row(memory, 0);
    for block in blocks::<V, S>(items) {
        let triangles = memory.cloth.fabric.triangle_begin;
        let corners: [[u32; MAX_LANES]; 3] = corners_of(memory, triangles, &block);
        let move_of =
            |k: usize| Vec3::xyz(gather(simd, |lane| memory.load_current(corners[k][lane])));
        let start_of =
            |k: usize| Vec3::xyz(gather(simd, |lane| memory.load_previous(corners[k][lane])));
        let (start, moved) = (start_of(0), move_of(0));
        let edges = Edges {
            last_p: start_of(1).sub(start),
            last_q: start_of(2).sub(start),
            p: move_of(1).sub(moved),
            q: move_of(2).sub(moved),
        };
        let shape = shapes_of::<S, V>(simd, memory, &block);
        let gradients = stretch_gradients(simd, &constants, edges, shape);
        let zero = V::splat(simd, 0.0);
        for (corner, gradient) in (0..).zip(gradients) {
            scatter(gradient.with(zero), |lane, row| {
                if lane < block.len() {
                    memory.store_scratch(rows + 3 * block.index(lane) + corner, row);
                }
            });
        }
    }
}

/// The particles of a block of triangles.
#[inline(always)]
fn corners_of<S: Simd, V: Lanes<S>>(
    memory: &ClothMemory<'_>,
    begin: u32,
    block: &Block<V>,
) -> [[u32; MAX_LANES]; 3] {
    let mut corners = [[0; MAX_LANES]; 3];
    let first = (begin + 3 * block.index(0)) as usize;
    let particles = &memory.fabric_pool[first..][..3 * block.len()];
    for lane in 0..V::LEN {
        let triangle = &particles[3 * lane.min(block.len() - 1)..][..3];
        for k in 0..3 {
            corners[k][lane] = triangle[k];
        }
    }
    corners
}

/// The rest shapes of a block of triangles.
#[inline(always)]
fn shapes_of<S: Simd, V: Lanes<S>>(simd: S, memory: &ClothMemory<'_>, block: &Block<V>) -> [V; 5] {
    let fabric = &memory.cloth.fabric;
    let begin = (fabric.element_begin + block.index(0)) as usize;
    let numbers: &[f32] = bytemuck::cast_slice(memory.fabric_pool);
    let number = |k: usize| {
        let numbers = &numbers[begin + k * fabric.triangle_count as usize..][..block.len()];
        if block.len() == V::LEN {
            V::from_slice(simd, numbers)
        } else {
            V::from_fn(simd, |lane| numbers[lane.min(numbers.len() - 1)])
        }
    };
    [number(0), number(1), number(2), number(3), number(4)]
}

/// Edges of triangles from their first corners one step ago, and how they have changed \[m\].
struct Edges<S: Simd, V: Lanes<S>> {
    last_p: Vec3<S, V>,
    last_q: Vec3<S, V>,
    p: Vec3<S, V>,
    q: Vec3<S, V>,
}

/// Gradients at the corners.
#[inline(always)]
fn stretch_gradients<S: Simd, V: Lanes<S>>(
    simd: S,
    constants: &ImplicitConstants,
    edges: Edges<S, V>,
    [u_second, u_third, v_second, v_third, area]: [V; 5],
) -> [Vec3<S, V>; 3] {
    let splat = |value: f32| V::splat(simd, value);
    let Edges { last_p, last_q, p, q } = edges;
    let (p, q) = (last_p.add(p), last_q.add(q));
    let wu = p.mul(u_second).add(q.mul(u_third));
    let wv = p.mul(v_second).add(q.mul(v_third));
    let (stiffness_u, stiffness_v) = (splat(constants.stiffness_u), splat(constants.stiffness_v));
    let has_memory = constants.stretch_memory > 0.0;
    let memory = splat(constants.stretch_memory);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let (mut last_u, mut last_v) = (nothing, nothing);
    if has_memory {
        last_u = last_p.mul(u_second).add(last_q.mul(u_third));
        last_v = last_p.mul(v_second).add(last_q.mul(v_third));
    }
    let last_shear = last_u.dot(last_v) * memory;
    let (pu, pv);
    if constants.stretch_model == STRETCH_THREADS {
        let shear = splat(constants.shear_stiffness) * (wu.dot(wv) - last_shear);
        let share = splat(constants.stretch_share);
        let (mut rest_u, mut rest_v) = (share, share);
        if has_memory {
            rest_u = share + last_u.dot(last_u).sqrt() * memory;
            rest_v = share + last_v.dot(last_v).sqrt() * memory;
        }
        pu = wu.mul(stiffness_u * slack(simd, wu, rest_u)).add(wv.mul(shear));
        pv = wv.mul(stiffness_v * slack(simd, wv, rest_v)).add(wu.mul(shear));
    } else {
        let (mut strain_u, mut strain_v) = (excess_square(simd, wu), excess_square(simd, wv));
        if has_memory {
            strain_u -= excess_square(simd, last_u) * memory;
            strain_v -= excess_square(simd, last_v) * memory;
        }
        let pressure = stiffness_u * splat(0.5) * (strain_u + strain_v);
        let shear = stiffness_v * (wu.dot(wv) - last_shear);
        pu = wu.mul(stiffness_v * strain_u + pressure).add(wv.mul(shear));
        pv = wv.mul(stiffness_v * strain_v + pressure).add(wu.mul(shear));
    }
    let second = pu.mul(u_second * area).add(pv.mul(v_second * area));
    let third = pu.mul(u_third * area).add(pv.mul(v_third * area));
    [second.add(third).neg(), second, third]
}

/// 1 - rest/|w|, 0 without a length.
#[inline(always)]
fn slack<S: Simd, V: Lanes<S>>(simd: S, w: Vec3<S, V>, rest: V) -> V {
    let square = w.dot(w);
    let slack = V::splat(simd, 1.0) - rest / square.sqrt();
    V::splat(simd, MIN_EDGE_SQUARE).simd_lt(square).select(slack, V::splat(simd, 0.0))
}

/// -1 + |d|^2.
#[inline(always)]
fn excess_square<S: Simd, V: Lanes<S>>(simd: S, d: Vec3<S, V>) -> V {
    V::splat(simd, -1.0) + d.x * d.x + d.y * d.y + d.z * d.z
}

/// Sum of rows in an order of the fabric: those that entries `begin` and `begin + 1` bound, of a list at `list`, of rows from
/// `rows` on.
#[inline(always)]
fn gradient<S: Simd>(
    simd: S,
    memory: &ClothMemory<'_>,
    begin: u32,
    list: u32,
    rows: u32,
) -> fearless_simd::f32x4<S> {
    use fearless_simd::f32x4;
    let [first, end] =
        [memory.fabric(begin), memory.fabric(begin + 1)].map(|k| (list + k) as usize);
    let mut sum = f32x4::splat(simd, 0.0);
    for &corner in &memory.fabric_pool[first..end] {
        sum += f32x4::from_slice(simd, &memory.load_scratch(rows + corner));
    }
    sum
}

/// Residuals of the trial, and their sums, of as many parts as there are lanes.
#[inline(always)]
pub(crate) fn sum_parts<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let takes = takes_bends(memory);
    let is_start = memory.load_scratch(solve_state(memory, 1))[2] == SOLVE_START;
    let constants = memory.load_implicit();
    let count = memory.cloth.particle_count;
    let array = |array: u32| solve_row(memory, array, 0);
    let [predictions, moves, residuals, trials, directions, forces] = [
        SOLVE_PREDICTIONS,
        SOLVE_MOVES,
        SOLVE_RESIDUALS,
        SOLVE_TRIALS,
        SOLVE_DIRECTIONS,
        SOLVE_FORCES,
    ]
    .map(array);
    let corners = memory.cloth.fabric.corner_begin;
    let ends = rate_row(memory, count);
    let (corner_rows, end_rows) = (corner_row(memory, 0), bend_end_row(memory, 0));
    let zero = V::splat(simd, 0.0);
    for block in blocks::<V, S>(items) {
        let (mut along, mut overlap, mut square_sum, mut longest) = (zero, zero, zero, zero);
        let mut rates = [zero; 4];
        for first in (block.index(0)..count).step_by(SOLVE_PARTS as usize) {
            let len = block.len().min((count - first) as usize);
            let mut force_rows = [[0.0; 4]; MAX_LANES];
            for (lane, row) in (0..len).zip(&mut force_rows) {
                let i = first + lane as u32;
                let stretch = gradient(simd, memory, corners + i, corners + count + 1, corner_rows);
                let bend = if takes {
                    let bend = gradient(simd, memory, ends + i, ends + count + 1, end_rows);
                    let mut row = [0.0; 4];
                    bend.store_slice(&mut row);
                    memory.store_scratch(forces + i, row);
                    bend
                } else {
                    fearless_simd::f32x4::from_slice(simd, &memory.load_scratch(forces + i))
                };
                (stretch + bend).store_slice(row);
            }
            let row = |lane: usize| first + lane.min(len - 1) as u32;
            let load = |begin: u32| -> [V; 4] {
                gather(simd, |lane| memory.load_scratch(begin + row(lane)))
            };
            let force = Vec3::xyz(V::columns(simd, &force_rows));
            let prediction = load(predictions);
            let inverse_mass = prediction[3];
            let moved = Vec3::xyz(gather(simd, |lane| memory.load_current(row(lane))));
            let scale = V::splat(simd, constants.step_square) * inverse_mass;
            let trial = Vec3::xyz(prediction).sub(moved).sub(force.mul(scale));
            // Pinned particles have no residual, and lanes without a particle count for nothing.
            let moves_mask = zero.simd_lt(inverse_mass);
            let trial = trial.or(moves_mask, Vec3::splat(simd, [0.0; 3]));
            let [.., mass] = load(moves);
            let square = trial.dot(trial);
            let counts = V::from_fn(simd, |lane| if lane < len { 1.0 } else { 0.0 });
            let counted = zero.simd_lt(counts) & moves_mask;
            along += counted.select(mass * trial.dot(Vec3::xyz(load(directions))), zero);
            overlap += counted.select(mass * trial.dot(Vec3::xyz(load(residuals))), zero);
            square_sum += counted.select(mass * square, zero);
            longest = counted.select(max(longest, square), longest);
            if is_start {
                let own = particle_rates(simd, memory, &constants, inverse_mass, row);
                for (rate, own) in rates.iter_mut().zip(own) {
                    *rate = counted.select(max(*rate, own), *rate);
                }
            }
            scatter(trial.with(zero), |lane, row| {
                if lane < len {
                    memory.store_scratch(trials + first + lane as u32, row);
                }
            });
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

/// Squared rates of the particles of lanes.
#[inline(always)]
fn particle_rates<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    inverse_mass: V,
    particle: impl Fn(usize) -> u32,
) -> [V; 4] {
    let begin = rate_row(memory, 0);
    let row = |lane: usize| {
        let row = begin + 4 * particle(lane);
        [0, 1, 2, 3].map(|k| memory.fabric_f32(row + k))
    };
    let [along_u, along_v, bend, length]: [V; 4] = gather(simd, row);
    let along_u = V::splat(simd, constants.rate_u) * along_u;
    let along_v = V::splat(simd, constants.rate_v) * along_v;
    let stretch = (along_u + along_v) * inverse_mass;
    let bend = V::splat(simd, constants.rigidity) * bend * inverse_mass;
    [stretch, bend, stretch * length, V::splat(simd, 0.0)]
}

/// Moves particles along the direction, and makes the next trial; the row of a particle is a vector.
#[inline(always)]
pub(crate) fn take_steps<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    use fearless_simd::f32x4;
    let splat = |value: f32| f32x4::splat(simd, value);
    let [step, kept, taken, renewed] = memory.load_scratch(solve_state(memory, 0)).map(splat);
    let [mixed, trial, ..] = memory.load_scratch(solve_state(memory, 1)).map(splat);
    let array = |array: u32| solve_row(memory, array, 0);
    let [predictions, moves, residuals, trials, directions] =
        [SOLVE_PREDICTIONS, SOLVE_MOVES, SOLVE_RESIDUALS, SOLVE_TRIALS, SOLVE_DIRECTIONS]
            .map(array);
    for i in items {
        let load = |begin: u32| f32x4::from_slice(simd, &memory.load_scratch(begin + i));
        let displacement = load(moves);
        let direction = load(directions);
        let moved = displacement + direction * step;
        let residual = load(residuals) * kept + load(trials) * taken;
        let next_direction = residual * renewed + direction * mixed;
        let next = moved + next_direction * trial;
        let mut rows = [[0.0; 4]; 4];
        moved.store_slice(&mut rows[0]);
        residual.store_slice(&mut rows[1]);
        next_direction.store_slice(&mut rows[2]);
        next.store_slice(&mut rows[3]);
        let [x, y, z, mass] = rows[0];
        let inverse_mass = memory.load_scratch(predictions + i)[3];
        memory.store_scratch(moves + i, [x, y, z, mass]);
        memory.store_scratch(residuals + i, rows[1]);
        memory.store_scratch(directions + i, rows[2]);
        let [x, y, z, _] = rows[3];
        memory.store_current(i, [x, y, z, inverse_mass]);
    }
}
