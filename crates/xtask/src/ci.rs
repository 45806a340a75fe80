//! Checks that every change must pass, and the longer nightly checks.

use crate::gpu_kit::{Kit, build};
use crate::install::answers;
use crate::run::{cargo_with, must_pass, timed};
use crate::test::{Extent, TESTED, Totals};

/// Runs everything that a change must pass.
pub(crate) fn ci() -> Result<Totals, String> {
    must_pass(&["fmt", "--all", "--check"])?;
    timed("cargo xtask lint", crate::lint::check)?;
    let totals = timed("tests", || crate::test::run(Extent::SecondAdapter))?;
    static_checks()?;
    // In test mode with the profile of the tests: another profile would build wgpu again.
    must_pass(&[&["test"], TESTED.as_slice(), &["--bench", "*"]].concat())?;
    timed("gpu-kit --quick", || build(Kit::Tried))?;
    timed("gpu-stats of one family", crate::gpu_stats::check)?;
    crate::package::check()?;
    Ok(totals)
}

/// Runs clippy and rustdoc over every target, the viewer included.
fn static_checks() -> Result<(), String> {
    let targets = ["clippy", "--workspace", "--all-targets", "--features", "poplin-cli/view"];
    must_pass(&[targets.as_slice(), &["--", "-D", "warnings"]].concat())?;
    for features in FEATURES {
        must_pass(&[&["clippy"], features, &["--", "-D", "warnings"]].concat())?;
    }
    must_pass(&["doc", "--workspace", "--no-deps"])
}

/// Feature sets of `poplin` smaller than the default: no backend, CPU only, GPU only.
const FEATURES: [&[&str]; 3] = [
    &["-p", "poplin", "--no-default-features", "--test", "features"],
    &["-p", "poplin", "--no-default-features", "--test", "features", "--features", "cpu,serde"],
    &["-p", "poplin", "--no-default-features", "--test", "features", "--features", "gpu"],
];

/// Step of the nightly run: its name, and its function.
type Step = (&'static str, fn() -> Result<(), String>);

/// Steps after the tests, cheapest first.
const NIGHTLY: [Step; 6] = [
    ("smaller feature sets", test_features),
    ("cargo deny", check_dependencies),
    ("cargo xtask gpu-stats", crate::gpu_stats::write),
    ("cargo xtask python", crate::python::test),
    ("cargo xtask web", crate::web::test),
    ("cargo xtask blender", crate::blender::check),
];

/// Runs the checks that take too long for every change: long forms of the tests, the tests of
/// smaller feature sets, licences, and the wheel, the page and the files that other programs read.
/// A step that fails does not stop the others.
pub(crate) fn nightly() -> Result<Totals, String> {
    let totals = timed("tests in their long forms", || crate::test::run(Extent::Nightly));
    let mut failures: Vec<_> = totals.as_ref().err().cloned().into_iter().collect();
    for (name, step) in NIGHTLY {
        failures.extend(timed(name, step).err().map(|message| format!("{name}: {message}")));
    }
    if failures.is_empty() { totals } else { Err(failures.join("\n       ")) }
}

/// Runs the tests of smaller feature sets.
fn test_features() -> Result<(), String> {
    FEATURES.iter().try_for_each(|features| must_pass(&[&["test"], *features].concat()))
}

/// Checks licences, duplicate versions and sources of dependencies; installs `cargo-deny` if it is
/// missing.
fn check_dependencies() -> Result<(), String> {
    if !answers("cargo", &["deny", "--version"]) {
        must_pass(&["install", "--locked", "cargo-deny"])?;
    }
    let deny = ["deny", "--offline", "--workspace", "--config", ".config/deny.toml"];
    must_pass(&[deny.as_slice(), &["check", "licenses", "bans", "sources"]].concat())
}

/// Action on generated tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    /// Rewrites them.
    Write,
    /// Fails if one has drifted.
    Check,
}

/// Runs the tests that compute the tables of README and guide: their names begin with `table_`.
pub(crate) fn tables(mode: Tables) -> Result<(), String> {
    let packages = ["test", "-p", "poplin-suite", "-p", "poplin-cli", "--lib", "--no-fail-fast"];
    let arguments = [
        packages.as_slice(),
        &["--test", "meta", "--test", "gpu", "--test", "cpu", "--", "::table_"],
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
