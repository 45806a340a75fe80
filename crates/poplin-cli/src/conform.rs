//! `poplin conform`: comparison of the engine with reference cases.

use std::path::Path;

use anyhow::anyhow;
use poplin::gpu::{Headless, HeadlessOptions};
use poplin::{Backend, SimulationOptions};
use poplin_measure::case::{Case, CaseError};
use poplin_measure::conform::{CaseVerdict, SnapshotVerdict, run_case};
use poplin_measure::shipped;
use poplin_measure::stage_case::StageCase;
use poplin_measure::stage_runner::{StageVerdict, run_stages};
use poplin_run::{Failure, OrFail, gpu_message};

use crate::args::{ConformArgs, ConformBackend};
use crate::failure::{Exit, complain};
use crate::info::canary_line;
use crate::output::say;

/// Number of results of each kind.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Errors of files that are not cases.
    unread: Vec<String>,
}

/// Backend that runs cases.
struct Lane {
    name: &'static str,
    options: SimulationOptions,
    state: LaneState,
}

/// Availability of a backend.
enum LaneState {
    Ready,
    /// Switched off by the user.
    Off(&'static str),
    /// Not available: every case fails.
    Broken(String),
}

/// Runs every case on every requested backend, with one line each.
pub(crate) fn conform(args: &ConformArgs, is_verbose: bool) -> Result<Exit, Failure> {
    check_files(args)?;
    let mut stages = args
        .stages
        .iter()
        .map(|path| StageCase::load(path))
        .collect::<Result<Vec<_>, _>>()
        .or_bad_input()?;
    let mut cases: Vec<_> = args.cases.iter().map(|path| (stem(path), Case::load(path))).collect();
    if args.builtin {
        let shipped = shipped::cases().or_failed()?;
        cases.splice(0..0, shipped.into_iter().map(|case| (case.name.clone(), Ok(case))));
        stages.extend(shipped::stages().or_failed()?);
    }
    let mut is_used = vec![false; stages.len()];
    let lanes = lanes(args);
    let mut tally = Tally::default();
    let width = cases.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, case) in &cases {
        tally.unread.extend(case.as_ref().err().map(ToString::to_string));
        let name = case.as_ref().map_or(name, |case| &case.name);
        for lane in &lanes {
            let title = format!("{name:<width$}  {}", lane.name);
            match (case, &lane.state) {
                (_, LaneState::Off(reason)) => tally.skip(&title, reason),
                (_, LaneState::Broken(reason)) => tally.fail(&title, reason),
                (Err(error), LaneState::Ready) => tally.fail(&title, &error.to_string()),
                (Ok(case), LaneState::Ready) => {
                    tally.judge_case(&title, run_case(case, &lane.options), is_verbose)
                }
            }
            let Ok(case) = case else { continue };
            for (stages, is_used) in
                stages.iter().zip(&mut is_used).filter(|(stages, _)| stages.case == case.name)
            {
                *is_used = true;
                let title = format!(
                    "{name:<width$}  {}  stages of frame {}",
                    lane.name, stages.frame_index
                );
                match &lane.state {
                    LaneState::Off(reason) => tally.skip(&title, reason),
                    LaneState::Broken(reason) => tally.fail(&title, reason),
                    LaneState::Ready => tally.judge_stages(
                        &title,
                        run_stages(case, stages, &lane.options),
                        is_verbose,
                    ),
                }
            }
        }
    }
    for (stages, path) in stages
        .iter()
        .zip(&args.stages)
        .zip(&is_used)
        .filter(|(_, used)| !**used)
        .map(|(pair, _)| pair)
    {
        tally.fail(
            &path.display().to_string(),
            &format!("the case `{}` of these stages is missing", stages.case),
        );
    }
    tally.finish()
}

/// Rejects missing files before any case runs.
fn check_files(args: &ConformArgs) -> Result<(), Failure> {
    match args.cases.iter().chain(&args.stages).find(|path| !path.is_file()) {
        Some(path) => Err(Failure::BadInput(anyhow!("file {} does not exist", path.display()))),
        None => Ok(()),
    }
}

fn lanes(args: &ConformArgs) -> Vec<Lane> {
    let mut lanes = Vec::new();
    if args.backend != ConformBackend::Gpu {
        lanes.push(Lane { name: "cpu", options: Backend::Cpu.into(), state: LaneState::Ready });
    }
    if args.backend != ConformBackend::Cpu {
        let gpu =
            HeadlessOptions { adapter_name: args.adapter.clone(), ..HeadlessOptions::default() };
        let state = gpu_state(&gpu);
        lanes.push(Lane {
            name: "gpu",
            options: SimulationOptions { backend: Backend::Gpu, gpu },
            state,
        });
    }
    lanes
}

/// Opens the GPU and prints the adapter with its canary results.
fn gpu_state(options: &HeadlessOptions) -> LaneState {
    if std::env::var("POPLIN_GPU").is_ok_and(|value| value == "off") {
        return LaneState::Off("POPLIN_GPU=off");
    }
    match Headless::new(options.clone()) {
        Ok(headless) => {
            let info = headless.adapter_info();
            say!(
                "gpu: {} ({:?}, {} {}); {}",
                info.name,
                info.backend,
                info.driver,
                info.driver_info,
                canary_line(&headless)
            );
            LaneState::Ready
        }
        Err(error) => LaneState::Broken(gpu_message(&error)),
    }
}

impl Tally {
    fn pass(&mut self, title: &str, text: &str) {
        self.passed += 1;
        say!("{title}  pass  {text}");
    }

    fn fail(&mut self, title: &str, text: &str) {
        self.failed += 1;
        say!("{title}  FAIL  {text}");
    }

    fn skip(&mut self, title: &str, reason: &str) {
        self.skipped += 1;
        say!("{title}  unsupported  {reason}");
    }

    /// Counts a case that did not complete.
    fn refuse(&mut self, title: &str, error: &CaseError) {
        match error {
            CaseError::Unsupported(reason) => self.skip(title, reason),
            error => self.fail(title, &error.to_string()),
        }
    }

    fn judge_case(
        &mut self,
        title: &str,
        verdict: Result<CaseVerdict, CaseError>,
        is_verbose: bool,
    ) {
        let verdict = match verdict {
            Ok(verdict) => verdict,
            Err(error) => return self.refuse(title, &error),
        };
        let text = match verdict.worst() {
            Some(worst) => {
                let (error, count) = (told_error(worst), verdict.snapshots.len());
                let words = if worst.error.is_finite() {
                    format!("worst {error} of {:.1e} m", worst.tolerance)
                } else {
                    error
                };
                format!("{words} at frame {} ({count} snapshots)", worst.frame)
            }
            None => "the case has no snapshot to compare".to_owned(),
        };
        if verdict.passes() {
            self.pass(title, &text)
        } else {
            self.fail(title, &text)
        }
        for snapshot in verdict.snapshots.iter().filter(|_| is_verbose) {
            let (error, word) =
                (told_error(snapshot), if snapshot.passes() { "within" } else { "ABOVE" });
            match snapshot.error.is_finite() {
                true => say!(
                    "    frame {:<5} {error} m {word} {:.1e} m",
                    snapshot.frame,
                    snapshot.tolerance
                ),
                false => say!("    frame {:<5} {error}", snapshot.frame),
            }
        }
    }

    fn judge_stages(
        &mut self,
        title: &str,
        verdicts: Result<Vec<StageVerdict>, CaseError>,
        is_verbose: bool,
    ) {
        let verdicts = match verdicts {
            Ok(verdicts) => verdicts,
            Err(error) => return self.refuse(title, &error),
        };
        let compared = verdicts.len();
        let wrong = verdicts.iter().filter(|verdict| !verdict.passes()).count();
        let worst = verdicts
            .iter()
            .map(|verdict| (verdict, relative_error(verdict.error, verdict.tolerance)));
        let worst = match worst.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
            Some((StageVerdict { iteration, stage, error, tolerance }, _)) => {
                format!(
                    "worst {error:.1e} of {tolerance:.1e} m in {stage} of iteration {iteration} "
                )
            }
            None => String::new(),
        };
        let count = format!("{worst}({compared} stages, {wrong} wrong)");
        match (compared, wrong) {
            (0, _) => self.skip(title, &count),
            (_, 0) => self.pass(title, &count),
            _ => self.fail(title, &count),
        }
        for verdict in verdicts.iter().filter(|verdict| is_verbose || !verdict.passes()) {
            let StageVerdict { iteration, stage, error, tolerance } = verdict;
            let word = if verdict.passes() { "within" } else { "ABOVE" };
            say!("    iteration {iteration:<3} {stage:<18} {error:.1e} m {word} {tolerance:.1e} m");
        }
    }

    /// Prints the counts and returns the exit code.
    fn finish(self) -> Result<Exit, Failure> {
        let Self { passed, failed, skipped, unread } = self;
        let nothing_ran = passed + failed == 0;
        if nothing_ran {
            complain("no case ran: all are unsupported or skipped");
        }
        if skipped > 0 {
            say!("{passed} passed, {failed} failed, {skipped} skipped");
        } else {
            say!("{passed} passed, {failed} failed");
        }
        if !unread.is_empty() {
            return Err(Failure::BadInput(anyhow!("{}", unread.join("; "))));
        }
        Ok(if failed > 0 || nothing_ran { Exit::Failure } else { Exit::Success })
    }
}

/// Formats the error of a snapshot. An infinite error means that the sleep state differs.
fn told_error(snapshot: &SnapshotVerdict) -> String {
    match snapshot.error {
        error if error.is_nan() => "not finite".to_owned(),
        f32::INFINITY => "sleep state differs from the measured one".to_owned(),
        error => format!("{error:.1e}"),
    }
}

/// Returns an error as a fraction of its tolerance; NaN counts as infinite.
fn relative_error(error: f32, tolerance: f32) -> f32 {
    if error.is_nan() { f32::INFINITY } else { error / tolerance }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(|| path.display().to_string(), |stem| stem.to_string_lossy().into_owned())
}
