#import contact/triangle_narrow

/// Writes the pairs within reach, in the order of the candidates.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_build_pairs(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let count = select(0u, atomicLoad(&triangle_lists.round.candidate_count), is_due());
    let first = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    for (var i = first; i < count; i += workgroups.x * workgroups.y * CONTACT_LANES) {
        build_pair(i);
    }
}
