//! `poplin doctor`: self-check of a GPU.

use anyhow::anyhow;
use poplin::gpu::{Error, HeadlessOptions, list_adapters};
use poplin_measure::doctor::{Diagnosis, Extent, Finding, examine};
use poplin_run::{Failure, OrFail, gpu_message};
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::failure::Exit;
use crate::files::{check_writable, replace};
use crate::output::say;

/// Diagnosis, with machine and commit.
#[derive(Serialize)]
struct Report<'a> {
    /// Version of this program.
    version: &'static str,
    /// Commit of this program, or `unknown`.
    commit: &'static str,
    /// Operating system and processor.
    platform: String,
    /// Day, UTC.
    date: String,
    #[serde(flatten)]
    diagnosis: &'a Diagnosis,
}

/// Checks a GPU and prints a line for each finding.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    args.json.as_deref().map_or(Ok(()), check_writable)?;
    let gpu = HeadlessOptions {
        adapter_name: args.adapter.clone(),
        real_gpu_only: args.adapter.is_none(),
        ..HeadlessOptions::default()
    };
    let extent = if args.full { Extent::Full } else { Extent::Usual };
    let diagnosis = examine(&gpu, extent, say_finding)
        .map_err(|error| nothing(&error, args.adapter.as_deref()))?;
    if let Some(path) = &args.json {
        let report = Report {
            version: env!("CARGO_PKG_VERSION"),
            commit: env!("POPLIN_COMMIT"),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            date: time::OffsetDateTime::now_utc().date().to_string(),
            diagnosis: &diagnosis,
        };
        replace(path, &(serde_json::to_string_pretty(&report).or_failed()? + "\n"))?;
    }
    Ok(if diagnosis.is_healthy() { Exit::Success } else { Exit::Failure })
}

/// Prints a finding, with the advice below.
fn say_finding(finding: &Finding) {
    say!("{:<7} {:<12}{}", finding.verdict.word(), finding.check, finding.text);
    if let Some(advice) = &finding.advice {
        say!("{:<20}-> {advice}", "");
    }
}

/// Returns the error of a machine without a GPU, or without one of this name.
fn nothing(error: &Error, name: Option<&str>) -> Failure {
    let software = list_adapters().into_iter().map(|adapter| adapter.get_info().name).next();
    Failure::BadInput(match (name, software) {
        (None, Some(software)) => anyhow!(
            "there is no GPU to check, only {software}, which computes on the CPU: check it with \
             `--adapter {}`",
            software.split_whitespace().next().unwrap_or_default()
        ),
        _ => anyhow!("there is nothing to check: {}", gpu_message(error)),
    })
}
