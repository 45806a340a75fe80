#import contact/triangle_search

/// Counts the candidates of each query, the first pass of the broad phase.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_count_candidates(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.query_len + SCAN_BLOCK) {
        count_candidates(i);
    }
}
