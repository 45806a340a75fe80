//! One interface over both backends.

#[cfg(feature = "gpu")]
use poplin_gpu::{Headless, HeadlessOptions};
use poplin_model::{Cloth, ClothConfig, Frame, PhaseConfig};
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

/// Runs the expression on whichever backend there is; both engines have the same methods.
macro_rules! on_engine {
    ($engine:expr, $id:expr, |$cpu:ident| $on_cpu:expr, |$gpu:ident| $on_gpu:expr) => {
        match $engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu($cpu) => {
                let count = $cpu.cloth_count();
                if $id.0 >= count {
                    return Err(Error::NoSuchCloth { cloth: $id.0, count });
                }
                $on_cpu.map_err(Error::from)
            }
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => {
                let $gpu = headless.engine_mut();
                $on_gpu.map_err(Error::from)
            }
        }
    };
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
            Err(Error::Gpu(poplin_gpu::GpuError::NoAdapter { .. })) => Self::on_cpu("no real GPU was found"),
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
        let adapter = format!("{} ({:?}, {} {}{kind})", info.name, info.backend, info.driver, info.driver_info);
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
        let cloth_state = |current: &[[f32; 4]], previous: &[[f32; 4]], feedback: [u32; 3]| ClothState {
            current: current.to_vec(),
            previous: previous.to_vec(),
            fault_count: feedback[0],
            fault_particle: (feedback[0] > 0).then_some(feedback[1]),
            iteration_total: feedback[2],
        };
        let cloths = match &mut self.engine {
            #[cfg(feature = "cpu")]
            Engine::Cpu(engine) => (0..engine.cloth_count())
                .map(|cloth| {
                    let f = engine.feedback(cloth);
                    cloth_state(
                        engine.current(cloth),
                        engine.previous(cloth),
                        [f.fault_count, f.fault_particle, f.iteration_total],
                    )
                })
                .collect(),
            #[cfg(feature = "gpu")]
            Engine::Gpu(headless) => {
                let snapshot = headless.snapshot()?;
                let ids = (0..headless.engine().cloth_count()).map(poplin_gpu::ClothId);
                ids.map(|id| {
                    let f = snapshot.feedback(id);
                    let counters = [f.fault_count, f.fault_particle, f.iteration_total];
                    cloth_state(snapshot.current(id), snapshot.previous(id), counters)
                })
                .collect()
            }
        };
        Ok(State { cloths })
    }

    /// Replaces a cloth's settings from the next frame on.
    ///
    /// # Errors
    /// [`Error`] if there is no such cloth or a field is out of range.
    pub fn set_config(&mut self, cloth: ClothId, config: ClothConfig) -> Result<(), Error> {
        on_engine!(&mut self.engine, cloth, |cpu| cpu.set_config(cloth.0, config), |gpu| gpu
            .set_config(poplin_gpu::ClothId(cloth.0), config))
    }

    /// Replaces a cloth's phases and their order from the next frame on.
    ///
    /// # Errors
    /// [`Error`] if there is no such cloth, a phase does not exist or a field is out of range.
    pub fn set_phase_configs(&mut self, cloth: ClothId, configs: &[PhaseConfig]) -> Result<(), Error> {
        on_engine!(&mut self.engine, cloth, |cpu| cpu.set_phase_configs(cloth.0, configs), |gpu| gpu
            .set_phase_configs(poplin_gpu::ClothId(cloth.0), configs))
    }

    /// Replaces a cloth's particle accelerations [m/s^2], shape `[particle_count]`.
    ///
    /// # Errors
    /// [`Error`] if there is no such cloth, the length is wrong or a number is not finite.
    pub fn set_particle_accelerations(&mut self, cloth: ClothId, accelerations: &[[f32; 3]]) -> Result<(), Error> {
        on_engine!(&mut self.engine, cloth, |cpu| cpu.set_particle_accelerations(cloth.0, accelerations), |gpu| gpu
            .set_particle_accelerations(poplin_gpu::ClothId(cloth.0), accelerations))
    }

    /// Writes position \[m\] and working inverse mass [1/kg] of some particles, as an animated pin does. A pinned particle's
    /// inverse mass must stay 0.
    ///
    /// # Errors
    /// [`Error`] if there is no such cloth, an index or number is out of range, or a pinned particle is given mass.
    pub fn write_particles(&mut self, cloth: ClothId, indices: &[u32], particles: &[[f32; 4]]) -> Result<(), Error> {
        on_engine!(&mut self.engine, cloth, |cpu| cpu.write_particles(cloth.0, indices, particles), |gpu| gpu.write_particles(
            poplin_gpu::ClothId(cloth.0),
            indices,
            particles
        ))
    }
}
