//! `poplin_reference::stage::tether`, a particle per lane.

use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_reference::ClothMemory;

use super::particles::blocks;
use crate::lanes::{Lanes, gather, max};
use crate::vector::Vec3;

/// Pulls particles back within the lengths of their tethers.
#[inline(always)]
pub(crate) fn constrain_tethers<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let (fabric, tethers) = (memory.cloth.fabric, memory.cloth.tethers);
    let particle_count = memory.cloth.particle_count;
    let tether_count = fabric.tethers_per_particle * particle_count;
    let splat = |value: f32| V::splat(simd, value);
    for block in blocks::<V, S>(items) {
        let particle = block.load(simd, memory.current);
        let here = Vec3::xyz(particle);
        let mut offset = Vec3::splat(simd, [0.0; 3]);
        for k in 0..fabric.tethers_per_particle {
            let tether = |lane: usize| fabric.tether_begin + k * particle_count + block.index(lane);
            let anchor = gather(simd, |lane| memory.load_scratch(memory.fabric(tether(lane))));
            let length = V::from_fn(simd, |lane| memory.fabric_f32(tether(lane) + tether_count));
            let delta = Vec3::xyz(anchor).sub(here);
            let slack =
                splat(1.0) - length * splat(tethers.scale) / delta.guarded_square(simd).sqrt();
            offset = offset.add(delta.mul(max(slack, splat(0.0))));
        }
        let moved = here.add(offset.mul(splat(tethers.stiffness))).with(particle[3]);
        block.store(memory.current, moved);
    }
}
