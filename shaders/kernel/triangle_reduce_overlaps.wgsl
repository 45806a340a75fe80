#import contact/triangle_solve

/// Computes the corrections that reduce overlaps, and stores the multipliers for the next slice.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_reduce_overlaps(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let count = select(0u, pair_count(), is_fresh());
    let first = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    for (var i = first; i < count; i += workgroups.x * workgroups.y * CONTACT_LANES) {
        reduce_overlap(i);
    }
    if (first == 0u && is_fresh() && part_of_slice() > 0.0) {
        atomicStore(&triangle_lists.round.held_count, pair_count());
    }
}
