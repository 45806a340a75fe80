//! One interface over both backends.

use std::ops::{Deref, DerefMut};

#[cfg(feature = "cpu")]
use poplin_cpu::{CpuEngine, WideTeam, thread_count};
#[cfg(feature = "gpu")]
use poplin_gpu::{Headless, HeadlessOptions, wgpu};
use poplin_host::{Engine, Error, State};

use crate::{Backend, BackendChoice, Hit, Ray, TriangleHit, pick_cloth};

/// Options of [`Simulation::new`].
#[derive(Debug, Clone, Default)]
pub struct SimulationOptions {
    /// Backend to run on.
    pub backend: Backend,
    /// Options of the GPU backend.
    #[cfg(feature = "gpu")]
    pub gpu: HeadlessOptions,
}

impl From<Backend> for SimulationOptions {
    fn from(backend: Backend) -> Self {
        Self {
            backend,
            #[cfg(feature = "gpu")]
            gpu: HeadlessOptions::default(),
        }
    }
}

/// Cloths on one backend. It is used like an [`Engine`], whose methods add, step, read, change and
/// remove cloths; the trait need not be imported.
///
/// - Cloths: [`add`](Engine::add), [`clone_cloth`](Engine::clone_cloth),
///   [`remove`](Engine::remove), [`clear`](Engine::clear), [`reset`](Engine::reset),
///   [`ids`](Engine::ids).
/// - Frames: [`step`](Engine::step), [`wait`](Engine::wait).
/// - Results: [`read`](Engine::read), [`state`](Engine::state),
///   [`begin_read`](Engine::begin_read).
/// - Settings and inputs: [`cloth`](Engine::cloth), [`cloth_mut`](Engine::cloth_mut),
///   [`set_particles`](Engine::set_particles).
/// - Colliders and contact: [`colliders`](Engine::colliders),
///   [`colliders_mut`](Engine::colliders_mut),
///   [`cloth_contact_solver`](Engine::cloth_contact_solver),
///   [`set_cloth_contact_solver`](Engine::set_cloth_contact_solver).
/// - Snapshots and memory: [`save`](Engine::save), [`restore`](Engine::restore),
///   [`memory_bytes`](Engine::memory_bytes).
#[derive(Debug)]
pub struct Simulation {
    engine: Box<dyn Engine>,
    choice: BackendChoice,
}

impl Deref for Simulation {
    type Target = dyn Engine;

    fn deref(&self) -> &dyn Engine {
        &*self.engine
    }
}

impl DerefMut for Simulation {
    fn deref_mut(&mut self) -> &mut dyn Engine {
        &mut *self.engine
    }
}

impl Simulation {
    /// Creates a simulation without cloths. `options` may be just a [`Backend`].
    ///
    /// # Errors
    /// [`Error::NoAdapter`], [`Error::NoDevice`] or [`Error::CanaryFailed`] if [`Backend::Gpu`]
    /// finds no adapter that works; [`Error::NotBuilt`].
    pub fn new(options: impl Into<SimulationOptions>) -> Result<Self, Error> {
        let options = options.into();
        match options.backend {
            Backend::Cpu => Self::on_cpu("requested"),
            Backend::Gpu => Self::on_gpu(&options, "requested"),
            Backend::Auto => Self::on_best(options),
        }
    }

    /// Tries a real GPU first, then falls back to the CPU.
    #[cfg(feature = "gpu")]
    fn on_best(mut options: SimulationOptions) -> Result<Self, Error> {
        if std::env::var("POPLIN_GPU").is_ok_and(|value| value == "off") {
            return Self::on_cpu("POPLIN_GPU=off");
        }
        // A software adapter is slower than the CPU backend.
        options.gpu.real_gpu_only = true;
        match Self::on_gpu(&options, "a real GPU was found") {
            Ok(simulation) => Ok(simulation),
            Err(Error::NoAdapter { .. }) => Self::on_cpu("no real GPU was found"),
            Err(error) => {
                log::warn!("falling back to the CPU: {error}");
                Self::on_cpu(&format!("the GPU cannot be used: {error}"))
            }
        }
    }

    #[cfg(not(feature = "gpu"))]
    fn on_best(_options: SimulationOptions) -> Result<Self, Error> {
        Self::on_cpu("built without the GPU backend")
    }

    #[cfg(feature = "cpu")]
    fn on_cpu(reason: &str) -> Result<Self, Error> {
        let threads = thread_count();
        let plural = if threads == 1 { "" } else { "s" };
        let adapter = format!("{threads} CPU thread{plural}, {}", WideTeam::default().describe());
        let choice = BackendChoice { backend: Backend::Cpu, adapter, reason: reason.to_owned() };
        Ok(Self { engine: Box::<CpuEngine>::default(), choice })
    }

    #[cfg(not(feature = "cpu"))]
    fn on_cpu(_reason: &str) -> Result<Self, Error> {
        Err(Error::NotBuilt { backend: "CPU", feature: "cpu" })
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(options: &SimulationOptions, reason: &str) -> Result<Self, Error> {
        Ok(Self::over(Headless::new(options.gpu.clone())?, reason))
    }

    #[cfg(not(feature = "gpu"))]
    fn on_gpu(_options: &SimulationOptions, _reason: &str) -> Result<Self, Error> {
        Err(Error::NotBuilt { backend: "GPU", feature: "gpu" })
    }

    /// Backend in use, and the reason it was chosen.
    pub fn backend(&self) -> &BackendChoice {
        &self.choice
    }

    /// Creates a simulation on the application's device, so that the application can draw the
    /// particle buffers without a copy: see [`Simulation::gpu`]. Device errors go to the
    /// application's own handler.
    ///
    /// # Errors
    /// [`Error::LimitTooLow`] if the device is below WebGPU's default limits, or
    /// [`Error::CanaryFailed`].
    #[cfg(feature = "gpu")]
    pub fn with_device(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        options: poplin_gpu::EngineOptions,
    ) -> Result<Self, Error> {
        Ok(Self::over(
            Headless::with_device(device, queue, options)?,
            "on the application's device",
        ))
    }

    #[cfg(feature = "gpu")]
    fn over(headless: Headless, reason: &str) -> Self {
        let info = headless.adapter_info();
        let kind = if poplin_gpu::is_software(info) { ", a software adapter" } else { "" };
        let adapter = format!("{}, {:?} {}{kind}", info.name, info.backend, info.driver_info);
        let choice = BackendChoice { backend: Backend::Gpu, adapter, reason: reason.to_owned() };
        Self { engine: Box::new(headless), choice }
    }

    /// The GPU backend: device, queue, particle buffer and buffer ranges; `None` on the CPU.
    #[cfg(feature = "gpu")]
    pub fn gpu(&self) -> Option<&Headless> {
        (&*self.engine as &dyn std::any::Any).downcast_ref()
    }

    /// The GPU backend, for recording frames into the application's own encoder; `None` on the CPU.
    #[cfg(feature = "gpu")]
    pub fn gpu_mut(&mut self) -> Option<&mut Headless> {
        (&mut *self.engine as &mut dyn std::any::Any).downcast_mut()
    }

    /// Returns the first hit of a world-space ray, with the cloths as they were when `state` was
    /// read and in their current poses. On a tie the cloth that was added first wins. Cloths that
    /// were removed or added after `state` was read are skipped. Every triangle is tested;
    /// [`pick_triangles`](crate::pick_triangles) states the cost.
    ///
    /// # Errors
    /// [`Error::Model`] if the ray is not valid, [`Ray::validate`].
    pub fn pick(&self, state: &State, ray: &Ray) -> Result<Option<Hit>, Error> {
        ray.validate()?;
        let mut nearest: Option<Hit> = None;
        for &cloth in self.ids() {
            // Added after the state was read.
            let Ok(known) = state.cloth(cloth) else { continue };
            let hit = pick_cloth(self.cloth(cloth)?, known.current, ray)?;
            let is_nearer =
                |at: &TriangleHit| nearest.is_none_or(|nearest| at.distance < nearest.at.distance);
            if let Some(at) = hit.filter(is_nearer) {
                nearest = Some(Hit { cloth, at });
            }
        }
        Ok(nearest)
    }
}
