//! Twin of `shaders/stage/mass.wgsl`.

use std::ops::Range;

use crate::lanes::{LaneMask as _, Real};
use crate::particles::{Particles, blocks_of};

/// Restores the inverse masses of the user, which colliders scale during an iteration.
#[inline(always)]
pub(crate) fn restore_mass<V: Real>(
    simd: V::Token,
    particles: &mut impl Particles<V>,
    items: Range<u32>,
) {
    for block in blocks_of(particles, items) {
        let [x, y, z, w] = particles.current(simd, block);
        let [.., own] = particles.previous(simd, block);
        // Particles pinned in this iteration (w = 0) stay pinned.
        let w = V::splat(simd, 0.0).simd_lt(w).select(own, w);
        particles.set_current(block, [x, y, z, w]);
    }
}
