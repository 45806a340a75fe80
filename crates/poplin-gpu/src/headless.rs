//! A device of one's own, for batch work and tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use poplin_model::{Cloth, Frame};

use crate::adapters::{is_software, list_adapters};
use crate::canary::{CanaryReport, run_canaries};
use crate::{
    ClothId, Engine, EngineOptions, FramePart, GpuError, Readback, ReadbackError, Snapshot,
    WantedAdapter, required_features, required_limits,
};

/// How long a wait for the GPU may take.
const WAIT: Duration = Duration::from_secs(120);

/// Which adapter to take and how to use it.
#[derive(Debug, Clone, Default)]
pub struct HeadlessOptions {
    /// Takes only an adapter whose name contains this, ignoring case.
    pub adapter_name: Option<String>,
    /// Takes only a real GPU, no software adapter.
    pub real_gpu_only: bool,
    /// Keeps to WebGPU's default limits, to test what every adapter can do.
    pub default_limits: bool,
    /// Choices of the engine.
    pub engine: EngineOptions,
}

/// An engine with its own device: submits, waits and reads back.
#[derive(Debug)]
pub struct Headless {
    engine: Engine,
    device: wgpu::Device,
    queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    canaries: CanaryReport,
    errors: Arc<Mutex<Vec<Arc<wgpu::Error>>>>,
    readback: Option<Readback>,
}

impl Headless {
    /// Takes the best adapter, runs the canaries on it and makes an engine.
    ///
    /// # Errors
    /// [`GpuError`] if there is no such adapter, it gives no device, or it fails a canary.
    pub fn new(options: HeadlessOptions) -> Result<Self, GpuError> {
        let adapter = Self::choose_adapter(&options)?;
        Self::with_adapter(&adapter, options)
    }

    fn choose_adapter(options: &HeadlessOptions) -> Result<wgpu::Adapter, GpuError> {
        let wanted_name = options.adapter_name.as_deref().map(str::to_lowercase);
        let fits = |adapter: &wgpu::Adapter| {
            let info = adapter.get_info();
            let named =
                wanted_name.as_ref().is_none_or(|wanted| info.name.to_lowercase().contains(wanted));
            named && !(options.real_gpu_only && is_software(&info))
        };
        list_adapters().into_iter().find(fits).ok_or_else(|| GpuError::NoAdapter {
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

    /// Makes a device and an engine on a given adapter.
    ///
    /// # Errors
    /// [`GpuError`] if the adapter gives no device or fails a canary.
    pub fn with_adapter(
        adapter: &wgpu::Adapter,
        mut options: HeadlessOptions,
    ) -> Result<Self, GpuError> {
        let info = adapter.get_info();
        let limits =
            if options.default_limits { wgpu::Limits::default() } else { required_limits(adapter) };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("poplin.headless"),
            required_features: required_features(adapter),
            required_limits: limits,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|source| GpuError::NoDevice { adapter: info.name.clone(), source })?;
        let errors = Arc::new(Mutex::new(Vec::new()));
        let sink = errors.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            log::error!("{error}");
            if let Ok(mut errors) = sink.lock() {
                errors.push(Arc::new(error));
            }
        }));
        let canaries = run_canaries(&device, &queue)?;
        canaries.check(&info.name)?;
        if let Some(limit) = canaries.engine_loop_limit() {
            log::warn!(
                "{} stops loops at {} trips; frames are split into more dispatches",
                info.name,
                canaries.loop_limit.unwrap_or(limit)
            );
            let given = options.engine.loop_limit.unwrap_or(u64::MAX);
            options.engine.loop_limit = Some(limit.min(given));
        }
        let engine = Engine::new(&device, &queue, options.engine)?;
        let headless = Self { engine, device, queue, info, canaries, errors, readback: None };
        headless.check_errors()?;
        Ok(headless)
    }

    /// The engine, for settings and buffers.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine, for settings and writes.
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Name, driver and backend of the adapter.
    pub fn adapter_info(&self) -> &wgpu::AdapterInfo {
        &self.info
    }

    /// What the canaries found.
    pub fn canaries(&self) -> &CanaryReport {
        &self.canaries
    }

    /// Adds a cloth.
    ///
    /// # Errors
    /// [`GpuError`] if the cloth is not valid or too large for the device.
    pub fn add(&mut self, cloth: Cloth) -> Result<ClothId, GpuError> {
        self.readback = None;
        let id = self.engine.add(cloth)?;
        self.check_errors()?;
        Ok(id)
    }

    /// Submits one frame of every cloth; does not wait for it.
    ///
    /// # Errors
    /// [`GpuError`] if the frame is out of range or the device reported an error.
    pub fn step(&mut self, frame: &Frame) -> Result<(), GpuError> {
        let mut encoder = self.encoder();
        self.engine.encode_frame(&mut encoder, frame)?;
        self.queue.submit([encoder.finish()]);
        self.check_errors()
    }

    #[cfg(feature = "testing")]
    /// Submits a part of a frame begun with [`Engine::begin_frame`].
    ///
    /// # Errors
    /// [`GpuError`] if the device reported an error.
    pub fn step_part(&mut self, part: &FramePart) -> Result<(), GpuError> {
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

    /// Waits until everything submitted is done.
    ///
    /// # Errors
    /// [`GpuError::Timeout`] after two minutes, [`GpuError::Device`] if the device is lost.
    pub fn wait(&self) -> Result<(), GpuError> {
        wait(&self.device)?;
        self.check_errors()
    }

    /// Waits for everything submitted and reads the state of all cloths.
    ///
    /// # Errors
    /// [`GpuError`] if the device is lost or does not answer.
    pub fn snapshot(&mut self) -> Result<Snapshot, GpuError> {
        let readback = match self.readback.take() {
            Some(readback) if readback.fits(&self.engine) => readback,
            _ => Readback::new(&self.engine)?,
        };
        let mut encoder = self.encoder();
        readback.encode(&self.engine, &mut encoder);
        self.queue.submit([encoder.finish()]);
        let snapshot = {
            // The first poll of the future asks for the mapping; then the device is driven until it has answered.
            let mut reading = std::pin::pin!(readback.read());
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            match reading.as_mut().poll(&mut context) {
                std::task::Poll::Ready(result) => result,
                std::task::Poll::Pending => {
                    wait(&self.device)?;
                    pollster::block_on(reading)
                }
            }
        }?;
        self.readback = Some(readback);
        self.engine.note_feedback(&snapshot);
        self.check_errors()?;
        Ok(snapshot)
    }

    #[cfg(feature = "testing")]
    /// Waits for everything submitted and reads a buffer of the engine, for tests.
    ///
    /// # Errors
    /// [`GpuError`] if the device is lost or does not answer.
    pub fn read_buffer(&self, buffer: &wgpu::Buffer) -> Result<Vec<u8>, GpuError> {
        let staging = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("poplin.headless.staging"),
            size: buffer.size(),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, buffer.size());
        self.queue.submit([encoder.finish()]);
        map_and_read(&self.device, &staging)
    }

    fn check_errors(&self) -> Result<(), GpuError> {
        let Ok(mut errors) = self.errors.lock() else { return Ok(()) };
        if errors.is_empty() { Ok(()) } else { Err(GpuError::Device(errors.remove(0))) }
    }
}

fn wait(device: &wgpu::Device) -> Result<(), GpuError> {
    match device.poll(wgpu::PollType::Wait { submission_index: None, timeout: Some(WAIT) }) {
        Ok(_) => Ok(()),
        Err(wgpu::PollError::Timeout) => Err(GpuError::Timeout { seconds: WAIT.as_secs() }),
        Err(error) => Err(GpuError::Poll(Arc::new(error))),
    }
}

/// Maps a submitted staging buffer, waits and gives its bytes.
pub(crate) fn map_and_read(
    device: &wgpu::Device,
    staging: &wgpu::Buffer,
) -> Result<Vec<u8>, GpuError> {
    let result = Arc::new(Mutex::new(None));
    let sink = result.clone();
    staging.map_async(wgpu::MapMode::Read, .., move |mapped| {
        if let Ok(mut result) = sink.lock() {
            *result = Some(mapped);
        }
    });
    wait(device)?;
    let mapped = result.lock().ok().and_then(|mut result| result.take());
    mapped.ok_or(ReadbackError::NoAnswer)?.map_err(ReadbackError::from)?;
    let view = staging.get_mapped_range(..).map_err(ReadbackError::from)?;
    Ok(view.to_vec())
}
