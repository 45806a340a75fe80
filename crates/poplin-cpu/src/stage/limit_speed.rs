//! Twin of `shaders/stage/limit_speed.wgsl`.

use std::ops::Range;

use crate::lanes::{LaneMask as _, Real};
use crate::particles::{Particles, blocks_of};
use crate::vector::Vec3;

/// Limits the displacement of particles per iteration to `max_move`.
#[inline(always)]
pub(crate) fn limit_speed<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    let max_move = particles.lead().cloth.max_move;
    let splat = |value: f32| V::splat(simd, value);
    let shift = particles.constant(simd, |iteration| iteration.previous_bias);
    let zero = splat(0.0);
    let stays = shift.x.simd_eq(zero) & shift.y.simd_eq(zero) & shift.z.simd_eq(zero);
    let most = splat(max_move);
    let most_square = splat(max_move * max_move);
    for block in blocks_of(particles, items) {
        let particle = particles.current(simd, block);
        let previous = particles.previous(simd, block);
        let before = Vec3::xyz(previous);
        let start = before - shift;
        let displacement = Vec3::xyz(particle) - start;
        let square = displacement.dot(displacement);
        let is_free = zero.simd_lt(particle[3]);
        let is_far = is_free & most_square.simd_lt(square);
        // x <- x0 + d max_move / |d|
        let moved = start + displacement * (most / square.sqrt());
        particles.set_some(simd, block, moved.with(particle[3]), is_far);
        let position = moved.or(is_far, Vec3::xyz(particle));
        let velocity = position - before;
        let velocity_square = velocity.dot(velocity);
        let is_fast = is_free & !stays & most_square.simd_lt(velocity_square);
        if is_fast.any_true() {
            let last = position - velocity * (most / velocity_square.sqrt());
            particles.set_some_previous(simd, block, last.with(previous[3]), is_fast);
        }
    }
}
