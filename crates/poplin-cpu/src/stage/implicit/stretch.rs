//! Stretch and shear of triangles.

use std::ops::Range;

use poplin_layout::{ImplicitConstants, MIN_EDGE_SQUARE, STRETCH_THREADS};

use super::storage::{Source, Storage};
use crate::ClothMemory;
use crate::lanes::{LaneMask as _, MAX_LANES, Real};
use crate::particles::{Block, blocks};
use crate::vector::Vec3;

/// Corner particles of triangles.
#[inline(always)]
pub(crate) fn corners_of<V: Real>(
    memory: &ClothMemory<'_>,
    triangles: Block<V>,
) -> [[u32; MAX_LANES]; 3] {
    let mut corners = [[0; MAX_LANES]; 3];
    let first = (memory.cloth.fabric.triangle_begin + 3 * triangles.index(0)) as usize;
    let particles = &memory.fabric_pool[first..][..3 * triangles.len()];
    for lane in 0..V::LEN {
        let triangle = &particles[3 * lane.min(triangles.len() - 1)..][..3];
        for k in 0..3 {
            corners[k][lane] = triangle[k];
        }
    }
    corners
}

/// Rest shapes of triangles: weights of the second and third corner in the derivatives by u, those
/// in the derivatives by v, and area.
#[inline(always)]
pub(super) fn shapes_of<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    triangles: Block<V>,
) -> [V; 5] {
    let fabric = &memory.cloth.fabric;
    let begin = (fabric.element_begin + triangles.index(0)) as usize;
    let numbers: &[f32] = bytemuck::cast_slice(memory.fabric_pool);
    let mut shapes = [V::splat(simd, 0.0); 5];
    for (k, shape) in shapes.iter_mut().enumerate() {
        let first = begin + k * fabric.triangle_count as usize;
        // The last block reads beyond its end: lanes without a triangle are not used.
        if let Some(all) = numbers.get(first..first + V::LEN) {
            *shape = V::from_slice(simd, all);
        } else {
            let mut padded = [0.0; MAX_LANES];
            for (slot, number) in padded.iter_mut().zip(&numbers[first..][..triangles.len()]) {
                *slot = *number;
            }
            *shape = V::from_slice(simd, &padded[..V::LEN]);
        }
    }
    shapes
}

/// Edges of triangles from the first corner to the second and third, between the rows of `source`.
#[inline(always)]
pub(crate) fn edges_of<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    storage: &impl Storage<V>,
    source: Source,
    corners: &[[u32; MAX_LANES]; 3],
) -> [Vec3<V>; 2] {
    let first = Vec3::xyz(storage.gathered(simd, memory, source, &corners[0]));
    let second = Vec3::xyz(storage.gathered(simd, memory, source, &corners[1]));
    let third = Vec3::xyz(storage.gathered(simd, memory, source, &corners[2]));
    [second - first, third - first]
}

/// Edges of triangles from their first corners \[m\]: one step ago, and in the trial.
#[inline(always)]
pub(super) fn trial_edges<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    storage: &impl Storage<V>,
    triangles: Block<V>,
    corners: &[[u32; MAX_LANES]; 3],
) -> [[Vec3<V>; 2]; 2] {
    // The previous edge plus a difference of displacements keeps more digits than a difference of
    // positions.
    let [last_p, last_q] = storage.last_edges(simd, memory, triangles, corners);
    let [p, q] = edges_of(simd, memory, storage, Source::Trial, corners);
    [[last_p, last_q], [last_p + p, last_q + q]]
}

/// Adds the gradients of the energy of triangles at their corners.
#[inline(always)]
pub(crate) fn stretch_triangle<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    let constants = memory.load_implicit();
    storage.clear_gradients(false);
    for block in blocks::<V>(items) {
        let corners = corners_of(memory, block);
        let edges = trial_edges(simd, memory, storage, block, &corners);
        let shapes = shapes_of(simd, memory, block);
        let gradients = stretch_gradients(simd, &constants, edges, shapes);
        storage.add_gradients(simd, memory, block, &corners, gradients);
    }
}

/// Gradients of the energy of triangles at their corners \[N\].
///
/// With wu and wv the derivatives of position by the rest coordinates u and v, and A the area:
/// threads: A/2 (Ku (|wu| - 1)^2 + Kv (|wv| - 1)^2 + G (wu . wv)^2), after Baraff, Witkin 1998,
/// Large Steps in Cloth Simulation, eqs. 9 to 11, with A instead of its square;
/// trispring: A (mu |E|^2 + lambda/2 tr(E)^2), E the Green strain: the quadratic springs of
/// Delingette 2008, Triangular Springs for Modeling Nonlinear Membranes.
///
/// Damping resists the change of |wu|, |wv| and wu . wv, or of E, since the last step: stiffer by
/// beta/h about a shape between the rest shape and the last one.
#[inline(always)]
fn stretch_gradients<V: Real>(
    simd: V::Token,
    constants: &ImplicitConstants,
    [[last_p, last_q], [p, q]]: [[Vec3<V>; 2]; 2],
    [u_second, u_third, v_second, v_third, area]: [V; 5],
) -> [Vec3<V>; 3] {
    let splat = |value: f32| V::splat(simd, value);
    let wu = p * u_second + q * u_third;
    let wv = p * v_second + q * v_third;
    let (stiffness_u, stiffness_v) = (splat(constants.stiffness_u), splat(constants.stiffness_v));
    let has_memory = constants.stretch_memory > 0.0;
    let share = splat(constants.stretch_memory);
    let nothing = Vec3::splat(simd, [0.0; 3]);
    let (mut last_u, mut last_v) = (nothing, nothing);
    if has_memory {
        last_u = last_p * u_second + last_q * u_third;
        last_v = last_p * v_second + last_q * v_third;
    }
    let last_shear = last_u.dot(last_v) * share;
    let (pu, pv);
    if constants.stretch_model == STRETCH_THREADS {
        let shear = splat(constants.shear_stiffness) * (wu.dot(wv) - last_shear);
        let rest = splat(constants.rest_fraction);
        let (mut rest_u, mut rest_v) = (rest, rest);
        if has_memory {
            rest_u += last_u.dot(last_u).sqrt() * share;
            rest_v += last_v.dot(last_v).sqrt() * share;
        }
        // dE/dwu = Ku (1 - 1/|wu|) wu + G (wu . wv) wv, and likewise for wv
        pu = wu * (stiffness_u * slack(simd, wu, rest_u)) + wv * shear;
        pv = wv * (stiffness_v * slack(simd, wv, rest_v)) + wu * shear;
    } else {
        let (mut strain_u, mut strain_v) = (excess_square(simd, wu), excess_square(simd, wv));
        if has_memory {
            strain_u -= excess_square(simd, last_u) * share;
            strain_v -= excess_square(simd, last_v) * share;
        }
        // strain_u, strain_v are twice the Green strains; lambda is stiffness_u, mu stiffness_v.
        let pressure = stiffness_u * splat(0.5) * (strain_u + strain_v);
        let shear = stiffness_v * (wu.dot(wv) - last_shear);
        pu = wu * (stiffness_v * strain_u + pressure) + wv * shear;
        pv = wv * (stiffness_v * strain_v + pressure) + wu * shear;
    }
    // Chain rule: wu and wv are linear in the corners. The first corner balances the others.
    let second = pu * (u_second * area) + pv * (v_second * area);
    let third = pu * (u_third * area) + pv * (v_third * area);
    [-(second + third), second, third]
}

/// Twice the Green strain along `d`: |d|^2 - 1. The constant comes first: drivers move constants
/// out of sums (Mesa does), and this order survives that.
#[inline(always)]
fn excess_square<V: Real>(simd: V::Token, d: Vec3<V>) -> V {
    V::splat(simd, -1.0) + d.x * d.x + d.y * d.y + d.z * d.z
}

/// Relative elongation: 1 - rest/|w|; 0 for a zero vector.
#[inline(always)]
pub(super) fn slack<V: Real>(simd: V::Token, w: Vec3<V>, rest: V) -> V {
    let square = w.dot(w);
    let slack = V::splat(simd, 1.0) - rest / square.sqrt();
    V::splat(simd, MIN_EDGE_SQUARE).simd_lt(square).select(slack, V::splat(simd, 0.0))
}
