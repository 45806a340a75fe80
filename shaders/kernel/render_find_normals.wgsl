#import render/vertices

/// Computes the normals of the particles that vertices are offset along.
@compute @workgroup_size(RENDER_LANES)
fn render_find_normals(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let chunk = workgroup.y * workgroups.x + workgroup.x;
    if (chunk < render.chunk_count) {
        let work = render_chunks[render.chunk_begin + chunk];
        instance = work.x;
        if (work.y + lane < render_instances[instance].particle_count) {
            find_normal(work.y + lane);
        }
    }
}
