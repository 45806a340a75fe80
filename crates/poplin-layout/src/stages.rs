//! Table of solver stages, the source of the enum, the bits of the mask, the shader constants, the
//! per-stage test of the GPU against the CPU reference, and the table in the documentation.
//! [`crate::ITERATION`] schedules their functions.

/// Memory that a stage writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Memory {
    /// Position and working inverse mass of particles: workgroup memory or storage, by tier.
    Current,
    /// Position one iteration ago and the user's inverse mass: workgroup memory or storage, by
    /// tier.
    Previous,
    /// The cloth's part of the storage buffer `scratch`.
    Scratch,
    /// Other workgroup memory: fiber rows, the grid of self collision, faults, sleep counters.
    Workgroup,
}

/// Reference in `f64` against which a stage is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// Functions in `crates/poplin-oracle/src`: file and name.
    Functions(&'static [(&'static str, &'static str)]),
    /// No oracle: the reason, or the test that replaces it.
    None(&'static str),
}

/// A row of the table of stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageRow {
    /// The stage.
    pub stage: Stage,
    /// Stem of its shader file and of its CPU reference.
    pub name: &'static str,
    /// Its functions, in the order in which the kernel calls them.
    pub tasks: &'static [Task],
    /// Memory written by its functions.
    pub writes: &'static [Memory],
    /// Its `f64` reference.
    pub oracle: Oracle,
}

macro_rules! declare_stages {
    (
        $($(#[doc = $doc:literal])+ $stage:ident {
            name: $name:ident,
            tasks: [$(
                $task:ident = $function:ident $(($arguments:literal))? $([$splits:ident])?
            ),+ $(,)?],
            writes: [$($memory:ident),+],
            oracle: $oracle:expr $(,)?
        })+
        kernel: [$($kernel_task:ident = $kernel_function:ident),+ $(,)?]
    ) => {
        /// One stage of the solver, in the order of the iteration. The kernel is compiled with only
        /// the stages that a bucket of cloths needs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Stage {
            $($(#[doc = $doc])+ $stage,)+
        }

        /// A function that the kernel runs for each of a range of items.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each is the shader function of its name, documented there")]
        pub enum Task {
            $($($task,)+)+
            $($kernel_task,)+
        }

        impl Task {
            /// Name of the function in the shader.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$task => stringify!($function),)+)+
                    $(Self::$kernel_task => stringify!($kernel_function),)+
                }
            }

            /// Arguments of the call after the item, in the shader.
            pub(crate) const fn arguments(self) -> &'static str {
                match self {
                    $($(Self::$task => concat!($($arguments)?),)+)+
                    $(Self::$kernel_task)|+ => "",
                }
            }

            /// True if several threads may process the items of one loop at once: of two items,
            /// neither writes a row that the other reads or writes. Memory safety of threads on the
            /// CPU rests on it.
            pub const fn is_splittable(self) -> bool {
                match self {
                    $($(Self::$task => !concat!($(stringify!($splits))?).is_empty(),)+)+
                    $(Self::$kernel_task)|+ => false,
                }
            }

            /// Stage of the function; `None` for functions of the kernel itself.
            pub const fn stage(self) -> Option<Stage> {
                match self {
                    $($(Self::$task)|+ => Some(Stage::$stage),)+
                    $(Self::$kernel_task)|+ => None,
                }
            }
        }

        /// All stages in the order of the iteration.
        pub const STAGES: &[StageRow] = &[$(StageRow {
            stage: Stage::$stage,
            name: stringify!($name),
            tasks: &[$(Task::$task),+],
            writes: &[$(Memory::$memory),+],
            oracle: $oracle,
        }),+];

        /// All functions that the kernel runs over items.
        pub const TASKS: &[Task] = &[$($(Task::$task,)+)+ $(Task::$kernel_task,)+];
    };
}

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
            /// Verlet step with damping, gravity and accelerations; clears the working mass of the
            /// last iteration.
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
            /// Spheres and capsules along the path of the particle; replaces [`Stage::CollideShape`].
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
                writes: [Current],
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

stage_table!(declare_stages);

impl Stage {
    /// Row of the stage in the table.
    pub const fn row(self) -> &'static StageRow {
        &STAGES[self as usize]
    }

    /// Stem of the stage's shader file and of its CPU reference.
    pub const fn name(self) -> &'static str {
        self.row().name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StageMask;

    #[test]
    fn bits_and_rows_follow_the_order_of_the_table() {
        for (index, row) in STAGES.iter().enumerate() {
            assert_eq!(row.stage as usize, index);
            assert_eq!(row.stage.row(), row);
            assert!(row.tasks.iter().all(|task| task.stage() == Some(row.stage)));
        }
        let bits = STAGES.iter().map(|row| StageMask::only(row.stage));
        let stages = bits.fold(StageMask(0), StageMask::union);
        assert!(!stages.intersects(StageMask::IMPLICIT_PARTS), "the mask has 32 bits");
    }
}
