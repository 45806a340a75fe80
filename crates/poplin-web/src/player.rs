//! Player of a scene: simulation, camera and dragging.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use glam::{DVec3, Quat};
use poplin::gpu::{
    EngineOptions, GpuEngine, Readback, RenderId, RenderMeshes, RenderOptions, required_features,
    required_limits, wgpu,
};
use poplin::model::{FixedStep, Particle, Pose};
use poplin::{ClothId, Drag, Sight, pick_cloth};
use poplin_picture::Orbit;

use crate::renderer::{Picture, Renderer};
use crate::{FRAME_RATE, Scene, WebError};

/// Most frames simulated per picture; a slow device runs in slow motion.
const MAX_STEPS: u32 = 2;

/// Most unfinished pictures on the device; more would only add lag to the pointer.
const MAX_PENDING: usize = 2;

/// Lowest elevation of the camera \[degrees\]: the ground is drawn from above.
const LOWEST: f64 = 1.0;

/// Player of one scene at a time on one device.
pub struct Player {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// First error of the device.
    device_error: Arc<Mutex<Option<String>>>,
    renderer: Renderer,
    size: [u32; 2],
    orbit: Orbit,
    engine: GpuEngine,
    meshes: RenderMeshes,
    scene: Scene,
    cloth: ClothId,
    drawn: RenderId,
    clock: FixedStep,
    /// Real time not yet simulated \[s\].
    seconds: f64,
    pending: Arc<AtomicUsize>,
    /// Number of simulated frames.
    frame: u32,
    /// Poses of the cloth before and after the last frame.
    poses: [Pose; 2],
    readback: Readback,
    is_reading: bool,
    /// Particles that were read last; empty before the first read.
    particles: Vec<Particle>,
    held: Option<Drag>,
    /// Position of the pointer in the picture \[pixels\].
    pointer: [f64; 2],
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player").field("frame", &self.frame).field("engine", &self.engine).finish()
    }
}

impl Player {
    /// Opens a device and a scene. Pictures have this sRGB format and this size in pixels.
    ///
    /// # Errors
    /// [`WebError`] if there is no such scene, or the adapter cannot run it.
    pub async fn new(
        adapter: &wgpu::Adapter,
        format: wgpu::TextureFormat,
        size: [u32; 2],
        scene: &str,
    ) -> Result<Self, WebError> {
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("poplin.web"),
                required_features: required_features(adapter),
                required_limits: required_limits(adapter),
                ..Default::default()
            })
            .await?;
        let device_error = Arc::new(Mutex::new(None));
        let first = device_error.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            if let Ok(mut first) = first.lock() {
                first.get_or_insert(error.to_string());
            }
        }));
        let options =
            EngineOptions { frames_per_submit: MAX_STEPS as usize, ..EngineOptions::default() };
        let mut engine = GpuEngine::new(&device, &queue, options)?;
        let mut meshes = RenderMeshes::new(&device, &queue, RenderOptions::default())?;
        let scene = Scene::new(scene)?;
        let (cloth, drawn) = add(&mut engine, &mut meshes, &scene)?;
        let mut player = Self {
            renderer: Renderer::new(&device, &queue, format),
            device,
            queue,
            device_error,
            size,
            orbit: Orbit::framing(scene.framed.map(DVec3::from), scene.view, [1.0; 2]),
            engine,
            meshes,
            poses: [scene.cloth.pose; 2],
            scene,
            cloth,
            drawn,
            clock: FixedStep::new(1.0 / FRAME_RATE, MAX_STEPS)?,
            seconds: 0.0,
            pending: Arc::default(),
            frame: 0,
            readback: Readback::of_current(),
            is_reading: false,
            particles: Vec::new(),
            held: None,
            pointer: [0.0; 2],
        };
        player.frame_scene();
        Ok(player)
    }

    /// Returns the device of simulation and drawing.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Replaces or restarts the scene.
    ///
    /// # Errors
    /// [`WebError::NoSuchScene`]; the old scene stays.
    pub fn open(&mut self, scene: &str) -> Result<(), WebError> {
        let scene = Scene::new(scene)?;
        self.engine.clear();
        self.meshes.remove(self.drawn)?;
        (self.cloth, self.drawn) = add(&mut self.engine, &mut self.meshes, &scene)?;
        self.poses = [scene.cloth.pose; 2];
        self.scene = scene;
        self.clock = FixedStep::new(1.0 / FRAME_RATE, MAX_STEPS)?;
        self.frame = 0;
        (self.readback, self.is_reading) = (Readback::of_current(), false);
        self.particles.clear();
        self.held = None;
        self.frame_scene();
        Ok(())
    }

    /// Sets the size of the pictures \[pixels\].
    pub fn resize(&mut self, size: [u32; 2]) {
        self.size = size;
    }

    /// Returns the number of frames simulated so far.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    /// Advances real time by `seconds`. Returns true if the device is ready for [`Player::play`].
    pub fn advance(&mut self, seconds: f64) -> bool {
        self.seconds += seconds;
        self.pending.load(Ordering::Relaxed) < MAX_PENDING
    }

    /// Simulates the due frames and draws.
    ///
    /// # Errors
    /// [`WebError`] if the engine or the device failed.
    pub fn play(&mut self, target: &wgpu::TextureView) -> Result<(), WebError> {
        let steps = self.clock.advance(std::mem::take(&mut self.seconds));
        self.show(steps.count, steps.alpha, target)
    }

    /// Simulates `count` frames, at most two, and draws the last one.
    ///
    /// # Errors
    /// [`WebError`] if the engine or the device failed.
    pub fn step(&mut self, count: u32, target: &wgpu::TextureView) -> Result<(), WebError> {
        self.show(count.min(MAX_STEPS), 1.0, target)
    }

    fn show(&mut self, count: u32, alpha: f32, target: &wgpu::TextureView) -> Result<(), WebError> {
        self.check_device()?;
        self.take_particles()?;
        let label = Some("poplin.web");
        let mut encoder =
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
        for _ in 0..count {
            self.follow_pointer()?;
            let cloth = self.engine.cloth_mut(self.cloth)?;
            self.scene.prepare(cloth, self.frame)?;
            self.meshes.encode_frame(&mut self.engine, &mut encoder, self.clock.dt())?;
            self.frame += 1;
            let pose = self.engine.cloth(self.cloth)?.pose();
            self.poses = [self.poses[1], pose];
        }
        self.meshes.encode(&mut encoder, self.engine.particle_buffer(), alpha)?;
        // Only one read is in flight at a time.
        let is_copied = !self.is_reading;
        if is_copied {
            self.readback.encode(&mut self.engine, &[self.cloth], &mut encoder)?;
        }
        let picture = Picture {
            orbit: &self.orbit,
            size: self.size,
            meshes: &self.meshes,
            cloth: self.drawn,
            world_from_cloth: between(self.poses, alpha),
        };
        self.renderer.draw(&mut encoder, target, &picture)?;
        self.queue.submit([encoder.finish()]);
        // Counts unfinished pictures, so that `advance` skips pictures on a slow device.
        self.pending.fetch_add(1, Ordering::Relaxed);
        let pending = self.pending.clone();
        self.queue.on_submitted_work_done(move || {
            pending.fetch_sub(1, Ordering::Relaxed);
        });
        if is_copied {
            self.readback.request();
            self.is_reading = true;
        }
        self.check_device()
    }

    /// Returns the first device error since the last check, which explains results that never
    /// arrive.
    fn check_device(&self) -> Result<(), WebError> {
        let device_error = self.device_error.lock().ok().and_then(|mut first| first.take());
        device_error.map_or(Ok(()), |message| Err(WebError::Device { message }))
    }

    /// Stores the particles of a finished read.
    fn take_particles(&mut self) -> Result<(), WebError> {
        if self.is_reading
            && let Some(state) = self.readback.poll()?
        {
            self.is_reading = false;
            self.particles = state.current(self.cloth).to_vec();
        }
        Ok(())
    }

    /// Reads the current particles. In a browser they arrive by themselves; elsewhere the device
    /// must be polled.
    ///
    /// # Errors
    /// [`WebError`] if the device was lost.
    pub async fn read(&mut self) -> Result<Vec<Particle>, WebError> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut readback = Readback::of_current();
        readback.encode(&mut self.engine, &[self.cloth], &mut encoder)?;
        self.queue.submit([encoder.finish()]);
        Ok(readback.read().await?.current(self.cloth).to_vec())
    }

    /// Presses the pointer at a pixel and grabs the cloth there, if any. Returns true if cloth is
    /// held.
    ///
    /// # Errors
    /// [`WebError`] if the scene has lost its cloth.
    pub fn press(&mut self, pixel: [f64; 2]) -> Result<bool, WebError> {
        self.release();
        self.pointer = pixel;
        let sight = self.sight();
        let cloth = self.engine.cloth_mut(self.cloth)?;
        if !self.particles.is_empty()
            && let Some(hit) = pick_cloth(cloth, &self.particles, &sight.ray())?
        {
            self.held = Some(Drag::new(cloth, &self.particles, &hit, &sight)?);
        }
        Ok(self.held.is_some())
    }

    /// Moves the pressed pointer to a pixel: drags the held cloth, or else rotates the camera.
    pub fn drag(&mut self, pixel: [f64; 2]) {
        let [x, y] = [pixel[0] - self.pointer[0], pixel[1] - self.pointer[1]];
        self.pointer = pixel;
        if self.held.is_none() {
            self.orbit.rotate([x, y]);
            self.orbit.view.elevation = self.orbit.view.elevation.max(LOWEST);
        }
    }

    /// Releases the held cloth.
    pub fn release(&mut self) {
        if let (Some(held), Ok(cloth)) = (self.held.take(), self.engine.cloth_mut(self.cloth)) {
            held.release(cloth);
        }
    }

    /// Moves the camera closer by a factor.
    pub fn zoom(&mut self, factor: f64) {
        self.orbit.zoom(factor);
    }

    fn follow_pointer(&mut self) -> Result<(), WebError> {
        let sight = self.sight();
        if let Some(held) = &mut self.held {
            let cloth = self.engine.cloth_mut(self.cloth)?;
            if !held.apply(cloth, &self.particles, self.clock.dt(), &sight)? {
                self.held = None;
            }
        }
        Ok(())
    }

    fn sight(&self) -> Sight {
        let [_, _, ahead] = self.orbit.axes();
        let ray = self.orbit.ray(self.pointer, self.size.map(f64::from));
        let [eye, ray, ahead] = [self.orbit.eye(), ray, ahead].map(|it| it.to_array());
        Sight { eye, ray, ahead }
    }

    /// Positions camera and lights for the scene.
    fn frame_scene(&mut self) {
        let framed = self.scene.framed.map(DVec3::from);
        self.orbit = Orbit::framing(framed, self.scene.view, self.size.map(f64::from));
        self.renderer.set_scene(&self.scene, &self.orbit);
    }
}

/// Adds the cloth and the colliders of a scene to an empty engine.
fn add(
    engine: &mut GpuEngine,
    meshes: &mut RenderMeshes,
    scene: &Scene,
) -> Result<(ClothId, RenderId), WebError> {
    engine.colliders_mut().clear();
    for shape in &scene.shapes {
        engine.colliders_mut().add(shape.clone())?;
    }
    let cloth = engine.add(scene.cloth.clone())?;
    let drawn = meshes.add(&Arc::new(scene.drawn.clone()), engine.particle_range(cloth)?)?;
    Ok((cloth, drawn))
}

/// Interpolates between two poses.
fn between([before, after]: [Pose; 2], alpha: f32) -> Pose {
    let [from, to] = [before, after].map(|pose| Quat::from_array(pose.rotation).normalize());
    let rotation = from.slerp(to, alpha).to_array();
    let translation = std::array::from_fn(|k| {
        before.translation[k] + alpha * (after.translation[k] - before.translation[k])
    });
    Pose { translation, rotation }
}
