//! `poplin_reference::stage::gauss_seidel`, a fiber per lane.

use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_layout::EPSILON;
use poplin_reference::ClothMemory;

use super::fibers::{Fibers, store_massive};
use crate::lanes::{Lanes, max, min};
use crate::vector::Vec3;

/// Solves the edges of fibers, each in order and immediately.
#[inline(always)]
pub(crate) fn project_fibers<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
) {
    let phase = memory.registers.phase;
    let splat = |value: f32| V::splat(simd, value);
    let (zero, epsilon) = (splat(0.0), splat(EPSILON));
    let mut begin = items.start;
    while begin < items.end {
        let fibers = Fibers::<V>::new(memory, begin..items.end);
        begin += V::LEN as u32;
        let mut a = fibers.first(memory);
        let mut pa = V::columns(simd, |lane| memory.load_current(a[lane]));
        for k in 0..fibers.longest {
            let b = fibers.next(memory, k, &a);
            let pb = V::columns(simd, |lane| memory.load_current(b[lane]));
            let rest_length = fibers.rest_lengths(simd, memory, k);
            let has_length = epsilon.simd_lt(rest_length);
            let delta = Vec3::xyz(pb).sub(Vec3::xyz(pa));
            let square = delta.guarded_square(simd);
            let mut error = has_length.select(splat(1.0) - rest_length / square.sqrt(), zero);
            error -= splat(phase.multiplier)
                * max(splat(phase.compression), min(error, splat(phase.stretch)));
            let mut weight = epsilon + pa[3] + pb[3];
            if phase.compliance > 0.0 {
                let last = |index: &[u32; crate::lanes::MAX_LANES]| {
                    Vec3::xyz(V::columns(simd, |lane| memory.load_previous(index[lane])))
                };
                let displacement = Vec3::xyz(pb).sub(last(&b)).sub(Vec3::xyz(pa).sub(last(&a)));
                let damping = splat(phase.damping);
                let damped = error + damping * (delta.dot(displacement) / square);
                let heavier = weight + damping * (pa[3] + pb[3]) + splat(phase.compliance);
                error = has_length.select(damped, error);
                weight = has_length.select(heavier, weight);
            }
            let correction = error * splat(phase.stiffness) / weight;
            let moved_a = Vec3::xyz(pa).add(delta.mul(correction * pa[3])).with(pa[3]);
            store_massive(memory, moved_a, &a, |lane| fibers.has(lane, k));
            let moved_b = Vec3::xyz(pb).sub(delta.mul(correction * pb[3]));
            let is_moved = zero.simd_lt(pb[3]);
            pa = fibers.keep(simd, k, moved_b.or(is_moved, Vec3::xyz(pb)).with(pb[3]), pa);
            a = b;
        }
        store_massive(memory, pa, &a, |lane| lane < fibers.count);
    }
}
