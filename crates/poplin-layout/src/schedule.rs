//! Steps of a schedule: the functions that the lanes of a workgroup run over ranges of items, and
//! the barriers between them.
//!
//! The CPU executes [`crate::ITERATION`], and the loops of `shaders/kernel/simulate_cloth.wgsl` are
//! written from it; a test compares it with the control flow that naga parses from that kernel.

use poplin_model::FiberSolver;

use crate::{StageMask, Task};

/// Memory that a barrier synchronises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fence {
    /// `workgroupBarrier`: workgroup memory.
    pub workgroup: bool,
    /// `storageBarrier`: storage buffers.
    pub storage: bool,
}

/// Override of the kernel on which a barrier depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Location {
    /// `CURRENT_SHARED`: current particles are in workgroup memory, otherwise in storage.
    #[default]
    Current,
    /// `ROWS_SHARED`: fiber rows and current particles are in workgroup memory, otherwise fiber
    /// rows are in storage.
    Rows,
    /// `ROWS_APART`: fiber rows are in storage and current particles in workgroup memory.
    RowsApart,
}

impl Location {
    /// All locations.
    pub const ALL: [Self; 3] = [Self::Current, Self::Rows, Self::RowsApart];

    /// Name of the override.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Current => "CURRENT_SHARED",
            Self::Rows => "ROWS_SHARED",
            Self::RowsApart => "ROWS_APART",
        }
    }
}

/// A barrier between two steps; with either fence, lanes wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Barrier {
    /// Override that selects the fence; [`Location::Current`] if both fences are equal.
    pub location: Location,
    /// Fence if the override is true.
    pub shared: Fence,
    /// Fence if the override is false.
    pub streamed: Fence,
}

impl Barrier {
    /// Creates a barrier with the same fence everywhere.
    pub const fn always(fence: Fence) -> Self {
        Self { location: Location::Current, shared: fence, streamed: fence }
    }
}

/// Ranges of items, of which each lane processes every `LANES`-th.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// Shapes that colliders prepare.
    Shapes,
    /// Particles.
    Particles,
    /// Particles in an iteration that tests for rest, otherwise none.
    TestedParticles,
    /// Triangles of the fabric.
    Triangles,
    /// Anchors of tethers.
    Anchors,
    /// Fibers of the current set if its phase uses this solver, otherwise none.
    Fibers(FiberSolver),
    /// Edges of the current set, likewise.
    Edges(FiberSolver),
    /// Yarns of the current set.
    Yarns,
    /// Bends of the current set.
    Bends,
    /// Buckets of the grid of self collision.
    Cells,
    /// Parts of the grid of self collision.
    CellParts,
    /// Particles that take part in self collision.
    Members,
    /// Chunks of particles.
    Chunks,
    /// Rigid bodies.
    Bodies,
    /// Bundles of virtual particles of the current set.
    Bundles,
    /// Particles in an evaluation of an implicit solve that probes for contacts, otherwise none.
    ProbedParticles,
    /// Triangles, if they resist stretch in an implicit solve, otherwise none.
    StretchedTriangles,
    /// Bends whose forces the current evaluation of an implicit solve computes.
    TakenBends,
    /// Chains of particles.
    Chains,
    /// Partial sums of an implicit solve.
    SolveParts,
    /// Sums of partial sums.
    SolveSums,
    /// A single item.
    One,
}

/// Loops that all lanes execute together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Each iteration of the frame.
    Iterations,
    /// Each configured phase.
    Phases,
    /// Each set of fibers of the current phase.
    FiberSets,
    /// Building the rows, then each round of reduction; none for solvers other than
    /// [`FiberSolver::CyclicReduction`].
    ReductionSteps,
    /// Once for [`FiberSolver::SemiImplicit`], otherwise never.
    WholeFibers,
    /// Each set of yarns.
    YarnSets,
    /// Each set of bends.
    BendSets,
    /// Twice: counting contacts with bodies, then pushing.
    BodyVisits,
    /// Each set of bundles.
    BundleSets,
    /// Each evaluation of an implicit solve.
    Evaluations,
    /// Once if the solve is preconditioned by chains, otherwise never.
    Chains,
    /// Once in an evaluation of a solve that factors chains, otherwise never.
    Factors,
}

/// One step of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Steps that are omitted if none of these stages or parts is enabled.
    Stages(StageMask, &'static [Step]),
    /// Steps that are repeated.
    Repeat(Repeat, &'static [Step]),
    /// Loop over items that calls these functions in order for each item, as far as their stages
    /// are enabled.
    Work(Items, &'static [Task]),
    /// Barrier of all lanes.
    Barrier(Barrier),
    /// Exit from the innermost loop once an implicit solve is done, with a barrier.
    LeaveIfSolved,
    /// Multilevel solve of the whole cloth, which a workgroup cannot run, with a barrier before it
    /// and after it.
    SolveLevels,
    /// Repair of a multilevel solve where particles were pushed since, like [`Step::SolveLevels`].
    RepairLevels,
    /// Exit from the frame if a particle has left the coordinate range.
    StopAtFault,
}

/// A schedule in textual order, which can also be parsed from a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleEvent {
    /// Start of a block, up to its [`ScheduleEvent::End`], that is omitted without any of these
    /// stages.
    Stages(StageMask),
    /// Start of a loop, up to its [`ScheduleEvent::End`].
    Repeat,
    /// End of the innermost block or loop.
    End,
    /// Exit from the innermost loop, uniform over all lanes.
    Leave,
    /// Call of a function for items.
    Call(String),
    /// Barrier of all lanes.
    Barrier(Barrier),
    /// Barrier under a condition other than the tier.
    UnknownBarrier,
}

/// Flattens a schedule to its events.
pub fn schedule_events(steps: &[Step]) -> Vec<ScheduleEvent> {
    let mut events = Vec::new();
    for step in steps {
        match step {
            Step::Stages(mask, steps) => {
                events.push(ScheduleEvent::Stages(*mask));
                events.extend(schedule_events(steps));
                events.push(ScheduleEvent::End);
            }
            Step::Repeat(_, steps) => {
                events.push(ScheduleEvent::Repeat);
                events.extend(schedule_events(steps));
                events.push(ScheduleEvent::End);
            }
            Step::Work(_, tasks) => {
                // A loop shared by several stages guards each call by its own stage.
                let is_of_many = tasks.iter().any(|task| task.stage() != tasks[0].stage());
                for task in *tasks {
                    let call = ScheduleEvent::Call(task.name().to_owned());
                    match task.stage().filter(|_| is_of_many) {
                        Some(stage) => events.extend([
                            ScheduleEvent::Stages(StageMask::only(stage)),
                            call,
                            ScheduleEvent::End,
                        ]),
                        None => events.push(call),
                    }
                }
            }
            Step::Barrier(barrier) => events.push(ScheduleEvent::Barrier(*barrier)),
            Step::LeaveIfSolved => events.push(ScheduleEvent::Leave),
            Step::StopAtFault | Step::SolveLevels | Step::RepairLevels => {}
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ITERATION, TASKS};

    #[test]
    fn every_function_of_every_stage_is_scheduled_once() {
        let called: Vec<_> = schedule_events(ITERATION)
            .into_iter()
            .filter_map(|event| match event {
                ScheduleEvent::Call(name) => Some(name),
                _ => None,
            })
            .collect();
        for task in TASKS.iter().filter(|task| task.stage().is_some()) {
            assert_eq!(called.iter().filter(|name| **name == task.name()).count(), 1, "{task:?}");
        }
    }
}
