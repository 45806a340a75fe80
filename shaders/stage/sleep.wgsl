#import state/shared

/// Counts particle i as restless if it moved at least as far as `sleep.distance` in this iteration,
/// on any axis.
fn test_rest(i: u32) {
    let moved = abs(load_current(i).xyz - load_previous(i).xyz);
    if (max(moved.x, max(moved.y, moved.z)) >= cloth_parameters[cloth_slot].sleep.distance) {
        atomicAdd(&shared_restless, 1u);
    }
}

/// Tests whether this iteration has a test for rest.
fn is_sleep_test(sleep_time: u32) -> bool {
    return sleep_time + cloth_parameters[cloth_slot].sleep.step >= cloth_parameters[cloth_slot].sleep.interval;
}

/// Advances the sleep time by one iteration and evaluates the test if this iteration had one.
fn count_sleep(_item: u32) {
    let sleep_time = shared_sleep_time + cloth_parameters[cloth_slot].sleep.step;
    if (sleep_time >= cloth_parameters[cloth_slot].sleep.interval) {
        shared_sleep_pass_count = select(0u, shared_sleep_pass_count + 1u, atomicLoad(&shared_restless) == 0u);
        shared_sleep_time = sleep_time - cloth_parameters[cloth_slot].sleep.interval;
    } else {
        shared_sleep_time = sleep_time;
    }
    atomicStore(&shared_restless, 0u);
}
