//! Animated PNG of the moments of a simulation.

use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use glam::DVec3;
use poplin_model::Shape;

use super::background::{Ground, grid_spacing};
use super::camera::{box_around, drawn_points, extremes, keep_near, reach_of, view_of_box};
use super::label::draw_text;
use super::sheet::{INK, Image, MAX_TILE, MIN_TILE, SCENERY_REACH, SOLID_REACH};
use super::solid::{collider_surface, floors};
use super::temporary::{Temporary, triples};
use super::tile::draw_tile;
use super::{Camera, Color, Surface, View};
use crate::PictureError;

/// Number of pictures whose colliders are sampled for the frame before drawing.
const SCOUTED: usize = 8;

/// Finest fraction of a second in which display times are counted [1/s].
const TICKS: f64 = 10_000.0;

/// Look of a reel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReelLook {
    /// Side of the square pictures \[pixels\], `32..=2048`.
    pub size: u32,
    /// Camera direction of the first picture (default [`fitting_view`](crate::fitting_view)).
    pub view: Option<View>,
    /// Rotation of the camera around the vertical axis over one loop \[degrees\]; 0 is still, 360
    /// is one revolution to the left.
    pub orbit: f64,
    /// Display time of each picture \[s\], `0.0001..=65535`.
    pub seconds: f64,
}

/// Animated PNG in the making. Moments are kept in a temporary file, as the common frame of all
/// pictures is known only at the end.
#[derive(Debug)]
pub struct Reel {
    path: PathBuf,
    frames: Temporary,
    meshes: Vec<(Arc<[[u32; 3]]>, Color)>,
    /// Number of vertices of each mesh.
    counts: Vec<usize>,
    /// Extent of the first moment with a point; points that fly farther do not affect the frame.
    reach: Option<DVec3>,
    /// Outermost points of all moments.
    points: Vec<DVec3>,
    moment_count: usize,
}

impl Reel {
    /// Creates an empty reel for a file, with surfaces of these triangles and colours.
    ///
    /// # Errors
    /// [`PictureError::Write`] if no temporary file can be created next to `path`.
    pub fn create(
        path: impl AsRef<Path>,
        meshes: Vec<(Arc<[[u32; 3]]>, Color)>,
    ) -> Result<Self, PictureError> {
        let path = path.as_ref().to_path_buf();
        let frames = Temporary::create(&path, "frames")?;
        let (counts, reach, points) = Default::default();
        Ok(Self { path, frames, meshes, counts, reach, points, moment_count: 0 })
    }

    /// Appends a moment: vertex positions \[m\] of every surface, with the same vertex counts each
    /// time.
    ///
    /// # Errors
    /// [`PictureError::Write`] if the disk is full, [`PictureError::MomentLength`] for a different
    /// vertex count.
    pub fn push(&mut self, parts: Vec<Vec<[f32; 3]>>) -> Result<(), PictureError> {
        let counts: Vec<_> = parts.iter().map(Vec::len).collect();
        if self.moment_count == 0 {
            self.counts = counts;
        } else if self.counts != counts {
            let totals = [counts.iter().sum(), self.counts.iter().sum()];
            let [vertex_count, expected] = totals;
            if vertex_count != expected {
                let (path, moment) = (self.path.clone(), self.moment_count);
                return Err(PictureError::MomentLength { path, moment, vertex_count, expected });
            }
        }
        self.frames.append(parts.iter().flatten()).map_err(PictureError::write(&self.path))?;
        let mut points = drawn_points(&self.surfaces(parts));
        self.reach = self.reach.or_else(|| reach_of(&points));
        if let Some(reach) = self.reach {
            keep_near(&mut points, reach);
        }
        self.points.extend(extremes(&points));
        self.moment_count += 1;
        Ok(())
    }

    fn surfaces(&self, parts: Vec<Vec<[f32; 3]>>) -> Vec<Surface> {
        let meshes = self.meshes.iter().zip(parts);
        meshes.map(|((mesh, color), part)| Surface::new(part, mesh.clone(), *color)).collect()
    }

    /// Draws all moments and writes the file, which is complete or missing. `scene` returns the
    /// label and the colliders, in the world \[m\], of a moment.
    ///
    /// # Errors
    /// Errors of `scene`, [`PictureError::SheetSize`] for a size out of range,
    /// [`PictureError::NoMoments`] without a moment, [`PictureError::Write`] or
    /// [`PictureError::Png`] if the file cannot be written.
    pub fn write<E: From<PictureError>>(
        self,
        look: ReelLook,
        mut scene: impl FnMut(usize) -> Result<(String, Vec<Shape>), E>,
    ) -> Result<(), E> {
        if !(MIN_TILE..=MAX_TILE).contains(&look.size) {
            let (tile_size, min_tile, max_tile) = (look.size, MIN_TILE, MAX_TILE);
            let (columns, rows, max_tiles) = (1, 1, 1);
            let error =
                PictureError::SheetSize { columns, rows, tile_size, max_tiles, min_tile, max_tile };
            return Err(error.into());
        }
        if self.moment_count == 0 {
            return Err(PictureError::NoMoments { path: self.path.clone() }.into());
        }
        let [low, high] = box_around(&self.points);
        let diagonal = (high - low).length();
        let around = |reach: f64| [low - DVec3::splat(reach), high + DVec3::splat(reach)];
        let [reach, near] = [SOLID_REACH, SCENERY_REACH].map(|part| around(part * diagonal));
        // Nearby colliders are part of the frame, distant ones are not.
        let (mut points, mut floor) = (self.points.clone(), None);
        for k in 0..SCOUTED.min(self.moment_count) {
            // Evenly spread over the run, first and last included.
            let last = self.moment_count - 1;
            let (_, shapes) = scene(k * last / (SCOUTED - 1).min(last.max(1)))?;
            let height = floors(&shapes).filter(|height| (near[0].y..=high.y).contains(height));
            floor = height.chain(floor).reduce(f64::max);
            let (_, scenery) = collider_surface(&shapes, reach);
            let is_near = |p: &DVec3| p.cmpge(near[0]).all() && p.cmple(near[1]).all();
            points.extend(extremes(&scenery.into_iter().filter(is_near).collect::<Vec<_>>()));
        }
        let [middle, bottom] = [(low + high) * 0.5, DVec3::splat(floor.unwrap_or(low.y))];
        points.extend(floor.map(|_| DVec3::new(middle.x, bottom.y, middle.z)));
        let view = look.view.unwrap_or_else(|| view_of_box([low, high]));
        let views: Vec<_> = (0..self.moment_count)
            .map(|k| {
                let part = k as f64 / self.moment_count as f64;
                View { azimuth: view.azimuth - look.orbit * part, ..view }
            })
            .collect();
        let mut cameras = Camera::around_from(&points, &views);
        cameras.iter_mut().for_each(|camera| camera.floor = floor.unwrap_or(camera.floor));
        let spacing = grid_spacing(&cameras);

        let failed = |source| PictureError::Write { path: self.path.clone(), source };
        let png_failed = |source| PictureError::Png { path: self.path.clone(), source };
        let part = Temporary::create(&self.path, "part")?;
        let mut out = BufWriter::new(part.file());
        let mut encoder = png::Encoder::new(&mut out, look.size, look.size);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_animated(self.moment_count as u32, 0).map_err(png_failed)?;
        // APNG delays are fractions of two 16-bit numbers: the finest denominator that fits.
        let most = f64::from(u16::MAX);
        let parts = (most / look.seconds).floor().clamp(1.0, TICKS);
        // delay = shown / parts seconds
        let shown = (look.seconds * parts).round().clamp(1.0, most);
        encoder.set_frame_delay(shown as u16, parts as u16).map_err(png_failed)?;
        let mut writer = encoder.write_header().map_err(png_failed)?;
        let mut frames = self.frames.file();
        frames.rewind().map_err(failed)?;
        let mut reader = BufReader::new(frames);
        let at_once = std::thread::available_parallelism().map_or(1, usize::from);
        for begin in (0..self.moment_count).step_by(at_once) {
            let mut moments = Vec::with_capacity(at_once);
            for (k, camera) in cameras.iter().enumerate().skip(begin).take(at_once) {
                let (label, shapes) = scene(k)?;
                let surfaces = self.surfaces(self.read(&mut reader).map_err(failed)?);
                let solid = collider_surface(&shapes, reach).0;
                moments.push((label, surfaces, solid, camera));
            }
            let draw =
                |(label, mut surfaces, solid, camera): (String, Vec<Surface>, _, &Camera)| {
                    let solid_begin = surfaces.len();
                    surfaces.push(solid);
                    let ground = Ground::new(camera, spacing);
                    let size = look.size as usize;
                    let pixels = draw_tile(&surfaces, solid_begin, &[], camera, &ground, size);
                    let mut image = Image { width: look.size, height: look.size, pixels };
                    draw_text(&mut image, &label, 10, 10, look.size - 2, INK);
                    image
                };
            let images: Vec<_> = std::thread::scope(|threads| {
                let running: Vec<_> =
                    moments.into_iter().map(|moment| threads.spawn(|| draw(moment))).collect();
                running.into_iter().filter_map(|thread| thread.join().ok()).collect()
            });
            for image in images {
                writer.write_image_data(image.pixels.as_flattened()).map_err(png_failed)?;
            }
        }
        writer.finish().map_err(png_failed)?;
        out.flush().map_err(failed)?;
        drop(out);
        Ok(part.rename(&self.path)?)
    }

    /// Reads the positions of the next moment.
    fn read(&self, reader: &mut impl Read) -> std::io::Result<Vec<Vec<[f32; 3]>>> {
        let part = |&count: &usize| {
            let mut bytes = vec![0; count * 12];
            reader.read_exact(&mut bytes)?;
            Ok(triples(&bytes).collect())
        };
        self.counts.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_model::{Mesh, Plane};
    use poplin_testkit::Scratch;

    const LOOK: ReelLook = ReelLook { size: 64, view: None, orbit: 0.0, seconds: 0.04 };

    fn names(folder: &Scratch) -> Vec<String> {
        let entries = std::fs::read_dir(folder.path("")).unwrap();
        entries.map(|it| it.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    /// Sheet that falls by 2 m in `count` moments.
    fn reel(path: &Path, count: usize) -> Reel {
        let mesh = Mesh::grid(5, 5, 1.0, 1.0);
        let meshes = vec![(mesh.triangulated().into(), [200, 0, 0])];
        let mut reel = Reel::create(path, meshes).unwrap();
        for k in 0..count {
            let fallen = 2.0 * k as f32 / count as f32;
            let positions = mesh.positions.iter().map(|p| [-p[0], p[2] - fallen, p[1]]).collect();
            reel.push(vec![positions]).unwrap();
        }
        reel
    }

    /// Reads the pictures of a file and their display times \[s\].
    fn pictures(path: &Path) -> Vec<(Vec<u8>, f64)> {
        let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let count = reader.info().animation_control().unwrap().num_frames;
        let read = |_| {
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            let control = *reader.info().frame_control().unwrap();
            (pixels, f64::from(control.delay_num) / f64::from(control.delay_den))
        };
        (0..count).map(read).collect()
    }

    /// Mean row of the red pixels.
    fn red_row(pixels: &[u8]) -> f64 {
        let rows = pixels.as_chunks::<3>().0.iter().enumerate();
        let red = rows.filter(|(_, pixel)| pixel[0] / 2 > pixel[2]).map(|(k, _)| (k / 64) as f64);
        let red: Vec<_> = red.collect();
        assert!(red.len() > 40, "only {} pixels are red", red.len());
        red.iter().sum::<f64>() / red.len() as f64
    }

    #[test]
    fn one_camera_frames_every_moment() {
        let folder = Scratch::new("reel");
        let path = folder.path("fall.png");
        let floor = Shape::from(Plane { normal: [0.0, 1.0, 0.0], offset: -2.5 });
        let scene = |k| Ok::<_, PictureError>((format!("frame {k}"), vec![floor.clone()]));
        reel(&path, 11).write(LOOK, scene).unwrap();
        assert_eq!(names(&folder), ["fall.png"], "nothing else is left");
        let pictures = pictures(&path);
        assert_eq!(pictures.len(), 11);
        assert!(pictures.iter().all(|(_, seconds)| *seconds == 0.04));
        let rows: Vec<_> = pictures.iter().map(|(pixels, _)| red_row(pixels)).collect();
        assert!(rows.windows(2).all(|pair| pair[1] > pair[0] + 1.0), "it falls: {rows:?}");
    }

    #[test]
    fn display_times_are_stored_precisely() {
        let folder = Scratch::new("delays");
        let path = folder.path("slow.png");
        let scene = |_| Ok::<_, PictureError>((String::new(), Vec::new()));
        for seconds in [1e-4, 1.0 / 24.0, 6.5535, 7.0, 1000.0 / 3.0, 65535.0] {
            reel(&path, 2).write(ReelLook { seconds, ..LOOK }, scene).unwrap();
            let (_, shown) = pictures(&path)[0];
            let most = (0.5e-4_f64).max(1e-4 * seconds);
            assert!((shown - seconds).abs() <= most, "{shown} s is not {seconds} s");
        }
    }

    #[test]
    fn a_full_orbit_ends_at_its_start() {
        let folder = Scratch::new("orbit");
        let scene = |_| Ok::<_, PictureError>((String::new(), Vec::new()));
        // The cloth is still: only the view changes.
        let draw = |name: &str, orbit: f64| {
            let path = folder.path(name);
            let mesh = Mesh::grid(5, 5, 1.0, 0.4);
            let upright: Vec<_> = mesh.positions.iter().map(|p| [-p[0], p[2], p[1]]).collect();
            let meshes = vec![(mesh.triangulated().into(), [200, 0, 0])];
            let mut reel = Reel::create(&path, meshes).unwrap();
            (0..4).for_each(|_| reel.push(vec![upright.clone()]).unwrap());
            let view = Some(View { azimuth: 20.0, elevation: 10.0 });
            reel.write(ReelLook { orbit, view, ..LOOK }, scene).unwrap();
            pictures(&path)
        };
        let still = draw("still.png", 0.0);
        assert!(still.iter().all(|picture| *picture == still[0]));
        let [once, twice] = [draw("once.png", 360.0), draw("twice.png", 720.0)];
        assert!(once[0] != once[1] && once[1] != once[3]);
        assert_eq!((&twice[0], &twice[1]), (&twice[2], &twice[3]));
        assert_eq!(twice[1], once[2], "half around");
    }

    #[test]
    fn a_failed_write_keeps_the_existing_file() {
        let folder = Scratch::new("failed");
        let path = folder.path("fall.png");
        std::fs::write(&path, "before").unwrap();
        let scene = |k: usize| match k {
            5 => Err(PictureError::NoMoments { path: "body.pc2".into() }),
            _ => Ok((String::new(), Vec::new())),
        };
        let error = reel(&path, 20).write(LOOK, scene).unwrap_err();
        assert_eq!(error.to_string(), "body.pc2: the file has no moments");
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        assert_eq!(names(&folder), ["fall.png"]);
        let good = |_| Ok::<_, PictureError>((String::new(), Vec::new()));
        let error = reel(&path, 0).write(LOOK, good).unwrap_err();
        assert!(error.to_string().ends_with("fall.png: the file has no moments"), "{error}");
        assert!(reel(&path, 1).write(ReelLook { size: 4, ..LOOK }, good).is_err());
    }

    #[test]
    fn moments_of_wrong_length_or_without_points_do_not_panic() {
        let folder = Scratch::new("lengths");
        let path = folder.path("none.png");
        let mut reel = reel(&path, 2);
        assert!(reel.push(vec![vec![[0.0; 3]; 3]]).is_err());
        reel.push(vec![vec![[f32::NAN; 3]; 25]]).unwrap();
        reel.write(LOOK, |_| Ok::<_, PictureError>((String::new(), Vec::new()))).unwrap();
        assert_eq!(pictures(&path).len(), 3);
    }
}
