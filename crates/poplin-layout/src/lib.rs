//! Internal crate of [poplin](https://docs.rs/poplin), no API of its own: depend on `poplin`.
//!
//! Packs poplin cloths into flat GPU buffers, shared by both backends: plain values in, rows out.
//!
//! Structs and constants shared with the shaders are declared only here; [`generated_shaders`]
//! writes the WGSL text from them. [`pools`] describes the buffers and their writers.

mod air;
mod bending;
mod body_rows;
mod chains;
mod constants;
mod contact_types;
mod fabric_pool;
mod frame_inputs;
mod frame_pool;
mod gpu_struct;
mod implicit;
mod iterations;
mod kernel_text;
mod memory_tier;
mod motion;
mod multilevel;
mod phases;
mod render;
mod round_state;
mod schedule;
mod sleep;
mod stage_mask;
mod stage_order;
mod stage_table;
mod stages;
mod step_scale;
mod tethers;
mod triangle_types;
mod types;
mod wgsl;
mod yarns;

pub mod pools {
    //! The storage buffers of the solver, at most eight per stage (the WebGPU default limit).
    //!
    //! - `cloth_parameters`, rows of [`ClothParameters`](crate::ClothParameters), written per
    //!   frame: offsets and constants of every dispatched cloth, bucket by bucket.
    //! - `frame_pool`, `[u32; 4]`, written per frame:
    //!   [`IterationConstants`](crate::IterationConstants), then
    //!   [`PhaseConstants`](crate::PhaseConstants) of each cloth.
    //! - `fabric_pool`, `u32`, written on add: sets, fibers, vertices, rest lengths (bit-cast),
    //!   tethers, bends.
    //! - `input_pool`, `[u32; 4]`, written on change: per-particle accelerations, motion and
    //!   separation spheres; rest positions; colliders, their lists and trees.
    //! - `current`, `[f32; 4]`, written by the kernel: position and working inverse mass.
    //! - `previous`, `[f32; 4]`, written by the kernel: position one iteration ago and the user's
    //!   inverse mass.
    //! - `scratch`, `[u32; 4]`, written by the kernel: tether anchors at the start of their stage,
    //!   wind impulses of triangles, fiber rows that do not fit in workgroup memory; shapes of the
    //!   iteration, nearest triangles, impulses on bodies, sorted particles.
    //! - `feedback`, rows of [`Feedback`](crate::Feedback), written by the kernel: faults and
    //!   counters, one per cloth.
    //!
    //! Pools that mix floats and indices store `u32` and bit-cast only *to* floats: an index stored
    //! as a float would be a subnormal, which an adapter may flush to 0 (WGSL, "Floating Point
    //! Evaluation").
}

pub use air::AirParameters;
pub use bending::BendingParameters;
pub use body_rows::chunk_count;
pub use chains::Chains;
pub use constants::*;
pub use contact_types::{CONTACT_STRUCTS, ContactCloth, ContactParameters};
pub use fabric_pool::{
    FabricOffsets, fiber_row_len, groups_by_member, pack_fabric, stage_scratch_len,
};
pub use frame_inputs::{FrameSteps, InputOffsets, MotionConstants, RotationConstants};
pub use frame_pool::{ClothPlacement, FrameArrays, pack_cloth_parameters};
pub use gpu_struct::{ConstantDescription, ConstantValue, FieldDescription, StructDescription};
pub use implicit::{ImplicitConstants, max_evaluations, solve_scratch_len, triangle_weights};
pub use iterations::IterationConstants;
pub use memory_tier::{MIN_GRID_CELLS, MemoryPlan, MemoryTier};
pub use motion::{MotionParameters, SeparationParameters};
pub use multilevel::MultilevelConstants;
pub use phases::PhaseConstants;
pub use render::{
    DebugLine, DebugParameters, RENDER_STRUCTS, RenderInstance, RenderParameters, pack_render_mesh,
};
pub use round_state::{Atomic, RoundState};
pub use schedule::{Barrier, Fence, Items, Location, Repeat, ScheduleEvent, Step, schedule_events};
pub use sleep::SleepParameters;
pub use stage_mask::{STAGE_SETS, StageMask};
pub use stage_order::{ITERATION, SIMULATION};
pub use stages::{Memory, Oracle, STAGES, Stage, StageRow, TASKS, Task};
pub use step_scale::StepScale;
pub use tethers::TetherParameters;
pub use triangle_types::{
    TRIANGLE_STRUCTS, TriangleBodies, TriangleCandidate, TriangleMultiplier, TriangleNode,
    TrianglePair, TriangleParameters, TriangleReport, TriangleRound, TriangleRow, TriangleTask,
};
pub use types::{
    ClothParameters, ColliderParameters, DispatchParameters, Feedback, SOLVER_STRUCTS,
    ScatterParameters, SelfCollisionParameters,
};
pub use wgsl::generated_shaders;
pub use yarns::YarnParameters;

/// Returns `log2(1 - stiffness)`, the stored form of every stiffness-like value in `0..=1`; -128
/// for 1.
///
/// The effective stiffness over an iteration of `h` seconds is
/// `1 - 2^(log2 * stiffness_frequency * h)`, so that the error remaining after a second does not
/// depend on the step (Müller et al., "Position Based Dynamics", 2006, section 3.3).
pub fn stiffness_to_log2(stiffness: f32) -> f32 {
    let rest = 1.0 - f64::from(stiffness);
    if rest > 0.0 { (rest.log2() as f32).max(-128.0) } else { -128.0 }
}

/// Returns the effective stiffness of one iteration: `1 - 2^(log2 * exponent)` with
/// `exponent = stiffness_frequency * h`.
pub fn effective_stiffness(stiffness_log2: f32, exponent: f32) -> f32 {
    (1.0 - (f64::from(stiffness_log2) * f64::from(exponent)).exp2()) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_stiffness_has_the_documented_effect_at_the_defaults() {
        let effective = effective_stiffness(stiffness_to_log2(1.0), 10.0 / 300.0);
        assert!((effective - 0.948).abs() < 1e-3, "{effective}");
        assert_eq!(effective_stiffness(stiffness_to_log2(0.0), 0.5), 0.0);
    }

    #[test]
    fn error_after_one_second_does_not_depend_on_the_step() {
        let log2 = stiffness_to_log2(0.3);
        let left = |iterations: i32| {
            (1.0 - effective_stiffness(log2, 10.0 / iterations as f32)).powi(iterations)
        };
        assert!((left(60) - left(240)).abs() < 1e-4);
    }
}
