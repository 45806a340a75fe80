//! Some fibers of a set, one per lane.

use std::marker::PhantomData;
use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_reference::ClothMemory;

use crate::lanes::{Lanes, MAX_LANES, scatter};

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
    count: usize,
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
        let begins = &memory.fabric_pool[(fabric.fiber_begin + items.start) as usize..][..=count];
        for lane in 0..V::LEN {
            let index = lane.min(count - 1);
            let fiber = items.start + index as u32;
            let (begin, length) = (begins[index], begins[index + 1] - begins[index]);
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

    /// The particle at an end of edge k, its begin (0) or its end (1); the present one where there is no such edge.
    #[inline(always)]
    pub(super) fn particles<S: Simd>(
        &self,
        memory: &ClothMemory<'_>,
        k: u32,
        end: u32,
        present: &[u32; MAX_LANES],
    ) -> [u32; MAX_LANES]
    where
        V: Lanes<S>,
    {
        let mut particles = *present;
        for (lane, particle) in particles.iter_mut().enumerate().take(V::LEN) {
            if self.is_even || k < self.lengths[lane] {
                *particle = memory.fabric(self.vertices[lane] + k + end);
            }
        }
        particles
    }

    /// Rest lengths of edge k, 0 where there is none.
    #[inline(always)]
    pub(super) fn rest_lengths<S: Simd>(&self, simd: S, memory: &ClothMemory<'_>, k: u32) -> V
    where
        V: Lanes<S>,
    {
        let mut lengths = [0.0; MAX_LANES];
        for (lane, length) in lengths.iter_mut().enumerate().take(V::LEN) {
            if self.is_even || k < self.lengths[lane] {
                *length = memory.fabric_f32(self.edges[lane] + k);
            }
        }
        V::from_slice(simd, &lengths[..V::LEN])
    }

    /// A bit for every lane with a fiber.
    #[inline(always)]
    pub(super) fn bits(&self) -> u64 {
        (1 << self.count) - 1
    }

    /// A bit for every lane with edge k.
    #[inline(always)]
    pub(super) fn bits_of<S: Simd>(&self, k: u32) -> u64
    where
        V: Lanes<S>,
    {
        if self.is_even {
            return self.bits();
        }
        let bit = |lane: usize| u64::from(k < self.lengths[lane]) << lane;
        (0..V::LEN).fold(0, |bits, lane| bits | bit(lane))
    }

    /// New values for lanes with edge k, old ones for the others.
    #[inline(always)]
    pub(super) fn keep<S: Simd>(&self, simd: S, k: u32, new: [V; 4], old: [V; 4]) -> [V; 4]
    where
        V: Lanes<S>,
    {
        [
            self.keep_one(simd, k, new[0], old[0]),
            self.keep_one(simd, k, new[1], old[1]),
            self.keep_one(simd, k, new[2], old[2]),
            self.keep_one(simd, k, new[3], old[3]),
        ]
    }

    /// As [`Self::keep`], of one value.
    #[inline(always)]
    pub(super) fn keep_one<S: Simd>(&self, simd: S, k: u32, new: V, old: V) -> V
    where
        V: Lanes<S>,
    {
        if self.is_even {
            return new;
        }
        V::Mask::from_bitmask(simd, self.bits_of(k)).select(new, old)
    }
}

/// Stores particles with mass of lanes whose bit is set. One without may belong to other fibers of the set: it is read, never
/// written.
#[inline(always)]
pub(super) fn store_massive<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    particles: [V; 4],
    index: impl Fn(usize) -> u32,
    bits: u64,
) {
    let bits = V::splat(simd, 0.0).simd_lt(particles[3]).to_bitmask() & bits;
    if bits == (1 << V::LEN) - 1 {
        scatter(particles, |lane, row| memory.store_current(index(lane), row));
    } else {
        scatter(particles, |lane, row| {
            if bits >> lane & 1 != 0 {
                memory.store_current(index(lane), row);
            }
        });
    }
}
