//! Triangle contact on the device: kernels, buffers and passes.

mod buffers;

use std::collections::HashMap;

use poplin_layout::{
    CONTACT_LANES, SCAN_BLOCK, TRIANGLE_BODY_WORDS, TRIANGLE_DUE, TRIANGLE_FRESH,
    TRIANGLE_OVERLAPS, TriangleParameters,
};
use poplin_shaders::Kernel;

use crate::binding::{UNIFORM_STRIDE, bind_group, bind_group_layout};
use crate::pipelines::{kernel_pipeline, pipeline_layout};
use crate::{EngineOptions, Error};
pub(crate) use buffers::{TriangleBuffers, TriangleSlice};

/// Read-only flags of the storage bindings 1 to 8 of the response kernels.
const STORAGE_READ_ONLY: [bool; 8] = [true, true, false, false, false, false, false, false];
/// Read-only flags of the storage bindings 1 to 8 of the search kernels.
const SEARCH_READ_ONLY: [bool; 8] = [true, true, false, true, false, false, false, false];

/// Read-only flags of the storage bindings 1 to 8 of the kernels that read and write particles.
const PARTICLES_READ_ONLY: [bool; 8] = [true, false, false, false, false, true, false, false];

/// Index of the buffer of candidates.
pub(crate) const FOUND: usize = 0;
/// Index of the buffer of per-row state.
pub(crate) const ROWS: usize = 1;
/// Index of the buffer of row sections: positions and moves.
pub(crate) const MOVES: usize = 2;
/// Index of the buffer of contact pairs.
pub(crate) const PAIRS: usize = 3;
/// Index of the buffer of multipliers.
pub(crate) const HELD: usize = 4;
/// Index of the buffer of pair counts by candidate.
pub(crate) const SLOTS: usize = 5;
/// Index of the buffer of corner counts by row.
pub(crate) const BEGINS: usize = 6;
/// Index of the buffer of status words and lists.
pub(crate) const LISTS: usize = 7;
/// Index of the buffer of candidate counts by query.
const COUNTS: usize = 12;

/// Buffers bound by the response, in the order of bindings.
const RESPONSE: [usize; 8] = [FOUND, ROWS, MOVES, PAIRS, HELD, SLOTS, BEGINS, LISTS];
/// Buffers bound by the search, in the order of bindings.
const SEARCH: [usize; 8] = [8, 9, MOVES, 10, 11, COUNTS, FOUND, LISTS];
/// Buffers of counts that are scanned; a scan binds each at its own count binding.
const SCANNED: [usize; 3] = [SLOTS, BEGINS, COUNTS];

/// First uniform of the scans. Before it there is one uniform for each status word that may disable
/// a pass.
const SCANS: u32 = TRIANGLE_OVERLAPS + 1;
/// First uniform of the tree levels, after those of the scans. Uniforms of slices follow.
const LEVELS: u32 = SCANS + SCANNED.len() as u32;

/// Largest number of lanes of passes over candidates and pairs, most of whose room is not in use.
/// Each lane takes one of this many.
const LISTED_LANES: u32 = 1 << 16;

/// One dispatch.
#[derive(Debug, Clone, Copy)]
struct Pass {
    kernel: Kernel,
    /// Index of its uniform.
    uniform: u32,
}

/// Bind group layout of a kernel: 0 for the response, 1 for the search, 2 for kernels that read and
/// write particles.
fn layout_of(kernel: Kernel) -> usize {
    use Kernel::*;
    match kernel {
        TriangleFindForcedMoves
        | TriangleRefitTrees
        | TriangleCountCandidates
        | TriangleListCandidates => 1,
        TriangleGatherPositions
        | TriangleSetTargets
        | TriangleWriteParticles
        | TriangleUpdateReports => 2,
        _ => 0,
    }
}

/// Sequence of passes.
#[derive(Debug, Default)]
pub(crate) struct Passes(Vec<Pass>);

impl Passes {
    fn push(&mut self, uniform: u32, kernels: &[Kernel]) {
        self.0.extend(kernels.iter().map(|&kernel| Pass { kernel, uniform }));
    }

    /// Adds the prefix sum of a list of counts.
    fn scan(&mut self, list: usize) {
        let index = SCANNED.iter().position(|&scanned| scanned == list);
        let uniform = SCANS + index.unwrap_or_default() as u32;
        self.push(uniform, &[Kernel::ContactScanBlocks, Kernel::ContactScanSums]);
    }

    /// Adds the pass that stores the particle positions before a frame.
    pub(crate) fn start(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleGatherPositions]);
    }

    /// Adds the pass that maps the multipliers of the last frame to new body indices.
    pub(crate) fn rename(&mut self) {
        self.push(TRIANGLE_DUE, &[Kernel::TriangleRemapMultipliers]);
    }

    /// Adds the pass that computes the contact-free positions of particles and colliders after a
    /// slice.
    pub(crate) fn target(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleSetTargets]);
    }

    /// Adds the passes that begin a slice.
    pub(crate) fn begin(&mut self, slice: u32) {
        use Kernel::*;
        self.push(slice, &[TriangleClearState, TriangleBoundBodies, TriangleFindForcedMoves]);
    }

    /// Adds a round of a slice, starting with its search; it has no effect if no rounds are left.
    pub(crate) fn round(&mut self, level_count: u32, iterations: u32) {
        use Kernel::*;
        self.push(TRIANGLE_DUE, &[TriangleBeginRound]);
        self.push(TRIANGLE_FRESH, &[TrianglePlanMoves]);
        self.push(TRIANGLE_DUE, &[TriangleBoundMoves]);
        self.search(level_count);
        // The candidates found by the search may shorten the remaining step.
        self.push(TRIANGLE_FRESH, &[TriangleLimitFraction, TrianglePlanMoves]);
        self.push(TRIANGLE_DUE, &[TriangleBoundMoves]);
        self.respond(iterations);
    }

    /// Adds the pass that ends a slice.
    pub(crate) fn finish(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleRestoreVelocities]);
    }

    /// Adds the pass that moves particles to their positions after contact.
    pub(crate) fn apply(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleWriteParticles]);
    }

    /// Adds the pass that reports a slice.
    pub(crate) fn report(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleUpdateReports]);
    }

    /// Adds the search for the candidates of a round.
    fn search(&mut self, level_count: u32) {
        // Leaves first: each level reads the boxes of the one below.
        for level in 0..level_count {
            self.push(LEVELS + level, &[Kernel::TriangleRefitTrees]);
        }
        self.push(TRIANGLE_DUE, &[Kernel::TriangleCountCandidates]);
        self.scan(COUNTS);
        self.push(TRIANGLE_DUE, &[Kernel::TriangleListCandidates]);
    }

    /// Adds the response to given moves and candidates.
    #[cfg(feature = "testing")]
    pub(crate) fn response(&mut self, iterations: u32) {
        self.push(TRIANGLE_DUE, &[Kernel::TriangleBoundMoves]);
        self.respond(iterations);
    }

    /// Adds the response to the candidates of a round.
    fn respond(&mut self, iterations: u32) {
        use Kernel::*;
        // Narrow phase: pairs get slots by prefix sum, their corners lists per row.
        self.push(TRIANGLE_DUE, &[TriangleFlagPairs]);
        self.scan(SLOTS);
        self.push(TRIANGLE_DUE, &[TriangleBuildPairs]);
        self.scan(BEGINS);
        self.push(
            TRIANGLE_FRESH,
            &[TriangleScatterIncidence, TriangleSortIncidence, TriangleGatherCorrections],
        );
        for _ in 0..iterations {
            self.push(TRIANGLE_FRESH, &[TriangleSolvePairs, TriangleGatherCorrections]);
        }
        self.push(TRIANGLE_FRESH, &[TriangleFindPressed, TriangleIteratePinned]);
        self.push(TRIANGLE_OVERLAPS, &[TriangleReduceOverlaps, TriangleGatherCorrections]);
        // Limits the step fraction and moves the rows.
        self.push(
            TRIANGLE_DUE,
            &[TriangleTruncateMoves, TriangleMarkLimitingPairs, TriangleCheckTruncation],
        );
        self.push(TRIANGLE_DUE, &[TriangleMoveRows, TriangleCountForced]);
    }
}

/// Kernels of triangle contact.
#[derive(Debug)]
pub(crate) struct TriangleKernels {
    /// Layouts of the response, of the search, and of kernels that read and write particles.
    layouts: [wgpu::BindGroupLayout; 3],
    pipelines: HashMap<Kernel, wgpu::ComputePipeline>,
}

/// Bind groups of the passes.
#[derive(Debug)]
pub(crate) struct TriangleGroups {
    /// Bind groups of the scans, one for each scanned list.
    scans: [wgpu::BindGroup; 3],
    /// Bind groups of the layouts; the last exists only if there are particles.
    groups: Vec<wgpu::BindGroup>,
}

impl TriangleKernels {
    /// Compiles the kernels.
    pub(crate) fn new(device: &wgpu::Device, options: &EngineOptions) -> Result<Self, Error> {
        let layouts = [STORAGE_READ_ONLY, SEARCH_READ_ONLY, PARTICLES_READ_ONLY]
            .map(|read_only| bind_group_layout(device, "poplin.triangles.layout", &read_only));
        let all = layouts
            .each_ref()
            .map(|layout| pipeline_layout(device, "poplin.triangles.pipeline_layout", layout));
        let scans = [Kernel::ContactScanBlocks, Kernel::ContactScanSums];
        let kernels = Kernel::TRIANGLES.into_iter().chain(scans);
        let pipeline = |kernel| {
            let compiled = kernel_pipeline(device, kernel, &all[layout_of(kernel)], options);
            compiled.map(|pipeline| (kernel, pipeline))
        };
        Ok(Self { pipelines: kernels.map(pipeline).collect::<Result<_, _>>()?, layouts })
    }

    /// Creates the bind groups of the buffers, and one with `particles`, if given: entries of
    /// cloths, current and previous particles, their reports of the solver and of contact.
    pub(crate) fn bind(
        &self,
        device: &wgpu::Device,
        buffers: &TriangleBuffers,
        uniforms: &wgpu::Buffer,
        particles: Option<[&wgpu::Buffer; 5]>,
    ) -> TriangleGroups {
        let own = |index: usize| &buffers.storage[index];
        let bind = |layout: usize, storage: [&wgpu::Buffer; 8]| {
            let (label, layout) = ("poplin.triangles.bind_group", &self.layouts[layout]);
            bind_group::<TriangleParameters>(device, label, layout, uniforms, &storage)
        };
        let scans = SCANNED.map(|list| {
            // The replaced buffer takes the other binding, which scans do not access.
            let mut storage = RESPONSE;
            (storage[BEGINS], storage[SLOTS]) = (if list == SLOTS { BEGINS } else { SLOTS }, list);
            bind(0, storage.map(own))
        });
        let mut groups = vec![bind(0, RESPONSE.map(own)), bind(1, SEARCH.map(own))];
        if let Some([cloths, current, previous, feedback, reports]) = particles {
            let (rows, moves, lists) = (own(ROWS), own(MOVES), own(LISTS));
            let storage = [cloths, rows, moves, current, previous, feedback, reports, lists];
            groups.push(bind(2, storage));
        }
        TriangleGroups { scans, groups }
    }

    /// Records passes.
    pub(crate) fn record(
        &self,
        recorded: &mut wgpu::ComputePass<'_>,
        buffers: &TriangleBuffers,
        bound: &TriangleGroups,
        passes: &Passes,
        max_row: u32,
    ) {
        for &pass in &passes.0 {
            let bind_group = match pass.kernel {
                Kernel::ContactScanBlocks | Kernel::ContactScanSums => {
                    &bound.scans[(pass.uniform - SCANS) as usize]
                }
                kernel => &bound.groups[layout_of(kernel)],
            };
            let groups = buffers.groups(pass);
            // A dispatch is limited per dimension, so large counts use a second one.
            let width = groups.min(max_row);
            recorded.set_pipeline(&self.pipelines[&pass.kernel]);
            recorded.set_bind_group(0, bind_group, &[pass.uniform * UNIFORM_STRIDE as u32]);
            recorded.dispatch_workgroups(width, groups.div_ceil(width), 1);
        }
    }
}

impl TriangleBuffers {
    /// Number of workgroups of a pass.
    fn groups(&self, pass: Pass) -> u32 {
        use Kernel::*;
        let it = &self.parameters;
        let scanned = [it.slot_len, it.begin_len, it.query_len];
        let counts = || scanned[(pass.uniform - SCANS) as usize];
        let items = match pass.kernel {
            ContactScanBlocks => return (counts() + SCAN_BLOCK) / SCAN_BLOCK,
            ContactScanSums
            | TriangleBeginRound
            | TriangleRemapMultipliers
            | TriangleIteratePinned => return 1,
            TriangleClearState => TRIANGLE_BODY_WORDS * it.body_count,
            // The number of multipliers is that of the pairs of an earlier slice.
            TriangleBoundBodies => it.row_count.max(self.held_capacity() as u32),
            TriangleFindForcedMoves => it.body_count.max(it.task_count),
            TriangleBoundMoves => it.begin_len + SCAN_BLOCK,
            TriangleRefitTrees => {
                let level = (pass.uniform - LEVELS) as usize;
                // Levels are consecutive ranges of nodes.
                let begin = if level == 0 { 0 } else { self.level_ends[level - 1] };
                self.level_ends[level] - begin
            }
            TriangleCountCandidates => it.query_len + SCAN_BLOCK,
            TriangleListCandidates => it.query_count,
            TriangleFlagPairs => it.slot_len + SCAN_BLOCK,
            TriangleUpdateReports => it.cloth_count,
            TriangleGatherPositions
            | TriangleSetTargets
            | TrianglePlanMoves
            | TriangleGatherCorrections
            | TriangleCheckTruncation
            | TriangleMoveRows
            | TriangleRestoreVelocities
            | TriangleWriteParticles => it.row_count,
            // Only the device knows how many of these are in use.
            _ => it.capacity.min(LISTED_LANES),
        };
        items.div_ceil(CONTACT_LANES).max(1)
    }
}
