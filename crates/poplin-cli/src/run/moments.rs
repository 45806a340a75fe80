//! The moments of the picture: spread evenly over the run, however long it turns out to be, or the last alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use poplin_io::IoError;
use poplin_io::picture::{ContactSheet, Surface, View, cloth_color};
use poplin_io::scene::BuiltCollider;

use super::copy_count;
use crate::args::{PictureArgs, PictureKind};
use crate::bodies::Scenery;
use crate::garment::Garment;

/// Moments of a contact sheet.
const TILE_COUNT: u32 = 8;

/// Tiles in a row.
const COLUMNS: u32 = 4;

/// Most moments kept in case the run ends early, beside those planned.
const SPARE_COUNT: usize = 16;

/// Most copies of a cloth drawn: more would be too small to see anything.
const DRAWN_COPIES: usize = 8;

/// Most mesh vertices drawn per tile; further copies are left out (24 moments of so many take 144 MB).
const DRAWN_VERTICES: usize = 500_000;

/// Kept moments of a run.
pub(crate) struct Moments {
    planned: BTreeSet<u32>,
    /// Distance of the spare moments in frames; it doubles when there are too many.
    stride: u32,
    /// By frame.
    kept: BTreeMap<u32, Moment>,
    /// Copies drawn of each garment.
    drawn: Vec<usize>,
    kind: PictureKind,
    /// Side of a tile in pixels.
    tile_size: u32,
    /// From where they are seen, if that is stated.
    view: Option<View>,
}

/// A kept moment.
struct Moment {
    /// Vertex positions of every drawn copy.
    parts: Vec<Vec<[f32; 3]>>,
    /// Where colliders are.
    scenery: Scenery,
}

/// The frames of the tiles for a run of so many frames, first and last among them.
fn spread(frames: u32) -> BTreeSet<u32> {
    let gaps = TILE_COUNT - 1;
    (0..=gaps)
        .map(|tile| {
            ((u64::from(frames) * u64::from(tile) + u64::from(gaps) / 2) / u64::from(gaps)) as u32
        })
        .collect()
}

/// The frames that a picture of this kind shows of a run of so many.
fn wanted(kind: PictureKind, frames: u32) -> BTreeSet<u32> {
    match kind {
        PictureKind::None => BTreeSet::new(),
        PictureKind::Last => BTreeSet::from([frames]),
        PictureKind::Sheet => spread(frames),
    }
}

impl Moments {
    /// Plans for a run of so many frames.
    pub(crate) fn new(
        garments: &[Garment],
        frames: u32,
        picture: &PictureArgs,
        view: Option<View>,
    ) -> Self {
        let mut budget = DRAWN_VERTICES;
        let drawn = garments.iter().map(|garment| {
            let fitting = (budget / garment.mesh.positions.len().max(1)).min(DRAWN_COPIES);
            let count = fitting.clamp(1, garment.offsets.len());
            budget = budget.saturating_sub(count * garment.mesh.positions.len());
            count
        });
        let kind = picture.picture;
        Self {
            planned: wanted(kind, frames),
            stride: 1,
            kept: BTreeMap::new(),
            drawn: drawn.collect(),
            kind,
            tile_size: picture.size(),
            view: picture.camera.or(view),
        }
    }

    /// Whether the frame is one of the picture, if the run goes to its end.
    pub(crate) fn is_planned(&self, frame: u32) -> bool {
        self.planned.contains(&frame)
    }

    /// Whether the frame is worth keeping.
    pub(super) fn wants(&self, frame: u32) -> bool {
        self.planned.contains(&frame)
            || self.kind == PictureKind::Sheet && frame.is_multiple_of(self.stride)
    }

    /// Keeps a frame. `vertices`: of each garment the mesh vertices \[m\] of all copies, one copy after another.
    pub(crate) fn keep(
        &mut self,
        frame: u32,
        garments: &[Garment],
        vertices: &[Vec<[f32; 3]>],
        scenery: &Scenery,
    ) {
        if self.kind == PictureKind::None {
            return;
        }
        let parts = garments.iter().zip(vertices).zip(&self.drawn);
        let surfaces = parts.flat_map(|((garment, vertices), &drawn)| {
            vertices.chunks(garment.mesh.positions.len().max(1)).take(drawn).map(<[_]>::to_vec)
        });
        let moment = Moment { parts: surfaces.collect(), scenery: scenery.clone() };
        self.kept.insert(frame, moment);
        while self.kept.len() > SPARE_COUNT + self.planned.len() {
            self.stride *= 2;
            let (planned, stride) = (&self.planned, self.stride);
            self.kept.retain(|frame, _| planned.contains(frame) || frame.is_multiple_of(stride));
        }
    }

    /// The kept frames nearest to an even spread over the frames done.
    fn chosen(&self, frames: u32) -> BTreeSet<u32> {
        let nearest =
            |wanted: u32| self.kept.keys().copied().min_by_key(|frame| frame.abs_diff(wanted));
        wanted(self.kind, frames).into_iter().filter_map(nearest).collect()
    }

    /// Draws the moments of a run of `frames` frames into the folder. Returns the name of the file, if there is one.
    pub(crate) fn write_picture(
        mut self,
        folder: &Path,
        (garments, colliders): (&[Garment], &[Arc<BuiltCollider>]),
        frame_rate: f32,
        frames: u32,
    ) -> Result<Option<&'static str>, IoError> {
        let Some(name) = self.kind.file() else { return Ok(None) };
        let chosen = self.chosen(frames);
        let count = chosen.len().max(1) as u32;
        let columns = count.min(COLUMNS);
        let mut sheet = ContactSheet::new(columns, count.div_ceil(columns), self.tile_size)?;
        if let Some(view) = self.view {
            sheet = sheet.with_view(view);
        }
        let meshes = garments.iter().zip(&self.drawn).flat_map(|(garment, &drawn)| {
            let triangles: Arc<[[u32; 3]]> = garment.mesh.triangulated().into();
            std::iter::repeat_n(triangles, drawn)
        });
        let meshes: Vec<_> = meshes.enumerate().collect();
        for frame in chosen {
            let Some(Moment { parts, scenery }) = self.kept.remove(&frame) else { continue };
            let surfaces = meshes.iter().zip(parts);
            let surfaces = surfaces.map(|((index, triangles), part)| {
                Surface::new(part, triangles.clone(), cloth_color(*index))
            });
            let time = f64::from(frame) / f64::from(frame_rate);
            let colliders = scenery.shapes(colliders);
            sheet.add_with_colliders(
                format!("frame {frame}  {time:.2} s"),
                surfaces.collect(),
                colliders,
            )?;
        }
        sheet.write_png(folder.join(name))?;
        Ok(Some(name))
    }

    /// What the sheet leaves out, for people.
    pub(super) fn omission(&self, garments: &[Garment]) -> Option<String> {
        let (drawn, all) = (self.drawn.iter().sum::<usize>(), copy_count(garments));
        let is_drawn = self.kind != PictureKind::None;
        (is_drawn && drawn < all).then(|| format!("the picture shows {drawn} of {all} cloths"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(planned: u32, done: u32) -> Vec<u32> {
        let mut moments = Moments::new(&[], planned, &PictureArgs::default(), None);
        for frame in 0..=done {
            if frame == done || moments.wants(frame) {
                moments.keep(frame, &[], &[], &Scenery::start());
            }
            assert!(moments.kept.len() <= SPARE_COUNT + TILE_COUNT as usize);
        }
        moments.chosen(done).into_iter().collect()
    }

    #[test]
    fn a_whole_run_shows_exactly_the_planned_moments() {
        assert_eq!(run(120, 120), [0, 17, 34, 51, 69, 86, 103, 120]);
        assert_eq!(run(7, 7), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(run(2, 2), [0, 1, 2]);
        assert_eq!(run(1_000_000, 1_000_000).len(), 8);
    }

    #[test]
    fn a_run_that_ends_early_still_shows_eight_moments_to_its_end() {
        for done in [7, 30, 99, 1000, 12_345] {
            let chosen = run(1_000_000, done);
            assert_eq!((chosen[0], chosen[chosen.len() - 1]), (0, done));
            assert!(chosen.len() >= 7, "{done}: {chosen:?}");
        }
        assert_eq!(run(1_000_000, 0), [0]);
    }
}
