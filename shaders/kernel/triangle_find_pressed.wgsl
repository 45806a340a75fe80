#import contact/triangle_solve

/// Tests whether pins or colliders come nearer to pairs than moves may, and computes the smallest
/// fraction of the round for which all pairs stay valid.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_find_pressed(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let count = select(0u, pair_count(), is_due());
    let first = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    for (var i = first; i < count; i += workgroups.x * workgroups.y * CONTACT_LANES) {
        let part = valid_part(i);
        // Nearly all pairs write neither word.
        if (part < 1.0) {
            atomicMin(&triangle_lists.round.valid_part, bitcast<u32>(part));
        }
        if (is_pressed(i)) {
            atomicStore(&triangle_lists.round.is_pressed, 1u);
        }
    }
}
