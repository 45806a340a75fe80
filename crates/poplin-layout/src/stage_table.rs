//! Table of the stages of one iteration.
//!
//! It is the source of the enum, the bits of the mask, the shader constants, the twins, the stage
//! tests, and the table in the documentation.

/// Passes the table of stages to a macro.
///
/// A row of a stage has the stem of its files, then its functions in the order in which the kernel
/// calls them: `Task = function(arguments) [splits]`. The function is the name in the shader and of
/// its twin, the arguments are those after the item, in the shader. For `[splits]`, see
/// [`crate::Task::is_splittable`].
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
            /// Displacements in place of positions, for the constraints of fabric in short steps.
            Displacement {
                name: displacement,
                tasks: [
                    BeginDisplacement = begin_displacement [splits],
                    EndDisplacement = end_displacement [splits],
                ],
                writes: [Current, Scratch],
                oracle: Oracle::None("free fall and momentum, in `tests/cpu/free_fall.rs`"),
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
