//! Cloth of a CPU engine.

use std::ops::Range;
use std::sync::Arc;

use poplin_host::{ClothImpulses, FrameBodies, FramePart, HostCloth};
use poplin_layout::{
    ClothParameters, ClothPlacement, FabricOffsets, Feedback, FrameArrays, NO_OFFSET, PHASE_ROWS,
    SleepParameters, Stage, StageMask,
};
use poplin_model::ContactReport;

use super::crew::Working;
use crate::Workers;
#[cfg(feature = "testing")]
use crate::kernel::simulate_cloth;
use crate::memory;
use crate::multilevel::{LevelsPlan, Touching, repair_levels};
use crate::{ClothMemory, Member};

/// Fabric packed as the GPU has it.
#[derive(Debug)]
pub(super) struct PackedFabric {
    pub(super) offsets: FabricOffsets,
    pub(super) pool: Vec<u32>,
    /// Its levels, if it has any.
    pub(super) levels: Option<LevelsPlan>,
}

impl PackedFabric {
    /// Allocated bytes.
    pub(super) fn size(&self) -> usize {
        let levels = self.levels.as_ref().map_or(0, LevelsPlan::size);
        size_of_val(self.pool.as_slice()) + levels
    }
}

/// One cloth with the memory that a workgroup would have.
#[derive(Debug, Clone)]
pub(super) struct CpuCloth<K> {
    pub(super) host: HostCloth,
    pub(super) fabric: Arc<PackedFabric>,
    pub(super) placement: ClothPlacement,
    pub(super) arrays: FrameArrays,
    pub(super) current: Vec<[f32; 4]>,
    pub(super) previous: Vec<[f32; 4]>,
    /// Rows of scratch that persist between frames, [`HostCloth::kept_rows`]; the rest belongs to
    /// the worker.
    pub(super) remembered: Vec<[u32; 4]>,
    /// Remainders of the last displacements, [`HostCloth::remainder_rows`].
    pub(super) remainders: Vec<[u32; 4]>,
    pub(super) inputs: Vec<[u32; 4]>,
    /// State of its workers.
    pub(super) kept: K,
    /// Particles before the last collision with other cloths, of multilevel solves.
    pub(super) before: Vec<[f32; 4]>,
    /// True if nothing holds it or what it touches, so that [`Self::repair`] keeps its momentum.
    pub(super) is_flying: bool,
    /// Contacts of the last slice, of multilevel solves with contact of triangles.
    pub(super) touching: Touching,
    pub(super) feedback: Feedback,
    /// True if the last frame ran iterations, so that its impulses on bodies are in `remembered`.
    pub(super) is_simulated: bool,
    /// Bodies of these impulses.
    pub(super) bodies: FrameBodies,
    /// Report of triangle contact.
    pub(super) contact: ContactReport,
}

impl<K> CpuCloth<K> {
    /// Begins a frame. With `may_rest` a resting cloth is skipped; otherwise it sleeps in its
    /// kernel.
    pub(super) fn begin_frame(&mut self, dt: f32, may_rest: bool) {
        self.arrays.clear();
        self.touching.clear();
        self.is_flying = true;
        self.is_simulated = false;
        let current = &mut self.current;
        self.host.take_writes(|index, particle| current[index as usize] = particle.into());
        self.host.note_feedback(&self.feedback);
        if may_rest && self.host.is_resting() {
            self.host.skip_frame(dt);
            return;
        }
        let input_len = self.host.input_len() as usize;
        self.inputs.resize(input_len.max(self.inputs.len()), [0; 4]);
        self.remembered.resize(self.host.kept_rows().len().max(self.remembered.len()), [0; 4]);
        let inputs = &mut self.inputs;
        self.host.take_inputs(self.placement.input_begin, |address, values| {
            inputs[address as usize..][..values.len()].copy_from_slice(values)
        });
        self.is_simulated = self.host.iteration_count(dt) > 0;
        self.bodies = self.host.frame_bodies();
        self.host.pack_frame(dt, &self.placement, &mut self.arrays);
    }

    /// Impulses of the last frame on rigid bodies.
    pub(super) fn body_impulses(&self) -> ClothImpulses {
        let (rows, begin) = (self.host.body_rows(), self.host.kept_rows().start);
        match self.remembered.get((rows.start - begin) as usize..(rows.end - begin) as usize) {
            Some(rows) if self.is_simulated => {
                self.bodies.impulses(bytemuck::cast_slice(rows), &self.feedback)
            }
            _ => ClothImpulses::default(),
        }
    }

    /// Allocated bytes.
    pub(super) fn size(&self) -> usize {
        let particles = self.current.capacity() + self.previous.capacity() + self.before.capacity();
        let pools = [&self.remembered, &self.remainders, &self.inputs, &self.arrays.frame_pool]
            .map(Vec::capacity);
        16 * (particles + pools.iter().sum::<usize>())
            + self.touching.size()
            + size_of::<ClothParameters>() * self.arrays.cloth_parameters.capacity()
    }

    /// Returns the workgroup's view of the cloth for a part of the frame; `None` if it has not
    /// begun one.
    pub(super) fn member<'a>(
        &'a mut self,
        part: &FramePart,
        (cells, scratch): (&'a mut [u32], &'a mut [[u32; 4]]),
    ) -> Option<Member<'a, K>> {
        let cloth = part.restrict(self.arrays.cloth_parameters.first()?);
        let pools = memory::Pools {
            frame_pool: &self.arrays.frame_pool,
            fabric_pool: &self.fabric.pool,
            input_pool: &self.inputs,
            levels: self.fabric.levels.as_ref(),
            touching: &self.touching,
        };
        let kept = self.host.kept_rows();
        // The worker's scratch is shared between cloths: restores the persistent rows.
        let kept_len = kept.len();
        scratch[to_usize(kept)].copy_from_slice(&self.remembered[..kept_len]);
        let remainder_rows = &mut scratch[to_usize(self.host.remainder_rows())];
        // After a change of settings their number is another, and the frame does not read them.
        if remainder_rows.len() == self.remainders.len() {
            remainder_rows.copy_from_slice(&self.remainders);
        }
        let state = memory::State {
            current: &mut self.current,
            previous: &mut self.previous,
            scratch,
            cells,
        };
        let memory = ClothMemory::new(cloth, pools, state);
        Some(Member { memory, feedback: &mut self.feedback, kept: &mut self.kept })
    }

    /// True if these iterations are one multilevel solve, which takes contacts with colliders.
    pub(super) fn takes_contacts(&self, iterations: Range<u32>) -> bool {
        iterations.len() == 1 && self.is_multilevel()
    }

    /// True if the multilevel solver solves it.
    pub(super) fn is_multilevel(&self) -> bool {
        self.fabric.levels.is_some() && self.host.stages().intersects(StageMask::LEVELS)
    }

    /// Notes its particles if these iterations, its last ones, were of a multilevel solve, which
    /// [`Self::repair`] may repair.
    pub(super) fn note_solve(&mut self, iterations: impl FnOnce(&Self) -> Range<u32>) {
        self.before.clear();
        let Feedback { is_asleep, fault_count, .. } = self.feedback;
        let is_awake = [is_asleep, fault_count] == [0; 2];
        if is_awake && self.is_multilevel() && !iterations(self).is_empty() {
            self.before.extend_from_slice(&self.current);
        }
    }

    /// Repairs the solve where particles were pushed since [`Self::note_solve`].
    pub(super) fn repair(&mut self, workers: &mut impl Workers<Kept = K>, working: &mut Working) {
        if self.before == self.current {
            return;
        }
        let before = std::mem::take(&mut self.before);
        let is_flying = self.is_flying;
        let room = working.room(0, self.scratch_len());
        let member = self.member(&FramePart::WHOLE, room);
        let Some(Member { mut memory, feedback, kept }) = member else { return };
        if let Some(plan) = memory.levels {
            workers.exchange(kept);
            repair_levels(&mut memory, plan, workers.levels(), &before, is_flying);
            workers.exchange(kept);
            let more = memory.solves.iterations;
            feedback.implicit_iterations = feedback.implicit_iterations.wrapping_add(more);
        }
        self.before = before;
    }

    /// Saves the rows of scratch that persist.
    pub(super) fn remember(&mut self, scratch: &[[u32; 4]]) {
        // A frame that simulates nothing leaves them as they are.
        let parameters = self.arrays.cloth_parameters.first();
        let Some(cloth) = parameters.filter(|cloth| cloth.iteration_count > 0) else { return };
        self.remainders.clear();
        if cloth.remainder_begin != NO_OFFSET {
            self.remainders.extend_from_slice(&scratch[to_usize(self.host.remainder_rows())]);
        }
        let kept = self.host.kept_rows();
        self.remembered[..kept.len()].copy_from_slice(&scratch[to_usize(kept)]);
    }

    /// Number of buckets of its self-collision grid.
    pub(super) fn grid_len(&self) -> usize {
        let collides = self.host.stages().contains(Stage::SelfCollide);
        self.arrays
            .cloth_parameters
            .first()
            .filter(|_| collides)
            .map_or(0, |cloth| memory::grid_len(cloth.self_collision.member_count))
    }

    /// Stages that it runs in a part of the frame.
    pub(super) fn stages(&self, part: &FramePart) -> StageMask {
        self.host.stages().restrict(part.stages)
    }

    #[cfg(feature = "testing")]
    pub(super) fn run_part(&mut self, part: &FramePart, team: &mut impl Workers<Kept = K>) {
        let stages = self.stages(part);
        let mut working = Working::default();
        let (cells, scratch) = working.room(self.grid_len(), self.scratch_len());
        if let Some(Member { mut memory, feedback, kept }) = self.member(part, (cells, scratch)) {
            team.exchange(kept);
            simulate_cloth(&mut memory, feedback, part.iterations.clone(), stages, team);
            team.exchange(kept);
            self.remember(&working.scratch);
        }
    }

    pub(super) fn scratch_len(&self) -> usize {
        self.host.scratch_len() as usize
    }

    /// Sort key for batches: fabric, then time since the last rest test.
    pub(super) fn rank(&self) -> (usize, u32) {
        let is_woken = self
            .arrays
            .cloth_parameters
            .first()
            .is_some_and(|cloth| cloth.sleep.wake_count != self.feedback.wake_count);
        let sleep_time = if is_woken { 0 } else { self.feedback.sleep_time };
        (Arc::as_ptr(&self.fabric) as usize, sleep_time)
    }

    /// Tests whether its frame differs from another's in values only; see
    /// [`Workers::simulate_cloths`].
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let [Some(a), Some(b)] = [self, other].map(|cloth| cloth.arrays.cloth_parameters.first())
        else {
            return false;
        };
        let shapes = |cloth: &ClothParameters| {
            let shapes = &cloth.colliders;
            [shapes.sphere_count, shapes.capsule_count, shapes.plane_count, shapes.box_count]
        };
        // Each cloth has its own colliders, but equally many.
        let sleep = SleepParameters { wake_count: a.sleep.wake_count, ..b.sleep };
        let alike = ClothParameters { sleep, colliders: a.colliders, ..*b };
        let begin = a.phase_begin as usize;
        let phases = begin..begin + (PHASE_ROWS * a.phase_count) as usize;
        self.rank() == other.rank()
            && self.host.stages() == other.host.stages()
            && *a == alike
            && shapes(a) == shapes(b)
            && a.colliders.body_count == b.colliders.body_count
            && self.arrays.frame_pool.get(phases.clone()) == other.arrays.frame_pool.get(phases)
    }
}

/// Converts a range of rows.
fn to_usize(rows: Range<u32>) -> Range<usize> {
    rows.start as usize..rows.end as usize
}

/// Returns empty arrays for the frames of one cloth.
pub(super) fn arrays_of_one() -> FrameArrays {
    FrameArrays { cloth_parameters: Vec::with_capacity(1), ..FrameArrays::default() }
}
