//! A character that walks, waves and spins around in a cape and a skirt.
//!
//! `cargo run --release -p poplin-examples --example character` opens a window; drag to rotate the
//! camera, scroll to zoom. With `-- --frames 100 --screenshot character.png` it draws the picture
//! after 100 frames, without a window.

mod body;
mod clothes;
mod draw;
mod mesh;

use std::{sync::Arc, time::Instant};

use poplin::gpu::wgpu::{CurrentSurfaceTexture::*, *};
use poplin::model::FixedStep;
use poplin_picture::Image;
use winit::event::{ElementState, MouseScrollDelta, WindowEvent};
use winit::{application::ApplicationHandler, event_loop::*, window::*};

use draw::{Camera, Outcome, Renderer, texture};

/// Window with its renderer.
struct View {
    window: Arc<Window>,
    surface: Surface<'static>,
    config: SurfaceConfiguration,
    /// sRGB format of the surface, so that the shader computes linear colours.
    format: TextureFormat,
    renderer: Renderer,
    last: Instant,
}

impl View {
    fn new(window: Arc<Window>) -> Outcome<Self> {
        let instance = Instance::default();
        let surface = instance.create_surface(window.clone())?;
        let wanted =
            RequestAdapterOptions { compatible_surface: Some(&surface), ..Default::default() };
        let adapter = pollster::block_on(instance.request_adapter(&wanted))?;
        let mut config = surface
            .get_default_config(&adapter, 0, 0)
            .ok_or("the adapter cannot draw to the window")?;
        let format = config.format.add_srgb_suffix();
        config.view_formats = vec![format];
        let renderer = Renderer::new(&adapter, format)?;
        Ok(Self { window, surface, config, format, renderer, last: Instant::now() })
    }

    fn draw(&mut self, camera: &Camera) -> Outcome {
        self.window.request_redraw();
        let (width, height) = self.window.inner_size().into();
        if (self.config.width, self.config.height) != (width, height) && width * height > 0 {
            (self.config.width, self.config.height) = (width, height);
            self.surface.configure(&self.renderer.device, &self.config);
        }
        let (Success(target) | Suboptimal(target)) = self.surface.get_current_texture() else {
            self.config.width = 0; // reconfigures with the next picture
            return Ok(());
        };
        let format = Some(self.format);
        let view =
            target.texture.create_view(&TextureViewDescriptor { format, ..Default::default() });
        let passed = std::mem::replace(&mut self.last, Instant::now()).elapsed();
        self.renderer.draw(&view, passed.as_secs_f64(), camera)?;
        self.renderer.queue.present(target);
        Ok(())
    }
}

struct App {
    camera: Camera,
    /// Position of the mouse.
    mouse: (f64, f64),
    /// True while a button is pressed.
    drags: bool,
    view: Option<View>,
    /// Number of pictures until the end.
    left: u64,
}

impl ApplicationHandler for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        let attributes = Window::default_attributes().with_title("character");
        let window = events.create_window(attributes).expect("a window");
        self.view = Some(View::new(window.into()).expect("a picture"));
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Self { camera, mouse, drags, view, left } = self;
        match event {
            WindowEvent::RedrawRequested => {
                if let Some(view) = view {
                    view.draw(camera).expect("a picture");
                }
                *left = left.saturating_sub(1);
                if *left == 0 {
                    events.exit();
                }
            }
            WindowEvent::MouseInput { state, .. } => *drags = state == ElementState::Pressed,
            WindowEvent::CursorMoved { position, .. } => {
                let (x, y) = std::mem::replace(mouse, position.into());
                if *drags {
                    camera.yaw -= 0.01 * (mouse.0 - x) as f32;
                    camera.pitch = (camera.pitch + 0.01 * (mouse.1 - y) as f32).clamp(-0.2, 1.4);
                }
            }
            WindowEvent::MouseWheel { delta, .. } => {
                let lines = match delta {
                    MouseScrollDelta::LineDelta(_, y) => y,
                    MouseScrollDelta::PixelDelta(position) => 0.02 * position.y as f32,
                };
                camera.distance = (camera.distance * (-0.1 * lines).exp()).clamp(1.0, 10.0);
            }
            WindowEvent::CloseRequested => events.exit(),
            _ => {}
        }
    }
}

/// Writes the picture after `frames` frames to a file.
fn take_screenshot(path: &str, frames: u64, camera: &Camera) -> Outcome {
    const SIZE: [u32; 2] = [896, 800];
    let adapter = pollster::block_on(Instance::default().request_adapter(&Default::default()))?;
    let mut renderer = Renderer::new(&adapter, TextureFormat::Rgba8UnormSrgb)?;
    let usage = TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC;
    let target = texture(&renderer.device, SIZE, 1, TextureFormat::Rgba8UnormSrgb, usage);
    for _ in 0..frames.max(1) {
        renderer.draw(&target, FixedStep::default().dt().into(), camera)?;
    }
    let [width, height] = SIZE;
    let buffer = renderer.device.create_buffer(&BufferDescriptor {
        label: None,
        size: u64::from(4 * width * height),
        usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let layout = TexelCopyBufferLayout { bytes_per_row: Some(4 * width), ..Default::default() };
    let to = TexelCopyBufferInfo { buffer: &buffer, layout };
    let mut encoder = renderer.device.create_command_encoder(&Default::default());
    encoder.copy_texture_to_buffer(target.texture().as_image_copy(), to, target.texture().size());
    renderer.queue.submit([encoder.finish()]);
    buffer.map_async(MapMode::Read, .., |mapped| mapped.expect("the device answers"));
    renderer.device.poll(PollType::wait_indefinitely())?;
    let texels = buffer.get_mapped_range(..)?.to_vec();
    let pixels = texels.chunks_exact(4).map(|texel| [texel[0], texel[1], texel[2]]).collect();
    Ok(Image { width, height, pixels }.write_png(path)?)
}

fn main() -> Outcome {
    let (mut left, mut screenshot) = (u64::MAX, None);
    let mut camera = Camera { yaw: 2.4, pitch: 0.12, distance: 3.3 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} needs a value"))?;
        match name.as_str() {
            "--frames" => left = value.parse()?,
            "--yaw" => camera.yaw = value.parse::<f32>()?.to_radians(),
            "--screenshot" => screenshot = Some(value),
            _ => {
                return Err(
                    format!("unknown option {name}: use --frames, --yaw or --screenshot").into()
                );
            }
        }
    }
    match screenshot {
        Some(path) => take_screenshot(&path, if left == u64::MAX { 100 } else { left }, &camera),
        None => {
            let (mouse, drags, view) = ((0.0, 0.0), false, None);
            Ok(EventLoop::new()?.run_app(&mut App { camera, mouse, drags, view, left })?)
        }
    }
}
