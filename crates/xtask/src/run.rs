//! Runs cargo and counts tests.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::skips::{LEDGER, Skips};

/// Tests of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    passed: u64,
    failed: u64,
    failures: Vec<String>,
    skips: Skips,
}

impl Totals {
    /// Adds the counts of a line such as `test result: ok. 3 passed; 0 failed; ...` and the name of a failed test; other
    /// lines count nothing.
    fn add_line(&mut self, line: &str) {
        if let Some(name) =
            line.trim().strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            self.failures.push(name.to_owned());
        }
        let Some(rest) = line.trim().strip_prefix("test result: ") else { return };
        let count = |what: &str| {
            let words: Vec<_> = rest.split([' ', ';']).filter(|word| !word.is_empty()).collect();
            words
                .windows(2)
                .find(|pair| pair[1] == what)
                .and_then(|pair| pair[0].parse::<u64>().ok())
                .unwrap_or(0)
        };
        self.passed += count("passed");
        self.failed += count("failed");
    }

    /// The closing line of a test run.
    pub(crate) fn print(&self) {
        for name in &self.failures {
            say(&format!("FAILED {name}\n"));
        }
        self.skips.lines().for_each(|line| say(&format!("{line}\n")));
        // libtest counts a test that returns early as passed.
        let passed = self.passed.saturating_sub(self.skips.test_count());
        let skipped = self.skips.count();
        say(&format!("{passed} passed, {} failed, {skipped} skipped\n", self.failed));
    }

    /// Runs tests and adds their counts and skips; `run` says which run it is. True if cargo succeeded.
    fn add_run(
        &mut self,
        run: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<bool, String> {
        let ledger = Skips::open()?;
        let path = ledger.display().to_string();
        let environment = [&[(LEDGER, path.as_str())], environment].concat();
        let status = cargo_with(arguments, &environment, |line| self.add_line(line))?;
        self.skips.add(run, &ledger)?;
        Ok(status)
    }
}

/// The tests whose results an adapter decides: kernels against their mirrors, and the measured cases.
const ADAPTER_TESTS: [&str; 9] = [
    "test",
    "--workspace",
    "--no-fail-fast",
    "--test",
    "mirror",
    "--test",
    "reference_cases",
    "--test",
    "engine",
];

/// Every test of the workspace, then the kernels' on SwiftShader where it is installed.
pub(crate) fn test() -> Result<Totals, String> {
    let mut totals = Totals::default();
    let mut status =
        totals.add_run("on the first adapter", &["test", "--workspace", "--no-fail-fast"], &[])?;
    match crate::adapter::swiftshader() {
        Some(driver) => {
            say(&format!("\nAgain on SwiftShader ({driver})\n"));
            let environment = [("VK_DRIVER_FILES", driver.as_str())];
            status &= totals.add_run("on SwiftShader", &ADAPTER_TESTS, &environment)?;
        }
        None => totals
            .skips
            .add_run("the kernels' tests on SwiftShader: it is not installed, or POPLIN_GPU=off"),
    }
    totals.skips.check(crate::adapter::is_ci())?;
    if !status || totals.failed > 0 {
        totals.print();
        return Err("tests failed".to_owned());
    }
    if totals.passed == 0 {
        return Err("no test ran".to_owned());
    }
    Ok(totals)
}

/// Everything that a change must pass.
pub(crate) fn ci() -> Result<Totals, String> {
    let totals = test()?;
    for arguments in [
        ["fmt", "--all", "--check"].as_slice(),
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &["doc", "--workspace", "--no-deps"],
        &["bench", "--workspace", "--bench", "*", "--", "--test"],
    ] {
        must_pass(arguments)?;
    }
    check_features()?;
    check_dependencies()?;
    crate::gpu_stats::check()?;
    crate::package::check()?;
    Ok(totals)
}

/// The crate `poplin` with less than everything. Each set of features is compiled once more: what both backends have in common is small.
fn check_features() -> Result<(), String> {
    let only = ["-p", "poplin", "--no-default-features"];
    let features = ["--test", "features", "--features"];
    must_pass(&[&["test"][..], &only, &["--test", "features"]].concat())?;
    must_pass(&[&["test"][..], &only, &features, &["cpu,serde"]].concat())?;
    must_pass(&[&["test"][..], &only, &features, &["gpu"]].concat())
}

/// Licences, second versions and origins of what is built in; says so where `cargo-deny` is not installed.
fn check_dependencies() -> Result<(), String> {
    let deny = ["deny", "--offline", "--config", ".config/deny.toml"];
    let checks = ["check", "licenses", "bans", "sources"];
    let version = Command::new("cargo-deny").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        say("\nSKIPPED cargo deny: not installed (cargo install cargo-deny)\n");
        return Ok(());
    }
    must_pass(&[deny, checks].concat())
}

/// Runs cargo, which must succeed.
pub(crate) fn must_pass(arguments: &[&str]) -> Result<(), String> {
    say(&format!("\n$ cargo {}\n", arguments.join(" ")));
    if cargo(arguments, |_| ())? {
        Ok(())
    } else {
        Err(format!("`cargo {}` failed", arguments.join(" ")))
    }
}

/// What to do about generated tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    /// Rewrite them.
    Write,
    /// Fail if one has drifted.
    Check,
}

/// Runs the tests that compute the tables of README and guide: those whose names begin with `table`.
pub(crate) fn tables(mode: Tables) -> Result<(), String> {
    let arguments = [
        ["test", "-p", "poplin-suite", "-p", "poplin-cli", "--bins", "--no-fail-fast"].as_slice(),
        &["--test", "tables", "--test", "readme", "--test", "physics", "--test", "xpbd"],
        &["--", "table"],
    ];
    let environment: &[_] = match mode {
        Tables::Write => &[("POPLIN_TABLES", "write")],
        Tables::Check => &[],
    };
    if cargo_with(&arguments.concat(), environment, |_| ())? {
        Ok(())
    } else {
        Err("a table has drifted or could not be written".to_owned())
    }
}

/// Prints every use of a retired word.
pub(crate) fn words() -> Result<(), String> {
    let arguments = ["test", "--test", "words", "--", "--nocapture", "no_retired_word_is_used"];
    if cargo_with(&arguments, &[("POPLIN_WORDS", "report")], |_| ())? {
        Ok(())
    } else {
        Err("a retired word is used".to_owned())
    }
}

/// Runs cargo, shows its output and passes each line on; true if it succeeded.
fn cargo(arguments: &[&str], see: impl FnMut(&str)) -> Result<bool, String> {
    cargo_with(arguments, &[], see)
}

/// As [`cargo`], with these environment variables.
pub(crate) fn cargo_with(
    arguments: &[&str],
    environment: &[(&str, &str)],
    mut see: impl FnMut(&str),
) -> Result<bool, String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let explain = |error: std::io::Error| format!("cargo {}: {error}", arguments.join(" "));
    let mut child = Command::new(program)
        .args(arguments)
        .env("RUSTDOCFLAGS", "-D warnings")
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(explain)?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = String::from_utf8_lossy(&line.map_err(explain)?).into_owned();
            say(&format!("{line}\n"));
            see(&line);
        }
    }
    Ok(child.wait().map_err(explain)?.success())
}

/// Prints to standard output; a closed pipe is no error.
pub(crate) fn say(text: &str) {
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
}

/// Prints an error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "error: {text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up_over_test_binaries() {
        let mut totals = Totals::default();
        totals.add_line("test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s");
        totals.add_line("test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s");
        totals.add_line("test something ... ok");
        totals.add_line("test something_else ... FAILED");
        assert_eq!(
            totals,
            Totals {
                passed: 5,
                failed: 1,
                failures: vec!["something_else".to_owned()],
                ..Totals::default()
            }
        );
    }
}
