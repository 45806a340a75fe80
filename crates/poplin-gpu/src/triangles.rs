//! Triangle contact on the device: kernels, buffers and passes.

use std::collections::HashMap;

use bytemuck::{Zeroable, cast_slice};
use poplin_layout::{
    CONTACT_LANES, ContactParameters, SCAN_BLOCK, TRIANGLE_BODY_WORDS, TRIANGLE_CANDIDATES,
    TRIANGLE_CAREFUL, TRIANGLE_DUE, TRIANGLE_FORCED, TRIANGLE_FRESH, TRIANGLE_GAP, TRIANGLE_HELD,
    TRIANGLE_OVERLAPS, TRIANGLE_PART, TRIANGLE_PATH, TRIANGLE_RESERVE, TRIANGLE_SECTIONS,
    TRIANGLE_WORDS, TriangleBodies, TriangleCandidate, TriangleMultiplier, TrianglePair,
    TriangleParameters, TriangleRound, TriangleTask,
};
use poplin_shaders::Kernel;
use wgpu::util::DeviceExt;

use crate::binding::{UNIFORM_STRIDE, bind_group, bind_group_layout, push_uniform};
use crate::growable::GrowableBuffer;
use crate::pipelines::{kernel_pipeline, pipeline_layout};
use crate::{EngineOptions, GpuError};

/// Read-only flags of the storage bindings 1 to 8 of the response kernels.
const STORAGE_READ_ONLY: [bool; 8] = [true, true, false, false, false, false, false, false];
/// Read-only flags of the storage bindings 1 to 8 of the search kernels.
const SEARCH_READ_ONLY: [bool; 8] = [true, true, false, true, false, false, false, false];

/// Read-only flags of the storage bindings 1 to 8 of the kernels that read and write particles.
const PARTICLES_READ_ONLY: [bool; 8] = [true, false, false, false, false, true, false, false];

/// Names of the storage buffers: those of the response in the order of their bindings, then those
/// of the search only.
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
/// Size of one multiplier \[bytes\].
const HELD_BYTES: u64 = size_of::<TriangleMultiplier>() as u64;
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
        TriangleMeet | TriangleFit | TriangleFind | TriangleList => 1,
        TriangleStart | TriangleTarget | TriangleApply | TriangleReport => 2,
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
        self.push(uniform, &[Kernel::ContactScan, Kernel::ContactSum]);
    }

    /// Adds the pass that stores the particle positions before a frame.
    pub(crate) fn start(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleStart]);
    }

    /// Adds the pass that maps the multipliers of the last frame to new body indices.
    pub(crate) fn rename(&mut self) {
        self.push(TRIANGLE_DUE, &[Kernel::TriangleRename]);
    }

    /// Adds the pass that computes the contact-free positions of particles and colliders after a
    /// slice.
    pub(crate) fn target(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleTarget]);
    }

    /// Adds the passes that begin a slice.
    pub(crate) fn begin(&mut self, slice: u32) {
        use Kernel::*;
        self.push(slice, &[TriangleBegin, TriangleSpan, TriangleMeet]);
    }

    /// Adds a round of a slice, starting with its search; it has no effect if no rounds are left.
    pub(crate) fn round(&mut self, level_count: u32, iterations: u32) {
        use Kernel::*;
        self.push(TRIANGLE_DUE, &[TriangleRound]);
        self.push(TRIANGLE_FRESH, &[TriangleAim]);
        self.push(TRIANGLE_DUE, &[TriangleStep]);
        self.search(level_count);
        // The candidates found by the search may shorten the remaining step.
        self.push(TRIANGLE_FRESH, &[TriangleLimit, TriangleAim]);
        self.push(TRIANGLE_DUE, &[TriangleStep]);
        self.respond(iterations);
    }

    /// Adds the pass that ends a slice.
    pub(crate) fn finish(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleFinish]);
    }

    /// Adds the pass that moves particles to their positions after contact.
    pub(crate) fn apply(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleApply]);
    }

    /// Adds the pass that reports a slice.
    pub(crate) fn report(&mut self, slice: u32) {
        self.push(slice, &[Kernel::TriangleReport]);
    }

    /// Adds the search for the candidates of a round.
    fn search(&mut self, level_count: u32) {
        // Leaves first: each level reads the boxes of the one below.
        for level in 0..level_count {
            self.push(LEVELS + level, &[Kernel::TriangleFit]);
        }
        self.push(TRIANGLE_DUE, &[Kernel::TriangleFind]);
        self.scan(COUNTS);
        self.push(TRIANGLE_DUE, &[Kernel::TriangleList]);
    }

    /// Adds the response to given moves and candidates.
    #[cfg(feature = "testing")]
    pub(crate) fn response(&mut self, iterations: u32) {
        self.push(TRIANGLE_DUE, &[Kernel::TriangleStep]);
        self.respond(iterations);
    }

    /// Adds the response to the candidates of a round.
    fn respond(&mut self, iterations: u32) {
        use Kernel::*;
        // Narrow phase: pairs get slots by prefix sum, their corners lists per row.
        self.push(TRIANGLE_DUE, &[TriangleReach]);
        self.scan(SLOTS);
        self.push(TRIANGLE_DUE, &[TriangleNarrow]);
        self.scan(BEGINS);
        self.push(TRIANGLE_FRESH, &[TriangleScatter, TriangleTie, TriangleGather]);
        for _ in 0..iterations {
            self.push(TRIANGLE_FRESH, &[TrianglePush, TriangleGather]);
        }
        self.push(TRIANGLE_FRESH, &[TrianglePress]);
        self.push(TRIANGLE_OVERLAPS, &[TriangleRecover, TriangleGather]);
        // Limits the step fraction and moves the rows.
        self.push(TRIANGLE_DUE, &[TriangleCut, TriangleBlock, TriangleHold]);
        self.push(TRIANGLE_DUE, &[TriangleMove, TriangleForce]);
    }
}

/// Length of a list of counts of `count` items and of the index after the last, rounded up to whole
/// scan blocks minus the last.
fn scan_len(count: usize) -> u32 {
    (count as u32).next_multiple_of(SCAN_BLOCK)
}

/// Length of a list of counts and of the sums of its blocks \[u32\].
fn scan_words(len: u32) -> u32 {
    len + SCAN_BLOCK + (len + SCAN_BLOCK) / SCAN_BLOCK
}

/// Maps a float to bits whose order as integers is that of the floats.
fn ordered_bits(x: f32) -> u32 {
    let bits = x.to_bits();
    // Positive floats get the sign bit; negative ones are inverted, as their bits rise with
    // magnitude.
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// Kernels of triangle contact.
#[derive(Debug)]
pub(crate) struct TriangleKernels {
    /// Layouts of the response, of the search, and of kernels that read and write particles.
    layouts: [wgpu::BindGroupLayout; 3],
    pipelines: HashMap<Kernel, wgpu::ComputePipeline>,
}

/// Buffers that the passes of a set of bodies read and write.
#[derive(Debug)]
pub(crate) struct TriangleBuffers {
    pub(crate) storage: [wgpu::Buffer; 13],
    pub(crate) parameters: TriangleParameters,
    /// End index of each tree level in the list of nodes.
    level_ends: Vec<u32>,
}

/// Bind groups of the passes.
#[derive(Debug)]
pub(crate) struct TriangleGroups {
    /// Bind groups of the scans, one for each scanned list.
    scans: [wgpu::BindGroup; 3],
    /// Bind groups of the layouts; the last exists only if there are particles.
    groups: Vec<wgpu::BindGroup>,
}

/// Uniform values that differ between slices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TriangleSlice {
    /// Index of the first cloth entry of the slice.
    pub(crate) cloth_begin: u32,
    /// Fraction of the frame at which colliders are placed.
    pub(crate) fraction: f32,
    /// Factor on the multipliers of the last slice.
    pub(crate) held_scale: f32,
    /// True for the first slice of a frame.
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
        let scans = [Kernel::ContactScan, Kernel::ContactSum];
        let kernels = Kernel::TRIANGLES.into_iter().chain(scans);
        let pipeline =
            |kernel| (kernel, kernel_pipeline(device, kernel, &all[layout_of(kernel)], options));
        Self { pipelines: kernels.map(pipeline).collect(), layouts }
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
                Kernel::ContactScan | Kernel::ContactSum => {
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
    /// Creates the buffers from initial positions of rows (none if there are no moves), the bodies
    /// and given candidates, with capacity for `capacity` candidates and `held_count` multipliers.
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
            word: TRIANGLE_DUE,
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
        let mut words = [0; TRIANGLE_WORDS as usize];
        for (word, value) in [
            (TRIANGLE_DUE, 1),
            (TRIANGLE_FRESH, 1),
            (TRIANGLE_CAREFUL, u32::from(round.is_careful)),
            (TRIANGLE_FORCED, round.forced),
            (TRIANGLE_GAP, ordered_bits(round.least_gap)),
            (TRIANGLE_HELD, round.held.len() as u32),
            (TRIANGLE_PART, round.part.to_bits()),
            (TRIANGLE_CANDIDATES, round.candidates.len() as u32),
        ] {
            words[word as usize] = value;
        }
        let mut lists = words.to_vec();
        lists.resize(words.len() + 2 * row_count, 0);
        lists.extend(&round.holds);
        let held_count = capacity.max(round.held.len()).max(held_count);
        let body_words = TRIANGLE_BODY_WORDS as usize * bodies.count as usize;
        let list_len = words.len() + 3 * row_count + 8 * capacity + body_words;
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
            // Bodies that collide with nothing have no tasks, but an empty buffer cannot be bound.
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

    /// Packs the uniforms of the passes of a slice with at most `max_rounds` rounds, and of some
    /// slices.
    pub(crate) fn uniforms(&self, max_rounds: u32, slices: &[TriangleSlice]) -> Vec<u8> {
        let parameters = TriangleParameters { max_rounds, ..self.parameters };
        let mut uniforms = Vec::new();
        for word in 0..SCANS {
            push_uniform(&mut uniforms, &TriangleParameters { word, ..parameters });
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

    /// Number of tree levels.
    pub(crate) fn level_count(&self) -> u32 {
        self.level_ends.len() as u32
    }

    /// Index of the uniform of a slice.
    pub(crate) fn slice(&self, index: usize) -> u32 {
        LEVELS + self.level_count() + index as u32
    }

    /// Size on the device \[bytes\].
    pub(crate) fn size(&self) -> u64 {
        self.storage.iter().map(wgpu::Buffer::size).sum()
    }

    /// Records a copy of the multipliers of other buffers.
    pub(crate) fn take_held(&self, encoder: &mut wgpu::CommandEncoder, old: &Self) {
        let (from, to) = (&old.storage, &self.storage);
        let len = from[HELD].size().min(to[HELD].size());
        encoder.copy_buffer_to_buffer(&from[HELD], 0, &to[HELD], 0, len);
        let word = 4 * u64::from(TRIANGLE_HELD);
        encoder.copy_buffer_to_buffer(&from[LISTS], word, &to[LISTS], word, 4);
    }

    /// Number of multipliers that fit.
    pub(crate) fn held_capacity(&self) -> usize {
        (self.storage[HELD].size() / HELD_BYTES) as usize
    }

    /// Number of workgroups of a pass.
    fn groups(&self, pass: Pass) -> u32 {
        use Kernel::*;
        let it = &self.parameters;
        let scanned = [it.slot_len, it.begin_len, it.query_len];
        let counts = || scanned[(pass.uniform - SCANS) as usize];
        let items = match pass.kernel {
            ContactScan => return (counts() + SCAN_BLOCK) / SCAN_BLOCK,
            ContactSum | TriangleRound | TriangleRename | TrianglePress => return 1,
            TriangleBegin => TRIANGLE_WORDS.max(TRIANGLE_BODY_WORDS * it.body_count),
            // The number of multipliers is that of the pairs of an earlier slice.
            TriangleSpan => it.row_count.max(self.held_capacity() as u32),
            TriangleMeet => it.body_count.max(it.task_count),
            TriangleStep => it.begin_len + SCAN_BLOCK,
            TriangleFit => {
                let level = (pass.uniform - LEVELS) as usize;
                let begin = if level == 0 { 0 } else { self.level_ends[level - 1] };
                self.level_ends[level] - begin
            }
            TriangleFind => it.query_len + SCAN_BLOCK,
            TriangleList => it.query_count,
            TriangleReach => it.slot_len + SCAN_BLOCK,
            TriangleReport => it.cloth_count,
            TriangleStart | TriangleTarget | TriangleAim | TriangleTie | TriangleGather
            | TriangleHold | TriangleMove | TriangleFinish | TriangleApply => it.row_count,
            // Only the device knows how many of these are in use.
            _ => it.capacity,
        };
        items.div_ceil(CONTACT_LANES).max(1)
    }
}

/// Creates a storage buffer that begins with `bytes` and is zero after them.
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
