//! Twin of `shaders/stage/yarn.wgsl`.

use poplin_layout::{
    MIN_EDGE_SQUARE, MIN_PIVOT_FRACTION, YARN_POINT_WORDS, YARN_SHEAR, YARN_WARP, YARN_WEFT,
    YARN_WORDS,
};

use crate::ClothMemory;
use crate::vector::Vec3;

/// Row of a point of a yarn in `fabric_pool`.
fn yarn_point_row(memory: &ClothMemory<'_>, point: u32) -> u32 {
    memory.cloth.fabric.yarn_point_begin + YARN_POINT_WORDS * point
}

/// Returns the position of a point of a yarn and its inverse mass.
fn load_yarn_point(memory: &ClothMemory<'_>, row: u32) -> (Vec3<f32>, f32) {
    let [a, b] = [row, row + 1].map(|end| memory.load_current(memory.fabric(end)));
    let (pa, pb) = (Vec3::xyz(a), Vec3::xyz(b));
    let mass = memory.fabric_f32(row + 3) * a[3] + memory.fabric_f32(row + 4) * b[3];
    (pa + (pb - pa) * memory.fabric_f32(row + 2), mass)
}

/// Returns the displacement of a point of a yarn since the last step.
fn yarn_displacement(memory: &ClothMemory<'_>, row: u32) -> Vec3<f32> {
    let [of_a, of_b] = [row, row + 1].map(|end| {
        let i = memory.fabric(end);
        Vec3::xyz(memory.load_current(i)) - Vec3::xyz(memory.load_previous(i))
    });
    of_a + (of_b - of_a) * memory.fabric_f32(row + 2)
}

/// Returns the compliance of a yarn of breadth and length 1, over the squared step.
fn yarn_compliance(memory: &ClothMemory<'_>, kind: u32) -> f32 {
    let yarns = &memory.cloth.yarns;
    match kind {
        YARN_WARP => yarns.warp_compliance,
        YARN_WEFT => yarns.weft_compliance,
        _ => yarns.shear_compliance,
    }
}

/// Solves the segments of one yarn as one system.
pub fn solve_yarn(memory: &mut ClothMemory<'_>, yarn: u32) {
    let row = memory.cloth.fabric.yarn_begin + YARN_WORDS * yarn;
    let [begin, end, scratch_row, kind] = [0, 1, 2, 3].map(|k| memory.fabric(row + k));
    let compliance = yarn_compliance(memory, kind);
    let damping = if kind == YARN_SHEAR { memory.cloth.yarns.shear_damping } else { 0.0 };
    let (mut last, mut last_mass) = load_yarn_point(memory, yarn_point_row(memory, begin));
    let mut last_direction = Vec3::new(0.0, 0.0, 0.0);
    let (mut last_pivot, mut last_value) = (1.0, 0.0);
    for point in begin..end - 1 {
        let at = yarn_point_row(memory, point);
        let (next, next_mass) = load_yarn_point(memory, at + YARN_POINT_WORDS);
        let delta = next - last;
        let square = delta.dot(delta);
        let mobility = (1.0 + damping) * (last_mass + next_mass);
        let mut direction = Vec3::new(0.0, 0.0, 0.0);
        let (mut ratio, mut value, mut pivot) = (0.0, 0.0, 1.0);
        if mobility > 0.0 && square > MIN_EDGE_SQUARE {
            let length = square.sqrt();
            direction = delta / length;
            let mut right = memory.fabric_f32(at + 5) - length;
            if damping > 0.0 {
                let next_moved = yarn_displacement(memory, at + YARN_POINT_WORDS);
                right -= damping * direction.dot(next_moved - yarn_displacement(memory, at));
            }
            let diagonal = mobility + compliance * memory.fabric_f32(at + 6);
            let mut between = -(1.0 + damping) * last_mass * last_direction.dot(direction);
            ratio = between / last_pivot;
            let taken = between * ratio;
            let most = diagonal - MIN_PIVOT_FRACTION * diagonal;
            if taken > most {
                between *= (most / taken).sqrt();
                ratio = between / last_pivot;
            }
            pivot = diagonal - taken.min(most);
            value = (right - between * last_value) / pivot;
        }
        let segment = scratch_row + 2 * (point - begin);
        memory.store_scratch(segment, direction.with(ratio));
        memory.store_scratch(segment + 1, [value, 0.0, 0.0, 0.0]);
        (last, last_mass) = (next, next_mass);
        (last_direction, last_pivot, last_value) = (direction, pivot, value);
    }
    let mut pull = Vec3::new(0.0, 0.0, 0.0);
    let (mut lambda, mut next_ratio) = (0.0, 0.0);
    for point in (begin + 1..end).rev() {
        let segment = scratch_row + 2 * (point - 1 - begin);
        let built = memory.load_scratch(segment);
        lambda = memory.load_scratch(segment + 1)[0] - next_ratio * lambda;
        next_ratio = built[3];
        let next_pull = pull;
        pull = Vec3::xyz(built) * lambda;
        push_yarn_point(memory, point, pull - next_pull);
    }
    push_yarn_point(memory, begin, -pull);
}

/// Moves the particles of a point of a yarn by an impulse on it.
fn push_yarn_point(memory: &mut ClothMemory<'_>, point: u32, impulse: Vec3<f32>) {
    let row = yarn_point_row(memory, point);
    let weight = memory.fabric_f32(row + 2);
    push_yarn_particle(memory, memory.fabric(row), impulse, 1.0 - weight);
    push_yarn_particle(memory, memory.fabric(row + 1), impulse, weight);
}

/// Moves a particle by a part of an impulse, unless it is pinned.
fn push_yarn_particle(memory: &mut ClothMemory<'_>, i: u32, impulse: Vec3<f32>, weight: f32) {
    let particle = memory.load_current(i);
    if particle[3] > 0.0 {
        let moved = Vec3::xyz(particle) + impulse * (weight * particle[3]);
        memory.store_current(i, moved.with(particle[3]));
    }
}
