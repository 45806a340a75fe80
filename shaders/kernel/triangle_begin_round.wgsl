#import contact/triangle_slice

/// Begins another round if one is needed.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_begin_round(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i == 0u) {
        begin_round();
    }
}
