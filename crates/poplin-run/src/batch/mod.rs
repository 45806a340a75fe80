//! Variants of one scene, simulated many at once, in a folder that records finished
//! jobs.

mod artifacts;
mod hash;
mod overview;
mod prepare;
mod row;
mod simulate;
mod store;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow};
use indicatif::ProgressBar;
use poplin::SimulationOptions;
use poplin_scene::{Sweep, SweepJobs};
use rayon::prelude::*;
use thiserror::Error;

use crate::failure::{Failure, OrFail};
use crate::numbers::{counted, grouped};
use crate::progress::progress_bar;
use crate::shipped;
use hash::Fnv;
use prepare::{Group, JobFactory, Prepared};
use row::Row;
use simulate::{Ended, Runner};
use store::{Status, Store};

/// Particles per CPU thread of the jobs that are in memory at once: 16 lanes of 2,048. More are not
/// faster, and more is lost if the batch is killed.
const PARTICLES_PER_THREAD: usize = 1 << 15;

/// Particles of the jobs that are in memory at once on a GPU.
const PARTICLES_ON_GPU: usize = 1 << 20;

/// Most jobs that are in memory at once.
const MAX_TOGETHER: usize = 4096;

/// Most frame files that are open at once: half of the limit of some systems.
const MAX_OPEN: usize = 128;

/// Options of [`run_batch`].
#[derive(Debug, Clone, Default)]
pub struct BatchOptions {
    /// Jobs to run (default all).
    pub part: Option<Part>,
    /// Continues in a folder with results (default false: results are an error). Finished jobs,
    /// including failed ones, are skipped.
    pub resume: bool,
    /// Backend and adapter.
    pub simulation: SimulationOptions,
    /// Shows a progress bar on stderr, if that is a terminal (default false).
    pub progress_bar: bool,
}

/// Selected jobs of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Range of jobs.
    Jobs {
        /// First job.
        begin: usize,
        /// One past the last job, above `begin`.
        end: usize,
    },
    /// Jobs whose index modulo `count` is `index`.
    Shard {
        /// Remainder, below `count`.
        index: usize,
        /// Number of shards.
        count: usize,
    },
}

/// Error of a text that is not a [`Part`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PartError {
    /// Not a range of jobs.
    #[error("not a range of jobs such as `0..100`, first and one past the last")]
    NotARange,
    /// Not a shard.
    #[error("not a shard such as `0/4`, counted from 0: one of `0/4`, `1/4`, `2/4`, `3/4`")]
    NotAShard,
}

impl Part {
    /// Parses a range of jobs, `A..B`.
    ///
    /// # Errors
    /// [`PartError::NotARange`].
    pub fn range(text: &str) -> Result<Self, PartError> {
        let (begin, end) = text.split_once("..").ok_or(PartError::NotARange)?;
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| PartError::NotARange);
        let (begin, end) = (number(begin)?, number(end)?);
        if begin < end { Ok(Self::Jobs { begin, end }) } else { Err(PartError::NotARange) }
    }

    /// Parses one of several equal parts, `I/N`.
    ///
    /// # Errors
    /// [`PartError::NotAShard`].
    pub fn shard(text: &str) -> Result<Self, PartError> {
        let (index, count) = text.split_once('/').ok_or(PartError::NotAShard)?;
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| PartError::NotAShard);
        let (index, count) = (number(index)?, number(count)?);
        if index < count { Ok(Self::Shard { index, count }) } else { Err(PartError::NotAShard) }
    }

    /// Returns the selected jobs of a sweep of `count` jobs in rising order.
    ///
    /// # Errors
    /// [`Failure::BadInput`] for a part outside the sweep.
    pub fn jobs_of(part: Option<Self>, count: usize) -> Result<Vec<usize>, Failure> {
        match part {
            None => Ok((0..count).collect()),
            Some(Self::Shard { index, count }) if index >= count => {
                Err(PartError::NotAShard).or_bad_input()
            }
            Some(Self::Jobs { begin, end }) if begin >= end => {
                Err(PartError::NotARange).or_bad_input()
            }
            Some(Self::Shard { index, count: shards }) => {
                Ok((index..count).step_by(shards).collect())
            }
            Some(Self::Jobs { end, .. }) if end > count => Err(Failure::BadInput(anyhow!(
                "the sweep has no job {}: it has {} jobs, counted from 0 (--jobs)",
                end - 1,
                grouped(count)
            ))),
            Some(Self::Jobs { begin, end }) => Ok((begin..end).collect()),
        }
    }
}

/// State of the selected jobs of a sweep after a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Number of selected jobs.
    pub wanted: usize,
    /// Number of selected jobs that this run finished, including failed ones.
    pub ran: usize,
    /// Number of selected jobs that succeeded.
    pub done: usize,
    /// Failed jobs in rising order; the manifests hold their errors.
    pub failed: Vec<usize>,
    /// Jobs with warnings in rising order; the manifests hold the warnings.
    pub doubtful: Vec<usize>,
    /// Duration of this run \[s\].
    pub seconds: f64,
    /// True if the run was interrupted; the folder can be resumed.
    pub is_interrupted: bool,
    /// File in the folder that shows all jobs, if requested and all jobs of the sweep are finished,
    /// including those of other writers.
    pub overview: Option<&'static str>,
}

/// Loads the jobs of a sweep file without simulating.
///
/// # Errors
/// [`Failure::BadInput`] if sweep or scene cannot be read or are not valid.
pub fn sweep_jobs(sweep: &Path) -> Result<SweepJobs, Failure> {
    let (path, sweep) = (sweep, Sweep::load(sweep).or_bad_input()?);
    let scene = shipped::load_scene(&scene_path(path, &sweep.scene))?;
    sweep.of_scene(&scene).or_bad_input()
}

/// Runs the selected jobs of a sweep file and writes their files into a folder, which is created if
/// needed. `is_interrupted` is called after every frame, on this thread or another one.
///
/// # Errors
/// [`Failure::BadInput`] if sweep, scene or options are not valid, or the folder belongs to another
/// sweep or has results; [`Failure::Failed`] if the folder cannot be written or the backend fails;
/// [`Failure::Busy`] if another process writes the same part of the sweep. A failed job is not an
/// error.
pub fn run_batch(
    sweep: &Path,
    folder: &Path,
    options: &BatchOptions,
    is_interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Batch, Failure> {
    run_sweep(sweep_jobs(sweep)?, folder, options, is_interrupted)
}

/// Runs the selected jobs of a loaded sweep, like [`run_batch`].
///
/// # Errors
/// Same as [`run_batch`].
pub fn run_sweep(
    jobs: SweepJobs,
    folder: &Path,
    options: &BatchOptions,
    is_interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Batch, Failure> {
    let wanted = Part::jobs_of(options.part, jobs.count())?;
    let job_factory = JobFactory::new(jobs);
    let jobs = job_factory.jobs();
    let mut runner = Runner::new(options.simulation.clone(), jobs.output(), is_interrupted)?;
    let identity = fingerprint(jobs)?;
    let identity = (identity.as_str(), runner.backend());
    let mut store = Store::claim(folder, &writer(options.part), identity, jobs.count())?;
    let pending: Vec<usize> =
        wanted.iter().copied().filter(|&job| store.status(job).is_none()).collect();
    if pending.len() < wanted.len() && !options.resume {
        let done = counted(wanted.len() - pending.len(), "job");
        return Err(Failure::BadInput(anyhow!(
            "{} has results of {done} of this sweep: continue with --resume, or choose another folder with --out",
            folder.display()
        )));
    }
    let formats = jobs.output().formats.len() * jobs.scene().cloths.len();
    let limit = Limit {
        particles: match runner.is_on_gpu() {
            true => PARTICLES_ON_GPU,
            false => PARTICLES_PER_THREAD * rayon::current_num_threads(),
        },
        jobs: MAX_OPEN.checked_div(formats).map_or(MAX_TOGETHER, |jobs| jobs.max(1)),
    };
    let begin = Instant::now();
    let progress = match options.progress_bar {
        true => progress_bar(
            "{bar:40} job {pos}/{len}, {per_sec}, {eta} left; {msg}",
            pending.len() as u64,
        ),
        false => ProgressBar::hidden(),
    };
    let is_interrupted =
        run_all(&job_factory, &pending, limit, &mut runner, &mut store, &progress)?;
    let seconds = begin.elapsed().as_secs_f64();
    let with_status = |jobs: &[usize], status| -> Vec<usize> {
        jobs.iter().copied().filter(|&job| store.status(job) == Some(status)).collect()
    };
    let [done, failed] = [Status::Done, Status::Failed].map(|status| with_status(&wanted, status));
    let ran = pending.iter().filter(|&&job| store.status(job).is_some()).count();
    let doubtful = wanted.iter().copied().filter(|&job| store.has_warnings(job)).collect();
    let (wanted, done) = (wanted.len(), done.len());
    let overview = overview::write(folder, jobs.output(), &mut store, jobs.count())?;
    Ok(Batch { wanted, ran, done, failed, doubtful, seconds, is_interrupted, overview })
}

/// Limits of the jobs that are in memory at once.
#[derive(Debug, Clone, Copy)]
struct Limit {
    particles: usize,
    jobs: usize,
}

/// Runs jobs, as many at once as the limits allow, so that memory does not depend on the number of
/// jobs. Returns true if interrupted.
fn run_all(
    job_factory: &JobFactory,
    pending: &[usize],
    limit: Limit,
    runner: &mut Runner<'_>,
    store: &mut Store,
    progress: &ProgressBar,
) -> Result<bool, Failure> {
    let tick = |frame: u32, group: &Group| {
        let jobs = counted(group.members.len(), "job");
        progress.set_message(format!("frame {frame}/{} of {jobs}", group.job.frames));
        progress.tick();
    };
    let mut rest = pending;
    // Particles of the largest job so far, as an estimate for the next jobs.
    let mut largest = limit.particles;
    while !rest.is_empty() {
        let (mut prepared, mut rows, mut particles) = (Vec::new(), Vec::new(), 0);
        let mut count = 0;
        while count < rest.len() && particles < limit.particles && count < limit.jobs {
            // As many jobs as fit the rest of the limit if they are as large as the largest.
            let room = ((limit.particles - particles) / largest).clamp(1, limit.jobs - count);
            let next = &rest[count..(count + room).min(rest.len())];
            let made: Vec<_> =
                next.par_iter().map(|&job| (job, job_factory.prepare(job))).collect();
            count += next.len();
            for (job, made) in made {
                match made {
                    Ok(one) => {
                        let own = Prepared::particle_count(&one).max(1);
                        largest = if largest == limit.particles { own } else { largest.max(own) };
                        particles += own;
                        prepared.push(one);
                    }
                    Err(failure) => {
                        let result = Err(failure.to_string());
                        rows.push(row(job_factory.jobs(), Ended { index: job, result }));
                    }
                }
            }
            if runner.is_interrupted() {
                return Ok(true);
            }
        }
        record(&rows, store, progress)?;
        for group in Group::sorted(prepared) {
            let Some(ended) = runner.run(group, store, &tick)? else {
                progress.finish_and_clear();
                return Ok(true);
            };
            let rows: Vec<_> = ended.into_iter().map(|it| row(job_factory.jobs(), it)).collect();
            record(&rows, store, progress)?;
        }
        rest = &rest[count..];
    }
    progress.finish_and_clear();
    Ok(false)
}

fn record(rows: &[Row], store: &mut Store, progress: &ProgressBar) -> Result<(), Failure> {
    if !rows.is_empty() {
        store.record(rows)?;
        progress.inc(rows.len() as u64);
    }
    Ok(())
}

fn row(jobs: &SweepJobs, ended: Ended) -> Row {
    let Ended { index, result } = ended;
    let (status, message, result) = match result {
        Ok(result) => (Status::Done, None, Some(result)),
        Err(message) => (Status::Failed, Some(message), None),
    };
    let parameters = jobs.parameters(index);
    Row { job: index, status, parameters, seed: jobs.seed(), message, result }
}

/// Returns the scene path of a sweep: relative to the sweep's folder, or the name of a shipped
/// scene.
pub(crate) fn scene_path(sweep: &Path, scene: &Path) -> PathBuf {
    let beside = sweep.parent().unwrap_or(Path::new("")).join(scene);
    let is_bare_name = scene.extension().is_none() && scene.components().count() == 1;
    if beside.is_file() || !is_bare_name { beside } else { scene.to_path_buf() }
}

/// Returns the writer name of these jobs, part of the name of their manifest.
fn writer(part: Option<Part>) -> String {
    match part {
        None => "all".to_owned(),
        Some(Part::Shard { index, count }) => format!("shard-{index}-of-{count}"),
        Some(Part::Jobs { begin, end }) => format!("jobs-{begin}-{end}"),
    }
}

/// Returns a hash of everything that defines the jobs: the texts, the contents of the files that
/// they name, and the version.
fn fingerprint(jobs: &SweepJobs) -> Result<String, Failure> {
    let mut hash = Fnv::new();
    for text in jobs.texts().chain([env!("CARGO_PKG_VERSION")]) {
        hash.add((text.len() as u64).to_le_bytes());
        hash.add(text.bytes());
    }
    for file in jobs.files() {
        // In chunks: a point cache may be larger than the memory.
        let read = File::open(&file).and_then(|mut open| {
            hash.add(open.metadata()?.len().to_le_bytes());
            let mut bytes = vec![0; 1 << 16];
            loop {
                match open.read(&mut bytes)? {
                    0 => return Ok(()),
                    count => hash.add(bytes[..count].iter().copied()),
                }
            }
        });
        read.with_context(|| format!("cannot read {}", file.display())).or_bad_input()?;
    }
    Ok(hash.hex())
}
