//! poplin in a browser: a page of scenes to watch and to drag, simulated and drawn on one WebGPU device.
//!
//! `cargo xtask web` builds the page and tests it in Chromium. Everything but the page itself builds and runs natively too:
//!
//! - [`Scene`]: what the page shows, the same on every backend.
//! - [`Player`]: a scene in simulation, its camera and what the pointer holds.

mod error;
#[cfg(target_family = "wasm")]
mod page;
mod player;
mod renderer;
mod scene;

pub use error::WebError;
pub use player::Player;
pub use scene::{FRAME_RATE, NAMES, Scene};
