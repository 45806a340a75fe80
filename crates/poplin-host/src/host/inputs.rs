//! Layout of a cloth's inputs and scratch, and the upload of changed inputs and particle writes.

use bytemuck::cast_slice;
use poplin_layout::{BODY_ROWS, ClothPlacement, FrameSteps, InputOffsets, NO_OFFSET};
use poplin_model::Particle;

use super::{HostCloth, RemainderParts};
use crate::InterpolatedArray;

/// Iterations in 1/60 s from which constraints move displacements.
const MIN_DISPLACED_COUNT: u32 = 8;

/// Number of writes up to which duplicates are found by comparing all pairs instead of sorting.
const FEW_WRITES: usize = 16;

/// Offsets of the per-particle inputs of a cloth in its part of `input_pool` \[vec4\]. The inputs
/// of self collision and colliders follow them.
#[derive(Debug, Clone, Copy)]
struct ParticleSlots {
    particle_count: u32,
}

impl ParticleSlots {
    fn accelerations(self) -> u32 {
        0
    }

    /// Offset of the motion spheres: starts, then targets.
    fn motion(self) -> u32 {
        self.particle_count
    }

    /// Offset of the separation spheres: starts, then targets.
    fn separation(self) -> u32 {
        3 * self.particle_count
    }

    fn total(self) -> u32 {
        5 * self.particle_count
    }
}

impl HostCloth {
    fn has_particle_inputs(&self) -> bool {
        self.live.has_motion_spheres()
            || self.live.separation_spheres.is_set()
            || !self.live.cloth.particle_accelerations.is_empty()
    }

    /// Lays out the inputs if their lengths may have changed.
    pub(super) fn lay_out(&mut self) {
        let revision = Some(self.live.revision);
        if std::mem::replace(&mut self.laid_out, revision) == revision {
            return;
        }
        // Once laid out, the part is kept, so that setting and clearing inputs moves nothing.
        if self.has_particle_inputs() {
            self.input_lens[0] = ParticleSlots { particle_count: self.particle_count() }.total();
        }
        self.input_lens[1] = self.live.self_collision.input_len(&self.live.cloth);
        self.input_lens[2] = self.live.colliders.input_len();
    }

    /// Length of the inputs in `input_pool` \[vec4\].
    pub fn input_len(&self) -> u32 {
        self.input_lens.iter().sum()
    }

    /// Begins of the parts of the inputs \[vec4\]: per particle, self collision, colliders.
    pub(super) fn input_begins(&self) -> [u32; 3] {
        let [particles, own, _] = self.input_lens;
        [0, particles, particles + own]
    }

    /// Rows of the scratch where the next frame stores the remainders of displacements, and after
    /// them their other parts.
    pub fn remainder_rows(&self) -> std::ops::Range<u32> {
        let [stages, solve] = self.stage_scratch_lens;
        let is_implicit = self.live.cloth.config.solver.as_implicit().is_some();
        let begin = if is_implicit { stages + solve } else { stages };
        let RemainderParts { has_rests, has_last_moves } = self.remainder_parts();
        let rows = 1 + u32::from(has_rests) + u32::from(has_last_moves);
        begin..begin + self.particle_count() * rows
    }

    /// Rows of the scratch that have the remainders of the last frame's displacements; `None`
    /// without, or if the next frame needs other rows.
    pub fn stored_remainder_rows(&self) -> Option<std::ops::Range<u32>> {
        let (rows, parts) = self.stored_remainders.clone()?;
        (parts == self.remainder_parts()).then_some(rows)
    }

    /// Takes the stored remainders for moved to where the next frame reads them.
    pub fn note_moved_remainders(&mut self) {
        let is_moved = self.stored_remainder_rows().is_some();
        self.stored_remainders = is_moved.then(|| self.left_remainders());
    }

    /// Scratch of the stages before the colliders \[vec4\].
    pub(super) fn stage_scratch_len(&self) -> u32 {
        let has_predictions = self.remainder_parts().has_last_moves;
        self.remainder_rows().end + if has_predictions { self.particle_count() } else { 0 }
    }

    fn particle_count(&self) -> u32 {
        self.live.cloth.particle_count() as u32
    }

    /// Rows of the scratch that a frame with remainders leaves for the next one, and their parts.
    pub(super) fn left_remainders(&self) -> (std::ops::Range<u32>, RemainderParts) {
        (self.remainder_rows(), self.remainder_parts())
    }

    fn remainder_parts(&self) -> RemainderParts {
        RemainderParts {
            has_rests: self.displaces(),
            has_last_moves: self.live.cloth.config.solver.second_order() > 0.0,
        }
    }

    /// True if constraints move displacements in place of positions: with PBD and XPBD in short
    /// steps.
    pub(super) fn displaces(&self) -> bool {
        let solver = &self.live.cloth.config.solver;
        let projects = solver.as_pbd().is_some() || solver.is_xpbd();
        projects && solver.iteration_count(1.0 / 60.0) >= MIN_DISPLACED_COUNT
    }

    /// Begins of the scratch of colliders and of self collision \[vec4\].
    fn scratch_begins(&self) -> [u32; 2] {
        let colliders = self.live.colliders.scratch_len(self.particle_count());
        [self.stage_scratch_len(), self.stage_scratch_len() + colliders]
    }

    /// Rows of the scratch that carry values from frame to frame: nearest triangles of a mesh, and
    /// impulses on bodies. All others but remainders are written before they are read in every
    /// iteration.
    pub fn kept_rows(&self) -> std::ops::Range<u32> {
        let [begin, end] = self.scratch_begins();
        let keeps = self.live.colliders.has_free_mesh() || self.live.colliders.has_bodies();
        // Without a mesh and bodies no row carries over.
        begin..if keeps { end } else { begin }
    }

    /// Length of the scratch of the cloth \[vec4\].
    pub fn scratch_len(&self) -> u32 {
        self.scratch_begins()[1] + self.live.self_collision.scratch_len(&self.live.cloth)
    }

    /// Rows of the impulses on bodies in the cloth's scratch \[vec4\];
    /// [`crate::FrameBodies::impulses`] reads them.
    pub fn body_rows(&self) -> std::ops::Range<u32> {
        let begin =
            self.stage_scratch_len() + self.live.colliders.impulse_begin(self.particle_count());
        begin..begin + BODY_ROWS * self.live.colliders.body_count()
    }

    /// Uploads each changed or moved part of the inputs (floats as their bits) with its address in
    /// `input_pool` \[vec4\]; the cloth's part begins at `input_begin`.
    pub fn take_inputs(&mut self, input_begin: u32, mut upload: impl FnMut(u32, &[[u32; 4]])) {
        let slots = ParticleSlots { particle_count: self.particle_count() };
        let [_, own, colliders] = self.input_begins();
        let at = |offset| input_begin.wrapping_add(offset);
        let live = &mut self.live;
        let begin = at(slots.accelerations());
        let accelerations = &live.cloth.particle_accelerations;
        if !accelerations.is_empty() && live.uploaded_accelerations.move_to(begin) {
            let packed: Vec<_> = accelerations.iter().map(|&[x, y, z]| [x, y, z, 0.0]).collect();
            upload(begin, cast_slice(&packed));
        }
        live.merge_spheres().take_changed(at(slots.motion()), |address, values| {
            upload(address, cast_slice(values));
        });
        live.separation_spheres.take_changed(at(slots.separation()), |address, values| {
            upload(address, cast_slice(values));
        });
        live.self_collision.take_changed(&live.cloth, at(own), &mut upload);
        live.colliders.take_changed(at(colliders), upload);
    }

    /// Passes on the last write to each particle since the last call.
    pub fn take_writes(&mut self, mut write: impl FnMut(u32, Particle)) {
        let writes = &mut self.live.writes;
        if writes.len() > FEW_WRITES {
            // The sort is stable: the last write to a particle stays last.
            writes.sort_by_key(|(particle, _)| *particle);
        }
        for (k, &(particle, value)) in writes.iter().enumerate() {
            let later = &writes[k + 1..];
            let later =
                // Sorted, a repeated write is followed by the next one; unsorted, by any later one.
                if writes.len() > FEW_WRITES { later.get(..1).unwrap_or(&[]) } else { later };
            if later.iter().all(|(other, _)| *other != particle) {
                write(particle, value);
            }
        }
        writes.clear();
    }

    /// Offsets of the inputs of this frame.
    pub(super) fn inputs(
        &self,
        placement: &ClothPlacement,
        steps: Option<&FrameSteps>,
    ) -> InputOffsets {
        let slots = ParticleSlots { particle_count: placement.particle_count };
        let at = |is_set: bool, offset: u32| {
            // The kernel tests for NO_OFFSET instead of a flag.
            if is_set { placement.input_begin + offset } else { NO_OFFSET }
        };
        let halves = |array: &InterpolatedArray, slot: u32| {
            array.offsets().map(|half| at(array.is_set(), slot + half))
        };
        InputOffsets {
            acceleration_begin: at(
                !self.live.cloth.particle_accelerations.is_empty(),
                slots.accelerations(),
            ),
            motion: halves(self.live.frame_spheres(), slots.motion()),
            separation: halves(&self.live.separation_spheres, slots.separation()),
            wake_count: self.wake_count,
            solve_begin: self.stage_scratch_lens[0],
            remainder_begin: self.remainder_rows().start,
            self_collision: self.live.self_collision.frame(
                &self.live.cloth,
                steps,
                placement,
                placement.input_begin.wrapping_add(self.input_begins()[1]),
                self.scratch_begins()[1],
            ),
            colliders: self.live.colliders.frame(
                &self.live.cloth.config,
                steps,
                placement.particle_count,
                placement.input_begin.wrapping_add(self.input_begins()[2]),
                self.stage_scratch_len(),
            ),
        }
    }
}
