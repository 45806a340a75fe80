//! Hessians of stretch, shear and springs, as 3 x 3 blocks along chains.

use std::ops::Range;

use crate::ClothMemory;
use crate::stage::implicit::{
    corner_row, spring_end, spring_list, spring_rest, spring_stiffness, springs_of,
};
use poplin_layout::{MIN_EDGE_SQUARE, NO_OFFSET, STRETCH_THREADS};

use super::energy::{corners_of, shapes_of, slack};
use super::{Solve, edges_of};
use crate::lanes::{LaneMask as _, MAX_LANES, Real, gather, max, scatter};
use crate::particles::blocks;
use crate::vector::Vec3;

/// Stores the factors of the triangle Hessians in scratch memory: `wu`, `wv` and the split of their
/// stiffness into an isotropic part and one along the direction.
#[inline(always)]
pub(crate) fn direct_triangles<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    let rows = corner_row(memory, 0);
    let (zero, one) = (V::splat(simd, 0.0), V::splat(simd, 1.0));
    for block in blocks::<V>(items) {
        let corners = corners_of::<V>(memory, memory.cloth.fabric.triangle_begin, &block);
        let [p, q] = edges_of::<V>(simd, &solve.trials, &corners);
        let [last_p, last_q] = solve.last_edges(simd, block.index(0));
        let (p, q) = (last_p.add(p), last_q.add(q));
        let [u_second, u_third, v_second, v_third, _] = shapes_of::<V>(simd, memory, &block);
        let wu = p.mul(u_second).add(q.mul(u_third));
        let wv = p.mul(v_second).add(q.mul(v_third));
        // Hessian of K/2 (|w| - 1)^2: K ((1 - 1/|w|) I + w w^T / |w|^3). The isotropic part is
        // clamped to 0, which keeps the matrix positive semi-definite in compression.
        let (all_u, all_v) = (max(slack(simd, wu, one), zero), max(slack(simd, wv, one), zero));
        let remainders = [
            remainder_over_square(simd, wu, all_u),
            remainder_over_square(simd, wv, all_v),
            zero,
            zero,
        ];
        for (k, columns) in (0..).zip([wu.with(all_u), wv.with(all_v), remainders]) {
            scatter(columns, |lane, row| {
                if lane < block.len() {
                    memory.store_scratch(rows + 3 * block.index(lane) + k, row);
                }
            });
        }
    }
}

/// Stiffness along `w` beyond the isotropic part: `(1 - all) / |w|^2`, 0 for a `w` without length.
#[inline(always)]
fn remainder_over_square<V: Real>(simd: V::Token, w: Vec3<V>, all: V) -> V {
    let square = w.dot(w);
    let remainder = (V::splat(simd, 1.0) - all) / square;
    V::splat(simd, MIN_EDGE_SQUARE).simd_lt(square).select(remainder, V::splat(simd, 0.0))
}

/// Symmetric 3 x 3 matrix: the diagonal, and the off-diagonal entries xy, xz, yz.
pub(super) struct Symmetric<V: Real> {
    pub(super) diagonal: Vec3<V>,
    pub(super) beside: Vec3<V>,
}

/// Sums the triangle Hessians of the particles of all lanes: the block of each particle itself, and
/// the block that couples it to the previous particle of its chain, as columns.
#[inline(always)]
pub(super) fn corner_blocks<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    particles: &[u32; MAX_LANES],
    previous: &[u32; MAX_LANES],
) -> (Symmetric<V>, [Vec3<V>; 3]) {
    let constants = memory.load_implicit();
    let splat = |value: f32| V::splat(simd, value);
    let stiffness = if constants.stretch_model == STRETCH_THREADS {
        [constants.stiffness_u, constants.stiffness_v, constants.shear_stiffness]
    } else {
        // Trispring at small strain: lambda + 2 mu along u and v, mu in shear.
        let along = constants.stiffness_u + 2.0 * constants.stiffness_v;
        [along, along, constants.stiffness_v]
    };
    let fabric = &memory.cloth.fabric;
    let corners = fabric.corner_begin + memory.cloth.particle_count + 1;
    let (mut begins, mut counts, mut most) = ([0; MAX_LANES], [0; MAX_LANES], 0);
    for lane in 0..V::LEN {
        begins[lane] = memory.fabric(fabric.corner_begin + particles[lane]);
        counts[lane] = memory.fabric(fabric.corner_begin + particles[lane] + 1) - begins[lane];
        most = most.max(counts[lane]);
    }
    let nothing: Vec3<V> = Vec3::splat(simd, [0.0; 3]);
    let mut pivot = Symmetric { diagonal: nothing, beside: nothing };
    let mut coupling = [nothing; 3];
    let first_row = corner_row(memory, 0);
    for c in 0..most {
        let mut triangles = [NO_OFFSET; MAX_LANES];
        let mut own = [0; MAX_LANES];
        for lane in 0..V::LEN {
            if c < counts[lane] {
                let entry = memory.fabric(corners + begins[lane] + c);
                (triangles[lane], own[lane]) = (entry / 3, entry % 3);
            }
        }
        // Lanes without a triangle get one of zero area and no stiffness.
        let mut rows = [[[0.0; 4]; MAX_LANES]; 3];
        let mut shapes = [[0.0; MAX_LANES]; 5];
        for lane in 0..V::LEN {
            let t = triangles[lane];
            if t != NO_OFFSET {
                for k in 0..3 {
                    rows[k as usize][lane] = memory.load_scratch(first_row + 3 * t + k);
                }
                for k in 0..5 {
                    let entry = fabric.element_begin + k * fabric.triangle_count + t;
                    shapes[k as usize][lane] = memory.fabric_f32(entry);
                }
            }
        }
        let [ux, uy, uz, all_u] = V::columns(simd, &rows[0]);
        let [vx, vy, vz, all_v] = V::columns(simd, &rows[1]);
        let [remainder_u, remainder_v, ..] = V::columns(simd, &rows[2]);
        let area = V::from_slice(simd, &shapes[4][..V::LEN]);
        let triangle = Directions {
            wu: Vec3::new(ux, uy, uz),
            wv: Vec3::new(vx, vy, vz),
            all: [all_u, all_v],
            remainders: [remainder_u, remainder_v],
            stiffness: [
                splat(stiffness[0]) * area,
                splat(stiffness[1]) * area,
                splat(stiffness[2]) * area,
            ],
        };
        let weights_of_own = weights::<V>(simd, &shapes, &own);
        // Diagonal block of the particle itself.
        let [x, y, z] = triangle.block(simd, weights_of_own, weights_of_own);
        pivot.diagonal = pivot.diagonal.add(Vec3::new(x.x, y.y, z.z));
        pivot.beside = pivot.beside.add(Vec3::new(y.x, z.x, z.y));
        for other in 0..3 {
            let mut flags = [0.0; MAX_LANES];
            for lane in 0..V::LEN {
                let t = triangles[lane];
                // Couples only if the triangle also contains the previous link.
                let is_there = t != NO_OFFSET && previous[lane] != NO_OFFSET;
                if is_there
                    && memory.fabric(fabric.triangle_begin + 3 * t + other) == previous[lane]
                {
                    flags[lane] = 1.0;
                }
            }
            if flags.iter().any(|flag| *flag > 0.0) {
                let mask = splat(0.0).simd_lt(V::from_slice(simd, &flags[..V::LEN]));
                let beyond = weights::<V>(simd, &shapes, &[other; MAX_LANES]);
                let [x, y, z] = triangle.block(simd, weights_of_own, beyond);
                coupling = [
                    coupling[0].add(x.or(mask, nothing)),
                    coupling[1].add(y.or(mask, nothing)),
                    coupling[2].add(z.or(mask, nothing)),
                ];
            }
        }
    }
    (pivot, coupling)
}

/// Factors of triangle Hessians, with stiffnesses times area.
struct Directions<V: Real> {
    wu: Vec3<V>,
    wv: Vec3<V>,
    all: [V; 2],
    remainders: [V; 2],
    stiffness: [V; 3],
}

impl<V: Real> Directions<V> {
    /// Columns of the Hessian block between two corners with the weights `a` and `b`, as
    /// `corner_block` of the reference computes it.
    #[inline(always)]
    fn block(&self, simd: V::Token, [a_u, a_v]: [V; 2], [b_u, b_v]: [V; 2]) -> [Vec3<V>; 3] {
        let Self { wu, wv, all: [all_u, all_v], remainders, stiffness } = *self;
        // A (Ku a_u b_u (all_u I + rest_u wu wu^T) + Kv a_v b_v (all_v I + rest_v wv wv^T) + G g_a
        // g_b^T) with g_a = a_u wv + a_v wu
        let along_u = stiffness[0] * (a_u * b_u);
        let along_v = stiffness[1] * (a_v * b_v);
        let all = along_u * all_u + along_v * all_v;
        let in_u = wu.mul(along_u * remainders[0]);
        let in_v = wv.mul(along_v * remainders[1]);
        let ga = wv.mul(a_u).add(wu.mul(a_v)).mul(stiffness[2]);
        let gb = wv.mul(b_u).add(wu.mul(b_v));
        let zero = V::splat(simd, 0.0);
        let x = Vec3::new(all, zero, zero).add(in_u.mul(wu.x)).add(in_v.mul(wv.x));
        let y = Vec3::new(zero, all, zero).add(in_u.mul(wu.y)).add(in_v.mul(wv.y));
        let z = Vec3::new(zero, zero, all).add(in_u.mul(wu.z)).add(in_v.mul(wv.z));
        [x.add(ga.mul(gb.x)), y.add(ga.mul(gb.y)), z.add(ga.mul(gb.z))]
    }
}

/// Weights of one corner of each triangle in the derivatives by u and v.
#[inline(always)]
fn weights<V: Real>(
    simd: V::Token,
    shapes: &[[f32; MAX_LANES]; 5],
    corners: &[u32; MAX_LANES],
) -> [V; 2] {
    let mut weights = [[0.0; MAX_LANES]; 2];
    for lane in 0..V::LEN {
        for axis in 0..2 {
            let (second, third) = (shapes[2 * axis][lane], shapes[2 * axis + 1][lane]);
            weights[axis][lane] = match corners[lane] {
                // The weights of a triangle's corners add up to 0.
                0 => -(second + third),
                1 => second,
                _ => third,
            };
        }
    }
    [V::from_slice(simd, &weights[0][..V::LEN]), V::from_slice(simd, &weights[1][..V::LEN])]
}

/// Sums the spring Hessians of the particles of all lanes, as [`corner_blocks`] does for triangles.
#[inline(always)]
pub(super) fn spring_blocks<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    particles: &[u32; MAX_LANES],
    previous: &[u32; MAX_LANES],
) -> (Symmetric<V>, [Vec3<V>; 3]) {
    let constants = memory.load_implicit();
    let (zero, nothing) = (V::splat(simd, 0.0), Vec3::splat(simd, [0.0; 3]));
    let list = spring_list(memory, false);
    let mut pivot = Symmetric { diagonal: nothing, beside: nothing };
    let mut coupling = [nothing; 3];
    let count_of = |lane: usize| springs_of(memory, list, particles[lane]).count();
    let most = (0..V::LEN).map(count_of).max().unwrap_or(0);
    for s in 0..most {
        let (mut ends, mut rests, mut stiffnesses) =
            (*particles, [0.0; MAX_LANES], [0.0; MAX_LANES]);
        let mut flags = [0.0; MAX_LANES];
        for lane in 0..V::LEN {
            if let Some(spring) = springs_of(memory, list, particles[lane]).nth(s) {
                ends[lane] = spring_end(memory, spring, particles[lane]);
                rests[lane] = spring_rest(memory, spring);
                stiffnesses[lane] = spring_stiffness(memory, &constants, spring);
                // Only the spring to the previous link couples along the chain.
                flags[lane] = if ends[lane] == previous[lane] { 1.0 } else { 0.0 };
            }
        }
        let previous_of = |lane: usize, of: &[u32; MAX_LANES]| memory.load_previous(of[lane]);
        let current_of = |lane: usize, of: &[u32; MAX_LANES]| memory.load_current(of[lane]);
        let start: Vec3<V> = Vec3::xyz(gather(simd, |lane| previous_of(lane, particles)));
        let moved: Vec3<V> = Vec3::xyz(gather(simd, |lane| current_of(lane, particles)));
        let last = Vec3::xyz(gather(simd, |lane| previous_of(lane, &ends))).sub(start);
        let edge = last.add(Vec3::xyz(gather(simd, |lane| current_of(lane, &ends))).sub(moved));
        let all = max(slack(simd, edge, V::from_slice(simd, &rests[..V::LEN])), zero);
        let stiffness = V::from_slice(simd, &stiffnesses[..V::LEN]);
        let along = edge.mul(stiffness * remainder_over_square(simd, edge, all));
        let beside = stiffness * all;
        // k (all I + rest d d^T), positive semi-definite as `all` is clamped to 0.
        let columns = [
            Vec3::new(beside, zero, zero).add(along.mul(edge.x)),
            Vec3::new(zero, beside, zero).add(along.mul(edge.y)),
            Vec3::new(zero, zero, beside).add(along.mul(edge.z)),
        ];
        let [x, y, z] = columns;
        pivot.diagonal = pivot.diagonal.add(Vec3::new(x.x, y.y, z.z));
        pivot.beside = pivot.beside.add(Vec3::new(y.x, z.x, z.y));
        let mask = zero.simd_lt(V::from_slice(simd, &flags[..V::LEN]));
        coupling = [
            coupling[0].sub(x.or(mask, nothing)),
            coupling[1].sub(y.or(mask, nothing)),
            coupling[2].sub(z.or(mask, nothing)),
        ];
    }
    (pivot, coupling)
}
