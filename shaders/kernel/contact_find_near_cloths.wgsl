#import contact/gather

/// Finds the cloths that are near another one, and clears the grid.
@compute @workgroup_size(CONTACT_LANES)
fn contact_find_near_cloths(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < contact.cloth_count) {
        find_near_cloth(i);
    }
    if (i < contact.bucket_count + SCAN_BLOCK) {
        atomicStore(&contact_cells[i], 0u);
    }
}
