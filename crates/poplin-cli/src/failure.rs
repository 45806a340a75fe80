//! End of a command: exit codes and error messages on stderr.

use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use poplin_run::{Failure, shipped};

/// End of a command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// No problem.
    Success,
    /// Bad result, already reported: a cloth faulted, a case failed.
    Failure,
    /// Stopped by the user.
    Interrupted,
}

/// Returns the error of a build without `poplin view`.
#[cfg(not(feature = "view"))]
pub(crate) fn no_view() -> Failure {
    Failure::BadInput(anyhow!(
        "this build has no `poplin view`: build with the cargo feature `view`, for example `cargo run --release -p poplin-cli \
         --features view -- view flag`"
    ))
}

/// Returns the error of a mesh that nothing holds.
pub(crate) fn not_held(mesh: &Path) -> Failure {
    Failure::BadInput(anyhow!(
        "{} has no pins and no collider: add a pin rule, for example `--pin top:3%`, or `--pin none` to let it fall",
        mesh.display()
    ))
}

/// Returns the error of pins for a scene, or that of the scene.
pub(crate) fn has_own_pins(scene: &Path) -> Failure {
    shipped::load_scene(scene).err().unwrap_or_else(|| {
        let scene = scene.display();
        Failure::BadInput(anyhow!("--pin needs a mesh; the scene {scene} has its own pins"))
    })
}

/// Returns the exit code of a command, and prints its error to stderr.
pub(crate) fn exit_code(ended: Result<Exit, Failure>) -> u8 {
    let failure = match ended {
        Ok(Exit::Success) => return 0,
        Ok(Exit::Failure) => return 1,
        Ok(Exit::Interrupted) => return 130,
        Err(failure) => failure,
    };
    complain(&failure.to_string());
    match failure {
        Failure::Failed(_) | Failure::Busy(_) => 1,
        Failure::BadInput(_) => 2,
    }
}

/// Writes an error line to stderr and ignores write errors.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "error: {text}");
}

/// Writes a warning line to stderr and ignores write errors.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "warning: {text}");
}
