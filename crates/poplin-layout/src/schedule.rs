//! The schedule of one iteration: which functions the lanes of a workgroup run over which items, and the barriers between them.
//!
//! The mirror runs it as it is here; a test compares it with what naga reads from `shaders/kernel/simulate_cloth.wgsl`.

use poplin_model::FiberSolver;

use crate::{Stage, StageMask, Task};

/// What a barrier waits for and makes visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fence {
    /// `workgroupBarrier`: workgroup memory.
    pub workgroup: bool,
    /// `storageBarrier`: storage buffers.
    pub storage: bool,
}

/// What a barrier depends on: an override of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Location {
    /// `CURRENT_SHARED`: current particles are in workgroup memory, else in storage.
    #[default]
    Current,
    /// `ROWS_SHARED`: rows of whole fibers are in workgroup memory, and current particles too; else in storage.
    Rows,
    /// `ROWS_APART`: rows of whole fibers are in storage and current particles in workgroup memory.
    RowsApart,
}

impl Location {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Current, Self::Rows, Self::RowsApart];

    /// The override's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Current => "CURRENT_SHARED",
            Self::Rows => "ROWS_SHARED",
            Self::RowsApart => "ROWS_APART",
        }
    }
}

/// A barrier between two steps; both fences make lanes wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Barrier {
    /// Which override picks one; [`Location::Current`] where they are equal.
    pub location: Location,
    /// Where it is true.
    pub shared: Fence,
    /// Where it is false.
    pub streamed: Fence,
}

impl Barrier {
    /// The same everywhere.
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
/// Both.
const BOTH: Fence = Fence { workgroup: true, storage: true };

/// For what is in workgroup memory in every tier.
const FOR_WORKGROUP: Step = Step::Barrier(Barrier::always(WORKGROUP));
/// For rows of scratch.
const FOR_SCRATCH: Step = Step::Barrier(Barrier::always(STORAGE));
/// For current particles.
const FOR_CURRENT: Step = by(Location::Current, WORKGROUP, STORAGE);
/// For rows of whole fibers.
const FOR_ROWS: Step = by(Location::Rows, WORKGROUP, STORAGE);
/// For rows of whole fibers in front of [`FOR_CURRENT`], which covers them where they are where current particles are.
const FOR_ROWS_APART: Step = by(Location::RowsApart, STORAGE, NOTHING);
/// For everything.
const FOR_ALL: Step = Step::Barrier(Barrier::always(BOTH));
/// For particles and counters, at the end of an iteration.
const FOR_ITERATION: Step = by(Location::Current, WORKGROUP, BOTH);

const fn by(location: Location, shared: Fence, streamed: Fence) -> Step {
    Step::Barrier(Barrier { location, shared, streamed })
}

/// Items of which each lane takes every `LANES`-th.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Items {
    /// Shapes that colliders prepare.
    Shapes,
    /// Particles.
    Particles,
    /// Particles in an iteration that tests for rest, else nothing.
    TestedParticles,
    /// Triangles of the fabric.
    Triangles,
    /// Anchors of tethers.
    Anchors,
    /// Fibers of the running set if its phase is solved like this, else nothing.
    Fibers(FiberSolver),
    /// Edges of the running set, likewise.
    Edges(FiberSolver),
    /// Bends of the running set.
    Bends,
    /// Buckets of the grid of self collision.
    Cells,
    /// Parts of that grid.
    CellParts,
    /// Particles that collide with each other.
    Members,
    /// Chunks of particles.
    Chunks,
    /// Rigid bodies.
    Bodies,
    /// Bundles of virtual particles of the running set.
    Bundles,
    /// Particles in an evaluation of an implicit solve that looks for contacts, else nothing.
    ProbedParticles,
    /// Triangles, where these resist stretch in an implicit solve, else nothing.
    StretchedTriangles,
    /// Bends whose forces the running evaluation of an implicit solve takes.
    TakenBends,
    /// Chains of particles.
    Chains,
    /// Parts of the sums of an implicit solve.
    SolveParts,
    /// Sums of these.
    SolveSums,
    /// One item.
    One,
}

/// What every lane repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// For each iteration of the frame.
    Iterations,
    /// For each configured phase.
    Phases,
    /// For each set of fibers of the running phase.
    FiberSets,
    /// For building the rows and each round of reduction; not at all for other solvers than [`FiberSolver::CyclicReduction`].
    ReductionSteps,
    /// Once, not at all for other solvers than [`FiberSolver::SemiImplicit`].
    WholeFibers,
    /// For each set of bends.
    BendSets,
    /// Counting contacts with bodies, then pushing.
    BodyVisits,
    /// For each set of bundles.
    BundleSets,
    /// For each evaluation of an implicit solve.
    Evaluations,
    /// Once if it is preconditioned by chains, else not at all.
    Chains,
    /// Once in an evaluation of a solve that factors chains, else not at all.
    Factors,
}

/// One step of the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Steps that are left out without any of these stages or parts.
    Stages(StageMask, &'static [Step]),
    /// Steps that are repeated.
    Repeat(Repeat, &'static [Step]),
    /// A loop over items that calls these functions one after the other for each, as far as their stages are on.
    Work(Items, &'static [Task]),
    /// Lanes wait for each other.
    Barrier(Barrier),
    /// The innermost repetition ends once an implicit solve is done; lanes wait for each other.
    LeaveIfSolved,
    /// Nothing more is done in this frame if a particle has left the coordinate range.
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
                // No stage behind it reads another particle before its first barrier; fibers and bends do, of other solvers.
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
        // None of these reads another particle.
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

/// One set of fibers: the phase says which of the solvers has items.
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

/// Particles that come too close: a counting sort into the grid, then contacts, then pushes.
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

/// The steps of the kernel `simulate_cloth`.
pub const SIMULATION: &[Step] = &[
    Step::Work(Items::Particles, &[Task::FetchParticle]),
    FOR_WORKGROUP,
    Step::Repeat(Repeat::Iterations, ITERATION),
    Step::Work(Items::Particles, &[Task::FlushParticle]),
];

/// A schedule in the order of its text, as it can be read from a kernel too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScheduleEvent {
    /// What follows up to its [`ScheduleEvent::End`] is left out without any of these stages.
    Stages(StageMask),
    /// What follows up to its [`ScheduleEvent::End`] is repeated.
    Repeat,
    /// Ends the innermost of these.
    End,
    /// The innermost repetition may be left, by all lanes or none.
    Leave,
    /// A function is called for items.
    Call(String),
    /// Lanes wait for each other.
    Barrier(Barrier),
    /// A barrier under a condition that is not the tier.
    UnknownBarrier,
}

/// The events of a schedule.
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
    fn every_function_of_every_stage_runs_once() {
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
