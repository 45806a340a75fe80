//! Twin of `shaders/stage/cyclic_reduction.wgsl`.

use glam::Vec3;
use poplin_layout::MIN_PIVOT_FRACTION;

use crate::ClothMemory;
use crate::math::{dot3, particle as pack, xyz};
use crate::stage::semi_implicit::{displacement_of, edge_direction, edge_equation, fiber_row};

/// Where row `edge` is stored before round `round`; see the shader.
fn cyclic_row(memory: &ClothMemory<'_>, edge: u32, round: u32) -> u32 {
    fiber_row(memory, edge) + (round & 1) * memory.cloth.fabric.fiber_row_count
}

/// The fiber of the running set that an edge belongs to.
fn fiber_of_edge(memory: &ClothMemory<'_>, edge: u32) -> u32 {
    let [mut low, mut high] = memory.registers.fibers;
    while high - low > 1 {
        let middle = (low + high) / 2;
        if memory.fabric(memory.cloth.fabric.fiber_begin + middle) <= edge {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The first row of an edge; see the shader.
pub fn build_row(memory: &mut ClothMemory<'_>, edge: u32) {
    let phase = memory.registers.phase;
    let fiber = fiber_of_edge(memory, edge);
    let vertices = memory.cloth.fabric.vertex_begin + fiber;
    let a = memory.fabric(vertices + edge);
    let b = memory.fabric(vertices + edge + 1);
    let pa = memory.load_current(a);
    let pb = memory.load_current(b);
    let direction = edge_direction(pa, pb, memory.rest_length_of(edge));
    let mut row = [0.0, 0.0, 0.0, (fiber - memory.registers.fibers[0]) as f32];
    if dot3(direction, direction) > 0.0 {
        let displacement = displacement_of(memory, pb, b) - displacement_of(memory, pa, a);
        let [diagonal, right] =
            edge_equation(pa, pb, displacement, memory.rest_length_of(edge), direction, &phase);
        let scale = 1.0 + phase.damping;
        if edge > memory.fabric(memory.cloth.fabric.fiber_begin + fiber) {
            let far = memory.load_current(memory.fabric(vertices + edge - 1));
            let before = edge_direction(far, pa, memory.rest_length_of(edge - 1));
            row[0] = -scale * pa[3] * dot3(before, direction) / diagonal;
        }
        if edge + 1 < memory.fabric(memory.cloth.fabric.fiber_begin + fiber + 1) {
            let far = memory.load_current(memory.fabric(vertices + edge + 2));
            let after = edge_direction(pb, far, memory.rest_length_of(edge + 1));
            row[1] = -scale * pb[3] * dot3(direction, after) / diagonal;
        }
        row[2] = right / diagonal;
    }
    let slot = cyclic_row(memory, edge, 0);
    memory.store_scratch(slot, row);
}

/// One round of reduction of a row; see the shader.
pub fn reduce_row(memory: &mut ClothMemory<'_>, edge: u32) {
    let ([begin, end], round) = (memory.registers.edges, memory.registers.reduction_step - 1);
    let stride = 1 << round;
    let row = memory.load_scratch(cyclic_row(memory, edge, round));
    let low = memory.load_scratch(cyclic_row(memory, edge.max(begin + stride) - stride, round));
    let high = memory.load_scratch(cyclic_row(memory, (edge + stride).min(end - 1), round));
    let pivot = ((1.0 - row[0] * low[1]) - row[1] * high[0]).max(MIN_PIVOT_FRACTION);
    let right = (row[2] - row[0] * low[2]) - row[1] * high[2];
    let slot = cyclic_row(memory, edge, round + 1);
    memory.store_scratch(
        slot,
        [-(row[0] * low[0]) / pivot, -(row[1] * high[1]) / pivot, right / pivot, row[3]],
    );
}

/// Converts the multiplier of an edge to its pull; see the shader.
pub fn pull_edge(memory: &mut ClothMemory<'_>, edge: u32) {
    let round = memory.registers.phase.round_count;
    let row = memory.load_scratch(cyclic_row(memory, edge, round));
    let vertices = memory.cloth.fabric.vertex_begin + memory.registers.fibers[0] + row[3] as u32;
    let pa = memory.load_current(memory.fabric(vertices + edge));
    let pb = memory.load_current(memory.fabric(vertices + edge + 1));
    let pull = edge_direction(pa, pb, memory.rest_length_of(edge)) * row[2];
    let slot = cyclic_row(memory, edge, round + 1);
    memory.store_scratch(slot, pack(pull, row[3]));
}

/// Moves the far end of an edge, and the start of a fiber; see the shader.
pub fn move_edge(memory: &mut ClothMemory<'_>, edge: u32) {
    let ([_, end], round) = (memory.registers.edges, memory.registers.phase.round_count + 1);
    let pull = memory.load_scratch(cyclic_row(memory, edge, round));
    let next = memory.load_scratch(cyclic_row(memory, (edge + 1).min(end - 1), round));
    let push = if edge + 1 < end && next[3] == pull[3] { xyz(next) } else { Vec3::ZERO };
    let fiber = memory.registers.fibers[0] + pull[3] as u32;
    let vertices = memory.cloth.fabric.vertex_begin + fiber;
    let b = memory.fabric(vertices + edge + 1);
    let pb = memory.load_current(b);
    // A particle without mass may belong to other fibers of the set: it is read, never written.
    if pb[3] > 0.0 {
        memory.store_current(b, pack(xyz(pb) + (xyz(pull) - push) * pb[3], pb[3]));
    }
    if edge == memory.fabric(memory.cloth.fabric.fiber_begin + fiber) {
        let a = memory.fabric(vertices + edge);
        let pa = memory.load_current(a);
        if pa[3] > 0.0 {
            memory.store_current(a, pack(xyz(pa) - xyz(pull) * pa[3], pa[3]));
        }
    }
}
