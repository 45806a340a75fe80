#import contact/triangle_solve

/// Adds the multiplier changes of incident pairs to the move of each row.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_gather_corrections(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.row_count) {
        gather_corrections(i);
    }
}
