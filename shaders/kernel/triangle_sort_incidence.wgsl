#import contact/triangle_narrow

/// Sorts the corners at each row, so that sums over them have one order.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_sort_incidence(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let count = select(0u, begin_of(triangle.row_count), is_due());
    let first = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    for (var i = first; i < count; i += workgroups.x * workgroups.y * CONTACT_LANES) {
        sort_incidence(i);
    }
}
