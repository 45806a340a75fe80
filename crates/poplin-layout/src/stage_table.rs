//! Stages of one iteration: the table, and the schedule of their functions.
//!
//! The table is the source of the enum, the bits of the mask, the shader constants, the twins, the
//! stage tests, and the table in the documentation; the schedule is that of the kernel's loops.

use poplin_model::FiberSolver;

use crate::{Barrier, Fence, Items, Location, Repeat, Stage, StageMask, Step, Task};

/// Passes the table of stages to a macro.
///
/// A row of a stage has the stem of its files, then its functions in the order in which the kernel
/// calls them: `Task = function(arguments) [splits]`. The function is the name in the shader and of
/// its twin, the arguments are those after the item, in the shader. For `[splits]`, see
/// [`Task::is_splittable`].
#[macro_export]
macro_rules! stage_table {
    ($callback:ident) => {
        $callback! {
            /// Verlet step with damping, gravity and accelerations; resets working masses.
            Integrate {
                name: integrate,
                tasks: [IntegrateParticle = integrate_particle [splits]],
                writes: [Current, Previous, Scratch, Workgroup],
                oracle: Oracle::Functions(&[("integrate", "integrate")]),
            }
            /// Drag and lift of the air.
            Wind {
                name: wind,
                tasks: [BlowTriangle = blow_triangle [splits], GatherWind = gather_wind [splits]],
                writes: [Current, Scratch],
                oracle: Oracle::Functions(&[("wind", "air_impulse")]),
            }
            /// Spheres that particles may not leave.
            Motion {
                name: motion,
                tasks: [ConstrainMotion = constrain_motion [splits]],
                writes: [Current],
                oracle: Oracle::Functions(&[("sphere", "keep_inside")]),
            }
            /// Largest distances to tether anchors.
            Tether {
                name: tether,
                tasks: [
                    GatherAnchor = gather_anchor [splits],
                    ConstrainTethers = constrain_tethers [splits],
                ],
                writes: [Current, Scratch],
                oracle: Oracle::Functions(&[("tether", "constrain_to_anchors")]),
            }
            /// Stretch, shear and bending of the whole cloth at once, by backward Euler.
            Implicit {
                name: implicit,
                // It sums gradients at particles in a fixed order.
                tasks: [
                    BeginSolve = begin_solve,
                    ProbeContacts = probe_contacts [splits],
                    StretchTriangle = stretch_triangle,
                    FoldBend = fold_bend,
                    FindResidual = find_residual,
                    DirectTriangle = direct_triangle,
                    FactorChain = factor_chain,
                    SolveChain = solve_chain,
                    SumPart = sum_part,
                    SumParts = sum_parts,
                    ChooseStep = choose_step,
                    TakeStep = take_step,
                    EndSolve = end_solve,
                ],
                writes: [Current, Previous, Scratch, Workgroup],
                oracle: Oracle::Functions(&[("implicit/conjugate_gradients", "minimize")]),
            }
            /// Fabric phases: fibers of edges by Gauss-Seidel.
            GaussSeidel {
                name: gauss_seidel,
                tasks: [ProjectFiber = project_fiber("phase") [splits]],
                writes: [Current],
                oracle: Oracle::Functions(&[("distance", "project_distance")]),
            }
            /// Fabric phases: the edges of a fiber as one system, interleaved with those of
            /// [`Stage::GaussSeidel`] in the order of the cloth's phases.
            SemiImplicit {
                name: semi_implicit,
                // On the CPU, `solve_fiber` does the work of the other two.
                tasks: [
                    BuildEquation = build_equation("edges.x, phase"),
                    SolveFiber = solve_fiber("edges.x") [splits],
                    PushEdge = push_edge("edges.x"),
                ],
                writes: [Current, Scratch, Workgroup],
                oracle: Oracle::Functions(&[("semi_implicit", "solve_chain")]),
            }
            /// Fabric phases: the edges of a fiber as one system, each with many lanes.
            CyclicReduction {
                name: cyclic_reduction,
                tasks: [
                    BuildRow = build_row("edges.x, phase") [splits],
                    ReduceRow = reduce_row("step - 1u, edges, phase") [splits],
                    // A closed fiber begins and ends at one particle, which two items would write.
                    MoveEdge = move_edge("edges.x, phase"),
                ],
                writes: [Current, Scratch, Workgroup],
                oracle: Oracle::Functions(&[("semi_implicit", "solve_chain")]),
            }
            /// Yarns across the triangles of an irregular mesh, each as one system.
            Yarn {
                name: yarn,
                tasks: [SolveYarn = solve_yarn [splits]],
                writes: [Current, Scratch],
                oracle: Oracle::Functions(&[("yarn", "solve_yarn")]),
            }
            /// Dihedral angles between triangles.
            Bend {
                name: bend,
                tasks: [SolveBend = solve_bend [splits]],
                writes: [Current],
                oracle: Oracle::Functions(&[
                    ("bend", "bend_angle"),
                    ("bend", "bend_gradient"),
                    ("bend", "solve_bend"),
                ]),
            }
            /// Second-order correction of velocities, by what the constraints of the fabric moved.
            SecondOrder {
                name: second_order,
                tasks: [
                    NotePrediction = note_prediction [splits],
                    CorrectVelocity = correct_velocity [splits],
                ],
                writes: [Scratch],
                oracle: Oracle::None("momentum and energy, in `tests/cpu/second_order.rs`"),
            }
            /// Spheres that particles may not enter.
            Separation {
                name: separation,
                tasks: [ConstrainSeparation = constrain_separation [splits]],
                writes: [Current],
                oracle: Oracle::Functions(&[("sphere", "keep_outside")]),
            }
            /// Particles of the cloth that come too close to each other.
            SelfCollide {
                name: self_collide,
                // The CPU works on neighbor lists of the whole cloth.
                tasks: [
                    ClearCell = clear_cell,
                    CountMember = count_member,
                    SumCells = sum_cells,
                    ScanCells = scan_cells,
                    ScatterMember = scatter_member,
                    SortMember = sort_member,
                    CountContacts = count_contacts,
                    PushApart = push_apart,
                ],
                writes: [Current, Scratch, Workgroup],
                oracle: Oracle::Functions(&[("self_collide", "push_apart")]),
            }
            /// Convexes, boxes and meshes along the path of the particle, before their own stages.
            Sweep {
                name: sweep,
                tasks: [Sweep = sweep [splits]],
                writes: [Current],
                oracle: Oracle::Functions(&[("sweep", "sweep_convex")]),
            }
            /// Convexes of planes.
            CollideConvex {
                name: collide_convex,
                tasks: [CollideConvex = collide_convex [splits]],
                writes: [Current, Previous],
                oracle: Oracle::Functions(&[("polyhedron", "leave_convex"), ("contact", "coulomb")]),
            }
            /// Boxes.
            CollideBox {
                name: collide_box,
                tasks: [CollideBox = collide_box [splits]],
                writes: [Current, Previous],
                oracle: Oracle::Functions(&[("polyhedron", "leave_parallelepiped")]),
            }
            /// Triangle meshes.
            CollideTriangle {
                name: collide_triangle,
                tasks: [CollideTriangle = collide_triangle [splits]],
                writes: [Current, Previous, Scratch],
                oracle: Oracle::Functions(&[("triangle_mesh", "nearest_triangle")]),
            }
            /// Restores the working inverse mass.
            Mass {
                name: mass,
                tasks: [RestoreMass = restore_mass [splits]],
                writes: [Current],
                oracle: Oracle::None("none: it copies"),
            }
            /// Spheres and capsules at the position of the particle.
            CollideShape {
                name: collide_shape,
                tasks: [CollideShape = collide_shape [splits]],
                writes: [Current, Previous],
                oracle: Oracle::Functions(&[
                    ("round_cone", "touch_shapes"),
                    ("round_cone", "touch_round_cone"),
                    ("contact", "weigh_pushed"),
                ]),
            }
            /// Spheres and capsules along the path of the particle; replaces
            /// [`Stage::CollideShape`].
            CollideContinuous {
                name: collide_continuous,
                tasks: [CollideContinuous = collide_continuous [splits]],
                writes: [Current, Previous],
                oracle: Oracle::Functions(&[("sweep", "sweep_sphere"), ("sweep", "sweep_side")]),
            }
            /// Rigid bodies with two-way coupling.
            CollideBody {
                name: collide_body,
                tasks: [VisitChunk = visit_chunk("visit == 0u") [splits], SumChunks = sum_chunks("visit == 0u")],
                writes: [Current, Previous, Scratch],
                oracle: Oracle::None("momentum, in `tests/cpu/bodies.rs`"),
            }
            /// Virtual particles against spheres and capsules.
            VirtualParticles {
                name: virtual_particles,
                tasks: [CollideBundle = collide_bundle [splits]],
                writes: [Current, Previous],
                oracle: Oracle::None("that of the shapes, in `tests/cpu/collision`"),
            }
            /// Shortens moves that exceed the largest speed.
            LimitSpeed {
                name: limit_speed,
                tasks: [LimitSpeed = limit_speed [splits]],
                writes: [Current, Previous],
                oracle: Oracle::Functions(&[("sphere", "keep_inside")]),
            }
            /// Tests for rest.
            Sleep {
                name: sleep,
                tasks: [TestRest = test_rest [splits], CountSleep = count_sleep],
                writes: [Workgroup],
                oracle: Oracle::None("none: it counts"),
            }
            kernel: [
                FetchParticle = fetch_particle,
                PrepareShape = prepare_shape,
                FlushParticle = flush_particle,
            ]
        }
    };
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
