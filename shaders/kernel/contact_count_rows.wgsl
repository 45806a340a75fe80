#import contact/sort

/// Counts the rows of each bucket.
@compute @workgroup_size(CONTACT_LANES)
fn contact_count_rows(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < contact.row_count) {
        count_row(i);
    }
}
