#import contact/triangle_search

/// Finds the longest moves of bodies that are near others.
@compute @workgroup_size(CONTACT_LANES)
fn triangle_find_forced_moves(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = (workgroup.y * workgroups.x + workgroup.x) * CONTACT_LANES + lane;
    if (i < triangle.body_count) {
        find_cloth_move(i);
    }
    if (i < triangle.task_count) {
        find_task_moves(i);
    }
}
