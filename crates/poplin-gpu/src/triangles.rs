//! Contact of triangles on the device: the passes of a round. The engine does not reach them yet, tests do.

use bytemuck::{Zeroable, cast_slice, pod_collect_to_vec};
use poplin_layout::{
    CONTACT_LANES, ContactParameters, SCAN_BLOCK, TRIANGLE_ALWAYS, TRIANGLE_CONTACTS,
    TRIANGLE_FORCED, TRIANGLE_GAP, TRIANGLE_HELD, TRIANGLE_HELD_ROWS, TRIANGLE_MORE_ITERATIONS,
    TRIANGLE_OVERLAPS, TRIANGLE_PRESSED, TRIANGLE_WORDS, TriangleMultiplier, TrianglePair,
    TriangleParameters, TriangleRound,
};
use poplin_shaders::Kernel;

use crate::binding::{UNIFORM_STRIDE, bind_group, bind_group_layout, push_uniform};
use crate::growable::GrowableBuffer;
use crate::headless::read_buffer;
use crate::pipelines::{kernel_pipeline, pipeline_layout};
use crate::{EngineOptions, GpuError};

/// Bindings 1.. of the kernels: whether they only read them.
const STORAGE_READ_ONLY: [bool; 8] = [true, true, false, false, false, false, false, false];

/// Storage buffers, in the order of their bindings.
const NAMES: [&str; 8] = [
    "poplin.triangles.candidates",
    "poplin.triangles.rows",
    "poplin.triangles.moves",
    "poplin.triangles.pairs",
    "poplin.triangles.held",
    "poplin.triangles.slots",
    "poplin.triangles.begins",
    "poplin.triangles.lists",
];

/// Index of the sections of rows in the storage buffers.
const MOVES: usize = 2;
/// Of the pairs.
const PAIRS: usize = 3;
/// Of the multipliers.
const HELD: usize = 4;
/// Of the counts of candidates, which the scan finds at its own binding.
const SLOTS: usize = 5;
/// Of the counts of rows.
const BEGINS: usize = 6;
/// Of the words and lists.
const LISTS: usize = 7;

/// The uniforms are those of the words that say whether a pass has anything to do; then come those of the scans.
const SCANS: u32 = TRIANGLE_OVERLAPS + 1;

/// One dispatch.
#[derive(Debug, Clone, Copy)]
struct Pass {
    kernel: Kernel,
    /// Index of its uniform.
    uniform: u32,
}

/// The passes of a round, in order.
fn passes(iterations: u32) -> Vec<Pass> {
    use Kernel::*;
    let mut passes = Vec::new();
    let mut push = |uniform: u32, kernels: &[Kernel]| {
        passes.extend(kernels.iter().map(|&kernel| Pass { kernel, uniform }));
    };
    push(TRIANGLE_ALWAYS, &[TriangleStep, TriangleReach]);
    push(SCANS, &[ContactScan, ContactSum]);
    push(TRIANGLE_ALWAYS, &[TriangleNarrow]);
    push(SCANS + 1, &[ContactScan, ContactSum]);
    push(TRIANGLE_ALWAYS, &[TriangleScatter, TriangleTie, TriangleGather]);
    for _ in 0..iterations {
        push(TRIANGLE_ALWAYS, &[TrianglePush, TriangleGather]);
    }
    for more in 0..TRIANGLE_MORE_ITERATIONS {
        push(TRIANGLE_PRESSED + more, &[TrianglePress, TrianglePush, TriangleGather]);
    }
    push(TRIANGLE_OVERLAPS, &[TriangleRecover, TriangleGather]);
    push(TRIANGLE_ALWAYS, &[TriangleCut, TriangleBlock, TriangleMove, TriangleForce]);
    passes
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

/// Kernels and buffers of the rounds of contact of triangles.
#[derive(Debug)]
pub struct TriangleRounds {
    layout: wgpu::BindGroupLayout,
    pipelines: Vec<(Kernel, wgpu::ComputePipeline)>,
    storage: [GrowableBuffer; 8],
    uniforms: GrowableBuffer,
    parameters: TriangleParameters,
}

impl TriangleRounds {
    /// Compiles the kernels.
    pub fn new(device: &wgpu::Device, options: &EngineOptions) -> Self {
        let layout = bind_group_layout(device, "poplin.triangles.layout", &STORAGE_READ_ONLY);
        let all = pipeline_layout(device, "poplin.triangles.pipeline_layout", &layout);
        let scans = [Kernel::ContactScan, Kernel::ContactSum];
        let kernels = Kernel::TRIANGLES.into_iter().chain(scans);
        let pipeline = |kernel| (kernel, kernel_pipeline(device, kernel, &all, options));
        let buffer = |name, usage| GrowableBuffer::new(device, name, usage);
        Self {
            pipelines: kernels.map(pipeline).collect(),
            storage: NAMES.map(|name| buffer(name, wgpu::BufferUsages::STORAGE)),
            uniforms: buffer("poplin.triangles.uniforms", wgpu::BufferUsages::UNIFORM),
            parameters: TriangleParameters::zeroed(),
            layout,
        }
    }

    /// Uploads what a round starts from.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] if the device cannot bind a buffer of it.
    pub fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        round: &TriangleRound,
    ) -> Result<(), GpuError> {
        let (row_count, candidate_count) = (round.rows.len(), round.candidates.len());
        let (slot_count, begin_count) = (scan_len(candidate_count), scan_len(row_count));
        self.parameters = TriangleParameters {
            row_count: row_count as u32,
            candidate_count: candidate_count as u32,
            slot_count,
            begin_count,
            word: TRIANGLE_ALWAYS,
            thickness: round.thickness,
            reserve: round.reserve,
            part: round.part,
        };
        let mut words = [0; TRIANGLE_WORDS as usize];
        words[TRIANGLE_FORCED as usize] = round.forced;
        words[TRIANGLE_GAP as usize] = ordered_bits(round.least_gap);
        words[TRIANGLE_HELD as usize] = round.held.len() as u32;
        let held_count = candidate_count.max(round.held.len());
        let list_len = words.len() + 2 * row_count + 8 * candidate_count;
        let contents: [(&[u8], usize); 8] = [
            (cast_slice(&round.candidates), 0),
            (cast_slice(&round.rows), 0),
            (cast_slice(&round.moves), 0),
            (&[], size_of::<TrianglePair>() * candidate_count),
            (cast_slice(&round.held), size_of::<TriangleMultiplier>() * held_count),
            (&[], 4 * scan_words(slot_count) as usize),
            (&[], 4 * scan_words(begin_count) as usize),
            (cast_slice(&words), 4 * list_len),
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
        for bucket_count in [slot_count, begin_count] {
            let zeroed = ContactParameters::zeroed();
            push_uniform(&mut uniforms, &ContactParameters { bucket_count, ..zeroed });
        }
        self.uniforms.upload(device, queue, &uniforms)?;
        Ok(())
    }

    /// Workgroups of a pass.
    fn groups(&self, pass: Pass) -> u32 {
        use Kernel::*;
        let it = &self.parameters;
        let counts = if pass.uniform == SCANS { it.slot_count } else { it.begin_count };
        let items = match pass.kernel {
            ContactScan => return (counts + SCAN_BLOCK) / SCAN_BLOCK,
            ContactSum => return 1,
            TriangleStep => it.begin_count + SCAN_BLOCK,
            TriangleReach => it.slot_count + SCAN_BLOCK,
            TriangleTie | TriangleGather | TriangleMove => it.row_count,
            // How many of them are in reach, the device alone knows.
            _ => it.candidate_count,
        };
        items.div_ceil(CONTACT_LANES).max(1)
    }

    /// Records the passes of the uploaded round, with so many iterations.
    pub fn encode(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        iterations: u32,
    ) {
        let bind = |storage: &[&wgpu::Buffer]| {
            let label = "poplin.triangles.bind_group";
            let uniforms = self.uniforms.buffer();
            bind_group::<TriangleParameters>(device, label, &self.layout, uniforms, storage)
        };
        let mut storage = self.storage.each_ref().map(GrowableBuffer::buffer);
        let own = bind(&storage);
        storage.swap(SLOTS, BEGINS);
        let swapped = bind(&storage);
        let max_row = device.limits().max_compute_workgroups_per_dimension;
        let mut recorded = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("poplin.triangles.round"),
            timestamp_writes: None,
        });
        for pass in passes(iterations) {
            let mut pipelines = self.pipelines.iter();
            let found = pipelines.find(|(kernel, _)| *kernel == pass.kernel);
            let Some((_, pipeline)) = found else { continue };
            let bind_group = if pass.uniform > SCANS { &swapped } else { &own };
            let groups = self.groups(pass);
            let width = groups.min(max_row);
            recorded.set_pipeline(pipeline);
            recorded.set_bind_group(0, bind_group, &[pass.uniform * UNIFORM_STRIDE as u32]);
            recorded.dispatch_workgroups(width, groups.div_ceil(width), 1);
        }
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
        let (row_count, candidate_count) = (uploaded.rows.len(), uploaded.candidates.len());
        let lists = words(LISTS)?;
        let word = |index: u32| lists[index as usize];
        let slots = scanned(&words(SLOTS)?, it.slot_count, candidate_count);
        let begins = scanned(&words(BEGINS)?, it.begin_count, row_count);
        let mut moves: Vec<[f32; 4]> = pod_collect_to_vec(&read(MOVES)?);
        moves.truncate(uploaded.moves.len());
        let mut pairs: Vec<TrianglePair> = pod_collect_to_vec(&read(PAIRS)?);
        pairs.truncate(slots[candidate_count] as usize);
        let mut held: Vec<TriangleMultiplier> = pod_collect_to_vec(&read(HELD)?);
        held.truncate(word(TRIANGLE_HELD) as usize);
        let corners = TRIANGLE_WORDS as usize + 2 * row_count + 4 * candidate_count;
        let corner_count = begins[row_count] as usize;
        Ok(TriangleRound {
            moves,
            pairs,
            held,
            corners: lists[corners..corners + corner_count].to_vec(),
            begins,
            contacts: word(TRIANGLE_CONTACTS),
            held_rows: word(TRIANGLE_HELD_ROWS),
            forced: word(TRIANGLE_FORCED),
            least_gap: from_ordered(word(TRIANGLE_GAP)),
            ..uploaded.clone()
        })
    }
}
