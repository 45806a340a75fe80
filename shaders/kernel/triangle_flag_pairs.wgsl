#import contact/triangle_pairs

/// Flags the candidates that are within reach, the narrow phase.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_flag_pairs(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.slot_len + SCAN_BLOCK) {
        flag_pair(i);
    }
}
