//! Preconditioner: block tridiagonal systems along the chains of warp and weft, one chain per lane.
//!
//! A chain is a run of particles along a fiber. The system matrix of a step is
//! `A = I + h^2 M^-1/2 H M^-1/2` with the energy Hessian `H`: that of stretch, shear and contact at
//! the start of the solve, and for bending an isotropic bound. Its part along a chain has 3 x 3
//! blocks and is factored as `L D L^T`. With `B_k` the diagonal block of link `k` and `C_k` the
//! block that couples link `k` to link `k - 1`, the factors are
//!
//! `L_k = C_k D_{k-1}^-1` and `D_k = B_k - L_k C_k^T`.
//!
//! Stiffness towards particles outside the chain only enters `B_k`.

use std::ops::Range;

use poplin_layout::{MIN_DETERMINANT, NO_OFFSET, SOLVE_PLANES, STRETCH_SPRINGS};

use super::hessian::{Symmetric, corner_blocks, spring_blocks};
use super::residual::bend_rate;
use super::rows::solve_row;
use super::storage::{Source, Storage};
use crate::ClothMemory;
use crate::lanes::{LaneMask as _, MAX_LANES, Real, gather, max};
use crate::particles::blocks;
use crate::vector::Vec3;

/// Factors of one link per lane: the columns of `L_k`, the diagonal and off-diagonal (xy, xz, yz)
/// of `D_k^-1`, and the root of the inverse mass.
#[derive(Clone, Copy)]
pub(crate) struct Factors<V: Real> {
    pub(crate) lower: [Vec3<V>; 3],
    pub(crate) diagonal: Vec3<V>,
    pub(crate) beside: Vec3<V>,
    pub(crate) root: V,
}

impl<V: Real> Factors<V> {
    /// Factors before the first link of a chain, and beyond the last.
    #[inline(always)]
    fn zero(simd: V::Token) -> Self {
        let nothing = Vec3::splat(simd, [0.0; 3]);
        let root = V::splat(simd, 0.0);
        Self { lower: [nothing; 3], diagonal: nothing, beside: nothing, root }
    }

    /// Factors the next link, whose rows follow those of `self`, from `B_k` without the identity
    /// and bounds on its stiffness, and `C_k` before scaling with masses.
    #[inline(always)]
    fn next(
        &self,
        simd: V::Token,
        own: Symmetric<V>,
        coupling: [Vec3<V>; 3],
        inverse_mass: V,
        step_square: V,
    ) -> Self {
        let one = V::splat(simd, 1.0);
        let (nothing, all_ones) = (Vec3::splat(simd, [0.0; 3]), Vec3::splat(simd, [1.0; 3]));
        let Self { diagonal, beside, .. } = *self;
        let root = max(inverse_mass, V::splat(simd, 0.0)).sqrt();
        let scale = step_square * inverse_mass;
        // C_k = h^2 (w_k w_{k-1})^1/2 H_{k,k-1}
        let between = step_square * (root * self.root);
        let (c0, c1, c2) = (coupling[0] * between, coupling[1] * between, coupling[2] * between);
        // L_k = C_k D_{k-1}^-1
        let l0 = c0 * diagonal.x + c1 * beside.x + c2 * beside.y;
        let l1 = c0 * beside.x + c1 * diagonal.y + c2 * beside.z;
        let l2 = c0 * beside.y + c1 * beside.z + c2 * diagonal.z;
        // D_k = B_k - L_k C_k^T: diagonal d, off-diagonal o.
        let plain = all_ones + own.diagonal * scale;
        let d = plain - (l0.scale(c0) + l1.scale(c1) + l2.scale(c2));
        let products = xxy(l0).scale(yzz(c0)) + xxy(l1).scale(yzz(c1));
        let o = own.beside * scale - (products + xxy(l2).scale(yzz(c2)));
        // D_k^-1 = adj(D_k) / det(D_k)
        let cofactors =
            Vec3::new(d.y * d.z - o.z * o.z, d.x * d.z - o.y * o.y, d.x * d.y - o.x * o.x);
        let minors = Vec3::new(o.y * o.z - o.x * d.z, o.x * o.z - o.y * d.y, o.x * o.y - d.x * o.z);
        let determinant = d.x * cofactors.x + o.x * minors.x + o.y * minors.y;
        // Without rounding det(D_k) >= 1. Below the limit, only the diagonal of B_k is inverted.
        let is_regular = V::splat(simd, MIN_DETERMINANT).simd_le(determinant);
        let plain = Vec3::new(one / plain.x, one / plain.y, one / plain.z);
        Self {
            lower: [l0, l1, l2],
            diagonal: (cofactors / determinant).or(is_regular, plain),
            beside: (minors / determinant).or(is_regular, nothing),
            root,
        }
    }

    /// Selects `self` where the mask is set, else `other`.
    #[inline(always)]
    fn or(self, mask: V::Mask, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.lower, other.lower);
        Self {
            lower: [a.or(mask, x), b.or(mask, y), c.or(mask, z)],
            diagonal: self.diagonal.or(mask, other.diagonal),
            beside: self.beside.or(mask, other.beside),
            root: mask.select(self.root, other.root),
        }
    }
}

/// Factors the block tridiagonal part of the system matrix along chains.
#[inline(always)]
pub(crate) fn factor_chain<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    let constants = memory.load_implicit();
    let step_square = V::splat(simd, constants.step_square);
    let planes = solve_row(memory, SOLVE_PLANES, 0);
    let none = Factors::zero(simd);
    for chains in blocks::<V>(items) {
        let mut previous = [NO_OFFSET; MAX_LANES];
        let mut factors = none;
        let lens = storage.lens(memory, chains);
        for k in 0..longest::<V>(&lens) {
            let particles = storage.link(memory, chains, k);
            let (mut own, coupling) = if constants.stretch_model == STRETCH_SPRINGS {
                spring_blocks::<V>(simd, memory, &constants, &particles, &previous)
            } else {
                corner_blocks::<V>(simd, memory, &constants, &particles, &previous)
            };
            let plane =
                Vec3::xyz(gather(simd, |lane| memory.load_scratch(planes + particles[lane])));
            // Hessian of contact: kc n n^T
            let held = plane * V::splat(simd, constants.contact_stiffness);
            let bend = V::from_fn(simd, |lane| bend_rate(memory, particles[lane]));
            let bound = Vec3::new(bend, bend, bend);
            own.diagonal = own.diagonal + held.scale(plane) + bound;
            own.beside = own.beside + xxy(held).scale(yzz(plane));
            let [.., inverse_mass] = storage.gathered(simd, memory, Source::Trial, &particles);
            factors = factors.next(simd, own, coupling, inverse_mass, step_square);
            let stored = factors.or(has_link::<V>(simd, &lens, k), none);
            storage.store_factors(memory, chains, k, stored);
            previous = particles;
        }
    }
}

/// Solves factored chains for the residuals of their particles, divided by the roots of their
/// inverse masses.
#[inline(always)]
pub(crate) fn solve_chain<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    storage: &mut impl Storage<V>,
) {
    let zero = V::splat(simd, 0.0);
    let nothing: Vec3<V> = Vec3::splat(simd, [0.0; 3]);
    for chains in blocks::<V>(items) {
        let lens = storage.lens(memory, chains);
        let longest = longest::<V>(&lens);
        // Forward: y_k = M^-1/2 r_k - L_k y_{k-1}
        let mut last = nothing;
        for k in 0..longest {
            let Factors { lower, root, .. } = storage.factors(simd, memory, chains, k);
            let particles = storage.link(memory, chains, k);
            let residual = Vec3::xyz(storage.gathered(simd, memory, Source::Residual, &particles));
            let value = (residual / root).or(zero.simd_lt(root), nothing);
            last = value - last.transformed(lower);
            storage.store_value(memory, chains, k, last);
        }
        // Backward: x_k = D_k^-1 y_k - L_{k+1}^T x_{k+1}
        let mut carried = nothing;
        for k in (0..longest).rev() {
            let Factors { lower: [l0, l1, l2], diagonal, beside, .. } =
                storage.factors(simd, memory, chains, k);
            let Vec3 { x, y, z, .. } = storage.value(simd, memory, chains, k);
            let solved = Vec3::new(
                diagonal.x * x + beside.x * y + beside.y * z,
                beside.x * x + diagonal.y * y + beside.z * z,
                beside.y * x + beside.z * y + diagonal.z * z,
            ) - carried;
            storage.store_solution(simd, memory, chains, k, solved);
            // Chains that have not begun yet (they are shorter) carry nothing.
            let next = Vec3::new(l0.dot(solved), l1.dot(solved), l2.dot(solved));
            carried = next.or(has_link::<V>(simd, &lens, k), nothing);
        }
    }
}

/// Number of links of the longest chain.
#[inline(always)]
fn longest<V: Real>(lens: &[u32; MAX_LANES]) -> u32 {
    lens[..V::LEN].iter().copied().max().unwrap_or(0)
}

/// Mask of the chains that have a link `k`.
#[inline(always)]
fn has_link<V: Real>(simd: V::Token, lens: &[u32; MAX_LANES], k: u32) -> V::Mask {
    let flag = |lane: usize| if k < lens[lane] { 1.0 } else { 0.0 };
    V::splat(simd, 0.0).simd_lt(V::from_fn(simd, flag))
}

#[inline(always)]
fn xxy<V: Real>(v: Vec3<V>) -> Vec3<V> {
    Vec3::new(v.x, v.x, v.y)
}

#[inline(always)]
fn yzz<V: Real>(v: Vec3<V>) -> Vec3<V> {
    Vec3::new(v.y, v.z, v.z)
}
