//! Screenshots without a window.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use poplin_picture::Image;

use crate::viewer::FORMAT;
use crate::{Gpu, LineLayers, Scenes, ViewError, Viewer};

/// Timeout of reading a picture.
const WAIT: Duration = Duration::from_secs(120);

/// Screenshot of a scene after some frames.
#[derive(Debug, Clone)]
pub struct Screenshot {
    /// Name or file of the scene, or a mesh.
    pub scene: PathBuf,
    /// Number of frames to simulate first, at least 1.
    pub frames: u32,
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Start and end of a drag of the pointer during the frames, x y x y \[pixels\], if any.
    pub drag: Option<[f32; 4]>,
    /// True to colour cloths by strain.
    pub has_strain: bool,
    /// Lines over the cloths.
    pub lines: LineLayers,
}

impl Screenshot {
    /// Simulates the frames and draws the picture.
    ///
    /// # Errors
    /// [`ViewError`] if there is no adapter or the scene cannot be shown.
    pub fn take(&self, scenes: Box<dyn Scenes>) -> Result<Image, ViewError> {
        let gpu = Gpu::new()?;
        let limit = gpu.device.limits().max_texture_dimension_2d;
        let [width, height] = self.size;
        if !(1..=limit).contains(&width) || !(1..=limit).contains(&height) {
            return Err(ViewError::Size { width, height, limit });
        }
        let mut viewer = Viewer::new(gpu.clone(), FORMAT, scenes, &self.scene)?;
        viewer.show_layers(self.has_strain, self.lines);
        let target = texture(&gpu.device, self.size);
        for frame in 0..self.frames {
            let is_last = frame + 1 == self.frames;
            viewer.frame(self.input(frame), is_last.then_some(&target));
            if let Some(fault) = viewer.fault() {
                return Err(ViewError::Show(fault.into()));
            }
        }
        read(&gpu, &target)
    }

    /// Returns the input of a frame: the pointer is pressed after a third of the frames and then
    /// moves evenly.
    fn input(&self, frame: u32) -> egui::RawInput {
        let size = egui::Vec2::from(self.size.map(|side| side as f32));
        let mut input = egui::RawInput {
            screen_rect: Some(egui::Rect::from_min_size(egui::Pos2::ZERO, size)),
            // Each picture simulates one frame, independent of the frame rate.
            time: Some(f64::from(frame)),
            ..egui::RawInput::default()
        };
        let Some([from_x, from_y, to_x, to_y]) = self.drag else { return input };
        let [from, to] = [egui::pos2(from_x, from_y), egui::pos2(to_x, to_y)];
        let begin = self.frames / 3;
        if frame == begin {
            input.events.push(egui::Event::PointerMoved(from));
            input.events.push(egui::Event::PointerButton {
                pos: from,
                button: egui::PointerButton::Primary,
                pressed: true,
                modifiers: egui::Modifiers::default(),
            });
        } else if frame > begin {
            let part = (frame - begin) as f32 / (self.frames - begin).max(1) as f32;
            input.events.push(egui::Event::PointerMoved(from + (to - from) * part.min(1.0)));
        }
        input
    }

    /// Simulates the frames, draws the picture and writes it as PNG.
    ///
    /// # Errors
    /// [`ViewError`], also if the file cannot be written.
    pub fn write(&self, scenes: Box<dyn Scenes>, path: &Path) -> Result<(), ViewError> {
        Ok(self.take(scenes)?.write_png(path)?)
    }
}

/// Creates a texture that a [`Viewer`] draws into and that can be read.
fn texture(device: &wgpu::Device, [width, height]: [u32; 2]) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some("poplin.view.target"),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: FORMAT,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[FORMAT.add_srgb_suffix()],
    })
}

/// Reads a texture as an image.
pub(crate) fn read(gpu: &Gpu, texture: &wgpu::Texture) -> Result<Image, ViewError> {
    let [width, height] = [texture.width(), texture.height()];
    // Texture copies need padded rows.
    let row = (width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("poplin.view.read"),
        size: u64::from(row) * u64::from(height),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor {
        label: Some("poplin.view.read"),
    });
    let layout =
        wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(row), rows_per_image: None };
    encoder.copy_texture_to_buffer(
        texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo { buffer: &buffer, layout },
        texture.size(),
    );
    gpu.queue.submit([encoder.finish()]);
    let (send, receive) = mpsc::channel();
    // The receiver may have timed out and gone.
    buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| drop(send.send(result)));
    let device_error = |error: &dyn std::fmt::Display| ViewError::Device(error.to_string());
    gpu.device
        .poll(wgpu::PollType::Wait { submission_index: None, timeout: Some(WAIT) })
        .map_err(|error| device_error(&error))?;
    receive
        .recv_timeout(WAIT)
        .map_err(|error| device_error(&error))?
        .map_err(|error| device_error(&error))?;
    let is_blue_first = texture.format().remove_srgb_suffix() == wgpu::TextureFormat::Bgra8Unorm;
    let bytes = buffer.slice(..).get_mapped_range().map_err(|error| device_error(&error))?;
    let rows = bytes.chunks_exact(row as usize);
    let pixels = rows.flat_map(|row| row[..width as usize * 4].chunks_exact(4));
    let color = |pixel: &[u8]| match is_blue_first {
        true => [pixel[2], pixel[1], pixel[0]],
        false => [pixel[0], pixel[1], pixel[2]],
    };
    Ok(Image { width, height, pixels: pixels.map(color).collect() })
}
