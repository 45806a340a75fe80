//! Asynchronous read-back of particles and feedback.

use std::mem::offset_of;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures_intrusive::channel::shared::{OneshotReceiver, oneshot_channel};
use poplin_host::{
    ClothId, ContactMultipliers, FrameBodies, NoSuchCloth, PairMultipliers, State, StatePart,
};
use poplin_layout::{
    Feedback, RoundState, TRIANGLE_BY_CLOTH, TRIANGLE_BY_ITSELF, TriangleMultiplier, TriangleReport,
};
use poplin_model::{ContactPartner, ContactReport, Particle, Trouble};

use crate::crossings::{CrossingLog, CrossingScene, Crossings};
use crate::engine::{FEEDBACK_BYTES, REPORT_BYTES};
use crate::{Error, GpuEngine};

/// Reusable staging buffer for the state of cloths.
///
/// `encode` records the copy; the application then submits it and polls the device. `read` resolves
/// when the copy has arrived, `poll` checks without waiting.
#[derive(Debug, Default)]
pub struct Readback {
    /// True to omit previous positions.
    is_current_only: bool,
    /// Multipliers of triangle contact, if requested, and the size of their part in the copy
    /// \[bytes\].
    multipliers: Option<(ContactMultipliers, u64)>,
    /// Remainders of the displacements of each cloth, once the copy for a snapshot was read.
    remainders: Vec<Vec<[f32; 4]>>,
    staging: Option<wgpu::Buffer>,
    members: Vec<Member>,
    /// Scene for counting crossings.
    crossings: Option<CrossingScene>,
    /// Additional cloths whose particles are copied because the requested cloths may cross them.
    others: Vec<(ClothId, Range<u32>)>,
    mapping: Option<OneshotReceiver<Result<(), wgpu::BufferAsyncError>>>,
}

/// Size of the multiplier count in the staging buffer \[bytes\].
const COUNT_BYTES: u64 = 16;

/// State of a cloth at the time of recording the copy.
#[derive(Debug, Clone)]
struct Member {
    id: ClothId,
    particles: Range<u32>,
    feedback: u32,
    impulse_rows: Range<u32>,
    /// Rows of the remainders, in a copy for a snapshot.
    remainder_rows: Range<u32>,
    bodies: FrameBodies,
    skipped_frames: u32,
    crossings: CrossingLog,
}

/// Sizes of the sections of the staging buffer \[bytes\]: current, previous, feedback, impulses,
/// contact reports, current particles of other cloths, remainders, multipliers after a row with
/// their count.
#[derive(Debug, Clone, Copy)]
struct Sections {
    current: u64,
    previous: u64,
    feedback: u64,
    impulses: u64,
    reports: u64,
    others: u64,
    remainders: u64,
    multipliers: u64,
}

impl Sections {
    fn new(
        members: &[Member],
        is_current_only: bool,
        others: &[(ClothId, Range<u32>)],
        multipliers: u64,
    ) -> Self {
        let sum = |len: fn(&Member) -> usize| members.iter().map(|m| len(m) as u64).sum::<u64>();
        let current = 16 * sum(|member| member.particles.len());
        Self {
            current,
            previous: if is_current_only { 0 } else { current },
            feedback: FEEDBACK_BYTES * members.len() as u64,
            impulses: 16 * sum(|member| member.impulse_rows.len()),
            reports: REPORT_BYTES * members.len() as u64,
            others: 16 * others.iter().map(|(_, range)| range.len() as u64).sum::<u64>(),
            remainders: 16 * sum(|member| member.remainder_rows.len()),
            multipliers,
        }
    }

    fn total(self) -> u64 {
        let Self { current, previous, feedback, impulses, reports, .. } = self;
        let Self { others, remainders, multipliers, .. } = self;
        current + previous + feedback + impulses + reports + others + remainders + multipliers
    }
}

/// Cause of a failed read-back: the device was dropped or did not answer.
pub(crate) const NO_ANSWER: &str = "the device did not answer";

/// Error of a failed read-back.
pub(crate) fn unread(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Readback(Arc::from(cause.into()))
}

fn member(engine: &GpuEngine, id: ClothId, is_save: bool) -> Result<Member, NoSuchCloth> {
    let (impulse_rows, bodies, skipped_frames) = engine.last_frame(id)?;
    Ok(Member {
        id,
        particles: engine.particle_range(id)?,
        feedback: engine.feedback_slot(id)?,
        impulse_rows,
        remainder_rows: if is_save { engine.remainder_rows(id)? } else { 0..0 },
        bodies,
        skipped_frames,
        crossings: engine.crossing_log(id)?,
    })
}

/// Records copies of ranges of elements to consecutive places; merges adjacent ranges.
fn copy_ranges(
    encoder: &mut wgpu::CommandEncoder,
    source: &wgpu::Buffer,
    ranges: impl Iterator<Item = Range<u32>>,
    element_bytes: u64,
    (staging, mut destination): (&wgpu::Buffer, u64),
) {
    let mut copy = |range: &Range<u32>| {
        let len = element_bytes * range.len() as u64;
        if len > 0 {
            let begin = element_bytes * u64::from(range.start);
            encoder.copy_buffer_to_buffer(source, begin, staging, destination, len);
        }
        destination += len;
    };
    let mut run = 0..0;
    for range in ranges {
        // Cloths added together are adjacent, so most states need a single copy.
        if range.start == run.end {
            run.end = range.end;
        } else {
            copy(&run);
            run = range;
        }
    }
    copy(&run);
}

impl Readback {
    /// Creates a read-back without a buffer yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a read-back for states without previous positions ([`State::previous`] is empty),
    /// which needs half as many bytes; for drawing or storing positions.
    pub fn of_current() -> Self {
        Self { is_current_only: true, ..Self::default() }
    }

    /// Records the copy of the cloths' state at the time when the encoder runs, preceded by
    /// [`GpuEngine::encode_changes`]. The result of an earlier copy is lost unless it was read.
    ///
    /// After a frame with triangle contact the copy includes the particles of all cloths that the
    /// requested ones may cross. The crossings are counted on rayon's threads when the state has
    /// arrived.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`]; [`Error::TooLarge`] if the device cannot create a buffer of
    /// that size.
    pub fn encode(
        &mut self,
        engine: &mut GpuEngine,
        ids: &[ClothId],
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<(), Error> {
        let is_save = self.multipliers.is_some();
        let members = ids.iter().map(|&id| member(engine, id, is_save));
        self.members = members.collect::<Result<_, _>>()?;
        // A snapshot has no reports.
        self.crossings = engine.crossing_scene().filter(|_| self.multipliers.is_none());
        let others = self.crossings.as_ref().map_or(Vec::new(), |scene| scene.others(ids));
        // Cloths may have been removed since the frame.
        let others =
            others.into_iter().filter_map(|id| Some((id, engine.particle_range(id).ok()?)));
        self.others = others.collect();
        let sections = self.sections();
        let limit = engine.device().limits().max_buffer_size;
        if sections.total() > limit {
            let bytes = sections.total();
            return Err(Error::TooLarge { buffer: "read-back", bytes, limit });
        }
        let size = sections.total().max(16);
        // A buffer that is being mapped cannot be a copy target, and a much larger one wastes
        // transfer.
        let is_mapping = self.mapping.take().is_some();
        let fits =
            |staging: &wgpu::Buffer| !is_mapping && (size..=4 * size).contains(&staging.size());
        if !self.staging.as_ref().is_some_and(fits) {
            self.staging = Some(engine.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some("poplin.readback.staging"),
                size,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }));
        }
        engine.encode_changes(encoder)?;
        let Some(staging) = &self.staging else { return Ok(()) };
        let members = &self.members;
        let particles = || members.iter().map(|member| member.particles.clone());
        copy_ranges(encoder, engine.particle_buffer(), particles(), 16, (staging, 0));
        if !self.is_current_only {
            let previous = engine.previous_particle_buffer();
            copy_ranges(encoder, previous, particles(), 16, (staging, sections.current));
        }
        let slots = members.iter().map(|member| member.feedback..member.feedback + 1);
        let begin = sections.current + sections.previous;
        let feedback = engine.feedback_buffer();
        copy_ranges(encoder, feedback, slots, FEEDBACK_BYTES, (staging, begin));
        let rows = members.iter().map(|member| member.impulse_rows.clone());
        let begin = begin + sections.feedback;
        copy_ranges(encoder, engine.scratch_buffer(), rows, 16, (staging, begin));
        let begin = begin + sections.impulses;
        let slots = members.iter().map(|member| member.feedback..member.feedback + 1);
        copy_ranges(encoder, engine.report_buffer(), slots, REPORT_BYTES, (staging, begin));
        let begin = begin + sections.reports;
        let others = self.others.iter().map(|(_, range)| range.clone());
        copy_ranges(encoder, engine.particle_buffer(), others, 16, (staging, begin));
        let begin = begin + sections.others;
        let rows = members.iter().map(|member| member.remainder_rows.clone());
        copy_ranges(encoder, engine.scratch_buffer(), rows, 16, (staging, begin));
        let begin = begin + sections.remainders;
        if let (Some([words, held]), true) = (engine.multipliers().0, sections.multipliers > 0) {
            let word = offset_of!(RoundState, held_count) as u64;
            encoder.copy_buffer_to_buffer(words, word, staging, begin, 4);
            let len = sections.multipliers - COUNT_BYTES;
            encoder.copy_buffer_to_buffer(held, 0, staging, begin + COUNT_BYTES, len);
        }
        Ok(())
    }

    fn sections(&self) -> Sections {
        let multipliers = self.multipliers.as_ref().map_or(0, |it| it.1);
        Sections::new(&self.members, self.is_current_only, &self.others, multipliers)
    }

    /// Adds the multipliers of triangle contact to the copy.
    pub(crate) fn with_multipliers(mut self, engine: &GpuEngine) -> Self {
        let (buffers, multipliers, step) = engine.multipliers();
        let on_device = buffers.map_or(0, |[_, held]| COUNT_BYTES + held.size());
        self.multipliers = Some((ContactMultipliers { step, ..multipliers.clone() }, on_device));
        self
    }

    /// Takes the multipliers of triangle contact, after the state was read.
    pub(crate) fn take_multipliers(&mut self) -> ContactMultipliers {
        self.multipliers.take().map(|it| it.0).unwrap_or_default()
    }

    /// Takes the remainders of the displacements of each cloth, after the state was read.
    pub(crate) fn take_remainders(&mut self) -> Vec<Vec<[f32; 4]>> {
        std::mem::take(&mut self.remainders)
    }

    /// Requests the mapping of the copy, which must have been submitted. [`Readback::poll`] and
    /// [`Readback::read`] call it if necessary.
    pub fn request(&mut self) {
        let Some(staging) = self.staging.as_ref().filter(|_| self.mapping.is_none()) else {
            return;
        };
        let (sender, receiver) = oneshot_channel();
        staging.map_async(wgpu::MapMode::Read, .., move |result| {
            // A dropped receiver only means that the result is no longer needed.
            let _ = sender.send(result);
        });
        self.mapping = Some(receiver);
    }

    /// Returns the state if the submitted copy has arrived and the device has been polled since;
    /// never blocks.
    ///
    /// # Errors
    /// [`Error::Readback`] if the device was lost.
    pub fn poll(&mut self) -> Result<Option<State>, Error> {
        let reading = pin!(self.read());
        match reading.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(Some),
            Poll::Pending => Ok(None),
        }
    }

    /// Resolves to the state once the submitted copy has arrived and the device has been polled.
    /// The future may be dropped and created again.
    ///
    /// # Errors
    /// [`Error::Readback`] if the device was lost.
    pub async fn read(&mut self) -> Result<State, Error> {
        self.request();
        if let Some(mapping) = &self.mapping {
            let result = mapping.receive().await.ok_or_else(|| unread(NO_ANSWER))?;
            // Cleared only after the answer, so that a dropped future can be created again.
            self.mapping = None;
            result.map_err(unread)?;
        }
        self.take()
    }

    /// Reads the state from the mapped buffer and unmaps it.
    fn take(&mut self) -> Result<State, Error> {
        let Some(staging) = &self.staging else { return Ok(State::default()) };
        let sections = self.sections();
        let state = {
            let view = staging.get_mapped_range(..).map_err(unread)?;
            // Without multipliers on the device those of the snapshot stay.
            if let Some((multipliers, 1..)) = &mut self.multipliers {
                let begin = (sections.total() - sections.multipliers) as usize;
                multipliers.pairs = pairs_of(&view[begin..sections.total() as usize]);
            }
            let end = (sections.total() - sections.multipliers) as usize;
            let rows: Vec<[f32; 4]> =
                bytemuck::pod_collect_to_vec(&view[end - sections.remainders as usize..end]);
            let mut rows = &rows[..];
            let lens = self.members.iter().map(|member| member.remainder_rows.len());
            let own = lens.map(|len| rows.split_off(..len).unwrap_or_default().to_vec());
            self.remainders = own.collect();
            self.state_of(&view, sections)
        };
        staging.unmap();
        Ok(state)
    }

    /// Builds the state from these bytes and counts its crossings.
    fn state_of(&self, bytes: &[u8], sections: Sections) -> State {
        let (current, rest) = bytes.split_at(sections.current as usize);
        let (previous, rest) = rest.split_at(sections.previous as usize);
        let (feedback, rest) = rest.split_at(sections.feedback as usize);
        let feedback: Vec<Feedback> = bytemuck::pod_collect_to_vec(feedback);
        let (rows, rest) = rest.split_at(sections.impulses as usize);
        let rows: Vec<[f32; 4]> = bytemuck::pod_collect_to_vec(rows);
        let (reports, rest) = rest.split_at(sections.reports as usize);
        let reports: Vec<TriangleReport> = bytemuck::pod_collect_to_vec(reports);
        let current: Vec<Particle> = bytemuck::pod_collect_to_vec(current);
        let others: Vec<Particle> = bytemuck::pod_collect_to_vec(&rest[..sections.others as usize]);
        let crossings = self.crossings.as_ref().map(|scene| self.count(scene, &current, &others));
        let mut row_begin = 0;
        let members = self.members.iter().zip(feedback).zip(&reports);
        let parts = members.map(|((member, feedback), report)| {
            let rows = &rows[row_begin..row_begin + member.impulse_rows.len()];
            row_begin += rows.len();
            let mut contact = contact_report(report);
            // Without a scene the log still has the crossings of earlier reads.
            member.crossings.complete(member.id, crossings.as_ref(), &mut contact);
            StatePart {
                id: member.id,
                particle_count: member.particles.len(),
                feedback,
                skipped_frames: member.skipped_frames,
                body_impulses: member.bodies.impulses(rows, &feedback),
                contact,
            }
        });
        let parts: Vec<StatePart> = parts.collect();
        State::new(current, bytemuck::pod_collect_to_vec(previous), parts)
    }

    /// Counts the crossings of the state's cloths among themselves and with the other cloths.
    fn count(&self, scene: &CrossingScene, current: &[Particle], others: &[Particle]) -> Crossings {
        let asked: Vec<ClothId> = self.members.iter().map(|member| member.id).collect();
        let own = self.members.iter().map(|member| (member.id, member.particles.len()));
        let others_of = self.others.iter().map(|(id, range)| (*id, range.len()));
        scene.count(&asked, slices(own, current).chain(slices(others_of, others)))
    }
}

/// Reads the multipliers of pushing pairs.
fn pairs_of(bytes: &[u8]) -> Vec<PairMultipliers> {
    let (count, pairs) = bytes.split_at(COUNT_BYTES as usize);
    let count: u32 = bytemuck::pod_read_unaligned(&count[..4]);
    let pairs: Vec<TriangleMultiplier> = bytemuck::pod_collect_to_vec(pairs);
    let held = pairs.iter().take(count as usize).filter(|pair| pair.drag[3] > 0.0);
    held.map(|&TriangleMultiplier { rank, drag: [x, y, z, push] }| PairMultipliers {
        rank,
        push,
        drag: [x, y, z],
    })
    .collect()
}

/// Converts the device's contact report; crossings are added later by the host.
fn contact_report(it: &TriangleReport) -> ContactReport {
    use ContactPartner::{Collider, Itself, OtherCloth};
    let trouble =
        |[first_frame, last_frame, most_pairs]: [u32; 3], partner, [x, y, z, _]: [f32; 4]| {
            let now = Trouble::in_frame(last_frame, most_pairs, partner, [x, y, z]);
            (first_frame > 0).then_some(Trouble { first_frame, ..now })
        };
    let hurried_by = match it.hurried_by {
        TRIANGLE_BY_ITSELF => Itself,
        TRIANGLE_BY_CLOTH => OtherCloth,
        _ => Collider,
    };
    let forced = [it.forced_first, it.forced_last, it.forced_most];
    ContactReport {
        frames: it.frames,
        forced: trouble(forced, Collider, it.forced_at),
        hurried: trouble([it.hurried_first, it.hurried_last, 1], hurried_by, it.middle),
        unlisted: trouble([it.lack_first, it.lack_last, it.lack_most], Itself, it.middle),
        ..ContactReport::default()
    }
}

/// Splits consecutive particles by cloth.
fn slices(
    cloths: impl Iterator<Item = (ClothId, usize)>,
    mut particles: &[Particle],
) -> impl Iterator<Item = (ClothId, &[Particle])> {
    cloths.map(move |(id, count)| {
        let (own, rest) = particles.split_at(count);
        particles = rest;
        (id, own)
    })
}
