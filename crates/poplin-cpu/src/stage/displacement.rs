//! Twin of `shaders/stage/displacement.wgsl`.

use std::ops::Range;

use poplin_layout::NO_OFFSET;

use crate::lanes::Real;
use crate::particles::{Particles, blocks_of};
use crate::vector::Vec3;

/// Replaces positions by displacements since the last step.
#[inline(always)]
pub(crate) fn begin_displacement<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    let lead = particles.lead();
    let (remainders, rests) = (lead.cloth.remainder_begin, lead.rest_begin());
    if remainders == NO_OFFSET {
        return;
    }
    let zero = V::splat(simd, 0.0);
    for block in blocks_of(particles, items) {
        let particle = particles.current(simd, block);
        let is_free = zero.simd_lt(particle[3]);
        let moved = Vec3::xyz(particle) - Vec3::xyz(particles.previous(simd, block));
        let rest = particles.rows(simd, rests, block);
        let displacement = (moved + rest).or(is_free, moved);
        // A particle without mass keeps its place in the row of its rest, which is then 0.
        let remainder = particles.rows(simd, remainders, block);
        let remainder = remainder.or(is_free, remainder - rest);
        particles.set_rows(remainders, block, remainder.with(zero));
        let kept = rest.or(is_free, Vec3::xyz(particle));
        particles.set_rows(rests, block, kept.with(zero));
        particles.set_current(block, displacement.with(particle[3]));
    }
}

/// Replaces displacements by positions, and stores the rests of these.
#[inline(always)]
pub(crate) fn end_displacement<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    let lead = particles.lead();
    let (remainders, rests) = (lead.cloth.remainder_begin, lead.rest_begin());
    if remainders == NO_OFFSET {
        return;
    }
    let (zero, nothing) = (V::splat(simd, 0.0), Vec3::splat(simd, [0.0; 3]));
    for block in blocks_of(particles, items) {
        let particle = particles.current(simd, block);
        let is_free = zero.simd_lt(particle[3]);
        let moved = Vec3::xyz(particle);
        let before = Vec3::xyz(particles.previous(simd, block));
        let kept = particles.rows(simd, rests, block);
        let position = before + moved;
        let rest = moved - (position - before);
        let remainder = particles.rows(simd, remainders, block);
        let remainder = (remainder + (rest - kept)).or(is_free, remainder);
        particles.set_rows(remainders, block, remainder.with(zero));
        particles.set_rows(rests, block, rest.or(is_free, nothing).with(zero));
        particles.set_current(block, position.or(is_free, kept).with(particle[3]));
    }
}
