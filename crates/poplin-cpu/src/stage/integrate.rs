//! `poplin_reference::stage::integrate`, a particle per lane.

use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_layout::{MAX_COORDINATE, NO_OFFSET};
use poplin_reference::ClothMemory;

use super::particles::{blocks, multiply_columns};
use crate::lanes::{Lanes, gather};
use crate::vector::Vec3;

/// Verlet step of particles.
#[inline(always)]
pub(crate) fn integrate_particles<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let iteration = memory.iteration;
    let vector = |row: [f32; 4]| Vec3::<S, V>::splat(simd, [row[0], row[1], row[2]]);
    let splat = |value: f32| V::splat(simd, value);
    let (bias, previous_bias) = (vector(iteration.bias), vector(iteration.previous_bias));
    let velocity_scale = vector(iteration.velocity_scale);
    let zero = splat(0.0);
    let is_rotating = memory.cloth.rotation_begin != NO_OFFSET;
    let accelerations = memory.cloth.acceleration_begin;
    let max_move = memory.cloth.self_collision.max_move;
    for block in blocks::<V, S>(items) {
        let particle = block.load(simd, memory.current);
        let before = block.load(simd, memory.previous);
        let (here, last) = (Vec3::xyz(particle), Vec3::xyz(before));
        let w = particle[3].simd_eq(zero).select(before[3], particle[3]);
        let mut position = if is_rotating {
            let columns = memory.rotation_columns;
            let rotated = multiply_columns(simd, memory, columns, last).add(multiply_columns(
                simd,
                memory,
                columns + 3,
                here,
            ));
            here.add(rotated).add(bias)
        } else {
            here.add(here.sub(last).scale(velocity_scale)).add(bias)
        };
        if accelerations != NO_OFFSET {
            let rows = gather(simd, |lane| memory.input_row(accelerations + block.index(lane)));
            position = position.add(Vec3::xyz(rows).mul(splat(memory.cloth.acceleration_scale)));
        }
        if max_move > 0.0 {
            let displacement = position.sub(here);
            let square = displacement.dot(displacement);
            let limited = here.add(displacement.mul(splat(max_move) / square.sqrt()));
            position = limited.or(splat(max_move * max_move).simd_lt(square), position);
        }
        let is_free = zero.simd_lt(before[3]);
        let is_sane =
            is_within(simd, position.x) & is_within(simd, position.y) & is_within(simd, position.z);
        let faulty = (is_free & !is_sane).to_bitmask() & block.bits();
        if faulty != 0 {
            memory.fault_count += faulty.count_ones();
            memory.fault_particle =
                memory.fault_particle.min(block.index(faulty.trailing_zeros() as usize));
        }
        let moves = is_free & is_sane;
        let previous = here.add(previous_bias).or(moves, last.or(is_free, here));
        // A pin that was set elsewhere has arrived.
        let previous_w = is_free.select(before[3], zero);
        block.store(memory.previous, previous.with(previous_w));
        block.store(memory.current, position.or(moves, here).with(w));
    }
}

/// Whether coordinates are in range; NaN is not.
#[inline(always)]
fn is_within<S: Simd, V: Lanes<S>>(simd: S, x: V) -> V::Mask {
    let most = V::splat(simd, MAX_COORDINATE);
    x.simd_le(most) & x.simd_ge(V::splat(simd, -MAX_COORDINATE))
}
