//! Twin of `shaders/stage/bend.wgsl`, one bend per lane.

use std::ops::Range;

use poplin_layout::{BEND_WORDS, MIN_BEND_STIFFNESS};

use super::implicit::{Hinge, bend_ends};
use crate::ClothMemory;
use crate::fibers::{displacement_of, load_current, store_massive, vector_between};
use crate::lanes::{LaneMask as _, MAX_LANES, Real, max};
use crate::particles::{Block, blocks};
use crate::vector::Vec3;

/// Solves the dihedral angles of bends of one set with XPBD, stiffness and damping.
#[inline(always)]
pub(crate) fn solve_bend<V: Real>(simd: V::Token, memory: &mut ClothMemory<'_>, items: Range<u32>) {
    for block in blocks::<V>(items) {
        solve_block(simd, memory, block);
    }
}

/// Solves one bend per lane.
#[inline(always)]
fn solve_block<V: Real>(simd: V::Token, memory: &mut ClothMemory<'_>, bends: Block<V>) {
    let splat = |value: f32| V::splat(simd, value);
    let begin = memory.cloth.fabric.bend_begin;
    let word = |memory: &ClothMemory<'_>, k: u32| {
        V::from_fn(simd, |lane| memory.fabric_f32(begin + BEND_WORDS * bends.index(lane) + k))
    };
    let stiffness = splat(memory.cloth.bending.rigidity) * word(memory, 5);
    let ends = bend_ends(memory, bends);
    let p0 = load_current::<V>(simd, memory, |lane| ends[0][lane]);
    let p1 = load_current::<V>(simd, memory, |lane| ends[1][lane]);
    let p2 = load_current::<V>(simd, memory, |lane| ends[2][lane]);
    let p3 = load_current::<V>(simd, memory, |lane| ends[3][lane]);
    let first = |lane: usize| ends[0][lane];
    let edge = vector_between(simd, memory, [p0, p1], &first, &|lane| ends[1][lane]);
    let side_2 = vector_between(simd, memory, [p0, p2], &first, &|lane| ends[2][lane]);
    let side_3 = vector_between(simd, memory, [p0, p3], &first, &|lane| ends[3][lane]);
    let hinge = Hinge { edge, side_2, side_3 };
    let fold = hinge.fold(simd);
    let mut error = fold.angle_error(simd, edge, word(memory, 4));
    let edge_length = fold.edge_square.sqrt();
    let [gradient_1, gradient_2, gradient_3] = fold.angle_gradients(hinge, edge_length);
    let gradient_0 = -gradient_1 - gradient_2 - gradient_3;
    // W = sum w |grad|^2
    let mobility = p0[3] * gradient_0.dot(gradient_0)
        + p1[3] * gradient_1.dot(gradient_1)
        + p2[3] * gradient_2.dot(gradient_2)
        + p3[3] * gradient_3.dot(gradient_3);
    let damping = memory.cloth.bending.damping;
    let excess = splat(1.0) / stiffness - splat(0.5) * mobility;
    let mut weight = max(excess, splat(-4.0) * excess) + mobility;
    // lambda = (-C - damping grad . dx) / ((1 + damping) W + max(excess, -4 excess))
    if damping > 0.0 {
        let displacement = displacement(simd, memory, &ends[0], p0, gradient_0)
            + displacement(simd, memory, &ends[1], p1, gradient_1)
            + displacement(simd, memory, &ends[2], p2, gradient_2)
            + displacement(simd, memory, &ends[3], p3, gradient_3);
        error += splat(damping) * displacement;
        weight += splat(damping) * mobility;
    }
    let lambda = -error / weight;
    let is_solved = fold.is_usable
        & splat(MIN_BEND_STIFFNESS).simd_lt(stiffness)
        & splat(0.0).simd_lt(mobility);
    let bits = is_solved.to_bitmask() & bends.bits();
    push(simd, memory, &ends[0], p0, gradient_0 * lambda, bits);
    push(simd, memory, &ends[1], p1, gradient_1 * lambda, bits);
    push(simd, memory, &ends[2], p2, gradient_2 * lambda, bits);
    push(simd, memory, &ends[3], p3, gradient_3 * lambda, bits);
}

/// Displacements along their gradients of one particle of each bend since the last step.
#[inline(always)]
fn displacement<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    particles: &[u32; MAX_LANES],
    current: [V; 4],
    gradient: Vec3<V>,
) -> V {
    gradient.dot(displacement_of(simd, memory, current, |lane| particles[lane]))
}

/// Moves one particle of each bend whose bit is set by an impulse, unless it is pinned.
#[inline(always)]
fn push<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    particles: &[u32; MAX_LANES],
    current: [V; 4],
    impulse: Vec3<V>,
    bits: u64,
) {
    let moved = (Vec3::xyz(current) + impulse * current[3]).with(current[3]);
    store_massive(simd, memory, moved, |lane| particles[lane], bits);
}
