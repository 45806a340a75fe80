//! Viewer: simulation, camera, panel and picture of a scene, drawn into a texture.

use std::path::{Path, PathBuf};
use std::time::Instant;

use egui_wgpu::ScreenDescriptor;
use poplin::Sight;

use crate::drawn_scene::DrawnScene;
use crate::held::Held;
use crate::history::History;
use crate::lines::Lines;
use crate::panel::{self, Command, Panel};
use crate::renderer::{Dot, Picture, Renderer};
use crate::uniform::Surroundings;
use crate::{Gpu, LineLayers, Orbit, Scenes, Show, ViewError};

/// Dot at the point that the pointer holds.
const HELD: Dot = Dot { position: [0.0; 3], radius: 6.0, color: [0.9, 0.45, 0.05, 1.0] };

/// Texture format of pictures, without sRGB for the panel. The scene is drawn through an sRGB view,
/// which the texture must allow.
pub const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Viewer of one scene at a time.
pub struct Viewer {
    gpu: Gpu,
    format: wgpu::TextureFormat,
    renderer: Renderer,
    lines: Lines,
    painter: egui_wgpu::Renderer,
    context: egui::Context,
    scenes: Box<dyn Scenes>,
    show: Box<dyn Show>,
    scene: PathBuf,
    drawn_scene: DrawnScene,
    orbit: Orbit,
    surroundings: Surroundings,
    /// True until the camera is positioned for the picture's size.
    is_unframed: bool,
    panel: Panel,
    history: History,
    held: Option<Held>,
    /// Position of the pointer that drags cloth \[points\].
    pointer: egui::Pos2,
    /// Area of the picture that shows the scene \[points\].
    area: egui::Rect,
    /// Time of the next frame, in the clock of the input \[s\].
    due: Option<f64>,
    /// True to write the next picture to a file.
    takes_screenshot: bool,
}

impl std::fmt::Debug for Viewer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Viewer").field("scene", &self.scene).finish_non_exhaustive()
    }
}

impl Viewer {
    /// Opens a scene. Target textures have this format, without sRGB, and allow sRGB views.
    ///
    /// # Errors
    /// [`ViewError`] if the scene cannot be opened or read.
    pub fn new(
        gpu: Gpu,
        format: wgpu::TextureFormat,
        scenes: Box<dyn Scenes>,
        scene: &Path,
    ) -> Result<Self, ViewError> {
        let Gpu { device, queue, .. } = &gpu;
        let renderer = Renderer::new(device, queue, format.add_srgb_suffix())?;
        let painter =
            egui_wgpu::Renderer::new(device, format, egui_wgpu::RendererOptions::default());
        let mut show = scenes.open(scene)?;
        let drawn_scene = DrawnScene::new(device, show.as_mut())?;
        let orbit = Orbit::framing(drawn_scene.framed, drawn_scene.view, [1.0, 1.0]);
        let surroundings = Surroundings::new(drawn_scene.framed, drawn_scene.floor, &orbit);
        let context = egui::Context::default();
        context.set_theme(egui::Theme::Light);
        Ok(Self {
            lines: Lines::new(&gpu, &renderer.line_target())?,
            renderer,
            painter,
            context,
            scenes,
            show,
            scene: scene.to_path_buf(),
            drawn_scene,
            orbit,
            surroundings,
            is_unframed: true,
            panel: Panel::default(),
            history: History::default(),
            held: None,
            pointer: egui::Pos2::ZERO,
            area: egui::Rect::NOTHING,
            due: None,
            takes_screenshot: false,
            gpu,
            format,
        })
    }

    /// Returns the egui context, which handles input and lays out the panel.
    pub fn context(&self) -> &egui::Context {
        &self.context
    }

    /// Returns the error that stopped the scene, if any.
    pub fn fault(&self) -> Option<&str> {
        self.panel.fault()
    }

    /// Returns the name or file of the scene, or the mesh, that is shown.
    pub fn scene(&self) -> &Path {
        &self.scene
    }

    /// Returns the camera.
    pub fn orbit(&self) -> &Orbit {
        &self.orbit
    }

    /// Returns the device and its queue.
    pub(crate) fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Sets strain colours and lines over the cloths.
    pub fn show_layers(&mut self, has_strain: bool, lines: LineLayers) {
        let layers = &mut self.panel.layers;
        (layers.has_strain, layers.lines) = (has_strain, lines);
    }

    /// Handles input, simulates at most one frame, and draws if there is a target. Returns the
    /// requests of the panel to the window; the panel shows errors.
    pub fn frame(
        &mut self,
        input: egui::RawInput,
        target: Option<&wgpu::Texture>,
    ) -> egui::PlatformOutput {
        let now = input.time.unwrap_or_default();
        let dropped: Vec<_> =
            input.dropped_files.iter().map(|it| it.path().to_path_buf()).collect();
        for path in dropped {
            self.open(&path);
        }
        let simulated = self.advance(now);
        self.panel.report(simulated);
        let context = self.context.clone();
        let mut output = context.run_ui(input, |ui| self.lay_out(ui));
        let Gpu { device, queue, .. } = &self.gpu;
        let mut textures = std::mem::take(&mut output.textures_delta);
        for (id, deltas) in &textures.set {
            deltas.iter().for_each(|delta| self.painter.update_texture(device, queue, *id, delta));
        }
        // Textures are freed only after the paint pass below, which may still use them.
        let freed = std::mem::take(&mut textures.free);
        textures.clear();
        let seen = self.drawn_scene.update(device, queue, self.show.as_mut());
        self.panel.report(seen.map(|()| None));
        self.history.push_strain(&self.drawn_scene.strain);
        if let Some(target) = target {
            self.paint(&output, target);
        }
        freed.iter().for_each(|id| self.painter.free_texture(id));
        if let Some(target) = target
            && std::mem::take(&mut self.takes_screenshot)
        {
            let path = self.free_name("png");
            let written = crate::picture::read(&self.gpu, target).and_then(|image| {
                image.write_png(&path)?;
                Ok(path.display().to_string())
            });
            self.panel.report(written.map(|path| Some(format!("wrote {path}"))));
        }
        output.platform_output
    }

    /// Replaces the scene. If it cannot be opened, keeps the old scene and shows the error.
    fn open(&mut self, path: &Path) {
        let opened = self.scenes.open(path).map_err(ViewError::from).and_then(|mut show| {
            let drawn_scene = DrawnScene::new(&self.gpu.device, show.as_mut())?;
            Ok((show, drawn_scene))
        });
        match opened {
            Ok((show, drawn_scene)) => {
                (self.show, self.drawn_scene) = (show, drawn_scene);
                (self.held, self.due) = (None, None);
                self.scene = path.to_path_buf();
                self.is_unframed = true;
                self.history = History::default();
                self.panel.open();
            }
            Err(error) => self.panel.report::<ViewError>(Err(error)),
        }
    }

    /// Simulates a frame if one is due.
    fn advance(&mut self, now: f64) -> Result<Option<String>, ViewError> {
        let period = 1.0 / f64::from(self.show.frame_rate());
        let due = *self.due.get_or_insert(now);
        // A quarter period of tolerance absorbs the jitter of the display refresh.
        let is_due = self.panel.is_playing && now >= due - 0.25 * period;
        if !is_due && !std::mem::take(&mut self.panel.is_stepping) {
            return Ok(None);
        }
        self.panel.is_stepping = false;
        // A slow simulation runs in slow motion; lost time is not made up.
        self.due = Some((due + period).max(now - period));
        let begin = Instant::now();
        let dt = self.show.prepare()?;
        let sight = self.sight(self.pointer);
        if let Some(held) = &mut self.held
            && !held.follow(self.show.simulation(), self.drawn_scene.state(), dt, sight)?
        {
            self.held = None;
        }
        self.show.step(dt)?;
        self.show.simulation().wait()?;
        self.history.push_time(begin.elapsed());
        Ok(None)
    }

    fn sight(&self, point: egui::Pos2) -> Sight {
        let offset = point - self.area.min;
        let size = self.area.size();
        let [at, size] = [offset, size].map(|it| [f64::from(it.x), f64::from(it.y)]);
        let [.., ahead] = self.orbit.axes();
        let [eye, ray, ahead] =
            [self.orbit.eye(), self.orbit.ray(at, size), ahead].map(|it| it.to_array());
        Sight { eye, ray, ahead }
    }

    /// Lays out the panel, executes its commands and handles the pointer.
    fn lay_out(&mut self, ui: &mut egui::Ui) {
        let names = self.scenes.names();
        let commands = panel::show(
            ui,
            &mut self.panel,
            self.show.as_mut(),
            &panel::Shown { names: &names, scene: &self.scene, history: &self.history },
        );
        self.area = ui.available_rect_before_wrap();
        for command in commands {
            let done = self.execute(command);
            self.panel.report(done);
        }
        if std::mem::take(&mut self.is_unframed) {
            let size = self.area.size();
            let size = [f64::from(size.x), f64::from(size.y)];
            self.orbit = Orbit::framing(self.drawn_scene.framed, self.drawn_scene.view, size);
            self.surroundings =
                Surroundings::new(self.drawn_scene.framed, self.drawn_scene.floor, &self.orbit);
        }
        let done = self.handle_pointer(ui).map(|()| None);
        self.panel.report(done);
    }

    fn execute(&mut self, command: Command) -> Result<Option<String>, ViewError> {
        match command {
            Command::Open(path) => self.open(&path),
            Command::Reset => {
                self.release_held();
                self.show.reset()?;
                self.rebuild_drawn_scene()?;
            }
            Command::Record if self.show.is_recording() => {
                return Ok(Some(self.show.stop_recording()?));
            }
            Command::Record => {
                self.release_held();
                // The scene was reset even if the recording failed to start.
                let begun = self.show.record();
                self.rebuild_drawn_scene()?;
                begun?;
                self.panel.is_playing = true;
            }
            Command::Screenshot => self.takes_screenshot = true,
            Command::Save => return Ok(Some(self.show.save()?)),
            Command::Frame => self.is_unframed = true,
        }
        Ok(None)
    }

    /// Rebuilds the meshes of a scene after a reset, which creates new cloths.
    fn rebuild_drawn_scene(&mut self) -> Result<(), ViewError> {
        self.drawn_scene = DrawnScene::new(&self.gpu.device, self.show.as_mut())?;
        self.due = None;
        Ok(())
    }

    /// Drags the cloth with the primary button, the camera with other buttons or beside the cloth.
    fn handle_pointer(&mut self, ui: &egui::Ui) -> Result<(), ViewError> {
        let response =
            ui.interact(self.area, egui::Id::unique("picture"), egui::Sense::click_and_drag());
        let (is_shifted, scroll, zoom) = ui.input(|input| {
            (input.modifiers.shift, input.smooth_scroll_delta().y, input.zoom_delta())
        });
        if let Some(pointer) = response.interact_pointer_pos() {
            self.pointer = pointer;
        }
        let origin = ui.input(|input| input.pointer.press_origin());
        if response.drag_started_by(egui::PointerButton::Primary)
            && !is_shifted
            && let Some(origin) = origin
        {
            self.release_held();
            let sight = self.sight(origin);
            self.held = Held::pick(self.show.simulation(), sight)?;
        }
        if !ui.input(|input| input.pointer.primary_down()) {
            self.release_held();
        }
        let delta = response.drag_delta();
        let delta = [f64::from(delta.x), f64::from(delta.y)];
        if response.dragged() && self.held.is_none() {
            let is_panning = is_shifted || response.dragged_by(egui::PointerButton::Middle);
            match is_panning {
                true => self.orbit.pan(delta, f64::from(self.area.height())),
                false => self.orbit.rotate(delta),
            }
        }
        if response.hovered() {
            self.orbit.zoom(f64::from(zoom) * (f64::from(scroll) * 0.003).exp());
        }
        Ok(())
    }

    fn release_held(&mut self) {
        if let Some(held) = self.held.take() {
            held.release(self.show.simulation());
        }
    }

    fn paint(&mut self, output: &egui::FullOutput, target: &wgpu::Texture) {
        let (drawn_scene, show) = (&self.drawn_scene, self.show.as_mut());
        let lines = self.panel.layers.lines;
        let lined =
            self.lines.update(&self.gpu, lines, show, drawn_scene.shapes(), drawn_scene.lined());
        self.panel.report(lined.map(|()| None));
        let Gpu { device, queue, .. } = &self.gpu;
        let size = [target.width(), target.height()];
        let points = output.pixels_per_point;
        let mut encoder = device
            .create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("poplin.view") });
        let layers = &self.panel.layers;
        let mut dots = if layers.has_pins { self.drawn_scene.pins() } else { Vec::new() };
        if let Some(held) = &self.held {
            let point = held.point(self.sight(self.pointer));
            dots.push(Dot { position: point.map(|x| x as f32), ..HELD });
        }
        let view = |format| {
            target.create_view(&wgpu::TextureViewDescriptor {
                format: Some(format),
                ..wgpu::TextureViewDescriptor::default()
            })
        };
        let picture = Picture {
            orbit: &self.orbit,
            surroundings: &self.surroundings,
            size,
            area: pixels(self.area, points, size),
            bodies: &self.drawn_scene.bodies(layers.has_solids),
            strain_limit: layers.strain_limit(),
            dots: &dots,
        };
        let scene = view(self.format.add_srgb_suffix());
        let drawn = self.renderer.draw(&mut encoder, &scene, &picture, &mut self.lines);
        self.panel.report(drawn.map(|()| None));
        let screen = ScreenDescriptor { size_in_pixels: size, pixels_per_point: points };
        let primitives = self.context.tessellate(output.shapes.clone(), points);
        let more = self.painter.update_buffers(device, queue, &mut encoder, &primitives, &screen);
        let panel = view(self.format);
        let pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("poplin.view.panel"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &panel,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Load, store: wgpu::StoreOp::Store },
            })],
            ..wgpu::RenderPassDescriptor::default()
        });
        self.painter.render(&mut pass.forget_lifetime(), &primitives, &screen);
        queue.submit(more.into_iter().chain([encoder.finish()]));
    }

    /// Returns an unused file name in the working folder.
    fn free_name(&self, extension: &str) -> PathBuf {
        let stem = self.scene.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let numbered = (1u32..).map(|number| PathBuf::from(format!("{stem}-{number}.{extension}")));
        numbered.into_iter().find(|path| !path.exists()).unwrap_or_default()
    }
}

/// Converts an area from points to whole pixels within the picture: left, top, width, height.
fn pixels(area: egui::Rect, points: f32, [width, height]: [u32; 2]) -> [u32; 4] {
    let [left, top] = [(area.min.x, width), (area.min.y, height)]
        .map(|(at, side)| ((at * points).round().max(0.0) as u32).min(side.saturating_sub(1)));
    let [right, bottom] = [(area.max.x, width), (area.max.y, height)]
        .map(|(at, side)| ((at * points).round().max(0.0) as u32).min(side));
    [left, top, right.saturating_sub(left).max(1), bottom.saturating_sub(top).max(1)]
}
