#import contact/triangle_search

/// Refits the boxes on one level of the trees to the moves of rows.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_refit_trees(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.node_end - triangle.node_begin && is_due()) {
        refit_node(triangle.node_begin + i);
    }
}
