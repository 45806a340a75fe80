//! Builds the wheel of `poplin-python` and tests it away from the sources.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::environment;
use crate::run::{root, run_program, say};

/// Python that creates the environments.
const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// Packages that the tests need besides the wheel.
const PACKAGES: [&str; 4] = ["pytest", "mypy", "gymnasium", "matplotlib"];

/// Files that are copied to the folder of the tests.
const SOURCES: [&str; 3] = [
    "crates/poplin-python/tests",
    "crates/poplin-python/examples",
    "crates/poplin/guide/python.md",
];

/// Builds the wheel, installs it into a new environment outside the sources and runs the tests
/// there.
pub(crate) fn test() -> Result<(), String> {
    let wheel = build()?;
    let folder = std::env::temp_dir().join(format!("poplin-python-{}", std::process::id()));
    let tested = test_in(&folder, &wheel);
    // Failing to clean up the temporary folder is no error.
    let _ = std::fs::remove_dir_all(&folder);
    tested?;
    say(&format!("{}\n", wheel.display()));
    Ok(())
}

/// Builds the wheel and returns its path.
pub(crate) fn build() -> Result<PathBuf, String> {
    let folder = root().join("target/python");
    let python = environment(PYTHON, &folder.join("tools"), &["maturin>=1.9.4,<2"])?;
    let wheels = folder.join("wheels");
    // Removes wheels of other versions, so that one file is left.
    let _ = std::fs::remove_dir_all(&wheels);
    run_program(
        Command::new(python)
            .args(["-m", "maturin", "build", "--release", "--locked", "--manifest-path"])
            .arg(root().join("crates/poplin-python/Cargo.toml"))
            .arg("--out")
            .arg(&wheels),
    )?;
    let entries = wheels.read_dir().map_err(|error| format!("{}: {error}", wheels.display()))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.next().ok_or_else(|| format!("maturin wrote no wheel to {}", wheels.display()))
}

/// Runs tests, an example and type checks with the wheel in a folder.
fn test_in(folder: &Path, wheel: &Path) -> Result<(), String> {
    let wheel = wheel.to_string_lossy();
    let install = |wheel: &str| {
        environment(PYTHON, &folder.join("venv"), &[&[wheel], PACKAGES.as_slice()].concat())
    };
    // The tests of Ray find processes to kill under /proc: Linux only.
    let with_ray = cfg!(target_os = "linux").then(|| install(&format!("{wheel}[ray]")));
    let (python, left_out) = match with_ray {
        Some(Ok(python)) => (python, None),
        // Ray does not have a wheel for every Python.
        _ => (install(&wheel)?, Some("--ignore=tests/test_ray.py")),
    };
    if left_out.is_some() {
        say("Ray cannot be installed or is not for this system: tests/test_ray.py is left out\n");
    }
    for source in SOURCES {
        let from = root().join(source);
        run_program(Command::new("cp").arg("-r").arg(&from).arg(folder))?;
    }
    let run =
        |arguments: &[&str]| run_program(Command::new(&python).current_dir(folder).args(arguments));
    let tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"];
    run(&tests.into_iter().chain(left_out).collect::<Vec<_>>())?;
    run(&["examples/flag.py"])?;
    run(&["-m", "mypy", "--strict", "examples"])?;
    run(&["-m", "mypy.stubtest", "poplin", "--ignore-missing-stub"])
}
