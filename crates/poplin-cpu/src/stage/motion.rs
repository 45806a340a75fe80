//! Twin of `shaders/stage/motion.wgsl`.

use std::ops::Range;

use crate::lanes::{LaneMask as _, Real, max};
use crate::particles::{Particles, blocks_of};
use crate::vector::Vec3;

/// Pulls particles into their motion spheres.
#[inline(always)]
pub(crate) fn constrain_motion<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    let motion = particles.lead().cloth.motion;
    let splat = |value: f32| V::splat(simd, value);
    let zero = splat(0.0);
    for block in blocks_of(particles, items) {
        let spheres = [motion.sphere_start, motion.sphere_target];
        let sphere = particles.interpolated(simd, spheres, block);
        let particle = particles.current(simd, block);
        let delta = Vec3::xyz(sphere) - Vec3::xyz(particle);
        // slack = 1 - r / |d|;  x + d slack lies on the sphere around the target.
        let radius = max(sphere[3] * splat(motion.scale) + splat(motion.bias), zero);
        let slack = splat(1.0) - radius / delta.guarded_square(simd).sqrt();
        // A sphere of radius 0 pins the particle.
        let w = radius.simd_le(zero).select(zero, particle[3]);
        let moved = (Vec3::xyz(particle) + delta * (slack * splat(motion.stiffness))).with(w);
        particles.set_some(simd, block, moved, zero.simd_lt(slack));
    }
}
