//! Twin of `shaders/stage/semi_implicit.wgsl`.

use glam::Vec3;
use poplin_layout::{
    EPSILON, MIN_EDGE_SQUARE, MIN_HELD_FRACTION, MIN_PIVOT_FRACTION, PhaseConstants,
};

use crate::ClothMemory;
use crate::math::{dot3, particle as pack, xyz};

/// Direction from a to b; 0 if the edge does nothing: no mass, no length or no rest length.
pub(crate) fn edge_direction(pa: [f32; 4], pb: [f32; 4], rest_length: f32) -> Vec3 {
    let delta = xyz(pb) - xyz(pa);
    let square = dot3(delta, delta);
    if pa[3] + pb[3] > 0.0 && rest_length > EPSILON && square > MIN_EDGE_SQUARE {
        return delta / square.sqrt();
    }
    Vec3::ZERO
}

/// Diagonal and right side of the equation of an edge; see the shader.
pub(crate) fn edge_equation(
    pa: [f32; 4],
    pb: [f32; 4],
    displacement: Vec3,
    rest_length: f32,
    direction: Vec3,
    phase: &PhaseConstants,
) -> [f32; 2] {
    let length = dot3(direction, xyz(pb) - xyz(pa));
    let mut error = length - rest_length;
    let mut diagonal = phase.compliance + (1.0 + phase.damping) * (pa[3] + pb[3]);
    if phase.softness > 0.0 {
        let relative = error / length;
        if relative >= phase.compression && relative <= phase.stretch {
            diagonal += phase.softness * (pa[3] + pb[3]);
        } else {
            error -= phase.multiplier
                * (if relative > 0.0 { phase.stretch } else { phase.compression } * length);
        }
    }
    [diagonal, -phase.stiffness * error - phase.damping * dot3(direction, displacement)]
}

/// Index of the row of an edge in the cloth's scratch; see the shader.
pub(crate) fn fiber_row(memory: &ClothMemory<'_>, edge: u32) -> u32 {
    edge % memory.cloth.fabric.fiber_row_count
}

/// Solves all edges of one fiber at once, with compliance and damping; see the shader.
pub fn solve_fiber(memory: &mut ClothMemory<'_>, fiber: u32) {
    let phase = memory.registers.phase;
    let edge_begin = memory.fabric(memory.cloth.fabric.fiber_begin + fiber);
    let edge_end = memory.fabric(memory.cloth.fabric.fiber_begin + fiber + 1);
    let vertices = memory.cloth.fabric.vertex_begin + fiber;
    let scale = 1.0 + phase.damping;
    let mut a = memory.fabric(vertices + edge_begin);
    let mut pa = memory.load_current(a);
    let mut displacement_a = displacement_of(memory, pa, a);
    let mut last_direction = Vec3::ZERO;
    let mut last_pivot = 1.0;
    let mut last_value = 0.0;
    let mut is_held = pa[3] == 0.0;
    for edge in edge_begin..edge_end {
        let b = memory.fabric(vertices + edge + 1);
        let pb = memory.load_current(b);
        let displacement_b = displacement_of(memory, pb, b);
        let rest_length = memory.rest_length_of(edge);
        let direction = edge_direction(pa, pb, rest_length);
        let mut ratio = 0.0;
        let mut value = 0.0;
        let mut pivot = 1.0;
        if dot3(direction, direction) > 0.0 {
            let [diagonal, right] = edge_equation(
                pa,
                pb,
                displacement_b - displacement_a,
                rest_length,
                direction,
                &phase,
            );
            let mut between = -scale * pa[3] * dot3(last_direction, direction);
            let taken = between * (between / last_pivot);
            let fraction =
                if is_held && pb[3] == 0.0 { MIN_HELD_FRACTION } else { MIN_PIVOT_FRACTION };
            let most = diagonal - fraction * diagonal;
            if taken > most {
                between *= (most / taken).sqrt();
            }
            pivot = diagonal - taken.min(most);
            ratio = between / last_pivot;
            value = (right - between * last_value) / pivot;
        }
        let row = fiber_row(memory, edge);
        memory.store_scratch(row, [ratio, value, 0.0, 0.0]);
        // Held: a pin comes before in the fiber, with nothing but rigid or compliant edges between.
        is_held = pb[3] == 0.0 || (is_held && dot3(direction, direction) > 0.0);
        a = b;
        pa = pb;
        displacement_a = displacement_b;
        last_direction = direction;
        last_pivot = pivot;
        last_value = value;
    }

    let mut push = Vec3::ZERO;
    let mut lambda = 0.0;
    let mut next_ratio = 0.0;
    for edge in (edge_begin + 1..=edge_end).rev() {
        let row = memory.load_scratch(fiber_row(memory, edge - 1));
        let c = memory.fabric(vertices + edge - 1);
        let pc = memory.load_current(c);
        let direction = edge_direction(pc, pa, memory.rest_length_of(edge - 1));
        lambda = row[1] - next_ratio * lambda;
        next_ratio = row[0];
        let pull = direction * lambda;
        // A particle without mass may belong to other fibers of the set: it is read, never written.
        if pa[3] > 0.0 {
            memory.store_current(a, pack(xyz(pa) + (pull - push) * pa[3], pa[3]));
        }
        a = c;
        pa = pc;
        push = pull;
    }
    if pa[3] > 0.0 {
        memory.store_current(a, pack(xyz(pa) - push * pa[3], pa[3]));
    }
}

/// Displacement of particle i since the last step.
pub(crate) fn displacement_of(memory: &ClothMemory<'_>, particle: [f32; 4], i: u32) -> Vec3 {
    xyz(particle) - xyz(memory.load_previous(i))
}
