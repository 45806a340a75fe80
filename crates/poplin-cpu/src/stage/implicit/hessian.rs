//! Hessians of stretch, shear and springs, as 3 x 3 blocks along chains.

use std::ops::Range;

use poplin_layout::{ImplicitConstants, MIN_EDGE_SQUARE, NO_OFFSET, STRETCH_THREADS};

use super::rows::{corner_row, scatter_rows};
use super::springs::{Spring, Springs};
use super::storage::Storage;
use super::stretch::{corners_of, shapes_of, slack, trial_edges};
use crate::ClothMemory;
use crate::lanes::{LaneMask as _, MAX_LANES, Real, max};
use crate::particles::blocks;
use crate::vector::Vec3;

/// Writes the terms of the Hessians of triangles to the rows of their corners: derivatives by u and
/// v of the trial, with the isotropic fraction of the stiffness along each, max(0, 1 - 1/|w|), and
/// the rest over |w|^2.
#[inline(always)]
pub(crate) fn direct_triangle<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    let (zero, one) = (V::splat(simd, 0.0), V::splat(simd, 1.0));
    let row = corner_row(memory, 0);
    for block in blocks::<V>(items) {
        let corners = corners_of(memory, block);
        let [_, [p, q]] = trial_edges(simd, memory, storage, block, &corners);
        let [u_second, u_third, v_second, v_third, _] = shapes_of(simd, memory, block);
        let wu = p * u_second + q * u_third;
        let wv = p * v_second + q * v_third;
        // Clamping at 0 keeps the Hessian positive semi-definite in compression.
        let (all_u, all_v) = (max(slack(simd, wu, one), zero), max(slack(simd, wv, one), zero));
        let rest_u = remainder_over_square(simd, wu, all_u);
        let rest_v = remainder_over_square(simd, wv, all_v);
        scatter_rows(memory, row, 3, block, wu.with(all_u));
        scatter_rows(memory, row + 1, 3, block, wv.with(all_v));
        scatter_rows(memory, row + 2, 3, block, [rest_u, rest_v, zero, zero]);
    }
}

/// Stiffness along w beyond the isotropic part: (1 - all) / |w|^2; 0 for a zero vector.
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

impl<V: Real> Symmetric<V> {
    #[inline(always)]
    fn zero(simd: V::Token) -> Self {
        let nothing = Vec3::splat(simd, [0.0; 3]);
        Self { diagonal: nothing, beside: nothing }
    }

    /// Adds a matrix of columns.
    #[inline(always)]
    fn add(&mut self, [x, y, z]: [Vec3<V>; 3]) {
        self.diagonal = self.diagonal + Vec3::new(x.x, y.y, z.z);
        self.beside = self.beside + Vec3::new(y.x, z.x, z.y);
    }
}

/// Sums of the Hessians of the triangles of particles: the block of each particle itself, and the
/// columns of the block that couples it to the previous particle of its chain.
#[inline(always)]
pub(super) fn corner_blocks<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    particles: &[u32; MAX_LANES],
    previous: &[u32; MAX_LANES],
) -> (Symmetric<V>, [Vec3<V>; 3]) {
    let splat = |value: f32| V::splat(simd, value);
    // Stiffness along u and v and of shear [N/m]; of a trispring that of small strains without
    // transverse contraction.
    let stiffness = if constants.stretch_model == STRETCH_THREADS {
        [constants.stiffness_u, constants.stiffness_v, constants.shear_stiffness]
    } else {
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
    let mut pivot = Symmetric::zero(simd);
    let mut coupling = [nothing; 3];
    let first_row = corner_row(memory, 0);
    for c in 0..most {
        // Lanes without a triangle get one of zero area and no stiffness.
        let mut triangles = [NO_OFFSET; MAX_LANES];
        let mut own = [0; MAX_LANES];
        let mut rows = [[[0.0; 4]; MAX_LANES]; 3];
        let mut shapes = [[0.0; MAX_LANES]; 5];
        for lane in 0..V::LEN {
            if c < counts[lane] {
                let entry = memory.fabric(corners + begins[lane] + c);
                let t = entry / 3;
                (triangles[lane], own[lane]) = (t, entry % 3);
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
        pivot.add(triangle.block(simd, weights_of_own, weights_of_own));
        for other in 0..3 {
            let mut flags = 0;
            for lane in 0..V::LEN {
                let t = triangles[lane];
                // Couples only if the triangle also contains the previous link.
                let is_there = t != NO_OFFSET && previous[lane] != NO_OFFSET;
                if is_there
                    && memory.fabric(fabric.triangle_begin + 3 * t + other) == previous[lane]
                {
                    flags |= 1 << lane;
                }
            }
            if flags != 0 {
                let mask = V::Mask::from_bitmask(simd, flags);
                let beyond = weights::<V>(simd, &shapes, &[other; MAX_LANES]);
                let [x, y, z] = triangle.block(simd, weights_of_own, beyond);
                coupling = [
                    coupling[0] + x.or(mask, nothing),
                    coupling[1] + y.or(mask, nothing),
                    coupling[2] + z.or(mask, nothing),
                ];
            }
        }
    }
    (pivot, coupling)
}

/// Terms of the Hessians of triangles, with stiffnesses times area.
struct Directions<V: Real> {
    wu: Vec3<V>,
    wv: Vec3<V>,
    all: [V; 2],
    remainders: [V; 2],
    stiffness: [V; 3],
}

impl<V: Real> Directions<V> {
    /// Columns of the Hessian between two corners with the weights `a` and `b`: along u A Ku au bu
    /// (all I + rest w w^T), likewise along v, and of shear A G ga gb^T with g = cu wv + cv wu.
    /// Positive semi-definite for equal corners.
    #[inline(always)]
    fn block(&self, simd: V::Token, [a_u, a_v]: [V; 2], [b_u, b_v]: [V; 2]) -> [Vec3<V>; 3] {
        let Self { wu, wv, all: [all_u, all_v], remainders, stiffness } = *self;
        let along_u = stiffness[0] * (a_u * b_u);
        let along_v = stiffness[1] * (a_v * b_v);
        let all = along_u * all_u + along_v * all_v;
        let in_u = wu * (along_u * remainders[0]);
        let in_v = wv * (along_v * remainders[1]);
        let ga = (wv * a_u + wu * a_v) * stiffness[2];
        let gb = wv * b_u + wu * b_v;
        let zero = V::splat(simd, 0.0);
        let x = Vec3::new(all, zero, zero) + in_u * wu.x + in_v * wv.x;
        let y = Vec3::new(zero, all, zero) + in_u * wu.y + in_v * wv.y;
        let z = Vec3::new(zero, zero, all) + in_u * wu.z + in_v * wv.z;
        [x + ga * gb.x, y + ga * gb.y, z + ga * gb.z]
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

/// Sums of the Hessians of the springs of particles, k (all I + rest d d^T) each, as
/// [`corner_blocks`] has them for triangles.
#[inline(always)]
pub(super) fn spring_blocks<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    particles: &[u32; MAX_LANES],
    previous: &[u32; MAX_LANES],
) -> (Symmetric<V>, [Vec3<V>; 3]) {
    let (zero, nothing) = (V::splat(simd, 0.0), Vec3::splat(simd, [0.0; 3]));
    let springs = Springs::<V>::of(simd, memory, particles, false);
    let mut pivot = Symmetric::zero(simd);
    let mut coupling = [nothing; 3];
    for k in 0..springs.most {
        let Spring { ends, edge, rest, stiffness, .. } = springs.nth(simd, memory, constants, k);
        let all = max(slack(simd, edge, rest), zero);
        let along = edge * (stiffness * remainder_over_square(simd, edge, all));
        let beside = stiffness * all;
        let [x, y, z] = [
            Vec3::new(beside, zero, zero) + along * edge.x,
            Vec3::new(zero, beside, zero) + along * edge.y,
            Vec3::new(zero, zero, beside) + along * edge.z,
        ];
        pivot.add([x, y, z]);
        // Only the spring to the previous link couples along the chain.
        let mut flags = 0;
        for lane in 0..V::LEN {
            flags |= u64::from(ends[lane] == previous[lane]) << lane;
        }
        let mask = V::Mask::from_bitmask(simd, flags);
        coupling = [
            coupling[0] - x.or(mask, nothing),
            coupling[1] - y.or(mask, nothing),
            coupling[2] - z.or(mask, nothing),
        ];
    }
    (pivot, coupling)
}
