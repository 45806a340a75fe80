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
                    $($(Self::$task => $function,)+)+
                    $(Self::$kernel_task => $kernel_function,)+
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
            name: $name,
            tasks: &[$(Task::$task),+],
            writes: &[$(Memory::$memory),+],
            oracle: $oracle,
        }),+];

        /// All functions that the kernel runs over items.
        pub const TASKS: &[Task] = &[$($(Task::$task,)+)+ $(Task::$kernel_task,)+];
    };
}

stage_table! {
    /// Verlet step with damping, gravity and accelerations; clears the working mass of the last
    /// iteration.
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
    /// Largest distances to tether anchors.
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
    /// Fabric phases: the edges of a fiber as one system, interleaved with those of
    /// [`Stage::GaussSeidel`] in the order of the cloth's phases.
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
    /// Fabric phases: the edges of a fiber as one system, each with many lanes.
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
    /// Dihedral angles between triangles.
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
    /// Triangle meshes.
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
    /// Spheres and capsules at the position of the particle.
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
    /// Rigid bodies with two-way coupling.
    CollideBody {
        name: "collide_body",
        tasks: [VisitChunk = "visit_chunk", SumChunks = "sum_chunks"],
        writes: [Current, Previous, Scratch],
        oracle: Oracle::None("momentum, in `tests/cpu/bodies.rs`"),
    }
    /// Virtual particles against spheres and capsules.
    VirtualParticles {
        name: "virtual_particles",
        tasks: [CollideBundle = "collide_bundle"],
        writes: [Current, Previous],
        oracle: Oracle::None("that of the shapes, in `tests/cpu/collision`"),
    }
    /// Shortens moves that exceed the largest speed.
    LimitSpeed {
        name: "limit_speed",
        tasks: [LimitSpeed = "limit_speed"],
        writes: [Current],
        oracle: Oracle::Functions(&[("sphere", "keep_inside")]),
    }
    /// Tests for rest.
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
    /// Row of the stage in the table.
    pub const fn row(self) -> &'static StageRow {
        &STAGES[self as usize]
    }

    /// Stem of the stage's shader file and of its CPU reference.
    pub const fn name(self) -> &'static str {
        self.row().name
    }
}

/// A set of stages: bit `stage as u32` per [`Stage`], then the optional parts of
/// [`Stage::Implicit`]; the WGSL override `STAGES`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StageMask(pub u32);

impl StageMask {
    /// All stages.
    pub const ALL: Self = Self(u32::MAX);

    /// Stages that solve fibers.
    pub const FIBERS: Self =
        Self::only(Stage::GaussSeidel).with(Stage::SemiImplicit).with(Stage::CyclicReduction);

    /// Stages that solve the edges of a fiber as one system.
    pub const WHOLE_FIBERS: Self = Self::only(Stage::SemiImplicit).with(Stage::CyclicReduction);

    /// Stages that read prepared shapes.
    pub const SHAPES: Self = Self::only(Stage::CollideConvex)
        .with(Stage::CollideBox)
        .with(Stage::CollideTriangle)
        .with(Stage::CollideShape)
        .with(Stage::CollideContinuous)
        .with(Stage::CollideBody)
        .with(Stage::VirtualParticles);

    /// Stages that collide with spheres and capsules that belong to no body.
    pub const SPHERES: Self = Self::only(Stage::CollideShape).with(Stage::CollideContinuous);

    /// Stages whose contacts an implicit solve probes for.
    pub const PROBES: Self = Self::SPHERES
        .with(Stage::CollideConvex)
        .with(Stage::CollideBox)
        .with(Stage::CollideTriangle);

    /// Part of [`Stage::Implicit`]: triangles that resist stretch.
    pub const TRIANGLES: Self = Self(1 << 27);

    /// Part of [`Stage::Implicit`]: bends that resist bending.
    pub const BENDS: Self = Self(1 << 28);

    /// Part of [`Stage::Implicit`]: springs that resist stretch or bending.
    pub const SPRINGS: Self = Self(1 << 29);

    /// Part of [`Stage::Implicit`]: the preconditioner along chains.
    pub const CHAINS: Self = Self(1 << 30);

    /// Part of [`Stage::Implicit`]: halving of steps.
    pub const HALVINGS: Self = Self(1 << 31);

    /// All parts of [`Stage::Implicit`].
    pub const IMPLICIT_PARTS: Self = Self(
        Self::TRIANGLES.0 | Self::BENDS.0 | Self::SPRINGS.0 | Self::CHAINS.0 | Self::HALVINGS.0,
    );

    /// Intersection with the stages of `other`; keeps its own parts of [`Stage::Implicit`] if that
    /// stage remains.
    pub const fn restrict(self, other: Self) -> Self {
        let stages = self.0 & other.0 & !Self::IMPLICIT_PARTS.0;
        let has_parts = Self(stages).contains(Stage::Implicit);
        Self(if has_parts { stages | self.0 & Self::IMPLICIT_PARTS.0 } else { stages })
    }

    /// True if the sets have a bit in common.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Set of one stage.
    pub const fn only(stage: Stage) -> Self {
        Self(1 << stage as u32)
    }

    /// True if `stage` is in the set.
    pub const fn contains(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u32) != 0
    }

    /// Returns the set without `stage`.
    pub const fn without(self, stage: Stage) -> Self {
        Self(self.0 & !(1 << stage as u32))
    }

    /// Returns the set with `stage`.
    pub const fn with(self, stage: Stage) -> Self {
        Self(self.0 | (1 << stage as u32))
    }

    /// Union of two sets.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Sets that the shaders test: name of the constant, its meaning, the set.
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
    ("IMPLICIT_BENDS", "bends that resist bending in an implicit solve", StageMask::BENDS),
    (
        "IMPLICIT_SPRINGS",
        "springs that resist stretch or bending in an implicit solve",
        StageMask::SPRINGS,
    ),
    ("IMPLICIT_CHAINS", "chains that precondition an implicit solve", StageMask::CHAINS),
    ("IMPLICIT_HALVINGS", "implicit steps that may be halved", StageMask::HALVINGS),
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
    fn restrict_keeps_implicit_parts_only_with_their_stage() {
        let set = StageMask::only(Stage::Implicit).with(Stage::Wind).union(StageMask::CHAINS);
        let implicit = StageMask::only(Stage::Implicit);
        assert_eq!(set.restrict(implicit), implicit.union(StageMask::CHAINS));
        assert_eq!(set.restrict(StageMask::only(Stage::Wind)), StageMask::only(Stage::Wind));
        assert_eq!(implicit.restrict(StageMask::ALL), implicit);
    }
}
