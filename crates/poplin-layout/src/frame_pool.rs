//! Packs the per-frame constants of a cloth.

use bytemuck::{Zeroable, cast_slice};
use glam::DMat3;
use poplin_model::{ClothDesc, FiberSolver};

use crate::air::air_parameters;
use crate::bending::bending_parameters;
use crate::implicit::implicit_constants;
use crate::iterations::{iteration_constants, row};
use crate::motion::motion_parameters;
use crate::multilevel::multilevel_constants;
use crate::phases::phase_constants;
use crate::sleep::sleep_parameters;
use crate::tethers::tether_parameters;
use crate::yarns::yarn_parameters;
use crate::{
    ClothParameters, FabricOffsets, FrameSteps, InputOffsets, MotionConstants, NO_OFFSET,
    PHASE_ROWS, RotationConstants, StepScale,
};

/// Location of a cloth in the buffers: fixed when it is added, except for its inputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClothPlacement {
    /// Slot in `feedback`.
    pub cloth: u32,
    /// First particle.
    pub particle_begin: u32,
    /// Number of particles.
    pub particle_count: u32,
    /// First vec4 in `scratch`.
    pub scratch_begin: u32,
    /// First vec4 of the cloth's part of `input_pool`; unused while the cloth has no inputs.
    pub input_begin: u32,
    /// Offsets of the packed fabric.
    pub fabric: FabricOffsets,
}

/// Per-frame arrays, cleared and refilled each frame.
#[derive(Debug, Clone, Default)]
pub struct FrameArrays {
    /// One entry per dispatched cloth.
    pub cloth_parameters: Vec<ClothParameters>,
    /// Iteration, phase and rotation constants, floats as their bits.
    pub frame_pool: Vec<[u32; 4]>,
}

impl FrameArrays {
    /// Empties the arrays and keeps their memory.
    pub fn clear(&mut self) {
        self.cloth_parameters.clear();
        self.frame_pool.clear();
    }
}

/// Packs the columns of a rotating local space's matrices: first iteration, other iterations,
/// rotation.
fn pack_rotation(rotation: &RotationConstants, pool: &mut Vec<[u32; 4]>) {
    let mut push = |matrix: &DMat3| {
        pool.extend(
            [matrix.x_axis, matrix.y_axis, matrix.z_axis]
                .map(|column| row(column, 0.0).map(f32::to_bits)),
        )
    };
    rotation.first.iter().for_each(&mut push);
    rotation.rest.iter().for_each(&mut push);
    push(&rotation.rotation);
}

/// Appends the frame of one cloth to the arrays; `timing` is `None` for a frame that simulates
/// nothing.
///
/// `cloth` must have passed `validate`; only its config is read, not its particles. `phases` are
/// the indices of its phases in order, each with its fiber solver and the rounds of cyclic
/// reduction.
pub fn pack_cloth_parameters(
    cloth: &ClothDesc,
    phases: impl Iterator<Item = (u32, (FiberSolver, u32))>,
    placement: &ClothPlacement,
    inputs: &InputOffsets,
    timing: Option<(&FrameSteps, &MotionConstants)>,
    arrays: &mut FrameArrays,
) {
    let config = &cloth.config;
    let pool = &mut arrays.frame_pool;
    let scale = StepScale::new(config, timing.map_or(0.0, |(steps, _)| steps.step));

    let iteration_begin = pool.len() as u32;
    let mut rotation_begin = NO_OFFSET;
    if let Some((steps, motion)) = timing {
        for constants in iteration_constants(steps, motion) {
            pool.extend_from_slice(cast_slice(&[constants]));
        }
        if let Some(rotation) = &motion.rotation {
            rotation_begin = pool.len() as u32;
            pack_rotation(rotation, pool);
        }
    }
    let phase_begin = pool.len() as u32;
    for (phase, solver) in phases {
        pool.extend_from_slice(cast_slice(&[phase_constants(cloth, phase, solver, &scale)]));
    }
    // The implicit solvers have no phases; their constants follow at the same offset.
    let phase_count = (pool.len() as u32 - phase_begin) / PHASE_ROWS;
    if let Some(implicit) = config.solver.as_implicit() {
        let solve_begin = inputs.solve_begin;
        // One block of constants per step length: whole, half, quarter, ...
        for halvings in 0..=implicit.max_halvings {
            let constants =
                implicit_constants(implicit, config.gravity, solve_begin, &scale, halvings);
            pool.extend_from_slice(cast_slice(&[constants]));
        }
    }
    if let Some(multilevel) = config.solver.as_multilevel() {
        let constants = multilevel_constants(cloth, multilevel, &scale);
        pool.extend_from_slice(cast_slice(&[constants]));
    }
    let keeps_remainders = timing.is_some_and(|(_, motion)| motion.keeps_remainders);
    let mut parameters = ClothParameters {
        cloth: placement.cloth,
        particle_begin: placement.particle_begin,
        particle_count: placement.particle_count,
        iteration_count: timing.map_or(0, |(steps, _)| steps.iteration_count),
        iteration_begin,
        phase_begin,
        phase_count,
        rotation_begin,
        scratch_begin: placement.scratch_begin,
        remainder_begin: if keeps_remainders { inputs.remainder_begin } else { NO_OFFSET },
        acceleration_begin: NO_OFFSET,
        acceleration_scale: scale.step * scale.step,
        max_move: config.max_speed.unwrap_or(0.0) * scale.step,
        stiffness_exponent: scale.exponent,
        second_order: config.solver.second_order(),
        fabric: placement.fabric,
        tethers: tether_parameters(&config.tethers, &scale, placement.fabric.tethers_per_particle),
        air: air_parameters(&config.air, &scale),
        motion: motion_parameters(&config.motion, &scale),
        separation: Zeroable::zeroed(),
        sleep: sleep_parameters(&config.sleep, &scale),
        bending: bending_parameters(&config.solver, &scale),
        yarns: yarn_parameters(&config.solver, &scale),
        self_collision: Zeroable::zeroed(),
        colliders: Zeroable::zeroed(),
        padding: Zeroable::zeroed(),
    };
    parameters.set_inputs(inputs);
    arrays.cloth_parameters.push(parameters);
}

impl ClothParameters {
    /// Sets the offsets of the frame's inputs; settings are unchanged.
    pub fn set_inputs(&mut self, inputs: &InputOffsets) {
        self.acceleration_begin = inputs.acceleration_begin;
        [self.motion.sphere_start, self.motion.sphere_target] = inputs.motion;
        [self.separation.sphere_start, self.separation.sphere_target] = inputs.separation;
        self.sleep.wake_count = inputs.wake_count;
        self.colliders = inputs.colliders;
        self.self_collision = inputs.self_collision;
    }

    /// Shifts the offsets into `frame_pool` by `begin`.
    #[must_use]
    pub fn moved_by(self, begin: u32) -> Self {
        let moved = |row: u32| if row == NO_OFFSET { row } else { row + begin };
        Self {
            iteration_begin: moved(self.iteration_begin),
            phase_begin: moved(self.phase_begin),
            rotation_begin: moved(self.rotation_begin),
            ..self
        }
    }
}
