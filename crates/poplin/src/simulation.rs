//! One interface over both backends.

#[cfg(feature = "cpu")]
use poplin_cpu::{CpuEngine, WideTeam, thread_count};
#[cfg(feature = "gpu")]
use poplin_gpu::{Headless, HeadlessOptions, wgpu};
use poplin_host::{Cloth, ClothId, Engine, ParticleMotion, Snapshot, State};
use poplin_model::{ClothContactSolver, ClothDesc, ColliderSet, Particle};

use crate::{Backend, BackendChoice, Error, Hit, Ray, Reading, TriangleHit, pick_cloth};

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

#[derive(Debug)]
enum AnyEngine {
    #[cfg(feature = "cpu")]
    Cpu(Box<CpuEngine>),
    #[cfg(feature = "gpu")]
    Gpu(Box<Headless>),
    /// Placeholder of a build without backends; never constructed.
    #[cfg(not(any(feature = "cpu", feature = "gpu")))]
    Neither(std::convert::Infallible),
}

/// Evaluates the same expression for either engine.
macro_rules! on {
    ($simulation:expr, $engine:ident => $action:expr) => {
        match $simulation {
            #[cfg(feature = "cpu")]
            AnyEngine::Cpu($engine) => $action,
            #[cfg(feature = "gpu")]
            AnyEngine::Gpu($engine) => $action,
            #[cfg(not(any(feature = "cpu", feature = "gpu")))]
            AnyEngine::Neither(never) => match *never {},
        }
    };
}

/// Cloths on one backend. Provides every method of [`Engine`], with this crate's errors.
#[derive(Debug)]
pub struct Simulation {
    engine: AnyEngine,
    choice: BackendChoice,
}

impl Simulation {
    /// Creates a simulation without cloths. `options` may be just a [`Backend`].
    ///
    /// # Errors
    /// [`Error::Gpu`] if [`Backend::Gpu`] finds no adapter that passes the canaries;
    /// [`Error::NotBuilt`].
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
            Err(Error::Gpu(poplin_gpu::GpuError::NoAdapter { .. })) => {
                Self::on_cpu("no real GPU was found")
            }
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
        Ok(Self { engine: AnyEngine::Cpu(Box::default()), choice })
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
    /// [`Error::Gpu`] if the device is below WebGPU's default limits or fails a canary.
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
        Self { engine: AnyEngine::Gpu(Box::new(headless)), choice }
    }

    /// The GPU backend: device, queue, particle buffer and buffer ranges; `None` on the CPU.
    #[cfg(feature = "gpu")]
    pub fn gpu(&self) -> Option<&Headless> {
        match &self.engine {
            AnyEngine::Gpu(headless) => Some(headless),
            #[cfg(feature = "cpu")]
            AnyEngine::Cpu(_) => None,
        }
    }

    /// The GPU backend, for recording frames into the application's own encoder; `None` on the CPU.
    #[cfg(feature = "gpu")]
    pub fn gpu_mut(&mut self) -> Option<&mut Headless> {
        match &mut self.engine {
            AnyEngine::Gpu(headless) => Some(headless),
            #[cfg(feature = "cpu")]
            AnyEngine::Cpu(_) => None,
        }
    }

    /// Adds a cloth after all existing ones. Cloths that share a fabric share its packed form.
    ///
    /// # Errors
    /// [`Error`] if the cloth is not valid or too large for the adapter; nothing is added.
    pub fn add(&mut self, cloth: ClothDesc) -> Result<ClothId, Error> {
        on!(&mut self.engine, engine => Ok(engine.add(cloth)?))
    }

    /// Adds `count` copies of a cloth in its current state: particles, clock, counters, settings
    /// and inputs. Each copy continues exactly as the original does. The copies share its fabric,
    /// which is stored once.
    ///
    /// [`Error::NoSuchCloth`], or an error of the backend if there is no room; then nothing is
    /// added.
    pub fn clone_cloth(&mut self, id: ClothId, count: usize) -> Result<Vec<ClothId>, Error> {
        on!(&mut self.engine, engine => Ok(engine.clone_cloth(id, count)?))
    }

    /// Removes a cloth. Its memory is reused, its fabric is freed with the last cloth that uses it,
    /// and its handle stays invalid.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    pub fn remove(&mut self, id: ClothId) -> Result<(), Error> {
        on!(&mut self.engine, engine => Ok(engine.remove(id)?))
    }

    /// Removes all cloths.
    pub fn clear(&mut self) {
        on!(&mut self.engine, engine => engine.clear());
    }

    /// Resets a cloth to its state when it was added: particles, velocities, pose, clock and
    /// counters. Settings, phases, inputs and colliders keep their latest values.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    pub fn reset(&mut self, id: ClothId) -> Result<(), Error> {
        on!(&mut self.engine, engine => Ok(engine.reset(id)?))
    }

    /// Sets all particles of a cloth: position \[m\] and working inverse mass [1/kg], shape
    /// `[particle_count]`, local axes. A frozen cloth continues from there, a sleeping one wakes.
    /// See [`Engine::set_particles`].
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`], or [`Error::Model`] if a length or value is out of range; then
    /// nothing changes.
    pub fn set_particles(
        &mut self,
        id: ClothId,
        particles: &[Particle],
        motion: ParticleMotion<'_>,
    ) -> Result<(), Error> {
        on!(&mut self.engine, engine => Ok(engine.set_particles(id, particles, motion)?))
    }

    /// Simulates one frame of every cloth. The GPU backend returns before the frame is complete;
    /// [`Simulation::wait`] and [`Simulation::state`] wait for it.
    ///
    /// # Errors
    /// [`Error`] if the frame is out of range for a cloth (then no cloth moves) or the GPU failed.
    pub fn step(&mut self, dt: f32) -> Result<(), Error> {
        on!(&mut self.engine, engine => Ok(engine.step(dt)?))
    }

    /// Waits until every frame is simulated.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the GPU failed or does not answer.
    pub fn wait(&mut self) -> Result<(), Error> {
        on!(&mut self.engine, engine => Ok(engine.wait()?))
    }

    /// Waits for and reads the state of one cloth.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`], or [`Error::Gpu`] if the GPU failed or does not answer.
    pub fn read(&mut self, id: ClothId) -> Result<State, Error> {
        on!(&mut self.engine, engine => Ok(engine.read(id)?))
    }

    /// Waits for and reads the state of all cloths.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the GPU failed or does not answer.
    pub fn state(&mut self) -> Result<State, Error> {
        on!(&mut self.engine, engine => Ok(engine.state()?))
    }

    /// Requests the state of some cloths after all frames so far, without waiting:
    /// [`Reading::poll`] never blocks, [`Reading::receive`] is for `async` code.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`], or [`Error::Gpu`] if the GPU failed.
    pub fn begin_read(&mut self, ids: &[ClothId]) -> Result<Reading, Error> {
        on!(&mut self.engine, engine => Ok(engine.begin_read(ids)?.into()))
    }

    /// Handles of the cloths, in the order they were added.
    pub fn ids(&self) -> &[ClothId] {
        on!(&self.engine, engine => engine.ids())
    }

    /// Colliders in world space, shared by all cloths.
    pub fn colliders(&self) -> &ColliderSet {
        on!(&self.engine, engine => engine.colliders())
    }

    /// The shared colliders, for adding, moving and removing; changes take effect in the next
    /// frame.
    pub fn colliders_mut(&mut self) -> &mut ColliderSet {
        on!(&mut self.engine, engine => engine.colliders_mut())
    }

    /// Settings of contact between cloths.
    pub fn cloth_contact_solver(&self) -> ClothContactSolver {
        on!(&self.engine, engine => engine.cloth_contact_solver())
    }

    /// Sets the settings of contact between cloths, effective from the next frame; a cloth takes
    /// part if its `cloth_collision.distance` is above 0.
    ///
    /// # Errors
    /// [`Error::Model`] if a field is out of range; the old settings stay.
    pub fn set_cloth_contact_solver(&mut self, settings: ClothContactSolver) -> Result<(), Error> {
        on!(&mut self.engine, engine => Ok(engine.set_cloth_contact_solver(settings)?))
    }

    /// Settings, inputs and pose of a cloth.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    pub fn cloth(&self, id: ClothId) -> Result<&Cloth, Error> {
        on!(&self.engine, engine => Ok(engine.cloth(id)?))
    }

    /// Settings, inputs and pose of a cloth, mutable; changes take effect in the next frame.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    pub fn cloth_mut(&mut self, id: ClothId) -> Result<&mut Cloth, Error> {
        on!(&mut self.engine, engine => Ok(engine.cloth_mut(id)?))
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

    /// Waits for the device, then captures everything that later frames depend on, for
    /// [`Simulation::restore`]: cloths with their particles, clocks, counters, settings, inputs and
    /// colliders, the shared colliders, and the settings of contact between cloths.
    /// `Snapshot::to_bytes` serialises it (feature `save`). Impulses on bodies belong to the last
    /// frame and are not included.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the GPU failed or does not answer.
    pub fn save(&mut self) -> Result<Snapshot, Error> {
        on!(&mut self.engine, engine => Ok(engine.save()?))
    }

    /// Replaces all cloths, the shared colliders and the settings of contact between cloths by
    /// those of a snapshot, taken from this simulation or from another one on either backend. The
    /// next frames are bit-identical to those of the saved simulation if both backends round alike.
    ///
    /// Returns new handles of the cloths, in the order of [`Simulation::ids`] when the snapshot was
    /// taken; all old handles become stale. Handles of colliders and bodies refer to the same
    /// objects as when the snapshot was taken.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the new cloths do not fit in memory beside the ones they replace, or the
    /// GPU failed; nothing changes.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<Vec<ClothId>, Error> {
        on!(&mut self.engine, engine => Ok(engine.restore(snapshot)?))
    }

    /// Memory that the backend has allocated for the cloths \[bytes\], including memory kept for
    /// reuse.
    pub fn memory_bytes(&self) -> u64 {
        on!(&self.engine, engine => engine.memory_bytes())
    }
}
