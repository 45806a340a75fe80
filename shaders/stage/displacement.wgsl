#import state/shared

/// Replaces the position of particle i by its displacement since the last step, for the stages that
/// move particles of the fabric.
///
/// Moves by a constraint in a step of 1/2000 s are often below the resolution of a position.
/// Rounded there, a move is lost, or differs between both ends of an edge, which adds momentum: a
/// free sheet that turns 2 m above the origin changed its velocity by 3 % a second at 2,000 Hz.
/// Displacements are small and resolve it. Distances are then those of the previous positions plus
/// differences of displacements (`vector_between`).
///
/// A position is known with its rest, what it lacks after rounding (Kahan, "Further Remarks on
/// Reducing Truncation Errors", 1965): the displacement starts at the rounded previous position and
/// ends at the position with its rest. A particle without mass keeps its place exactly.
fn begin_displacement(i: u32) {
    if (cloth.remainder_begin == NO_OFFSET) {
        return;
    }
    let particle = load_current(i);
    let moved = particle.xyz - load_previous(i).xyz;
    let rest = load_scratch(rest_row(i)).xyz;
    if (particle.w > 0.0) {
        store_current(i, vec4<f32>(moved + rest, particle.w));
    } else {
        store_current(i, vec4<f32>(moved, 0.0));
        let remainder = load_scratch(cloth.remainder_begin + i).xyz;
        store_scratch(cloth.remainder_begin + i, vec4<f32>(remainder - rest, 0.0));
        store_scratch(rest_row(i), particle);
    }
}

/// Replaces the displacement of particle i by its position, and stores the rest of that.
fn end_displacement(i: u32) {
    if (cloth.remainder_begin == NO_OFFSET) {
        return;
    }
    let particle = load_current(i);
    let kept = load_scratch(rest_row(i)).xyz;
    if (particle.w > 0.0) {
        let before = load_previous(i).xyz;
        let position = before + particle.xyz;
        let rest = lost_displacement(particle.xyz, position, before);
        let remainder = load_scratch(cloth.remainder_begin + i).xyz;
        store_current(i, vec4<f32>(position, particle.w));
        store_scratch(cloth.remainder_begin + i, vec4<f32>(remainder + (rest - kept), 0.0));
        store_scratch(rest_row(i), vec4<f32>(rest, 0.0));
    } else {
        store_current(i, vec4<f32>(kept, 0.0));
        store_scratch(rest_row(i), vec4<f32>(0.0));
    }
}
