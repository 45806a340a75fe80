//! Some fibers of a set, one per lane.

use std::marker::PhantomData;
use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_reference::ClothMemory;

use crate::lanes::{Lanes, MAX_LANES};

/// The fibers of a block. Lanes without a fiber repeat the last one and have no edges.
pub(super) struct Fibers<V> {
    /// First entry of each fiber's vertices.
    vertices: [u32; MAX_LANES],
    /// First edge.
    edges: [u32; MAX_LANES],
    /// Edges of each.
    lengths: [u32; MAX_LANES],
    /// Edges of the longest.
    pub(super) longest: u32,
    /// Whether all lanes have as many.
    is_even: bool,
    /// Lanes with a fiber.
    pub(super) count: usize,
    vector: PhantomData<V>,
}

impl<V> Fibers<V> {
    /// The first fibers of some.
    #[inline(always)]
    pub(super) fn new<S: Simd>(memory: &ClothMemory<'_>, items: Range<u32>) -> Self
    where
        V: Lanes<S>,
    {
        let count = V::LEN.min((items.end - items.start) as usize);
        let fabric = &memory.cloth.fabric;
        let mut fibers = Self {
            vertices: [0; MAX_LANES],
            edges: [0; MAX_LANES],
            lengths: [0; MAX_LANES],
            longest: 0,
            is_even: count == V::LEN,
            count,
            vector: PhantomData,
        };
        for lane in 0..V::LEN {
            let fiber = items.start + lane.min(count - 1) as u32;
            let begin = memory.fabric(fabric.fiber_begin + fiber);
            let length = memory.fabric(fabric.fiber_begin + fiber + 1) - begin;
            fibers.vertices[lane] = fabric.vertex_begin + fiber + begin;
            fibers.edges[lane] = fabric.edge_begin + begin;
            fibers.lengths[lane] = if lane < count { length } else { 0 };
            fibers.longest = fibers.longest.max(fibers.lengths[lane]);
        }
        for lane in 0..V::LEN {
            fibers.is_even &= fibers.lengths[lane] == fibers.longest;
        }
        fibers
    }

    /// Whether the fiber of a lane has edge k.
    #[inline(always)]
    pub(super) fn has(&self, lane: usize, k: u32) -> bool {
        k < self.lengths[lane]
    }

    /// The first particle of each.
    #[inline(always)]
    pub(super) fn first<S: Simd>(&self, memory: &ClothMemory<'_>) -> [u32; MAX_LANES]
    where
        V: Lanes<S>,
    {
        let mut first = [0; MAX_LANES];
        for (first, vertices) in first.iter_mut().zip(self.vertices).take(V::LEN) {
            *first = memory.fabric(vertices);
        }
        first
    }

    /// The particle at the end of edge k; the present one where there is no such edge.
    #[inline(always)]
    pub(super) fn next(
        &self,
        memory: &ClothMemory<'_>,
        k: u32,
        present: &[u32; MAX_LANES],
    ) -> [u32; MAX_LANES] {
        let mut next = *present;
        for (lane, next) in next.iter_mut().enumerate() {
            if k < self.lengths[lane] {
                *next = memory.fabric(self.vertices[lane] + k + 1);
            }
        }
        next
    }

    /// The particle at the begin of edge k; the present one where there is no such edge.
    #[inline(always)]
    pub(super) fn previous(
        &self,
        memory: &ClothMemory<'_>,
        k: u32,
        present: &[u32; MAX_LANES],
    ) -> [u32; MAX_LANES] {
        let mut previous = *present;
        for (lane, previous) in previous.iter_mut().enumerate() {
            if k < self.lengths[lane] {
                *previous = memory.fabric(self.vertices[lane] + k);
            }
        }
        previous
    }

    /// Rest lengths of edge k, 0 where there is none.
    #[inline(always)]
    pub(super) fn rest_lengths<S: Simd>(&self, simd: S, memory: &ClothMemory<'_>, k: u32) -> V
    where
        V: Lanes<S>,
    {
        V::from_fn(simd, |lane| {
            if k < self.lengths[lane] { memory.fabric_f32(self.edges[lane] + k) } else { 0.0 }
        })
    }

    /// Lanes with edge k, or `None` if these are all.
    #[inline(always)]
    pub(super) fn mask<S: Simd>(&self, simd: S, k: u32) -> Option<V::Mask>
    where
        V: Lanes<S>,
    {
        let bit = |lane: usize| u64::from(k < self.lengths[lane]) << lane;
        (!self.is_even).then(|| {
            V::Mask::from_bitmask(simd, (0..V::LEN).fold(0, |bits, lane| bits | bit(lane)))
        })
    }

    /// New values for lanes with edge k, old ones for the others.
    #[inline(always)]
    pub(super) fn keep<S: Simd>(&self, simd: S, k: u32, new: [V; 4], old: [V; 4]) -> [V; 4]
    where
        V: Lanes<S>,
    {
        match self.mask(simd, k) {
            None => new,
            Some(mask) => [
                mask.select(new[0], old[0]),
                mask.select(new[1], old[1]),
                mask.select(new[2], old[2]),
                mask.select(new[3], old[3]),
            ],
        }
    }
}

/// Stores particles with mass. One without may belong to other fibers of the set: it is read, never written.
#[inline(always)]
pub(super) fn store_massive<S: Simd, V: Lanes<S>>(
    memory: &mut ClothMemory<'_>,
    particles: [V; 4],
    indices: &[u32; MAX_LANES],
    is_due: impl Fn(usize) -> bool,
) {
    V::rows(particles, |lane, row| {
        if row[3] > 0.0 && is_due(lane) {
            memory.store_current(indices[lane], row);
        }
    });
}
