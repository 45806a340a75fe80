//! Triangle contact without an engine, for tests: uploads and reads back a round or a slice.

use bytemuck::{cast_slice, from_bytes, pod_collect_to_vec};
use poplin_layout::{
    RoundState, SCAN_BLOCK, TRIANGLE_DUE, TriangleBodies, TriangleCandidate, TriangleMultiplier,
    TrianglePair, TriangleRound, TriangleRow,
};

use crate::growable::GrowableBuffer;
use crate::headless::read_buffer;
use crate::triangles::{
    BEGINS, FOUND, HELD, LISTS, MOVES, PAIRS, Passes, ROWS, SLOTS, TriangleBuffers, TriangleKernels,
};
use crate::{EngineOptions, Error};

/// Prefix sums of a list of counts, including the total, from the per-block sums of the scan.
fn scanned(words: &[u32], len: u32, count: usize) -> Vec<u32> {
    let blocks = &words[(len + SCAN_BLOCK) as usize..];
    // The scan stores sums within blocks, then sums of whole blocks.
    (0..=count).map(|index| words[index] + blocks[index / SCAN_BLOCK as usize]).collect()
}

/// Inverse of the mapping of floats to ordered bits.
fn from_ordered(bits: u32) -> f32 {
    f32::from_bits(if bits >> 31 == 0 { !bits } else { bits & !(1 << 31) })
}

/// Returns the state of a round, which begins the words of `triangle_lists`.
fn state_of(words: &[u32]) -> RoundState {
    *from_bytes(cast_slice(&words[..RoundState::WORDS]))
}

/// Kernels of triangle contact and the buffers of a round or slice.
#[derive(Debug)]
pub struct TriangleRounds {
    kernels: TriangleKernels,
    uniforms: GrowableBuffer,
    buffers: Option<TriangleBuffers>,
}

/// Progress of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriangleProgress {
    /// Number of rounds that have begun.
    pub rounds: u32,
    /// True if no rounds are left.
    pub is_done: bool,
    /// Number of candidates found, if it exceeds the capacity: the slice has then stopped.
    pub lack: Option<u32>,
}

impl TriangleRounds {
    /// Compiles the kernels.
    ///
    /// # Errors
    /// [`Error::NotCompiled`].
    pub fn new(device: &wgpu::Device, options: &EngineOptions) -> Result<Self, Error> {
        let usage = wgpu::BufferUsages::UNIFORM;
        Ok(Self {
            kernels: TriangleKernels::new(device, options)?,
            uniforms: GrowableBuffer::new(device, "poplin.triangles.uniforms", usage),
            buffers: None,
        })
    }

    /// Uploads initial positions of rows, bodies and given candidates, with capacity for `capacity`
    /// candidates. A slice has at most `max_rounds` rounds; a single round is repeated with a
    /// smaller step only if `max_rounds` exceeds 2.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the device cannot bind a buffer.
    pub fn upload(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        round: &TriangleRound,
        bodies: &TriangleBodies,
        capacity: usize,
        max_rounds: u32,
    ) -> Result<(), Error> {
        let round = TriangleRound { begins: Vec::new(), ..round.clone() };
        let buffers = TriangleBuffers::new(device, &round, bodies, capacity, 0)?;
        self.uniforms.upload(device, queue, &buffers.uniforms(max_rounds, &[]))?;
        self.buffers = Some(buffers);
        Ok(())
    }

    fn buffers(&self) -> &TriangleBuffers {
        self.buffers.as_ref().expect("something was uploaded")
    }

    /// Records passes.
    fn record(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        particles: Option<[&wgpu::Buffer; 4]>,
        add: impl FnOnce(&mut Passes),
    ) {
        let mut passes = Passes::default();
        add(&mut passes);
        let buffers = self.buffers();
        // None of these passes writes reports, so any buffer serves as their binding.
        let particles = particles.map(|[cloths, current, previous, feedback]| {
            [cloths, current, previous, feedback, &buffers.storage[PAIRS]]
        });
        let bound = self.kernels.bind(device, buffers, self.uniforms.buffer(), particles);
        let max_row = device.limits().max_compute_workgroups_per_dimension;
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        self.kernels.record(&mut pass, buffers, &bound, &passes, max_row);
    }

    /// Records the response of a round to the uploaded moves and candidates, with this number of
    /// iterations.
    pub fn encode_round(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        iterations: u32,
    ) {
        self.record(device, encoder, None, |passes| passes.response(iterations));
    }

    /// Records the contact-free positions of particles and colliders after the slice. Buffers:
    /// entries of the cloths, current and previous particles, reports.
    pub fn encode_targets(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        particles: [&wgpu::Buffer; 4],
    ) {
        self.record(device, encoder, Some(particles), |passes| passes.target(TRIANGLE_DUE));
    }

    /// Records the move of particles to their positions after contact, with the same buffers.
    pub fn encode_apply(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        particles: [&wgpu::Buffer; 4],
    ) {
        self.record(device, encoder, Some(particles), |passes| passes.apply(TRIANGLE_DUE));
    }

    /// Records the begin of a slice.
    pub fn encode_begin(&self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder) {
        self.record(device, encoder, None, |passes| passes.begin(TRIANGLE_DUE));
    }

    /// Records a round of a slice, starting with its search; it has no effect if no rounds are
    /// left.
    pub fn encode_next(
        &self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        iterations: u32,
    ) {
        let level_count = self.buffers().level_count();
        self.record(device, encoder, None, |passes| passes.round(level_count, iterations));
    }

    /// Records the end of a slice.
    pub fn encode_finish(&self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder) {
        self.record(device, encoder, None, |passes| passes.finish(TRIANGLE_DUE));
    }

    /// Reads the progress of the recorded rounds, once they have run.
    ///
    /// # Errors
    /// [`Error`] if the device is lost or does not answer.
    pub fn progress(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
    ) -> Result<TriangleProgress, Error> {
        let bytes = read_buffer(device, queue, &self.buffers().storage[LISTS])?;
        let state = state_of(&pod_collect_to_vec(&bytes));
        let lack = state.unlisted_count.0;
        Ok(TriangleProgress {
            rounds: state.round_count.0,
            is_done: state.gates[TRIANGLE_DUE as usize].0 == 0 && state.restart_parts.0 == 0,
            lack: (lack > 0).then_some(lack),
        })
    }

    /// Reads the uploaded round as the recorded passes have changed it, once they have run.
    ///
    /// # Errors
    /// [`Error`] if the device is lost or does not answer.
    pub fn read(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        uploaded: &TriangleRound,
    ) -> Result<TriangleRound, Error> {
        let read = |index: usize| read_buffer(device, queue, &self.buffers().storage[index]);
        let words = |index: usize| read(index).map(|bytes| pod_collect_to_vec::<u8, u32>(&bytes));
        let it = &self.buffers().parameters;
        let (row_count, capacity) = (uploaded.rows.len(), it.capacity as usize);
        let lists = words(LISTS)?;
        let state = state_of(&lists);
        let slots = scanned(&words(SLOTS)?, it.slot_len, capacity);
        let begins = scanned(&words(BEGINS)?, it.begin_len, row_count);
        let mut rows: Vec<TriangleRow> = pod_collect_to_vec(&read(ROWS)?);
        rows.truncate(row_count);
        let mut moves: Vec<[f32; 4]> = pod_collect_to_vec(&read(MOVES)?);
        moves.truncate(uploaded.moves.len());
        let mut candidates: Vec<TriangleCandidate> = pod_collect_to_vec(&read(FOUND)?);
        candidates.truncate(state.candidate_count.0 as usize);
        let mut pairs: Vec<TrianglePair> = pod_collect_to_vec(&read(PAIRS)?);
        pairs.truncate(slots[capacity] as usize);
        let mut held: Vec<TriangleMultiplier> = pod_collect_to_vec(&read(HELD)?);
        held.truncate(state.held_count.0 as usize);
        // Layout of the lists: state, 2 words per row, holds, corners.
        let holds = RoundState::WORDS + 2 * row_count;
        let corners = holds + row_count;
        let corner_count = begins[row_count] as usize;
        Ok(TriangleRound {
            rows,
            moves,
            candidates,
            pairs,
            held,
            corners: lists[corners..corners + corner_count].to_vec(),
            holds: lists[holds..holds + row_count].to_vec(),
            begins,
            contacts: state.contact_count.0,
            held_rows: state.held_row_count.0,
            forced: state.forced_count.0,
            least_gap: from_ordered(state.least_gap.0),
            rounds: state.round_count.0,
            ..uploaded.clone()
        })
    }
}
