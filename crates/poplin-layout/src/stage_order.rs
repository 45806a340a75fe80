//! Order of the functions of the stages: the schedule of the kernel's loops.

use poplin_model::FiberSolver;

use crate::{Barrier, Fence, Items, Location, Repeat, Stage, StageMask, Step, Task};

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
        // Fibers move particles of other lanes.
        stage(Stage::Displacement, &[Step::Work(Particles, &[BeginDisplacement]), FOR_CURRENT]),
        stage(Stage::SecondOrder, &[Step::Work(Particles, &[NotePrediction]), FOR_CURRENT]),
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
                // Later stages read other particles only after a barrier, except fibers and bends.
                Step::Work(Particles, &[EndSolve]),
            ],
        ),
        Step::SolveLevels,
        Step::Stages(
            StageMask::FIBERS,
            &[Step::Repeat(Repeat::Phases, &[Step::Repeat(Repeat::FiberSets, FIBER_SET)])],
        ),
        stage(
            Stage::Yarn,
            &[Step::Repeat(Repeat::YarnSets, &[Step::Work(Yarns, &[SolveYarn]), FOR_ALL])],
        ),
        stage(
            Stage::Bend,
            &[Step::Repeat(Repeat::BendSets, &[Step::Work(Bends, &[SolveBend]), FOR_CURRENT])],
        ),
        stage(Stage::SecondOrder, &[Step::Work(Particles, &[CorrectVelocity])]),
        stage(Stage::Displacement, &[Step::Work(Particles, &[EndDisplacement])]),
        stage(Stage::Separation, &[Step::Work(Particles, &[ConstrainSeparation])]),
        stage(Stage::SelfCollide, SELF_COLLISION),
        // None of these functions reads another particle: they need no barrier between them.
        Step::Work(
            Particles,
            &[
                Sweep,
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
        Step::RepairLevels,
    ]
};

/// Steps of the kernel `simulate_cloth`.
pub const SIMULATION: &[Step] = &[
    Step::Work(Items::Particles, &[Task::FetchParticle]),
    FOR_WORKGROUP,
    Step::Repeat(Repeat::Iterations, ITERATION),
    Step::Work(Items::Particles, &[Task::FlushParticle]),
];
