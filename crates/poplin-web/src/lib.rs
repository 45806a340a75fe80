//! poplin in a browser: a page of interactive scenes, simulated and drawn on one WebGPU device.
//!
//! `cargo xtask web` builds the page and tests it in Chromium. Everything except the page itself
//! also builds and runs natively:
//!
//! - [`Scene`]: a scene of the page, the same on every backend.
//! - [`Player`]: a scene in simulation, with its camera and the cloth held by the pointer.

mod error;
#[cfg(target_family = "wasm")]
mod page;
mod player;
mod renderer;
mod scene;

pub use error::WebError;
pub use player::Player;
pub use scene::{FRAME_RATE, NAMES, Scene};
