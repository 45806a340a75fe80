//! Packs the per-frame constants of a cloth.

use bytemuck::cast_slice;
use glam::{DMat3, DVec3};
use poplin_model::{Cloth, FiberSolver, PhaseConfig};

use crate::{
    ClothFrame, FabricOffsets, FrameSteps, InputOffsets, IterationConstants, MotionConstants,
    NO_OFFSET, PHASE_ROWS, PhaseConstants, TurnConstants, effective_stiffness, stiffness_to_log2,
};

/// Where a cloth lives: fixed from when it is added, but for its inputs.
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
    /// The packed fabric.
    pub fabric: FabricOffsets,
}

/// The per-frame arrays, cleared and refilled each frame.
#[derive(Debug, Clone, Default)]
pub struct FrameArrays {
    /// One entry per dispatched cloth.
    pub cloth_frames: Vec<ClothFrame>,
    /// Iteration, phase and turn constants, floats as their bits.
    pub frame_pool: Vec<[u32; 4]>,
}

impl FrameArrays {
    /// Empties the arrays and keeps their memory.
    pub fn clear(&mut self) {
        self.cloth_frames.clear();
        self.frame_pool.clear();
    }
}

fn row(v: DVec3, w: f32) -> [f32; 4] {
    [v.x as f32, v.y as f32, v.z as f32, w]
}

/// The constants of every iteration; in a turning frame biases and wind turn with it.
fn constants_of_iterations(
    steps: &FrameSteps,
    motion: &MotionConstants,
) -> impl Iterator<Item = IterationConstants> {
    let count = steps.iteration_count;
    let (step_ratio, kept) = (steps.step_ratio, motion.kept);
    let (mut bias, mut previous_bias, mut wind) = (motion.bias, motion.previous_bias, motion.wind);
    let turn = motion.turn.map(|turn| turn.rotation);
    (0..count).map(move |iteration| {
        let ratio = if iteration == 0 { step_ratio } else { 1.0 };
        let share =
            if iteration + 1 == count { 1.0 } else { (iteration + 1) as f32 / count as f32 };
        let constants = IterationConstants {
            velocity_scale: [kept[0] * ratio, kept[1] * ratio, kept[2] * ratio, share],
            bias: row(bias, iteration as f32 / count as f32),
            previous_bias: row(previous_bias, 0.0),
            wind: row(wind, 3.0),
        };
        if let Some(rotation) = turn {
            (bias, previous_bias, wind) =
                (rotation * bias, rotation * previous_bias, rotation * wind);
        }
        constants
    })
}

/// The columns of a turning frame's matrices: first iteration, other iterations, rotation.
fn pack_turn(turn: &TurnConstants, pool: &mut Vec<[u32; 4]>) {
    let mut push = |matrix: &DMat3| {
        pool.extend(
            [matrix.x_axis, matrix.y_axis, matrix.z_axis]
                .map(|column| row(column, 0.0).map(f32::to_bits)),
        )
    };
    turn.first.iter().for_each(&mut push);
    turn.rest.iter().for_each(&mut push);
    push(&turn.rotation);
}

/// Least share of an error that an edge of a semi-implicit fiber corrects in its soft range: below it the division by the
/// share loses its digits, and the edge gives way to everything anyway.
const MIN_SOFT_SHARE: f32 = 1e-6;

fn phase_constants(
    cloth: &Cloth,
    config: &PhaseConfig,
    solver: (FiberSolver, u32),
    exponent: f32,
    step: f32,
) -> PhaseConstants {
    let phase = &cloth.fabric.phases[config.phase as usize];
    // multiplier^exponent = 2^(log2(multiplier) * exponent) = 1 - effective(log2(1 - (1 - multiplier)))
    let multiplier =
        effective_stiffness(stiffness_to_log2(1.0 - config.stiffness_multiplier), exponent);
    // XPBD, eq. 26: alpha~ = alpha / h^2, beta~ = h^2 beta, gamma = alpha~ beta~ / h = alpha beta / h.
    let scaled = |compliance: f32, factor: f32, power| {
        per_step(f64::from(compliance) * f64::from(factor), step, power)
    };
    let has_range = config.compression_limit < config.stretch_limit;
    // With compliances a stiffness would count twice.
    let is_xpbd = cloth.config.solver.is_xpbd();
    let stiffness = if is_xpbd {
        1.0
    } else {
        effective_stiffness(stiffness_to_log2(config.stiffness), exponent)
    };
    PhaseConstants {
        stiffness,
        multiplier,
        compression: 1.0 - 1.0 / config.compression_limit,
        stretch: 1.0 - 1.0 / config.stretch_limit,
        set_begin: phase.set_begin,
        set_end: phase.set_end,
        compliance: scaled(config.compliance, 1.0, 2),
        damping: scaled(config.compliance, config.damping, 1),
        fiber_solver: solver.0 as u32,
        softness: if has_range { multiplier / (1.0 - multiplier).max(MIN_SOFT_SHARE) } else { 0.0 },
        round_count: solver.1,
        padding: 0,
    }
}

/// `value / step^power`, 0 without a step, kept so small that products with masses stay finite.
fn per_step(value: f64, step: f32, power: i32) -> f32 {
    if step > 0.0 { (value / f64::from(step).powi(power)).min(1e20) as f32 } else { 0.0 }
}

/// Appends one cloth's frame to the arrays; `timing` is `None` for a frame that simulates nothing.
///
/// `cloth` must have passed `validate`; its config is read, its particles are not. `phases` are its phases in order, with how
/// their fibers are solved and the rounds of cyclic reduction.
pub fn pack_cloth_frame<'a>(
    cloth: &Cloth,
    phases: impl Iterator<Item = (&'a PhaseConfig, (FiberSolver, u32))>,
    placement: &ClothPlacement,
    inputs: &InputOffsets,
    timing: Option<(&FrameSteps, &MotionConstants)>,
    arrays: &mut FrameArrays,
) {
    let config = &cloth.config;
    let pool = &mut arrays.frame_pool;
    let step = timing.map_or(0.0, |(steps, _)| steps.step);
    let exponent = config.stiffness_frequency * step;
    let effective = |stiffness: f32| effective_stiffness(stiffness_to_log2(stiffness), exponent);

    let iteration_begin = pool.len() as u32;
    let mut turn_begin = NO_OFFSET;
    if let Some((steps, motion)) = timing {
        for constants in constants_of_iterations(steps, motion) {
            pool.extend_from_slice(cast_slice(&[constants]));
        }
        if let Some(turn) = &motion.turn {
            turn_begin = pool.len() as u32;
            pack_turn(turn, pool);
        }
    }
    let phase_begin = pool.len() as u32;
    for (phase, solver) in phases {
        pool.extend_from_slice(cast_slice(&[phase_constants(
            cloth, phase, solver, exponent, step,
        )]));
    }
    let phase_count = (pool.len() as u32 - phase_begin) / PHASE_ROWS;
    // As of an edge: alpha beta / h with the compliance 1 / (B weight) of a bend and its damping D weight.
    let rigidity = f64::from(config.bending_rigidity);
    let bending_damping = if rigidity > 0.0 {
        per_step(f64::from(config.bending_damping) / rigidity, step, 1)
    } else {
        0.0
    };
    let fabric = &placement.fabric;
    // One impulse serves a triangle whose |normal| is twice its area, over one step.
    let wind_scale = if step > 0.0 { 0.5 * config.fluid_density / step } else { 0.0 };
    arrays.cloth_frames.push(ClothFrame {
        cloth: placement.cloth,
        particle_begin: placement.particle_begin,
        particle_count: placement.particle_count,
        iteration_count: timing.map_or(0, |(steps, _)| steps.iteration_count),
        iteration_begin,
        phase_begin,
        phase_count,
        turn_begin,
        set_begin: fabric.set_begin,
        fiber_begin: fabric.fiber_begin,
        vertex_begin: fabric.vertex_begin,
        edge_begin: fabric.edge_begin,
        edge_stiffness_begin: fabric.edge_stiffness_begin,
        tether_begin: fabric.tether_begin,
        tethers_per_particle: fabric.tethers_per_particle,
        anchor_begin: fabric.anchor_begin,
        anchor_count: fabric.anchor_count,
        triangle_begin: fabric.triangle_begin,
        triangle_count: fabric.triangle_count,
        corner_begin: fabric.corner_begin,
        virtual_set_begin: fabric.virtual_set_begin,
        virtual_set_count: fabric.virtual_set_count,
        virtual_bundle_begin: fabric.virtual_bundle_begin,
        virtual_weight_begin: fabric.virtual_weight_begin,
        scratch_begin: placement.scratch_begin,
        acceleration_begin: inputs.acceleration_begin,
        motion_start: inputs.motion[0],
        motion_target: inputs.motion[1],
        separation_start: inputs.separation[0],
        separation_target: inputs.separation[1],
        wake_count: inputs.wake_count,
        acceleration_scale: step * step,
        tether_stiffness: effective(config.tether_stiffness)
            / fabric.tethers_per_particle.max(1) as f32,
        tether_scale: config.tether_scale,
        stiffness_exponent: exponent,
        drag: effective(config.drag_coefficient),
        lift: effective(config.lift_coefficient),
        wind_scale,
        motion_scale: config.motion_scale,
        motion_bias: config.motion_bias,
        motion_stiffness: effective(config.motion_stiffness),
        sleep_distance: config.sleep_threshold * step,
        sleep_step: ((step * 1000.0) as u32).max(1),
        sleep_interval: config.sleep_test_interval,
        sleep_after_count: config.sleep_after_count,
        colliders: inputs.colliders,
        self_collision: inputs.self_collision,
        fiber_row_count: fabric.fiber_row_count,
        bend_set_begin: fabric.bend_set_begin,
        bend_set_count: fabric.bend_set_count,
        bend_begin: fabric.bend_begin,
        bending_rigidity: config.bending_rigidity * (step * step),
        bending_damping,
    });
}
