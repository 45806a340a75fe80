#import state/shared
#import state/counters
// <stages>

/// Simulates a range of iterations of one frame, one cloth per workgroup.
///
/// Every lane runs every barrier: work is guarded, barriers are not. A cloth that sleeps or has a
/// fault returns before any of its particles is read.
@compute @workgroup_size(LANES)
fn simulate_cloth(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let slot = workgroup.y * dispatch_parameters.row_width + workgroup.x;
    let is_inside = slot < dispatch_parameters.cloth_count;
    // A workgroup beyond the list takes the last cloth and does nothing.
    let cloth_index = fabric_pool[dispatch_parameters.list_begin + min(slot, dispatch_parameters.cloth_count - 1u)];
    let iteration_begin = dispatch_parameters.iteration_begin;
    let phase_count = cloth_parameters[cloth_index].phase_count;
    let phases = cloth_parameters[cloth_index].phase_begin;
    let phase_begin = phases + PHASE_ROWS * min(dispatch_parameters.phase_begin, phase_count);
    let phase_end = phases + PHASE_ROWS * min(dispatch_parameters.phase_end, phase_count);
    let set_begin = cloth_parameters[cloth_index].fabric.set_begin;
    let yarn_begin = cloth_parameters[cloth_index].fabric.yarn_set_begin;
    let yarn_end = yarn_begin + cloth_parameters[cloth_index].fabric.yarn_set_count;
    let bend_begin = cloth_parameters[cloth_index].fabric.bend_set_begin;
    let bend_end = bend_begin + cloth_parameters[cloth_index].fabric.bend_set_count;
    let virtual_begin = cloth_parameters[cloth_index].fabric.virtual_set_begin;
    let virtual_end = virtual_begin + cloth_parameters[cloth_index].fabric.virtual_set_count;

    cloth_slot = cloth_index;
    cloth = cloth_parameters[cloth_slot];
    var next_halvings = feedback[cloth.cloth].implicit_halvings;
    if (lane == 0u && is_inside) {
        fetch_counters(iteration_begin == 0u);
    }
    // The load is uniform, and a barrier: every lane sees the decision of lane 0.
    let is_idle = workgroupUniformLoad(&shared_is_done) != 0u;
    let is_busy = is_inside && !is_idle;
    let iteration_end = select(0u, min(cloth_parameters[cloth_index].iteration_count, dispatch_parameters.iteration_end), is_busy);
    let particle_count = select(0u, cloth.particle_count, is_busy);
    for (var i = lane; i < particle_count; i += LANES) {
        fetch_particle(i);
    }
    workgroupBarrier(); // fetch -> iterations

    var is_alive = true;
    var ran = 0u;
    // <iterations>

    for (var i = lane; i < particle_count; i += LANES) {
        flush_particle(i);
    }
    if (lane == 0u && is_busy) {
        flush_counters(ran);
    }
}
