#import contact/triangle_slice

/// Sets the contact-free move of each row in this round.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_plan_moves(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.row_count) {
        plan_move(i);
    }
}
