//! Springs of an implicit solve.

use poplin_layout::{
    END_OF_FIBER, ImplicitConstants, SPRING_HORIZONTAL, SPRING_KINDS, SPRING_SHEARING,
    SPRING_VERTICAL,
};

use super::rows::link_list;
use super::stretch::slack;
use crate::ClothMemory;
use crate::lanes::{LaneMask as _, MAX_LANES, Real, gather};
use crate::particles::Block;
use crate::vector::Vec3;

/// Start of the springs in `fabric_pool`, those of stretch and shear or those of bending: first
/// spring of each particle and one past the last, shape `[particle_count + 1]`, then two words per
/// spring: `SPRING_KINDS` times the edge plus its kind, and the factor on its stiffness.
fn spring_list(memory: &ClothMemory<'_>, of_bends: bool) -> u32 {
    let count = memory.cloth.particle_count;
    let first = link_list(memory) + 2 * count;
    if of_bends { first + count + 1 + 2 * memory.fabric(first + count) } else { first }
}

/// Edge of a spring.
fn spring_edge(memory: &ClothMemory<'_>, spring: u32) -> u32 {
    memory.fabric(spring) / SPRING_KINDS
}

/// Particle at the other end of a spring of particle i.
fn spring_end(memory: &ClothMemory<'_>, spring: u32, i: u32) -> u32 {
    let ends = memory.cloth.fabric.ends_begin + 2 * spring_edge(memory, spring);
    // a ^ b ^ i is the other end.
    (memory.fabric(ends) ^ memory.fabric(ends + 1) ^ i) & !END_OF_FIBER
}

/// Stiffness of a spring [N/m].
fn spring_stiffness(memory: &ClothMemory<'_>, implicit: &ImplicitConstants, spring: u32) -> f32 {
    let stiffness = match memory.fabric(spring) % SPRING_KINDS {
        SPRING_VERTICAL => implicit.stiffness_v,
        SPRING_HORIZONTAL => implicit.stiffness_u,
        SPRING_SHEARING => implicit.shear_stiffness,
        _ => implicit.rigidity,
    };
    stiffness * memory.fabric_f32(spring + 1)
}

/// Rest length of a spring \[m\].
fn spring_rest(memory: &ClothMemory<'_>, spring: u32) -> f32 {
    memory.rest_length_of(spring_edge(memory, spring))
}

/// Returns the sum of the stiffnesses of the springs of particle i [N/m].
pub(super) fn spring_sum(memory: &ClothMemory<'_>, i: u32, of_bends: bool) -> f32 {
    let implicit = memory.load_implicit();
    let list = spring_list(memory, of_bends);
    let words = list + memory.cloth.particle_count + 1;
    let mut sum = 0.0;
    for k in memory.fabric(list + i)..memory.fabric(list + i + 1) {
        sum += spring_stiffness(memory, &implicit, words + 2 * k);
    }
    sum
}

/// Springs of one particle per lane.
pub(super) struct Springs<'a, V: Real> {
    particles: &'a [u32; MAX_LANES],
    /// First spring of each particle, and their number.
    begins: [u32; MAX_LANES],
    counts: [u32; MAX_LANES],
    /// Largest number of springs of a particle.
    pub(super) most: u32,
    /// First words of the first spring of all particles.
    words: u32,
    /// Positions one step ago, and displacements since \[m\].
    start: Vec3<V>,
    moved: Vec3<V>,
}

/// One spring per lane.
pub(super) struct Spring<V: Real> {
    /// Particles at the other ends.
    pub(super) ends: [u32; MAX_LANES],
    /// Edges to the other ends one step ago, and in the trial \[m\].
    last: Vec3<V>,
    pub(super) edge: Vec3<V>,
    /// Rest lengths \[m\].
    pub(super) rest: V,
    /// Stiffnesses [N/m].
    pub(super) stiffness: V,
}

impl<'a, V: Real> Springs<'a, V> {
    /// Finds the springs of stretch and shear, or of bending, of particles.
    #[inline(always)]
    pub(super) fn of(
        simd: V::Token,
        memory: &ClothMemory<'_>,
        particles: &'a [u32; MAX_LANES],
        of_bends: bool,
    ) -> Self {
        let list = spring_list(memory, of_bends);
        let (mut begins, mut counts, mut most) = ([0; MAX_LANES], [0; MAX_LANES], 0);
        for lane in 0..V::LEN {
            begins[lane] = memory.fabric(list + particles[lane]);
            counts[lane] = memory.fabric(list + particles[lane] + 1) - begins[lane];
            most = most.max(counts[lane]);
        }
        let words = list + memory.cloth.particle_count + 1;
        let start = Vec3::xyz(gather(simd, |lane| memory.load_previous(particles[lane])));
        let moved = Vec3::xyz(gather(simd, |lane| memory.load_current(particles[lane])));
        Self { particles, begins, counts, most, words, start, moved }
    }

    /// Spring k of each particle; a particle without one gets one of zero length and stiffness to
    /// itself.
    #[inline(always)]
    pub(super) fn nth(
        &self,
        simd: V::Token,
        memory: &ClothMemory<'_>,
        constants: &ImplicitConstants,
        k: u32,
    ) -> Spring<V> {
        let (mut rests, mut stiffnesses) = ([0.0; MAX_LANES], [0.0; MAX_LANES]);
        let mut ends = *self.particles;
        for lane in 0..V::LEN {
            if k < self.counts[lane] {
                let spring = self.words + 2 * (self.begins[lane] + k);
                ends[lane] = spring_end(memory, spring, ends[lane]);
                rests[lane] = spring_rest(memory, spring);
                stiffnesses[lane] = spring_stiffness(memory, constants, spring);
            }
        }
        let last = Vec3::xyz(gather(simd, |lane| memory.load_previous(ends[lane]))) - self.start;
        let now = Vec3::xyz(gather(simd, |lane| memory.load_current(ends[lane])));
        Spring {
            ends,
            last,
            edge: last + (now - self.moved),
            rest: V::from_slice(simd, &rests[..V::LEN]),
            stiffness: V::from_slice(simd, &stiffnesses[..V::LEN]),
        }
    }
}

/// Gradients of the energy of the springs of particles \[N\], k/2 (l - L)^2 each, in ascending
/// order. Springs of stretch and shear have a fraction of their stiffness in compression.
#[inline(always)]
pub(super) fn spring_gradient<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    block: Block<V>,
    of_bends: bool,
) -> Vec3<V> {
    let splat = |value: f32| V::splat(simd, value);
    let (share, rest_fraction) = if of_bends {
        (constants.bend_memory, constants.bend_rest_fraction)
    } else {
        (constants.stretch_memory, constants.rest_fraction)
    };
    let particles = std::array::from_fn(|lane| block.index(lane));
    let springs = Springs::<V>::of(simd, memory, &particles, of_bends);
    let mut sum = Vec3::splat(simd, [0.0; 3]);
    for k in 0..springs.most {
        let Spring { last, edge, rest, stiffness, .. } = springs.nth(simd, memory, constants, k);
        let mut rest = rest * splat(rest_fraction);
        if share > 0.0 {
            // Damping: stiffer by beta / h, about a rest length between that at rest and the last
            // one.
            rest += last.dot(last).sqrt() * splat(share);
        }
        // grad = -k (1 - L / |d|) d, d from the particle to the other end
        let mut pull = slack(simd, edge, rest) * stiffness;
        if !of_bends {
            let softer = pull * splat(constants.compression);
            pull = pull.simd_lt(splat(0.0)).select(softer, pull);
        }
        sum = sum - edge * pull;
    }
    sum
}
