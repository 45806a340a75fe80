#import contact/triangle_pairs

/// Computes the largest fraction of the round that pins and colliders may advance.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_limit_fraction(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    limit_fraction(i);
}
