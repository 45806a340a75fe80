//! Contact of triangles on the device: kernels, buffers and passes.

use std::collections::HashMap;
use std::mem::offset_of;

use bytemuck::{Zeroable, cast_slice};
use poplin_layout::{
    Atomic, CONTACT_LANES, ContactParameters, RoundState, SCAN_BLOCK, TRIANGLE_BODY_WORDS,
    TRIANGLE_DUE, TRIANGLE_FRESH, TRIANGLE_OVERLAPS, TRIANGLE_PATH, TRIANGLE_RESERVE,
    TRIANGLE_SECTIONS, TriangleBodies, TriangleCandidate, TriangleMultiplier, TrianglePair,
    TriangleParameters, TriangleRound, TriangleTask,
};
use poplin_shaders::Kernel;
use wgpu::util::DeviceExt;

use crate::binding::{UNIFORM_STRIDE, bind_group, bind_group_layout, push_uniform};
use crate::growable::GrowableBuffer;
use crate::pipelines::{kernel_pipeline, pipeline_layout};
use crate::{EngineOptions, GpuError};

/// Bindings 1.. of the kernels: whether they only read them.
const STORAGE_READ_ONLY: [bool; 8] = [true, true, false, false, false, false, false, false];
/// Likewise, of those that search.
const SEARCH_READ_ONLY: [bool; 8] = [true, true, false, true, false, false, false, false];

/// Likewise, of those that read and write particles.
const PARTICLES_READ_ONLY: [bool; 8] = [true, false, false, false, false, true, false, false];

/// Storage buffers: of the response in the order of their bindings, then what only the search has.
const NAMES: [&str; 13] = [
    "poplin.triangles.candidates",
    "poplin.triangles.rows",
    "poplin.triangles.moves",
    "poplin.triangles.pairs",
    "poplin.triangles.held",
    "poplin.triangles.slots",
    "poplin.triangles.begins",
    "poplin.triangles.lists",
    "poplin.triangles.tasks",
    "poplin.triangles.simplices",
    "poplin.triangles.nodes",
    "poplin.triangles.boxes",
    "poplin.triangles.counts",
];

/// Index of the candidates in the storage buffers.
pub(crate) const FOUND: usize = 0;
/// Of what rows keep.
pub(crate) const ROWS: usize = 1;
/// Of the sections of rows.
pub(crate) const MOVES: usize = 2;
/// Of the pairs.
pub(crate) const PAIRS: usize = 3;
/// Of the multipliers.
pub(crate) const HELD: usize = 4;
/// Size of one of them \[bytes\].
const HELD_BYTES: u64 = size_of::<TriangleMultiplier>() as u64;
/// Of the counts of candidates.
pub(crate) const SLOTS: usize = 5;
/// Of the counts of rows.
pub(crate) const BEGINS: usize = 6;
/// Of the words and lists.
pub(crate) const LISTS: usize = 7;
/// Of the counts of queries.
const COUNTS: usize = 12;

/// Buffers of the bindings of the response,
const RESPONSE: [usize; 8] = [FOUND, ROWS, MOVES, PAIRS, HELD, SLOTS, BEGINS, LISTS];
/// and of those of the search.
const SEARCH: [usize; 8] = [8, 9, MOVES, 10, 11, COUNTS, FOUND, LISTS];
/// Lists of counts that are scanned, at the binding where the scan has its own.
const SCANNED: [usize; 3] = [SLOTS, BEGINS, COUNTS];

/// The uniforms are those of the words that say whether a pass has anything to do; then come those of the scans,
const SCANS: u32 = TRIANGLE_OVERLAPS + 1;
/// then those of the levels of the trees, then those of slices.
const LEVELS: u32 = SCANS + SCANNED.len() as u32;

/// One dispatch.
#[derive(Debug, Clone, Copy)]
struct Pass {
    kernel: Kernel,
    /// Index of its uniform.
    uniform: u32,
}

/// Which layout a kernel has: of the response, of the search, or of what reads and writes particles.
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

/// Passes in order.
#[derive(Debug, Default)]
pub(crate) struct Passes(Vec<Pass>);

impl Passes {
    fn push(&mut self, uniform: u32, kernels: &[Kernel]) {
        self.0.extend(kernels.iter().map(|&kernel| Pass { kernel, uniform }));
    }

    /// Replaces the counts of a list by sums.
    fn scan(&mut self, list: usize) {
        let index = SCANNED.iter().position(|&scanned| scanned == list);
        let uniform = SCANS + index.unwrap_or_default() as u32;
        self.push(uniform, &[Kernel::ContactScanBlocks, Kernel::ContactScanSums]);
    }

    /// Where particles are before a frame.
    pub(crate) fn start(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleGatherPositions]);
    }

    /// Multipliers of the last frame, in which bodies had other indices.
    pub(crate) fn rename(&mut self) {
        self.push(TRIANGLE_DUE, &[Kernel::TriangleRemapMultipliers]);
    }

    /// Where particles and colliders would be after a slice.
    pub(crate) fn target(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleSetTargets]);
    }

    /// The begin of a slice.
    pub(crate) fn begin(&mut self, slice: u32) {
        use Kernel::*;
        self.push(slice, &[TriangleClearState, TriangleBoundBodies, TriangleFindForcedMoves]);
    }

    /// A round of a slice, from its search on; if there is none left, nothing changes.
    pub(crate) fn round(&mut self, level_count: u32, iterations: u32) {
        use Kernel::*;
        self.push(TRIANGLE_DUE, &[TriangleBeginRound]);
        self.push(TRIANGLE_FRESH, &[TrianglePlanMoves]);
        self.push(TRIANGLE_DUE, &[TriangleBoundMoves]);
        self.search(level_count);
        // What is left is cut again, by what was found.
        self.push(TRIANGLE_FRESH, &[TriangleLimitFraction, TrianglePlanMoves]);
        self.push(TRIANGLE_DUE, &[TriangleBoundMoves]);
        self.respond(iterations);
    }

    /// The end of a slice.
    pub(crate) fn finish(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleRestoreVelocities]);
    }

    /// Particles move to where contact lets them be.
    pub(crate) fn apply(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleWriteParticles]);
    }

    /// What a slice did is reported.
    pub(crate) fn report(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleUpdateReports]);
    }

    /// Candidates of a round.
    fn search(&mut self, level_count: u32) {
        for level in 0..level_count {
            self.push(LEVELS + level, &[Kernel::TriangleRefitTrees]);
        }
        self.push(TRIANGLE_DUE, &[Kernel::TriangleCountCandidates]);
        self.scan(COUNTS);
        self.push(TRIANGLE_DUE, &[Kernel::TriangleListCandidates]);
    }

    /// The response to moves and candidates that there are.
    #[cfg(feature = "testing")]
    pub(crate) fn response(&mut self, iterations: u32) {
        self.push(TRIANGLE_DUE, &[Kernel::TriangleBoundMoves]);
        self.respond(iterations);
    }

    /// What a round does with its candidates.
    fn respond(&mut self, iterations: u32) {
        use Kernel::*;
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
        self.push(TRIANGLE_FRESH, &[TriangleIteratePinned]);
        self.push(TRIANGLE_OVERLAPS, &[TriangleReduceOverlaps, TriangleGatherCorrections]);
        self.push(
            TRIANGLE_DUE,
            &[TriangleTruncateMoves, TriangleMarkLimitingPairs, TriangleCheckTruncation],
        );
        self.push(TRIANGLE_DUE, &[TriangleMoveRows, TriangleCountForced]);
    }
}

/// Counts of so many things and of the index after the last, in whole blocks but for the last one.
fn scan_len(count: usize) -> u32 {
    (count as u32).next_multiple_of(SCAN_BLOCK)
}

/// Words of a list of counts and of the sums of its blocks.
fn scan_words(len: u32) -> u32 {
    len + SCAN_BLOCK + (len + SCAN_BLOCK) / SCAN_BLOCK
}

/// Bits whose order as integers is that of the floats.
fn ordered_bits(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// The kernels of contact of triangles.
#[derive(Debug)]
pub(crate) struct TriangleKernels {
    /// Of the response, of the search and of what reads and writes particles.
    layouts: [wgpu::BindGroupLayout; 3],
    pipelines: HashMap<Kernel, wgpu::ComputePipeline>,
}

/// What the passes of some bodies read and write.
#[derive(Debug)]
pub(crate) struct TriangleBuffers {
    pub(crate) storage: [wgpu::Buffer; 13],
    pub(crate) parameters: TriangleParameters,
    /// Where each level of the trees ends.
    level_ends: Vec<u32>,
}

/// What passes bind.
#[derive(Debug)]
pub(crate) struct TriangleGroups {
    /// One for each list that is scanned.
    scans: [wgpu::BindGroup; 3],
    /// One for each layout; the last only if there are particles.
    groups: Vec<wgpu::BindGroup>,
}

/// Values of a slice that are not those of all passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TriangleSlice {
    /// First entry of its cloths.
    pub(crate) cloth_begin: u32,
    /// Where colliders are: fraction of the frame.
    pub(crate) fraction: f32,
    /// Factor on the multipliers of the last slice.
    pub(crate) held_scale: f32,
    /// Whether it is the first of its frame.
    pub(crate) is_first: bool,
}

impl TriangleKernels {
    /// Compiles the kernels.
    pub(crate) fn new(device: &wgpu::Device, options: &EngineOptions) -> Self {
        let layouts = [STORAGE_READ_ONLY, SEARCH_READ_ONLY, PARTICLES_READ_ONLY]
            .map(|read_only| bind_group_layout(device, "poplin.triangles.layout", &read_only));
        let all = layouts
            .each_ref()
            .map(|layout| pipeline_layout(device, "poplin.triangles.pipeline_layout", layout));
        let scans = [Kernel::ContactScanBlocks, Kernel::ContactScanSums];
        let kernels = Kernel::TRIANGLES.into_iter().chain(scans);
        let pipeline =
            |kernel| (kernel, kernel_pipeline(device, kernel, &all[layout_of(kernel)], options));
        Self { pipelines: kernels.map(pipeline).collect(), layouts }
    }

    /// Binds buffers, and those with the entries of cloths, current and previous particles, their reports of the solver and of
    /// contact.
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
            // The buffer that is there otherwise goes where no scan looks.
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
            let width = groups.min(max_row);
            recorded.set_pipeline(&self.pipelines[&pass.kernel]);
            recorded.set_bind_group(0, bind_group, &[pass.uniform * UNIFORM_STRIDE as u32]);
            recorded.dispatch_workgroups(width, groups.div_ceil(width), 1);
        }
    }
}

impl TriangleBuffers {
    /// Buffers with where rows start (nowhere, if there are no moves), who takes part, and the candidates that there are; with room for
    /// `capacity` of them and for `held_count` multipliers.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] if the device cannot bind one.
    pub(crate) fn new(
        device: &wgpu::Device,
        round: &TriangleRound,
        bodies: &TriangleBodies,
        capacity: usize,
        held_count: usize,
    ) -> Result<Self, GpuError> {
        let (row_count, capacity) = (round.rows.len(), capacity.max(round.candidates.len()));
        let [slot_len, begin_len] = [capacity, row_count].map(scan_len);
        let query_len = scan_len(bodies.query_count as usize);
        let parameters = TriangleParameters {
            row_count: row_count as u32,
            body_count: bodies.count,
            task_count: bodies.tasks.len() as u32,
            query_count: bodies.query_count,
            capacity: capacity as u32,
            slot_len,
            begin_len,
            query_len,
            gate: TRIANGLE_DUE,
            node_begin: 0,
            node_end: 0,
            thickness: round.thickness,
            reserve: TRIANGLE_RESERVE * round.thickness,
            held_scale: round.held_scale,
            cloth_begin: 0,
            cloth_count: bodies.cloth_count,
            fraction: round.fraction,
            max_rounds: u32::MAX,
            is_first: 0,
            padding_0: 0,
        };
        let state = RoundState {
            gates: [1, 1, 0].map(Atomic),
            is_careful: Atomic(round.is_careful.into()),
            forced_count: Atomic(round.forced),
            least_gap: Atomic(ordered_bits(round.least_gap)),
            held_count: Atomic(round.held.len() as u32),
            part: Atomic(round.part.to_bits()),
            candidate_count: Atomic(round.candidates.len() as u32),
            ..RoundState::zeroed()
        };
        let mut lists: Vec<u32> = cast_slice(&[state]).to_vec();
        lists.resize(lists.len() + 2 * row_count, 0);
        lists.extend(&round.holds);
        let held_count = capacity.max(round.held.len()).max(held_count);
        let body_words = TRIANGLE_BODY_WORDS as usize * bodies.count as usize;
        let list_len = RoundState::WORDS + 3 * row_count + 8 * capacity + body_words;
        let move_count = TRIANGLE_SECTIONS as usize * row_count;
        let contents: [(&[u8], usize); 13] = [
            (cast_slice(&round.candidates), size_of::<TriangleCandidate>() * capacity),
            (cast_slice(&round.rows), 0),
            (cast_slice(&round.moves), size_of::<[f32; 4]>() * move_count),
            (&[], size_of::<TrianglePair>() * capacity),
            (cast_slice(&round.held), size_of::<TriangleMultiplier>() * held_count),
            (&[], 4 * scan_words(slot_len) as usize),
            (cast_slice(&round.begins), 4 * scan_words(begin_len) as usize),
            (cast_slice(&lists), 4 * list_len),
            // Cloths that meet nobody have none.
            (cast_slice(&bodies.tasks), size_of::<TriangleTask>()),
            (cast_slice(&bodies.simplices), 0),
            (cast_slice(&bodies.nodes), 0),
            (&[], TRIANGLE_PATH as usize * size_of::<[f32; 4]>() * bodies.nodes.len()),
            (&[], 4 * scan_words(query_len) as usize),
        ];
        let limit = GrowableBuffer::limit(device);
        for (name, (bytes, len)) in NAMES.into_iter().zip(contents) {
            let bytes = bytes.len().max(len) as u64;
            if bytes > limit {
                return Err(GpuError::TooLarge { buffer: name, bytes, limit });
            }
        }
        let mut contents = NAMES.into_iter().zip(contents);
        let storage = std::array::from_fn(|_| {
            let (name, (bytes, len)) = contents.next().unwrap_or_default();
            filled_buffer(device, name, bytes, len)
        });
        Ok(Self { storage, parameters, level_ends: bodies.levels.clone() })
    }

    /// Uniforms of passes of a slice that is cut into so many rounds at most, and of some slices.
    pub(crate) fn uniforms(&self, max_rounds: u32, slices: &[TriangleSlice]) -> Vec<u8> {
        let parameters = TriangleParameters { max_rounds, ..self.parameters };
        let mut uniforms = Vec::new();
        for gate in 0..SCANS {
            push_uniform(&mut uniforms, &TriangleParameters { gate, ..parameters });
        }
        let TriangleParameters { slot_len, begin_len, query_len, .. } = parameters;
        for bucket_count in [slot_len, begin_len, query_len] {
            let zeroed = ContactParameters::zeroed();
            push_uniform(&mut uniforms, &ContactParameters { bucket_count, ..zeroed });
        }
        let mut node_begin = 0;
        for &node_end in &self.level_ends {
            push_uniform(&mut uniforms, &TriangleParameters { node_begin, node_end, ..parameters });
            node_begin = node_end;
        }
        for slice in slices {
            let &TriangleSlice { cloth_begin, fraction, held_scale, is_first } = slice;
            let is_first = u32::from(is_first);
            let slice =
                TriangleParameters { cloth_begin, fraction, held_scale, is_first, ..parameters };
            push_uniform(&mut uniforms, &slice);
        }
        uniforms
    }

    /// Levels of the trees.
    pub(crate) fn level_count(&self) -> u32 {
        self.level_ends.len() as u32
    }

    /// Index of the uniform of a slice.
    pub(crate) fn slice(&self, index: usize) -> u32 {
        LEVELS + self.level_count() + index as u32
    }

    /// Bytes on the device.
    pub(crate) fn size(&self) -> u64 {
        self.storage.iter().map(wgpu::Buffer::size).sum()
    }

    /// Records that the multipliers of other buffers are taken over.
    pub(crate) fn take_held(&self, encoder: &mut wgpu::CommandEncoder, old: &Self) {
        let (from, to) = (&old.storage, &self.storage);
        let len = from[HELD].size().min(to[HELD].size());
        encoder.copy_buffer_to_buffer(&from[HELD], 0, &to[HELD], 0, len);
        let word = offset_of!(RoundState, held_count) as u64;
        encoder.copy_buffer_to_buffer(&from[LISTS], word, &to[LISTS], word, 4);
    }

    /// Multipliers that there is room for.
    pub(crate) fn held_capacity(&self) -> usize {
        (self.storage[HELD].size() / HELD_BYTES) as usize
    }

    /// Workgroups of a pass.
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
            // The multipliers are as many as pairs of an earlier slice were.
            TriangleBoundBodies => it.row_count.max(self.held_capacity() as u32),
            TriangleFindForcedMoves => it.body_count.max(it.task_count),
            TriangleBoundMoves => it.begin_len + SCAN_BLOCK,
            TriangleRefitTrees => {
                let level = (pass.uniform - LEVELS) as usize;
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
            | TriangleSortIncidence
            | TriangleGatherCorrections
            | TriangleCheckTruncation
            | TriangleMoveRows
            | TriangleRestoreVelocities
            | TriangleWriteParticles => it.row_count,
            // How many of them are in reach, the device alone knows.
            _ => it.capacity,
        };
        items.div_ceil(CONTACT_LANES).max(1)
    }
}

/// A storage buffer that begins with some bytes and then is zero.
fn filled_buffer(device: &wgpu::Device, name: &str, bytes: &[u8], len: usize) -> wgpu::Buffer {
    let usage =
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let size = bytes.len().max(len).max(16).next_multiple_of(16);
    if bytes.is_empty() {
        let size = size as u64;
        let mapped_at_creation = false;
        let label = Some(name);
        return device.create_buffer(&wgpu::BufferDescriptor {
            label,
            size,
            usage,
            mapped_at_creation,
        });
    }
    let mut contents = bytes.to_vec();
    contents.resize(size, 0);
    let descriptor =
        wgpu::util::BufferInitDescriptor { label: Some(name), contents: &contents, usage };
    device.create_buffer_init(&descriptor)
}
