#import contact/triangle_solve

/// Updates the multipliers of each pair.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_solve_pairs(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let count = select(0u, pair_count(), is_due());
    let first = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    for (var i = first; i < count; i += workgroups.x * workgroups.y * CONTACT_LANES) {
        solve_pair(i);
    }
}
