//! Buffers and uniforms of triangle contact.

use std::mem::offset_of;

use bytemuck::{Zeroable, cast_slice};
use poplin_layout::{
    Atomic, ContactParameters, RoundState, SCAN_BLOCK, TRIANGLE_BODY_WORDS, TRIANGLE_DUE,
    TRIANGLE_PATH, TRIANGLE_RESERVE, TRIANGLE_SECTIONS, TriangleBodies, TriangleCandidate,
    TriangleMultiplier, TrianglePair, TriangleParameters, TriangleRound, TriangleTask,
};

use super::{HELD, LEVELS, LISTS, SCANS};
use crate::binding::push_uniform;
use crate::growable::GrowableBuffer;
use crate::{Error, scope};

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

/// Size of one multiplier \[bytes\].
const HELD_BYTES: u64 = size_of::<TriangleMultiplier>() as u64;

/// Buffers that the passes of a set of bodies read and write.
#[derive(Debug)]
pub(crate) struct TriangleBuffers {
    pub(crate) storage: Vec<wgpu::Buffer>,
    pub(crate) parameters: TriangleParameters,
    /// End index of each tree level in the list of nodes.
    pub(super) level_ends: Vec<u32>,
}

/// Uniform values that differ between slices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TriangleSlice {
    /// Index of the first cloth entry of the slice.
    pub(crate) cloth_begin: u32,
    /// Fraction of the frame at which colliders are placed.
    pub(crate) fraction: f32,
    /// Fraction of the frame that the slice takes.
    pub(crate) slice_part: f32,
    /// Factor on the multipliers of the last slice.
    pub(crate) held_scale: f32,
    /// True for the first slice of a frame.
    pub(crate) is_first: bool,
}

impl TriangleBuffers {
    /// Creates the buffers from initial positions of rows (none if there are no moves), the bodies
    /// and given candidates, with capacity for `capacity` candidates and `held_count` multipliers.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the device cannot bind one.
    pub(crate) fn new(
        device: &wgpu::Device,
        round: &TriangleRound,
        bodies: &TriangleBodies,
        capacity: usize,
        held_count: usize,
    ) -> Result<Self, Error> {
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
            slice_part: round.slice_part,
        };
        let state = RoundState {
            gates: [1, 1, 0].map(Atomic),
            is_careful: Atomic(round.is_careful.into()),
            forced_count: Atomic(round.forced),
            least_gap: Atomic(ordered_bits(round.least_gap)),
            held_count: Atomic(round.held.len() as u32),
            part: Atomic(round.part.to_bits()),
            candidate_count: Atomic(round.candidates.len() as u32),
            valid_part: Atomic(1.0f32.to_bits()),
            ..RoundState::zeroed()
        };
        // One buffer for state and lists, as WebGPU guarantees only eight storage buffers.
        let mut lists: Vec<u32> = cast_slice(&[state]).to_vec();
        lists.resize(lists.len() + 2 * row_count, 0);
        lists.extend(&round.holds);
        // Every pair may hold a multiplier in the next slice.
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
            // Bodies that collide with nothing have no tasks, but an empty buffer cannot be bound.
            (cast_slice(&bodies.tasks), size_of::<TriangleTask>()),
            (cast_slice(&bodies.simplices), 0),
            (cast_slice(&bodies.nodes), 0),
            (&[], TRIANGLE_PATH as usize * size_of::<[f32; 4]>() * bodies.nodes.len()),
            (&[], 4 * scan_words(query_len) as usize),
        ];
        // All sizes are checked before the first buffer is created.
        let limit = GrowableBuffer::limit(device);
        for (name, (bytes, len)) in NAMES.into_iter().zip(contents) {
            let bytes = bytes.len().max(len) as u64;
            if bytes > limit {
                return Err(Error::TooLarge { buffer: name, bytes, limit });
            }
        }
        let contents = NAMES.into_iter().zip(contents);
        let filled = contents.map(|(name, (bytes, len))| filled_buffer(device, name, bytes, len));
        let storage = filled.collect::<Result<_, _>>()?;
        Ok(Self { storage, parameters, level_ends: bodies.levels.clone() })
    }

    /// Packs the uniforms of the passes of a slice with at most `max_rounds` rounds, and of some
    /// slices.
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
        // One uniform per level: the range of its nodes.
        let mut node_begin = 0;
        for &node_end in &self.level_ends {
            push_uniform(&mut uniforms, &TriangleParameters { node_begin, node_end, ..parameters });
            node_begin = node_end;
        }
        for slice in slices {
            let &TriangleSlice { cloth_begin, fraction, slice_part, held_scale, is_first } = slice;
            push_uniform(
                &mut uniforms,
                &TriangleParameters {
                    cloth_begin,
                    fraction,
                    slice_part,
                    held_scale,
                    is_first: u32::from(is_first),
                    ..parameters
                },
            );
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
        // The number of multipliers is part of the state.
        let word = offset_of!(RoundState, held_count) as u64;
        encoder.copy_buffer_to_buffer(&from[LISTS], word, &to[LISTS], word, 4);
    }

    /// Number of multipliers that fit.
    pub(crate) fn held_capacity(&self) -> usize {
        (self.storage[HELD].size() / HELD_BYTES) as usize
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

/// Creates a storage buffer that begins with `bytes` and is zero after them.
fn filled_buffer(
    device: &wgpu::Device,
    name: &'static str,
    bytes: &[u8],
    len: usize,
) -> Result<wgpu::Buffer, Error> {
    let usage =
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    // A binding must not be empty.
    let size = bytes.len().max(len).max(16).next_multiple_of(16);
    scope::create_buffer(device, name, usage, size as u64, bytes)
}
