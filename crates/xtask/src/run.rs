//! Runs cargo and counts tests.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::install::answers;
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

    /// Builds tests, runs their binaries, as many at once as there are cores, and adds their counts and skips; `run` says which run
    /// it is. True if all were built: one that does not succeed counts as failed.
    fn add_run(
        &mut self,
        run: &str,
        selection: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<bool, String> {
        let ledger = Skips::open()?;
        let path = ledger.display().to_string();
        let environment = [&[(LEDGER, path.as_str())], environment].concat();
        let (binaries, are_built) = build_tests(selection)?;
        let next = AtomicUsize::new(0);
        let totals = Mutex::new(self);
        let worker_count = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..worker_count.min(MOST_AT_ONCE) {
                scope.spawn(|| {
                    while let Some(binary) = binaries.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let ended = binary.run(&environment);
                        let mut totals = totals.lock().unwrap_or_else(PoisonError::into_inner);
                        totals.add_binary(binary, ended);
                    }
                });
            }
        });
        let totals = totals.into_inner().unwrap_or_else(PoisonError::into_inner);
        totals.skips.add(run, &ledger)?;
        Ok(are_built)
    }

    /// Prints and counts what a test binary wrote.
    fn add_binary(&mut self, binary: &TestBinary, ended: std::io::Result<Output>) {
        say(&format!("\n     Running {}\n", binary.program.display()));
        let failed_before = self.failed;
        let is_success = match ended {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout);
                text.lines().for_each(|line| self.add_line(line));
                say(&text);
                say(&String::from_utf8_lossy(&output.stderr));
                output.status.success()
            }
            Err(error) => {
                say(&format!("{error}\n"));
                false
            }
        };
        if !is_success && self.failed == failed_before {
            // It did not get as far as its own count.
            self.failed += 1;
            self.failures.push(binary.name.clone());
        }
    }
}

/// Most test binaries at once: each has threads of its own.
const MOST_AT_ONCE: usize = 4;

/// Tests that take longest, which begin first.
const LONGEST: [&str; 5] = ["mirror", "cli", "lifecycle", "engine", "reference_cases"];

/// A built test binary.
struct TestBinary {
    name: String,
    program: PathBuf,
    /// Of its package, in which cargo too runs its tests.
    folder: PathBuf,
}

impl TestBinary {
    /// The test that a message of cargo says was built, if it is one.
    fn of_message(message: &str) -> Option<Self> {
        let message: serde_json::Value = serde_json::from_str(message).ok()?;
        let is_test = message["profile"]["test"] == true;
        let program = message["executable"].as_str().filter(|_| is_test)?;
        Some(Self {
            name: message["target"]["name"].as_str()?.to_owned(),
            program: program.into(),
            folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
        })
    }

    fn run(&self, environment: &[(&str, &str)]) -> std::io::Result<Output> {
        let environment = environment.iter().copied();
        Command::new(&self.program).current_dir(&self.folder).envs(environment).output()
    }
}

/// Builds tests; those that take longest come first. False if something did not build.
fn build_tests(selection: &[&str]) -> Result<(Vec<TestBinary>, bool), String> {
    let arguments =
        [&["test", "--no-run", "--message-format", "json-render-diagnostics"], selection].concat();
    let mut binaries = Vec::new();
    let status =
        cargo_quietly(&arguments, &[], |line| binaries.extend(TestBinary::of_message(line)))?;
    binaries.sort_by_key(|binary: &TestBinary| {
        LONGEST.iter().position(|name| *name == binary.name).unwrap_or(LONGEST.len())
    });
    Ok((binaries, status))
}

/// The tests whose results an adapter decides: kernels against their mirrors, and the measured cases.
const ADAPTER_TESTS: [&str; 6] =
    ["--test", "mirror", "--test", "reference_cases", "--test", "engine"];

/// What is tested everywhere: the examples with other engines have no tests, and building those takes 45 s of CPU; the Python package has
/// its own (`cargo xtask python`); the window has few, and
/// building it takes 4 min ([`ci`] runs them). Every run selects from the same packages: with others cargo unifies other features and
/// builds wgpu again.
const TESTED: [&str; 7] = [
    "--workspace",
    "--exclude",
    "poplin-examples",
    "--exclude",
    "poplin-python",
    "--exclude",
    "poplin-view",
];

/// Every test of the workspace, then where `second_adapter` is asked for the kernels' on SwiftShader, where it is installed.
pub(crate) fn test(second_adapter: bool) -> Result<Totals, String> {
    let mut totals = Totals::default();
    let mut status = totals.add_run("on the first adapter", &TESTED, &[])?;
    status &=
        cargo(&[&["test", "--doc"], TESTED.as_slice()].concat(), |line| totals.add_line(line))?;
    match crate::adapter::swiftshader() {
        _ if !second_adapter => {}
        Some(driver) => {
            say(&format!("\nAgain on SwiftShader ({driver})\n"));
            let selection = [TESTED.as_slice(), &ADAPTER_TESTS].concat();
            let environment = [("VK_DRIVER_FILES", driver.as_str())];
            status &= totals.add_run("on SwiftShader", &selection, &environment)?;
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
    let totals = test(true)?;
    for arguments in [
        ["fmt", "--all", "--check"].as_slice(),
        &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        &[
            "clippy",
            "-p",
            "poplin-cli",
            "--features",
            "view",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        &["test", "-p", "poplin-view"],
        &["doc", "--workspace", "--no-deps"],
        // In test mode and as the tests were built: another profile would build all of wgpu once more.
        &[&["test"], TESTED.as_slice(), &["--bench", "*"]].concat(),
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
    if !answers("cargo-deny", &["--version"]) {
        say("\nSKIPPED cargo deny: not installed (cargo install cargo-deny)\n");
        return Ok(());
    }
    must_pass(&[deny, checks].concat())
}

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program to its end.
pub(crate) fn run_program(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}")) }
}

/// The cargo that runs this.
pub(crate) fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Runs cargo, which must succeed.
pub(crate) fn must_pass(arguments: &[&str]) -> Result<(), String> {
    say(&format!("\n$ cargo {}\n", arguments.join(" ")));
    let begin = Instant::now();
    if cargo(arguments, |_| ())? {
        say(&format!("took {} s\n", begin.elapsed().as_secs()));
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
        ["test", "-p", "poplin-suite", "-p", "poplin-cli", "--lib", "--no-fail-fast"].as_slice(),
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
    cargo_quietly(arguments, environment, |line| {
        say(&format!("{line}\n"));
        see(line);
    })
}

/// As [`cargo_with`], but what it writes to standard output is only passed on.
fn cargo_quietly(
    arguments: &[&str],
    environment: &[(&str, &str)],
    mut see: impl FnMut(&str),
) -> Result<bool, String> {
    let explain = |error: std::io::Error| format!("cargo {}: {error}", arguments.join(" "));
    let mut child = Command::new(cargo_program())
        .args(arguments)
        .env("RUSTDOCFLAGS", "-D warnings")
        .envs(environment.iter().copied())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(explain)?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            see(&String::from_utf8_lossy(&line.map_err(explain)?));
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
    fn messages_of_cargo_name_the_tests_that_it_built() {
        let message = |is_test: bool, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/a/b/Cargo.toml","target":{{"name":"mirror"}},
                "profile":{{"test":{is_test}}},"executable":{executable}}}"#
            )
        };
        let binary = TestBinary::of_message(&message(true, r#""/t/mirror-1""#)).unwrap();
        assert_eq!((binary.name.as_str(), binary.folder.as_path()), ("mirror", Path::new("/a/b")));
        assert!(TestBinary::of_message(&message(false, r#""/t/poplin""#)).is_none());
        assert!(TestBinary::of_message(&message(true, "null")).is_none());
        assert!(TestBinary::of_message("   Compiling poplin").is_none());
    }

    #[test]
    fn a_binary_that_ends_without_a_count_is_a_failure() {
        let binary = |program: &str| TestBinary {
            name: "mirror".to_owned(),
            program: program.into(),
            folder: ".".into(),
        };
        for program in ["false", "/no/such/program"] {
            let (mut totals, binary) = (Totals::default(), binary(program));
            totals.add_binary(&binary, binary.run(&[]));
            assert_eq!(
                (totals.failed, totals.failures),
                (1, vec!["mirror".to_owned()]),
                "{program}"
            );
        }
    }

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
