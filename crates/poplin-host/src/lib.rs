//! Internal crate of [poplin](https://docs.rs/poplin), no API of its own: depend on `poplin`.
//!
//! Host side of poplin, shared by both backends: per-cloth state kept between frames, and frame
//! planning.
//!
//! An [`Engine`] keeps cloths under generational [`ClothId`]s. [`Cloth`] is the user's view of
//! a cloth: settings, inputs, pose and clock. [`HostCloth`] wraps it, adds sleep and packs its
//! constants with `poplin-layout`. [`ContactFrame`] divides a frame into slices between which
//! cloths collide; [`TierLimits`] and [`LoopTrips`] map a cloth onto a workgroup. This crate does
//! not depend on a GPU.

mod clock;
mod cloths;
mod colliders;
mod contacts;
mod crossings;
mod engine;
mod error;
mod frame_motion;
mod holds;
mod host;
mod interpolated;
mod live;
mod part;
mod particle_motion;
mod ranges;
mod reading;
#[cfg(feature = "save")]
mod save;
mod self_collision;
mod shared;
mod snapshot;
mod state;
mod surface;
mod tier;
mod triangle_packing;
mod triangle_scene;
mod uploaded;

pub use clock::{FrameClock, average_step};
pub use cloths::{ClothId, Cloths, NoSuchCloth};
pub use colliders::{BodyRef, ClothImpulses, FrameBodies};
pub use contacts::{
    ContactFrame, ContactLens, collides, collides_by_triangles, in_world, takes_part,
};
pub use crossings::{contact_partner, find_crossings, report_crossings};
pub use engine::Engine;
pub use error::{Cause, Error, WantedAdapter, WrongValue};
pub use frame_motion::{FrameMotion, FrameVelocities, motion_constants};
pub use holds::HoldId;
pub use host::{HostCloth, MovedSpheres};
pub use interpolated::InterpolatedArray;
pub use live::Cloth;
pub use part::FramePart;
pub use particle_motion::ParticleMotion;
pub use poplin_layout::Feedback;
pub use ranges::{Full, Ranges};
pub use reading::{Reading, Transfer};
#[cfg(feature = "save")]
pub use save::{SAVE_VERSION, SaveError};
pub use shared::{Shared, SharedFabrics};
pub use snapshot::{ContactMultipliers, PairMultipliers, Snapshot, SnapshotCloth};
pub use state::{ClothState, State, StatePart};
pub use surface::{NO_CORNER, NO_FACE, Surface};
pub use tier::{LANE_COUNTS, LoopTrips, MemoryNeeds, TierLimits, choose_lane_count};
pub use triangle_packing::pack_triangle_bodies;
pub use triangle_scene::{
    Role, SceneChange, TriangleBody, TriangleScene, least_thickness, renamed_multipliers,
};
