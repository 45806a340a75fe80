//! The host side of poplin, the same for both backends: what a cloth is between its frames, and what each frame is planned from.
//!
//! A [`HostCloth`] owns a cloth's settings, inputs, clock and local frame, and packs its constants with `poplin-layout`;
//! [`ContactFrame`] cuts a frame into slices between which cloths collide; [`TierLimits`] and [`LoopTrips`] say how a cloth maps
//! onto a workgroup. Nothing here knows a GPU.

mod clock;
mod colliders;
mod contacts;
mod frame_motion;
mod host;
mod interpolated;
mod part;
mod self_collision;
mod tier;

pub use clock::{FrameClock, MAX_ITERATIONS_PER_FRAME, average_step};
pub use contacts::{ContactFrame, ContactLens, collides, takes_part};
pub use frame_motion::{FrameMotion, FrameVelocities, motion_constants};
pub use host::HostCloth;
pub use interpolated::InterpolatedArray;
pub use part::FramePart;
pub use poplin_layout::Feedback;
pub use tier::{GridPlan, LANE_COUNTS, LoopTrips, TierLimits, choose_lane_count};
