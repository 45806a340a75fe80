//! Energy gradients, residuals and their sums over all particles.

use std::ops::Range;

use crate::ClothMemory;
use crate::stage::implicit::{
    bend_rate, is_preconditioned, is_start, part_row, probes_contacts, rate_row, stretch_rate,
    takes_bends,
};
use poplin_layout::{BEND_SPRINGS, ImplicitConstants, SOLVE_PARTS, STRETCH_SPRINGS};

use super::energy::{
    Edges, bend_ends, bend_gradients, corners_of, shapes_of, spring_gradients, stretch_gradients,
};
use super::{DIRECTION, MOVE, PLANE, PREDICTION, RESIDUAL, Solve, TRIAL, TRIAL_RESIDUAL, edges_of};
use crate::lanes::{LaneMask as _, MAX_LANES, Real, gather, max, scatter};
use crate::particles::blocks;
use crate::vector::Vec3;

impl Solve {
    /// Residuals of the trial displacements of the particles from `first` on \[m\]:
    /// `r = y - u - h^2 w grad E(u)`, 0 for particles without inverse mass.
    #[inline(always)]
    fn residuals<V: Real>(
        &mut self,
        simd: V::Token,
        memory: &ClothMemory<'_>,
        constants: &ImplicitConstants,
        first: usize,
        takes_bends: bool,
    ) -> Vec3<V> {
        let zero = V::splat(simd, 0.0);
        // Padding rows have no springs: lanes beyond the last particle repeat it.
        let len = V::LEN.min((memory.cloth.particle_count as usize).saturating_sub(first));
        let particles = (first as u32, len.max(1));
        if takes_bends && constants.bend_model == BEND_SPRINGS && len > 0 {
            let bend: Vec3<V> = spring_gradients(simd, memory, constants, particles, true);
            V::rows(bend.with(zero), &mut self.bends[first..][..V::LEN]);
        }
        let stretch: Vec3<V> = if constants.stretch_model == STRETCH_SPRINGS && len > 0 {
            spring_gradients(simd, memory, constants, particles, false)
        } else {
            Vec3::xyz(V::columns(simd, &self.stretch[first..][..V::LEN]))
        };
        let bend = Vec3::xyz(V::columns(simd, &self.bends[first..][..V::LEN]));
        let force = stretch.add(bend);
        let moved = self.vector(simd, TRIAL, first);
        let inverse_mass: V = self.column(simd, PREDICTION + 3, first);
        let normal = self.vector(simd, PLANE, first);
        // Contact: E = kc/2 max(0, o - n . u)^2, so that grad E = -kc depth n.
        let depth = max(self.column::<V>(simd, PLANE + 3, first) - normal.dot(moved), zero);
        let force = force.sub(normal.mul(V::splat(simd, constants.contact_stiffness) * depth));
        // r = y - u - h^2 w grad E
        let scale = V::splat(simd, constants.step_square) * inverse_mass;
        let prediction = self.vector(simd, PREDICTION, first);
        let residual = prediction.sub(moved).sub(force.mul(scale));
        residual.or(zero.simd_lt(inverse_mass), Vec3::splat(simd, [0.0; 3]))
    }
}

/// Scatters the vectors of a block to the sums of their particles, lane by lane in ascending order.
#[inline(always)]
fn add_rows<V: Real, const N: usize>(
    simd: V::Token,
    sums: &mut [[f32; 4]],
    particles: &[[u32; MAX_LANES]; N],
    gradients: [Vec3<V>; N],
    len: usize,
) {
    let zero = V::splat(simd, 0.0);
    let mut rows = [[[0.0; 4]; MAX_LANES]; N];
    for (rows, gradient) in rows.iter_mut().zip(gradients) {
        V::rows(gradient.with(zero), rows);
    }
    for lane in 0..len {
        for k in 0..N {
            let sum = &mut sums[particles[k][lane] as usize];
            V::add_row(simd, sum, &rows[k][lane]);
        }
    }
}

/// Computes the stretch gradients of all particles from their triangles.
#[inline(always)]
pub(crate) fn stretch_triangles<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    solve.load::<V>(simd, memory);
    let constants = memory.load_implicit();
    solve.stretch.fill([0.0; 4]);
    for block in blocks::<V>(items) {
        let corners = corners_of::<V>(memory, memory.cloth.fabric.triangle_begin, &block);
        let [p, q] = edges_of::<V>(simd, &solve.trials, &corners);
        let [last_p, last_q] = solve.last_edges(simd, block.index(0));
        let shape = shapes_of::<V>(simd, memory, &block);
        let edges = Edges { last_p, last_q, p, q };
        let gradients = stretch_gradients(simd, &constants, edges, shape);
        add_rows(simd, &mut solve.stretch, &corners, gradients, block.len());
    }
}

/// Computes the bending gradients of all particles from their bends.
#[inline(always)]
pub(crate) fn fold_bends<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    solve.load::<V>(simd, memory);
    let constants = memory.load_implicit();
    solve.bends.fill([0.0; 4]);
    for block in blocks::<V>(items) {
        let ends = bend_ends(memory, &block);
        let rows: [&[_]; 2] = [&solve.starts, &solve.trials];
        let gradients = bend_gradients::<V>(simd, memory, &constants, &block, &ends, rows);
        add_rows(simd, &mut solve.bends, &ends, gradients, block.len());
    }
}

/// Computes the residuals of the trial displacements, as input of the chain preconditioner.
#[inline(always)]
pub(crate) fn find_residuals<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    solve.load::<V>(simd, memory);
    if probes_contacts(memory) {
        solve.load_planes::<V>(simd, memory);
    }
    let (takes, constants) = (takes_bends(memory), memory.load_implicit());
    let zero = V::splat(simd, 0.0);
    for first in (0..items.end as usize).step_by(V::LEN) {
        let residual = solve.residuals::<V>(simd, memory, &constants, first, takes);
        solve.set_vector(TRIAL_RESIDUAL, first, residual);
        V::rows(residual.with(zero), &mut solve.chains.residuals[first..][..V::LEN]);
    }
}

/// Preconditions the residuals of the trial and computes their dot products, with as many partial
/// sums as lanes.
#[inline(always)]
pub(crate) fn sum_parts<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    solve.load::<V>(simd, memory);
    let by_chains = is_preconditioned(memory);
    if !by_chains && probes_contacts(memory) {
        solve.load_planes::<V>(simd, memory);
    }
    let (takes, constants) = (takes_bends(memory), memory.load_implicit());
    let is_start = is_start(memory);
    let count = memory.cloth.particle_count as usize;
    let zero = V::splat(simd, 0.0);
    for block in blocks::<V>(items) {
        let (mut along, mut overlap, mut square_sum, mut longest) = (zero, zero, zero, zero);
        let mut rates = [zero; 4];
        // Part p sums the particles p, p + SOLVE_PARTS, ... in ascending order, as the reference
        // does.
        for first in (block.index(0) as usize..count).step_by(SOLVE_PARTS as usize) {
            let inverse_mass: V = solve.column(simd, PREDICTION + 3, first);
            let (trial, conditioned): (Vec3<V>, Vec3<V>);
            if by_chains {
                trial = solve.vector(simd, TRIAL_RESIDUAL, first);
                // z = M^-1/2 (z_1 + z_2) / 2: the mean of the solutions of both chain families.
                let root = V::splat(simd, 0.5) * inverse_mass.sqrt();
                conditioned = solve.chains.both(simd, first).mul(root);
            } else {
                trial = solve.residuals(simd, memory, &constants, first, takes);
                conditioned = trial;
            }
            // Pinned particles have no residual, and padding rows have no inverse mass.
            let moves = zero.simd_lt(inverse_mass);
            let conditioned = conditioned.or(moves, Vec3::splat(simd, [0.0; 3]));
            let mass: V = solve.column(simd, MOVE + 3, first);
            // The products <r1, d>, <r1, r> and <r1, z1> in the metric of masses.
            let of_direction = mass * trial.dot(solve.vector(simd, DIRECTION, first));
            along += moves.select(of_direction, zero);
            let of_residual = mass * trial.dot(solve.vector(simd, RESIDUAL, first));
            overlap += moves.select(of_residual, zero);
            square_sum += moves.select(mass * trial.dot(conditioned), zero);
            longest = moves.select(max(longest, trial.dot(trial)), longest);
            if is_start {
                let row = |lane: usize| (first + lane).min(count - 1) as u32;
                let normal = solve.vector(simd, PLANE, first);
                let own = particle_rates(simd, memory, &constants, inverse_mass, normal, row);
                for (rate, own) in rates.iter_mut().zip(own) {
                    *rate = moves.select(max(*rate, own), *rate);
                }
            }
            solve.set_vector(TRIAL_RESIDUAL, first, conditioned);
        }
        let part = part_row(memory, block.index(0));
        scatter([along, overlap, square_sum, longest], |lane, row| {
            if lane < block.len() {
                memory.store_scratch(part + 2 * lane as u32, row);
            }
        });
        scatter(rates, |lane, row| {
            if lane < block.len() {
                memory.store_scratch(part + 2 * lane as u32 + 1, row);
            }
        });
    }
}

/// Bounds on the squared frequencies of particles: stretch and contact [1/s^2], bending [1/s^2],
/// and stretch times edge length [m/s^2].
#[inline(always)]
fn particle_rates<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    constants: &ImplicitConstants,
    inverse_mass: V,
    normal: Vec3<V>,
    particle: impl Fn(usize) -> u32,
) -> [V; 4] {
    let begin = rate_row(memory, 0);
    let row = |lane: usize| {
        let i = particle(lane);
        let length = memory.fabric_f32(begin + 4 * i + 3);
        [stretch_rate(memory, i), bend_rate(memory, i), length, 0.0]
    };
    let [stretch, bend, length, _]: [V; 4] = gather(simd, row);
    let (stretch, bend) = (stretch * inverse_mass, bend * inverse_mass);
    let zero = V::splat(simd, 0.0);
    let has_none = normal.x.simd_eq(zero) & normal.y.simd_eq(zero) & normal.z.simd_eq(zero);
    let contact = V::splat(simd, constants.contact_stiffness) * inverse_mass;
    [stretch + has_none.select(zero, contact), bend, stretch * length, zero]
}
