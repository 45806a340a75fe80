//! Twin of `shaders/stage/cyclic_reduction.wgsl`.

use poplin_layout::{END_OF_FIBER, MIN_PIVOT_FRACTION, PARTICLE_MASK};

use crate::ClothMemory;
use crate::stage::semi_implicit::{
    displacement_between, edge_direction, edge_equation, ends_of, load_ends, pull_particles,
    vector_of_edge,
};
use crate::vector::Vec3;

/// Returns the row of scratch for `edge` before round `round`: rounds alternate between two halves.
fn cyclic_row(memory: &ClothMemory<'_>, edge: u32, round: u32) -> u32 {
    edge - memory.registers.edges[0] + (round & 1) * memory.cloth.fabric.fiber_row_count
}

/// Unit direction of `edge`, whose particles are `ends`.
fn direction_between(memory: &ClothMemory<'_>, ends: [u32; 2], edge: u32) -> Vec3<f32> {
    let [pa, pb] = ends.map(|end| memory.load_current(end));
    let delta = vector_of_edge(memory, ends, [pa, pb]);
    edge_direction((), pa, pb, delta, memory.rest_length_of(edge))
}

/// Stores the row of an edge before round `round`, or its pull after the last round.
fn store_cyclic(memory: &mut ClothMemory<'_>, edge: u32, round: u32, row: [f32; 3]) {
    let mut value = Vec3::splat((), row);
    if round == memory.registers.phase.round_count {
        value = direction_between(memory, ends_of(memory, edge), edge) * row[2];
    }
    let slot = cyclic_row(memory, edge, round);
    memory.store_scratch(slot, value.with(0.0));
}

/// Builds the initial row of an edge: couplings to both neighbours and right-hand side, over the
/// diagonal.
pub fn build_row(memory: &mut ClothMemory<'_>, edge: u32) {
    let phase = memory.registers.phase;
    let marked = load_ends(memory, edge);
    let ends = marked.map(|end| end & PARTICLE_MASK);
    let [pa, pb] = ends.map(|end| memory.load_current(end));
    let rest_length = memory.rest_length_of(edge);
    let delta = vector_of_edge(memory, ends, [pa, pb]);
    let direction = edge_direction((), pa, pb, delta, rest_length);
    let mut row = [0.0; 3];
    if direction.dot(direction) > 0.0 {
        let moved = [delta, displacement_between(memory, &phase, ends, [pa, pb])];
        let [diagonal, right] = edge_equation((), pa, pb, moved, rest_length, direction, &phase);
        let scale = 1.0 + phase.damping;
        if marked[0] & END_OF_FIBER == 0 {
            let [far, _] = ends_of(memory, edge - 1);
            let before = direction_between(memory, [far, ends[0]], edge - 1);
            // Couplings of the tridiagonal system, divided by the diagonal.
            row[0] = -scale * pa[3] * before.dot(direction) / diagonal;
        }
        if marked[1] & END_OF_FIBER == 0 {
            let [_, far] = ends_of(memory, edge + 1);
            let after = direction_between(memory, [ends[1], far], edge + 1);
            row[1] = -scale * pb[3] * direction.dot(after) / diagonal;
        }
        row[2] = right / diagonal;
    }
    store_cyclic(memory, edge, 0, row);
}

/// Reduces a row by one round: eliminates the neighbours at the distance 2^round.
pub fn reduce_row(memory: &mut ClothMemory<'_>, edge: u32) {
    let ([begin, end], round) = (memory.registers.edges, memory.registers.reduction_step - 1);
    let stride = 1 << round;
    let row = memory.load_scratch(cyclic_row(memory, edge, round));
    let low = memory.load_scratch(cyclic_row(memory, edge.max(begin + stride) - stride, round));
    let high = memory.load_scratch(cyclic_row(memory, (edge + stride).min(end - 1), round));
    // x_i + a x_(i-s) + c x_(i+s) = r:  pivot = 1 - a c_low - c a_high
    let pivot = ((1.0 - row[0] * low[1]) - row[1] * high[0]).max(MIN_PIVOT_FRACTION);
    let right = (row[2] - row[0] * low[2]) - row[1] * high[2];
    let next = [-(row[0] * low[0]) / pivot, -(row[1] * high[1]) / pivot, right / pivot];
    store_cyclic(memory, edge, round + 1, next);
}

/// Moves the particles of an edge of a solved fiber.
pub fn move_edge(memory: &mut ClothMemory<'_>, edge: u32) {
    let half = (memory.registers.phase.round_count & 1) * memory.cloth.fabric.fiber_row_count;
    pull_particles(memory, edge, half);
}
