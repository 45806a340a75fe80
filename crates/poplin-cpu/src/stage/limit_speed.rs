//! Twin of `shaders/stage/limit_speed.wgsl`.

use std::ops::Range;

use crate::lanes::Real;
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
    for block in blocks_of(particles, items) {
        let particle = particles.current(simd, block);
        let before = Vec3::xyz(particles.previous(simd, block));
        let displacement = Vec3::xyz(particle) - before;
        let square = displacement.dot(displacement);
        let is_fast = splat(0.0).simd_lt(particle[3]) & splat(max_move * max_move).simd_lt(square);
        // x <- x0 + d max_move / |d|
        let moved = (before + displacement * (splat(max_move) / square.sqrt())).with(particle[3]);
        particles.set_some(simd, block, moved, is_fast);
    }
}
