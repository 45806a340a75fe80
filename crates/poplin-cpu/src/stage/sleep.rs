//! Twin of `shaders/stage/sleep.wgsl`.

use std::ops::Range;

use crate::ClothMemory;

/// Counts particles as restless that moved at least the rest distance in this iteration, on any
/// axis.
#[inline(always)]
pub(crate) fn test_rest(memory: &mut ClothMemory<'_>, items: Range<u32>) {
    let range = items.start as usize..items.end as usize;
    let distance = memory.cloth.sleep.distance;
    for (current, previous) in memory.current[range.clone()].iter().zip(&memory.previous[range]) {
        let (current, previous) = (current.get(), previous.get());
        let moved = |k: usize| (current[k] - previous[k]).abs();
        memory.restless += u32::from(moved(0).max(moved(1).max(moved(2))) >= distance);
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
