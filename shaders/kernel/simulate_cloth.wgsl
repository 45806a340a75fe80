#import state/shared
#import stage/integrate
#import stage/tether
#import stage/gauss_seidel
#import stage/mass

/// Simulates a range of iterations of one frame of one cloth per workgroup.
///
/// Every lane runs every barrier; work is guarded, barriers are not. A cloth with a fault does no more work.
@compute @workgroup_size(LANES)
fn simulate_cloth(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let slot = workgroup.y * dispatch_parameters.row_width + workgroup.x;
    let is_inside = slot < dispatch_parameters.cloth_count;
    let cloth_index = dispatch_parameters.cloth_begin + min(slot, dispatch_parameters.cloth_count - 1u);
    let iteration_end = select(0u, min(cloth_frames[cloth_index].iteration_count, dispatch_parameters.iteration_end), is_inside);
    let phase_begin = cloth_frames[cloth_index].phase_begin;
    let phase_end = phase_begin + 2u * cloth_frames[cloth_index].phase_count;
    let set_begin = cloth_frames[cloth_index].set_begin;

    cloth = cloth_frames[cloth_index];
    let particle_count = select(0u, cloth.particle_count, is_inside);
    if (lane == 0u) {
        atomicStore(&shared_fault_count, feedback[cloth.cloth].fault_count);
        atomicStore(&shared_fault_particle, feedback[cloth.cloth].fault_particle);
    }
    for (var i = lane; i < particle_count; i += LANES) {
        fetch_particle(i);
    }
    workgroupBarrier(); // fetch -> iterations

    var is_alive = atomicLoad(&shared_fault_count) == 0u;
    var fault_iteration = 0u;
    workgroupBarrier(); // faults read -> faults written
    for (var k = dispatch_parameters.iteration_begin; k < iteration_end; k++) {
        iteration = load_iteration(k);
        if ((STAGES & STAGE_INTEGRATE) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    integrate_particle(i);
                }
            }
            workgroupBarrier();
            storageBarrier(); // integrate -> next stage
            if (is_alive && atomicLoad(&shared_fault_count) != 0u) {
                is_alive = false;
                fault_iteration = k - dispatch_parameters.iteration_begin;
            }
        }
        if ((STAGES & STAGE_TETHER) != 0u) {
            if (is_alive) {
                for (var slot = lane; slot < cloth.anchor_count; slot += LANES) {
                    gather_anchor(slot);
                }
            }
            workgroupBarrier();
            storageBarrier(); // anchors -> tethers
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    constrain_tethers(i);
                }
            }
            if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); } // tethers -> fabric
        }
        if ((STAGES & STAGE_GAUSS_SEIDEL) != 0u) {
            for (var constants = phase_begin; constants < phase_end; constants += 2u) {
                let phase = load_phase(constants);
                let sets = bitcast<vec4<u32>>(frame_pool[constants + 1u]);
                for (var set_index = sets.x; set_index < sets.y; set_index++) {
                    let fiber_begin = fabric_pool[set_begin + set_index];
                    let fiber_end = fabric_pool[set_begin + set_index + 1u];
                    if (is_alive) {
                        for (var fiber = fiber_begin + lane; fiber < fiber_end; fiber += LANES) {
                            project_fiber(fiber, phase);
                        }
                    }
                    if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); } // set -> next set
                }
            }
        }
        if ((STAGES & STAGE_MASS) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    restore_mass(i);
                }
            }
        }
        if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); } // iteration -> next iteration
    }

    for (var i = lane; i < particle_count; i += LANES) {
        flush_particle(i);
    }
    if (lane == 0u && is_inside) {
        let was_alive = feedback[cloth.cloth].fault_count == 0u;
        let begin = feedback[cloth.cloth].iteration_total;
        let ran = select(0u, iteration_end - min(dispatch_parameters.iteration_begin, iteration_end), was_alive);
        if (was_alive && !is_alive) {
            feedback[cloth.cloth].fault_count = atomicLoad(&shared_fault_count);
            feedback[cloth.cloth].fault_particle = atomicLoad(&shared_fault_particle);
            feedback[cloth.cloth].fault_iteration = begin + fault_iteration;
        }
        feedback[cloth.cloth].iteration_total = begin + select(fault_iteration, ran, is_alive);
    }
}
