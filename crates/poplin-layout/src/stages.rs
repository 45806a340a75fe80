//! The table of stages, from which follow the enum, the bits of the mask, the shader constants, the per-stage test of
//! GPU against mirror and the table in the documentation. [`crate::ITERATION`] says when their functions run.

/// Memory that a stage writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Memory {
    /// Position and working inverse mass of particles: workgroup memory or storage, by tier.
    Current,
    /// Position one iteration ago and the user's inverse mass: workgroup memory or storage, by tier.
    Previous,
    /// The cloth's part of the storage buffer `scratch`.
    Scratch,
    /// Other workgroup memory: rows of whole fibers, the grid of self collision, faults, sleep counters.
    Workgroup,
}

/// What holds a stage in `f64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// Functions in `crates/poplin-reference/src/oracle`: file and name.
    Functions(&'static [(&'static str, &'static str)]),
    /// Why there is none, or what holds the stage instead.
    None(&'static str),
}

/// A row of the table of stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageRow {
    /// The stage.
    pub stage: Stage,
    /// The stem of its shader file and of its mirror.
    pub name: &'static str,
    /// Its functions, in the order in which the kernel calls them.
    pub tasks: &'static [Task],
    /// What its functions write.
    pub writes: &'static [Memory],
    /// What holds it in `f64`.
    pub oracle: Oracle,
}

macro_rules! stage_table {
    (
        $($(#[doc = $doc:literal])+ $stage:ident {
            name: $name:literal,
            tasks: [$($task:ident = $function:literal),+ $(,)?],
            writes: [$($memory:ident),+],
            oracle: $oracle:expr $(,)?
        })+
        kernel: [$($kernel_task:ident = $kernel_function:literal),+ $(,)?]
    ) => {
        /// One stage of the solver, in the order of the iteration. The kernel compiles in only the stages a bucket of cloths
        /// needs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum Stage {
            $($(#[doc = $doc])+ $stage,)+
        }

        /// A function that the kernel runs for each of some items.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "each is the shader function of its name, documented there")]
        pub enum Task {
            $($($task,)+)+
            $($kernel_task,)+
        }

        impl Task {
            /// The function's name in the shader.
            pub const fn name(self) -> &'static str {
                match self {
                    $($(Self::$task => $function,)+)+
                    $(Self::$kernel_task => $kernel_function,)+
                }
            }

            /// The stage that it belongs to; `None` for what the kernel does itself.
            pub const fn stage(self) -> Option<Stage> {
                match self {
                    $($(Self::$task)|+ => Some(Stage::$stage),)+
                    $(Self::$kernel_task)|+ => None,
                }
            }
        }

        /// Every stage in the order of the iteration.
        pub const STAGES: &[StageRow] = &[$(StageRow {
            stage: Stage::$stage,
            name: $name,
            tasks: &[$(Task::$task),+],
            writes: &[$(Memory::$memory),+],
            oracle: $oracle,
        }),+];

        /// Every function that the kernel runs over items.
        pub const TASKS: &[Task] = &[$($(Task::$task,)+)+ $(Task::$kernel_task,)+];
    };
}

stage_table! {
    /// Verlet step with damping, gravity and accelerations; clears the working mass of the last iteration.
    Integrate {
        name: "integrate",
        tasks: [IntegrateParticle = "integrate_particle"],
        writes: [Current, Previous, Scratch, Workgroup],
        oracle: Oracle::Functions(&[("integrate", "integrate")]),
    }
    /// Drag and lift of the air.
    Wind {
        name: "wind",
        tasks: [BlowTriangle = "blow_triangle", GatherWind = "gather_wind"],
        writes: [Current, Scratch],
        oracle: Oracle::Functions(&[("wind", "air_impulse")]),
    }
    /// Spheres that particles may not leave.
    Motion {
        name: "motion",
        tasks: [ConstrainMotion = "constrain_motion"],
        writes: [Current],
        oracle: Oracle::Functions(&[("sphere", "keep_inside")]),
    }
    /// Largest distances to anchors.
    Tether {
        name: "tether",
        tasks: [GatherAnchor = "gather_anchor", ConstrainTethers = "constrain_tethers"],
        writes: [Current, Scratch],
        oracle: Oracle::Functions(&[("tether", "constrain_to_anchors")]),
    }
    /// Stretch, shear and bending of the whole cloth at once, by backward Euler.
    Implicit {
        name: "implicit",
        tasks: [
            BeginSolve = "begin_solve",
            ProbeContacts = "probe_contacts",
            StretchTriangle = "stretch_triangle",
            FoldBend = "fold_bend",
            FindResidual = "find_residual",
            DirectTriangle = "direct_triangle",
            FactorChain = "factor_chain",
            SolveChain = "solve_chain",
            SumPart = "sum_part",
            SumParts = "sum_parts",
            ChooseStep = "choose_step",
            TakeStep = "take_step",
            EndSolve = "end_solve",
        ],
        writes: [Current, Previous, Scratch, Workgroup],
        oracle: Oracle::Functions(&[("implicit/conjugate_gradients", "minimize")]),
    }
    /// Fabric phases: fibers of edges by Gauss-Seidel.
    GaussSeidel {
        name: "gauss_seidel",
        tasks: [ProjectFiber = "project_fiber"],
        writes: [Current],
        oracle: Oracle::Functions(&[("distance", "project_distance")]),
    }
    /// Fabric phases: fibers as a whole, phases in the order of the cloth among those of [`Stage::GaussSeidel`].
    SemiImplicit {
        name: "semi_implicit",
        tasks: [
            BuildEquation = "build_equation",
            SolveFiber = "solve_fiber",
            PushEdge = "push_edge",
        ],
        writes: [Current, Scratch, Workgroup],
        oracle: Oracle::Functions(&[("semi_implicit", "solve_chain")]),
    }
    /// Fabric phases: fibers as a whole, each by many lanes.
    CyclicReduction {
        name: "cyclic_reduction",
        tasks: [
            BuildRow = "build_row",
            ReduceRow = "reduce_row",
            MoveEdge = "move_edge",
        ],
        writes: [Current, Scratch, Workgroup],
        oracle: Oracle::Functions(&[("semi_implicit", "solve_chain")]),
    }
    /// Angles between triangles.
    Bend {
        name: "bend",
        tasks: [SolveBend = "solve_bend"],
        writes: [Current],
        oracle: Oracle::Functions(&[
            ("bend", "bend_angle"),
            ("bend", "bend_gradient"),
            ("bend", "solve_bend"),
        ]),
    }
    /// Spheres that particles may not enter.
    Separation {
        name: "separation",
        tasks: [ConstrainSeparation = "constrain_separation"],
        writes: [Current],
        oracle: Oracle::Functions(&[("sphere", "keep_outside")]),
    }
    /// Particles of the cloth that come too close to each other.
    SelfCollide {
        name: "self_collide",
        tasks: [
            ClearCell = "clear_cell",
            CountMember = "count_member",
            SumCells = "sum_cells",
            ScanCells = "scan_cells",
            ScatterMember = "scatter_member",
            SortMember = "sort_member",
            CountContacts = "count_contacts",
            PushApart = "push_apart",
        ],
        writes: [Current, Scratch, Workgroup],
        oracle: Oracle::Functions(&[("self_collide", "push_apart")]),
    }
    /// Convexes of planes.
    CollideConvex {
        name: "collide_convex",
        tasks: [CollideConvex = "collide_convex"],
        writes: [Current, Previous],
        oracle: Oracle::Functions(&[("polyhedron", "leave_convex"), ("contact", "coulomb")]),
    }
    /// Boxes.
    CollideBox {
        name: "collide_box",
        tasks: [CollideBox = "collide_box"],
        writes: [Current, Previous],
        oracle: Oracle::Functions(&[("polyhedron", "leave_parallelepiped")]),
    }
    /// The triangle mesh.
    CollideTriangle {
        name: "collide_triangle",
        tasks: [CollideTriangle = "collide_triangle"],
        writes: [Current, Previous, Scratch],
        oracle: Oracle::Functions(&[("triangle_mesh", "nearest_triangle")]),
    }
    /// Restores the working inverse mass.
    Mass {
        name: "mass",
        tasks: [RestoreMass = "restore_mass"],
        writes: [Current],
        oracle: Oracle::None("none: it copies"),
    }
    /// Spheres and capsules where the particle is.
    CollideShape {
        name: "collide_shape",
        tasks: [CollideShape = "collide_shape"],
        writes: [Current, Previous],
        oracle: Oracle::Functions(&[
            ("round_cone", "touch_shapes"),
            ("round_cone", "touch_round_cone"),
            ("contact", "weigh_pushed"),
        ]),
    }
    /// Spheres and capsules along the path of the particle; replaces [`Stage::CollideShape`].
    CollideContinuous {
        name: "collide_continuous",
        tasks: [CollideContinuous = "collide_continuous"],
        writes: [Current, Previous],
        oracle: Oracle::Functions(&[("sweep", "sweep_sphere"), ("sweep", "sweep_side")]),
    }
    /// Rigid bodies that feel the cloth.
    CollideBody {
        name: "collide_body",
        tasks: [VisitChunk = "visit_chunk", SumChunks = "sum_chunks"],
        writes: [Current, Previous, Scratch],
        oracle: Oracle::None("momentum, in `tests/bodies.rs`"),
    }
    /// Virtual particles against spheres and capsules.
    VirtualParticles {
        name: "virtual_particles",
        tasks: [CollideBundle = "collide_bundle"],
        writes: [Current, Previous],
        oracle: Oracle::None("that of the shapes, in `tests/collision.rs`"),
    }
    /// Shortens moves that are faster than the largest speed.
    LimitSpeed {
        name: "limit_speed",
        tasks: [LimitSpeed = "limit_speed"],
        writes: [Current],
        oracle: Oracle::Functions(&[("sphere", "keep_inside")]),
    }
    /// Tests whether the cloth rests.
    Sleep {
        name: "sleep",
        tasks: [TestRest = "test_rest", CountSleep = "count_sleep"],
        writes: [Workgroup],
        oracle: Oracle::None("none: it counts"),
    }
    kernel: [
        FetchParticle = "fetch_particle",
        PrepareShape = "prepare_shape",
        FlushParticle = "flush_particle",
    ]
}

impl Stage {
    /// Its row in the table.
    pub const fn row(self) -> &'static StageRow {
        &STAGES[self as usize]
    }

    /// The stem of the stage's shader file and of its mirror.
    pub const fn name(self) -> &'static str {
        self.row().name
    }
}

/// A set of stages: bit `stage as u32` per [`Stage`], behind them those of the parts of [`Stage::Implicit`] that not every cloth has;
/// the WGSL override `STAGES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageMask(pub u32);

impl StageMask {
    /// Every stage.
    pub const ALL: Self = Self(u32::MAX);

    /// The stages that solve fibers.
    pub const FIBERS: Self =
        Self::only(Stage::GaussSeidel).with(Stage::SemiImplicit).with(Stage::CyclicReduction);

    /// Those of them that solve fibers as a whole.
    pub const WHOLE_FIBERS: Self = Self::only(Stage::SemiImplicit).with(Stage::CyclicReduction);

    /// The stages that read prepared shapes.
    pub const SHAPES: Self = Self::only(Stage::CollideConvex)
        .with(Stage::CollideBox)
        .with(Stage::CollideTriangle)
        .with(Stage::CollideShape)
        .with(Stage::CollideContinuous)
        .with(Stage::CollideBody)
        .with(Stage::VirtualParticles);

    /// The stages that touch spheres and capsules of no body.
    pub const SPHERES: Self = Self::only(Stage::CollideShape).with(Stage::CollideContinuous);

    /// The stages whose contacts an implicit solve looks for.
    pub const PROBES: Self = Self::SPHERES
        .with(Stage::CollideConvex)
        .with(Stage::CollideBox)
        .with(Stage::CollideTriangle);

    /// Triangles that resist stretch in an implicit solve.
    pub const TRIANGLES: Self = Self(1 << 27);

    /// Bends that resist bending in it.
    pub const BENDS: Self = Self(1 << 28);

    /// Springs that resist stretch or bending in it.
    pub const SPRINGS: Self = Self(1 << 29);

    /// Chains that precondition it.
    pub const CHAINS: Self = Self(1 << 30);

    /// Steps of it that may be halved.
    pub const HALVINGS: Self = Self(1 << 31);

    /// All parts of [`Stage::Implicit`].
    pub const IMPLICIT_PARTS: Self = Self(
        Self::TRIANGLES.0 | Self::BENDS.0 | Self::SPRINGS.0 | Self::CHAINS.0 | Self::HALVINGS.0,
    );

    /// What it has in common with `other`; the parts of [`Stage::Implicit`] as they are here, if that is left.
    pub const fn restrict(self, other: Self) -> Self {
        let stages = self.0 & other.0 & !Self::IMPLICIT_PARTS.0;
        let has_parts = Self(stages).contains(Stage::Implicit);
        Self(if has_parts { stages | self.0 & Self::IMPLICIT_PARTS.0 } else { stages })
    }

    /// Whether the sets have a stage in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Only `stage`.
    pub const fn only(stage: Stage) -> Self {
        Self(1 << stage as u32)
    }

    /// Whether `stage` is in the set.
    pub const fn contains(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u32) != 0
    }

    /// The set without `stage`.
    pub const fn without(self, stage: Stage) -> Self {
        Self(self.0 & !(1 << stage as u32))
    }

    /// The set with `stage`.
    pub const fn with(self, stage: Stage) -> Self {
        Self(self.0 | (1 << stage as u32))
    }

    /// What is in either.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Sets that the shaders ask for: name of the constant, its meaning, the set.
pub const STAGE_SETS: &[(&str, &str, StageMask)] = &[
    ("STAGES_OF_FIBERS", "the stages that solve fibers", StageMask::FIBERS),
    ("STAGES_OF_SHAPES", "the stages that read prepared shapes", StageMask::SHAPES),
    ("STAGES_OF_SPHERES", "the stages that touch spheres and capsules", StageMask::SPHERES),
    (
        "STAGES_OF_PROBES",
        "the stages whose contacts an implicit solve looks for",
        StageMask::PROBES,
    ),
    (
        "IMPLICIT_TRIANGLES",
        "triangles that resist stretch in an implicit solve",
        StageMask::TRIANGLES,
    ),
    ("IMPLICIT_BENDS", "bends that resist bending in it", StageMask::BENDS),
    ("IMPLICIT_SPRINGS", "springs that resist stretch or bending in it", StageMask::SPRINGS),
    ("IMPLICIT_CHAINS", "chains that precondition it", StageMask::CHAINS),
    ("IMPLICIT_HALVINGS", "steps of it that may be halved", StageMask::HALVINGS),
];

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_restricted_set_has_the_parts_of_the_implicit_stage_with_it_alone() {
        let set = StageMask::only(Stage::Implicit).with(Stage::Wind).union(StageMask::CHAINS);
        let implicit = StageMask::only(Stage::Implicit);
        assert_eq!(set.restrict(implicit), implicit.union(StageMask::CHAINS));
        assert_eq!(set.restrict(StageMask::only(Stage::Wind)), StageMask::only(Stage::Wind));
        assert_eq!(implicit.restrict(StageMask::ALL), implicit);
    }
}
