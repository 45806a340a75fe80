//! One interface over both backends.

#[cfg(feature = "gpu")]
use poplin_gpu::{Headless, HeadlessOptions};
use poplin_host::HostCloth;
use poplin_model::{Cloth, ClothCollision, Frame};
#[cfg(feature = "cpu")]
use poplin_reference::ReferenceEngine;

use crate::state::ClothState;
use crate::{Backend, BackendChoice, Error, State};

/// Number of a cloth in its simulation, in the order of adding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClothId(pub usize);

/// Choices at the simulation's creation.
#[derive(Debug, Clone, Default)]
pub struct SimulationOptions {
    /// Where to run.
    pub backend: Backend,
    /// Choices of the GPU backend.
    #[cfg(feature = "gpu")]
    pub gpu: HeadlessOptions,
}

impl From<Backend> for SimulationOptions {
    fn from(backend: Backend) -> Self {
        Self { backend, ..Self::default() }
    }
}

enum Engine {
    #[cfg(feature = "cpu")]
    Cpu(ReferenceEngine),
    #[cfg(feature = "gpu")]
    Gpu(Box<Headless>),
}

/// Cloths on one backend.
pub struct Simulation {
    engine: Engine,
    choice: BackendChoice,
}

impl Simulation {
    /// A simulation without cloths. `options` may be just a [`Backend`].
    ///
    /// # Errors
    /// [`Error::Gpu`] if [`Backend::Gpu`] finds no adapter that passes the canaries; [`Error::NotBuilt`].
    pub fn new(options: impl Into<SimulationOptions>) -> Result<Self, Error> {
        let options = options.into();
        match options.backend {
            Backend::Cpu => Self::on_cpu("asked for"),
            Backend::Gpu => Self::on_gpu(&options, "asked for"),
            Backend::Auto => Self::on_best(options),
        }
    }

    #[cfg(feature = "gpu")]
    fn on_best(mut options: SimulationOptions) -> Result<Self, Error> {
        if std::env::var("POPLIN_GPU").is_ok_and(|value| value == "off") {
            return Self::on_cpu("POPLIN_GPU=off");
        }
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
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let adapter = format!("{threads} CPU threads");
        let choice = BackendChoice { backend: Backend::Cpu, adapter, reason: reason.to_owned() };
        Ok(Self { engine: Engine::Cpu(ReferenceEngine::new()), choice })
    }

    #[cfg(not(feature = "cpu"))]
    fn on_cpu(_reason: &str) -> Result<Self, Error> {
        Err(Error::NotBuilt { backend: "CPU", feature: "cpu" })
    }

    #[cfg(feature = "gpu")]
    fn on_gpu(options: &SimulationOptions, reason: &str) -> Result<Self, Error> {
        let headless = Headless::new(options.gpu.clone())?;
        let info = headless.adapter_info();
        let kind = if poplin_gpu::is_software(info) { ", a software adapter" } else { "" };
        let adapter = format!("{}, {:?} {}{kind}", info.name, info.backend, info.driver_info);
        let choice = BackendChoice { backend: Backend::Gpu, adapter, reason: reason.to_owned() };
        Ok(Self { engine: Engine::Gpu(Box::new(headless)), choice })
    }

    #[cfg(not(feature = "gpu"))]
    fn on_gpu(_options: &SimulationOptions, _reason: &str) -> Result<Self, Error> {
        Err(Error::NotBuilt { backend: "GPU", feature: "gpu" })
    }

    /// Where the simulation runs, and why there.
    pub fn backend(&self) -> &BackendChoice {
        &self.choice
    }

    /// Adds a cloth.
    ///
    /// # Errors
    /// [`Error`] if the cloth is not valid or too large for the adapter; nothing is added.
    pub fn add(&mut self, cloth: Cloth) -> Result<ClothId, Error> {
        match &mut self.engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu(engine) => Ok(ClothId(engine.add(cloth)?)),
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => Ok(ClothId(headless.add(cloth)?.0)),
        }
    }

    /// Simulates one frame of every cloth. The GPU backend returns before it is done; [`Simulation::wait`] or
    /// [`Simulation::state`] wait.
    ///
    /// # Errors
    /// [`Error`] if the frame is out of range for a cloth (then no cloth moves) or the GPU failed.
    pub fn step(&mut self, frame: &Frame) -> Result<(), Error> {
        match &mut self.engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu(engine) => Ok(engine.step(frame)?),
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => Ok(headless.step(frame)?),
        }
    }

    /// Waits until every frame is simulated.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the GPU failed or does not answer.
    pub fn wait(&mut self) -> Result<(), Error> {
        match &mut self.engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu(_) => Ok(()),
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => Ok(headless.wait()?),
        }
    }

    /// Waits for and reads the state of all cloths.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the GPU failed or does not answer.
    pub fn state(&mut self) -> Result<State, Error> {
        let cloths = match &mut self.engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu(engine) => (0..engine.cloth_count())
                .map(|id| {
                    let skipped = engine.cloth(id).map_or(0, HostCloth::skipped_frames);
                    ClothState::new(
                        engine.current(id),
                        engine.previous(id),
                        engine.feedback(id),
                        skipped,
                    )
                    .with_impulses(engine.body_impulses(id))
                })
                .collect(),
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => {
                let snapshot = headless.snapshot()?;
                let ids = (0..headless.engine().cloth_count()).map(poplin_gpu::ClothId);
                ids.map(|id| {
                    let skipped = headless.engine().cloth(id).map_or(0, HostCloth::skipped_frames);
                    ClothState::new(
                        snapshot.current(id),
                        snapshot.previous(id),
                        snapshot.feedback(id),
                        skipped,
                    )
                    .with_impulses(snapshot.body_impulses(id))
                })
                .collect()
            }
        };
        Ok(State { cloths })
    }

    /// How cloths collide with one another.
    pub fn cloth_collision(&self) -> ClothCollision {
        match &self.engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu(engine) => engine.cloth_collision(),
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => headless.engine().cloth_collision(),
        }
    }

    /// Sets how cloths collide with one another, from the next frame on; cloths take part by their
    /// `cloth_collision_distance`.
    ///
    /// # Errors
    /// [`Error::Model`] if a field is out of range; the old settings stay.
    pub fn set_cloth_collision(&mut self, settings: ClothCollision) -> Result<(), Error> {
        match &mut self.engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu(engine) => Ok(engine.set_cloth_collision(settings)?),
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => Ok(headless.engine_mut().set_cloth_collision(settings)?),
        }
    }

    /// A cloth's host side: settings, inputs, local frame.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    pub fn cloth(&self, cloth: ClothId) -> Result<&HostCloth, Error> {
        match &self.engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu(engine) => Ok(engine.cloth(cloth.0)?),
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => Ok(headless.engine().cloth(poplin_gpu::ClothId(cloth.0))?),
        }
    }

    /// A cloth's host side, to change settings, inputs and the local frame; changes act from the next frame on.
    ///
    /// # Errors
    /// [`Error::NoSuchCloth`].
    pub fn cloth_mut(&mut self, cloth: ClothId) -> Result<&mut HostCloth, Error> {
        match &mut self.engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu(engine) => Ok(engine.cloth_mut(cloth.0)?),
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => {
                Ok(headless.engine_mut().cloth_mut(poplin_gpu::ClothId(cloth.0))?)
            }
        }
    }
}
