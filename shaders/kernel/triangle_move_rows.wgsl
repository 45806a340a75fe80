#import contact/triangle_truncate

/// Moves rows by the allowed fraction of their moves.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_move_rows(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.row_count && is_due() && is_moving()) {
        move_row(i);
    }
}
