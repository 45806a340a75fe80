//! GPU compute cloth: one dispatch simulates a whole frame of every cloth, on any GPU that wgpu
//! supports. A CPU backend computes the same result.
//!
//! [`Simulation`] runs cloths headless on the chosen backend:
//!
//! ```
//! use poplin::prelude::*;
//!
//! // A 1 m x 1 m sheet of 16 x 16 particles, pinned at two corners.
//! let options = CookOptions { pins: vec![0, 15], ..CookOptions::default() };
//! let cooked = cook(&Mesh::grid(16, 16, 1.0, 1.0), &options)?;
//! let mut simulation = Simulation::new(Backend::Cpu)?;
//! let cloth = simulation.add(cooked.into_cloth())?;
//! for _ in 0..30 {
//!     simulation.step(1.0 / 60.0)?;
//! }
//! let state = simulation.state()?;
//! assert!(state.current(cloth)[255].position[1] < -0.3, "the far corner has swung down");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Debug builds are about 14 times slower; `[profile.dev.package."*"]` with `opt-level = 3` in your
//! `Cargo.toml` optimises only poplin and your other dependencies.
//!
//! A renderer on wgpu passes its device to [`Simulation::with_device`] and draws the particle
//! buffer of [`Simulation::gpu`] without a copy, or uses [`gpu::GpuEngine`], which records into the
//! renderer's own encoder ([example](guide::embedding)).
//!
//! # Where to look
//!
//! - The [`guide`]: [scene files and the command](guide::scenes), [how it
//!   works](guide::architecture), [solvers and materials](guide::solvers), [every
//!   setting](guide::keys), [limits](guide::limits), [words](guide::glossary).
//! - [`prelude`]: the names that most programs need.
//! - [`model`]: the input types. A [`model::Mesh`] is cooked into a [`model::Fabric`], which a
//!   [`model::ClothDesc`] combines with particles, settings ([`model::ClothConfig`]) and colliders.
//! - [`cook`]: from mesh to fabric.
//! - [`gpu`] and [`mod@cpu`]: the engines of the two backends. Both implement [`Engine`]; use them
//!   if you need more than [`Simulation`].
//!
//! Units are SI throughout: metres, seconds, kilograms. Gravity points along -y unless you say
//! otherwise.
//!
//! # Features
//!
//! All are on by default; each backend also builds without the other.
//!
//! - `gpu`: the wgpu backend ([`gpu`]).
//! - `cpu`: the CPU backend ([`mod@cpu`]).
//! - `save`: conversion of a [`Snapshot`] to and from bytes.
//!
//! Off by default: `serde` implements `Serialize` and `Deserialize` for settings; `testing` exposes
//! test hooks and is not part of the API.

mod backend;
#[cfg(feature = "cpu")]
pub mod cpu;
mod drag;
mod grab;
#[cfg(all(feature = "cpu", feature = "gpu"))]
pub mod guide;
mod pick;
pub mod prelude;
mod simulation;

pub use backend::{Backend, BackendChoice};
pub use drag::{Drag, Sight};
pub use grab::{Grab, GrabOptions};
pub use pick::{Hit, Ray, TriangleHit, pick_cloth, pick_triangles};
pub use simulation::{Simulation, SimulationOptions};

#[doc(inline)]
pub use poplin_cook as cook;
#[cfg(feature = "gpu")]
#[doc(inline)]
pub use poplin_gpu as gpu;
pub use poplin_host::{
    Cause, Cloth, ClothId, ClothState, Engine, Error, Feedback, HoldId, NoSuchCloth,
    ParticleMotion, Reading, Snapshot, State, Transfer, WantedAdapter, WrongValue,
};
#[cfg(feature = "save")]
pub use poplin_host::{SAVE_VERSION, SaveError};
#[doc(inline)]
pub use poplin_model as model;
