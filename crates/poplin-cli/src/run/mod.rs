//! `poplin run`: simulates a job and writes the results.

pub(crate) mod files;
mod folder;
pub(crate) mod interrupt;
pub(crate) mod picture_frames;
pub(crate) mod record;
mod recording;
mod summary;
pub(crate) mod warning;

use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use poplin_model::Shape;

use crate::args::RunArgs;
use crate::failure::{Exit, Failure, OrFail};
use crate::job::Job;
use crate::job_cloth::JobCloth;
use crate::job_simulation::JobSimulation;
use crate::output::{counted, grouped, say};
use interrupt::Interrupt;
use recording::Recorded;
pub(crate) use recording::Recording;
pub(crate) use warning::in_line;

/// Most file names on one output line.
const MAX_NAMES: usize = 16;

/// Size of the frame files above which it is announced \[bytes\].
const LARGE: u64 = 1_000_000_000;

/// Returns the disk space that the frames of a job take \[bytes\].
fn frame_bytes(job: &Job) -> u64 {
    let vertices: usize = job.cloths.iter().map(JobCloth::vertex_count).sum();
    let frame = vertices as u64 * size_of::<[f32; 3]>() as u64;
    frame * (u64::from(job.frames) + 1) * job.formats.len() as u64
}

/// Simulated frames and their times.
struct Progress {
    /// Number of simulated frames.
    frames: u32,
    /// Time of each frame without read-back and files.
    times: Vec<Duration>,
    /// True if the user stopped the run.
    is_interrupted: bool,
}

/// Simulates, then writes caches, meshes, the picture and the summary.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let begin = Instant::now();
    let options = args.backend.options().or_bad_input()?;
    args.picture.check()?;
    let job = Job::of_run(args)?;
    log::info!("read and cooked in {:.2} s", begin.elapsed().as_secs_f64());
    for collider in &job.colliders {
        log::info!("collider `{}`: {}", collider.name, kind(&collider.shape));
    }
    let job = Arc::new(job);
    let mut running = JobSimulation::untangling(job.simulation(options)?, &job)?;
    let choice = running.simulation.backend();
    log::info!("{} backend on {}: {}", choice.backend.name(), choice.adapter, choice.reason);
    // All input is validated before anything is written.
    let mut recording = Recording::begin(job.clone(), args.out.as_deref(), &args.picture)?;
    let bytes = frame_bytes(&job);
    if bytes > LARGE {
        let (gigabytes, frames) = (bytes as f64 / 1e9, grouped(job.frames as usize + 1));
        say!("size   {gigabytes:.1} GB: {frames} frames; --no-cache writes none");
    }
    let interrupt = Interrupt::watch();
    let is_interrupted = simulate(&job, &mut running, &mut recording, &interrupt)?;
    let Recorded { summary, folder, stale, fault } =
        recording.end(&mut running, is_interrupted, begin.elapsed())?;
    summary.print(&folder);
    if !stale.is_empty() {
        let names =
            if stale.len() > MAX_NAMES { counted(stale.len(), "file") } else { stale.join(", ") };
        say!("removed files of the previous run: {names}");
    }
    // Returned only now, after everything that can be written is written.
    fault?;
    let faults = summary.complain_of_faults();
    let is_refused = summary.warn() && args.strict;
    Ok(match (faults || is_refused, is_interrupted) {
        (_, true) => Exit::Interrupted,
        (true, false) => Exit::Failure,
        (false, false) => Exit::Success,
    })
}

/// Simulates and records all frames, or until Ctrl-C. Returns true after Ctrl-C.
fn simulate(
    job: &Job,
    running: &mut JobSimulation,
    recording: &mut Recording,
    interrupt: &Interrupt,
) -> Result<bool, Failure> {
    let progress = progress_bar(job.frames);
    let mut is_interrupted = false;
    recording.record(0, running)?;
    for frame in 1..=job.frames {
        let begin = Instant::now();
        running.advance(job, frame)?;
        recording.count(begin.elapsed());
        log::debug!("frame {frame}: {:.2} ms", begin.elapsed().as_secs_f64() * 1e3);
        is_interrupted = interrupt.is_asked() && frame < job.frames;
        if frame == job.frames || is_interrupted || recording.needs(frame) {
            recording.record(frame, running)?;
        }
        progress.inc(1);
        if is_interrupted {
            break;
        }
    }
    progress.finish_and_clear();
    Ok(is_interrupted)
}

/// Describes a shape for display.
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

/// Creates a progress bar on stderr, hidden unless that is a terminal.
fn progress_bar(frames: u32) -> ProgressBar {
    let template = "{bar:40} frame {pos}/{len}, {per_sec}, {eta} left";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(u64::from(frames)).with_style(style)
}

/// Returns the number of copies of all cloths.
fn copy_count(job_cloths: &[JobCloth]) -> usize {
    job_cloths.iter().map(|job_cloth| job_cloth.offsets.len()).sum()
}
