//! Division of a run of iterations into dispatches.

use std::ops::Range;

use poplin_layout::{DispatchParameters, Stage, StageMask};
use poplin_shaders::OverrideValues;

use super::{Bucket, Dispatch};
use crate::EngineOptions;

/// Overrides restricted to some stages.
pub(super) fn restricted(values: &OverrideValues, stages: StageMask) -> OverrideValues {
    let stages = values.stages.restrict(stages);
    let mut memory = values.memory;
    if !stages.contains(Stage::SelfCollide) {
        // An unused workgroup array keeps one element, so that kernels differ only where they must.
        memory.grid_cells = 1;
    }
    if !stages.intersects(StageMask::WHOLE_FIBERS) {
        memory.row_capacity = 0;
    }
    OverrideValues { stages, memory, ..*values }
}

/// Run of iterations for consecutive cloths of a bucket.
pub(super) struct Run {
    pub(super) values: OverrideValues,
    /// Loop trips per lane and iteration.
    pub(super) trips: u64,
    /// Range in the list of active cloths.
    pub(super) slots: Range<u32>,
    pub(super) iterations: Range<u32>,
    /// Index of the first phase, and one past the last.
    pub(super) phases: [u32; 2],
}

/// Adds the dispatches of a run, split by the limit of loop trips per dispatch.
pub(super) fn push_dispatches(
    device: &wgpu::Device,
    options: &EngineOptions,
    bucket: &Bucket,
    run: Run,
    dispatches: &mut Vec<Dispatch>,
) {
    let max_row = device.limits().max_compute_workgroups_per_dimension;
    let trip_limit = options.trips_per_dispatch.min(options.loop_limit.unwrap_or(u64::MAX));
    // At least one iteration: a single one cannot be split further.
    let per_dispatch = (trip_limit / run.trips).clamp(1, u64::from(u32::MAX)) as u32;
    let cloth_count = run.slots.end - run.slots.start;
    let [phase_begin, phase_end] = run.phases;
    let mut begin = run.iterations.start;
    while begin < run.iterations.end {
        let next = begin.saturating_add(per_dispatch).min(run.iterations.end);
        let parameters = DispatchParameters {
            list_begin: bucket.list.start + run.slots.start,
            cloth_count,
            row_width: cloth_count.min(max_row),
            iteration_begin: begin,
            iteration_end: next,
            phase_begin,
            phase_end,
            padding_0: 0,
        };
        dispatches.push((run.values, parameters));
        begin = next;
    }
}
