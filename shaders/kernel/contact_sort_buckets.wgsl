#import contact/sort

/// Sorts the rows of each bucket by index, so that sums over them have one order.
@compute @workgroup_size(CONTACT_LANES)
fn contact_sort_buckets(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < contact.row_count) {
        rank_row(i);
    }
}
