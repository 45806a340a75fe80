//! Twin of `shaders/stage/sleep.wgsl`.

use crate::ClothMemory;
use crate::math::xyz;

/// Counts particle i as restless if it moved at least the rest distance in this iteration, on any
/// axis.
pub fn test_rest(memory: &mut ClothMemory<'_>, i: u32) {
    let moved = (xyz(memory.load_current(i)) - xyz(memory.load_previous(i))).abs();
    if moved.x.max(moved.y.max(moved.z)) >= memory.cloth.sleep.distance {
        memory.restless += 1;
    }
}

/// Tests whether this iteration has a rest test.
pub fn is_sleep_test(memory: &ClothMemory<'_>) -> bool {
    memory.sleep_time + memory.cloth.sleep.step >= memory.cloth.sleep.interval
}

/// Advances the sleep time by one iteration and evaluates the rest test if there was one; `_lane`
/// is always 0.
pub fn count_sleep(memory: &mut ClothMemory<'_>, _lane: u32) {
    let sleep_time = memory.sleep_time + memory.cloth.sleep.step;
    if sleep_time >= memory.cloth.sleep.interval {
        memory.sleep_pass_count =
            if memory.restless == 0 { memory.sleep_pass_count + 1 } else { 0 };
        memory.sleep_time = sleep_time - memory.cloth.sleep.interval;
    } else {
        memory.sleep_time = sleep_time;
    }
    memory.restless = 0;
}
