//! Records skipped tests: a test that did not run must not look like a passed one.

use std::io::Write;

/// Environment variable with the file that collects skipped tests; `cargo xtask test` sets it and
/// sums it up.
pub const LEDGER: &str = "POPLIN_SKIP_LEDGER";

/// Counts the running test as skipped: appends `binary::test`, a tab and the reason as a line to
/// the ledger, if there is one.
///
/// # Panics
/// Panics if the ledger cannot be written.
#[expect(clippy::print_stderr, reason = "a skipped test must not look like a passed one")]
pub fn skip(reason: &str) {
    eprintln!("SKIPPED: {reason}");
    let Some(path) = std::env::var_os(LEDGER) else { return };
    let line = format!("{}\t{reason}\n", running_test());
    let ledger = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let written = ledger.and_then(|mut ledger| ledger.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Tests whether `POPLIN_GPU=off` disables GPU tests; if so, counts the running test as skipped.
pub fn is_gpu_off() -> bool {
    let is_off = std::env::var("POPLIN_GPU").is_ok_and(|value| value == "off");
    if is_off {
        skip("POPLIN_GPU=off: the GPU backend is not tested");
    }
    is_off
}

/// Tests whether this is the nightly run (`cargo xtask nightly`), in which tests take their long
/// forms: more seeds, longer scenes.
pub fn is_nightly() -> bool {
    std::env::var_os("POPLIN_NIGHTLY").is_some()
}

/// Returns all of these in the nightly run, and otherwise every `every`th from the first on: for
/// inputs whose kernels compile for minutes on a software adapter, or that simulate for minutes.
pub fn part<T>(all: impl IntoIterator<Item = T>, every: usize) -> Vec<T> {
    all.into_iter().step_by(if is_nightly() { 1 } else { every }).collect()
}

/// Name of the running test, `binary::test`; libtest names the thread of a test after it.
fn running_test() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    // Cargo appends a hash: `mirror-f64ca5f4dcc48771`.
    let binary = stem.rsplit_once('-').map_or(stem.as_str(), |(name, _)| name);
    let thread = std::thread::current();
    format!("{binary}::{}", thread.name().unwrap_or("unnamed"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_skip_is_named_after_its_test() {
        assert_eq!(
            super::running_test(),
            "poplin_testkit::skip::tests::a_skip_is_named_after_its_test"
        );
    }
}
