#import contact/triangle_steps

/// Computes boxes around the moves of rows, and clears the lists of corners.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_bound_moves(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.row_count) {
        bound_move(i);
    }
    if (i < triangle.begin_len + SCAN_BLOCK) {
        atomicStore(&triangle_begins[i], 0u);
    }
}
