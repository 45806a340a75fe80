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
    ContactGatherParticles,
    /// Collision of cloths: which cloths meet another; empties the grid.
    ContactFindNearCloths,
    /// Collision of cloths: particles of each bucket.
    ContactCountRows,
    /// Collision of cloths: sums within blocks of buckets.
    ContactScanBlocks,
    /// Collision of cloths: sums of the blocks.
    ContactScanSums,
    /// Collision of cloths: particles by bucket.
    ContactScatterRows,
    /// Collision of cloths: the particles of each bucket in order.
    ContactSortBuckets,
    /// Collision of cloths: contacts of each particle.
    ContactCountContacts,
    /// Collision of cloths: pushes.
    ContactPushParticles,
    /// Contact of triangles: where particles are before the frame.
    TriangleGatherPositions,
    /// Contact of triangles: multipliers of bodies with other indices.
    TriangleRemapMultipliers,
    /// Contact of triangles: where particles and colliders would be.
    TriangleSetTargets,
    /// Contact of triangles: no rounds yet, bodies without bounds.
    TriangleClearState,
    /// Contact of triangles: bounds and longest moves of bodies.
    TriangleBoundBodies,
    /// Contact of triangles: longest moves of those near others.
    TriangleFindForcedMoves,
    /// Contact of triangles: whether there is another round.
    TriangleBeginRound,
    /// Contact of triangles: where rows go in the round.
    TrianglePlanMoves,
    /// Contact of triangles: boxes around the steps of rows, and empty lists.
    TriangleBoundMoves,
    /// Contact of triangles: boxes of the trees.
    TriangleRefitTrees,
    /// Contact of triangles: counts of what may meet.
    TriangleCountCandidates,
    /// Contact of triangles: what may meet.
    TriangleListCandidates,
    /// Contact of triangles: how much of the moves of the round they leave.
    TriangleLimitFraction,
    /// Contact of triangles: which candidates are in reach.
    TriangleFlagPairs,
    /// Contact of triangles: the pairs in reach.
    TriangleBuildPairs,
    /// Contact of triangles: corners of pairs by row.
    TriangleScatterIncidence,
    /// Contact of triangles: the corners of each row in order.
    TriangleSortIncidence,
    /// Contact of triangles: moves by changes of multipliers.
    TriangleGatherCorrections,
    /// Contact of triangles: multipliers.
    TriangleSolvePairs,
    /// Contact of triangles: whether pins or colliders come too near.
    TriangleIteratePinned,
    /// Contact of triangles: overlaps; keeps multipliers.
    TriangleReduceOverlaps,
    /// Contact of triangles: what pairs leave of moves.
    TriangleTruncateMoves,
    /// Contact of triangles: the pairs that leave least.
    TriangleMarkLimitingPairs,
    /// Contact of triangles: rows that are held back.
    TriangleCheckTruncation,
    /// Contact of triangles: rows move.
    TriangleMoveRows,
    /// Contact of triangles: pairs that are crossed by force.
    TriangleCountForced,
    /// Contact of triangles: what was held back.
    TriangleRestoreVelocities,
    /// Contact of triangles: particles move.
    TriangleWriteParticles,
    /// Contact of triangles: what could not be kept apart.
    TriangleUpdateReports,
    /// Render meshes: normals of the particles that vertices are offset along.
    RenderFindNormals,
    /// Render meshes: positions of vertices.
    RenderPlaceVertices,
    /// Render meshes: normals and tangents of vertices.
    RenderOrientVertices,
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
        Self::ContactGatherParticles,
        Self::ContactFindNearCloths,
        Self::ContactCountRows,
        Self::ContactScanBlocks,
        Self::ContactScanSums,
        Self::ContactScatterRows,
        Self::ContactSortBuckets,
        Self::ContactCountContacts,
        Self::ContactPushParticles,
        Self::TriangleGatherPositions,
        Self::TriangleRemapMultipliers,
        Self::TriangleSetTargets,
        Self::TriangleClearState,
        Self::TriangleBoundBodies,
        Self::TriangleFindForcedMoves,
        Self::TriangleBeginRound,
        Self::TrianglePlanMoves,
        Self::TriangleBoundMoves,
        Self::TriangleRefitTrees,
        Self::TriangleCountCandidates,
        Self::TriangleListCandidates,
        Self::TriangleLimitFraction,
        Self::TriangleFlagPairs,
        Self::TriangleBuildPairs,
        Self::TriangleScatterIncidence,
        Self::TriangleSortIncidence,
        Self::TriangleGatherCorrections,
        Self::TriangleSolvePairs,
        Self::TriangleIteratePinned,
        Self::TriangleReduceOverlaps,
        Self::TriangleTruncateMoves,
        Self::TriangleMarkLimitingPairs,
        Self::TriangleCheckTruncation,
        Self::TriangleMoveRows,
        Self::TriangleCountForced,
        Self::TriangleRestoreVelocities,
        Self::TriangleWriteParticles,
        Self::TriangleUpdateReports,
        Self::RenderFindNormals,
        Self::RenderPlaceVertices,
        Self::RenderOrientVertices,
        Self::CanaryLoop,
        Self::CanaryNan,
        Self::CanaryBarrier,
        Self::CanarySubnormal,
    ];

    /// The kernels of one pass of collision between cloths, in order.
    pub const CONTACT: [Self; 9] = [
        Self::ContactGatherParticles,
        Self::ContactFindNearCloths,
        Self::ContactCountRows,
        Self::ContactScanBlocks,
        Self::ContactScanSums,
        Self::ContactScatterRows,
        Self::ContactSortBuckets,
        Self::ContactCountContacts,
        Self::ContactPushParticles,
    ];

    /// The kernels of contact of triangles that are its own, in the order in which a slice first runs them.
    pub const TRIANGLES: [Self; 29] = [
        Self::TriangleGatherPositions,
        Self::TriangleRemapMultipliers,
        Self::TriangleSetTargets,
        Self::TriangleClearState,
        Self::TriangleBoundBodies,
        Self::TriangleFindForcedMoves,
        Self::TriangleBeginRound,
        Self::TrianglePlanMoves,
        Self::TriangleBoundMoves,
        Self::TriangleRefitTrees,
        Self::TriangleCountCandidates,
        Self::TriangleListCandidates,
        Self::TriangleLimitFraction,
        Self::TriangleFlagPairs,
        Self::TriangleBuildPairs,
        Self::TriangleScatterIncidence,
        Self::TriangleSortIncidence,
        Self::TriangleGatherCorrections,
        Self::TriangleSolvePairs,
        Self::TriangleIteratePinned,
        Self::TriangleReduceOverlaps,
        Self::TriangleTruncateMoves,
        Self::TriangleMarkLimitingPairs,
        Self::TriangleCheckTruncation,
        Self::TriangleMoveRows,
        Self::TriangleCountForced,
        Self::TriangleRestoreVelocities,
        Self::TriangleWriteParticles,
        Self::TriangleUpdateReports,
    ];

    /// The kernels that make render vertices, in order.
    pub const RENDER: [Self; 3] =
        [Self::RenderFindNormals, Self::RenderPlaceVertices, Self::RenderOrientVertices];

    /// The file stem and the name of the entry point.
    pub fn name(self) -> &'static str {
        match self {
            Self::SimulateCloth => "simulate_cloth",
            Self::ScatterRows => "scatter_rows",
            Self::ContactGatherParticles => "contact_gather_particles",
            Self::ContactFindNearCloths => "contact_find_near_cloths",
            Self::ContactCountRows => "contact_count_rows",
            Self::ContactScanBlocks => "contact_scan_blocks",
            Self::ContactScanSums => "contact_scan_sums",
            Self::ContactScatterRows => "contact_scatter_rows",
            Self::ContactSortBuckets => "contact_sort_buckets",
            Self::ContactCountContacts => "contact_count_contacts",
            Self::ContactPushParticles => "contact_push_particles",
            Self::TriangleGatherPositions => "triangle_gather_positions",
            Self::TriangleRemapMultipliers => "triangle_remap_multipliers",
            Self::TriangleSetTargets => "triangle_set_targets",
            Self::TriangleClearState => "triangle_clear_state",
            Self::TriangleBoundBodies => "triangle_bound_bodies",
            Self::TriangleFindForcedMoves => "triangle_find_forced_moves",
            Self::TriangleBeginRound => "triangle_begin_round",
            Self::TrianglePlanMoves => "triangle_plan_moves",
            Self::TriangleBoundMoves => "triangle_bound_moves",
            Self::TriangleRefitTrees => "triangle_refit_trees",
            Self::TriangleCountCandidates => "triangle_count_candidates",
            Self::TriangleListCandidates => "triangle_list_candidates",
            Self::TriangleLimitFraction => "triangle_limit_fraction",
            Self::TriangleFlagPairs => "triangle_flag_pairs",
            Self::TriangleBuildPairs => "triangle_build_pairs",
            Self::TriangleScatterIncidence => "triangle_scatter_incidence",
            Self::TriangleSortIncidence => "triangle_sort_incidence",
            Self::TriangleGatherCorrections => "triangle_gather_corrections",
            Self::TriangleSolvePairs => "triangle_solve_pairs",
            Self::TriangleIteratePinned => "triangle_iterate_pinned",
            Self::TriangleReduceOverlaps => "triangle_reduce_overlaps",
            Self::TriangleTruncateMoves => "triangle_truncate_moves",
            Self::TriangleMarkLimitingPairs => "triangle_mark_limiting_pairs",
            Self::TriangleCheckTruncation => "triangle_check_truncation",
            Self::TriangleMoveRows => "triangle_move_rows",
            Self::TriangleCountForced => "triangle_count_forced",
            Self::TriangleRestoreVelocities => "triangle_restore_velocities",
            Self::TriangleWriteParticles => "triangle_write_particles",
            Self::TriangleUpdateReports => "triangle_update_reports",
            Self::RenderFindNormals => "render_find_normals",
            Self::RenderPlaceVertices => "render_place_vertices",
            Self::RenderOrientVertices => "render_orient_vertices",
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
