//! Frames of the picture of a run: spread evenly even if the run ends early, only the last, or an
//! animation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use poplin_picture::{ContactSheet, PictureError, Reel, ReelLook, Surface, View, cloth_color};
use poplin_scene::BuiltCollider;

use super::copy_count;
use crate::bodies::ColliderPoses;
use crate::job_cloth::JobCloth;
use crate::picture::{PictureKind, PictureOptions};

/// Number of tiles of a contact sheet.
const TILE_COUNT: u32 = 8;

/// Tiles in a row.
const COLUMNS: u32 = 4;

/// Most frames kept beside the planned ones, in case the run ends early.
const SPARE_COUNT: usize = 16;

/// Most pictures of an animation.
const MAX_PICTURES: u32 = 600;

/// Most copies drawn of a cloth: more would be too small.
const DRAWN_COPIES: usize = 8;

/// Most mesh vertices drawn per tile; further copies are omitted (24 frames of 500,000 vertices
/// take 144 MB).
const DRAWN_VERTICES: usize = 500_000;

/// Frames kept for the picture of a run.
pub(crate) struct PictureFrames {
    planned: BTreeSet<u32>,
    /// Distance between spare frames; doubles when too many are kept.
    stride: u32,
    /// Kept frames by index.
    kept: BTreeMap<u32, PictureFrame>,
    /// Number of drawn copies of each cloth.
    drawn: Vec<usize>,
    kind: PictureKind,
    /// Side of a tile in pixels.
    tile_size: u32,
    /// View, if one is stated.
    view: Option<View>,
    /// Frames of an animation on disk, with their indices and the poses of colliders.
    reel: Option<(Reel, Vec<(u32, ColliderPoses)>)>,
    /// Rotation of the camera over an animation \[degrees\].
    orbit: f64,
    /// Duration of each picture of an animation \[s\].
    seconds: f64,
}

/// Kept frame.
struct PictureFrame {
    /// Vertex positions of every drawn copy.
    parts: Vec<Vec<[f32; 3]>>,
    /// Poses of colliders.
    collider_poses: ColliderPoses,
}

/// Returns the frames of the tiles for a run of `frames` frames, including the first and the last.
fn spread(frames: u32) -> BTreeSet<u32> {
    // round(frames * tile / gaps)
    let gaps = TILE_COUNT - 1;
    (0..=gaps)
        .map(|tile| {
            ((u64::from(frames) * u64::from(tile) + u64::from(gaps) / 2) / u64::from(gaps)) as u32
        })
        .collect()
}

/// Returns the distance between pictures of an animation in frames, for `rate` pictures per second
/// and at most [`MAX_PICTURES`].
fn frames_apart(frames: u32, frame_rate: f32, rate: u32) -> f64 {
    let apart = (f64::from(frame_rate) / f64::from(rate)).max(1.0);
    apart.max(f64::from(frames) / f64::from(MAX_PICTURES - 1))
}

/// Returns the frames that a picture of this kind shows of a run of `frames` frames; none for an
/// animation, which is planned by time.
fn wanted(kind: PictureKind, frames: u32) -> BTreeSet<u32> {
    match kind {
        PictureKind::None | PictureKind::Animation => BTreeSet::new(),
        PictureKind::Last => BTreeSet::from([frames]),
        PictureKind::Sheet => spread(frames),
    }
}

impl PictureFrames {
    /// Plans the frames for a run of this length and frame rate.
    pub(crate) fn new(
        job_cloths: &[JobCloth],
        (frames, frame_rate): (u32, f32),
        picture: &PictureOptions,
        view: Option<View>,
        folder: &Path,
    ) -> Result<Self, PictureError> {
        let mut budget = DRAWN_VERTICES;
        let drawn = job_cloths.iter().map(|job_cloth| {
            let fitting = (budget / job_cloth.mesh.positions.len().max(1)).min(DRAWN_COPIES);
            let count = fitting.clamp(1, job_cloth.offsets.len());
            budget = budget.saturating_sub(count * job_cloth.mesh.positions.len());
            count
        });
        let drawn: Vec<_> = drawn.collect();
        let kind = picture.kind;
        let mut planned = wanted(kind, frames);
        let (mut reel, mut seconds) = (None, 0.0);
        if let (PictureKind::Animation, Some(name)) = (kind, kind.file()) {
            let apart = frames_apart(frames, frame_rate, picture.rate());
            let pictures = (f64::from(frames) / apart).floor() as u32;
            planned = (0..=pictures).map(|k| (f64::from(k) * apart).round() as u32).collect();
            seconds = apart / f64::from(frame_rate);
            let meshes = meshes(job_cloths, &drawn).map(|(k, mesh)| (mesh, cloth_color(k)));
            reel = Some((Reel::create(folder.join(name), meshes.collect())?, Vec::new()));
        }
        Ok(Self {
            planned,
            stride: 1,
            kept: BTreeMap::new(),
            drawn,
            kind,
            tile_size: picture.size(),
            view: picture.view.or(view),
            reel,
            orbit: picture.orbit,
            seconds,
        })
    }

    /// Tests whether the picture of a complete run shows the frame.
    pub(crate) fn is_planned(&self, frame: u32) -> bool {
        self.planned.contains(&frame)
    }

    /// Tests whether to keep the frame.
    pub(super) fn needs(&self, frame: u32) -> bool {
        self.planned.contains(&frame)
            || self.kind == PictureKind::Sheet && frame.is_multiple_of(self.stride)
    }

    /// Keeps a frame. `vertices` holds the world positions of the mesh vertices of each cloth
    /// \[m\], one copy after another.
    pub(crate) fn keep(
        &mut self,
        frame: u32,
        job_cloths: &[JobCloth],
        vertices: &[Vec<[f32; 3]>],
        collider_poses: &ColliderPoses,
    ) -> Result<(), PictureError> {
        let is_left_out = match &self.reel {
            // `keep` is called again for the last frame, and for unplanned frames.
            Some((_, frames)) => {
                !self.planned.contains(&frame) || frames.last().is_some_and(|it| it.0 == frame)
            }
            None => self.kind == PictureKind::None,
        };
        if is_left_out {
            return Ok(());
        }
        let parts = job_cloths.iter().zip(vertices).zip(&self.drawn);
        let surfaces = parts.flat_map(|((job_cloth, vertices), &drawn)| {
            vertices.chunks(job_cloth.mesh.positions.len().max(1)).take(drawn).map(<[_]>::to_vec)
        });
        let parts: Vec<_> = surfaces.collect();
        if let Some((reel, frames)) = &mut self.reel {
            frames.push((frame, collider_poses.clone()));
            return reel.push(parts);
        }
        self.kept.insert(frame, PictureFrame { parts, collider_poses: collider_poses.clone() });
        // Too many spare frames: double their distance.
        while self.kept.len() > SPARE_COUNT + self.planned.len() {
            self.stride *= 2;
            let (planned, stride) = (&self.planned, self.stride);
            self.kept.retain(|frame, _| planned.contains(frame) || frame.is_multiple_of(stride));
        }
        Ok(())
    }

    /// Returns the kept frames nearest to an even spread over the simulated frames.
    fn chosen(&self, frames: u32) -> BTreeSet<u32> {
        let nearest =
            |wanted: u32| self.kept.keys().copied().min_by_key(|frame| frame.abs_diff(wanted));
        wanted(self.kind, frames).into_iter().filter_map(nearest).collect()
    }

    /// Draws the picture of a run of `frames` frames into the folder. Returns the file name, if
    /// there is one.
    pub(crate) fn write_picture(
        mut self,
        folder: &Path,
        (job_cloths, colliders): (&[JobCloth], &[Arc<BuiltCollider>]),
        frame_rate: f32,
        frames: u32,
    ) -> Result<Option<&'static str>, anyhow::Error> {
        let Some(name) = self.kind.file() else { return Ok(None) };
        let label = |frame: u32| {
            let time = f64::from(frame) / f64::from(frame_rate);
            format!("frame {frame}  {time:.2} s")
        };
        if let Some((reel, frames)) = self.reel {
            let Self { tile_size: size, view, orbit, seconds, .. } = self;
            reel.write(ReelLook { size, view, orbit, seconds }, |k| {
                let (frame, collider_poses) = &frames[k];
                Ok::<_, anyhow::Error>((label(*frame), collider_poses.shapes(colliders)?))
            })?;
            return Ok(Some(name));
        }
        let chosen = self.chosen(frames);
        let count = chosen.len().max(1) as u32;
        let columns = count.min(COLUMNS);
        let mut sheet = ContactSheet::new(columns, count.div_ceil(columns), self.tile_size)?;
        if let Some(view) = self.view {
            sheet = sheet.with_view(view);
        }
        let meshes: Vec<_> = meshes(job_cloths, &self.drawn).collect();
        for frame in chosen {
            let Some(PictureFrame { parts, collider_poses }) = self.kept.remove(&frame) else {
                continue;
            };
            let surfaces = meshes.iter().zip(parts);
            let surfaces = surfaces.map(|((index, triangles), part)| {
                Surface::new(part, triangles.clone(), cloth_color(*index))
            });
            sheet.add_with_colliders(
                label(frame),
                surfaces.collect(),
                collider_poses.shapes(colliders)?,
            )?;
        }
        sheet.write_png(folder.join(name))?;
        Ok(Some(name))
    }

    /// Returns a note about cloths that the picture omits.
    pub(super) fn omission(&self, job_cloths: &[JobCloth]) -> Option<String> {
        let (drawn, all) = (self.drawn.iter().sum::<usize>(), copy_count(job_cloths));
        let is_drawn = self.kind != PictureKind::None;
        (is_drawn && drawn < all).then(|| format!("the picture shows {drawn} of {all} cloths"))
    }
}

/// Returns the triangles of every drawn copy, with its index.
fn meshes(
    job_cloths: &[JobCloth],
    drawn: &[usize],
) -> impl Iterator<Item = (usize, Arc<[[u32; 3]]>)> {
    let meshes = job_cloths.iter().zip(drawn).flat_map(|(job_cloth, &drawn)| {
        let triangles: Arc<[[u32; 3]]> = job_cloth.mesh.triangulated().into();
        std::iter::repeat_n(triangles, drawn)
    });
    meshes.enumerate()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(planned: u32, done: u32) -> Vec<u32> {
        let (picture, folder) = (PictureOptions::default(), Path::new(""));
        let mut picture_frames =
            PictureFrames::new(&[], (planned, 60.0), &picture, None, folder).unwrap();
        for frame in 0..=done {
            if frame == done || picture_frames.needs(frame) {
                picture_frames.keep(frame, &[], &[], &ColliderPoses::start()).unwrap();
            }
            assert!(picture_frames.kept.len() <= SPARE_COUNT + TILE_COUNT as usize);
        }
        picture_frames.chosen(done).into_iter().collect()
    }

    #[test]
    fn a_complete_run_shows_the_planned_frames() {
        assert_eq!(run(120, 120), [0, 17, 34, 51, 69, 86, 103, 120]);
        assert_eq!(run(7, 7), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(run(2, 2), [0, 1, 2]);
        assert_eq!(run(1_000_000, 1_000_000).len(), 8);
    }

    #[test]
    fn an_animation_runs_in_real_time_with_at_most_600_pictures() {
        for (frames, frame_rate, rate, apart) in [
            (120, 60.0, 25, 2.4),
            (120, 60.0, 30, 2.0),
            (120, 20.0, 25, 1.0),
            (12_000, 60.0, 60, 20.03),
        ] {
            let own = frames_apart(frames, frame_rate, rate);
            assert!((own - apart).abs() < 0.01, "{own}");
            assert!(f64::from(frames) / own <= 599.0 + 1e-9);
        }
    }

    #[test]
    fn a_run_that_ends_early_still_shows_eight_frames() {
        for done in [7, 30, 99, 1000, 12_345] {
            let chosen = run(1_000_000, done);
            assert_eq!((chosen[0], chosen[chosen.len() - 1]), (0, done));
            assert!(chosen.len() >= 7, "{done}: {chosen:?}");
        }
        assert_eq!(run(1_000_000, 0), [0]);
    }
}
