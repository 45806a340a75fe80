//! Twin of `shaders/stage/second_order.wgsl`.

use std::ops::Range;

use poplin_layout::NO_OFFSET;

use crate::ClothMemory;
use crate::lanes::Real;
use crate::particles::{Particles, blocks_of};
use crate::vector::Vec3;

/// Row of the first last move by constraints: after the remainders, and the rests of positions
/// where there are any. Rows of predictions follow.
#[inline(always)]
fn last_moves_begin(lead: &ClothMemory<'_>) -> u32 {
    lead.rest_begin() + if lead.is_displaced() { lead.cloth.particle_count } else { 0 }
}

/// Stores the positions of particles before constraints.
#[inline(always)]
pub(crate) fn note_prediction<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    let cloth = &particles.lead().cloth;
    if cloth.remainder_begin == NO_OFFSET {
        return;
    }
    let predictions = last_moves_begin(particles.lead()) + cloth.particle_count;
    for block in blocks_of(particles, items) {
        let particle = particles.current(simd, block);
        particles.set_rows(predictions, block, particle);
    }
}

/// Subtracts a share of the change of the move by constraints from the next displacement.
#[inline(always)]
pub(crate) fn correct_velocity<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    let lead = particles.lead();
    let cloth = &lead.cloth;
    let remainders = cloth.remainder_begin;
    if remainders == NO_OFFSET {
        return;
    }
    let last_moves = last_moves_begin(lead);
    let predictions = last_moves + cloth.particle_count;
    let share = V::splat(simd, cloth.second_order);
    let has_last = lead.iteration.previous_bias[3] > 0.0;
    let (zero, nothing) = (V::splat(simd, 0.0), Vec3::splat(simd, [0.0; 3]));
    for block in blocks_of(particles, items) {
        let is_free = zero.simd_lt(particles.previous(simd, block)[3]);
        let here = Vec3::xyz(particles.current(simd, block));
        let moved = here - particles.rows(simd, predictions, block);
        let moved = moved.or(is_free, nothing);
        if has_last {
            let change = moved - particles.rows(simd, last_moves, block);
            let remainder = particles.rows(simd, remainders, block) - change * share;
            particles.set_rows(remainders, block, remainder.with(zero));
        }
        particles.set_rows(last_moves, block, moved.with(zero));
    }
}
