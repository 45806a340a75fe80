//! Twin of `shaders/stage/semi_implicit.wgsl`.

use glam::Vec3;
use poplin_layout::{
    END_OF_FIBER, EPSILON, MIN_EDGE_SQUARE, MIN_HELD_FRACTION, MIN_PIVOT_FRACTION, PARTICLE_MASK,
    PhaseConstants,
};

use crate::ClothMemory;
use crate::math::{dot3, particle as pack, xyz};

/// Returns the direction from a to b; 0 for an inactive edge: without mass, length or rest length.
pub(crate) fn edge_direction(pa: [f32; 4], pb: [f32; 4], rest_length: f32) -> Vec3 {
    let delta = xyz(pb) - xyz(pa);
    let square = dot3(delta, delta);
    if pa[3] + pb[3] > 0.0 && rest_length > EPSILON && square > MIN_EDGE_SQUARE {
        return delta / square.sqrt();
    }
    Vec3::ZERO
}

/// Returns the diagonal and the right-hand side of the equation of an edge.
pub(crate) fn edge_equation(
    memory: &ClothMemory<'_>,
    [a, b]: [u32; 2],
    [pa, pb]: [[f32; 4]; 2],
    rest_length: f32,
    direction: Vec3,
    phase: &PhaseConstants,
) -> [f32; 2] {
    let length = dot3(direction, xyz(pb) - xyz(pa));
    let mut error = length - rest_length;
    // A_jj = compliance + (1 + damping) (w_a + w_b);  b_j = -stiffness C - damping grad C . dx
    let mut diagonal = phase.compliance + (1.0 + phase.damping) * (pa[3] + pb[3]);
    if phase.softness > 0.0 {
        let relative = error / length;
        // Within the soft range the edge gives way; outside, a part of the limit's error stays.
        if relative >= phase.compression && relative <= phase.stretch {
            diagonal += phase.softness * (pa[3] + pb[3]);
        } else {
            error -= phase.multiplier
                * (if relative > 0.0 { phase.stretch } else { phase.compression } * length);
        }
    }
    let mut displacement = Vec3::ZERO;
    if phase.damping > 0.0 {
        displacement = displacement_of(memory, pb, b) - displacement_of(memory, pa, a);
    }
    [diagonal, -phase.stiffness * error - phase.damping * dot3(direction, displacement)]
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
    let direction = edge_direction(pa, pb, rest_length);
    let mut right = 0.0;
    let mut equation = [1.0, 0.0, f32::from(u8::from(pb[3] == 0.0)), 0.0];
    if dot3(direction, direction) > 0.0 {
        let [diagonal, value] =
            edge_equation(memory, ends, [pa, pb], rest_length, direction, &phase);
        // Coupling with the edge before: -(1 + damping) w_a (n_before . n), multiplied by the
        // cosine in the solve.
        equation = [diagonal, -(1.0 + phase.damping) * pa[3], equation[2], 1.0];
        right = value;
    }
    memory.store_scratch(edge - first, pack(direction, right));
    memory.store_scratch(edge - first + memory.cloth.fabric.fiber_row_count, equation);
}

/// Solves the tridiagonal system of one fiber; its rows become the pulls of its edges.
pub fn solve_fiber(memory: &mut ClothMemory<'_>, fiber: u32) {
    let (fabric, first) = (memory.cloth.fabric, memory.registers.edges[0]);
    let edge_begin = memory.fabric(fabric.fiber_begin + fiber);
    let edge_end = memory.fabric(fabric.fiber_begin + fiber + 1);
    let start = memory.load_current(memory.fabric(fabric.vertex_begin + fiber + edge_begin));
    let half = fabric.fiber_row_count;
    let mut last_direction = Vec3::ZERO;
    let mut last_pivot = 1.0;
    let mut last_value = 0.0;
    let mut is_held = start[3] == 0.0;
    for row in edge_begin - first..edge_end - first {
        let built = memory.load_scratch(row);
        let [diagonal, factor, is_pin, acts] = memory.load_scratch(row + half);
        let mut between = factor * dot3(last_direction, xyz(built));
        let (is_pin, acts) = (is_pin != 0.0, acts != 0.0);
        let mut ratio = 0.0;
        let mut value = 0.0;
        let mut pivot = 1.0;
        if acts {
            ratio = between / last_pivot;
            // pivot = d - b^2 / pivot_before, kept above a fraction of the diagonal
            let taken = between * ratio;
            let fraction = if is_held && is_pin { MIN_HELD_FRACTION } else { MIN_PIVOT_FRACTION };
            let most = diagonal - fraction * diagonal;
            if taken > most {
                between *= (most / taken).sqrt();
                ratio = between / last_pivot;
            }
            pivot = diagonal - taken.min(most);
            value = (built[3] - between * last_value) / pivot;
        }
        memory.store_scratch(row + half, [ratio, value, 0.0, 0.0]);
        // Held: a pin comes earlier in the fiber, with only rigid or compliant edges in between.
        is_held = is_pin || (is_held && acts);
        last_direction = xyz(built);
        last_pivot = pivot;
        last_value = value;
    }
    // Back substitution.
    let mut lambda = 0.0;
    let mut next_ratio = 0.0;
    for row in (edge_begin - first..edge_end - first).rev() {
        let [ratio, value, ..] = memory.load_scratch(row + half);
        lambda = value - next_ratio * lambda;
        next_ratio = ratio;
        let direction = xyz(memory.load_scratch(row));
        memory.store_scratch(row, pack(direction * lambda, 0.0));
    }
}

/// Moves the particles of an edge by the pulls of the edges of its set; `half` is the row of the
/// first edge.
pub(crate) fn pull_particles(memory: &mut ClothMemory<'_>, edge: u32, half: u32) {
    let marked = load_ends(memory, edge);
    let [a, b] = marked.map(|end| end & PARTICLE_MASK);
    let row = half + edge - memory.registers.edges[0];
    let pull = xyz(memory.load_scratch(row));
    let is_last = marked[1] & END_OF_FIBER != 0;
    let push = if is_last { Vec3::ZERO } else { xyz(memory.load_scratch(row + 1)) };
    let pb = memory.load_current(b);
    // An immovable particle may belong to other fibers of the set: it is read, never written.
    if pb[3] > 0.0 {
        memory.store_current(b, pack(xyz(pb) + (pull - push) * pb[3], pb[3]));
    }
    if marked[0] & END_OF_FIBER != 0 {
        let pa = memory.load_current(a);
        if pa[3] > 0.0 {
            memory.store_current(a, pack(xyz(pa) - pull * pa[3], pa[3]));
        }
    }
}

/// Moves the particles of an edge of a solved fiber.
pub fn push_edge(memory: &mut ClothMemory<'_>, edge: u32) {
    pull_particles(memory, edge, 0);
}

/// Returns the displacement of particle i since the last step.
fn displacement_of(memory: &ClothMemory<'_>, particle: [f32; 4], i: u32) -> Vec3 {
    xyz(particle) - xyz(memory.load_previous(i))
}
