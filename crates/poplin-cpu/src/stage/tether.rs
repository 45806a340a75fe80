//! Twin of `shaders/stage/tether.wgsl`.

use std::ops::Range;

use crate::ClothMemory;
use crate::lanes::{Real, max};
use crate::particles::{Particles, blocks_of};
use crate::vector::Vec3;

/// Copies tether anchors to scratch memory.
#[inline(always)]
pub(crate) fn gather_anchor(memory: &mut ClothMemory<'_>, items: Range<u32>) {
    for slot in items {
        let anchor = memory.fabric(memory.cloth.fabric.anchor_begin + slot);
        memory.store_scratch(slot, memory.load_current(anchor));
    }
}

/// Pulls particles back within the lengths of their tethers.
#[inline(always)]
pub(crate) fn constrain_tethers<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    let lead = particles.lead();
    let (fabric, tethers) = (lead.cloth.fabric, lead.cloth.tethers);
    let particle_count = lead.cloth.particle_count;
    let tether_count = fabric.tethers_per_particle * particle_count;
    let splat = |value: f32| V::splat(simd, value);
    for block in blocks_of(particles, items) {
        let particle = particles.current(simd, block);
        let here = Vec3::xyz(particle);
        let mut offset = Vec3::splat(simd, [0.0; 3]);
        for k in 0..fabric.tethers_per_particle {
            let begin = fabric.tether_begin + k * particle_count;
            let delta = particles.anchors(simd, begin, block) - here;
            let length = particles.fabric(simd, begin + tether_count, block);
            // slack = 1 - L / |d|, only where the tether is taut
            let slack =
                splat(1.0) - length * splat(tethers.scale) / delta.guarded_square(simd).sqrt();
            offset = offset + delta * max(slack, splat(0.0));
        }
        let moved = (here + offset * splat(tethers.stiffness)).with(particle[3]);
        particles.set_current(block, moved);
    }
}
