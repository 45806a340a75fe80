//! The adapter that GPU tests run on.

use poplin::Backend;
use poplin::gpu::{EngineOptions, Headless, HeadlessOptions, is_software};

use crate::skip::skip;

/// A headless device with these engine options, or `None` where `POPLIN_GPU=off` says so, loudly.
///
/// # Panics
/// If there is no adapter: a machine without one has not tested the GPU backend.
pub fn headless(engine: EngineOptions) -> Option<Headless> {
    if std::env::var("POPLIN_GPU").is_ok_and(|value| value == "off") {
        skip("POPLIN_GPU=off: the GPU backend is not tested");
        return None;
    }
    let options = HeadlessOptions { engine, ..HeadlessOptions::default() };
    match Headless::new(options) {
        Ok(headless) => Some(headless),
        Err(error) => {
            panic!("GPU tests need an adapter; `cargo xtask test` installs a software one: {error}")
        }
    }
}

/// Whether the adapter rounds like the mirror: software adapters do, real GPUs may fuse multiplications and additions.
pub fn is_strict(headless: &Headless) -> bool {
    is_software(headless.adapter_info())
}

/// The backends to test: the CPU, and the GPU unless `POPLIN_GPU=off` says so, loudly.
///
/// # Panics
/// As [`headless`].
pub fn backends() -> Vec<Backend> {
    let gpu = headless(EngineOptions::default()).map(|_| Backend::Gpu);
    std::iter::once(Backend::Cpu).chain(gpu).collect()
}
