//! State of a batch as columns, one coordinate of one particle in every cloth per vector.

use crate::floats::Floats;
use crate::lanes::{LaneMask as _, MAX_LANES, Real};

/// Number of particles after which a cache line is left free. Particles of a fiber are often a
/// power of two apart: without the line they would share a few sets of a cache.
const LINE_INTERVAL: usize = 16;

/// State of a batch, shape `[particle_count, 4, lanes]`: three coordinates and the inverse mass of
/// a particle, each with one cloth per lane.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    pub(super) current: Floats,
    pub(super) previous: Floats,
    /// Positions of tether anchors, copied by `gather_anchors`.
    pub(super) anchors: Floats,
}

impl Columns {
    /// Grows the columns to hold `particle_count` particles in `lanes` lanes.
    pub(crate) fn reserve(&mut self, particle_count: usize, lanes: usize) {
        let needed = len_of(lanes, particle_count);
        for columns in [&mut self.current, &mut self.previous, &mut self.anchors] {
            columns.enlarge(needed);
        }
    }

    /// Size of the columns \[bytes\].
    pub(crate) fn size(&self) -> usize {
        let columns = [&self.current, &self.previous, &self.anchors].map(Floats::size);
        columns.into_iter().sum()
    }
}

/// Length of the columns of `count` particles in `lanes` lanes; also where the next one begins.
#[inline(always)]
pub(super) fn len_of(lanes: usize, count: usize) -> usize {
    4 * lanes * count + count / LINE_INTERVAL * MAX_LANES
}

/// Loads the four vectors of particle `i`.
#[inline(always)]
pub(super) fn load<V: Real>(simd: V::Token, columns: &[f32], i: u32) -> [V; 4] {
    let columns = &columns[len_of(V::LEN, i as usize)..][..4 * V::LEN];
    [
        V::from_slice(simd, &columns[..V::LEN]),
        V::from_slice(simd, &columns[V::LEN..2 * V::LEN]),
        V::from_slice(simd, &columns[2 * V::LEN..3 * V::LEN]),
        V::from_slice(simd, &columns[3 * V::LEN..]),
    ]
}

/// Stores the four vectors of particle `i`.
#[inline(always)]
pub(super) fn store<V: Real>(columns: &mut [f32], i: u32, particles: [V; 4]) {
    store_position(columns, i, particles);
    let columns = &mut columns[len_of(V::LEN, i as usize)..][3 * V::LEN..4 * V::LEN];
    particles[3].store_slice(columns);
}

/// Stores the three coordinates of particle `i` and leaves its inverse mass.
#[inline(always)]
pub(super) fn store_position<V: Real>(columns: &mut [f32], i: u32, particles: [V; 4]) {
    let columns = &mut columns[len_of(V::LEN, i as usize)..][..3 * V::LEN];
    let [x, y, z, _] = particles;
    x.store_slice(&mut columns[..V::LEN]);
    y.store_slice(&mut columns[V::LEN..2 * V::LEN]);
    z.store_slice(&mut columns[2 * V::LEN..]);
}

/// Selects `new` where the mask is set, else `old`.
#[inline(always)]
pub(super) fn select<V: Real>(mask: V::Mask, new: [V; 4], old: [V; 4]) -> [V; 4] {
    [
        mask.select(new[0], old[0]),
        mask.select(new[1], old[1]),
        mask.select(new[2], old[2]),
        mask.select(new[3], old[3]),
    ]
}

/// Stores the vectors of particle `i` in the lanes where the mask is set.
#[inline(always)]
pub(super) fn store_some<V: Real>(
    simd: V::Token,
    columns: &mut [f32],
    i: u32,
    particles: [V; 4],
    mask: V::Mask,
) {
    if mask.any_true() {
        let old = load(simd, columns, i);
        store(columns, i, select(mask, particles, old));
    }
}
