//! Contact of triangles on the device: the passes of a round. The engine does not reach them yet, tests do.

use std::collections::HashMap;

use bytemuck::{Zeroable, cast_slice, pod_collect_to_vec};
use poplin_layout::{
    CONTACT_LANES, ContactParameters, SCAN_BLOCK, TRIANGLE_BODY_WORDS, TRIANGLE_CANDIDATES,
    TRIANGLE_CONTACTS, TRIANGLE_DUE, TRIANGLE_FORCED, TRIANGLE_GAP, TRIANGLE_HELD,
    TRIANGLE_HELD_ROWS, TRIANGLE_LACK, TRIANGLE_MORE_ITERATIONS, TRIANGLE_OVERLAPS, TRIANGLE_PART,
    TRIANGLE_PATH, TRIANGLE_PRESSED, TRIANGLE_RESERVE, TRIANGLE_ROUNDS, TRIANGLE_WORDS,
    TriangleBodies, TriangleCandidate, TriangleMultiplier, TrianglePair, TriangleParameters,
    TriangleRound, TriangleRow,
};
use poplin_shaders::Kernel;

use crate::binding::{UNIFORM_STRIDE, bind_group, bind_group_layout, push_uniform};
use crate::growable::GrowableBuffer;
use crate::headless::read_buffer;
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
const FOUND: usize = 0;
/// Of what rows keep.
const ROWS: usize = 1;
/// Of the sections of rows.
const MOVES: usize = 2;
/// Of the pairs.
const PAIRS: usize = 3;
/// Of the multipliers.
const HELD: usize = 4;
/// Size of one of them \[bytes\].
const HELD_BYTES: u64 = size_of::<TriangleMultiplier>() as u64;
/// Of the counts of candidates.
const SLOTS: usize = 5;
/// Of the counts of rows.
const BEGINS: usize = 6;
/// Of the words and lists.
const LISTS: usize = 7;
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
/// then those of the levels of the trees.
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
        TriangleMeet | TriangleFit | TriangleFind | TriangleList => 1,
        TriangleTarget | TriangleApply => 2,
        _ => 0,
    }
}

/// Passes in order.
#[derive(Debug, Default)]
struct Passes(Vec<Pass>);

impl Passes {
    fn push(&mut self, uniform: u32, kernels: &[Kernel]) {
        self.0.extend(kernels.iter().map(|&kernel| Pass { kernel, uniform }));
    }

    /// Replaces the counts of a list by sums.
    fn scan(&mut self, list: usize) {
        let index = SCANNED.iter().position(|&scanned| scanned == list);
        let uniform = SCANS + index.unwrap_or_default() as u32;
        self.push(uniform, &[Kernel::ContactScan, Kernel::ContactSum]);
    }

    /// Candidates of a round.
    fn search(&mut self, level_count: u32) {
        for level in 0..level_count {
            self.push(LEVELS + level, &[Kernel::TriangleFit]);
        }
        self.push(TRIANGLE_DUE, &[Kernel::TriangleFind]);
        self.scan(COUNTS);
        self.push(TRIANGLE_DUE, &[Kernel::TriangleList]);
    }

    /// What a round does with its candidates.
    fn respond(&mut self, iterations: u32) {
        use Kernel::*;
        self.push(TRIANGLE_DUE, &[TriangleReach]);
        self.scan(SLOTS);
        self.push(TRIANGLE_DUE, &[TriangleNarrow]);
        self.scan(BEGINS);
        self.push(TRIANGLE_DUE, &[TriangleScatter, TriangleTie, TriangleGather]);
        for _ in 0..iterations {
            self.push(TRIANGLE_DUE, &[TrianglePush, TriangleGather]);
        }
        for more in 0..TRIANGLE_MORE_ITERATIONS {
            self.push(TRIANGLE_PRESSED + more, &[TrianglePress, TrianglePush, TriangleGather]);
        }
        self.push(TRIANGLE_OVERLAPS, &[TriangleRecover, TriangleGather]);
        self.push(TRIANGLE_DUE, &[TriangleCut, TriangleBlock, TriangleMove, TriangleForce]);
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

/// Sums of a list of counts, with that after the last, as the scan leaves them.
fn scanned(words: &[u32], len: u32, count: usize) -> Vec<u32> {
    let blocks = &words[(len + SCAN_BLOCK) as usize..];
    (0..=count).map(|index| words[index] + blocks[index / SCAN_BLOCK as usize]).collect()
}

/// Bits whose order as integers is that of the floats.
fn ordered_bits(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// The float of ordered bits.
fn from_ordered(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 0 { !bits } else { bits & !(1 << 31) })
}

/// Kernels and buffers of contact of triangles. A round is some 220 dispatches, most of which find at once that they have nothing to do.
#[derive(Debug)]
pub struct TriangleRounds {
    /// Of the response, of the search and of what reads and writes particles.
    layouts: [wgpu::BindGroupLayout; 3],
    pipelines: HashMap<Kernel, wgpu::ComputePipeline>,
    storage: [GrowableBuffer; 13],
    uniforms: GrowableBuffer,
    parameters: TriangleParameters,
    level_ends: Vec<u32>,
}

/// How far a slice has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriangleProgress {
    /// Rounds that have begun.
    pub rounds: u32,
    /// Whether there is no other one.
    pub is_done: bool,
    /// Candidates that were found, if there is no room for them: the slice has ended where it was.
    pub lack: Option<u32>,
}

impl TriangleRounds {
    /// Compiles the kernels.
    pub fn new(device: &wgpu::Device, options: &EngineOptions) -> Self {
        let layouts = [STORAGE_READ_ONLY, SEARCH_READ_ONLY, PARTICLES_READ_ONLY]
            .map(|read_only| bind_group_layout(device, "poplin.triangles.layout", &read_only));
        let all = layouts
            .each_ref()
            .map(|layout| pipeline_layout(device, "poplin.triangles.pipeline_layout", layout));
        let scans = [Kernel::ContactScan, Kernel::ContactSum];
        let kernels = Kernel::TRIANGLES.into_iter().chain(scans);
        let pipeline =
            |kernel| (kernel, kernel_pipeline(device, kernel, &all[layout_of(kernel)], options));
        let buffer = |name, usage| GrowableBuffer::new(device, name, usage);
        Self {
            pipelines: kernels.map(pipeline).collect(),
            storage: NAMES.map(|name| buffer(name, wgpu::BufferUsages::STORAGE)),
            uniforms: buffer("poplin.triangles.uniforms", wgpu::BufferUsages::UNIFORM),
            parameters: TriangleParameters::zeroed(),
            level_ends: Vec::new(),
            layouts,
        }
    }

    /// Uploads where rows start, who takes part, and the candidates that there are; with room for `capacity` of them.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] if the device cannot bind a buffer of it.
    pub fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        round: &TriangleRound,
        bodies: &TriangleBodies,
        capacity: usize,
    ) -> Result<(), GpuError> {
        let (row_count, capacity) = (round.rows.len(), capacity.max(round.candidates.len()));
        let [slot_len, begin_len] = [capacity, row_count].map(scan_len);
        let query_len = scan_len(bodies.query_count as usize);
        self.parameters = TriangleParameters {
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
            padding_0: 0,
            padding_1: 0,
            padding_2: 0,
        };
        let mut words = [0; TRIANGLE_WORDS as usize];
        for (word, value) in [
            (TRIANGLE_DUE, 1),
            (TRIANGLE_FORCED, round.forced),
            (TRIANGLE_GAP, ordered_bits(round.least_gap)),
            (TRIANGLE_HELD, round.held.len() as u32),
            (TRIANGLE_PART, round.part.to_bits()),
            (TRIANGLE_CANDIDATES, round.candidates.len() as u32),
        ] {
            words[word as usize] = value;
        }
        let held_count = capacity.max(round.held.len());
        let body_words = TRIANGLE_BODY_WORDS as usize * bodies.count as usize;
        let list_len = words.len() + 2 * row_count + 8 * capacity + body_words;
        let contents: [(&[u8], usize); 13] = [
            (cast_slice(&round.candidates), size_of::<TriangleCandidate>() * capacity),
            (cast_slice(&round.rows), 0),
            (cast_slice(&round.moves), 0),
            (&[], size_of::<TrianglePair>() * capacity),
            (cast_slice(&round.held), size_of::<TriangleMultiplier>() * held_count),
            (&[], 4 * scan_words(slot_len) as usize),
            (&[], 4 * scan_words(begin_len) as usize),
            (cast_slice(&words), 4 * list_len),
            (cast_slice(&bodies.tasks), 0),
            (cast_slice(&bodies.simplices), 0),
            (cast_slice(&bodies.nodes), 0),
            (&[], TRIANGLE_PATH as usize * size_of::<[f32; 4]>() * bodies.nodes.len()),
            (&[], 4 * scan_words(query_len) as usize),
        ];
        for (buffer, (bytes, len)) in self.storage.iter_mut().zip(contents) {
            buffer.check(device, len as u64)?;
            buffer.grow(device, len as u64);
            buffer.upload(device, queue, bytes)?;
        }
        let mut uniforms = Vec::new();
        for word in 0..SCANS {
            push_uniform(&mut uniforms, &TriangleParameters { word, ..self.parameters });
        }
        for bucket_count in [slot_len, begin_len, query_len] {
            let zeroed = ContactParameters::zeroed();
            push_uniform(&mut uniforms, &ContactParameters { bucket_count, ..zeroed });
        }
        self.level_ends.clone_from(&bodies.levels);
        let mut node_begin = 0;
        for &node_end in &bodies.levels {
            let level = TriangleParameters { node_begin, node_end, ..self.parameters };
            push_uniform(&mut uniforms, &level);
            node_begin = node_end;
        }
        self.uniforms.upload(device, queue, &uniforms)?;
        Ok(())
    }

    /// Workgroups of a pass.
    fn groups(&self, pass: Pass) -> u32 {
        use Kernel::*;
        let it = &self.parameters;
        let scanned = [it.slot_len, it.begin_len, it.query_len];
        let counts = || scanned[(pass.uniform - SCANS) as usize];
        let items = match pass.kernel {
            ContactScan => return (counts() + SCAN_BLOCK) / SCAN_BLOCK,
            ContactSum | TriangleRound => 1,
            TriangleBegin => TRIANGLE_WORDS.max(TRIANGLE_BODY_WORDS * it.body_count),
            // The multipliers are as many as pairs of an earlier slice were.
            TriangleSpan => it.row_count.max((self.storage[HELD].size() / HELD_BYTES) as u32),
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
            TriangleTarget | TriangleAim | TriangleTie | TriangleGather | TriangleMove
            | TriangleFinish | TriangleApply => it.row_count,
            // How many of them are in reach, the device alone knows.
            _ => it.capacity,
        };
        items.div_ceil(CONTACT_LANES).max(1)
    }

    /// Records passes.
    fn record(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        passes: &Passes,
        particles: Option<[&wgpu::Buffer; 4]>,
    ) {
        let bind = |layout: usize, storage: [usize; 8]| {
            self.bind(device, layout, storage.map(|index| self.storage[index].buffer()))
        };
        let scans = SCANNED.map(|list| {
            // The buffer that is there otherwise goes where no scan looks.
            let mut storage = RESPONSE;
            (storage[BEGINS], storage[SLOTS]) = (if list == SLOTS { BEGINS } else { SLOTS }, list);
            bind(0, storage)
        });
        let mut groups = vec![bind(0, RESPONSE), bind(1, SEARCH)];
        if let Some([cloths, current, previous, feedback]) = particles {
            let own = |index: usize| self.storage[index].buffer();
            let (rows, moves, pairs, lists) = (own(ROWS), own(MOVES), own(PAIRS), own(LISTS));
            let storage = [cloths, rows, moves, current, previous, feedback, pairs, lists];
            groups.push(self.bind(device, 2, storage));
        }
        let max_row = device.limits().max_compute_workgroups_per_dimension;
        let mut recorded = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("poplin.triangles"),
            timestamp_writes: None,
        });
        for &pass in &passes.0 {
            let bind_group = match pass.kernel {
                Kernel::ContactScan | Kernel::ContactSum => &scans[(pass.uniform - SCANS) as usize],
                kernel => &groups[layout_of(kernel)],
            };
            let groups = self.groups(pass);
            let width = groups.min(max_row);
            recorded.set_pipeline(&self.pipelines[&pass.kernel]);
            recorded.set_bind_group(0, bind_group, &[pass.uniform * UNIFORM_STRIDE as u32]);
            recorded.dispatch_workgroups(width, groups.div_ceil(width), 1);
        }
    }

    /// Binds storage buffers for kernels of a layout.
    fn bind(
        &self,
        device: &wgpu::Device,
        layout: usize,
        storage: [&wgpu::Buffer; 8],
    ) -> wgpu::BindGroup {
        let label = "poplin.triangles.bind_group";
        let (layout, uniforms) = (&self.layouts[layout], self.uniforms.buffer());
        bind_group::<TriangleParameters>(device, label, layout, uniforms, &storage)
    }

    /// Records a round of the uploaded moves and candidates, with so many iterations.
    pub fn encode_round(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        iterations: u32,
    ) {
        let mut passes = Passes::default();
        passes.push(TRIANGLE_DUE, &[Kernel::TriangleStep]);
        passes.respond(iterations);
        self.record(device, encoder, &passes, None);
    }

    /// Records where particles and colliders would be after the slice. Buffers: entries of the cloths, current and previous particles,
    /// reports.
    pub fn encode_targets(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        particles: [&wgpu::Buffer; 4],
    ) {
        let mut passes = Passes::default();
        passes.push(TRIANGLE_DUE, &[Kernel::TriangleTarget]);
        self.record(device, encoder, &passes, Some(particles));
    }

    /// Records that particles move to where contact lets them be, in the same buffers.
    pub fn encode_apply(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        particles: [&wgpu::Buffer; 4],
    ) {
        let mut passes = Passes::default();
        passes.push(TRIANGLE_DUE, &[Kernel::TriangleApply]);
        self.record(device, encoder, &passes, Some(particles));
    }

    /// Records the begin of a slice.
    pub fn encode_begin(&self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder) {
        let mut passes = Passes::default();
        use Kernel::*;
        passes.push(TRIANGLE_DUE, &[TriangleBegin, TriangleSpan, TriangleMeet]);
        self.record(device, encoder, &passes, None);
    }

    /// Records a round of a slice, from its search on; if there is none left, nothing changes.
    pub fn encode_next(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        iterations: u32,
    ) {
        let mut passes = Passes::default();
        use Kernel::*;
        passes.push(TRIANGLE_DUE, &[TriangleRound, TriangleAim, TriangleStep]);
        passes.search(self.level_ends.len() as u32);
        passes.respond(iterations);
        self.record(device, encoder, &passes, None);
    }

    /// Records the end of a slice.
    pub fn encode_finish(&self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder) {
        let mut passes = Passes::default();
        passes.push(TRIANGLE_DUE, &[Kernel::TriangleFinish]);
        self.record(device, encoder, &passes, None);
    }

    /// How far the recorded rounds have come, once they have run.
    ///
    /// # Errors
    /// [`GpuError`] if the device is lost or does not answer.
    pub fn progress(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Result<TriangleProgress, GpuError> {
        let bytes = read_buffer(device, queue, self.storage[LISTS].buffer())?;
        let words: Vec<u32> = pod_collect_to_vec(&bytes);
        let word = |index: u32| words[index as usize];
        let lack = word(TRIANGLE_LACK);
        Ok(TriangleProgress {
            rounds: word(TRIANGLE_ROUNDS),
            is_done: word(TRIANGLE_DUE) == 0,
            lack: (lack > 0).then_some(lack),
        })
    }

    /// What the recorded passes have left of the uploaded round, once they have run.
    ///
    /// # Errors
    /// [`GpuError`] if the device is lost or does not answer.
    pub fn read(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        uploaded: &TriangleRound,
    ) -> Result<TriangleRound, GpuError> {
        let read = |index: usize| read_buffer(device, queue, self.storage[index].buffer());
        let words = |index: usize| read(index).map(|bytes| pod_collect_to_vec::<u8, u32>(&bytes));
        let it = &self.parameters;
        let (row_count, capacity) = (uploaded.rows.len(), it.capacity as usize);
        let lists = words(LISTS)?;
        let word = |index: u32| lists[index as usize];
        let slots = scanned(&words(SLOTS)?, it.slot_len, capacity);
        let begins = scanned(&words(BEGINS)?, it.begin_len, row_count);
        let mut rows: Vec<TriangleRow> = pod_collect_to_vec(&read(ROWS)?);
        rows.truncate(row_count);
        let mut moves: Vec<[f32; 4]> = pod_collect_to_vec(&read(MOVES)?);
        moves.truncate(uploaded.moves.len());
        let mut candidates: Vec<TriangleCandidate> = pod_collect_to_vec(&read(FOUND)?);
        candidates.truncate(word(TRIANGLE_CANDIDATES) as usize);
        let mut pairs: Vec<TrianglePair> = pod_collect_to_vec(&read(PAIRS)?);
        pairs.truncate(slots[capacity] as usize);
        let mut held: Vec<TriangleMultiplier> = pod_collect_to_vec(&read(HELD)?);
        held.truncate(word(TRIANGLE_HELD) as usize);
        let corners = TRIANGLE_WORDS as usize + 2 * row_count + 4 * capacity;
        let corner_count = begins[row_count] as usize;
        Ok(TriangleRound {
            rows,
            moves,
            candidates,
            pairs,
            held,
            corners: lists[corners..corners + corner_count].to_vec(),
            begins,
            contacts: word(TRIANGLE_CONTACTS),
            held_rows: word(TRIANGLE_HELD_ROWS),
            forced: word(TRIANGLE_FORCED),
            least_gap: from_ordered(word(TRIANGLE_GAP)),
            rounds: word(TRIANGLE_ROUNDS),
            ..uploaded.clone()
        })
    }
}
