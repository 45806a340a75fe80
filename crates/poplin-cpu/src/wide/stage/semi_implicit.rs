//! Wide form of `crate::stage::semi_implicit`, one fiber per lane.
//!
//! The edges of a fiber are one symmetric tridiagonal system for their Lagrange multipliers, solved
//! by elimination (forward pass) and substitution (backward pass).

use std::ops::Range;

use crate::ClothMemory;
use poplin_layout::{
    EPSILON, MIN_EDGE_SQUARE, MIN_HELD_FRACTION, MIN_PIVOT_FRACTION, PhaseConstants,
};

use super::fibers::{FiberLanes, Fibers};
use crate::wide::lanes::{LaneMask as _, Real, min};
use crate::wide::vector::Vec3;

/// Values per edge kept for the backward pass: ratio, value, direction, and the particle at its
/// begin.
const ROWS: usize = 9;

/// Unit directions from `a` to `b`; 0 where the edge has no effect.
#[inline(always)]
fn edge_direction<V: Real>(simd: V::Token, pa: [V; 4], pb: [V; 4], rest_length: V) -> Vec3<V> {
    let zero = V::splat(simd, 0.0);
    let delta = Vec3::xyz(pb).sub(Vec3::xyz(pa));
    let square = delta.dot(delta);
    let acts = zero.simd_lt(pa[3] + pb[3])
        & V::splat(simd, EPSILON).simd_lt(rest_length)
        & V::splat(simd, MIN_EDGE_SQUARE).simd_lt(square);
    delta.div(square.sqrt()).or(acts, Vec3::splat(simd, [0.0; 3]))
}

/// Diagonals and right-hand sides of the equations of edges.
#[inline(always)]
fn edge_equation<V: Real>(
    simd: V::Token,
    pa: [V; 4],
    pb: [V; 4],
    displacement: Vec3<V>,
    rest_length: V,
    direction: Vec3<V>,
    phase: &PhaseConstants,
) -> [V; 2] {
    let splat = |value: f32| V::splat(simd, value);
    let length = direction.dot(Vec3::xyz(pb).sub(Vec3::xyz(pa)));
    let mut error = length - rest_length;
    let masses = pa[3] + pb[3];
    // (w_a + w_b) (1 + damping) + compliance on the diagonal.
    let mut diagonal = splat(phase.compliance) + splat(1.0 + phase.damping) * masses;
    if phase.softness > 0.0 {
        let relative = error / length;
        let (compression, stretch) = (splat(phase.compression), splat(phase.stretch));
        let is_soft = relative.simd_ge(compression) & relative.simd_le(stretch);
        // Within both limits, softness adds to the diagonal. Beyond them, the fraction `multiplier`
        // of the limit stays uncorrected.
        let softer = diagonal + splat(phase.softness) * masses;
        let limit = splat(0.0).simd_lt(relative).select(stretch, compression);
        let beyond = error - splat(phase.multiplier) * (limit * length);
        diagonal = is_soft.select(softer, diagonal);
        error = is_soft.select(error, beyond);
    }
    let right =
        splat(-phase.stiffness) * error - splat(phase.damping) * direction.dot(displacement);
    [diagonal, right]
}

/// Solves all edges of each fiber as one system, with compliance and damping. `rows` is scratch
/// memory.
#[inline(always)]
pub(crate) fn solve_fibers<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    rows: &mut Vec<f32>,
) {
    let phase = memory.registers.phase;
    let mut begin = items.start;
    while begin < items.end {
        solve(simd, &phase, &mut Fibers::<V>::new(memory, begin..items.end), rows);
        begin += V::LEN as u32;
    }
}

/// Displacements of particles in this iteration.
#[inline(always)]
fn displacement_of<V: Real>(p: [V; 4], last: [V; 4]) -> Vec3<V> {
    Vec3::xyz(p).sub(Vec3::xyz(last))
}

/// Solves the system of one fiber per lane.
#[inline(always)]
pub(crate) fn solve<V: Real, F: FiberLanes<V>>(
    simd: V::Token,
    phase: &PhaseConstants,
    fibers: &mut F,
    rows: &mut Vec<f32>,
) {
    let splat = |value: f32| V::splat(simd, value);
    let (zero, one) = (splat(0.0), splat(1.0));
    let scale = splat(-(1.0 + phase.damping));
    let len = ROWS * V::LEN;
    if rows.len() < len * fibers.longest() as usize {
        rows.resize(len * fibers.longest() as usize, 0.0);
    }
    let is_damped = phase.damping > 0.0;
    let still = Vec3::splat(simd, [0.0; 3]);
    let mut a = fibers.first();
    let mut pa = fibers.current(simd, a);
    let mut displacement_a =
        if is_damped { displacement_of(pa, fibers.previous(simd, a)) } else { still };
    let (mut last_direction, mut last_pivot, mut last_value) = (still, one, zero);
    let mut is_held = pa[3].simd_eq(zero);
    for (k, rows) in (0..fibers.longest()).zip(rows.chunks_exact_mut(len)) {
        let b = fibers.particles(k, 1, a);
        let pb = fibers.current(simd, b);
        let displacement_b =
            if is_damped { displacement_of(pb, fibers.previous(simd, b)) } else { still };
        let rest_length = fibers.rest_lengths(simd, k);
        let direction = edge_direction(simd, pa, pb, rest_length);
        let acts = zero.simd_lt(direction.dot(direction));
        let displacement = displacement_b.sub(displacement_a);
        let [diagonal, right] =
            edge_equation(simd, pa, pb, displacement, rest_length, direction, phase);
        let is_pin = pb[3].simd_eq(zero);
        // Neighbor edges couple through their shared particle: -(1 + damping) w_a n_{k-1} . n_k
        let mut between = scale * pa[3] * last_direction.dot(direction);
        let mut ratio = between / last_pivot;
        // Elimination: pivot_k = diagonal_k - between_k^2 / pivot_{k-1}
        let taken = between * ratio;
        let fraction =
            (is_held & is_pin).select(splat(MIN_HELD_FRACTION), splat(MIN_PIVOT_FRACTION));
        // Keeps the pivot at a fraction of its diagonal: straight fibers between two pins are
        // nearly singular.
        let most = diagonal - fraction * diagonal;
        let is_too_much = most.simd_lt(taken);
        // Rare, and divisions and roots dominate the cost of the forward pass.
        if is_too_much.any_true() {
            let shorter = between * (most / taken).sqrt();
            between = is_too_much.select(shorter, between);
            ratio = between / last_pivot;
        }
        let pivot = diagonal - min(taken, most);
        let ratio = acts.select(ratio, zero);
        // value_k = (right_k - between_k value_{k-1}) / pivot_k
        let value = acts.select((right - between * last_value) / pivot, zero);
        let pivot = acts.select(pivot, one);
        let values =
            [ratio, value, direction.x, direction.y, direction.z, pa[0], pa[1], pa[2], pa[3]];
        for (value, row) in values.iter().zip(rows.chunks_exact_mut(V::LEN)) {
            value.store_slice(row);
        }
        is_held = is_pin | (is_held & acts);
        pa = fibers.keep(simd, k, pb, pa);
        a = b;
        displacement_a = displacement_b;
        (last_direction, last_pivot, last_value) = (direction, pivot, value);
    }

    let (mut push, mut lambda, mut next_ratio) = (still, zero, zero);
    for (k, rows) in (0..fibers.longest()).zip(rows.chunks_exact(len)).rev() {
        let row = |index: usize| V::from_slice(simd, &rows[index * V::LEN..][..V::LEN]);
        let direction = Vec3::new(row(2), row(3), row(4));
        // lambda_k = value_k - ratio_{k+1} lambda_{k+1}
        let new_lambda = row(1) - next_ratio * lambda;
        let pull = direction.mul(new_lambda);
        // dx_a = w_a (n_k lambda_k - n_{k-1} lambda_{k-1})
        let moved = Vec3::xyz(pa).add(pull.sub(push).mul(pa[3])).with(pa[3]);
        fibers.store_massive(simd, moved, a, fibers.bits_of(k));
        a = fibers.particles(k, 0, a);
        pa = fibers.keep(simd, k, [row(5), row(6), row(7), row(8)], pa);
        let old = push.with(lambda);
        let [x, y, z, kept] = fibers.keep(simd, k, pull.with(new_lambda), old);
        (push, lambda) = (Vec3::new(x, y, z), kept);
        next_ratio = fibers.keep_one(simd, k, row(0), next_ratio);
    }
    let moved = Vec3::xyz(pa).sub(push.mul(pa[3])).with(pa[3]);
    fibers.store_massive(simd, moved, a, fibers.bits());
}
