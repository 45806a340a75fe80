//! Files of a job while it is simulated.

use std::path::{Path, PathBuf};

use glam::{Quat, Vec3};
use poplin::{ClothId, State};
use poplin_io::{ArrayFile, FrameSink, FrameSource, IoError, vertex_normals, write_joined_obj};
use poplin_model::{Particle, Pose};
use poplin_scene::{ArrayKind, SweepOutput};

use super::overview;
use crate::bodies::ColliderPoses;
use crate::failure::{Failure, OrFail};
use crate::job::Job;
use crate::job_cloth::JobCloth;
use crate::picture::PictureOptions;
use crate::run::files::file_stems;
use crate::run::picture_frames::PictureFrames;

/// Files of one job.
pub(super) struct Artifacts {
    folder: PathBuf,
    cloths: Vec<ClothArtifacts>,
    every: Option<u32>,
    /// Frames of each picture.
    pictures: Vec<PictureFrames>,
    has_obj: bool,
    /// World positions of the mesh vertices of each cloth, all copies, at the last recorded frame
    /// \[m\].
    vertices: Vec<Vec<[f32; 3]>>,
}

/// Files of one cloth of a job.
struct ClothArtifacts {
    stem: String,
    arrays: Vec<(ArrayKind, ArrayFile)>,
    /// Sinks of the frames.
    sinks: Vec<NamedSink>,
}

/// Sink of frames, with its file name.
type NamedSink = (String, Box<dyn FrameSink>);

/// Copies of a cloth with their poses at one frame.
pub(super) struct PosedCloth<'a> {
    pub(super) job_cloth: &'a JobCloth,
    pub(super) ids: &'a [ClothId],
    pub(super) poses: &'a [Pose],
}

impl Artifacts {
    /// Creates the files in an empty folder.
    pub(super) fn create(
        folder: PathBuf,
        output: &SweepOutput,
        job: &Job,
        job_cloths: &[JobCloth],
    ) -> Result<Self, Failure> {
        let every = output.every.map(std::num::NonZero::get);
        let frame_count = every.map_or(1, |every| job.frames / every + 1) as usize;
        let names: Vec<&str> = job_cloths.iter().map(|job_cloth| job_cloth.name.as_str()).collect();
        let mut cloths = Vec::with_capacity(job_cloths.len());
        for (job_cloth, stem) in job_cloths.iter().zip(file_stems(&names)) {
            let mut arrays: Vec<(ArrayKind, ArrayFile)> = Vec::new();
            for &kind in &output.arrays {
                if arrays.iter().any(|(known, _)| *known == kind) {
                    continue;
                }
                let path = folder.join(format!("{stem}-{}.npy", kind.name()));
                let (count, precision) = (job_cloth.vertex_count(), output.precision);
                let array = ArrayFile::create(path, frame_count, count, precision);
                arrays.push((kind, array.or_failed()?));
            }
            let sinks = sinks(&folder, &stem, output, job, job_cloth)?;
            cloths.push(ClothArtifacts { stem, arrays, sinks });
        }
        let length = (job.frames, job.frame_rate);
        let open_picture = |picture: &PictureOptions| {
            PictureFrames::new(job_cloths, length, picture, job.view, &folder).or_failed()
        };
        let pictures = [
            output.picture.then(|| open_picture(&PictureOptions::default())).transpose()?,
            output.overview.then(|| open_picture(&overview::tile())).transpose()?,
        ];
        let (has_obj, vertices) = (output.final_obj, Vec::new());
        Ok(Self {
            folder,
            cloths,
            every,
            pictures: pictures.into_iter().flatten().collect(),
            has_obj,
            vertices,
        })
    }

    /// Tests whether any file needs a frame before the last.
    pub(super) fn needs(&self, frame: u32) -> bool {
        self.is_in_arrays(frame)
            || self.is_in_formats(frame)
            || self.pictures.iter().any(|it| it.is_planned(frame))
    }

    fn is_in_formats(&self, frame: u32) -> bool {
        let has_formats = self.cloths.iter().any(|cloth| !cloth.sinks.is_empty());
        has_formats && frame.is_multiple_of(self.every.unwrap_or(1))
    }

    fn is_in_arrays(&self, frame: u32) -> bool {
        self.every.is_some_and(|every| frame.is_multiple_of(every))
    }

    /// Records a needed frame, or the last. `job_cloths` are those of the job.
    pub(super) fn record(
        &mut self,
        frame: u32,
        job: &Job,
        job_cloths: &[JobCloth],
        posed_cloths: &[PosedCloth<'_>],
        state: &State,
        collider_poses: &ColliderPoses,
    ) -> Result<(), Failure> {
        let is_last = frame == job.frames;
        self.vertices =
            posed_cloths.iter().map(|posed_cloth| posed_cloth.positions(state)).collect();
        let is_in_arrays = self.is_in_arrays(frame) || self.every.is_none() && is_last;
        if is_in_arrays {
            for ((cloth, posed_cloth), positions) in
                self.cloths.iter_mut().zip(posed_cloths).zip(&self.vertices)
            {
                for (kind, array) in &mut cloth.arrays {
                    let values = match kind {
                        ArrayKind::Positions => array.append(positions),
                        ArrayKind::Normals => array.append(&posed_cloth.normals(state)),
                        ArrayKind::Velocities => {
                            array.append(&posed_cloth.velocities(state, frame, job))
                        }
                    };
                    values.or_failed()?;
                }
            }
        }
        if self.is_in_formats(frame) {
            for (cloth, positions) in self.cloths.iter_mut().zip(&self.vertices) {
                for (_, sink) in &mut cloth.sinks {
                    sink.push(positions).or_failed()?;
                }
            }
        }
        for kept in &mut self.pictures {
            if kept.is_planned(frame) {
                kept.keep(frame, job_cloths, &self.vertices, collider_poses).or_failed()?;
            }
        }
        Ok(())
    }

    /// Completes the files and syncs them to disk. Returns their names.
    pub(super) fn finish(
        self,
        job: &Job,
        job_cloths: &[JobCloth],
        colliders: &[std::sync::Arc<poplin_scene::BuiltCollider>],
    ) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        let vertices = self.vertices;
        for ((cloth, job_cloth), vertices) in self.cloths.into_iter().zip(job_cloths).zip(&vertices)
        {
            for (_, array) in cloth.arrays {
                names.extend(
                    array.path().file_name().map(|name| name.to_string_lossy().into_owned()),
                );
                array.finish().or_failed()?;
            }
            for (name, sink) in cloth.sinks {
                sink.finish().or_failed()?;
                names.push(name);
            }
            if self.has_obj {
                let name = format!("{}.obj", cloth.stem);
                let copies = vertices.chunks(job_cloth.mesh.positions.len().max(1));
                let parts = copies.map(|copy| (&job_cloth.mesh, copy));
                write_joined_obj(self.folder.join(&name), parts, job.origin).or_failed()?;
                sync(&self.folder.join(&name))?;
                names.push(name);
            }
        }
        for picture in self.pictures {
            let drawn = (job_cloths, colliders);
            let name = picture.write_picture(&self.folder, drawn, job.frame_rate, job.frames);
            if let Some(name) = name.or_failed()? {
                sync(&self.folder.join(name))?;
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }
}

impl PosedCloth<'_> {
    /// Returns the world positions of the mesh vertices of all copies.
    fn positions(&self, state: &State) -> Vec<[f32; 3]> {
        let mut vertices = Vec::with_capacity(self.job_cloth.vertex_count());
        for (&id, &pose) in self.ids.iter().zip(self.poses) {
            self.job_cloth.append_vertices(pose, state.current(id), &mut vertices);
        }
        vertices
    }

    /// Returns the area-weighted unit normals at the mesh vertices of all copies.
    fn normals(&self, state: &State) -> Vec<[f32; 3]> {
        self.of_vertices(|id| {
            let positions: Vec<_> = state.positions(id).collect();
            let triangles = self.job_cloth.cloth.fabric.triangles.iter().copied();
            vertex_normals(&positions, triangles).into_iter().map(|it| it.as_vec3()).collect()
        })
    }

    /// Returns the velocities of the last iteration at the mesh vertices of all copies [m/s].
    fn velocities(&self, state: &State, frame: u32, job: &Job) -> Vec<[f32; 3]> {
        self.of_vertices(|id| {
            let (current, previous) = (state.current(id), state.previous(id));
            let awake = frame.saturating_sub(job.slept_frames(state, id));
            // Mean iterations per frame that the cloth did not sleep through.
            // Mean iterations per frame that the cloth did not sleep through.
            let iterations = state.iteration_total(id) as f32 / awake.max(1) as f32;
            let rate = if awake == 0 { 0.0 } else { job.frame_rate * iterations };
            let difference = |(now, before): (&Particle, &Particle)| {
                (Vec3::from(now.position) - Vec3::from(before.position)) * rate
            };
            current.iter().zip(previous).map(difference).collect()
        })
    }

    /// Maps vectors of particles in local axes to vectors of vertices in world axes.
    fn of_vertices(&self, of_particles: impl Fn(ClothId) -> Vec<Vec3>) -> Vec<[f32; 3]> {
        let mut all = Vec::with_capacity(self.job_cloth.vertex_count());
        for (&id, pose) in self.ids.iter().zip(self.poses) {
            let (vectors, rotation) = (of_particles(id), Quat::from_array(pose.rotation));
            let vector = |particle: &Option<u32>| {
                let vector = particle.and_then(|particle| vectors.get(particle as usize));
                vector.map_or([0.0; 3], |&vector| (rotation * vector).to_array())
            };
            all.extend(self.job_cloth.vertex_to_particle.iter().map(vector));
        }
        all
    }
}

/// Opens the frame files of a cloth.
fn sinks(
    folder: &Path,
    stem: &str,
    output: &SweepOutput,
    job: &Job,
    job_cloth: &JobCloth,
) -> Result<Vec<NamedSink>, Failure> {
    let every = output.every.map_or(1, std::num::NonZero::get);
    let parts = [(&job_cloth.mesh, job_cloth.offsets.len())];
    let frame_rate = job.frame_rate / every as f32;
    let source = FrameSource { parts: &parts, frame_rate, frame_count: job.frames / every + 1 };
    let mut sinks: Vec<NamedSink> = Vec::new();
    for format in &output.formats {
        let name = format.file_name(stem);
        if sinks.iter().all(|(known, _)| *known != name) {
            // A size beyond the format is an error of the job, not of the disk.
            let sink =
                (format.create)(&folder.join(&name), &source).map_err(|error| match error {
                    IoError::TooMany { .. } => Failure::BadInput(error.into()),
                    error => Failure::Failed(error.into()),
                })?;
            sinks.push((name, sink));
        }
    }
    Ok(sinks)
}

/// Syncs a file to disk.
fn sync(path: &Path) -> Result<(), Failure> {
    std::fs::File::open(path).and_then(|file| file.sync_all()).or_failed()
}
