//! Preconditioner: block-tridiagonal systems along the chains of warp and weft.

use glam::{Vec2, Vec3, Vec3Swizzles, vec2};
use poplin_layout::{
    ImplicitConstants, MIN_DETERMINANT, MIN_EDGE_SQUARE, NO_OFFSET, SOLVE_PLANES,
    SOLVE_PREDICTIONS, SOLVE_TRIALS, STRETCH_THREADS,
};

use super::bend_rate;
use super::rows::{
    chain_begin, chain_value_row, corner_row, link_particle, link_row, shape_value, solve_row,
    stretches_springs, trial_edge,
};
use super::springs::{spring_end, spring_list, spring_rest, spring_stiffness, springs_of};
use super::stretch::slack;
use crate::ClothMemory;
use crate::math::{dot3, particle as pack, xyz};

/// Writes the terms of the Hessian of triangle t to the rows of its corners: derivatives by u and v
/// of the trial, with the isotropic fraction of the stiffness along each, max(0, 1 - 1/|w|), and
/// the rest over |w|^2.
pub(super) fn direct_triangle(memory: &mut ClothMemory<'_>, t: u32) {
    let corners = memory.cloth.fabric.triangle_begin + 3 * t;
    let i0 = memory.fabric(corners);
    let p = trial_edge(memory, i0, memory.fabric(corners + 1));
    let q = trial_edge(memory, i0, memory.fabric(corners + 2));
    let wu = p * shape_value(memory, 0, t) + q * shape_value(memory, 1, t);
    let wv = p * shape_value(memory, 2, t) + q * shape_value(memory, 3, t);
    let [all_u, all_v] = [wu, wv].map(|w| slack(w, 1.0).max(0.0));
    let remainders = [remainder_over_square(wu, all_u), remainder_over_square(wv, all_v), 0.0, 0.0];
    let row = corner_row(memory, 3 * t);
    memory.store_scratch(row, pack(wu, all_u));
    memory.store_scratch(row + 1, pack(wv, all_v));
    memory.store_scratch(row + 2, remainders);
}

/// Returns (1 - all) / |w|^2; 0 for a zero vector.
fn remainder_over_square(w: Vec3, all: f32) -> f32 {
    let square = dot3(w, w);
    if square > MIN_EDGE_SQUARE { (1.0 - all) / square } else { 0.0 }
}

/// Returns the weights of a corner of triangle t in the derivatives by u and v.
fn corner_weights(memory: &ClothMemory<'_>, t: u32, corner: u32) -> Vec2 {
    let second = vec2(shape_value(memory, 0, t), shape_value(memory, 2, t));
    let third = vec2(shape_value(memory, 1, t), shape_value(memory, 3, t));
    match corner {
        0 => -(second + third),
        1 => second,
        _ => third,
    }
}

/// Returns the stiffness along u and v and of shear [N/m]; for a trispring those of small strains
/// without transverse contraction.
fn chain_stiffness(memory: &ClothMemory<'_>) -> Vec3 {
    let implicit = memory.load_implicit();
    if implicit.stretch_model == STRETCH_THREADS {
        return Vec3::new(implicit.stiffness_u, implicit.stiffness_v, implicit.shear_stiffness);
    }
    let along = implicit.stiffness_u + 2.0 * implicit.stiffness_v;
    Vec3::new(along, along, implicit.stiffness_v)
}

/// Returns the columns of the Hessian of triangle t between two of its corners: along u A Ku ci cj
/// (all I + rest w w^T), likewise along v, and of shear A G gi gj^T with g = cu wv + cv wu.
/// Positive semi-definite for equal corners.
fn corner_block(memory: &ClothMemory<'_>, t: u32, a: Vec2, b: Vec2) -> [Vec3; 3] {
    let row = corner_row(memory, 3 * t);
    let [u, v, remainders] = [0, 1, 2].map(|k| memory.load_scratch(row + k));
    let (wu, wv) = (xyz(u), xyz(v));
    let stiffness = chain_stiffness(memory) * shape_value(memory, 4, t);
    let along_u = stiffness.x * (a.x * b.x);
    let along_v = stiffness.y * (a.y * b.y);
    let all = along_u * u[3] + along_v * v[3];
    let in_u = wu * (along_u * remainders[0]);
    let in_v = wv * (along_v * remainders[1]);
    let ga = (wv * a.x + wu * a.y) * stiffness.z;
    let gb = wv * b.x + wu * b.y;
    [
        Vec3::new(all, 0.0, 0.0) + in_u * wu.x + in_v * wv.x + ga * gb.x,
        Vec3::new(0.0, all, 0.0) + in_u * wu.y + in_v * wv.y + ga * gb.y,
        Vec3::new(0.0, 0.0, all) + in_u * wu.z + in_v * wv.z + ga * gb.z,
    ]
}

/// Returns the columns of the Hessian of a spring at particle i: k (all I + rest d d^T), positive
/// semi-definite.
fn spring_block(
    memory: &ClothMemory<'_>,
    implicit: &ImplicitConstants,
    spring: u32,
    i: u32,
) -> [Vec3; 3] {
    let edge = trial_edge(memory, i, spring_end(memory, spring, i));
    let all = slack(edge, spring_rest(memory, spring)).max(0.0);
    let stiffness = spring_stiffness(memory, implicit, spring);
    let along = edge * (stiffness * remainder_over_square(edge, all));
    let beside = stiffness * all;
    [
        Vec3::new(beside, 0.0, 0.0) + along * edge.x,
        Vec3::new(0.0, beside, 0.0) + along * edge.y,
        Vec3::new(0.0, 0.0, beside) + along * edge.z,
    ]
}

/// Adds a block to a sum.
fn add_block(sum: &mut [Vec3; 3], block: [Vec3; 3]) {
    sum.iter_mut().zip(block).for_each(|(sum, column)| *sum += column);
}

/// Factors the part of I + h^2 M^-1/2 H M^-1/2 along a chain into blocks of L D L^T. H is the
/// Hessian of stretch, shear and contact at the start of the solve, and for bending an isotropic
/// bound. Coupling to particles outside the chain is only in the pivots.
pub(super) fn factor_chain(memory: &mut ClothMemory<'_>, chain: u32) {
    let implicit = memory.load_implicit();
    let step_square = implicit.step_square;
    let fabric = memory.cloth.fabric;
    let corners = fabric.corner_begin + memory.cloth.particle_count + 1;
    let mut previous = NO_OFFSET;
    let mut root_before = 0.0;
    // Inverse of the last pivot: diagonal; xy, xz, yz.
    let (mut diagonal, mut beside) = (Vec3::ZERO, Vec3::ZERO);
    for k in chain_begin(memory, chain)..chain_begin(memory, chain + 1) {
        let i = link_particle(memory, k);
        let inverse_mass = memory.load_scratch(solve_row(memory, SOLVE_PREDICTIONS, i))[3];
        let root = inverse_mass.max(0.0).sqrt();
        let (mut pivot, mut coupling) = ([Vec3::ZERO; 3], [Vec3::ZERO; 3]);
        let has_springs = stretches_springs(memory);
        if has_springs {
            for spring in springs_of(memory, spring_list(memory, false), i) {
                let block = spring_block(memory, &implicit, spring, i);
                add_block(&mut pivot, block);
                if spring_end(memory, spring, i) == previous {
                    add_block(&mut coupling, block.map(|column| -column));
                }
            }
        }
        let begin = memory.fabric(fabric.corner_begin + i);
        let end = if has_springs { 0 } else { memory.fabric(fabric.corner_begin + i + 1) };
        for c in begin..end {
            let entry = memory.fabric(corners + c);
            let t = entry / 3;
            let own = corner_weights(memory, t, entry % 3);
            add_block(&mut pivot, corner_block(memory, t, own, own));
            for other in 0..3 {
                if memory.fabric(fabric.triangle_begin + 3 * t + other) == previous {
                    let beyond = corner_weights(memory, t, other);
                    add_block(&mut coupling, corner_block(memory, t, own, beyond));
                }
            }
        }
        let plane = xyz(memory.load_scratch(solve_row(memory, SOLVE_PLANES, i)));
        let held = plane * implicit.contact_stiffness;
        let bend = bend_rate(memory, i);
        let scale = step_square * inverse_mass;
        let [x, y, z] = pivot;
        let own_diagonal = Vec3::new(x.x, y.y, z.z) + held * plane + bend;
        let own_beside = Vec3::new(y.x, z.x, z.y) + held.xxy() * plane.yzz();
        // Coupling block of the scaled system: h^2 sqrt(w_k) C sqrt(w_(k-1)).
        let between = step_square * (root * root_before);
        let [c0, c1, c2] = coupling.map(|column| column * between);
        // L = C D^-1;  D = I + h^2 w P - L C^T, diagonal d and off-diagonal o
        let l0 = c0 * diagonal.x + c1 * beside.x + c2 * beside.y;
        let l1 = c0 * beside.x + c1 * diagonal.y + c2 * beside.z;
        let l2 = c0 * beside.y + c1 * beside.z + c2 * diagonal.z;
        let d = 1.0 + own_diagonal * scale - (l0 * c0 + l1 * c1 + l2 * c2);
        let o =
            own_beside * scale - (l0.xxy() * c0.yzz() + l1.xxy() * c1.yzz() + l2.xxy() * c2.yzz());
        // Symmetric 3 x 3 inverse by cofactors.
        let cofactors =
            Vec3::new(d.y * d.z - o.z * o.z, d.x * d.z - o.y * o.y, d.x * d.y - o.x * o.x);
        let minors = Vec3::new(o.y * o.z - o.x * d.z, o.x * o.z - o.y * d.y, o.x * o.y - d.x * o.z);
        let determinant = d.x * cofactors.x + o.x * minors.x + o.y * minors.y;
        if determinant >= MIN_DETERMINANT {
            diagonal = cofactors / determinant;
            beside = minors / determinant;
        } else {
            // Without rounding no determinant is below 1: the diagonal stands in for the block.
            diagonal = 1.0 / (1.0 + own_diagonal * scale);
            beside = Vec3::ZERO;
        }
        let row = link_row(memory, k);
        memory.store_scratch(row, pack(l0, diagonal.x));
        memory.store_scratch(row + 1, pack(l1, diagonal.y));
        memory.store_scratch(row + 2, pack(l2, diagonal.z));
        memory.store_scratch(row + 3, pack(beside, root));
        previous = i;
        root_before = root;
    }
}

/// Solves a chain for the residuals of its particles, divided by the roots of their inverse masses.
pub(super) fn solve_chain(memory: &mut ClothMemory<'_>, chain: u32) {
    let begin = chain_begin(memory, chain);
    let end = chain_begin(memory, chain + 1);
    let particle_count = memory.cloth.particle_count;
    // The second family of chains starts after one link per particle.
    let values = if begin >= particle_count { particle_count } else { 0 };
    // Forward: y_k = r_k - L_k y_(k-1).
    let mut last = Vec3::ZERO;
    for k in begin..end {
        let i = link_particle(memory, k);
        let row = link_row(memory, k);
        let root = memory.load_scratch(row + 3)[3];
        let mut value = Vec3::ZERO;
        if root > 0.0 {
            value = xyz(memory.load_scratch(solve_row(memory, SOLVE_TRIALS, i))) / root;
        }
        let [l0, l1, l2] = [0, 1, 2].map(|column| xyz(memory.load_scratch(row + column)));
        value -= l0 * last.x + l1 * last.y + l2 * last.z;
        memory.store_scratch(chain_value_row(memory, values + i), pack(value, 0.0));
        last = value;
    }
    // Backward: x_k = D_k^-1 y_k - L_(k+1)^T x_(k+1).
    let mut carried = Vec3::ZERO;
    for k in (begin..end).rev() {
        let i = link_particle(memory, k);
        let row = link_row(memory, k);
        let [l0, l1, l2, beside] = [0, 1, 2, 3].map(|column| memory.load_scratch(row + column));
        let entry = chain_value_row(memory, values + i);
        let value = xyz(memory.load_scratch(entry));
        let solved = Vec3::new(
            l0[3] * value.x + beside[0] * value.y + beside[1] * value.z,
            beside[0] * value.x + l1[3] * value.y + beside[2] * value.z,
            beside[1] * value.x + beside[2] * value.y + l2[3] * value.z,
        ) - carried;
        memory.store_scratch(entry, pack(solved, 0.0));
        carried = Vec3::from_array([l0, l1, l2].map(|column| dot3(xyz(column), solved)));
    }
}
