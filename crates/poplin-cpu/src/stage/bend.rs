//! Twin of `shaders/stage/bend.wgsl`.

use glam::Vec3;
use poplin_layout::{
    BEND_WORDS, MIN_BEND_STIFFNESS, MIN_HEIGHT_SQUARE, MIN_HINGE_SQUARE, MIN_NORMAL_SQUARE, PI, TAU,
};

use crate::ClothMemory;
use crate::math::{atan2_portable, cross3, dot3, particle as pack, xyz};

/// Tests whether a triangle has a usable height over an edge, from squared lengths of the edge and
/// a side and of the normal.
pub(super) fn has_height(hinge: f32, side: f32, normal: f32) -> bool {
    normal > MIN_NORMAL_SQUARE && normal > MIN_HEIGHT_SQUARE * hinge * hinge.max(side)
}

/// Solves the dihedral angle of one bend with XPBD, stiffness and damping.
pub fn solve_bend(memory: &mut ClothMemory<'_>, bend: u32) {
    let row = memory.cloth.fabric.bend_begin + BEND_WORDS * bend;
    let stiffness = memory.cloth.bending.rigidity * memory.fabric_f32(row + 5);
    let [p0, p1, p2, p3] = [0, 1, 2, 3].map(|k| memory.load_current(memory.fabric(row + k)));
    let edge = xyz(p1) - xyz(p0);
    let side_2 = xyz(p2) - xyz(p0);
    let side_3 = xyz(p3) - xyz(p0);
    let normal_2 = cross3(edge, side_2);
    let normal_3 = cross3(side_3, edge);
    let edge_square = dot3(edge, edge);
    let square_2 = dot3(normal_2, normal_2);
    let square_3 = dot3(normal_3, normal_3);
    let is_usable = edge_square > MIN_HINGE_SQUARE
        && stiffness > MIN_BEND_STIFFNESS
        && has_height(edge_square, dot3(side_2, side_2), square_2)
        && has_height(edge_square, dot3(side_3, side_3), square_3);
    if is_usable {
        let edge_length = edge_square.sqrt();
        let unit_2 = normal_2 / square_2.sqrt();
        let unit_3 = normal_3 / square_3.sqrt();
        let angle =
            atan2_portable(dot3(cross3(unit_2, unit_3), edge / edge_length), dot3(unit_2, unit_3));
        let mut error = angle - memory.fabric_f32(row + 4);
        // Wraps the difference of two angles.
        if error > PI {
            error -= TAU;
        } else if error <= -PI {
            error += TAU;
        }
        // d angle / dx_2 = -|e| n_2 / |n_2|^2; the ends of the edge balance both far corners.
        let gradient_2 = normal_2 * (-edge_length / square_2);
        let gradient_3 = normal_3 * (-edge_length / square_3);
        let ratio_2 = dot3(side_2, edge) / edge_square;
        let ratio_3 = dot3(side_3, edge) / edge_square;
        let gradient_1 = gradient_2 * -ratio_2 - gradient_3 * ratio_3;
        let gradient_0 = -gradient_1 - gradient_2 - gradient_3;
        // W = sum w |grad|^2
        let mobility = p0[3] * dot3(gradient_0, gradient_0)
            + p1[3] * dot3(gradient_1, gradient_1)
            + p2[3] * dot3(gradient_2, gradient_2)
            + p3[3] * dot3(gradient_3, gradient_3);
        if mobility > 0.0 {
            let displacement = bend_displacement(memory, row, 0, p0, gradient_0)
                + bend_displacement(memory, row, 1, p1, gradient_1)
                + bend_displacement(memory, row, 2, p2, gradient_2)
                + bend_displacement(memory, row, 3, p3, gradient_3);
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

/// Returns the displacement of particle k of a bend along its gradient since the last step.
fn bend_displacement(
    memory: &ClothMemory<'_>,
    row: u32,
    k: u32,
    particle: [f32; 4],
    gradient: Vec3,
) -> f32 {
    dot3(gradient, xyz(particle) - xyz(memory.load_previous(memory.fabric(row + k))))
}

/// Moves the particle whose index is at `row` of `fabric_pool` by an impulse, unless it is pinned.
fn push_bend(memory: &mut ClothMemory<'_>, row: u32, particle: [f32; 4], impulse: Vec3) {
    if particle[3] > 0.0 {
        memory.store_current(
            memory.fabric(row),
            pack(xyz(particle) + impulse * particle[3], particle[3]),
        );
    }
}
