//! Runs the tests of the workspace and counts them.
//!
//! cargo-nextest runs each test in a process of its own, the long ones first, and ends one that
//! hangs (`.config/nextest.toml`). Where it is not installed, `cargo test` runs the same tests.

use crate::adapter;
use crate::install::answers;
use crate::run::{cargo_with, root, say};
use crate::skips::{LEDGER, Skips};

/// Selection of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// No GPU and no long scenes, for the inner loop.
    Quick,
    /// Every test.
    Whole,
    /// Every test, and the kernel tests again on SwiftShader.
    SecondAdapter,
    /// Tests of [`Self::SecondAdapter`] in their long forms: more seeds, longer scenes.
    Nightly,
}

/// Packages with tests for every run. The examples with other engines have none, and the Python
/// package has its own (`cargo xtask python`). All runs select the same packages: a different
/// selection unifies different features and builds wgpu again.
pub(crate) const TESTED: [&str; 5] =
    ["--workspace", "--exclude", "poplin-examples", "--exclude", "poplin-python"];

/// Filter of the tests whose results depend on the adapter: kernels against the mirror, the engine
/// and the reference cases.
const ADAPTER_TESTS: &str =
    "binary_id(poplin-suite::gpu) & test(/^(mirror|reference_cases|engine)::/)";

/// Filter of the tests that a real GPU runs, but for those that run with its rounding anyway.
const PRETENDED_TESTS: &str = "binary_id(poplin-suite::gpu) - test(/^mirror::/)";

/// Filter of those of them that compile for minutes, which only the nightly run repeats.
const SLOW_PRETENDED_TESTS: &str = "test(/^(doctor|lifecycle|save|triangle_)/)";

/// Environment variable that selects the long forms of tests (`poplin_testkit::is_nightly`).
const NIGHTLY: &str = "POPLIN_NIGHTLY";

/// Environment variable that leaves out the kernels with fused multiply-adds
/// (`poplin_testkit::adapter::roundings`).
const FUSED: &str = "POPLIN_FUSED";

/// Number of slow tests that a run names.
const SLOW_TESTS: usize = 8;

/// Counts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    passed: u64,
    failed: u64,
    skips: Skips,
}

impl Totals {
    /// Adds the counts of libtest's line `test result: ok. 3 passed; 0 failed; ...`; ignores other
    /// lines.
    fn add_line(&mut self, line: &str) {
        let Some(rest) = line.trim().strip_prefix("test result: ") else { return };
        let count = |what: &str| {
            let words: Vec<_> = rest.split([' ', ';']).filter(|word| !word.is_empty()).collect();
            let pair = words.windows(2).find(|pair| pair[1] == what);
            pair.and_then(|pair| pair[0].parse::<u64>().ok()).unwrap_or(0)
        };
        self.passed += count("passed");
        self.failed += count("failed");
    }

    /// Adds the counts of a JUnit report.
    fn add_report(&mut self, report: &str) -> Result<(), String> {
        let head = report.split_once("<testsuites ").map_or("", |(_, rest)| rest);
        let count = |name| attribute(head, name).and_then(|value| value.parse::<u64>().ok());
        let (Some(tests), Some(failures), Some(errors)) =
            (count("tests"), count("failures"), count("errors"))
        else {
            return Err("the report of nextest has no counts".to_owned());
        };
        self.failed += failures + errors;
        self.passed += tests - failures - errors;
        Ok(())
    }

    /// Prints the closing line of a test run, after a line for each skipped test.
    pub(crate) fn print(&self) {
        self.skips.lines().for_each(|line| say(&format!("{line}\n")));
        // A test that skips itself returns early: its runner counts it as passed.
        let passed = self.passed.saturating_sub(self.skips.test_count());
        let skipped = self.skips.count();
        say(&format!("{passed} passed, {} failed, {skipped} skipped\n", self.failed));
    }

    /// Runs the tests that a filter of nextest selects (all without one) and adds their counts and
    /// skips; `run` names the run in messages. Returns true if all succeed.
    fn add_run(
        &mut self,
        run: &'static str,
        profile: &str,
        filter: Option<&str>,
        environment: &[(&str, &str)],
    ) -> Result<bool, String> {
        let ledger = Skips::open()?;
        let path = ledger.display().to_string();
        let environment = [&[(LEDGER, path.as_str())], environment].concat();
        let report = root().join(format!("target/nextest/{profile}/junit.xml"));
        // Removed first: a report of an earlier run must not count if this one does not build.
        let _ = std::fs::remove_file(&report);
        let mut arguments = vec!["nextest", "run", "--profile", profile];
        arguments.extend(TESTED);
        arguments.extend(filter.iter().flat_map(|filter| ["--filterset", filter]));
        let is_success = cargo_with(&arguments, &environment, |_| ())?;
        self.skips.add(run, &ledger)?;
        let Ok(report) = std::fs::read_to_string(&report) else {
            return Err(format!("the tests {run} did not build or did not start"));
        };
        self.add_report(&report)?;
        say(&format!("\nSlowest tests {run}:\n"));
        for (seconds, name) in slowest(&report).into_iter().take(SLOW_TESTS) {
            say(&format!("{seconds:8.1} s  {name}\n"));
        }
        Ok(is_success)
    }

    /// Runs the same tests without nextest, one binary after another.
    fn add_plain_run(&mut self, environment: &[(&str, &str)]) -> Result<bool, String> {
        say("cargo-nextest is not installed (cargo install --locked cargo-nextest): \
             `cargo test` runs the tests, one binary after another\n");
        let ledger = Skips::open()?;
        let path = ledger.display().to_string();
        let environment = [&[(LEDGER, path.as_str())], environment].concat();
        let mut arguments = vec!["test", "--no-fail-fast", "--lib", "--bins", "--tests"];
        arguments.extend(TESTED);
        let is_success = cargo_with(&arguments, &environment, |line| self.add_line(line))?;
        self.skips.add("by cargo test", &ledger)?;
        Ok(is_success)
    }
}

/// Returns the value of the first attribute of this name in a text of XML.
fn attribute<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("{name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Returns the tests of a report with their durations \[s\], longest first.
fn slowest(report: &str) -> Vec<(f64, String)> {
    let tests = report.split("<testcase ").skip(1).filter_map(|test| {
        let name = format!("{} {}", attribute(test, "classname")?, attribute(test, "name")?);
        Some((attribute(test, "time")?.parse().ok()?, name))
    });
    let mut tests: Vec<(f64, String)> = tests.collect();
    tests.sort_by(|a, b| b.0.total_cmp(&a.0));
    tests
}

/// Tests for cargo-nextest; installs it under `CI=true` if it is missing.
fn has_nextest() -> Result<bool, String> {
    let is_there = || answers("cargo", &["nextest", "--version"]);
    if !is_there() && adapter::is_ci() {
        crate::run::must_pass(&["install", "--locked", "cargo-nextest"])?;
    }
    Ok(is_there())
}

/// Runs the tests of an extent, then the examples in docs.
pub(crate) fn run(extent: Extent) -> Result<Totals, String> {
    let mut totals = Totals::default();
    let is_quick = extent == Extent::Quick;
    let environment: &[(&str, &str)] = match extent {
        Extent::Quick => &[("POPLIN_GPU", "off")],
        Extent::Whole | Extent::SecondAdapter => &[],
        Extent::Nightly => &[(NIGHTLY, "1")],
    };
    let mut status = if has_nextest()? {
        let (run, profile) = match extent {
            Extent::Quick => ("of the inner loop", "quick"),
            Extent::Whole | Extent::SecondAdapter => ("on the first adapter", "default"),
            Extent::Nightly => ("on the first adapter, long forms", "nightly"),
        };
        let mut status = totals.add_run(run, profile, None, environment)?;
        if matches!(extent, Extent::SecondAdapter | Extent::Nightly) {
            status &= run_on_swiftshader(&mut totals)?;
            status &= run_pretended(&mut totals, extent)?;
        }
        status
    } else if is_quick {
        return Err("--quick needs cargo-nextest: cargo install --locked cargo-nextest".to_owned());
    } else {
        totals.add_plain_run(environment)?
    };
    if !is_quick {
        let doc_tests = [&["test", "--doc"], TESTED.as_slice()].concat();
        status &= cargo_with(&doc_tests, environment, |line| totals.add_line(line))?;
        totals.skips.check(adapter::is_ci())?;
    }
    if !status || totals.failed > 0 {
        totals.print();
        return Err("tests failed".to_owned());
    }
    if totals.passed == 0 {
        return Err("no test ran".to_owned());
    }
    Ok(totals)
}

/// Runs the kernel tests on SwiftShader if it is installed, without the fused kernels: they compile
/// for minutes, and the first adapter has run them.
fn run_on_swiftshader(totals: &mut Totals) -> Result<bool, String> {
    let Some(driver) = adapter::swiftshader() else {
        let reason = "the kernels' tests on SwiftShader: it is not installed, or POPLIN_GPU=off";
        totals.skips.add_run(reason);
        return Ok(true);
    };
    say(&format!("\nAgain on SwiftShader ({driver})\n"));
    let environment = [("VK_DRIVER_FILES", driver.as_str()), (FUSED, "off")];
    totals.add_run("on SwiftShader", "default", Some(ADAPTER_TESTS), &environment)
}

/// Runs the tests of the GPU, but the slow ones only nightly, on a software adapter that passes for
/// a real one, unless `POPLIN_GPU` is set.
fn run_pretended(totals: &mut Totals, extent: Extent) -> Result<bool, String> {
    if std::env::var_os("POPLIN_GPU").is_some() {
        return Ok(true);
    }
    say("\nAgain with the rounding of a real GPU\n");
    let (environment, filter) = match extent {
        Extent::Nightly => {
            (vec![("POPLIN_GPU", "pretend"), (NIGHTLY, "1")], PRETENDED_TESTS.to_owned())
        }
        _ => {
            (vec![("POPLIN_GPU", "pretend")], format!("{PRETENDED_TESTS} - {SLOW_PRETENDED_TESTS}"))
        }
    };
    totals.add_run("with the rounding of a real GPU", "default", Some(&filter), &environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up_over_test_binaries() {
        let mut totals = Totals::default();
        totals.add_line("test result: ok. 3 passed; 0 failed; 0 ignored; finished in 0.00s");
        totals.add_line("test result: FAILED. 2 passed; 1 failed; 0 ignored; finished in 0.00s");
        totals.add_line("test something ... ok");
        assert_eq!(totals, Totals { passed: 5, failed: 1, ..Totals::default() });
    }

    /// Report of a run of three tests, one of which fails.
    const REPORT: &str = r#"<testsuites name="nextest-run" tests="3" failures="1" errors="0" time="9">
        <testsuite name="poplin-suite::cpu" tests="3" disabled="0" errors="0" failures="1">
        <testcase name="a::b" classname="poplin-suite::cpu" timestamp="t" time="0.5"></testcase>
        <testcase name="a::c" classname="poplin-suite::cpu" timestamp="t" time="7.25"></testcase>
        <testcase name="a::d" classname="poplin-suite::cpu" timestamp="t" time="1.0">
        <failure message="x"/></testcase></testsuite></testsuites>"#;

    #[test]
    fn a_report_is_counted_with_its_failures() {
        let mut totals = Totals::default();
        totals.add_report(REPORT).unwrap();
        assert_eq!(totals, Totals { passed: 2, failed: 1, ..Totals::default() });
        assert!(totals.add_report("").is_err());
        assert!(totals.add_report("<testsuites name=\"x\">").is_err());
    }

    #[test]
    fn the_slowest_test_comes_first() {
        let tests = slowest(REPORT);
        assert_eq!(tests[0], (7.25, "poplin-suite::cpu a::c".to_owned()));
        assert_eq!(tests.len(), 3);
    }
}
