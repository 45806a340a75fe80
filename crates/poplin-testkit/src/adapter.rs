//! GPU adapters of the tests, and the rounding of their kernels.

use poplin::Backend;
use poplin::gpu::{
    Compilation, EngineOptions, Headless, HeadlessOptions, is_software, list_adapters, wgpu,
};

use crate::compare::{Difference, Row, close, near, same_bits};
use crate::fused::fused_texts;
use crate::skip::{is_gpu_off, skip};

/// Creates a headless device with these engine options, which compiles kernels when a frame needs
/// them; under `POPLIN_GPU=pretend` those without a text of their own have [the rounding of real
/// GPUs](fused_texts). Returns `None` and records a skip under `POPLIN_GPU=off`.
///
/// # Panics
/// Panics if there is no adapter: a machine without one has not tested the GPU backend.
pub fn headless(mut engine: EngineOptions) -> Option<Headless> {
    if is_gpu_off() {
        return None;
    }
    if is_pretended() {
        let mut texts = fused_texts().clone();
        texts.extend(engine.shader_texts);
        engine.shader_texts = texts;
    }
    let engine = EngineOptions { compilation: Compilation::WhenNeeded, ..engine };
    let options = HeadlessOptions { engine, ..HeadlessOptions::default() };
    match Headless::new(options) {
        Ok(headless) => Some(headless),
        Err(error) => {
            panic!("GPU tests need an adapter; `cargo xtask test` installs a software one: {error}")
        }
    }
}

/// Creates a headless device whose kernels give the bits of the reference. Returns `None` on a real
/// GPU, which may round otherwise, and records a skip there; not if a software adapter only passes
/// for one, since the test also runs without that.
///
/// # Panics
/// Panics like [`headless`].
pub fn headless_as_mirror(engine: EngineOptions) -> Option<Headless> {
    if !is_real() {
        return headless(engine);
    }
    if !is_pretended() {
        skip("a real GPU may round otherwise than the reference");
    }
    None
}

/// Tests whether `POPLIN_GPU=pretend` makes a software adapter pass for a real GPU.
fn is_pretended() -> bool {
    std::env::var("POPLIN_GPU").is_ok_and(|value| value == "pretend")
}

/// Tests whether the first adapter is a real GPU, or passes for one.
pub fn is_real() -> bool {
    let is_hardware = |adapter: &wgpu::Adapter| !is_software(&adapter.get_info());
    is_pretended() || list_adapters().first().is_some_and(is_hardware)
}

/// Creates a device that validates and allocates but computes nothing, so that only the work of the
/// host remains.
///
/// # Panics
/// Panics if wgpu was built without its `noop` backend.
pub fn noop_device(limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop.enable = true;
    let instance = wgpu::Instance::new(descriptor);
    let adapter = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::NOOP)).remove(0);
    let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
    pollster::block_on(adapter.request_device(&descriptor)).expect("the noop device has all limits")
}

/// Backends to test: the CPU, and the GPU unless `POPLIN_GPU=off` is set, which records a skip.
///
/// # Panics
/// Panics like [`headless`].
pub fn backends() -> Vec<Backend> {
    let gpu = headless(EngineOptions::default()).map(|_| Backend::Gpu);
    std::iter::once(Backend::Cpu).chain(gpu).collect()
}

/// Rounding of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Rounding of the reference: software adapters have it, and a difference of one bit is a bug.
    AsMirror,
    /// Products in sums may stay unrounded, quotients and square roots be inexact: real GPUs may
    /// fuse multiply-adds, and divide with an error of 2.5 units in the last place.
    MayFuse,
}

impl Rounding {
    /// Checks that particles of the GPU match the reference: exactly, or, where rounding may
    /// differ, within `factor` epsilons of a meter or of the value if that is larger. For a few
    /// iterations.
    ///
    /// # Errors
    /// [`Difference`] between both states.
    pub fn agree(
        self,
        what: &str,
        gpu: &[impl Row],
        mirror: &[impl Row],
        factor: f32,
    ) -> Result<(), Difference> {
        match self {
            Self::AsMirror => same_bits(what, gpu, mirror),
            Self::MayFuse => close(what, gpu, mirror, factor, 1.0),
        }
    }

    /// Variant of [`Self::agree`] for many iterations, over which rounding errors grow: where
    /// multiply-adds may be fused, the root mean square of the particle distances may be up to
    /// `distance` \[m\].
    ///
    /// # Errors
    /// [`Difference`] between both states.
    pub fn agree_on_average(
        self,
        what: &str,
        gpu: &[impl Row],
        mirror: &[impl Row],
        distance: f32,
    ) -> Result<(), Difference> {
        match self {
            Self::AsMirror => same_bits(what, gpu, mirror),
            Self::MayFuse => near(what, gpu, mirror, distance),
        }
    }
}

/// Returns the engine options with each rounding that the machine can test: the shipped kernels,
/// and on a software adapter also [those with the rounding of real GPUs](fused_texts), so that
/// claims about these are tested without one. `POPLIN_FUSED=off` leaves those out:
/// a run on a second adapter need not compile them again. Empty under `POPLIN_GPU=off`, which
/// records a skip.
pub fn roundings(engine: &EngineOptions) -> Vec<(EngineOptions, Rounding)> {
    if is_gpu_off() {
        return Vec::new();
    }
    let fused = || EngineOptions { shader_texts: fused_texts().clone(), ..engine.clone() };
    if is_real() {
        let engine = if is_pretended() { fused() } else { engine.clone() };
        return vec![(engine, Rounding::MayFuse)];
    }
    if std::env::var("POPLIN_FUSED").is_ok_and(|value| value == "off") {
        return vec![(engine.clone(), Rounding::AsMirror)];
    }
    vec![(engine.clone(), Rounding::AsMirror), (fused(), Rounding::MayFuse)]
}

/// Creates a headless device for each of the [`roundings`].
///
/// # Panics
/// Panics like [`headless`].
pub fn devices(engine: &EngineOptions) -> impl Iterator<Item = (Headless, Rounding)> {
    let device = |(options, rounding)| headless(options).map(|gpu| (gpu, rounding));
    roundings(engine).into_iter().filter_map(device)
}
