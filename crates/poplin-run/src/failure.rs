//! Errors of jobs.

use anyhow::anyhow;
use poplin::WantedAdapter;
use thiserror::Error;

/// Error of a job that could not be done.
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
pub trait OrFail<T> {
    /// Converts the error to [`Failure::BadInput`].
    ///
    /// # Errors
    /// The converted error.
    fn or_bad_input(self) -> Result<T, Failure>;
    /// Converts the error to [`Failure::Failed`].
    ///
    /// # Errors
    /// The converted error.
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

/// Returns the message of a GPU error. If adapters exist but none has the requested name, lists
/// them instead of asking for a driver.
pub fn gpu_message(error: &poplin::Error) -> String {
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
