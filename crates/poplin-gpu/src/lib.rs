//! GPU backend of poplin on wgpu: records a whole frame of all cloths into the caller's command
//! encoder.
//!
//! [`GpuEngine`] uses the application's device and queue, publishes its requirements
//! ([`required_limits`], [`required_features`]), and never submits, polls or blocks in a step. Its
//! particle buffer is a vertex and a storage buffer, so a renderer draws it without a copy.
//! [`Headless`] owns a device for batch work and tests.

mod adapters;
mod binding;
mod canary;
mod compilation;
mod crossings;
mod debug;
mod engine;
mod growable;
mod headless;
mod pipelines;
mod pool;
mod readback;
mod render;
mod requirements;
mod scope;
mod timer;
#[cfg(feature = "testing")]
mod triangle_rounds;
mod triangles;

pub use adapters::{AdapterReport, is_software, list_adapters};
#[cfg(feature = "testing")]
pub use canary::run_canary_texts;
pub use canary::{CanaryReport, Subnormals, run_canaries};
pub use compilation::Compilation;
pub use debug::{DebugLines, DebugList, DebugPass, DebugTarget, DebugView};
pub use engine::{EngineOptions, GpuEngine, PendingSnapshot};
pub use headless::{Headless, HeadlessOptions};
pub use poplin_host::{ClothId, Error, FramePart, Snapshot, State, WantedAdapter, WrongValue};
pub use poplin_layout::MemoryTier;
pub use readback::Readback;
pub use render::{RenderId, RenderMeshes, RenderOptions};
pub use requirements::{required_features, required_limits, tier_limits};
#[cfg(feature = "testing")]
pub use triangle_rounds::{TriangleProgress, TriangleRounds};
pub use wgpu;
