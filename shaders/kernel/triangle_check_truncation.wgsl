#import contact/triangle_truncate

/// Limits truncated moves to the reserve around their paths, or flags rows truncated unexpectedly.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_check_truncation(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.row_count && is_due()) {
        check_truncation(i);
    }
}
