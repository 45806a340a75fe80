//! Schedule of one iteration: the functions that the lanes of a workgroup run over ranges of items,
//! and the barriers between them.
//!
//! The CPU executes this schedule, and the loops of `shaders/kernel/simulate_cloth.wgsl` are
//! written from it; a test compares it with the control flow that naga parses from that kernel.

use poplin_model::FiberSolver;

use crate::{Stage, StageMask, Task};

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

/// No fence.
const NOTHING: Fence = Fence { workgroup: false, storage: false };
/// Workgroup memory only.
const WORKGROUP: Fence = Fence { workgroup: true, storage: false };
/// Storage only.
const STORAGE: Fence = Fence { workgroup: false, storage: true };
/// Workgroup memory and storage.
const BOTH: Fence = Fence { workgroup: true, storage: true };

/// Barrier for data that is in workgroup memory in every tier.
const FOR_WORKGROUP: Step = Step::Barrier(Barrier::always(WORKGROUP));
/// Barrier for rows of scratch.
const FOR_SCRATCH: Step = Step::Barrier(Barrier::always(STORAGE));
/// Barrier for current particles.
const FOR_CURRENT: Step = by(Location::Current, WORKGROUP, STORAGE);
/// Barrier for fiber rows.
const FOR_ROWS: Step = by(Location::Rows, WORKGROUP, STORAGE);
/// Barrier for fiber rows before [`FOR_CURRENT`], which covers them if both are in the same memory.
const FOR_ROWS_APART: Step = by(Location::RowsApart, STORAGE, NOTHING);
/// Barrier for all memory.
const FOR_ALL: Step = Step::Barrier(Barrier::always(BOTH));
/// Barrier for particles and counters, at the end of an iteration.
const FOR_ITERATION: Step = by(Location::Current, WORKGROUP, BOTH);

const fn by(location: Location, shared: Fence, streamed: Fence) -> Step {
    Step::Barrier(Barrier { location, shared, streamed })
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
    /// Exit from the frame if a particle has left the coordinate range.
    StopAtFault,
}

/// Steps of one stage.
const fn stage(stage: Stage, steps: &'static [Step]) -> Step {
    Step::Stages(StageMask::only(stage), steps)
}

/// Preconditions the residuals of an implicit solve by its chains.
const SOLVE_CHAINS: &[Step] = &[
    Step::Work(Items::Particles, &[Task::FindResidual]),
    FOR_SCRATCH,
    Step::Repeat(
        Repeat::Factors,
        &[
            Step::Stages(
                StageMask::TRIANGLES,
                &[Step::Work(Items::StretchedTriangles, &[Task::DirectTriangle])],
            ),
            FOR_SCRATCH,
            Step::Work(Items::Chains, &[Task::FactorChain]),
        ],
    ),
    Step::Work(Items::Chains, &[Task::SolveChain]),
    FOR_SCRATCH,
];

/// The steps of one iteration.
pub const ITERATION: &[Step] = {
    use Items::*;
    use Task::*;
    &[
        Step::Stages(StageMask::SHAPES, &[Step::Work(Shapes, &[PrepareShape]), FOR_ALL]),
        stage(
            Stage::Integrate,
            &[Step::Work(Particles, &[IntegrateParticle]), FOR_ALL, Step::StopAtFault],
        ),
        stage(
            Stage::Wind,
            &[
                Step::Work(Triangles, &[BlowTriangle]),
                FOR_ALL,
                Step::Work(Particles, &[GatherWind]),
                FOR_ALL,
            ],
        ),
        stage(Stage::Motion, &[Step::Work(Particles, &[ConstrainMotion]), FOR_CURRENT]),
        stage(
            Stage::Tether,
            &[
                Step::Work(Anchors, &[GatherAnchor]),
                FOR_ALL,
                Step::Work(Particles, &[ConstrainTethers]),
                FOR_CURRENT,
            ],
        ),
        stage(
            Stage::Implicit,
            &[
                Step::Work(Particles, &[BeginSolve]),
                FOR_ALL,
                Step::Repeat(
                    Repeat::Evaluations,
                    &[
                        Step::Work(ProbedParticles, &[ProbeContacts]),
                        Step::Stages(
                            StageMask::TRIANGLES,
                            &[Step::Work(StretchedTriangles, &[StretchTriangle])],
                        ),
                        Step::Stages(StageMask::BENDS, &[Step::Work(TakenBends, &[FoldBend])]),
                        FOR_SCRATCH,
                        Step::Stages(
                            StageMask::CHAINS,
                            &[Step::Repeat(Repeat::Chains, SOLVE_CHAINS)],
                        ),
                        Step::Work(SolveParts, &[SumPart]),
                        FOR_SCRATCH,
                        Step::Work(SolveSums, &[SumParts]),
                        FOR_SCRATCH,
                        Step::Work(One, &[ChooseStep]),
                        FOR_SCRATCH,
                        Step::LeaveIfSolved,
                        Step::Work(Particles, &[TakeStep]),
                        FOR_ALL,
                    ],
                ),
                // Stages after it read other particles only after their first barrier, except
                // fibers and bends, which belong to other solvers.
                Step::Work(Particles, &[EndSolve]),
            ],
        ),
        Step::Stages(
            StageMask::FIBERS,
            &[Step::Repeat(Repeat::Phases, &[Step::Repeat(Repeat::FiberSets, FIBER_SET)])],
        ),
        stage(
            Stage::Bend,
            &[Step::Repeat(Repeat::BendSets, &[Step::Work(Bends, &[SolveBend]), FOR_CURRENT])],
        ),
        stage(Stage::Separation, &[Step::Work(Particles, &[ConstrainSeparation])]),
        stage(Stage::SelfCollide, SELF_COLLISION),
        // None of these functions reads another particle, so that they need no barrier between
        // them.
        Step::Work(
            Particles,
            &[
                CollideConvex,
                CollideBox,
                CollideTriangle,
                RestoreMass,
                CollideShape,
                CollideContinuous,
            ],
        ),
        stage(
            Stage::CollideBody,
            &[Step::Repeat(
                Repeat::BodyVisits,
                &[
                    FOR_ALL,
                    Step::Work(Chunks, &[VisitChunk]),
                    FOR_ALL,
                    Step::Work(Bodies, &[SumChunks]),
                ],
            )],
        ),
        stage(
            Stage::VirtualParticles,
            &[
                FOR_ALL,
                Step::Repeat(Repeat::BundleSets, &[Step::Work(Bundles, &[CollideBundle]), FOR_ALL]),
            ],
        ),
        stage(Stage::LimitSpeed, &[Step::Work(Particles, &[LimitSpeed])]),
        stage(
            Stage::Sleep,
            &[
                Step::Work(TestedParticles, &[TestRest]),
                FOR_WORKGROUP,
                Step::Work(One, &[CountSleep]),
            ],
        ),
        FOR_ITERATION,
    ]
};

/// Steps of one set of fibers; only the solver of its phase has items.
const FIBER_SET: &[Step] = {
    use Task::*;
    &[
        stage(
            Stage::CyclicReduction,
            &[
                Step::Repeat(
                    Repeat::ReductionSteps,
                    &[
                        Step::Work(
                            Items::Edges(FiberSolver::CyclicReduction),
                            &[BuildRow, ReduceRow],
                        ),
                        FOR_ROWS,
                    ],
                ),
                Step::Work(Items::Edges(FiberSolver::CyclicReduction), &[MoveEdge]),
                FOR_ROWS_APART,
            ],
        ),
        stage(
            Stage::GaussSeidel,
            &[Step::Work(Items::Fibers(FiberSolver::GaussSeidel), &[ProjectFiber])],
        ),
        stage(
            Stage::SemiImplicit,
            &[Step::Repeat(
                Repeat::WholeFibers,
                &[
                    Step::Work(Items::Edges(FiberSolver::SemiImplicit), &[BuildEquation]),
                    FOR_ROWS,
                    Step::Work(Items::Fibers(FiberSolver::SemiImplicit), &[SolveFiber]),
                    FOR_ROWS,
                    Step::Work(Items::Edges(FiberSolver::SemiImplicit), &[PushEdge]),
                    FOR_ROWS_APART,
                ],
            )],
        ),
        FOR_CURRENT,
    ]
};

/// Self collision: a counting sort into the grid, then contacts, then pushes.
const SELF_COLLISION: &[Step] = {
    use Items::{CellParts, Cells, Members};
    use Task::*;
    &[
        Step::Work(Cells, &[ClearCell]),
        FOR_ALL,
        Step::Work(Members, &[CountMember]),
        FOR_WORKGROUP,
        Step::Work(CellParts, &[SumCells]),
        FOR_WORKGROUP,
        Step::Work(CellParts, &[ScanCells]),
        FOR_WORKGROUP,
        Step::Work(Members, &[ScatterMember]),
        FOR_ALL,
        Step::Work(Members, &[SortMember]),
        FOR_SCRATCH,
        Step::Work(Members, &[CountContacts]),
        FOR_SCRATCH,
        Step::Work(Members, &[PushApart]),
        FOR_CURRENT,
    ]
};

/// Steps of the kernel `simulate_cloth`.
pub const SIMULATION: &[Step] = &[
    Step::Work(Items::Particles, &[Task::FetchParticle]),
    FOR_WORKGROUP,
    Step::Repeat(Repeat::Iterations, ITERATION),
    Step::Work(Items::Particles, &[Task::FlushParticle]),
];

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
            Step::StopAtFault => {}
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TASKS;

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
