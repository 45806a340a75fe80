//! Twin of `shaders/stage/semi_implicit.wgsl`.
//!
//! The edges of a fiber are one symmetric tridiagonal system for their Lagrange multipliers, solved
//! by elimination (forward pass) and substitution (backward pass). `solve_fibers` solves one
//! fiber per lane; the other functions take the steps of the kernel one at a time.

use std::ops::Range;

use poplin_layout::{
    END_OF_FIBER, EPSILON, MIN_EDGE_SQUARE, MIN_HELD_FRACTION, MIN_PIVOT_FRACTION, PARTICLE_MASK,
    PhaseConstants,
};

use crate::ClothMemory;
use crate::fibers::{FiberLanes, Fibers, displacement_of, vector_between};
use crate::floats::Floats;
use crate::lanes::{LaneMask as _, Real, min};
use crate::vector::Vec3;

/// Values per edge kept for the backward pass: ratio, value, direction, and the particle at its
/// begin.
const ROWS: usize = 9;

/// Unit directions of edges with the vectors `delta`; 0 where the edge has no effect.
#[inline(always)]
pub(crate) fn edge_direction<V: Real>(
    simd: V::Token,
    pa: [V; 4],
    pb: [V; 4],
    delta: Vec3<V>,
    rest_length: V,
) -> Vec3<V> {
    let zero = V::splat(simd, 0.0);
    let square = delta.dot(delta);
    let acts = zero.simd_lt(pa[3] + pb[3])
        & V::splat(simd, EPSILON).simd_lt(rest_length)
        & V::splat(simd, MIN_EDGE_SQUARE).simd_lt(square);
    (delta / square.sqrt()).or(acts, Vec3::splat(simd, [0.0; 3]))
}

/// Diagonals and right-hand sides of the equations of edges, from their vectors and the
/// displacements of their ends relative to their begins.
#[inline(always)]
pub(crate) fn edge_equation<V: Real>(
    simd: V::Token,
    pa: [V; 4],
    pb: [V; 4],
    [delta, displacement]: [Vec3<V>; 2],
    rest_length: V,
    direction: Vec3<V>,
    phase: &PhaseConstants,
) -> [V; 2] {
    let splat = |value: f32| V::splat(simd, value);
    let length = direction.dot(delta);
    let mut error = length - rest_length;
    let masses = pa[3] + pb[3];
    // (w_a + w_b) (1 + damping) + compliance on the diagonal.
    let mut diagonal = splat(phase.compliance) + splat(1.0 + phase.damping) * masses;
    if phase.softness > 0.0 {
        let relative = error / length;
        let (compression, stretch) = (splat(phase.compression), splat(phase.stretch));
        let is_soft = relative.simd_ge(compression) & relative.simd_le(stretch);
        // Within both limits, softness adds to the diagonal. Beyond them, the fraction `multiplier`
        // of the limit stays uncorrected.
        let softer = diagonal + splat(phase.softness) * masses;
        let limit = splat(0.0).simd_lt(relative).select(stretch, compression);
        let beyond = error - splat(phase.multiplier) * (limit * length);
        diagonal = is_soft.select(softer, diagonal);
        error = is_soft.select(error, beyond);
    }
    let right =
        splat(-phase.stiffness) * error - splat(phase.damping) * direction.dot(displacement);
    [diagonal, right]
}

/// Forward pass of the elimination, before its next edge.
struct Elimination<V: Real> {
    last_direction: Vec3<V>,
    last_pivot: V,
    last_value: V,
    /// A pin comes earlier in the fiber, with only rigid or compliant edges in between.
    is_held: V::Mask,
}

impl<V: Real> Elimination<V> {
    /// Begins at the first particle of a fiber.
    #[inline(always)]
    fn new(simd: V::Token, is_held: V::Mask) -> Self {
        let [zero, one] = [V::splat(simd, 0.0), V::splat(simd, 1.0)];
        let last_direction = Vec3::splat(simd, [0.0; 3]);
        Self { last_direction, last_pivot: one, last_value: zero, is_held }
    }

    /// Eliminates the coupling of the next edge with the one before. Returns its ratio and value;
    /// `factor` is -(1 + damping) w of its first particle.
    #[inline(always)]
    fn eliminate(
        &mut self,
        simd: V::Token,
        direction: Vec3<V>,
        [diagonal, factor, right]: [V; 3],
        is_pin: V::Mask,
        acts: V::Mask,
    ) -> [V; 2] {
        let splat = |value: f32| V::splat(simd, value);
        let (zero, one) = (splat(0.0), splat(1.0));
        // Neighbor edges couple through their shared particle: -(1 + damping) w_a n_{k-1} . n_k
        let mut between = factor * self.last_direction.dot(direction);
        let mut ratio = between / self.last_pivot;
        // pivot_k = diagonal_k - between_k^2 / pivot_{k-1}
        let taken = between * ratio;
        let fraction =
            (self.is_held & is_pin).select(splat(MIN_HELD_FRACTION), splat(MIN_PIVOT_FRACTION));
        // Keeps the pivot at a fraction of its diagonal: straight fibers between two pins are
        // nearly singular.
        let most = diagonal - fraction * diagonal;
        let is_too_much = most.simd_lt(taken);
        // Rare, and divisions and roots dominate the cost of the forward pass.
        if is_too_much.any_true() {
            let shorter = between * (most / taken).sqrt();
            between = is_too_much.select(shorter, between);
            ratio = between / self.last_pivot;
        }
        let pivot = diagonal - min(taken, most);
        let ratio = acts.select(ratio, zero);
        // value_k = (right_k - between_k value_{k-1}) / pivot_k
        let value = acts.select((right - between * self.last_value) / pivot, zero);
        self.is_held = is_pin | (self.is_held & acts);
        self.last_direction = direction;
        self.last_pivot = acts.select(pivot, one);
        self.last_value = value;
        [ratio, value]
    }
}

/// Solves all edges of each fiber as one system, with compliance and damping: the tasks
/// [`build_equation`], [`solve_fiber`] and [`push_edge`] at once. `rows` is scratch memory;
/// `DISPLACED` where particles are displacements.
#[inline(always)]
pub(crate) fn solve_fibers<V: Real, const DISPLACED: bool>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    rows: &mut Floats,
) {
    let phase = memory.registers.phase;
    let mut begin = items.start;
    while begin < items.end {
        let fibers = &mut Fibers::<V>::new(memory, begin..items.end);
        solve::<V, _, DISPLACED>(simd, &phase, fibers, rows);
        begin += V::LEN as u32;
    }
}

/// Solves the system of one fiber per lane; `DISPLACED` where particles are displacements.
#[inline(always)]
pub(crate) fn solve<V: Real, F: FiberLanes<V>, const DISPLACED: bool>(
    simd: V::Token,
    phase: &PhaseConstants,
    fibers: &mut F,
    rows: &mut Floats,
) {
    if phase.damping > 0.0 {
        solve_lanes::<V, F, DISPLACED, true>(simd, phase, fibers, rows);
    } else {
        solve_lanes::<V, F, DISPLACED, false>(simd, phase, fibers, rows);
    }
}

/// Solves the system of one fiber per lane; what only displaced particles and damping need is read
/// if `DISPLACED` or `DAMPED`.
#[inline(always)]
fn solve_lanes<V: Real, F: FiberLanes<V>, const DISPLACED: bool, const DAMPED: bool>(
    simd: V::Token,
    phase: &PhaseConstants,
    fibers: &mut F,
    rows: &mut Floats,
) {
    let splat = |value: f32| V::splat(simd, value);
    let zero = splat(0.0);
    let scale = splat(-(1.0 + phase.damping));
    let len = ROWS * V::LEN;
    rows.enlarge(len * fibers.longest() as usize);
    let still = Vec3::splat(simd, [0.0; 3]);
    let mut a = fibers.first();
    let mut pa = fibers.current(simd, a);
    let last = |fibers: &F, particles| {
        if DISPLACED || DAMPED { Vec3::xyz(fibers.previous(simd, particles)) } else { still }
    };
    let displacement_of =
        |p: [V; 4], last| if DISPLACED { Vec3::xyz(p) } else { Vec3::xyz(p) - last };
    let mut last_a = last(fibers, a);
    let mut displacement_a = if DAMPED { displacement_of(pa, last_a) } else { still };
    let mut elimination = Elimination::new(simd, pa[3].simd_eq(zero));
    for (k, rows) in (0..fibers.longest()).zip(rows.chunks_exact_mut(len)) {
        let b = fibers.particles(k, 1, a);
        let pb = fibers.current(simd, b);
        let last_b = last(fibers, b);
        let displacement_b = if DAMPED { displacement_of(pb, last_b) } else { still };
        let rest_length = fibers.rest_lengths(simd, k);
        let mut delta = Vec3::xyz(pb) - Vec3::xyz(pa);
        if DISPLACED {
            delta = (last_b - last_a) + delta;
        }
        let direction = edge_direction(simd, pa, pb, delta, rest_length);
        let acts = zero.simd_lt(direction.dot(direction));
        let moved = [delta, displacement_b - displacement_a];
        let [diagonal, right] = edge_equation(simd, pa, pb, moved, rest_length, direction, phase);
        let equation = [diagonal, scale * pa[3], right];
        let is_pin = pb[3].simd_eq(zero);
        let [ratio, value] = elimination.eliminate(simd, direction, equation, is_pin, acts);
        let values =
            [ratio, value, direction.x, direction.y, direction.z, pa[0], pa[1], pa[2], pa[3]];
        for (value, row) in values.iter().zip(rows.chunks_exact_mut(V::LEN)) {
            value.store_slice(row);
        }
        pa = fibers.keep(simd, k, pb, pa);
        a = b;
        last_a = last_b;
        displacement_a = displacement_b;
    }

    let (mut push, mut lambda, mut next_ratio) = (still, zero, zero);
    for (k, rows) in (0..fibers.longest()).zip(rows.chunks_exact(len)).rev() {
        let row = |index: usize| V::from_slice(simd, &rows[index * V::LEN..][..V::LEN]);
        let direction = Vec3::new(row(2), row(3), row(4));
        // lambda_k = value_k - ratio_{k+1} lambda_{k+1}
        let new_lambda = row(1) - next_ratio * lambda;
        let pull = direction * new_lambda;
        // dx_a = w_a (n_k lambda_k - n_{k-1} lambda_{k-1})
        let moved = (Vec3::xyz(pa) + (pull - push) * pa[3]).with(pa[3]);
        fibers.store_massive(simd, moved, a, fibers.bits_of(k));
        a = fibers.particles(k, 0, a);
        pa = fibers.keep(simd, k, [row(5), row(6), row(7), row(8)], pa);
        let old = push.with(lambda);
        let [x, y, z, kept] = fibers.keep(simd, k, pull.with(new_lambda), old);
        (push, lambda) = (Vec3::new(x, y, z), kept);
        next_ratio = fibers.keep_one(simd, k, row(0), next_ratio);
    }
    let moved = (Vec3::xyz(pa) - push * pa[3]).with(pa[3]);
    fibers.store_massive(simd, moved, a, fibers.bits());
}

/// Returns the two particles of an edge, marked with `END_OF_FIBER` at the ends of the fiber.
pub(crate) fn load_ends(memory: &ClothMemory<'_>, edge: u32) -> [u32; 2] {
    let begin = memory.cloth.fabric.ends_begin + 2 * edge;
    [memory.fabric(begin), memory.fabric(begin + 1)]
}

/// Returns the two particles of an edge.
pub(crate) fn ends_of(memory: &ClothMemory<'_>, edge: u32) -> [u32; 2] {
    load_ends(memory, edge).map(|end| end & PARTICLE_MASK)
}

/// Builds the equation of an edge in the system of its fiber.
pub fn build_equation(memory: &mut ClothMemory<'_>, edge: u32) {
    let (phase, first) = (memory.registers.phase, memory.registers.edges[0]);
    let ends = ends_of(memory, edge);
    let [pa, pb] = ends.map(|end| memory.load_current(end));
    let rest_length = memory.rest_length_of(edge);
    let delta = vector_of_edge(memory, ends, [pa, pb]);
    let direction = edge_direction((), pa, pb, delta, rest_length);
    let mut right = 0.0;
    let mut equation = [1.0, 0.0, f32::from(u8::from(pb[3] == 0.0)), 0.0];
    if direction.dot(direction) > 0.0 {
        let moved = [delta, displacement_between(memory, &phase, ends, [pa, pb])];
        let [diagonal, value] = edge_equation((), pa, pb, moved, rest_length, direction, &phase);
        // Coupling with the edge before: -(1 + damping) w_a (n_before . n), multiplied by the
        // cosine in the solve.
        equation = [diagonal, -(1.0 + phase.damping) * pa[3], equation[2], 1.0];
        right = value;
    }
    memory.store_scratch(edge - first, direction.with(right));
    memory.store_scratch(edge - first + memory.cloth.fabric.fiber_row_count, equation);
}

/// Solves the tridiagonal system of one fiber; its rows become the pulls of its edges.
pub fn solve_fiber(memory: &mut ClothMemory<'_>, fiber: u32) {
    let (fabric, first) = (memory.cloth.fabric, memory.registers.edges[0]);
    let edge_begin = memory.fabric(fabric.fiber_begin + fiber);
    let edge_end = memory.fabric(fabric.fiber_begin + fiber + 1);
    let start = memory.load_current(memory.fabric(fabric.vertex_begin + fiber + edge_begin));
    let half = fabric.fiber_row_count;
    let mut elimination = Elimination::<f32>::new((), start[3] == 0.0);
    for row in edge_begin - first..edge_end - first {
        let built = memory.load_scratch(row);
        let [diagonal, factor, is_pin, acts] = memory.load_scratch(row + half);
        let (equation, is_pin) = ([diagonal, factor, built[3]], is_pin != 0.0);
        let direction = Vec3::xyz(built);
        let [ratio, value] = elimination.eliminate((), direction, equation, is_pin, acts != 0.0);
        memory.store_scratch(row + half, [ratio, value, 0.0, 0.0]);
    }
    // Back substitution.
    let mut lambda = 0.0;
    let mut next_ratio = 0.0;
    for row in (edge_begin - first..edge_end - first).rev() {
        let [ratio, value, ..] = memory.load_scratch(row + half);
        lambda = value - next_ratio * lambda;
        next_ratio = ratio;
        let direction: Vec3<f32> = Vec3::xyz(memory.load_scratch(row));
        memory.store_scratch(row, (direction * lambda).with(0.0));
    }
}

/// Moves the particles of an edge by the pulls of the edges of its set; `half` is the row of the
/// first edge.
pub(crate) fn pull_particles(memory: &mut ClothMemory<'_>, edge: u32, half: u32) {
    let marked = load_ends(memory, edge);
    let [a, b] = marked.map(|end| end & PARTICLE_MASK);
    let row = half + edge - memory.registers.edges[0];
    let pull = Vec3::xyz(memory.load_scratch(row));
    let is_last = marked[1] & END_OF_FIBER != 0;
    let push =
        if is_last { Vec3::new(0.0, 0.0, 0.0) } else { Vec3::xyz(memory.load_scratch(row + 1)) };
    let pb = memory.load_current(b);
    // An immovable particle may belong to other fibers of the set: it is read, never written.
    if pb[3] > 0.0 {
        memory.store_current(b, (Vec3::xyz(pb) + (pull - push) * pb[3]).with(pb[3]));
    }
    if marked[0] & END_OF_FIBER != 0 {
        let pa = memory.load_current(a);
        if pa[3] > 0.0 {
            memory.store_current(a, (Vec3::xyz(pa) - pull * pa[3]).with(pa[3]));
        }
    }
}

/// Moves the particles of an edge of a solved fiber.
pub fn push_edge(memory: &mut ClothMemory<'_>, edge: u32) {
    pull_particles(memory, edge, 0);
}

/// Displacement of the second particle of an edge relative to the first in this iteration; 0
/// without damping, which alone needs it.
pub(crate) fn displacement_between(
    memory: &ClothMemory<'_>,
    phase: &PhaseConstants,
    [a, b]: [u32; 2],
    [pa, pb]: [[f32; 4]; 2],
) -> Vec3<f32> {
    if phase.damping > 0.0 {
        displacement_of::<f32>((), memory, pb, |_| b)
            - displacement_of::<f32>((), memory, pa, |_| a)
    } else {
        Vec3::splat((), [0.0; 3])
    }
}

/// Vector from the first particle of an edge to the second.
pub(crate) fn vector_of_edge(
    memory: &ClothMemory<'_>,
    [a, b]: [u32; 2],
    particles: [[f32; 4]; 2],
) -> Vec3<f32> {
    vector_between::<f32>((), memory, particles, &|_| a, &|_| b)
}
