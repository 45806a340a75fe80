#import contact/triangle_truncate

/// Computes the fraction of each corner's move that its pairs allow.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_truncate_moves(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < pair_count()) {
        truncate_moves(i);
    }
}
