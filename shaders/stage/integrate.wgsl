#import lib/math
#import state/shared
#import state/solve

/// Advances particle i by a Verlet step: x' = x + (x - x_previous) * s + bias (+ a h^2), with s =
/// (1 - damping)^(f h) * h / h_last.
///
/// In steps shorter than 1/400 s, what the positions lack of the displacement after rounding is
/// kept as a remainder, and the next displacement includes it (Kahan, "Further Remarks on Reducing
/// Truncation Errors", 1965): gravity adds 2.5 um in a step of 1/2000 s, 2.6 times the resolution
/// of a coordinate of 10 m.
///
/// In a rotating local space x' = x + A x_previous + B x + bias, with the matrices of the frame.
/// For an implicit solve the displacement by inertia is stored, so that it can make the step in
/// parts. A working inverse mass of 0, left by the last iteration, is reset. A particle that would
/// leave the range of f32 stays in place and counts as a fault.
///
/// Sources: Jakobsen, "Advanced Character Physics", 2001, with the damped velocity corrected for a
/// changing step, and gravity by the mean of past steps (`poplin-layout`, `clock`); the optional
/// largest move is trick 4 of Müller, "Cloth Self-Collision Handling", Ten Minute Physics 15: v_max
/// = r / h.
fn integrate_particle(i: u32) {
    var particle = load_current(i);
    let before = load_previous(i);
    if (particle.w == 0.0) {
        particle.w = before.w;
    }
    if (before.w > 0.0) {
        let keeps_remainders = cloth.remainder_begin != NO_OFFSET;
        var moved = particle.xyz - before.xyz;
        if (keeps_remainders && iteration.previous_bias.w > 0.0) {
            moved += load_scratch(cloth.remainder_begin + i).xyz;
        }
        var inertia = moved * iteration.velocity_scale.xyz;
        if (cloth.rotation_begin != NO_OFFSET) {
            inertia = multiply_columns(rotation_columns, before.xyz) + multiply_columns(rotation_columns + 3u, particle.xyz);
        }
        moved = inertia + iteration.bias.xyz;
        var position = particle.xyz + inertia + iteration.bias.xyz;
        if (cloth.acceleration_begin != NO_OFFSET) {
            position += input_row(cloth.acceleration_begin + i).xyz * cloth.acceleration_scale;
            moved += input_row(cloth.acceleration_begin + i).xyz * cloth.acceleration_scale;
        }
        var rest = vec3<f32>(0.0);
        if (keeps_remainders) {
            if (is_displaced() && iteration.previous_bias.w > 0.0) {
                rest = load_scratch(rest_row(i)).xyz;
            }
            position = particle.xyz + (rest + moved);
        }
        let max_move = cloth.self_collision.max_move;
        let displacement = position - particle.xyz;
        let displacement_square = dot3(displacement, displacement);
        if (max_move > 0.0 && displacement_square > max_move * max_move) {
            let limit = max_move / sqrt(displacement_square);
            position = particle.xyz + displacement * limit;
            moved = displacement * limit;
            inertia *= limit;
        }
        if ((STAGES & STAGE_IMPLICIT) != 0u) {
            store_scratch(solve_row(SOLVE_INERTIA, i), vec4<f32>(inertia, 0.0));
        }
        if (is_faulty(position)) {
            atomicAdd(&shared_fault_count, 1u);
            atomicMin(&shared_fault_particle, i);
        } else {
            let previous = particle.xyz + iteration.previous_bias.xyz;
            if (keeps_remainders) {
                let remainder = lost_displacement(moved - iteration.previous_bias.xyz, position, previous);
                store_scratch(cloth.remainder_begin + i, vec4<f32>(remainder, 0.0));
                if (is_displaced()) {
                    store_scratch(rest_row(i), vec4<f32>(lost_displacement(rest + moved, position, particle.xyz), 0.0));
                }
            }
            store_previous(i, vec4<f32>(previous, before.w));
            particle = vec4<f32>(position, particle.w);
        }
    } else {
        if (cloth.remainder_begin != NO_OFFSET) {
            store_scratch(cloth.remainder_begin + i, vec4<f32>(0.0));
            if (is_displaced()) {
                store_scratch(rest_row(i), vec4<f32>(0.0));
            }
        }
        // A pin that was moved has arrived.
        store_previous(i, vec4<f32>(particle.xyz, 0.0));
    }
    store_current(i, particle);
}
