//! Packing of a cloth's frame: in full, as changes only, or as moved colliders only.

use poplin_layout::{
    ClothParameters, ClothPlacement, FrameArrays, MotionConstants, pack_cloth_parameters,
};
use poplin_model::{ClothContactSolver, ColliderSet, ModelError};

use super::{FramePlan, HostCloth, MovedSpheres};
use crate::colliders::ColliderChange;
use crate::live::ChangeScope;
use crate::{Cloth, motion_constants};

impl HostCloth {
    /// Divides the next frame into iterations and appends this cloth's constants to `arrays`.
    pub fn pack_frame(&mut self, dt: f32, placement: &ClothPlacement, arrays: &mut FrameArrays) {
        let (plan, was_still) = self.begin_frame(dt, placement);
        self.pack_constants(placement, &plan, arrays);
        self.end_frame(&plan, was_still);
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
        let last_plan = self.last_plan;
        let (plan, was_still) = self.begin_frame(dt, placement);
        let is_new = last_plan != Some(plan);
        arrays.clear();
        if is_new {
            self.pack_constants(placement, &plan, arrays);
            parameters.clone_from(&arrays.cloth_parameters[0]);
        } else {
            parameters.set_inputs(&self.inputs(placement, plan.steps()));
        }
        self.end_frame(&plan, was_still);
        is_new
    }

    /// True if only particles were written and colliders moved since the last frame, supposing that
    /// the next frame is as long and the simulation's colliders have not moved: then
    /// [`HostCloth::move_colliders`] replaces [`HostCloth::plan`], [`HostCloth::take_inputs`] and
    /// [`HostCloth::update_frame`].
    pub fn is_quick(&self) -> bool {
        // After passed rest tests the cloth may come to rest, which only the full path handles.
        self.live.changes != ChangeScope::Anything && self.sleep_pass_count == 0
    }

    /// True if a quick cloth has colliders that move, or moved in the last frame.
    pub fn has_moving_colliders(&self) -> bool {
        self.live.changes == ChangeScope::Colliders
    }

    /// Uploads the moved spheres of a quick cloth, like [`HostCloth::take_inputs`], if nothing else
    /// has moved. Returns the addresses of the spheres at the frame's start and end; `None`, with
    /// nothing done, for any other cloth.
    pub fn move_spheres(
        &mut self,
        input_begin: u32,
        memory: &mut MovedSpheres,
        upload: impl FnMut(u32, &[[u32; 4]]),
    ) -> Option<[u32; 2]> {
        // The colliders' part of the inputs.
        let begin = input_begin.wrapping_add(self.input_begins()[2]);
        let Cloth { cloth, colliders, is_woken, changes, .. } = &mut self.live;
        if *changes != ChangeScope::Colliders {
            return None;
        }
        // Returns without having changed anything if the fast path does not apply.
        let change =
            colliders.move_spheres(&cloth.colliders, cloth.collider_groups, &mut memory.0)?;
        *is_woken |= change > ColliderChange::Nothing;
        colliders.take_moved_spheres(begin, upload);
        cloth.colliders.end_frame();
        let (offsets, has_moved) = colliders.end_spheres();
        if !has_moved {
            *changes = ChangeScope::Nothing;
        }
        Some(offsets.map(|row| begin + row))
    }

    /// Uploads the moved colliders of a quick cloth and updates `parameters` except for the wake
    /// count ([`HostCloth::take_wake`]). Returns false if the cloth is no longer quick: then only
    /// [`HostCloth::plan`] was done.
    ///
    /// # Errors
    /// Errors of [`HostCloth::plan`].
    pub fn move_colliders(
        &mut self,
        world: &ColliderSet,
        contact: &ClothContactSolver,
        dt: f32,
        placement: &ClothPlacement,
        parameters: &mut ClothParameters,
        upload: impl FnMut(u32, &[[u32; 4]]),
    ) -> Result<bool, ModelError> {
        self.plan(world, contact, dt)?;
        if !self.is_quick() {
            return Ok(false);
        }
        let begin = placement.input_begin.wrapping_add(self.input_begins()[2]);
        self.live.colliders.take_changed(begin, upload);
        // A quick frame is as long as the last one, so its steps still hold.
        let steps = self.last_plan.as_ref().and_then(FramePlan::steps);
        parameters.colliders = self.live.colliders.frame(
            &self.live.cloth.config,
            steps,
            placement.particle_count,
            begin,
            self.stage_scratch_len(),
        );
        if !self.live.colliders.end_frame(steps.is_some()) {
            self.live.changes = ChangeScope::Nothing;
        }
        self.live.cloth.colliders.end_frame();
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

    /// Advances clock and local space, and raises the wake count of a woken cloth. Returns the plan
    /// of the frame, and true if the local space was at rest before it.
    fn begin_frame(&mut self, dt: f32, placement: &ClothPlacement) -> (FramePlan, bool) {
        // A cloth that has just lost the ability to sleep is woken once more.
        let can_sleep = self.live.cloth.config.sleep.threshold > 0.0;
        self.can_sleep |= can_sleep;
        if self.take_wake().is_none() && self.can_sleep && self.live.motion.is_moving() {
            self.wake();
        }
        self.can_sleep = can_sleep;
        let has_remainders = self.stored_remainder_rows().is_some();
        // Rows that move are not copied, and other rows may have been in their place.
        let colliders_begin = placement.scratch_begin + self.stage_scratch_len();
        let nearest_begin = self.live.colliders.nearest_begin(colliders_begin);
        if self.nearest_begin.replace(nearest_begin) != Some(nearest_begin) {
            self.live.colliders.forget_nearby();
        }
        let Cloth { clock, motion, cloth, revision, .. } = &mut self.live;
        let was_still = motion.is_settled();
        let steps = clock.begin_frame(dt, &cloth.config);
        let plan = FramePlan {
            revision: *revision,
            scratch_begin: placement.scratch_begin,
            // A frame of zero length leaves the local space where it is.
            timing: steps.map(|steps| (steps, motion.advance(dt))),
            has_remainders,
        };
        (plan, was_still)
    }

    /// Packs parameters and rows.
    fn pack_constants(
        &self,
        placement: &ClothPlacement,
        plan: &FramePlan,
        arrays: &mut FrameArrays,
    ) {
        let motion = plan.timing.as_ref().map(|(steps, velocities)| {
            let constants = motion_constants(&self.live.cloth.config, steps, velocities);
            MotionConstants { has_remainders: plan.has_remainders, ..constants }
        });
        pack_cloth_parameters(
            &self.live.cloth,
            self.solved_phases(),
            placement,
            &self.inputs(placement, plan.steps()),
            plan.steps().zip(motion.as_ref()),
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
    }

    /// Ends the frame: targets become starts. If the local space was at rest before the frame, it
    /// now is in two frames, the next one included.
    fn end_frame(&mut self, plan: &FramePlan, was_still: bool) {
        self.last_plan = Some(*plan);
        if let Some((steps, velocities)) = &plan.timing {
            let keeps = velocities.keeps_remainders(&self.live.cloth.config, steps);
            self.stored_remainders = keeps.then(|| self.left_remainders());
        }
        let has_other_remainders = self.stored_remainder_rows().is_some() != plan.has_remainders;
        let live = &mut self.live;
        let has_moved = live.motion_spheres.end_frame()
            | live.holds.end_frame()
            | live.separation_spheres.end_frame();
        let have_colliders_moved = live.colliders.end_frame(plan.timing.is_some());
        live.cloth.colliders.end_frame();
        let is_new = has_other_remainders || !live.clock.is_settled() || !was_still;
        live.changes = if is_new || has_moved {
            ChangeScope::Anything
        } else if have_colliders_moved {
            ChangeScope::Colliders
        } else {
            ChangeScope::Nothing
        };
    }
}
