//! Contact sheet: labelled moments in rows and columns.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use glam::DVec3;
use poplin_model::Shape;

use super::background::{Ground, grid_spacing};
use super::camera::{box_around, fitting_view, framed_points};
use super::label::{TEXT_HEIGHT, draw_text, text_width};
use super::solid::{collider_surface, floors};
use super::tile::draw_tile;
use super::{Camera, Color, Line, Surface, View};
use crate::PictureError;

const MAX_TILES: u32 = 32;
pub(super) const MIN_TILE: u32 = 32;
pub(super) const MAX_TILE: u32 = 2048;

/// Distance around the cloths to which unbounded colliders are drawn, in diagonals of all moments;
/// more than the camera frames.
pub(super) const SOLID_REACH: f64 = 0.6;

/// Distance from the cloths within which scenery is framed, in diagonals of the largest moment.
pub(super) const SCENERY_REACH: f64 = 0.4;

/// Minimum distance of a camera from its moment, as a fraction of the largest camera distance.
const NEAREST: f64 = 0.6;

const PAGE: Color = [252, 251, 249];
const BORDER: Color = [212, 207, 198];
pub(super) const INK: Color = [58, 56, 60];
const FAINT_INK: Color = [150, 145, 138];

/// Picture in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// sRGB pixels, rows from the top, shape `[height * width]`.
    pub pixels: Vec<Color>,
}

impl Image {
    pub(super) fn filled(width: u32, height: u32, color: Color) -> Self {
        Self { width, height, pixels: vec![color; width as usize * height as usize] }
    }

    /// Blends ink into a pixel, strength `0..=255`; pixels outside are skipped.
    pub(super) fn blend(&mut self, x: u32, y: u32, ink: Color, strength: u8) {
        if x < self.width && y < self.height {
            let pixel = &mut self.pixels[(y * self.width + x) as usize];
            for (value, ink) in pixel.iter_mut().zip(ink) {
                let strength = u32::from(strength);
                *value = ((u32::from(*value) * (255 - strength) + u32::from(ink) * strength + 127)
                    / 255) as u8;
            }
        }
    }

    /// Copies a picture into a square inside this one; a larger picture is cropped.
    pub(super) fn paste(&mut self, image: &Self, [left, top]: [u32; 2], side: u32) {
        let width = image.width.min(side) as usize;
        let lines = image.pixels.chunks_exact(image.width.max(1) as usize);
        for (y, line) in (top..top + side).zip(lines) {
            let begin = y as usize * self.width as usize + left as usize;
            self.pixels[begin..begin + width].copy_from_slice(&line[..width]);
        }
    }

    fn frame(&mut self, left: u32, top: u32, size: u32, color: Color) {
        for step in 0..size {
            for (x, y) in [
                (left + step, top),
                (left + step, top + size - 1),
                (left, top + step),
                (left + size - 1, top + step),
            ] {
                self.blend(x, y, color, 255);
            }
        }
    }

    /// Writes the picture as an sRGB PNG.
    ///
    /// # Errors
    /// [`PictureError::Write`] if the file cannot be created, [`PictureError::Png`] if it cannot
    /// be written.
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        let path = path.as_ref();
        let file = File::create(path).map_err(PictureError::write(path))?;
        let png_error = |source| PictureError::Png { path: path.to_path_buf(), source };
        let mut encoder = png::Encoder::new(BufWriter::new(file), self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        let mut writer = encoder.write_header().map_err(png_error)?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(png_error)?;
        writer.finish().map_err(png_error)
    }
}

/// Moments of a simulation in one picture, all seen from one direction by a camera that follows the
/// cloth.
#[derive(Debug, Clone)]
pub struct ContactSheet {
    columns: u32,
    rows: u32,
    tile_size: u32,
    view: Option<View>,
    labels: Vec<String>,
    moments: Vec<Vec<Surface>>,
    /// Colliders of each moment.
    colliders: Vec<Vec<Shape>>,
    /// Lines on the surfaces of each moment.
    lines: Vec<Vec<Line>>,
}

impl ContactSheet {
    /// Creates an empty sheet of `columns` x `rows` square tiles, `1..=32` per side, of `tile_size`
    /// pixels, `32..=2048`.
    ///
    /// # Errors
    /// [`PictureError::SheetSize`] for a size out of range.
    pub fn new(columns: u32, rows: u32, tile_size: u32) -> Result<Self, PictureError> {
        let tiles = 1..=MAX_TILES;
        if !tiles.contains(&columns)
            || !tiles.contains(&rows)
            || !(MIN_TILE..=MAX_TILE).contains(&tile_size)
        {
            let (max_tiles, min_tile, max_tile) = (MAX_TILES, MIN_TILE, MAX_TILE);
            return Err(PictureError::SheetSize {
                columns,
                rows,
                tile_size,
                max_tiles,
                min_tile,
                max_tile,
            });
        }
        let (view, labels, moments, colliders, lines) = Default::default();
        Ok(Self { columns, rows, tile_size, view, labels, moments, colliders, lines })
    }

    /// Sets the direction from which the moments are seen (default [`fitting_view`]).
    #[must_use]
    pub fn with_view(self, view: View) -> Self {
        Self { view: Some(view), ..self }
    }

    /// Number of tiles, the maximum number of moments.
    pub fn capacity(&self) -> usize {
        self.columns as usize * self.rows as usize
    }

    /// Adds the next moment. The label, for example `frame 15  0.25 s`, may have any length; it is
    /// cropped at the tile's edge.
    ///
    /// # Errors
    /// [`PictureError::SheetFull`] if every tile is taken.
    pub fn add(
        &mut self,
        label: impl Into<String>,
        surfaces: Vec<Surface>,
    ) -> Result<(), PictureError> {
        self.push(label.into(), surfaces, Vec::new(), Vec::new())
    }

    /// Adds a moment like [`ContactSheet::add`], with lines on the surfaces. Surfaces hide the
    /// lines behind them; lines do not affect the frame.
    ///
    /// # Errors
    /// Same as [`ContactSheet::add`].
    pub fn add_with_lines(
        &mut self,
        label: impl Into<String>,
        surfaces: Vec<Surface>,
        lines: Vec<Line>,
    ) -> Result<(), PictureError> {
        self.push(label.into(), surfaces, Vec::new(), lines)
    }

    /// Adds a moment like [`ContactSheet::add`], with colliders in the world \[m\]. They are drawn
    /// in grey; level planes that face up are not, as the picture has a floor. The cloths determine
    /// the frame: nearby colliders are included, far and unbounded ones are cut off.
    ///
    /// # Errors
    /// Same as [`ContactSheet::add`].
    pub fn add_with_colliders(
        &mut self,
        label: impl Into<String>,
        surfaces: Vec<Surface>,
        colliders: Vec<Shape>,
    ) -> Result<(), PictureError> {
        self.push(label.into(), surfaces, colliders, Vec::new())
    }

    fn push(
        &mut self,
        label: String,
        surfaces: Vec<Surface>,
        colliders: Vec<Shape>,
        lines: Vec<Line>,
    ) -> Result<(), PictureError> {
        if self.moments.len() == self.capacity() {
            return Err(PictureError::SheetFull { capacity: self.capacity() });
        }
        self.labels.push(label);
        self.moments.push(surfaces);
        self.colliders.push(colliders);
        self.lines.push(lines);
        Ok(())
    }

    /// Draws all moments in parallel; the picture does not depend on the number of threads.
    pub fn render(&self) -> Image {
        let (solids, cameras) = self.set_up();
        let spacing = grid_spacing(&cameras);
        let gap = (self.tile_size / 40).max(2);
        let side = |count: u32| count * (self.tile_size + gap) + gap;
        let mut image = Image::filled(side(self.columns), side(self.rows), PAGE);
        for (index, pixels) in self.draw_tiles(&cameras, spacing, &solids).into_iter().enumerate() {
            let (column, row) = (index as u32 % self.columns, index as u32 / self.columns);
            let (left, top) =
                (gap + column * (self.tile_size + gap), gap + row * (self.tile_size + gap));
            let tile = Image { width: self.tile_size, height: self.tile_size, pixels };
            image.paste(&tile, [left, top], self.tile_size);
            image.frame(left, top, self.tile_size, BORDER);
            let (inset, right) = (gap.max(6), left + self.tile_size - 2);
            draw_text(&mut image, &self.labels[index], left + inset, top + inset, right, INK);
            if index == 0 {
                let scale = format!("grid {}", length_text(spacing));
                let begin = right.saturating_sub(text_width(&scale) + inset).max(left + inset);
                draw_text(
                    &mut image,
                    &scale,
                    begin,
                    top + self.tile_size - inset - TEXT_HEIGHT,
                    right,
                    FAINT_INK,
                );
            }
        }
        image
    }

    /// Draws all moments and writes the sheet as a PNG.
    ///
    /// # Errors
    /// Same as [`Image::write_png`].
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        self.render().write_png(path)
    }

    /// Returns the colliders of each moment as a surface, and its camera. All cameras look in one
    /// direction, at one floor. Each follows its moment, and may come as near as a fraction of the
    /// farthest camera's distance, so that cloth that shrinks or moves away remains visible.
    fn set_up(&self) -> (Vec<Surface>, Vec<Camera>) {
        let view = self.view.unwrap_or_else(|| fitting_view(&self.moments));
        let floor = self.colliders.iter().flat_map(|shapes| floors(shapes)).reduce(f64::max);
        let points = framed_points(&self.moments);
        let diagonal = |points: &Vec<DVec3>| {
            let [low, high] = box_around(points);
            (high - low).length()
        };
        let scenery_reach = SCENERY_REACH * points.iter().map(diagonal).fold(0.0, f64::max);
        let draw = |(points, shapes): (Vec<DVec3>, &Vec<Shape>)| {
            let [low, high] = box_around(&points);
            let reach = DVec3::splat((high - low).length() * SOLID_REACH);
            let (solid, mut scenery) = collider_surface(shapes, [low - reach, high + reach]);
            let middle = (low + high) * 0.5;
            scenery.extend(floor.map(|height| DVec3::new(middle.x, height, middle.z)));
            (solid, Camera::around(points, &scenery, scenery_reach, view))
        };
        let (solids, mut cameras): (Vec<_>, Vec<_>) =
            points.into_iter().zip(&self.colliders).map(draw).unzip();
        let farthest = cameras.iter().map(|camera| camera.distance).fold(0.0, f64::max);
        let lowest = cameras.iter().map(|camera| camera.bounds[0].y).reduce(f64::min);
        // A floor outside all pictures is ignored.
        let floor = floor.filter(|floor| lowest.is_some_and(|lowest| lowest <= *floor));
        for camera in &mut cameras {
            *camera = camera.no_nearer_than(farthest * NEAREST);
            camera.floor = floor.or(lowest).unwrap_or(camera.floor);
        }
        (solids, cameras)
    }

    fn draw_tiles(&self, cameras: &[Camera], spacing: f64, solids: &[Surface]) -> Vec<Vec<Color>> {
        let next = AtomicUsize::new(0);
        let tiles = Mutex::new(vec![Vec::new(); self.moments.len()]);
        let threads =
            std::thread::available_parallelism().map_or(1, usize::from).min(self.moments.len());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(surfaces) = self.moments.get(index) else { return };
                        let solid_begin = surfaces.len();
                        let surfaces: Vec<_> =
                            surfaces.iter().chain(solids.get(index)).cloned().collect();
                        let tile = draw_tile(
                            &surfaces,
                            solid_begin,
                            &self.lines[index],
                            &cameras[index],
                            &Ground::new(&cameras[index], spacing),
                            self.tile_size as usize,
                        );
                        tiles.lock().unwrap_or_else(|poison| poison.into_inner())[index] = tile;
                    }
                });
            }
        });
        tiles.into_inner().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// Formats a length in metres, or in millimetres or kilometres where those read better.
fn length_text(length: f64) -> String {
    let (value, unit) = match length {
        length if length >= 1000.0 => (length / 1000.0, "km"),
        length if length < 0.01 => (length * 1000.0, "mm"),
        length => (length, "m"),
    };
    // Two decimals hide the rounding of 0.1 + 0.2.
    let rounded = (value * 100.0).round() / 100.0;
    format!("{rounded} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_model::{Plane, Sphere};

    fn sheet_of(positions: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> Image {
        let mut sheet = ContactSheet::new(1, 1, 64).unwrap();
        sheet.add("frame 0", vec![Surface::new(positions, triangles, [200, 0, 0])]).unwrap();
        sheet.render()
    }

    fn red_fraction(image: &Image) -> f64 {
        let is_red = |pixel: &&Color| pixel[0] / 2 > pixel[2];
        image.pixels.iter().filter(is_red).count() as f64 / image.pixels.len() as f64
    }

    #[test]
    fn a_cloth_fills_much_of_its_tile_in_its_colour() {
        let mesh = poplin_model::Mesh::grid(9, 9, 1.0, 1.0);
        let upright = mesh.positions.iter().map(|p| [p[0], p[2], 0.0]).collect();
        let flipped = mesh.triangulated().into_iter().map(|[a, b, c]| [a, c, b]).collect();
        let fraction = red_fraction(&sheet_of(upright, flipped));
        assert!((0.3..0.8).contains(&fraction), "{fraction}");
    }

    #[test]
    fn degenerate_moments_draw_without_panic() {
        let triangle = vec![[0, 1, 2]];
        let cases = [
            (vec![], vec![]),
            (vec![], triangle.clone()),
            (vec![[1.0; 3]; 3], vec![]),
            (vec![[1.0; 3]; 3], triangle.clone()),
            (vec![[f32::NAN; 3]; 3], triangle.clone()),
            (vec![[f32::INFINITY; 3], [-1e38; 3], [1e38, 0.0, 0.0]], triangle.clone()),
            (vec![[1e15, -1e15, 1e15], [-1e15, 0.0, 1e15], [0.0, 1e15, -1e15]], triangle),
        ];
        for (positions, triangles) in cases {
            sheet_of(positions, triangles);
        }
        ContactSheet::new(2, 2, 32).unwrap().render();
    }

    #[test]
    fn random_surfaces_draw_without_panic() {
        let mut random = poplin_geometry::Rng::new(7);
        let mut next = move || f32::from_bits(random.next_u64() as u32);
        for _ in 0..40 {
            let positions = (0..12).map(|_| [next(), next(), next()]).collect();
            sheet_of(
                positions,
                (0..12).map(|first| [first, (first + 5) % 13, (first + 7) % 12]).collect(),
            );
        }
    }

    #[test]
    fn unbounded_colliders_are_drawn_without_changing_the_frame() {
        let mesh = poplin_model::Mesh::grid(9, 9, 1.0, 1.0);
        let draw = |shapes: Vec<Shape>| {
            let mut sheet = ContactSheet::new(1, 1, 64).unwrap();
            let surface = Surface::new(mesh.positions.clone(), mesh.triangulated(), [200, 0, 0]);
            sheet.add_with_colliders("frame 0", vec![surface], shapes).unwrap();
            sheet.render()
        };
        let alone = draw(Vec::new());
        let ball = draw(vec![Sphere { center: [0.5, 0.2, 0.5], radius: 0.3 }.into()]);
        assert!(red_fraction(&ball) < 0.8 * red_fraction(&alone), "the ball hides the sheet");
        let tilted = vec![Shape::from(Plane { normal: [0.6, 0.8, 0.0], offset: -0.6 })];
        assert!(draw(tilted.clone()) != alone);
        assert!((red_fraction(&draw(tilted)) / red_fraction(&alone) - 1.0).abs() < 0.05);
        let floor = Plane { normal: [0.0, 1.0, 0.0], offset: -100.0 };
        assert!(draw(vec![floor.into()]) == alone, "a floor far below");
    }

    #[test]
    fn the_same_moments_give_the_same_picture() {
        let mesh = poplin_model::Mesh::tube(12, 8, 0.3, 0.5, 1.0);
        let draw = || sheet_of(mesh.positions.clone(), mesh.triangulated());
        assert_eq!(draw(), draw());
    }

    #[test]
    fn a_full_sheet_rejects_another_moment() {
        let mut sheet = ContactSheet::new(1, 2, 32).unwrap();
        sheet.add("a", vec![]).unwrap();
        sheet.add("b", vec![]).unwrap();
        assert_eq!(
            sheet.add("c", vec![]).unwrap_err().to_string(),
            "the contact sheet is full: it has 2 tiles"
        );
    }

    #[test]
    fn sheet_sizes_out_of_range_are_rejected() {
        for (columns, rows, tile_size) in [(0, 1, 64), (1, 33, 64), (1, 1, 16), (1, 1, u32::MAX)] {
            assert!(ContactSheet::new(columns, rows, tile_size).is_err());
        }
    }

    #[test]
    fn lengths_read_well() {
        assert_eq!([0.001, 0.2, 50.0, 2000.0].map(length_text), ["1 mm", "0.2 m", "50 m", "2 km"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported() {
        let error = ContactSheet::new(1, 1, 512).unwrap().write_png("/dev/full").unwrap_err();
        assert!(error.to_string().contains("/dev/full: "), "{error}");
    }
}
