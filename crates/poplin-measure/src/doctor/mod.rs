//! Self-check of a GPU: whether poplin computes on it what it computes on the CPU, and how fast.
//!
//! Drivers and shader compilers differ. What a device may get wrong is tried in order of cost:
//! small kernels, the reference cases, random cloths in every memory tier twice, contact of
//! triangles; then its speed is compared with that of the CPU. `poplin doctor` prints it.

mod device;
mod random;
mod reference;
mod speed;
mod triangles;

use std::collections::BTreeMap;

use poplin::gpu::{Error, Headless, HeadlessOptions, is_software};
use poplin::{Backend, SimulationOptions};
use serde::Serialize;

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Right.
    Ok,
    /// Right, but slower than what it could be replaced by.
    Slow,
    /// Wrong, or refused.
    Failed,
}

impl Verdict {
    /// Word at the head of a line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Slow => "slow",
            Self::Failed => "FAILED",
        }
    }
}

/// Result of a check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the check.
    pub check: &'static str,
    /// Outcome.
    pub verdict: Verdict,
    /// Text of what was found, in a line.
    pub text: String,
    /// Advice on what to do about it; `None` if it is right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Measured numbers; their names end with the unit.
    pub numbers: BTreeMap<String, f64>,
}

impl Finding {
    fn new(check: &'static str, verdict: Verdict, text: String) -> Self {
        Self { check, verdict, text, advice: None, numbers: BTreeMap::new() }
    }

    /// Finding that is right if there is no reason why not.
    fn judged(check: &'static str, wrong: Option<String>, text: String) -> Self {
        match wrong {
            None => Self::new(check, Verdict::Ok, text),
            Some(wrong) => Self::new(check, Verdict::Failed, wrong).advise(REPORT),
        }
    }

    fn advise(mut self, advice: &str) -> Self {
        self.advice = Some(advice.to_owned());
        self
    }

    fn with(mut self, name: &str, value: f64) -> Self {
        self.numbers.insert(name.to_owned(), value);
        self
    }
}

/// Advice about a wrong result.
const REPORT: &str = "update the driver; if that does not help, simulate with --backend cpu and report it with \
                      the file of --json";

/// Extent of the checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// All checks, on a software adapter with fewer and smaller cloths.
    Usual,
    /// All checks in full.
    Full,
}

/// Device under check.
struct Patient {
    headless: Headless,
    options: SimulationOptions,
    /// True if checks are cut down to what a software adapter takes seconds for.
    is_short: bool,
}

/// Results of a self-check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Adapter, its interface and driver.
    pub adapter: String,
    /// Features that poplin could use.
    pub features: Vec<String>,
    /// Limits that bound the size of cloths.
    pub limits: BTreeMap<&'static str, u64>,
    /// Extent of the checks.
    pub extent: Extent,
    /// Results, in order.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// True if no check failed.
    pub fn is_healthy(&self) -> bool {
        self.findings.iter().all(|finding| finding.verdict != Verdict::Failed)
    }
}

/// Check of a device: what it found, or why it could not run.
type Check = fn(&Patient) -> Result<Finding, String>;

/// Checks after that of the device, with their names.
const CHECKS: &[(&str, Check)] = &[
    ("exchange", device::exchange),
    ("dispatches", device::dispatches),
    ("workgroups", device::workgroups),
    ("bindings", device::bindings),
    ("cases", reference::cases),
    #[cfg(feature = "stages")]
    ("stages", reference::stages),
    ("cloths", random::cloths),
    ("triangles", triangles::triangles),
    ("speed", speed::speed),
];

/// Checks the adapter that the options choose. `tell` receives each finding as it is made.
///
/// # Errors
/// [`Error::NoAdapter`] if there is nothing to check. An adapter that is refused is a finding.
pub fn examine(
    gpu: &HeadlessOptions,
    extent: Extent,
    mut tell: impl FnMut(&Finding),
) -> Result<Diagnosis, Error> {
    let mut diagnosis = Diagnosis {
        adapter: String::new(),
        features: Vec::new(),
        limits: BTreeMap::new(),
        extent,
        findings: Vec::new(),
    };
    let mut note = |diagnosis: &mut Diagnosis, finding: Finding| {
        tell(&finding);
        diagnosis.findings.push(finding);
    };
    let headless = match Headless::new(gpu.clone()) {
        Ok(headless) => headless,
        Err(error @ Error::NoAdapter { .. }) => return Err(error),
        Err(error) => {
            let finding = Finding::new("device", Verdict::Failed, error.to_string());
            note(
                &mut diagnosis,
                finding.advise("update the driver, or simulate with --backend cpu"),
            );
            return Ok(diagnosis);
        }
    };
    device::describe(&headless, &mut diagnosis);
    note(&mut diagnosis, device::device(&headless));
    let patient = Patient {
        is_short: extent == Extent::Usual && is_software(headless.adapter_info()),
        options: SimulationOptions { backend: Backend::Gpu, gpu: gpu.clone() },
        headless,
    };
    for (name, check) in CHECKS {
        let finding = check(&patient)
            .unwrap_or_else(|reason| Finding::new(name, Verdict::Failed, reason).advise(REPORT));
        note(&mut diagnosis, finding);
    }
    Ok(diagnosis)
}

/// Milliseconds.
fn milliseconds(time: std::time::Duration) -> f64 {
    1e3 * time.as_secs_f64()
}
