#import state/shared

/// Stores the position of particle i before constraints, from which `correct_velocity` measures
/// what they move it by.
fn note_prediction(i: u32) {
    if (cloth.remainder_begin != NO_OFFSET) {
        store_scratch(cloth.remainder_begin + 2u * cloth.particle_count + i, load_current(i));
    }
}

/// Corrects the next displacement d of particle i towards second order: d <- d - s (c - c'), with
/// the share s and the moves c and c' by constraints in this iteration and in the last one. The
/// correction is added to the remainder of the displacement.
///
/// XPBD is backward Euler, whose velocity at the end of a step has the whole force of the step. For
/// a linear spring of stiffness k h^2 / m = K a step leaves |z|^2 = (1 + s K) / (1 + K) of the
/// squared amplitude: s = 0 damps fast vibrations fully, s = 1 would keep all of them. Contact
/// comes later in the iteration, so that what it stops stays stopped. Without a last move, after a
/// change of settings or of the length of rows, velocities are of first order for one iteration.
///
/// Source: our own; the filter of velocities is that of the trapezoidal rule for linear forces
/// (Hairer, Lubich, Wanner, "Geometric Numerical Integration", 2006, II.1.2), whose two forces are
/// here those of two ends of steps.
fn correct_velocity(i: u32) {
    if (cloth.remainder_begin == NO_OFFSET) {
        return;
    }
    let remainder = cloth.remainder_begin + i;
    let last_move = remainder + cloth.particle_count;
    let prediction = last_move + cloth.particle_count;
    var moved = vec3<f32>(0.0);
    if (load_previous(i).w > 0.0) {
        moved = load_current(i).xyz - load_scratch(prediction).xyz;
    }
    if (iteration.previous_bias.w > 0.0) {
        let change = moved - load_scratch(last_move).xyz;
        store_scratch(remainder, vec4<f32>(load_scratch(remainder).xyz - change * cloth.second_order, 0.0));
    }
    store_scratch(last_move, vec4<f32>(moved, 0.0));
}
