//! Twin of `shaders/stage/separation.wgsl`.

use std::ops::Range;

use crate::lanes::Real;
use crate::particles::{Particles, blocks_of};
use crate::vector::Vec3;

/// Pushes particles out of their separation spheres.
#[inline(always)]
pub(crate) fn constrain_separation<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    let separation = particles.lead().cloth.separation;
    let splat = |value: f32| V::splat(simd, value);
    for block in blocks_of(particles, items) {
        let spheres = [separation.sphere_start, separation.sphere_target];
        let sphere = particles.interpolated(simd, spheres, block);
        let particle = particles.current(simd, block);
        let delta = Vec3::xyz(sphere) - Vec3::xyz(particle);
        // slack < 0 inside the sphere: the particle moves out along d.
        let slack = splat(1.0) - sphere[3] / delta.guarded_square(simd).sqrt();
        let moved = (Vec3::xyz(particle) + delta * slack).with(particle[3]);
        particles.set_some(simd, block, moved, slack.simd_lt(splat(0.0)));
    }
}
