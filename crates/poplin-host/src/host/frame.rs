//! Packing of a cloth's frame: in full, as changes only, or as moved colliders only.

use poplin_layout::{
    ClothParameters, ClothPlacement, FrameArrays, FrameSteps, pack_cloth_parameters,
};
use poplin_model::{ClothContactSolver, ColliderSet, ModelError};

use super::{HostCloth, MovedSpheres};
use crate::live::ChangeScope;
use crate::{Cloth, InterpolatedArray, motion_constants};

impl HostCloth {
    /// Divides the next frame into iterations and appends this cloth's constants to `arrays`.
    pub fn pack_frame(&mut self, dt: f32, placement: &ClothPlacement, arrays: &mut FrameArrays) {
        // Asked before packing, which advances the local space.
        let was_still = self.live.motion.is_settled();
        // Advances the clock, so it must be called once per frame.
        let steps = self.begin_frame(dt);
        self.pack_constants(dt, placement, steps, was_still, arrays);
        self.end_frame(steps.is_some(), was_still);
    }

    /// Like [`HostCloth::pack_frame`] for an engine that keeps `parameters` and rows of the last
    /// frame: packs only changes. Returns true if `arrays` has new rows; otherwise `arrays` is
    /// empty and the rows of the last frame stay valid.
    pub fn update_frame(
        &mut self,
        dt: f32,
        placement: &ClothPlacement,
        parameters: &mut ClothParameters,
        arrays: &mut FrameArrays,
    ) -> bool {
        let was_still = self.live.motion.is_settled();
        let steps = self.begin_frame(dt);
        // Constants are equal if settings, steps and pose are, and the space was at rest in both
        // frames.
        let is_new = self.has_new_constants
            || !was_still
            || !self.has_still_constants
            || self.packed_for != Some((steps, self.live.pose()));
        arrays.clear();
        if is_new {
            self.pack_constants(dt, placement, steps, was_still, arrays);
            parameters.clone_from(&arrays.cloth_parameters[0]);
        } else {
            parameters.set_inputs(&self.inputs(placement, steps.as_ref()));
        }
        self.end_frame(steps.is_some(), was_still);
        is_new
    }

    /// True if only particles were written and colliders moved since the last frame, supposing that
    /// the next frame is as long and the simulation's colliders have not moved: then
    /// [`HostCloth::move_colliders`] replaces [`HostCloth::update_colliders`],
    /// [`HostCloth::take_inputs`] and [`HostCloth::update_frame`].
    pub fn is_quick(&self) -> bool {
        self.is_still
            && !self.live.has_new_plan
            && self.live.changes != ChangeScope::Anything
            // After passed rest tests the cloth may come to rest, which only the full path handles.
            && self.sleep_pass_count == 0
    }

    /// True if a quick cloth has colliders that move, or moved in the last frame.
    pub fn has_moving_colliders(&self) -> bool {
        !self.is_settled || self.live.changes == ChangeScope::Colliders
    }

    /// Uploads the moved spheres of a quick cloth, like [`HostCloth::take_inputs`], if nothing else
    /// has moved. Returns the begins of the spheres at the frame's start and end, relative to the
    /// inputs; `None`, with nothing done, for any other cloth.
    pub fn move_spheres(
        &mut self,
        memory: &mut MovedSpheres,
        mut upload: impl FnMut(u32, &[[u32; 4]]),
    ) -> Option<[u32; 2]> {
        // The colliders' part of the inputs.
        let begin = self.input_begins()[2];
        let Cloth { cloth, colliders, is_woken, changes, .. } = &mut self.live;
        if *changes != ChangeScope::Colliders {
            return None;
        }
        // Returns without having changed anything if the fast path does not apply.
        *is_woken |=
            colliders.move_spheres(&cloth.colliders, cloth.collider_groups, &mut memory.0)?;
        *changes = ChangeScope::Nothing;
        colliders.take_moved_spheres(|offset, values| upload(begin + offset, values));
        self.is_settled = !colliders.has_moving_spheres();
        cloth.colliders.end_frame();
        Some(colliders.end_spheres().map(|row| begin + row))
    }

    /// Uploads the moved colliders of a quick cloth and updates `parameters` except for the wake
    /// count ([`HostCloth::take_wake`]). Returns false if the cloth is not quick after all: then
    /// only [`HostCloth::update_colliders`] was done.
    ///
    /// # Errors
    /// As [`HostCloth::update_colliders`].
    pub fn move_colliders(
        &mut self,
        world: &ColliderSet,
        contact: &ClothContactSolver,
        dt: f32,
        placement: &ClothPlacement,
        parameters: &mut ClothParameters,
        mut upload: impl FnMut(u32, &[[u32; 4]]),
    ) -> Result<bool, ModelError> {
        if std::mem::replace(&mut self.live.changes, ChangeScope::Nothing) == ChangeScope::Colliders
        {
            self.update_colliders(world, contact, dt)?;
            if self.live.colliders.has_new_lists() {
                return Ok(false);
            }
            let begin = self.input_begins()[2];
            self.live.colliders.take_changed(|offset, values| upload(begin + offset, values));
            self.is_settled = false;
        }
        if !self.is_settled {
            // A quick frame is as long as the last one, so its steps still hold.
            let steps = self.packed_for.and_then(|(steps, _)| steps);
            let input_begin = placement.input_begin.wrapping_add(self.input_begins()[2]);
            parameters.colliders = self.live.colliders.frame(
                &self.live.cloth.config,
                steps.as_ref(),
                placement.particle_count,
                input_begin,
                self.stage_scratch_len(),
            );
            self.is_settled = self.live.colliders.is_settled();
            self.live.colliders.end_frame(steps.is_some());
            self.live.cloth.colliders.end_frame();
        }
        Ok(true)
    }

    /// Prefetches the collider data of the fast paths; ignore the return value.
    pub fn fetch(&self) -> u32 {
        let Cloth { writes, cloth, colliders, .. } = &self.live;
        let set = &cloth.colliders;
        writes.len() as u32 ^ set.len() as u32 ^ set.stamps().bodies as u32 ^ colliders.fetch()
    }

    /// Prefetches the lists that [`HostCloth::fetch`] located; ignore the return value.
    pub fn fetch_lists(&self) -> u32 {
        let Cloth { writes, cloth, colliders, .. } = &self.live;
        let write = writes.first().map_or(0, |(particle, _)| *particle);
        write ^ cloth.colliders.fetch() ^ colliders.fetch_lists()
    }

    /// Divides the frame into iterations; raises the wake count of a woken cloth.
    fn begin_frame(&mut self, dt: f32) -> Option<FrameSteps> {
        // A cloth that has just lost the ability to sleep is woken once more.
        let can_sleep = self.live.cloth.config.sleep.threshold > 0.0;
        self.can_sleep |= can_sleep;
        if self.take_wake().is_none() && self.can_sleep && self.live.motion.is_moving() {
            self.wake();
        }
        self.can_sleep = can_sleep;
        self.live.clock.begin_frame(dt, &self.live.cloth.config)
    }

    /// Packs parameters and rows, and advances the local space.
    fn pack_constants(
        &mut self,
        dt: f32,
        placement: &ClothPlacement,
        steps: Option<FrameSteps>,
        was_still: bool,
        arrays: &mut FrameArrays,
    ) {
        // A frame of zero length leaves the local space where it is.
        let velocities = steps.map(|_| self.live.motion.advance(dt));
        let motion = steps.as_ref().zip(velocities.as_ref()).map(|(steps, velocities)| {
            motion_constants(&self.live.cloth.config, steps, velocities)
        });
        pack_cloth_parameters(
            &self.live.cloth,
            self.solved_phases(),
            placement,
            &self.inputs(placement, steps.as_ref()),
            steps.as_ref().zip(motion.as_ref()),
            arrays,
        );
        if let Some(parameters) =
            arrays.cloth_parameters.last_mut().filter(|_| !self.live.holds.is_empty())
        {
            // Merged spheres are already scaled.
            let motion = &mut parameters.motion;
            (motion.scale, motion.bias) = (1.0, 0.0);
            if self.live.acting_spheres().is_none() {
                motion.stiffness = 1.0;
            }
        }
        (self.has_new_constants, self.has_still_constants) = (false, was_still);
        self.packed_for = Some((steps, self.live.pose()));
    }

    /// Ends the frame: targets become starts.
    fn end_frame(&mut self, is_simulated: bool, was_still: bool) {
        let live = &mut self.live;
        let arrays = [&live.motion_spheres, live.holds.spheres(), &live.separation_spheres];
        live.changes = ChangeScope::Nothing;
        self.is_still = live.clock.is_settled()
            && was_still
            && !arrays.into_iter().any(InterpolatedArray::has_target);
        self.is_settled = self.is_still && live.colliders.is_settled();
        live.motion_spheres.end_frame();
        live.holds.end_frame();
        live.separation_spheres.end_frame();
        live.colliders.end_frame(is_simulated);
        live.cloth.colliders.end_frame();
    }
}
