#import contact/triangle_search

/// Finds the longest move of an immovable row, among bodies that are near each other.
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
