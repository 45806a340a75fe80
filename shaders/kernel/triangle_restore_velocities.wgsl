#import contact/triangle_slice

/// Ends a slice: truncated parts of moves stay velocity.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_restore_velocities(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.row_count) {
        restore_velocity(i);
    }
}
