//! The entry points and their overrides.

use poplin_layout::{GRID_PARTS, MemoryPlan, MemoryTier, StageMask};

/// A compute entry point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// A range of iterations of one frame of one cloth per workgroup.
    SimulateCloth,
    /// Writes what has changed since the last frame.
    ScatterRows,
    /// Collision of cloths: particles in the world, bounds.
    ContactGather,
    /// Collision of cloths: which cloths meet another; empties the grid.
    ContactMeet,
    /// Collision of cloths: particles of each bucket.
    ContactCount,
    /// Collision of cloths: sums within blocks of buckets.
    ContactScan,
    /// Collision of cloths: sums of the blocks.
    ContactSum,
    /// Collision of cloths: particles by bucket.
    ContactScatter,
    /// Collision of cloths: the particles of each bucket in order.
    ContactRank,
    /// Collision of cloths: contacts of each particle.
    ContactTouch,
    /// Collision of cloths: pushes.
    ContactPush,
    /// Contact of triangles: where particles are before the frame.
    TriangleStart,
    /// Contact of triangles: multipliers of bodies with other indices.
    TriangleRename,
    /// Contact of triangles: where particles and colliders would be.
    TriangleTarget,
    /// Contact of triangles: no rounds yet, bodies without bounds.
    TriangleBegin,
    /// Contact of triangles: bounds and longest moves of bodies.
    TriangleSpan,
    /// Contact of triangles: longest moves of those near others.
    TriangleMeet,
    /// Contact of triangles: whether there is another round.
    TriangleRound,
    /// Contact of triangles: where rows go in the round.
    TriangleAim,
    /// Contact of triangles: boxes around the steps of rows, and empty lists.
    TriangleStep,
    /// Contact of triangles: boxes of the trees.
    TriangleFit,
    /// Contact of triangles: counts of what may meet.
    TriangleFind,
    /// Contact of triangles: what may meet.
    TriangleList,
    /// Contact of triangles: how much of the moves of the round they leave.
    TriangleLimit,
    /// Contact of triangles: which candidates are in reach.
    TriangleReach,
    /// Contact of triangles: the pairs in reach.
    TriangleNarrow,
    /// Contact of triangles: corners of pairs by row.
    TriangleScatter,
    /// Contact of triangles: the corners of each row in order.
    TriangleTie,
    /// Contact of triangles: moves by changes of multipliers.
    TriangleGather,
    /// Contact of triangles: multipliers.
    TrianglePush,
    /// Contact of triangles: whether pins or colliders come too near.
    TrianglePress,
    /// Contact of triangles: overlaps; keeps multipliers.
    TriangleRecover,
    /// Contact of triangles: what pairs leave of moves.
    TriangleCut,
    /// Contact of triangles: the pairs that leave least.
    TriangleBlock,
    /// Contact of triangles: rows that are held back.
    TriangleHold,
    /// Contact of triangles: rows move.
    TriangleMove,
    /// Contact of triangles: pairs that are crossed by force.
    TriangleForce,
    /// Contact of triangles: what was held back.
    TriangleFinish,
    /// Contact of triangles: particles move.
    TriangleApply,
    /// Contact of triangles: what could not be kept apart.
    TriangleReport,
    /// Render meshes: normals of the particles that vertices are offset along.
    RenderNormals,
    /// Render meshes: positions of vertices.
    RenderPlace,
    /// Render meshes: normals and tangents of vertices.
    RenderShade,
    /// Counts long loops.
    CanaryLoop,
    /// Tests for NaN and infinities.
    CanaryNan,
    /// Prefix sums across barriers.
    CanaryBarrier,
    /// Passes indices as bits and subnormal floats.
    CanarySubnormal,
}

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 47] = [
        Self::SimulateCloth,
        Self::ScatterRows,
        Self::ContactGather,
        Self::ContactMeet,
        Self::ContactCount,
        Self::ContactScan,
        Self::ContactSum,
        Self::ContactScatter,
        Self::ContactRank,
        Self::ContactTouch,
        Self::ContactPush,
        Self::TriangleStart,
        Self::TriangleRename,
        Self::TriangleTarget,
        Self::TriangleBegin,
        Self::TriangleSpan,
        Self::TriangleMeet,
        Self::TriangleRound,
        Self::TriangleAim,
        Self::TriangleStep,
        Self::TriangleFit,
        Self::TriangleFind,
        Self::TriangleList,
        Self::TriangleLimit,
        Self::TriangleReach,
        Self::TriangleNarrow,
        Self::TriangleScatter,
        Self::TriangleTie,
        Self::TriangleGather,
        Self::TrianglePush,
        Self::TrianglePress,
        Self::TriangleRecover,
        Self::TriangleCut,
        Self::TriangleBlock,
        Self::TriangleHold,
        Self::TriangleMove,
        Self::TriangleForce,
        Self::TriangleFinish,
        Self::TriangleApply,
        Self::TriangleReport,
        Self::RenderNormals,
        Self::RenderPlace,
        Self::RenderShade,
        Self::CanaryLoop,
        Self::CanaryNan,
        Self::CanaryBarrier,
        Self::CanarySubnormal,
    ];

    /// The kernels of one pass of collision between cloths, in order.
    pub const CONTACT: [Self; 9] = [
        Self::ContactGather,
        Self::ContactMeet,
        Self::ContactCount,
        Self::ContactScan,
        Self::ContactSum,
        Self::ContactScatter,
        Self::ContactRank,
        Self::ContactTouch,
        Self::ContactPush,
    ];

    /// The kernels of contact of triangles that are its own, in the order in which a slice first runs them.
    pub const TRIANGLES: [Self; 29] = [
        Self::TriangleStart,
        Self::TriangleRename,
        Self::TriangleTarget,
        Self::TriangleBegin,
        Self::TriangleSpan,
        Self::TriangleMeet,
        Self::TriangleRound,
        Self::TriangleAim,
        Self::TriangleStep,
        Self::TriangleFit,
        Self::TriangleFind,
        Self::TriangleList,
        Self::TriangleLimit,
        Self::TriangleReach,
        Self::TriangleNarrow,
        Self::TriangleScatter,
        Self::TriangleTie,
        Self::TriangleGather,
        Self::TrianglePush,
        Self::TrianglePress,
        Self::TriangleRecover,
        Self::TriangleCut,
        Self::TriangleBlock,
        Self::TriangleHold,
        Self::TriangleMove,
        Self::TriangleForce,
        Self::TriangleFinish,
        Self::TriangleApply,
        Self::TriangleReport,
    ];

    /// The kernels that make render vertices, in order.
    pub const RENDER: [Self; 3] = [Self::RenderNormals, Self::RenderPlace, Self::RenderShade];

    /// The file stem and the name of the entry point.
    pub fn name(self) -> &'static str {
        match self {
            Self::SimulateCloth => "simulate_cloth",
            Self::ScatterRows => "scatter_rows",
            Self::ContactGather => "contact_gather",
            Self::ContactMeet => "contact_meet",
            Self::ContactCount => "contact_count",
            Self::ContactScan => "contact_scan",
            Self::ContactSum => "contact_sum",
            Self::ContactScatter => "contact_scatter",
            Self::ContactRank => "contact_rank",
            Self::ContactTouch => "contact_touch",
            Self::ContactPush => "contact_push",
            Self::TriangleStart => "triangle_start",
            Self::TriangleRename => "triangle_rename",
            Self::TriangleTarget => "triangle_target",
            Self::TriangleBegin => "triangle_begin",
            Self::TriangleSpan => "triangle_span",
            Self::TriangleMeet => "triangle_meet",
            Self::TriangleRound => "triangle_round",
            Self::TriangleAim => "triangle_aim",
            Self::TriangleStep => "triangle_step",
            Self::TriangleFit => "triangle_fit",
            Self::TriangleFind => "triangle_find",
            Self::TriangleList => "triangle_list",
            Self::TriangleLimit => "triangle_limit",
            Self::TriangleReach => "triangle_reach",
            Self::TriangleNarrow => "triangle_narrow",
            Self::TriangleScatter => "triangle_scatter",
            Self::TriangleTie => "triangle_tie",
            Self::TriangleGather => "triangle_gather",
            Self::TrianglePush => "triangle_push",
            Self::TrianglePress => "triangle_press",
            Self::TriangleRecover => "triangle_recover",
            Self::TriangleCut => "triangle_cut",
            Self::TriangleBlock => "triangle_block",
            Self::TriangleHold => "triangle_hold",
            Self::TriangleMove => "triangle_move",
            Self::TriangleForce => "triangle_force",
            Self::TriangleFinish => "triangle_finish",
            Self::TriangleApply => "triangle_apply",
            Self::TriangleReport => "triangle_report",
            Self::RenderNormals => "render_normals",
            Self::RenderPlace => "render_place",
            Self::RenderShade => "render_shade",
            Self::CanaryLoop => "canary_loop",
            Self::CanaryNan => "canary_nan",
            Self::CanaryBarrier => "canary_barrier",
            Self::CanarySubnormal => "canary_subnormal",
        }
    }

    /// The file as `folder/stem`.
    pub fn path(self) -> String {
        format!("kernel/{}", self.name())
    }
}

/// Pipeline constants of [`Kernel::SimulateCloth`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OverrideValues {
    /// Lanes of a workgroup.
    pub lane_count: u32,
    /// Stages that are compiled in.
    pub stages: StageMask,
    /// What is in workgroup memory.
    pub memory: MemoryPlan,
}

impl OverrideValues {
    /// The constants as the pipeline takes them.
    pub fn constants(&self) -> [(&'static str, f64); 11] {
        let MemoryPlan { tier, capacity, grid_cells, row_capacity } = self.memory;
        let current_shared = tier != MemoryTier::Streamed;
        let previous_shared = tier == MemoryTier::Resident;
        let flag = |is_set: bool| f64::from(u8::from(is_set));
        let rows_shared = row_capacity > 0;
        let capacity = |shared: bool| if shared { f64::from(capacity.max(1)) } else { 1.0 };
        [
            ("LANES", f64::from(self.lane_count)),
            ("CURRENT_CAPACITY", capacity(current_shared)),
            ("PREVIOUS_CAPACITY", capacity(previous_shared)),
            ("CURRENT_SHARED", flag(current_shared)),
            ("PREVIOUS_SHARED", flag(previous_shared)),
            ("ROW_CAPACITY", f64::from(row_capacity.max(1))),
            ("ROWS_SHARED", flag(rows_shared)),
            ("ROWS_APART", flag(current_shared && !rows_shared)),
            ("STAGES", f64::from(self.stages.0)),
            ("GRID_CELLS", f64::from(grid_cells)),
            ("GRID_SUMS", if grid_cells > 1 { f64::from(GRID_PARTS) } else { 1.0 }),
        ]
    }
}
