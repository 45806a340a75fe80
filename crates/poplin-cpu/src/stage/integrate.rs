//! Twin of `shaders/stage/integrate.wgsl`.

use glam::Vec3;
use poplin_layout::{NO_OFFSET, SOLVE_INERTIA, Stage};

use super::implicit::solve_row;
use crate::ClothMemory;
use crate::math::{dot3, is_faulty, particle as pack, xyz};

/// Advances particle i by a Verlet step: x' = x + (x - x_previous) * s + bias (+ a h^2).
pub fn integrate_particle(memory: &mut ClothMemory<'_>, i: u32) {
    let mut particle = memory.load_current(i);
    let before = memory.load_previous(i);
    if particle[3] == 0.0 {
        particle[3] = before[3];
    }
    if before[3] > 0.0 {
        let iteration = memory.iteration;
        let here = xyz(particle);
        let mut inertia = (here - xyz(before)) * xyz(iteration.velocity_scale);
        if memory.cloth.rotation_begin != NO_OFFSET {
            let columns = memory.rotation_columns;
            inertia = memory.multiply_columns(columns, xyz(before))
                + memory.multiply_columns(columns + 3, here);
        }
        let mut position = here + inertia + xyz(iteration.bias);
        if memory.cloth.acceleration_begin != NO_OFFSET {
            let acceleration: Vec3 = xyz(memory.input_row(memory.cloth.acceleration_begin + i));
            position += acceleration * memory.cloth.acceleration_scale;
        }
        // Self-collision limits the move, so that particles cannot pass one another.
        let max_move = memory.cloth.self_collision.max_move;
        let displacement = position - here;
        let displacement_square = dot3(displacement, displacement);
        if max_move > 0.0 && displacement_square > max_move * max_move {
            let limit = max_move / displacement_square.sqrt();
            position = here + displacement * limit;
            inertia *= limit;
        }
        if memory.runs(Stage::Implicit) {
            memory.store_scratch(solve_row(memory, SOLVE_INERTIA, i), pack(inertia, 0.0));
        }
        if is_faulty(position) {
            memory.fault_count += 1;
            memory.fault_particle = memory.fault_particle.min(i);
        } else {
            memory.store_previous(i, pack(here + xyz(iteration.previous_bias), before[3]));
            particle = pack(position, particle[3]);
        }
    } else {
        // A pin that was moved by the user arrives without velocity.
        memory.store_previous(i, pack(xyz(particle), 0.0));
    }
    memory.store_current(i, particle);
}
