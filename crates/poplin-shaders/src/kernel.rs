//! Entry points and their overrides.

use poplin_layout::{GRID_PARTS, MemoryPlan, MemoryTier, StageMask};

/// A compute entry point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Simulates a range of iterations of one frame, one cloth per workgroup.
    SimulateCloth,
    /// Writes the rows that changed since the last frame.
    ScatterRows,
    /// Contact of particles: particles in world space and the bounds of each cloth.
    ContactGatherParticles,
    /// Contact of particles: cloths whose bounds are near another cloth; clears the grid.
    ContactFindNearCloths,
    /// Contact of particles: rows per hash bucket.
    ContactCountRows,
    /// Contact of particles: prefix sums of the counts within each block.
    ContactScanBlocks,
    /// Contact of particles: prefix sums of the block sums.
    ContactScanSums,
    /// Contact of particles: rows by bucket, in order of arrival.
    ContactScatterRows,
    /// Contact of particles: rows of each bucket sorted by index.
    ContactSortBuckets,
    /// Contact of particles: contacts of each row.
    ContactCountContacts,
    /// Contact of particles: pushes overlapping particles apart.
    ContactPushParticles,
    /// Triangle contact: world positions of cloth vertices before the frame.
    TriangleGatherPositions,
    /// Triangle contact: rewrites stored multipliers to the new body indices, drops those of
    /// removed bodies.
    TriangleRemapMultipliers,
    /// Triangle contact: positions that rows would reach in the slice without contact.
    TriangleSetTargets,
    /// Triangle contact: clears the round state and the per-body words at the start of a slice.
    TriangleClearState,
    /// Triangle contact: bounds and longest forced move of each body; starts the slice of each row.
    TriangleBoundBodies,
    /// Triangle contact: longest move of pinned rows and colliders among bodies that are near each
    /// other.
    TriangleFindForcedMoves,
    /// Triangle contact: decides whether another round runs, and begins it.
    TriangleBeginRound,
    /// Triangle contact: contact-free move of each row in the round.
    TrianglePlanMoves,
    /// Triangle contact: boxes around each row's move, inflated by its contact reach; clears the
    /// row lists.
    TriangleBoundMoves,
    /// Triangle contact: refits one level of the bounding-volume trees.
    TriangleRefitTrees,
    /// Triangle contact: number of candidate pairs of each query (broad phase, first pass).
    TriangleCountCandidates,
    /// Triangle contact: writes the candidate pairs of each query (broad phase, second pass).
    TriangleListCandidates,
    /// Triangle contact: largest fraction of the round's moves that candidates allow pins and
    /// colliders.
    TriangleLimitFraction,
    /// Triangle contact: flags the candidates that are within reach (narrow phase).
    TriangleFlagPairs,
    /// Triangle contact: writes the pairs within reach, warm-started, and counts their corners per
    /// row.
    TriangleBuildPairs,
    /// Triangle contact: scatters pair corners into the lists of their rows; step length of each
    /// pair's multiplier.
    TriangleScatterIncidence,
    /// Triangle contact: sorts the pair corners of each row, so that sums have one order.
    TriangleSortIncidence,
    /// Triangle contact: adds the multiplier changes of incident pairs to the move of each row.
    TriangleGatherCorrections,
    /// Triangle contact: updates normal and friction multipliers of each pair.
    TriangleSolvePairs,
    /// Triangle contact: tests whether pins or colliders press pairs; fraction of the round for
    /// which pairs stay valid.
    TriangleFindPressed,
    /// Triangle contact: extra iterations while pins or colliders press pairs; restarts the round
    /// if the linearisation fails.
    TriangleIteratePinned,
    /// Triangle contact: correction that removes part of the overlaps; stores multipliers for the
    /// next slice.
    TriangleReduceOverlaps,
    /// Triangle contact: fraction of each corner's move that its pair allows (planar truncation).
    TriangleTruncateMoves,
    /// Triangle contact: first pair that limits each row's move most.
    TriangleMarkLimitingPairs,
    /// Triangle contact: limits truncated moves to the search reserve, or flags rows that were
    /// truncated unexpectedly.
    TriangleCheckTruncation,
    /// Triangle contact: moves rows by the allowed fraction.
    TriangleMoveRows,
    /// Triangle contact: counts pairs that pins or colliders force to cross; smallest gap.
    TriangleCountForced,
    /// Triangle contact: returns the truncated part of moves to the velocity at the end of a slice.
    TriangleRestoreVelocities,
    /// Triangle contact: writes positions and velocities after contact back to particles.
    TriangleWriteParticles,
    /// Triangle contact: adds the results of a slice to the report of each cloth.
    TriangleUpdateReports,
    /// Render meshes: normals of the particles that vertices are offset along.
    RenderFindNormals,
    /// Render meshes: positions of render vertices.
    RenderPlaceVertices,
    /// Render meshes: normals and tangents of render vertices.
    RenderOrientVertices,
    /// Counts the trips of long loops.
    CanaryLoop,
    /// Tests for NaN and infinities.
    CanaryNan,
    /// Computes prefix sums across barriers.
    CanaryBarrier,
    /// Passes indices as bits and as subnormal floats.
    CanarySubnormal,
}

impl Kernel {
    /// All kernels.
    pub const ALL: [Self; 48] = [
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
        Self::TriangleFindPressed,
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

    /// Kernels of one pass of particle contact between cloths, in order.
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

    /// Kernels used only by triangle contact, in the order in which a slice first runs them.
    pub const TRIANGLES: [Self; 30] = [
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
        Self::TriangleFindPressed,
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

    /// Kernels that compute render vertices, in order.
    pub const RENDER: [Self; 3] =
        [Self::RenderFindNormals, Self::RenderPlaceVertices, Self::RenderOrientVertices];

    /// File stem, which is also the name of the entry point.
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
            Self::TriangleFindPressed => "triangle_find_pressed",
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

    /// Path of the file as `folder/stem`.
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
    /// Data kept in workgroup memory.
    pub memory: MemoryPlan,
}

impl OverrideValues {
    /// Returns the constants by the names of their overrides.
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
