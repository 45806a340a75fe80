//! `poplin batch`: many variants of one scene.

use std::path::Path;

use poplin_measure::table::Table;
use poplin_run::{Batch, BatchOptions, Failure, Part, counted, grouped, run_sweep, sweep_jobs};
use poplin_scene::SweepJobs;

use crate::args::BatchArgs;
use crate::failure::{Exit, complain, warn};
use crate::interrupt::Interrupt;
use crate::output::say;

/// Most failed or doubtful jobs that are named at the end; the manifests have all.
const MAX_NAMED: usize = 5;

/// Runs the selected jobs of a sweep and prints their state.
pub(crate) fn batch(args: &BatchArgs) -> Result<Exit, Failure> {
    let jobs = sweep_jobs(&args.sweep)?;
    let part = args.part.part();
    if args.dry_run {
        print_jobs(&jobs, &Part::jobs_of(part, jobs.count())?, args.json);
        return Ok(Exit::Success);
    }
    let folder = args.out.clone().unwrap_or_else(|| {
        Path::new("out").join(args.sweep.file_stem().unwrap_or("sweep".as_ref()))
    });
    let simulation = args.backend.options()?;
    let options = BatchOptions { part, resume: args.resume, simulation, progress_bar: true };
    let interrupt = Interrupt::watch();
    let Batch { wanted, ran, done, failed, doubtful, seconds, is_interrupted, overview } =
        run_sweep(jobs, &folder, &options, &|| interrupt.is_asked())?;
    let before = done + failed.len() - ran;
    let before =
        if before > 0 { format!(", {} from before", grouped(before)) } else { String::new() };
    say!(
        "jobs   {} of {}: {} done, {} failed{before}",
        grouped(done + failed.len()),
        grouped(wanted),
        grouped(done),
        grouped(failed.len())
    );
    if ran > 0 {
        say!("time   {seconds:.1} s, {:.1} jobs per second", ran as f64 / seconds.max(1e-9));
    }
    let overview = overview.map(|name| format!(", {name}")).unwrap_or_default();
    say!("files  {}{overview}", folder.display());
    let all = grouped(wanted);
    let manifests = format!("see the manifests in {}", folder.display());
    if !doubtful.is_empty() {
        let count = counted(doubtful.len(), "job");
        warn(&format!("{count} of {all} may have wrong results{}; {manifests}", named(&doubtful)));
    }
    if !failed.is_empty() {
        let count = counted(failed.len(), "job");
        complain(&format!("{count} of {all} failed{}; {manifests}", named(&failed)));
    }
    Ok(match (is_interrupted, failed.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, false) => Exit::Failure,
        (false, true) => Exit::Success,
    })
}

/// Lists the first of these jobs in brackets.
fn named(jobs: &[usize]) -> String {
    let names: Vec<_> = jobs.iter().take(MAX_NAMED).map(ToString::to_string).collect();
    let more = if jobs.len() > names.len() { ", ..." } else { "" };
    format!(" ({}{more})", names.join(", "))
}

/// Prints jobs as a table, or as JSON lines.
fn print_jobs(jobs: &SweepJobs, wanted: &[usize], is_json: bool) {
    if is_json {
        for &job in wanted {
            let parameters = jobs.parameters(job);
            say!("{}", serde_json::json!({ "job": job, "parameters": parameters }));
        }
        return;
    }
    let cell = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        value => value.to_string(),
    };
    let line = |&job: &usize| {
        std::iter::once(job.to_string()).chain(jobs.values(job).into_iter().map(cell)).collect()
    };
    let head = std::iter::once("job".to_owned()).chain(jobs.keys()).collect();
    let table = Table { head, rows: wanted.iter().map(line).collect() };
    say!("{}", table.markdown().trim_end());
}
