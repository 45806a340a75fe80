//! Window of the viewer.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use winit::application::ApplicationHandler;
use winit::dpi::LogicalSize;
use winit::error::EventLoopError;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::{Window, WindowId};

use crate::gpu::instance;
use crate::{Gpu, Scenes, ViewError, Viewer};

/// Size of a new window \[points\].
const SIZE: [u32; 2] = [1280, 800];

/// Shows a scene in a window until it is closed.
///
/// # Errors
/// [`ViewError`] if there is no display or no adapter, or the scene cannot be shown.
pub fn open_window(scenes: Box<dyn Scenes>, scene: &Path) -> Result<(), ViewError> {
    let event_loop = EventLoop::new().map_err(window_error)?;
    let first = First { scenes, scene: scene.to_path_buf() };
    let mut app = App { first: Some(first), open: None, fault: None };
    event_loop.run_app(&mut app).map_err(window_error)?;
    app.fault.map_or(Ok(()), Err)
}

fn window_error(error: EventLoopError) -> ViewError {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match error {
        // On Linux and the BSDs a window needs one of these variables.
        _ if cfg!(all(unix, not(target_os = "macos")))
            && !is_set("DISPLAY")
            && !is_set("WAYLAND_DISPLAY") =>
        {
            ViewError::NoDisplay
        }
        error => ViewError::Window(error.to_string()),
    }
}

/// Scene to open with the window.
struct First {
    scenes: Box<dyn Scenes>,
    scene: PathBuf,
}

/// Application state of the event loop.
struct App {
    first: Option<First>,
    open: Option<Open>,
    fault: Option<ViewError>,
}

/// Open window with its viewer.
struct Open {
    window: Arc<Window>,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    input: egui_winit::State,
    viewer: Viewer,
}

impl App {
    /// Stores an error and ends the event loop.
    fn fail(&mut self, event_loop: &ActiveEventLoop, fault: ViewError) {
        self.fault = Some(fault);
        event_loop.exit();
    }
}

impl ApplicationHandler for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let Some(first) = self.first.take() else { return };
        match Open::new(event_loop, first) {
            Ok(open) => self.open = Some(open),
            Err(fault) => self.fail(event_loop, fault),
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let Some(open) = &mut self.open else { return };
        let _ = open.input.on_window_event(&open.window, &event);
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Resized(size) => open.resize([size.width, size.height]),
            WindowEvent::RedrawRequested => {
                open.draw();
            }
            _ => {}
        }
    }
}

impl Open {
    fn new(event_loop: &ActiveEventLoop, first: First) -> Result<Self, ViewError> {
        let [width, height] = SIZE;
        let attributes = Window::default_attributes()
            .with_title("poplin")
            .with_inner_size(LogicalSize::new(width, height));
        let window = event_loop.create_window(attributes);
        let window = Arc::new(window.map_err(|error| ViewError::Window(error.to_string()))?);
        let instance = instance();
        let surface_error = |error: &dyn std::fmt::Display| ViewError::Surface(error.to_string());
        let surface =
            instance.create_surface(window.clone()).map_err(|error| surface_error(&error))?;
        let gpu = Gpu::of(&instance, Some(&surface))?;
        let size = window.inner_size();
        let mut config = surface
            .get_default_config(&gpu.adapter, size.width.max(1), size.height.max(1))
            .ok_or_else(|| surface_error(&"the adapter does not support the window"))?;
        // The panel blends in the stored format, the scene in linear light.
        config.format = config.format.remove_srgb_suffix();
        config.view_formats = vec![config.format.add_srgb_suffix()];
        config.usage |=
            wgpu::TextureUsages::COPY_SRC & surface.get_capabilities(&gpu.adapter).usages;
        surface.configure(&gpu.device, &config);
        let viewer = Viewer::new(gpu, config.format, first.scenes, &first.scene)?;
        let input = egui_winit::State::new(
            viewer.context().clone(),
            egui::ViewportId::ROOT,
            &window,
            Some(window.scale_factor() as f32),
            None,
            Some(viewer.gpu().device.limits().max_texture_dimension_2d as usize),
        );
        window.request_redraw();
        Ok(Self { window, surface, config, input, viewer })
    }

    fn resize(&mut self, [width, height]: [u32; 2]) {
        if width > 0 && height > 0 {
            (self.config.width, self.config.height) = (width, height);
            self.surface.configure(&self.viewer.gpu().device, &self.config);
        }
    }

    fn draw(&mut self) {
        self.window.request_redraw();
        let texture = match self.surface.get_current_texture() {
            wgpu::CurrentSurfaceTexture::Success(texture)
            | wgpu::CurrentSurfaceTexture::Suboptimal(texture) => texture,
            wgpu::CurrentSurfaceTexture::Outdated | wgpu::CurrentSurfaceTexture::Lost => {
                return self.surface.configure(&self.viewer.gpu().device, &self.config);
            }
            _ => return,
        };
        let input = self.input.take_egui_input(&self.window);
        let output = self.viewer.frame(input, Some(&texture.texture));
        self.input.handle_platform_output(&self.window, output);
        self.viewer.gpu().queue.present(texture);
    }
}
