#import contact/triangle_slice

/// Computes the bounds and the longest forced move of each body, and scales the stored multipliers.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_bound_bodies(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.row_count) {
        bound_row(i);
    }
    if (i < atomicLoad(&triangle_lists.round.held_count)) {
        scale_multiplier(i);
    }
}
