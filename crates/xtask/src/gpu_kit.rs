//! Kit for a machine with a GPU: the command, the suite of kernel tests, and a script that runs
//! them with a limit of time for each step.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{cargo_program, must_pass, root, run_program, say};
use crate::test::TESTED;

/// Script of the kit.
const SCRIPT: &str = include_str!("gpu_kit.sh");

/// Largest packed kit \[bytes\].
const MOST: u64 = 40 << 20;

/// Folder of the kit in the target folder.
const FOLDER: &str = "target/gpu-kit";

/// Form of a kit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kit {
    /// For another machine.
    Packed,
    /// Kit of the programs that the tests have built, a little of each step of which runs here, on
    /// the software adapter.
    Tried,
}

/// Builds the kit into [`FOLDER`].
pub(crate) fn build(kit: Kit) -> Result<(), String> {
    let is_tried = kit == Kit::Tried;
    // The tests of the command build it as well, with their features.
    if !is_tried {
        must_pass(&["build", "--release", "-p", "poplin-cli"])?;
    }
    let program = if is_tried { "target/debug/poplin" } else { "target/release/poplin" };
    let suite = suite()?;
    let folder = root().join(FOLDER);
    // What is left of the last kit would be packed too.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    strip(&root().join(program), &folder.join("poplin"))?;
    strip(&suite, &folder.join("gpu_suite"))?;
    fs::write(folder.join("run.sh"), SCRIPT).map_err(|error| format!("run.sh: {error}"))?;
    let mut tar = Command::new("tar");
    tar.current_dir(&folder).env("XZ_OPT", "-T0");
    run_program(tar.args(["-cJf", "kit.tar.xz", "poplin", "gpu_suite"]))?;
    let packed = folder.join("kit.tar.xz");
    let size = fs::metadata(&packed).map_err(|error| format!("kit.tar.xz: {error}"))?.len();
    if size > MOST {
        return Err(format!("the kit has {size} bytes packed, more than {MOST}"));
    }
    say(&format!(
        "{FOLDER}: run.sh and kit.tar.xz, {:.1} MiB; on a machine with a GPU: bash run.sh\n",
        size as f64 / f64::from(1 << 20)
    ));
    if is_tried { run_quickly(&folder) } else { Ok(()) }
}

/// Runs the kit from its packed form, on a software adapter.
fn run_quickly(folder: &Path) -> Result<(), String> {
    let place = folder.join("quick");
    fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    for name in ["run.sh", "kit.tar.xz"] {
        fs::copy(folder.join(name), place.join(name))
            .map_err(|error| format!("{name}: {error}"))?;
    }
    let mut script = Command::new("bash");
    script.current_dir(&place).arg("run.sh").env("QUICK", "1").env("POPLIN_ADAPTER", "llvmpipe");
    run_program(script.env_remove("OUT"))
}

/// Builds the suite of kernel tests, whose path it returns, and the command as its tests need it.
fn suite() -> Result<PathBuf, String> {
    let words = ["--test", "gpu", "--test", "cli", "--no-run", "--message-format=json"];
    let mut cargo = Command::new(cargo_program());
    let output = cargo.current_dir(root()).arg("test").args(TESTED).args(words).output();
    let output = output.map_err(|error| format!("cargo test: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let path = text.lines().rev().find_map(|line| {
        let (_, path) = line.split_once("\"executable\":\"")?;
        path.split('"').next().filter(|path| path.contains("/gpu-")).map(PathBuf::from)
    });
    path.filter(|_| output.status.success()).ok_or_else(|| {
        format!("the suite was not built: {}", String::from_utf8_lossy(&output.stderr))
    })
}

/// Copies a program without its symbols.
fn strip(from: &Path, to: &Path) -> Result<(), String> {
    run_program(Command::new("strip").arg("-o").arg(to).arg(from))
}
