//! Interface to the page's script.

use poplin::gpu::wgpu;
use poplin_shaders::{Kernel, compose};
use wasm_bindgen::prelude::*;
use web_sys::HtmlCanvasElement;

use crate::{NAMES, Player, WebError};

/// Makes panics write to the console.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| web_sys::console::error_1(&panic.to_string().into())));
}

/// Returns the names of the scenes, in the order of their buttons.
#[wasm_bindgen]
#[expect(unreachable_pub, reason = "called by the script")]
pub fn scenes() -> Vec<String> {
    NAMES.map(str::to_owned).into()
}

/// Returns the text of every kernel, for the test of the page, which compiles them all.
///
/// # Errors
/// An `Error` if one does not compose.
#[wasm_bindgen]
#[expect(unreachable_pub, reason = "called by the script")]
pub fn kernels() -> Result<Vec<String>, JsError> {
    let paths = Kernel::ALL.map(Kernel::path).into_iter().chain(["draw/debug_lines".to_owned()]);
    paths.map(|path| Ok(compose(&path)?.text)).collect()
}

/// Canvas that shows a scene.
#[wasm_bindgen]
#[derive(Debug)]
pub struct SceneCanvas {
    player: Player,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    format: wgpu::TextureFormat,
}

#[wasm_bindgen]
impl SceneCanvas {
    /// Opens a scene on a canvas, whose size in pixels is that of the picture.
    ///
    /// # Errors
    /// An `Error` if WebGPU cannot be used or there is no such scene.
    pub async fn create(canvas: HtmlCanvasElement, scene: String) -> Result<SceneCanvas, JsError> {
        Ok(Self::new(canvas, &scene).await?)
    }

    async fn new(canvas: HtmlCanvasElement, scene: &str) -> Result<Self, WebError> {
        let size = [canvas.width(), canvas.height()];
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.backends = wgpu::Backends::BROWSER_WEBGPU;
        let instance = wgpu::Instance::new(descriptor);
        let surface = instance.create_surface(wgpu::SurfaceTarget::Canvas(canvas))?;
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            compatible_surface: Some(&surface),
            ..Default::default()
        };
        let adapter = instance.request_adapter(&options).await?;
        let [width, height] = size.map(|side| side.max(1));
        let mut config =
            surface.get_default_config(&adapter, width, height).ok_or(WebError::NoFormat)?;
        let format = config.format.add_srgb_suffix();
        config.view_formats = vec![format];
        let player = Player::new(&adapter, format, [width, height], scene).await?;
        surface.configure(player.device(), &config);
        Ok(Self { player, surface, config, format })
    }

    /// Replaces or restarts the scene.
    ///
    /// # Errors
    /// An `Error` if there is no such scene.
    pub fn open(&mut self, scene: &str) -> Result<(), JsError> {
        Ok(self.player.open(scene)?)
    }

    /// Sets a new size of the canvas \[pixels\].
    pub fn resize(&mut self, width: u32, height: u32) {
        let limit = self.player.device().limits().max_texture_dimension_2d;
        let [width, height] = [width, height].map(|side| side.clamp(1, limit));
        (self.config.width, self.config.height) = (width, height);
        self.surface.configure(self.player.device(), &self.config);
        self.player.resize([width, height]);
    }

    /// Returns the number of frames simulated so far.
    #[wasm_bindgen(getter)]
    pub fn frame(&self) -> u32 {
        self.player.frame()
    }

    /// Advances real time by `seconds`, simulates the due frames and draws, unless the device is
    /// still busy. Returns true if it drew.
    ///
    /// # Errors
    /// An `Error` if the engine or the device failed.
    pub fn play(&mut self, seconds: f64) -> Result<bool, JsError> {
        let is_free = self.player.advance(seconds);
        if is_free {
            self.draw(Player::play)?;
        }
        Ok(is_free)
    }

    /// Simulates a frame and draws.
    ///
    /// # Errors
    /// An `Error` if the engine or the device failed.
    pub fn step(&mut self) -> Result<(), JsError> {
        Ok(self.draw(|player, target| player.step(1, target))?)
    }

    fn draw(
        &mut self,
        action: impl FnOnce(&mut Player, &wgpu::TextureView) -> Result<(), WebError>,
    ) -> Result<(), WebError> {
        use wgpu::CurrentSurfaceTexture::{Suboptimal, Success};
        let (Success(target) | Suboptimal(target)) = self.surface.get_current_texture() else {
            return Ok(()); // the canvas is hidden: skip the picture
        };
        let format = Some(self.format);
        let view = target
            .texture
            .create_view(&wgpu::TextureViewDescriptor { format, ..Default::default() });
        action(&mut self.player, &view)
    }

    /// Returns the current particles as bytes: four floats each, position \[m\] and inverse mass
    /// [1/kg].
    ///
    /// # Errors
    /// An `Error` if the device was lost.
    pub async fn particles(&mut self) -> Result<Vec<u8>, JsError> {
        Ok(bytemuck::cast_slice(&self.player.read().await?).to_vec())
    }

    /// Presses the pointer at a pixel. Returns true if it grabs cloth.
    ///
    /// # Errors
    /// An `Error` if the scene has lost its cloth.
    pub fn press(&mut self, x: f64, y: f64) -> Result<bool, JsError> {
        Ok(self.player.press([x, y])?)
    }

    /// Moves the pressed pointer to a pixel: drags the held cloth, or else rotates the camera.
    pub fn drag(&mut self, x: f64, y: f64) {
        self.player.drag([x, y]);
    }

    /// Releases the pointer.
    pub fn release(&mut self) {
        self.player.release();
    }

    /// Moves the camera closer by a factor.
    pub fn zoom(&mut self, factor: f64) {
        self.player.zoom(factor);
    }
}
