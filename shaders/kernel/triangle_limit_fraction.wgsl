#import contact/triangle_pairs

/// Computes the largest fraction of the round that pins and colliders may advance.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_limit_fraction(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let is_left = bitcast<f32>(atomicLoad(&triangle_lists.round.made)) < 1.0;
    let count = select(0u, atomicLoad(&triangle_lists.round.candidate_count), is_due() && is_left);
    let first = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    for (var i = first; i < count; i += workgroups.x * workgroups.y * CONTACT_LANES) {
        limit_fraction(i);
    }
}
