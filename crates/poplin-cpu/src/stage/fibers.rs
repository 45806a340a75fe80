//! A fiber per lane: some fibers of a set of one cloth, or the same one of several cloths.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

use fearless_simd::prelude::*;
use poplin_reference::ClothMemory;

use crate::lanes::{Lanes, MAX_LANES, gather, scatter};

/// What a stage that solves fibers sees: one in each lane.
pub(crate) trait FiberLanes<S: Simd, V: Lanes<S>> {
    /// One particle per lane.
    type Particles: Copy;

    /// Edges of the longest fiber.
    fn longest(&self) -> u32;

    /// The particles at an end of edge k, its begin (0) or its end (1); the present ones where there is no such edge.
    fn particles(&self, k: u32, end: u32, present: Self::Particles) -> Self::Particles;

    /// The first particle of each.
    fn first(&self) -> Self::Particles;

    /// Current particles.
    fn current(&self, simd: S, particles: Self::Particles) -> [V; 4];

    /// Previous particles.
    fn previous(&self, simd: S, particles: Self::Particles) -> [V; 4];

    /// Rest lengths of edge k, 0 where there is none.
    fn rest_lengths(&self, simd: S, k: u32) -> V;

    /// A bit for every lane with a fiber.
    fn bits(&self) -> u64;

    /// A bit for every lane with edge k.
    fn bits_of(&self, k: u32) -> u64;

    /// The new value for lanes with edge k, the old one for the others.
    fn keep_one(&self, simd: S, k: u32, new: V, old: V) -> V;

    /// Stores particles with mass of lanes whose bit is set. One without may belong to other fibers of the set: it is read,
    /// never written.
    fn store_massive(&mut self, simd: S, values: [V; 4], particles: Self::Particles, bits: u64);

    /// As [`Self::keep_one`], of four values.
    #[inline(always)]
    fn keep(&self, simd: S, k: u32, new: [V; 4], old: [V; 4]) -> [V; 4] {
        [
            self.keep_one(simd, k, new[0], old[0]),
            self.keep_one(simd, k, new[1], old[1]),
            self.keep_one(simd, k, new[2], old[2]),
            self.keep_one(simd, k, new[3], old[3]),
        ]
    }
}

/// Some fibers of one cloth. Lanes without a fiber repeat the last one and have no edges.
pub(super) struct Fibers<'a, 'm, V> {
    memory: &'a mut ClothMemory<'m>,
    /// First entry of each fiber's vertices.
    vertices: [u32; MAX_LANES],
    /// First edge.
    edges: [u32; MAX_LANES],
    /// Edges of each.
    lengths: [u32; MAX_LANES],
    /// Edges of the longest.
    longest: u32,
    /// Whether all lanes have as many.
    is_even: bool,
    /// Lanes with a fiber.
    count: usize,
    vector: PhantomData<V>,
}

impl<'a, 'm, V> Fibers<'a, 'm, V> {
    /// The first fibers of some.
    #[inline(always)]
    pub(super) fn new<S: Simd>(memory: &'a mut ClothMemory<'m>, items: Range<u32>) -> Self
    where
        V: Lanes<S>,
    {
        let count = V::LEN.min((items.end - items.start) as usize);
        let fabric = memory.cloth.fabric;
        let begins = &memory.fabric_pool[(fabric.fiber_begin + items.start) as usize..][..=count];
        let mut fibers = Self {
            memory,
            vertices: [0; MAX_LANES],
            edges: [0; MAX_LANES],
            lengths: [0; MAX_LANES],
            longest: 0,
            is_even: count == V::LEN,
            count,
            vector: PhantomData,
        };
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
}

impl<S: Simd, V: Lanes<S>> FiberLanes<S, V> for Fibers<'_, '_, V> {
    type Particles = [u32; MAX_LANES];

    #[inline(always)]
    fn longest(&self) -> u32 {
        self.longest
    }

    #[inline(always)]
    fn first(&self) -> [u32; MAX_LANES] {
        let mut first = [0; MAX_LANES];
        for (first, vertices) in first.iter_mut().zip(self.vertices).take(V::LEN) {
            *first = self.memory.fabric(vertices);
        }
        first
    }

    #[inline(always)]
    fn particles(&self, k: u32, end: u32, present: [u32; MAX_LANES]) -> [u32; MAX_LANES] {
        let mut particles = present;
        for (lane, particle) in particles.iter_mut().enumerate().take(V::LEN) {
            if self.is_even || k < self.lengths[lane] {
                *particle = self.memory.fabric(self.vertices[lane] + k + end);
            }
        }
        particles
    }

    #[inline(always)]
    fn current(&self, simd: S, particles: [u32; MAX_LANES]) -> [V; 4] {
        load_current(simd, self.memory, |lane| particles[lane])
    }

    #[inline(always)]
    fn previous(&self, simd: S, particles: [u32; MAX_LANES]) -> [V; 4] {
        gather(simd, |lane| self.memory.load_previous(particles[lane]))
    }

    #[inline(always)]
    fn rest_lengths(&self, simd: S, k: u32) -> V {
        let mut lengths = [0.0; MAX_LANES];
        for (lane, length) in lengths.iter_mut().enumerate().take(V::LEN) {
            if self.is_even || k < self.lengths[lane] {
                *length = self.memory.fabric_f32(self.edges[lane] + k);
            }
        }
        V::from_slice(simd, &lengths[..V::LEN])
    }

    #[inline(always)]
    fn bits(&self) -> u64 {
        (1 << self.count) - 1
    }

    #[inline(always)]
    fn bits_of(&self, k: u32) -> u64 {
        if self.is_even {
            return (1 << self.count) - 1;
        }
        let bit = |lane: usize| u64::from(k < self.lengths[lane]) << lane;
        (0..V::LEN).fold(0, |bits, lane| bits | bit(lane))
    }

    #[inline(always)]
    fn keep_one(&self, simd: S, k: u32, new: V, old: V) -> V {
        if self.is_even {
            return new;
        }
        V::Mask::from_bitmask(simd, FiberLanes::<S, V>::bits_of(self, k)).select(new, old)
    }

    #[inline(always)]
    fn store_massive(&mut self, simd: S, values: [V; 4], particles: [u32; MAX_LANES], bits: u64) {
        store_massive(simd, self.memory, values, |lane| particles[lane], bits);
    }
}

/// The rows of all lanes if they lie side by side, as those of neighbouring fibers often do.
#[inline(always)]
fn rows_of_run<'a, S: Simd, V: Lanes<S>>(
    memory: &ClothMemory<'a>,
    index: &impl Fn(usize) -> u32,
) -> Option<&'a [Cell<[f32; 4]>]> {
    let first = index(0);
    let mut others = index(V::LEN - 1).wrapping_sub(first) ^ (V::LEN - 1) as u32;
    if others != 0 {
        return None;
    }
    for lane in 1..V::LEN {
        others |= index(lane).wrapping_sub(first) ^ lane as u32;
    }
    if others == 0 { memory.current.get(first as usize..first as usize + V::LEN) } else { None }
}

/// Current particles of one cloth.
#[inline(always)]
pub(super) fn load_current<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &ClothMemory<'_>,
    index: impl Fn(usize) -> u32,
) -> [V; 4] {
    match rows_of_run::<S, V>(memory, &index) {
        Some(rows) => gather(simd, |lane| rows[lane].get()),
        None => gather(simd, |lane| memory.load_current(index(lane))),
    }
}

/// Stores particles of one cloth, as [`FiberLanes::store_massive`] does.
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
        match rows_of_run::<S, V>(memory, &index) {
            Some(rows) => scatter(particles, |lane, row| rows[lane].set(row)),
            None => scatter(particles, |lane, row| memory.store_current(index(lane), row)),
        }
    } else {
        scatter(particles, |lane, row| {
            if bits >> lane & 1 != 0 {
                memory.store_current(index(lane), row);
            }
        });
    }
}
