//! 4,096 flags in the wind: one engine, one fabric, one dispatch; drawn as instances directly from
//! the particle buffer.
//!
//! `cargo run --release -p poplin-examples --example thousand_flags` opens a window; with `--
//! --screenshot flags.ppm --frames 60` it writes the picture after 60 frames instead.

#![expect(clippy::print_stdout, reason = "output of an example")]

mod field;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use field::Field;
use poplin::gpu::wgpu::*;
use poplin::gpu::{required_features, required_limits};
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowId};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn device(instance: &Instance, surface: Option<&Surface<'_>>) -> Outcome<(Adapter, Device, Queue)> {
    let wanted = RequestAdapterOptions { compatible_surface: surface, ..Default::default() };
    let adapter = pollster::block_on(instance.request_adapter(&wanted))?;
    let needs = DeviceDescriptor {
        required_features: required_features(&adapter),
        required_limits: required_limits(&adapter),
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&needs))?;
    println!("{}", adapter.get_info().name);
    Ok((adapter, device, queue))
}

fn screenshot(file: &str, frames: u32) -> Outcome {
    let (_, device, queue) = device(&Instance::default(), None)?;
    // Rows of a texture copy must be a multiple of 256 bytes.
    let (width, height) = (1280, 720);
    let picture = device.create_texture(&TextureDescriptor {
        label: None,
        size: Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: TextureDimension::D2,
        format: TextureFormat::Rgba8UnormSrgb,
        usage: TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
        view_formats: &[],
    });
    let mut field = Field::new(&device, &queue, picture.format())?;
    let began = Instant::now();
    for _ in 0..frames {
        let mut encoder = device.create_command_encoder(&Default::default());
        field.draw(&mut encoder, &picture, 1.0 / 60.0)?;
        queue.submit([encoder.finish()]);
        device.poll(PollType::wait_indefinitely())?;
    }
    let each = began.elapsed().as_secs_f64() / f64::from(frames.max(1));
    println!("{} particles, {frames} frames of {:.1} ms each", field.particle_count(), 1e3 * each);

    let read = device.create_buffer(&BufferDescriptor {
        label: None,
        size: u64::from(4 * width * height),
        usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    let layout = TexelCopyBufferLayout { bytes_per_row: Some(4 * width), ..Default::default() };
    let to = TexelCopyBufferInfo { buffer: &read, layout };
    encoder.copy_texture_to_buffer(picture.as_image_copy(), to, picture.size());
    queue.submit([encoder.finish()]);
    read.map_async(MapMode::Read, .., |mapped| mapped.expect("the device answers"));
    device.poll(PollType::wait_indefinitely())?;
    let mut bytes = format!("P6 {width} {height} 255\n").into_bytes();
    bytes.extend(read.get_mapped_range(..)?.chunks_exact(4).flat_map(|texel| &texel[..3]));
    Ok(std::fs::write(file, bytes)?)
}

struct Shown {
    window: Arc<Window>,
    surface: Surface<'static>,
    config: SurfaceConfiguration,
    device: Device,
    queue: Queue,
    field: Field,
    last: Instant,
}

impl Shown {
    fn new(window: Arc<Window>) -> Outcome<Self> {
        let instance = Instance::default();
        let surface = instance.create_surface(window.clone())?;
        let (adapter, device, queue) = device(&instance, Some(&surface))?;
        let mut config = surface
            .get_default_config(&adapter, 0, 0)
            .ok_or("the adapter cannot draw to the window")?;
        config.format = config.format.add_srgb_suffix();
        let field = Field::new(&device, &queue, config.format)?;
        Ok(Self { window, surface, config, device, queue, field, last: Instant::now() })
    }

    fn draw(&mut self) -> Outcome {
        self.window.request_redraw();
        let (width, height) = self.window.inner_size().into();
        if [self.config.width, self.config.height] != [width, height] && width * height > 0 {
            (self.config.width, self.config.height) = (width, height);
            self.surface.configure(&self.device, &self.config);
        }
        let (CurrentSurfaceTexture::Success(picture) | CurrentSurfaceTexture::Suboptimal(picture)) =
            self.surface.get_current_texture()
        else {
            self.config.width = 0; // reconfigures with the next picture
            return Ok(());
        };
        let passed = std::mem::replace(&mut self.last, Instant::now()).elapsed();
        let mut encoder = self.device.create_command_encoder(&Default::default());
        self.field.draw(&mut encoder, &picture.texture, passed.as_secs_f64())?;
        self.queue.submit([encoder.finish()]);
        self.queue.present(picture);
        Ok(())
    }
}

#[derive(Default)]
struct App(Option<Shown>);

impl ApplicationHandler for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        let window = Window::default_attributes().with_title("4,096 flags");
        let window = events.create_window(window).expect("a window");
        self.0 = Some(Shown::new(window.into()).expect("a picture"));
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match (event, &mut self.0) {
            (WindowEvent::RedrawRequested, Some(shown)) => shown.draw().expect("a picture"),
            (WindowEvent::CloseRequested, _) => events.exit(),
            _ => {}
        }
    }
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |name| arguments.iter().skip_while(|&argument| argument != name).nth(1);
    let frames = value("--frames").map_or(Ok(60), |count| count.parse())?;
    match value("--screenshot") {
        Some(file) => screenshot(file, frames),
        None => Ok(EventLoop::new()?.run_app(&mut App::default())?),
    }
}
