#import state/shared
#import state/solve

/// Loads faults and sleep counters into workgroup memory and decides whether the cloth has work to
/// do.
fn fetch_counters(is_frame_start: bool) {
    let report = feedback[cloth.cloth];
    let is_woken = report.wake_count != cloth_parameters[cloth_slot].sleep.wake_count;
    let pass_count = select(report.sleep_pass_count, 0u, is_woken);
    var is_asleep = report.is_asleep != 0u;
    // Sleep starts and ends between frames only.
    if (is_frame_start) {
        is_asleep = (STAGES & STAGE_SLEEP) != 0u && pass_count >= cloth_parameters[cloth_slot].sleep.after_count;
        feedback[cloth.cloth].is_asleep = u32(is_asleep);
        feedback[cloth.cloth].sleep_frame_count = report.sleep_frame_count + u32(is_asleep && cloth.iteration_count > 0u);
    }
    shared_sleep_pass_count = pass_count;
    shared_sleep_time = select(report.sleep_time, 0u, is_woken);
    shared_is_done = u32(is_asleep || report.fault_count != 0u);
    // The halving of the last frame's end is where this one starts.
    if ((STAGES & STAGE_IMPLICIT) != 0u) {
        store_scratch(solve_state(4u), vec4<f32>(0.0));
        store_scratch(solve_state(6u), vec4<f32>(0.0));
        let halvings = min(report.implicit_halvings, load_implicit().max_halvings);
        let is_first = select(0.0, 1.0, report.implicit_steps == 0u);
        store_scratch(solve_state(5u), vec4<f32>(f32(halvings), f32(report.implicit_quick), 0.0, is_first));
    }
    atomicStore(&shared_restless, 0u);
    atomicStore(&shared_fault_count, report.fault_count);
    atomicStore(&shared_fault_particle, report.fault_particle);
}

/// Reports faults and sleep counters after `iteration_count` whole iterations.
fn flush_counters(iteration_count: u32) {
    let total = feedback[cloth.cloth].iteration_total + iteration_count;
    // Only the first fault is kept: the cloth is frozen from then on.
    if (feedback[cloth.cloth].fault_count == 0u && atomicLoad(&shared_fault_count) != 0u) {
        feedback[cloth.cloth].fault_count = atomicLoad(&shared_fault_count);
        feedback[cloth.cloth].fault_particle = atomicLoad(&shared_fault_particle);
        feedback[cloth.cloth].fault_iteration = total;
    }
    feedback[cloth.cloth].iteration_total = total;
    feedback[cloth.cloth].sleep_time = shared_sleep_time;
    feedback[cloth.cloth].sleep_pass_count = shared_sleep_pass_count;
    feedback[cloth.cloth].wake_count = cloth_parameters[cloth_slot].sleep.wake_count;
    if ((STAGES & STAGE_IMPLICIT) != 0u) {
        let counters = vec4<u32>(load_scratch(solve_state(4u)));
        feedback[cloth.cloth].implicit_steps += counters.x;
        feedback[cloth.cloth].implicit_iterations += counters.y;
        feedback[cloth.cloth].implicit_unconverged += counters.z;
        feedback[cloth.cloth].implicit_held += counters.w;
        feedback[cloth.cloth].implicit_floored += u32(load_scratch(solve_state(6u)).w);
        let control = vec4<u32>(load_scratch(solve_state(5u)));
        feedback[cloth.cloth].implicit_rejections += control.z;
        feedback[cloth.cloth].implicit_halvings = control.x;
        feedback[cloth.cloth].implicit_quick = control.y;
    }
}
