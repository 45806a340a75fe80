//! Access to one fiber per lane: several fibers of a set of one cloth, or the same fiber of several
//! cloths.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;

use crate::ClothMemory;

use poplin_layout::NO_OFFSET;

use crate::lanes::{LaneMask as _, MAX_LANES, Real, gather, scatter};
use crate::math::exp2_portable;
use crate::vector::Vec3;

/// Fibers as seen by the stages that solve them, one per lane.
pub(crate) trait FiberLanes<V: Real> {
    /// One particle index per lane.
    type Particles: Copy;

    /// Number of edges of the longest fiber.
    fn longest(&self) -> u32;

    /// Particles at the begin (`end` 0) or the end (1) of edge `k`; lanes without that edge keep
    /// `present`.
    fn particles(&self, k: u32, end: u32, present: Self::Particles) -> Self::Particles;

    /// First particle of each fiber.
    fn first(&self) -> Self::Particles;

    /// Current positions and inverse masses.
    fn current(&self, simd: V::Token, particles: Self::Particles) -> [V; 4];

    /// Previous positions and inverse masses.
    fn previous(&self, simd: V::Token, particles: Self::Particles) -> [V; 4];

    /// Rest lengths of edge `k` \[m\], 0 in lanes without it.
    fn rest_lengths(&self, simd: V::Token, k: u32) -> V;

    /// Stiffness of edge `k`; `stiffness` unless every edge has its own.
    fn stiffness(&self, simd: V::Token, k: u32, stiffness: f32) -> V;

    /// Bit mask of the lanes with a fiber.
    fn bits(&self) -> u64;

    /// Bit mask of the lanes with an edge `k`.
    fn bits_of(&self, k: u32) -> u64;

    /// Selects `new` in lanes with an edge `k`, `old` in the others.
    fn keep_one(&self, simd: V::Token, k: u32, new: V, old: V) -> V;

    /// Stores the particles with mass in the lanes whose bit is set. Particles without mass may be
    /// shared with other fibers of the set: they are read, never written.
    fn store_massive(
        &mut self,
        simd: V::Token,
        values: [V; 4],
        particles: Self::Particles,
        bits: u64,
    );

    /// Applies [`Self::keep_one`] to four values.
    #[inline(always)]
    fn keep(&self, simd: V::Token, k: u32, new: [V; 4], old: [V; 4]) -> [V; 4] {
        [
            self.keep_one(simd, k, new[0], old[0]),
            self.keep_one(simd, k, new[1], old[1]),
            self.keep_one(simd, k, new[2], old[2]),
            self.keep_one(simd, k, new[3], old[3]),
        ]
    }
}

/// Consecutive fibers of one cloth. Lanes beyond the last fiber repeat it without edges.
pub(crate) struct Fibers<'a, 'm, V> {
    memory: &'a mut ClothMemory<'m>,
    /// First entry of each fiber's vertices in the fabric.
    vertices: [u32; MAX_LANES],
    /// First edge of each fiber in the fabric.
    edges: [u32; MAX_LANES],
    /// Number of edges of each fiber.
    lengths: [u32; MAX_LANES],
    /// Number of edges of the longest fiber.
    longest: u32,
    /// True if every lane has a fiber of this length, so that no lane needs masking.
    is_even: bool,
    /// Number of lanes with a fiber.
    count: usize,
    vector: PhantomData<V>,
}

impl<'a, 'm, V> Fibers<'a, 'm, V> {
    /// Takes the first fibers of `items`, one per lane.
    #[inline(always)]
    pub(crate) fn new(memory: &'a mut ClothMemory<'m>, items: Range<u32>) -> Self
    where
        V: Real,
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
            // Lanes beyond the last fiber read its vertices, but have no edges.
            let index = lane.min(count - 1);
            let fiber = items.start + index as u32;
            let (begin, length) = (begins[index], begins[index + 1] - begins[index]);
            // A fiber of n edges has n + 1 vertices: vertex lists are offset by one entry per
            // fiber.
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

impl<V: Real> FiberLanes<V> for Fibers<'_, '_, V> {
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
    fn current(&self, simd: V::Token, particles: [u32; MAX_LANES]) -> [V; 4] {
        load_current(simd, self.memory, |lane| particles[lane])
    }

    #[inline(always)]
    fn previous(&self, simd: V::Token, particles: [u32; MAX_LANES]) -> [V; 4] {
        gather(simd, |lane| self.memory.load_previous(particles[lane]))
    }

    #[inline(always)]
    fn rest_lengths(&self, simd: V::Token, k: u32) -> V {
        let mut lengths = [0.0; MAX_LANES];
        for (lane, length) in lengths.iter_mut().enumerate().take(V::LEN) {
            if self.is_even || k < self.lengths[lane] {
                *length = self.memory.fabric_f32(self.edges[lane] + k);
            }
        }
        V::from_slice(simd, &lengths[..V::LEN])
    }

    #[inline(always)]
    fn stiffness(&self, simd: V::Token, k: u32, stiffness: f32) -> V {
        let fabric = &self.memory.cloth.fabric;
        if fabric.edge_stiffness_begin == NO_OFFSET {
            return V::splat(simd, stiffness);
        }
        let edges = fabric.edge_stiffness_begin.wrapping_sub(fabric.edge_begin);
        let mut numbers = [0.0; MAX_LANES];
        for (lane, number) in numbers.iter_mut().enumerate().take(V::LEN) {
            if self.is_even || k < self.lengths[lane] {
                let edge = edges.wrapping_add(self.edges[lane] + k);
                *number = stiffness_of(self.memory, edge);
            }
        }
        V::from_slice(simd, &numbers[..V::LEN])
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
    fn keep_one(&self, simd: V::Token, k: u32, new: V, old: V) -> V {
        if self.is_even {
            return new;
        }
        V::Mask::from_bitmask(simd, FiberLanes::<V>::bits_of(self, k)).select(new, old)
    }

    #[inline(always)]
    fn store_massive(
        &mut self,
        simd: V::Token,
        values: [V; 4],
        particles: [u32; MAX_LANES],
        bits: u64,
    ) {
        store_massive(simd, self.memory, values, |lane| particles[lane], bits);
    }
}

/// Stiffness of an edge from the logarithm of its rest fraction at entry `edge` of the fabric.
pub(crate) fn stiffness_of(memory: &ClothMemory<'_>, edge: u32) -> f32 {
    1.0 - exp2_portable(memory.fabric_f32(edge) * memory.cloth.stiffness_exponent)
}

/// Rows of all lanes as one slice if their indices are consecutive, as those of neighboring fibers
/// often are.
#[inline(always)]
pub(crate) fn rows_of_run<'a, V: Real>(
    memory: &ClothMemory<'a>,
    index: &impl Fn(usize) -> u32,
) -> Option<&'a [Cell<[f32; 4]>]> {
    let first = index(0);
    // Compare the last index first: it decides in most cases.
    let mut others = index(V::LEN - 1).wrapping_sub(first) ^ (V::LEN - 1) as u32;
    if others != 0 {
        return None;
    }
    for lane in 1..V::LEN {
        others |= index(lane).wrapping_sub(first) ^ lane as u32;
    }
    if others == 0 { memory.current.get(first as usize..first as usize + V::LEN) } else { None }
}

/// Loads current particles of one cloth.
#[inline(always)]
pub(crate) fn load_current<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    index: impl Fn(usize) -> u32,
) -> [V; 4] {
    load_run(simd, memory, rows_of_run::<V>(memory, &index), index)
}

/// Loads current particles of one cloth; `run` comes from [`rows_of_run`].
#[inline(always)]
pub(crate) fn load_run<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    run: Option<&[Cell<[f32; 4]>]>,
    index: impl Fn(usize) -> u32,
) -> [V; 4] {
    match run {
        Some(rows) => gather(simd, |lane| rows[lane].get()),
        None => gather(simd, |lane| memory.load_current(index(lane))),
    }
}

/// Loads previous positions of one cloth.
#[inline(always)]
pub(crate) fn load_last<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    index: impl Fn(usize) -> u32,
) -> Vec3<V> {
    Vec3::xyz(gather(simd, |lane| memory.load_previous(index(lane))))
}

/// Vectors from particles `pa` to `pb` of one cloth, which may be displacements.
#[inline(always)]
pub(crate) fn vector_between<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    [pa, pb]: [[V; 4]; 2],
    a: &impl Fn(usize) -> u32,
    b: &impl Fn(usize) -> u32,
) -> Vec3<V> {
    let delta = Vec3::xyz(pb) - Vec3::xyz(pa);
    if !memory.is_displaced() {
        return delta;
    }
    (load_last(simd, memory, b) - load_last(simd, memory, a)) + delta
}

/// Displacements of particles of one cloth since the last step.
#[inline(always)]
pub(crate) fn displacement_of<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    particles: [V; 4],
    index: impl Fn(usize) -> u32,
) -> Vec3<V> {
    if memory.is_displaced() {
        return Vec3::xyz(particles);
    }
    Vec3::xyz(particles) - load_last(simd, memory, index)
}

/// Stores particles of one cloth as [`FiberLanes::store_massive`] does.
#[inline(always)]
pub(crate) fn store_massive<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    particles: [V; 4],
    index: impl Fn(usize) -> u32,
    bits: u64,
) {
    let run = rows_of_run::<V>(memory, &index);
    store_run(simd, memory, run, particles, index, bits);
}

/// Stores particles of one cloth as [`store_massive`] does; `run` comes from [`rows_of_run`].
#[inline(always)]
pub(crate) fn store_run<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    run: Option<&[Cell<[f32; 4]>]>,
    particles: [V; 4],
    index: impl Fn(usize) -> u32,
    bits: u64,
) {
    let bits = V::splat(simd, 0.0).simd_lt(particles[3]).to_bitmask() & bits;
    // All lanes write: consecutive rows need no index lookup.
    if bits == (1 << V::LEN) - 1 {
        match run {
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
