#import contact/triangle_narrow

/// Writes the pairs within reach, in the order of the candidates.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_build_pairs(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.capacity) {
        build_pair(i);
    }
}
