#import contact/triangle_state

/// Begins a slice: no rounds yet, bodies without bounds.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_clear_state(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    let is_low = i % TRIANGLE_BODY_WORDS < 3u;
    if (i < TRIANGLE_BODY_WORDS * triangle.body_count) {
        atomicStore(&triangle_lists[body_word(0u, i)], select(0u, 0xffffffffu, is_low));
    }
    if (i < TRIANGLE_WORDS && i != TRIANGLE_HELD) {
        atomicStore(&triangle_lists[i], select(0u, 0xff800000u, i == TRIANGLE_GAP));
    }
}
