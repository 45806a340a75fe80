#import contact/triangle_search

/// Writes the candidates of each query, the second pass of the broad phase.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_list_candidates(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.query_count) {
        list_candidates(i);
    }
    if (i == 0u && is_due()) {
        record_candidate_count();
    }
}
