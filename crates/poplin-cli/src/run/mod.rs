//! `poplin run`: simulates a job and writes the results.

mod files;
mod folder;
mod interrupt;
mod moments;
mod record;
mod summary;
mod warning;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use poplin::{ClothId, Simulation};
use poplin_model::{ColliderId, Frame, Particle, Shape};

use crate::args::RunArgs;
use crate::failure::{Exit, Failure, OrFail};
use crate::garment::Garment;
use crate::job::Job;
use crate::output::{counted, grouped, say};
use folder::OutputFolder;
use record::Recorder;

/// Most names of files on a line.
const MAX_NAMES: usize = 16;

/// Size of frames that is said before they are written \[bytes\].
const LARGE: u64 = 1_000_000_000;

/// What the frames of a job will take on the disk \[bytes\].
fn frame_bytes(job: &Job) -> u64 {
    let vertices: usize = job.garments.iter().map(Garment::vertex_count).sum();
    let frame = vertices as u64 * size_of::<[f32; 3]>() as u64;
    frame * (u64::from(job.frames) + 1) * job.formats.len() as u64
}

/// A simulation with the cloths of a job in it.
struct Stage {
    simulation: Simulation,
    /// The copies of each garment.
    ids: Vec<Vec<ClothId>>,
    /// The colliders of the job.
    colliders: Vec<ColliderId>,
}

/// How a simulation went.
struct Course {
    /// Frames simulated.
    frames: u32,
    /// Time of each frame without read-back and files, in order.
    times: Vec<Duration>,
    /// Whether the user stopped it.
    is_interrupted: bool,
}

/// Simulates, then writes caches, meshes, the picture and the summary.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let begin = Instant::now();
    let options = args.backend.options().or_bad_input()?;
    let job = Job::of_run(args)?;
    log::info!("read and cooked in {:.2} s", begin.elapsed().as_secs_f64());
    for collider in &job.colliders {
        log::info!("collider `{}`: {}", collider.name, kind(&collider.shape_at(0.0)));
    }
    let mut stage = Stage::new(Simulation::new(options)?, &job)?;
    let choice = stage.simulation.backend();
    log::info!("{} backend on {}: {}", choice.backend.name(), choice.adapter, choice.reason);
    // Nothing is written before everything that can be rejected has been rejected.
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from("out").join(&job.name));
    let mut folder = OutputFolder::claim(&folder)?;
    let mut names = files::ClothFiles::names(&job.garments, &job.formats);
    names.extend(args.picture.picture.file().map(str::to_owned));
    names.push(summary::FILE_NAME.to_owned());
    folder.announce(&names)?;
    let bytes = frame_bytes(&job);
    if bytes > LARGE {
        let (gigabytes, frames) = (bytes as f64 / 1e9, grouped(job.frames as usize + 1));
        say!("size   {gigabytes:.1} GB: {frames} frames will be written; --no-cache writes none");
    }
    let mut recorder = Recorder::create(&job, &args.picture, folder.path())?;
    let course = stage.simulate(&job, &mut recorder)?;
    let outcome = recorder.finish(&job, course.frames);
    let summary =
        summary::Summary::new(&job, stage.simulation.backend(), &course, &outcome, begin.elapsed());
    let stale = folder.remove_stale(summary.files());
    summary.write(folder.path())?;
    summary.print(folder.path());
    if !stale.is_empty() {
        let names =
            if stale.len() > MAX_NAMES { counted(stale.len(), "file") } else { stale.join(", ") };
        say!("gone   files of the run before: {names}");
    }
    // Only now, so that whatever could be written has been.
    outcome.fault?;
    let faults = summary.complain_of_faults();
    let is_refused = summary.warn() && args.strict;
    Ok(match (faults || is_refused, course.is_interrupted) {
        (_, true) => Exit::Interrupted,
        (true, false) => Exit::Failure,
        (false, false) => Exit::Success,
    })
}

impl Stage {
    fn new(mut simulation: Simulation, job: &Job) -> Result<Self, Failure> {
        simulation.set_cloth_contact_solver(job.cloth_contact_solver)?;
        let set = simulation.colliders_mut();
        let colliders = job.colliders.iter().map(|collider| set.add(collider.collider_at(0.0)));
        let colliders = colliders.collect::<Result<_, _>>().map_err(poplin::Error::from)?;
        let mut ids = Vec::with_capacity(job.garments.len());
        for garment in &job.garments {
            let copies = (0..garment.offsets.len()).map(|copy| simulation.add(garment.copy(copy)));
            ids.push(copies.collect::<Result<_, _>>()?);
        }
        Ok(Self { simulation, ids, colliders })
    }

    /// Simulates every frame, or until Ctrl-C, and records as it goes.
    fn simulate(&mut self, job: &Job, recorder: &mut Recorder<'_>) -> Result<Course, Failure> {
        let interrupt = interrupt::Interrupt::watch();
        let progress = progress_bar(job.frames);
        let frame = Frame { dt: job.frame_rate.recip() };
        let mut course = Course {
            frames: 0,
            times: Vec::with_capacity(job.frames as usize),
            is_interrupted: false,
        };
        recorder.record(0, &mut self.simulation, &self.ids)?;
        while course.frames < job.frames && !course.is_interrupted {
            let frame_index = course.frames + 1;
            let begin = Instant::now();
            let time = f64::from(frame_index) / f64::from(job.frame_rate);
            self.move_pins(job, time as f32)?;
            self.move_frames(job, time)?;
            self.move_colliders(job, f64::from(course.frames) / f64::from(job.frame_rate), time)?;
            self.blow(job, time)?;
            self.simulation.step(&frame)?;
            self.simulation.wait()?;
            course.times.push(begin.elapsed());
            log::debug!("frame {frame_index}: {:.2} ms", begin.elapsed().as_secs_f64() * 1e3);
            course.frames = frame_index;
            course.is_interrupted = interrupt.is_asked() && frame_index < job.frames;
            let is_last = frame_index == job.frames || course.is_interrupted;
            if is_last || recorder.wants(frame_index) {
                recorder.record(frame_index, &mut self.simulation, &self.ids)?;
            }
            progress.inc(1);
        }
        progress.finish_and_clear();
        recorder.measure_depth(course.frames, &mut self.simulation, &self.ids)?;
        recorder.measure_tangle(&mut self.simulation, &self.ids)?;
        Ok(course)
    }

    /// Moves animated pins to where they are in their local spaces at a time \[s\].
    fn move_pins(&mut self, job: &Job, time: f32) -> Result<(), Failure> {
        for (garment, ids) in job.garments.iter().zip(&self.ids) {
            for moving in &garment.moving {
                let step = moving.path.translation(time);
                let position = |&particle: &u32| {
                    let [x, y, z] = garment.cloth.particles[particle as usize].position;
                    let position = [x + step[0], y + step[1], z + step[2]];
                    Particle { position, inverse_mass: 0.0 }
                };
                let positions: Vec<_> = moving.particles.iter().map(position).collect();
                for &id in ids {
                    self.simulation
                        .cloth_mut(id)?
                        .write_particles(&moving.particles, &positions)
                        .map_err(poplin::Error::from)?;
                }
            }
        }
        Ok(())
    }

    /// Moves local spaces over the next frame to where they are at a time \[s\].
    fn move_frames(&mut self, job: &Job, time: f64) -> Result<(), Failure> {
        for (garment, ids) in
            job.garments.iter().zip(&self.ids).filter(|(garment, _)| garment.has_moving_frame())
        {
            for (copy, &id) in ids.iter().enumerate() {
                let pose = garment.pose_at(copy, time);
                self.simulation.cloth_mut(id)?.set_pose(pose).map_err(poplin::Error::from)?;
            }
        }
        Ok(())
    }

    /// Moves colliders over the next frame, from one time \[s\] to another, to where they are then. Those that do not move
    /// are left alone, so that cloths may sleep.
    fn move_colliders(&mut self, job: &Job, from: f64, to: f64) -> Result<(), Failure> {
        let set = self.simulation.colliders_mut();
        for (collider, id) in job.colliders.iter().zip(&self.colliders) {
            if collider.pose(from) != collider.pose(to) {
                set.set_shape(*id, collider.shape_at(to)).map_err(poplin::Error::from)?;
            }
        }
        Ok(())
    }

    /// Sets the wind of a time \[s\].
    fn blow(&mut self, job: &Job, time: f64) -> Result<(), Failure> {
        for (garment, ids) in job.garments.iter().zip(&self.ids) {
            let Some(wind) = garment.wind else { continue };
            let mut config = garment.cloth.config.clone();
            config.air.wind_velocity = wind.velocity_at(time);
            for &id in ids {
                self.simulation
                    .cloth_mut(id)?
                    .set_config(config.clone())
                    .map_err(poplin::Error::from)?;
            }
        }
        Ok(())
    }
}

/// What a shape is, for people.
fn kind(shape: &Shape) -> String {
    match shape {
        Shape::Sphere(_) => "sphere".into(),
        Shape::Capsule(_) => "capsule".into(),
        Shape::Plane(_) => "plane".into(),
        Shape::Parallelepiped(_) => "box".into(),
        Shape::Convex(planes) => format!("convex of {}", counted(planes.len(), "plane")),
        Shape::TriangleMesh(mesh) => {
            format!("mesh of {}", counted(mesh.triangles.len(), "triangle"))
        }
    }
}

/// A bar on stderr if that is a terminal, else nothing.
fn progress_bar(frames: u32) -> ProgressBar {
    let template = "{bar:40} frame {pos}/{len}, {per_sec}, {eta} left";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(u64::from(frames)).with_style(style)
}

/// Copies of all garments.
fn copy_count(garments: &[Garment]) -> usize {
    garments.iter().map(|garment| garment.offsets.len()).sum()
}
