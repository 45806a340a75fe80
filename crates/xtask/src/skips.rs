//! Collects the skips that tests write to a ledger (`poplin_testkit::skip`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Environment variable with the path of the ledger.
pub(crate) const LEDGER: &str = "POPLIN_SKIP_LEDGER";

/// Tests that may be skipped under `CI=true`.
const DECLARED: [&str; 1] = ["shaders::every_kernel_passes_tint_where_it_is_installed"];

/// Skipped tests with their reasons, by run and test.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Skips {
    tests: BTreeMap<(String, String), String>,
    runs: Vec<&'static str>,
}

impl Skips {
    /// Creates an empty ledger for a run; returns its path.
    pub(crate) fn open() -> Result<PathBuf, String> {
        let path = std::env::temp_dir().join(format!("poplin-skips-{}", std::process::id()));
        std::fs::write(&path, "").map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    /// Adds the skips of a run's ledger and removes the file. Repeated skips of a test count once.
    pub(crate) fn add(&mut self, run: &str, path: &Path) -> Result<(), String> {
        let explain = |error: std::io::Error| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(path).map_err(explain)?;
        for (test, reason) in text.lines().filter_map(|line| line.split_once('\t')) {
            self.tests.insert((run.to_owned(), test.to_owned()), reason.to_owned());
        }
        std::fs::remove_file(path).map_err(explain)
    }

    /// Adds a whole run that was skipped.
    pub(crate) fn add_run(&mut self, run: &'static str) {
        self.runs.push(run);
    }

    /// Number of skipped tests and runs.
    pub(crate) fn count(&self) -> u64 {
        self.test_count() + self.runs.len() as u64
    }

    /// Number of tests that ran and skipped themselves.
    pub(crate) fn test_count(&self) -> u64 {
        self.tests.len() as u64
    }

    /// Returns a line for each skipped test and run.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        let tests = self.tests.iter();
        tests
            .map(|((run, test), reason)| format!("SKIPPED {test} {run}: {reason}"))
            .chain(self.runs.iter().map(|run| format!("SKIPPED {run}")))
    }

    /// Fails under `CI=true` for a skip that is not declared.
    pub(crate) fn check(&self, is_ci: bool) -> Result<(), String> {
        let undeclared = |(_, test): &&(String, String)| !DECLARED.contains(&test.as_str());
        if let Some(run) = self.runs.first().filter(|_| is_ci) {
            return Err(format!("{run}, which CI=true does not allow"));
        }
        match self.tests.keys().find(undeclared).filter(|_| is_ci) {
            Some((run, test)) => {
                Err(format!("{test} {run} was skipped, which CI=true does not allow"))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_counts_once_per_run_and_ci_allows_only_declared_ones() {
        let path = std::env::temp_dir().join(format!("poplin-ledger-{}", std::process::id()));
        let mut skips = Skips::default();
        std::fs::write(&path, format!("{}\tno tint\n", DECLARED[0])).unwrap();
        skips.add("on any adapter", &path).unwrap();
        assert_eq!(skips.check(true), Ok(()));
        std::fs::write(&path, "mirror::a\toff\nmirror::a\toff\nmirror::b\toff\n").unwrap();
        skips.add("on SwiftShader", &path).unwrap();
        assert_eq!(skips.count(), 3);
        assert_eq!(skips.check(false), Ok(()));
        assert!(skips.check(true).unwrap_err().starts_with("mirror::a on SwiftShader"));
        assert_eq!(skips.lines().nth(1).as_deref(), Some("SKIPPED mirror::b on SwiftShader: off"));
    }
}
