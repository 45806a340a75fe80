#import contact/triangle_state

/// Clears the state of the round. The multipliers of the last slice stay.
fn clear_round() {
    for (var k = 0u; k < 3u; k++) {
        atomicStore(&triangle_lists.round.gates[k], 0u);
    }
    atomicStore(&triangle_lists.round.contact_count, 0u);
    atomicStore(&triangle_lists.round.held_row_count, 0u);
    atomicStore(&triangle_lists.round.forced_count, 0u);
    // The ordered bits of infinity.
    atomicStore(&triangle_lists.round.least_gap, 0xff800000u);
    atomicStore(&triangle_lists.round.round_count, 0u);
    atomicStore(&triangle_lists.round.part, 0u);
    atomicStore(&triangle_lists.round.farthest_square, 0u);
    atomicStore(&triangle_lists.round.forced_move_square, 0u);
    atomicStore(&triangle_lists.round.candidate_count, 0u);
    atomicStore(&triangle_lists.round.unlisted_count, 0u);
    atomicStore(&triangle_lists.round.made, 0u);
    atomicStore(&triangle_lists.round.late_count, 0u);
    atomicStore(&triangle_lists.round.limit, 0u);
    atomicStore(&triangle_lists.round.part_count, 0u);
    atomicStore(&triangle_lists.round.parts_left, 0u);
    atomicStore(&triangle_lists.round.last_farthest_square, 0u);
    atomicStore(&triangle_lists.round.unexpected_count, 0u);
    atomicStore(&triangle_lists.round.repeat_count, 0u);
    atomicStore(&triangle_lists.round.is_careful, 0u);
    atomicStore(&triangle_lists.round.restart_parts, 0u);
}

/// Clears the state of the round and the bounds of bodies, for a new slice.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_clear_state(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    // The first three words are minima, the others maxima or counts.
    let is_low = i % TRIANGLE_BODY_WORDS < 3u;
    if (i < TRIANGLE_BODY_WORDS * triangle.body_count) {
        atomicStore(&triangle_lists.words[body_word(0u, i)], select(0u, 0xffffffffu, is_low));
    }
    if (i == 0u) {
        clear_round();
    }
}
