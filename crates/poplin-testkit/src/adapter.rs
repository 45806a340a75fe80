//! The adapter that GPU tests run on, and how its kernels round.

use poplin::Backend;
use poplin::gpu::{
    Compilation, EngineOptions, Headless, HeadlessOptions, is_software, list_adapters, wgpu,
};

use crate::compare::{Difference, Row, close, near, same_bits};
use crate::fused::fused_texts;
use crate::skip::is_gpu_off;

/// A headless device with these engine options, which compiles a kernel when a frame needs it, or `None` where `POPLIN_GPU=off`
/// says so, loudly.
///
/// # Panics
/// If there is no adapter: a machine without one has not tested the GPU backend.
pub fn headless(engine: EngineOptions) -> Option<Headless> {
    if is_gpu_off() {
        return None;
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

/// A device on which nothing is computed, but everything is checked and allocated: what is left is the host's own work.
///
/// # Panics
/// If wgpu was built without its `noop` backend.
pub fn noop_device(limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop.enable = true;
    let instance = wgpu::Instance::new(descriptor);
    let adapter = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::NOOP)).remove(0);
    let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
    pollster::block_on(adapter.request_device(&descriptor)).expect("the noop device has all limits")
}

/// The backends to test: the CPU, and the GPU unless `POPLIN_GPU=off` says so, loudly.
///
/// # Panics
/// As [`headless`].
pub fn backends() -> Vec<Backend> {
    let gpu = headless(EngineOptions::default()).map(|_| Backend::Gpu);
    std::iter::once(Backend::Cpu).chain(gpu).collect()
}

/// How kernels round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// As the mirror: software adapters do, and a difference of one bit is a fault.
    AsMirror,
    /// Products that are added may not be rounded: real GPUs may fuse them.
    MayFuse,
}

impl Rounding {
    /// Whether particles of the GPU are the mirror's: to the bit, or where multiply-adds may be fused within `factor` epsilons of
    /// a metre or of the value, if that is larger. For a few iterations.
    ///
    /// # Errors
    /// [`Difference`] of the two.
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

    /// As [`Self::agree`] after many iterations, in which a rounding grows: where multiply-adds may be fused, the root mean square
    /// of the particles' distances may be `distance` \[m\].
    ///
    /// # Errors
    /// [`Difference`] of the two.
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

/// These options with each rounding that the machine can show: the shipped kernels, and on a software adapter also
/// [those with fused multiply-adds](fused_texts), so that what holds on a real GPU is tested where there is none.
/// `POPLIN_FUSED=off` leaves those out: a run on a second adapter need not compile them again.
/// Nothing where `POPLIN_GPU=off` says so, loudly.
pub fn roundings(engine: &EngineOptions) -> Vec<(EngineOptions, Rounding)> {
    if is_gpu_off() {
        return Vec::new();
    }
    let adapter = list_adapters().into_iter().next();
    if adapter.is_some_and(|adapter| !is_software(&adapter.get_info())) {
        return vec![(engine.clone(), Rounding::MayFuse)];
    }
    if std::env::var("POPLIN_FUSED").is_ok_and(|value| value == "off") {
        return vec![(engine.clone(), Rounding::AsMirror)];
    }
    let fused = EngineOptions { shader_texts: fused_texts().clone(), ..engine.clone() };
    vec![(engine.clone(), Rounding::AsMirror), (fused, Rounding::MayFuse)]
}

/// A headless device for each of the [`roundings`].
///
/// # Panics
/// As [`headless`].
pub fn devices(engine: &EngineOptions) -> impl Iterator<Item = (Headless, Rounding)> {
    let device = |(options, rounding)| headless(options).map(|gpu| (gpu, rounding));
    roundings(engine).into_iter().filter_map(device)
}
