//! End of a command: exit codes and error messages on stderr.

use std::io::Write;

use anyhow::anyhow;
use poplin::WantedAdapter;
use thiserror::Error;

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

/// Error of a command that could not do its work.
#[derive(Debug, Error)]
pub enum Failure {
    /// Invalid input that the user can fix: an option, a scene, a mesh.
    #[error("{}", message(.0))]
    BadInput(anyhow::Error),
    /// Failed run: no adapter, a full disk, a lost device.
    #[error("{}", message(.0))]
    Failed(anyhow::Error),
    /// Work that another process is doing; possible when that process ends.
    #[error("{}", message(.0))]
    Busy(anyhow::Error),
}

/// Conversion of errors into a kind of [`Failure`].
pub(crate) trait OrFail<T> {
    /// Converts the error to [`Failure::BadInput`].
    fn or_bad_input(self) -> Result<T, Failure>;
    /// Converts the error to [`Failure::Failed`].
    fn or_failed(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn or_bad_input(self) -> Result<T, Failure> {
        self.map_err(|error| Failure::BadInput(error.into()))
    }

    fn or_failed(self) -> Result<T, Failure> {
        self.map_err(|error| Failure::Failed(error.into()))
    }
}

impl From<poplin::Error> for Failure {
    fn from(error: poplin::Error) -> Self {
        match error {
            error if misnamed(&error).is_some() => Self::BadInput(anyhow!(gpu_message(&error))),
            poplin::Error::Model(_)
            | poplin::Error::TooLarge { .. }
            | poplin::Error::LoopTooLong { .. } => Self::BadInput(error.into()),
            error => Self::Failed(error.into()),
        }
    }
}

/// Returns the error of a build without `poplin view`.
#[cfg(not(feature = "view"))]
pub(crate) fn no_view() -> Failure {
    Failure::BadInput(anyhow!(
        "this build has no `poplin view`: build with the cargo feature `view`, for example `cargo run --release -p poplin-cli \
         --features view -- view flag`"
    ))
}

/// Returns the message of a GPU error. If adapters exist but none has the requested name, lists
/// them instead of asking for a driver.
pub(crate) fn gpu_message(error: &poplin::Error) -> String {
    misnamed(error).unwrap_or_else(|| error.to_string())
}

/// Returns the message for a requested adapter name that no adapter has.
fn misnamed(error: &poplin::Error) -> Option<String> {
    let poplin::Error::NoAdapter { wanted: WantedAdapter::Named { name, present } } = error else {
        return None;
    };
    let list: Vec<_> = present.iter().map(|name| format!("`{name}`")).collect();
    let text = format!(
        "no GPU adapter has `{name}` in its name (--adapter); available: {}",
        list.join(", ")
    );
    (!list.is_empty()).then_some(text)
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

/// Joins an error and its causes. Skips causes that the text already contains.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[test]
    fn repeats_no_cause() {
        let result: Result<(), _> =
            Err(anyhow!("disk full")).context("cannot write a.obj: disk full").context("cloth `a`");
        assert_eq!(message(&result.unwrap_err()), "cloth `a`: cannot write a.obj: disk full");
    }

    #[test]
    fn gpu_limits_are_bad_input() {
        let failure = poplin::Error::LoopTooLong { trips: 2, limit: 1 }.into();
        assert!(matches!(failure, Failure::BadInput(_)), "{failure}");
        assert!(matches!(poplin::Error::NoSuchRenderMesh.into(), Failure::Failed(_)));
    }
}
