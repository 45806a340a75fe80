//! Springs of an implicit solve.

use glam::Vec3;
use poplin_layout::{
    END_OF_FIBER, ImplicitConstants, SPRING_HORIZONTAL, SPRING_KINDS, SPRING_SHEARING,
    SPRING_VERTICAL,
};

use super::rows::{link_list, previous_edge, trial_edge};
use super::stretch::slack;
use crate::ClothMemory;
use crate::math::dot3;

/// Start of the springs in `fabric_pool`, those of stretch and shear or those of bending: first
/// spring of each particle and one past the last, shape `[particle_count + 1]`, then two words per
/// spring: `SPRING_KINDS` times the edge plus its kind, and the factor on its stiffness.
pub fn spring_list(memory: &ClothMemory<'_>, of_bends: bool) -> u32 {
    let count = memory.cloth.particle_count;
    let first = link_list(memory) + 2 * count;
    if of_bends { first + count + 1 + 2 * memory.fabric(first + count) } else { first }
}

/// Iterates over the springs of particle i, as the index of their first word.
pub fn springs_of(
    memory: &ClothMemory<'_>,
    list: u32,
    i: u32,
) -> impl Iterator<Item = u32> + use<> {
    let words = list + memory.cloth.particle_count + 1;
    let [begin, end] = [list + i, list + i + 1].map(|entry| memory.fabric(entry));
    (begin..end).map(move |k| words + 2 * k)
}

/// Edge of a spring.
fn spring_edge(memory: &ClothMemory<'_>, spring: u32) -> u32 {
    memory.fabric(spring) / SPRING_KINDS
}

/// Particle at the other end of a spring of particle i.
pub fn spring_end(memory: &ClothMemory<'_>, spring: u32, i: u32) -> u32 {
    let ends = memory.cloth.fabric.ends_begin + 2 * spring_edge(memory, spring);
    // a ^ b ^ i is the other end.
    (memory.fabric(ends) ^ memory.fabric(ends + 1) ^ i) & !END_OF_FIBER
}

/// Stiffness of a spring [N/m].
pub fn spring_stiffness(
    memory: &ClothMemory<'_>,
    implicit: &ImplicitConstants,
    spring: u32,
) -> f32 {
    let stiffness = match memory.fabric(spring) % SPRING_KINDS {
        SPRING_VERTICAL => implicit.stiffness_v,
        SPRING_HORIZONTAL => implicit.stiffness_u,
        SPRING_SHEARING => implicit.shear_stiffness,
        _ => implicit.rigidity,
    };
    stiffness * memory.fabric_f32(spring + 1)
}

/// Rest length of a spring \[m\].
pub fn spring_rest(memory: &ClothMemory<'_>, spring: u32) -> f32 {
    memory.rest_length_of(spring_edge(memory, spring))
}

/// Returns the sum of the stiffnesses of the springs of particle i [N/m].
pub(super) fn spring_sum(memory: &ClothMemory<'_>, i: u32, of_bends: bool) -> f32 {
    let implicit = memory.load_implicit();
    let mut sum = 0.0;
    for spring in springs_of(memory, spring_list(memory, of_bends), i) {
        sum += spring_stiffness(memory, &implicit, spring);
    }
    sum
}

/// Returns the gradient of the energy of the springs of particle i \[N\], k/2 (l - L)^2 each, in
/// ascending order. Springs of stretch and shear have a fraction of their stiffness in compression.
pub(super) fn spring_gradient(memory: &ClothMemory<'_>, i: u32, of_bends: bool) -> Vec3 {
    let implicit = memory.load_implicit();
    let (share, rest_fraction) = if of_bends {
        (implicit.bend_memory, implicit.bend_rest_fraction)
    } else {
        (implicit.stretch_memory, implicit.rest_fraction)
    };
    let mut gradient = Vec3::ZERO;
    for spring in springs_of(memory, spring_list(memory, of_bends), i) {
        let other = spring_end(memory, spring, i);
        let edge = trial_edge(memory, i, other);
        let mut rest = spring_rest(memory, spring) * rest_fraction;
        if share > 0.0 {
            let last = previous_edge(memory, i, other);
            // Damping: stiffer by beta / h, about a rest length between that at rest and the last
            // one.
            rest += dot3(last, last).sqrt() * share;
        }
        // grad = -k (1 - L / |d|) d, d from particle i to the other end
        let mut pull = slack(edge, rest) * spring_stiffness(memory, &implicit, spring);
        if pull < 0.0 && !of_bends {
            pull *= implicit.compression;
        }
        gradient -= edge * pull;
    }
    gradient
}
