//! How a command ends: exit codes and the message on stderr.

use std::io::Write;

use anyhow::anyhow;
use poplin::gpu::{GpuError, WantedAdapter};
use thiserror::Error;

/// How a command that did its work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Success,
    /// The work is done, but the result is bad: a cloth faulted, a case failed. The command has
    /// said so.
    Failure,
    /// The user stopped it.
    Interrupted,
}

/// Why a command could not do its work.
#[derive(Debug, Error)]
pub enum Failure {
    /// The user can fix the input: an option, a scene, a mesh.
    #[error("{}", message(.0))]
    BadInput(anyhow::Error),
    /// The run itself failed: no adapter, a full disk, a lost device.
    #[error("{}", message(.0))]
    Failed(anyhow::Error),
    /// Another process is at the same work; it can be done when that has ended.
    #[error("{}", message(.0))]
    Busy(anyhow::Error),
}

/// Sorts errors into the two kinds of [`Failure`].
pub(crate) trait OrFail<T> {
    /// The user can fix it.
    fn or_bad_input(self) -> Result<T, Failure>;
    /// The run itself failed.
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
            poplin::Error::Gpu(error) if misnamed(&error).is_some() => {
                Self::BadInput(anyhow!(gpu_message(&error)))
            }
            poplin::Error::Model(_)
            | poplin::Error::Gpu(GpuError::TooLarge { .. } | GpuError::LoopTooLong { .. }) => {
                Self::BadInput(error.into())
            }
            error => Self::Failed(error.into()),
        }
    }
}

/// That this build has no window.
#[cfg(not(feature = "view"))]
pub(crate) fn no_view() -> Failure {
    Failure::BadInput(anyhow!(
        "this build has no `poplin view`: build it with the cargo feature `view`, for example `cargo run --release -p poplin-cli \
         --features view -- view flag`"
    ))
}

/// What is wrong with a GPU. Where there are adapters, only none of the name that was asked for, no
/// driver is missing.
pub(crate) fn gpu_message(error: &GpuError) -> String {
    misnamed(error).unwrap_or_else(|| error.to_string())
}

/// That there are adapters, but none of the name that was asked for.
fn misnamed(error: &GpuError) -> Option<String> {
    let GpuError::NoAdapter { wanted: WantedAdapter::Named { name, present } } = error else {
        return None;
    };
    let list: Vec<_> = present.iter().map(|name| format!("`{name}`")).collect();
    let text = format!(
        "no GPU adapter has `{name}` in its name (--adapter); there are {}",
        list.join(", ")
    );
    (!list.is_empty()).then_some(text)
}

/// The exit code of a command; says on stderr why it failed.
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

/// Writes an error line to stderr; a failure of that cannot be reported.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "error: {text}");
}

/// Writes a warning line to stderr; a failure of that cannot be reported.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "warning: {text}");
}

/// The error and its causes. The libraries' messages mostly hold their cause already; it is not
/// repeated.
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
    fn a_cause_is_told_once() {
        let result: Result<(), _> =
            Err(anyhow!("disk full")).context("cannot write a.obj: disk full").context("cloth `a`");
        assert_eq!(message(&result.unwrap_err()), "cloth `a`: cannot write a.obj: disk full");
    }

    #[test]
    fn what_the_gpu_cannot_do_is_bad_input() {
        let failure = poplin::Error::Gpu(GpuError::LoopTooLong { trips: 2, limit: 1 }).into();
        assert!(matches!(failure, Failure::BadInput(_)), "{failure}");
        assert!(matches!(
            poplin::Error::Gpu(GpuError::NoSuchRenderMesh).into(),
            Failure::Failed(_)
        ));
    }
}
