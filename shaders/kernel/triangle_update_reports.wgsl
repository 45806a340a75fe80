#import contact/triangle_particles

/// Adds the results of the slice to the report of each cloth.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_update_reports(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.cloth_count) {
        update_report(i);
    }
}
