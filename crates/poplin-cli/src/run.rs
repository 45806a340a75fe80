//! `poplin run`: simulates a job and writes the results.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::anyhow;
use poplin_model::Shape;
use poplin_run::{
    Failure, Job, JobSimulation, MeshJob, Recorded, Recording, RestWatch, counted, frame_bytes,
    grouped, progress_bar, shipped,
};
use poplin_scene::SceneCloth;

use crate::args::RunArgs;
use crate::failure::{Exit, complain, has_own_pins, not_held, warn};
use crate::interrupt::Interrupt;
use crate::output::say;

/// Most file names on one output line.
const MAX_NAMES: usize = 16;

/// Size of the frame files above which it is announced \[bytes\].
const LARGE: u64 = 1_000_000_000;

/// Simulates, then writes caches, meshes, the picture and the summary.
pub(crate) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let begin = Instant::now();
    let options = args.backend.options()?;
    args.picture.check()?;
    let job = job(args)?;
    log::info!("read and cooked in {:.2} s", begin.elapsed().as_secs_f64());
    for collider in &job.colliders {
        log::info!("collider `{}`: {}", collider.name, kind(&collider.shape));
    }
    let job = Arc::new(job);
    let mut running = JobSimulation::untangling(job.simulation(options)?, &job)?;
    let choice = running.simulation.backend();
    log::info!("{} backend on {}: {}", choice.backend.name(), choice.adapter, choice.reason);
    // All input is validated before anything is written.
    let mut recording =
        Recording::begin(job.clone(), args.out.as_deref(), &args.picture.options())?;
    let bytes = frame_bytes(&job);
    if bytes > LARGE {
        let (gigabytes, frames) = (bytes as f64 / 1e9, grouped(job.frames as usize + 1));
        say!("size   {gigabytes:.1} GB: {frames} frames; --no-cache writes none");
    }
    let interrupt = Interrupt::watch();
    let mut watch = args.stop_at_rest.map(|speed| RestWatch::new(&job, speed));
    let stop = simulate(&job, &mut running, &mut recording, &mut watch, &interrupt)?;
    let is_interrupted = stop == Stop::Interrupted;
    let Recorded { summary, folder, stale, fault } =
        recording.end(&mut running, is_interrupted, begin.elapsed())?;
    summary.lines(&folder).iter().for_each(|line| say!("{line}"));
    if let (Stop::AtRest(frame), Some(speed)) = (stop, args.stop_at_rest) {
        say!(
            "rest   no vertex moved faster than {speed} m/s: ended after frame {frame} of {}",
            job.frames
        );
    }
    if !stale.is_empty() {
        let names =
            if stale.len() > MAX_NAMES { counted(stale.len(), "file") } else { stale.join(", ") };
        say!("removed files of the previous run: {names}");
    }
    // Returned only now, after everything that can be written is written.
    fault?;
    summary.fault_lines().iter().for_each(|line| complain(line));
    let warnings = summary.warning_lines();
    warnings.iter().for_each(|line| warn(line));
    let is_refused = !warnings.is_empty() && args.strict;
    Ok(match (summary.is_faulty() || is_refused, is_interrupted) {
        (_, true) => Exit::Interrupted,
        (true, false) => Exit::Failure,
        (false, false) => Exit::Success,
    })
}

/// Reason for the end of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stop {
    /// All frames are simulated.
    Done,
    /// The scene is at rest after this frame.
    AtRest(u32),
    /// Ctrl-C.
    Interrupted,
}

/// Simulates and records all frames, or until the scene is at rest, or until Ctrl-C.
fn simulate(
    job: &Job,
    running: &mut JobSimulation,
    recording: &mut Recording,
    watch: &mut Option<RestWatch>,
    interrupt: &Interrupt,
) -> Result<Stop, Failure> {
    let progress =
        progress_bar("{bar:40} frame {pos}/{len}, {per_sec}, {eta} left", job.frames.into());
    let mut stop = Stop::Done;
    recording.record(0, running)?;
    for frame in 1..=job.frames {
        let begin = Instant::now();
        running.advance(job, frame)?;
        recording.count(begin.elapsed());
        log::debug!("frame {frame}: {:.2} ms", begin.elapsed().as_secs_f64() * 1e3);
        if frame < job.frames {
            if let Some(watch) = watch
                && watch.is_at_rest(frame, job, running)?
            {
                stop = Stop::AtRest(frame);
            }
            if interrupt.is_asked() {
                stop = Stop::Interrupted;
            }
        }
        if frame == job.frames || stop != Stop::Done || recording.needs(frame) {
            recording.record(frame, running)?;
        }
        progress.inc(1);
        if stop != Stop::Done {
            break;
        }
    }
    progress.finish_and_clear();
    Ok(stop)
}

/// Describes a shape for display.
fn kind(shape: &Shape) -> String {
    match shape {
        Shape::Convex(planes) => format!("convex of {}", counted(planes.len(), "plane")),
        Shape::TriangleMesh(mesh) => {
            format!("mesh of {}", counted(mesh.triangles.len(), "triangle"))
        }
        _ => shape.name().into(),
    }
}

/// Builds the job.
fn job(args: &RunArgs) -> Result<Job, Failure> {
    let change = |cloth: &mut SceneCloth| args.fabric.apply(cloth, Some(&args.solver));
    let mut job = match (&args.scene, &args.mesh) {
        (Some(_), _) if args.collider.is_some() => {
            return bad_input("--collider needs --mesh; a scene has `[[collider]]` tables".into());
        }
        (Some(_), _) if args.wind.stated().is_some() => {
            return bad_input(format!(
                "{} needs --mesh; a scene has `[wind]`, and its cloths `air = {{ drag_coefficient = ... }}`",
                args.wind.stated().unwrap_or_default()
            ));
        }
        (Some(scene), _) => match args.position.stated() {
            Some(option) => {
                return bad_input(format!(
                    "{option} needs --mesh; the cloths and colliders of a scene have `transform = {{ translation = \
                     ..., rotation = ..., scale = ... }}`"
                ));
            }
            None if !args.pins.is_empty() => return Err(has_own_pins(scene)),
            None => Job::of_scene(scene, args.frame_rate, change)?,
        },
        (None, Some(mesh)) if args.pins.is_empty() && args.collider.is_none() => {
            shipped::check_mesh(mesh)?;
            return Err(not_held(mesh));
        }
        (None, Some(mesh)) => match args.position.stated_of_collider() {
            Some(option) if args.collider.is_none() => {
                return bad_input(format!("{option} needs --collider"));
            }
            _ => Job::of_mesh(&mesh_job(mesh, args)?, change)?,
        },
        (None, None) => {
            return bad_input(format!(
                "no scene to run: pass a TOML file or a shipped scene ({}), for example `poplin run flag`, \
                 or a mesh with pins, for example `poplin run --mesh shirt.obj --pin top:3%`",
                shipped::names()
            ));
        }
    };
    job.frames = args.frames.unwrap_or(job.frames);
    if args.solver.contact.is_some() {
        job.cloth_contact_solver.contact = args.contact();
    }
    job.frame_rate = args.frame_rate.unwrap_or(job.frame_rate);
    if args.no_cache || !args.formats.is_empty() {
        job.formats.clone_from(&args.formats);
    }
    // A repeated format is one file: two sinks would overwrite each other.
    let mut known = Vec::new();
    job.formats.retain(|format| {
        let is_new = !known.contains(format);
        known.push(*format);
        is_new
    });
    Ok(job)
}

/// Returns what the options say about a mesh.
fn mesh_job<'a>(path: &'a Path, args: &'a RunArgs) -> Result<MeshJob<'a>, Failure> {
    shipped::check_mesh(path)?;
    let position = &args.position;
    let (air, choice) = match args.wind.stated() {
        None => (None, None),
        Some(_) => {
            let Some((air, line)) = args.wind.air() else {
                return bad_input(
                    "--wind has no effect where drag and lift are 0: raise one of the options that \
                     set them"
                        .into(),
                );
            };
            (Some(air), line)
        }
    };
    Ok(MeshJob {
        transform: position.transform(),
        is_placed: position.translate.is_some() || position.allow_inside,
        collider: args.collider.as_deref(),
        collider_transform: position.collider_transform(),
        is_collider_open: position.open_collider,
        ground: position.ground,
        air,
        has_thickness: args.solver.thickness.is_some(),
        contact: args.contact(),
        choices: choice.into_iter().collect(),
        ..MeshJob::new(path, &args.pins)
    })
}

fn bad_input<T>(message: String) -> Result<T, Failure> {
    Err(Failure::BadInput(anyhow!(message)))
}
