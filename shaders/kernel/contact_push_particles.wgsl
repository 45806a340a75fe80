#import contact/push

/// Pushes apart the particles of different cloths.
@compute @workgroup_size(CONTACT_LANES)
fn contact_push_particles(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < contact.row_count) {
        push_row(i);
    }
}
