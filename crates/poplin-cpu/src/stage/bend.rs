//! Twin of `shaders/stage/bend.wgsl`.

use poplin_layout::{BEND_WORDS, MIN_BEND_STIFFNESS};

use super::implicit::Hinge;
use crate::ClothMemory;
use crate::vector::Vec3;

/// Solves the dihedral angle of one bend with XPBD, stiffness and damping.
pub fn solve_bend(memory: &mut ClothMemory<'_>, bend: u32) {
    let row = memory.cloth.fabric.bend_begin + BEND_WORDS * bend;
    let stiffness = memory.cloth.bending.rigidity * memory.fabric_f32(row + 5);
    let [p0, p1, p2, p3] = [0, 1, 2, 3].map(|k| memory.load_current(memory.fabric(row + k)));
    let [edge, side_2, side_3] = [p1, p2, p3].map(|p| Vec3::xyz(p) - Vec3::xyz(p0));
    let fold = Hinge { edge, side_2, side_3 }.fold(());
    if fold.is_usable && stiffness > MIN_BEND_STIFFNESS {
        let error = fold.angle_error((), edge, memory.fabric_f32(row + 4));
        let edge_length = fold.edge_square.sqrt();
        // d angle / dx_2 = -|e| n_2 / |n_2|^2; the ends of the edge balance both far corners.
        let gradient_2 = fold.normal_2 * (-edge_length / fold.squares[0]);
        let gradient_3 = fold.normal_3 * (-edge_length / fold.squares[1]);
        let ratio_2 = side_2.dot(edge) / fold.edge_square;
        let ratio_3 = side_3.dot(edge) / fold.edge_square;
        let gradient_1 = gradient_2 * -ratio_2 - gradient_3 * ratio_3;
        let gradient_0 = -gradient_1 - gradient_2 - gradient_3;
        // W = sum w |grad|^2
        let mobility = p0[3] * gradient_0.dot(gradient_0)
            + p1[3] * gradient_1.dot(gradient_1)
            + p2[3] * gradient_2.dot(gradient_2)
            + p3[3] * gradient_3.dot(gradient_3);
        if mobility > 0.0 {
            let displacement = bend_displacement(memory, row, p0, gradient_0)
                + bend_displacement(memory, row + 1, p1, gradient_1)
                + bend_displacement(memory, row + 2, p2, gradient_2)
                + bend_displacement(memory, row + 3, p3, gradient_3);
            // lambda = (-C - damping grad . dx) / ((1 + damping) W + max(compliance - W/2, 0))
            let compliance = (1.0 / stiffness - 0.5 * mobility).max(0.0);
            let damping = memory.cloth.bending.damping;
            let lambda =
                (-error - damping * displacement) / (compliance + mobility + damping * mobility);
            push_bend(memory, row, p0, gradient_0 * lambda);
            push_bend(memory, row + 1, p1, gradient_1 * lambda);
            push_bend(memory, row + 2, p2, gradient_2 * lambda);
            push_bend(memory, row + 3, p3, gradient_3 * lambda);
        }
    }
}

/// Returns the displacement along its gradient since the last step of the particle whose index is
/// at `row` of `fabric_pool`.
fn bend_displacement(
    memory: &ClothMemory<'_>,
    row: u32,
    particle: [f32; 4],
    gradient: Vec3<f32>,
) -> f32 {
    let before = memory.load_previous(memory.fabric(row));
    gradient.dot(Vec3::xyz(particle) - Vec3::xyz(before))
}

/// Moves the particle whose index is at `row` of `fabric_pool` by an impulse, unless it is pinned.
fn push_bend(memory: &mut ClothMemory<'_>, row: u32, particle: [f32; 4], impulse: Vec3<f32>) {
    if particle[3] > 0.0 {
        let moved = Vec3::xyz(particle) + impulse * particle[3];
        memory.store_current(memory.fabric(row), moved.with(particle[3]));
    }
}
