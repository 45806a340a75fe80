#import contact/triangle_solve

/// Finds out whether pins or colliders come nearer to pairs than moves may.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_press(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    // Where nobody pressed in the last iteration, nothing has moved since.
    let is_next = triangle.word == TRIANGLE_PRESSED || atomicLoad(&triangle_lists[triangle.word - 1u]) != 0u;
    if (i < pair_count() && is_next) {
        press_pair(i);
    }
}
