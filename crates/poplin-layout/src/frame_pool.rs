//! Packs the per-frame constants of a cloth.

use bytemuck::cast_slice;
use poplin_model::{Cloth, ClothConfig, PhaseConfig};

use crate::{
    ClothFrame, FabricOffsets, FrameSteps, IterationConstants, PhaseConstants, Stage, StageMask, effective_stiffness,
    stiffness_to_log2,
};

/// Where a cloth lives: fixed from when it is added.
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
    /// First vec4 of the accelerations in `input_pool`, or [`crate::NO_OFFSET`].
    pub acceleration_begin: u32,
    /// The packed fabric.
    pub fabric: FabricOffsets,
}

impl ClothPlacement {
    /// The stages that a cloth placed here with these settings needs; others are compiled out of its bucket's kernel.
    pub fn stages(&self, config: &ClothConfig) -> StageMask {
        let mut stages = StageMask(0).with(Stage::Integrate).with(Stage::GaussSeidel).with(Stage::Mass);
        if self.fabric.tethers_per_particle > 0 && config.tether_stiffness > 0.0 {
            stages = stages.with(Stage::Tether);
        }
        stages
    }
}

/// The per-frame arrays, cleared and refilled each frame.
#[derive(Debug, Clone, Default)]
pub struct FrameArrays {
    /// One entry per dispatched cloth.
    pub cloth_frames: Vec<ClothFrame>,
    /// Iteration and phase constants.
    pub frame_pool: Vec<[f32; 4]>,
}

impl FrameArrays {
    /// Empties the arrays and keeps their memory.
    pub fn clear(&mut self) {
        self.cloth_frames.clear();
        self.frame_pool.clear();
    }
}

/// Most `frame_pool` entries that a cloth may need for a frame of `iteration_count` iterations.
fn constants_of_iterations(steps: &FrameSteps, config: &ClothConfig) -> impl Iterator<Item = IterationConstants> {
    let exponent = config.stiffness_frequency * steps.step;
    let kept = config.damping.map(|damping| 1.0 - effective_stiffness(stiffness_to_log2(damping), exponent));
    let bias = config.gravity.map(|gravity| gravity * steps.gravity_scale);
    let step_ratio = steps.step_ratio;
    (0..steps.iteration_count).map(move |iteration| {
        let ratio = if iteration == 0 { step_ratio } else { 1.0 };
        IterationConstants {
            velocity_scale: [kept[0] * ratio, kept[1] * ratio, kept[2] * ratio, 0.0],
            bias: [bias[0], bias[1], bias[2], 0.0],
            previous_bias: [0.0; 4],
        }
    })
}

fn phase_constants(cloth: &Cloth, config: &PhaseConfig, exponent: f32) -> PhaseConstants {
    let phase = &cloth.fabric.phases[config.phase as usize];
    // multiplier^exponent = 2^(log2(multiplier) * exponent) = 1 - effective(log2(1 - (1 - multiplier)))
    let multiplier = effective_stiffness(stiffness_to_log2(1.0 - config.stiffness_multiplier), exponent);
    PhaseConstants {
        stiffness: effective_stiffness(stiffness_to_log2(config.stiffness), exponent),
        multiplier,
        compression: 1.0 - 1.0 / config.compression_limit,
        stretch: 1.0 - 1.0 / config.stretch_limit,
        set_begin: phase.set_begin,
        set_end: phase.set_end,
        padding: [0; 2],
    }
}

/// Appends one cloth's frame to the arrays; `steps` is `None` for a frame that simulates nothing.
///
/// `cloth` must have passed `validate`; its config and phase configs are read, its particles are not.
pub fn pack_cloth_frame(cloth: &Cloth, placement: &ClothPlacement, steps: Option<&FrameSteps>, arrays: &mut FrameArrays) {
    let config = &cloth.config;
    let pool = &mut arrays.frame_pool;
    let iteration_begin = pool.len() as u32;
    if let Some(steps) = steps {
        for constants in constants_of_iterations(steps, config) {
            pool.extend_from_slice(cast_slice(&[constants]));
        }
    }
    let step = steps.map_or(0.0, |steps| steps.step);
    let exponent = config.stiffness_frequency * step;
    let phase_begin = pool.len() as u32;
    for phase in cloth.phase_configs.iter().filter(|phase| phase.stiffness > 0.0) {
        pool.extend_from_slice(cast_slice(&[phase_constants(cloth, phase, exponent)]));
    }
    let phase_count = (pool.len() as u32 - phase_begin) / 2;
    let fabric = &placement.fabric;
    let tether_stiffness = effective_stiffness(stiffness_to_log2(config.tether_stiffness), exponent);
    arrays.cloth_frames.push(ClothFrame {
        cloth: placement.cloth,
        particle_begin: placement.particle_begin,
        particle_count: placement.particle_count,
        iteration_count: steps.map_or(0, |steps| steps.iteration_count),
        iteration_begin,
        phase_begin,
        phase_count,
        set_begin: fabric.set_begin,
        fiber_begin: fabric.fiber_begin,
        vertex_begin: fabric.vertex_begin,
        edge_begin: fabric.edge_begin,
        edge_stiffness_begin: fabric.edge_stiffness_begin,
        tether_begin: fabric.tether_begin,
        tethers_per_particle: fabric.tethers_per_particle,
        anchor_begin: fabric.anchor_begin,
        anchor_count: fabric.anchor_count,
        scratch_begin: placement.scratch_begin,
        acceleration_begin: placement.acceleration_begin,
        acceleration_scale: step * step,
        tether_stiffness: tether_stiffness / fabric.tethers_per_particle.max(1) as f32,
        tether_scale: config.tether_scale,
        stiffness_exponent: exponent,
        padding: [0; 2],
    });
}
