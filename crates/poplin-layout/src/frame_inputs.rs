//! Inputs of packing a frame: plain values computed by the host.

use glam::{DMat3, DVec3};

use crate::{ColliderParameters, SelfCollisionParameters};

/// Division of a frame into iterations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameSteps {
    /// Number of iterations, at least 1.
    pub iteration_count: u32,
    /// Step of one iteration \[s\].
    pub step: f32,
    /// Step of this frame over that of the last frame; corrects the velocity in the first
    /// iteration.
    pub step_ratio: f32,
    /// Averaged squared step, the factor on gravity [s^2].
    pub gravity_scale: f32,
}

/// Matrices of a rotating local space: delta = bias + a * previous + b * current, columns first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RotationConstants {
    /// Factors of the first iteration, in which the velocity is corrected for a changed step.
    pub first: [DMat3; 2],
    /// Factors of the other iterations.
    pub rest: [DMat3; 2],
    /// Rotation of the local space in one iteration, in local axes.
    pub rotation: DMat3,
}

/// Constants of a frame that apply to the cloth as a whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MotionConstants {
    /// Fraction of the last displacement that is kept in an iteration, per axis.
    pub kept: [f32; 3],
    /// Offset added to the current position in the first iteration \[m\].
    pub bias: DVec3,
    /// Offset added to the position that becomes previous \[m\].
    pub previous_bias: DVec3,
    /// Displacement of the local space relative to the wind in one iteration \[m\].
    pub wind: DVec3,
    /// Set if the local space rotates now or rotated in the last frame.
    pub rotation: Option<RotationConstants>,
    /// True if displacements of this frame leave remainders.
    pub keeps_remainders: bool,
    /// True if the remainders of the last frame's displacements are known.
    pub has_remainders: bool,
}

/// Offsets of this frame's inputs in `input_pool`, [`NO_OFFSET`](crate::NO_OFFSET) for inputs that
/// are off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InputOffsets {
    /// Accelerations.
    pub acceleration_begin: u32,
    /// Start and target of the motion spheres.
    pub motion: [u32; 2],
    /// Start and target of the separation spheres.
    pub separation: [u32; 2],
    /// Number of input changes so far.
    pub wake_count: u32,
    /// First row of an implicit solve in the cloth's scratch.
    pub solve_begin: u32,
    /// First remainder of a displacement in the cloth's scratch.
    pub remainder_begin: u32,
    /// Colliders of the cloth.
    pub colliders: ColliderParameters,
    /// Self collision of the cloth.
    pub self_collision: SelfCollisionParameters,
}
