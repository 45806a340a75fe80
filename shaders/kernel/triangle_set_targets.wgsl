#import contact/triangle_particles

/// Stores the contact-free positions of particles and colliders after the slice.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_set_targets(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.row_count) {
        set_target(i);
    }
}
