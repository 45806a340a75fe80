#import contact/triangle_particles

/// Writes positions and velocities after contact back to the particles.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_write_particles(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.row_count) {
        write_particle(i);
    }
}
