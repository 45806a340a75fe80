//! `poplin bench`: times and quality of the workloads of [`poplin_measure::bench`], as tables.

use anyhow::anyhow;
use poplin::Simulation;
use poplin_measure::bench::{Effort, Row, Workload, measure, table};
use poplin_run::{Failure, OrFail, counted, progress_bar};
use serde::Serialize;

use crate::args::BenchArgs;
use crate::failure::{Exit, complain};
use crate::files::{check_writable, replace};
use crate::output::say;

/// Measurements, with machine and settings.
#[derive(Serialize)]
struct Report {
    /// Processor and number of its threads.
    machine: String,
    /// Day of the measurement, UTC.
    date: String,
    /// Commit of the binary, or `unknown`.
    commit: &'static str,
    /// `cpu` or `gpu`.
    backend: &'static str,
    /// Adapter and driver; on the CPU threads, lanes and instruction set.
    adapter: String,
    /// Threads of the CPU backend.
    threads: usize,
    /// Timed runs of each row.
    repeat: u32,
    /// Rows of all workloads.
    rows: Vec<Row>,
}

/// Runs workloads one after another and prints a table for each.
pub(crate) fn bench(args: &BenchArgs) -> Result<Exit, Failure> {
    let options = args.backend.options()?;
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads as usize);
        pool.build_global().or_failed()?;
    }
    if args.json.is_some() && args.json == args.csv {
        return Err(Failure::BadInput(anyhow!("--json and --csv name the same file")));
    }
    // A path that cannot be written fails before anything is measured.
    for path in args.json.iter().chain(&args.csv) {
        check_writable(path)?;
    }
    let choice = Simulation::new(options.clone())?.backend().clone();
    let mut report = Report {
        machine: machine(),
        date: time::OffsetDateTime::now_utc().date().to_string(),
        commit: env!("POPLIN_COMMIT"),
        backend: choice.backend.name(),
        adapter: choice.adapter.clone(),
        threads: poplin::cpu::thread_count(),
        repeat: args.repeat,
        rows: Vec::new(),
    };
    say!("{}; {}; commit {}; {choice}", report.machine, report.date, report.commit);
    let all = Workload::ALL;
    let workloads = if args.workloads.is_empty() { &all[..] } else { &args.workloads };
    let effort = Effort { frames: args.frames, repeat: args.repeat };
    let rows = workloads.iter().map(|workload| workload.setups().len() as u64).sum();
    let progress = progress_bar("{bar:40} row {pos}/{len}; {msg}", rows);
    for workload in workloads {
        let first = report.rows.len();
        for setup in &workload.setups() {
            progress.set_message(format!("{}: {}", workload.name, setup.settings()));
            progress.tick();
            report.rows.push(measure(workload, setup, &options, effort)?);
            progress.inc(1);
            // A run that is stopped keeps its rows.
            report.write(args)?;
        }
        progress.suspend(|| say_rows(workload, &report.rows[first..]));
    }
    progress.finish_and_clear();
    Ok(report.complain_of_faults())
}

/// Prints the rows of a workload as a table.
fn say_rows(workload: &Workload, rows: &[Row]) {
    say!("\n{}: {}\n", workload.name, workload.about);
    say!("{}", table(rows).part(workload.name).markdown().trim_end());
    if let Some(row) = rows.iter().find(|row| row.is_of_another_period()) {
        let Row { frames, frames_of_scene, .. } = row;
        say!(
            "\nStrain, depth and crossings cover the first {frames} frames instead of the {frames_of_scene} of this scene."
        );
    }
}

impl Report {
    /// Writes the rows so far to the files asked for.
    fn write(&self, args: &BenchArgs) -> Result<(), Failure> {
        if let Some(path) = &args.json {
            replace(path, &(serde_json::to_string_pretty(self).or_failed()? + "\n"))?;
        }
        match &args.csv {
            Some(path) => replace(path, &self.csv()),
            None => Ok(()),
        }
    }

    /// Returns the rows as CSV with machine and settings as comments, the source of the tables of
    /// the guide.
    fn csv(&self) -> String {
        let Self { machine, date, commit, adapter, repeat, rows, .. } = self;
        let runs = counted(*repeat as usize, "timed run");
        let remarks = [
            format!("# machine: {machine}\n# date: {date}\n# commit: {commit}\n"),
            format!("# how: poplin bench, {adapter}, {runs}\n"),
        ];
        remarks.concat() + &table(rows).csv()
    }

    /// Prints the rows with frozen cloths. Returns a failure if there are any.
    fn complain_of_faults(&self) -> Exit {
        let faulty = self.rows.iter().filter(|row| row.faulty_cloths > 0);
        let lines = faulty.map(|Row { workload, settings, faulty_cloths, .. }| {
            let cloths = counted(*faulty_cloths, "cloth");
            complain(&format!("{workload}, {settings}: {cloths} frozen by a fault"));
        });
        if lines.count() > 0 { Exit::Failure } else { Exit::Success }
    }
}

/// Returns the processor and its number of threads, for example `Intel(R) Xeon(R) CPU @ 2.60GHz, 2
/// threads`.
fn machine() -> String {
    let listed = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = listed.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = named.map_or(std::env::consts::ARCH, |(_, name)| name.trim());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {threads} threads")
}
