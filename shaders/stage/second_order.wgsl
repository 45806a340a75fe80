#import state/shared

/// Row of scratch with the last move of particle i by constraints: after the remainders, and the
/// rests of positions where there are any. Rows of predictions follow.
fn last_move_row(i: u32) -> u32 {
    return rest_row(i) + select(0u, cloth.particle_count, is_displaced());
}

/// Stores the position of particle i before constraints, from which `correct_velocity` measures
/// what they move it by.
fn note_prediction(i: u32) {
    if (cloth.remainder_begin != NO_OFFSET) {
        store_scratch(last_move_row(i) + cloth.particle_count, load_current(i));
    }
}

/// Corrects the next displacement d of particle i towards second order: d <- d - s (c - c'), with
/// the share s and the moves c and c' by constraints in this iteration and in the last one. The
/// correction is added to the remainder of the displacement.
///
/// With forces f of constraints, c = h^2 f / m, positions then follow
/// x'' - 2 x' + x = h^2 / m (f'' - s f' + s f). That is Newmark's method with beta = 1 and gamma =
/// 3/2 - s: backward Euler at s = 0, of second order and without damping at s = 1. For a linear
/// spring with K = k h^2 / m a step leaves (1 + s K) / (1 + K) of the squared amplitude. Contact
/// comes later in the iteration, so that what it stops stays stopped. Where the last move is not
/// known, as after a change of settings, one iteration is of first order.
///
/// Source: Newmark, "A Method of Computation for Structural Dynamics", 1959, for the forces of
/// constraints alone, in displacements.
fn correct_velocity(i: u32) {
    if (cloth.remainder_begin == NO_OFFSET) {
        return;
    }
    let remainder = cloth.remainder_begin + i;
    let last_move = last_move_row(i);
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
