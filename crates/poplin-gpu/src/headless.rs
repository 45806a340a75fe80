//! An engine with its own device, for batch work and tests.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use poplin_host::{Cloth, ClothId, ParticleMotion, Reading, Snapshot, State, Transfer};
use poplin_model::{ClothContactSolver, ClothDesc, ColliderSet, Particle};

use crate::adapters::{is_software, list_adapters, may_have_gpu};
use crate::canary::{CanaryReport, run_canaries};
use crate::readback::{NO_ANSWER, unread};
use crate::timer::{self, Timer};
use crate::{
    Compilation, EngineOptions, Error, GpuEngine, Readback, WantedAdapter, required_features,
    required_limits,
};

/// Longest wait for the GPU.
const WAIT: Duration = Duration::from_secs(120);

/// Options of a [`Headless`] engine: its adapter and how the engine uses it.
#[derive(Debug, Clone)]
pub struct HeadlessOptions {
    /// Accepts only an adapter whose name contains this text, ignoring case.
    pub adapter_name: Option<String>,
    /// Accepts only a real GPU, no software adapter.
    pub real_gpu_only: bool,
    /// Requests only WebGPU's default limits, to test the baseline of every adapter.
    pub default_limits: bool,
    /// Options of the engine. By default its kernels are compiled when a frame first needs them,
    /// which avoids compiling for a cloth whose colliders are added later.
    pub engine: EngineOptions,
}

impl Default for HeadlessOptions {
    fn default() -> Self {
        Self {
            adapter_name: None,
            real_gpu_only: false,
            default_limits: false,
            engine: EngineOptions {
                compilation: Compilation::WhenNeeded,
                ..EngineOptions::default()
            },
        }
    }
}

/// Reports of a device outside of calls.
#[derive(Debug, Default)]
struct DeviceReports {
    /// Errors that no call has returned yet.
    errors: Mutex<Vec<Arc<wgpu::Error>>>,
    /// Reason for which the device is lost, once it is.
    lost: OnceLock<String>,
}

/// Engine with its own device: it submits, waits and reads back.
#[derive(Debug)]
pub struct Headless {
    engine: GpuEngine,
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    canaries: CanaryReport,
    reports: Arc<DeviceReports>,
    readback: Readback,
    timer: Option<Timer>,
}

impl Headless {
    /// Chooses the best adapter, runs the canaries on it and creates an engine.
    ///
    /// # Errors
    /// [`Error`] if there is no such adapter, it creates no device, or it fails a canary.
    pub fn new(options: HeadlessOptions) -> Result<Self, Error> {
        let adapter = Self::choose_adapter(&options)?;
        Self::with_adapter(&adapter, options)
    }

    fn choose_adapter(options: &HeadlessOptions) -> Result<wgpu::Adapter, Error> {
        let wanted_name = options.adapter_name.as_deref().map(str::to_lowercase);
        let fits = |adapter: &wgpu::Adapter| {
            let info = adapter.get_info();
            let named =
                wanted_name.as_ref().is_none_or(|wanted| info.name.to_lowercase().contains(wanted));
            named && !(options.real_gpu_only && is_software(&info))
        };
        // Without a GPU device file, listing adapters would only start drivers in vain.
        let is_hopeless = options.real_gpu_only && !may_have_gpu();
        let adapters = if is_hopeless { Vec::new() } else { list_adapters() };
        adapters.into_iter().find(fits).ok_or_else(|| Error::NoAdapter {
            wanted: match (&options.adapter_name, options.real_gpu_only) {
                (Some(name), _) => WantedAdapter::Named {
                    name: name.clone(),
                    present: list_adapters()
                        .iter()
                        .map(|adapter| adapter.get_info().name)
                        .collect(),
                },
                (None, true) => WantedAdapter::RealGpu,
                (None, false) => WantedAdapter::Any,
            },
        })
    }

    /// Creates a device and an engine on a given adapter.
    ///
    /// # Errors
    /// [`Error`] if the adapter creates no device or fails a canary.
    pub fn with_adapter(adapter: &wgpu::Adapter, options: HeadlessOptions) -> Result<Self, Error> {
        let info = adapter.get_info();
        let limits =
            if options.default_limits { wgpu::Limits::default() } else { required_limits(adapter) };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("poplin.headless"),
            required_features: required_features(adapter) | timer::FEATURES & adapter.features(),
            required_limits: limits,
            ..Default::default()
        };
        let (device, queue) =
            pollster::block_on(adapter.request_device(&descriptor)).map_err(|source| {
                Error::NoDevice { adapter: info.name.clone(), source: Arc::new(source) }
            })?;
        let reports = Arc::new(DeviceReports::default());
        let sink = reports.clone();
        // wgpu reports errors asynchronously; the next call of check_errors returns them.
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            log::error!("{error}");
            if let Ok(mut errors) = sink.errors.lock() {
                errors.push(Arc::new(error));
            }
        }));
        let sink = reports.clone();
        device.set_device_lost_callback(move |_, reason| {
            log::error!("the device is lost: {reason}");
            sink.lost.get_or_init(|| reason);
        });
        Self::with_errors(device, queue, options.engine, info, reports)
    }

    /// Creates an engine on a device of the application, which can then draw the engine's buffers.
    /// Errors of the device go to the application's own handler.
    ///
    /// # Errors
    /// [`Error`] if the device is below WebGPU's default limits or fails a canary.
    pub fn with_device(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        options: EngineOptions,
    ) -> Result<Self, Error> {
        let (device, queue, info) = (device.clone(), queue.clone(), device.adapter_info());
        Self::with_errors(device, queue, options, info, Arc::default())
    }

    fn with_errors(
        device: wgpu::Device,
        queue: wgpu::Queue,
        mut options: EngineOptions,
        info: wgpu::AdapterInfo,
        reports: Arc<DeviceReports>,
    ) -> Result<Self, Error> {
        let canaries = run_canaries(&device, &queue)?;
        canaries.check(&info.name)?;
        if let Some(limit) = canaries.engine_loop_limit() {
            log::warn!(
                "{} stops loops at {} trips; frames are split into more dispatches",
                info.name,
                canaries.loop_limit.unwrap_or(limit)
            );
            // The stricter of the measured and the requested limit.
            let chosen = options.loop_limit.unwrap_or(u64::MAX);
            options.loop_limit = Some(limit.min(chosen));
        }
        let engine = GpuEngine::new(&device, &queue, options)?;
        let readback = Readback::new();
        let timer = Timer::new(&device, &queue);
        let headless = Self { engine, device, queue, info, canaries, reports, readback, timer };
        headless.check_errors()?;
        Ok(headless)
    }

    /// Engine, for reading settings and buffers.
    pub fn engine(&self) -> &GpuEngine {
        &self.engine
    }

    /// Engine, for changing settings and writing inputs.
    pub fn engine_mut(&mut self) -> &mut GpuEngine {
        &mut self.engine
    }

    /// Name, driver and backend of the adapter.
    pub fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.info
    }

    /// Results of the canaries.
    pub fn canaries(&self) -> &CanaryReport {
        &self.canaries
    }

    /// Device on which the engine runs.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Queue to which frames are submitted.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// Waits for the last stepped frame and returns its duration on the device's clock. `None`
    /// before the first frame, and without timestamps
    /// ([`wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS`], which [`Headless::with_adapter`]
    /// requests).
    ///
    /// # Errors
    /// [`Error`] if the device is lost or does not answer.
    pub fn frame_time(&self) -> Result<Option<Duration>, Error> {
        self.timer.as_ref().map_or(Ok(None), |timer| timer.read(&self.device, &self.queue))
    }

    /// Copies 128 MiB within the device several times, waits, and returns the best total rate of
    /// reads and writes [bytes/s] on the device's clock, as a measure of memory bandwidth. `None`
    /// without timestamps, like [`Headless::frame_time`].
    ///
    /// # Errors
    /// [`Error`] if the device has no such memory, is lost or does not answer.
    pub fn copy_rate(&self) -> Result<Option<f64>, Error> {
        let timer = Timer::new(&self.device, &self.queue);
        let rate = timer.map(|mut timer| timer.copy_rate(&self.device, &self.queue)).transpose()?;
        self.check_errors().map(|()| rate)
    }

    #[cfg(feature = "testing")]
    /// Submits a part of a frame begun with [`GpuEngine::begin_frame`].
    ///
    /// # Errors
    /// [`Error`] if the device reported an error.
    pub fn step_part(&mut self, part: &crate::FramePart) -> Result<(), Error> {
        let mut encoder = self.encoder();
        self.engine.encode_part(&mut encoder, part)?;
        self.queue.submit([encoder.finish()]);
        self.check_errors()
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
            label: Some("poplin.headless"),
        })
    }

    /// Submits a copy of some cloths' state to a staging buffer and requests its mapping.
    fn submit_readback(&mut self, readback: &mut Readback, ids: &[ClothId]) -> Result<(), Error> {
        let mut encoder = self.encoder();
        readback.encode(&mut self.engine, ids, &mut encoder)?;
        self.queue.submit([encoder.finish()]);
        readback.request();
        self.check_errors()
    }

    fn read_now(&mut self, ids: &[ClothId]) -> Result<State, Error> {
        // Taken out, as encoding borrows the engine mutably.
        let mut readback = std::mem::take(&mut self.readback);
        self.submit_readback(&mut readback, ids)?;
        let waited = wait(&self.device);
        let read = waited.and_then(|()| pollster::block_on(readback.read()));
        let state = self.check_lost().and(read)?;
        self.readback = readback;
        self.engine.note_feedback(&state);
        self.check_errors()?;
        Ok(state)
    }

    /// Waits for everything submitted and reads a buffer of the device, which can be copied from.
    ///
    /// # Errors
    /// [`Error`] if the device is lost or does not answer.
    pub fn read_buffer(&self, buffer: &wgpu::Buffer) -> Result<Vec<u8>, Error> {
        read_buffer(&self.device, &self.queue, buffer)
    }

    /// Returns that the device is lost, if it is: other errors follow from it.
    fn check_lost(&self) -> Result<(), Error> {
        self.reports
            .lost
            .get()
            .map_or(Ok(()), |reason| Err(Error::DeviceLost { reason: reason.clone() }))
    }

    fn check_errors(&self) -> Result<(), Error> {
        let error = match self.reports.errors.lock() {
            Ok(mut errors) if !errors.is_empty() => Err(Error::Device(errors.remove(0))),
            _ => Ok(()),
        };
        if error.is_err() {
            // A lost device is reported while polling; what it refused before follows from that.
            _ = self.device.poll(wgpu::PollType::Poll);
        }
        self.check_lost().and(error)
    }
}

impl poplin_host::Engine for Headless {
    fn add(&mut self, cloth: ClothDesc) -> Result<ClothId, Error> {
        let id = self.engine.add(cloth)?;
        self.check_errors().map(|()| id)
    }

    fn clone_cloth(&mut self, id: ClothId, count: usize) -> Result<Vec<ClothId>, Error> {
        let ids = self.engine.clone_cloth(id, count)?;
        self.check_errors().map(|()| ids)
    }

    fn remove(&mut self, id: ClothId) -> Result<(), Error> {
        self.engine.remove(id)
    }

    fn clear(&mut self) {
        self.engine.clear();
    }

    fn reset(&mut self, id: ClothId) -> Result<(), Error> {
        self.engine.reset(id)
    }

    fn set_particles(
        &mut self,
        id: ClothId,
        particles: &[Particle],
        motion: ParticleMotion<'_>,
    ) -> Result<(), Error> {
        self.engine.set_particles(id, particles, motion)
    }

    /// Submits one frame of every cloth, without waiting for it.
    fn step(&mut self, dt: f32) -> Result<(), Error> {
        let mut encoder = self.encoder();
        if let Some(timer) = &self.timer {
            timer.start(&mut encoder);
        }
        let encoded = self.engine.encode_frame(&mut encoder, dt);
        self.check_lost().and(encoded)?;
        if let Some(timer) = &mut self.timer {
            timer.stop(&mut encoder);
        }
        self.queue.submit([encoder.finish()]);
        self.check_errors()
    }

    /// Waits for up to two minutes.
    fn wait(&mut self) -> Result<(), Error> {
        let waited = wait(&self.device);
        self.check_errors().and(waited)
    }

    fn begin_read(&mut self, ids: &[ClothId]) -> Result<Reading, Error> {
        let mut readback = Readback::new();
        self.submit_readback(&mut readback, ids)?;
        Ok(Reading::new(ReadbackTransfer { device: self.device.clone(), readback }))
    }

    fn read(&mut self, id: ClothId) -> Result<State, Error> {
        self.read_now(&[id])
    }

    fn state(&mut self) -> Result<State, Error> {
        let ids = self.engine.ids().to_vec();
        self.read_now(&ids)
    }

    fn ids(&self) -> &[ClothId] {
        self.engine.ids()
    }

    fn cloth(&self, id: ClothId) -> Result<&Cloth, Error> {
        Ok(self.engine.cloth(id)?)
    }

    fn cloth_mut(&mut self, id: ClothId) -> Result<&mut Cloth, Error> {
        Ok(self.engine.cloth_mut(id)?)
    }

    fn colliders(&self) -> &ColliderSet {
        self.engine.colliders()
    }

    fn colliders_mut(&mut self) -> &mut ColliderSet {
        self.engine.colliders_mut()
    }

    fn cloth_contact_solver(&self) -> ClothContactSolver {
        self.engine.cloth_contact_solver()
    }

    fn set_cloth_contact_solver(&mut self, settings: ClothContactSolver) -> Result<(), Error> {
        self.engine.set_cloth_contact_solver(settings)
    }

    fn save(&mut self) -> Result<Snapshot, Error> {
        let mut encoder = self.encoder();
        let mut pending = self.engine.encode_save(&mut encoder)?;
        self.queue.submit([encoder.finish()]);
        pending.request();
        self.wait()?;
        pollster::block_on(pending.receive())
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<Vec<ClothId>, Error> {
        let ids = self.engine.restore(snapshot)?;
        self.check_errors().map(|()| ids)
    }

    fn memory_bytes(&self) -> u64 {
        self.engine.memory_bytes()
    }
}

/// State in transfer from the device.
#[derive(Debug)]
struct ReadbackTransfer {
    device: wgpu::Device,
    readback: Readback,
}

impl Transfer for ReadbackTransfer {
    fn poll(&mut self) -> Result<Option<State>, Error> {
        self.device.poll(wgpu::PollType::Poll).map_err(|error| Error::Poll(Arc::new(error)))?;
        self.readback.poll()
    }

    fn receive(mut self: Box<Self>) -> Pin<Box<dyn Future<Output = Result<State, Error>> + Send>> {
        Box::pin(async move { self.readback.read().await })
    }
}

fn wait(device: &wgpu::Device) -> Result<(), Error> {
    match device.poll(wgpu::PollType::Wait { submission_index: None, timeout: Some(WAIT) }) {
        Ok(_) => Ok(()),
        Err(wgpu::PollError::Timeout) => Err(Error::Timeout { seconds: WAIT.as_secs() }),
        Err(error) => Err(Error::Poll(Arc::new(error))),
    }
}

/// Waits for everything submitted and reads a buffer.
pub(crate) fn read_buffer(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    buffer: &wgpu::Buffer,
) -> Result<Vec<u8>, Error> {
    // Storage buffers cannot be mapped, so the contents go through a staging buffer.
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("poplin.staging"),
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
    queue.submit([encoder.finish()]);
    let result = Arc::new(Mutex::new(None));
    let sink = result.clone();
    staging.map_async(wgpu::MapMode::Read, .., move |mapped| {
        if let Ok(mut result) = sink.lock() {
            *result = Some(mapped);
        }
    });
    wait(device)?;
    let mapped = result.lock().ok().and_then(|mut result| result.take());
    mapped.ok_or_else(|| unread(NO_ANSWER))?.map_err(unread)?;
    let view = staging.get_mapped_range(..).map_err(unread)?;
    Ok(view.to_vec())
}
