//! Errors of sweeps.

use std::path::PathBuf;

use thiserror::Error;

use super::MAX_JOBS;
use crate::error::without_prefix;
use crate::key_path::PathError;
use crate::{Location, SceneError};

/// Error of a sweep.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A file that cannot be read as a sweep.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A parameter without values, or with several kinds of values.
    #[error(
        "{at}: {field} needs exactly one of `values`, `linear`, `log`, `glob`, `uniform`, `log_uniform` and `normal`"
    )]
    Kind {
        /// Location in the sweep.
        at: Box<Location>,
        /// The parameter, for example `vary[0]`.
        field: String,
    },
    /// A key path that leads nowhere in the scene.
    #[error("{at}: {field}: {source}")]
    Path {
        /// Location in the sweep.
        at: Box<Location>,
        /// The field.
        field: String,
        /// Cause of the error.
        source: Box<PathError>,
    },
    /// A key that scenes do not have.
    #[error("{at}: {field}: `{key}`: {reason}")]
    Key {
        /// Location in the sweep.
        at: Box<Location>,
        /// The field.
        field: String,
        /// The key.
        key: String,
        /// Cause of the error, with similar names.
        reason: String,
    },
    /// Two parameters for one key.
    #[error("{at}: {field}: `{key}` is varied twice")]
    Twice {
        /// Location in the sweep.
        at: Box<Location>,
        /// The later parameter.
        field: String,
        /// The key.
        key: String,
    },
    /// A number out of range.
    #[error("{at}: {field} {requirement}")]
    Range {
        /// Location in the sweep.
        at: Box<Location>,
        /// The field.
        field: String,
        /// Requirement that the number violates.
        requirement: &'static str,
    },
    /// A glob that matches no file, or is malformed.
    #[error("{at}: {field}: {reason}: {pattern}")]
    Glob {
        /// Location in the sweep.
        at: Box<Location>,
        /// The field.
        field: String,
        /// The absolute pattern.
        pattern: String,
        /// Cause of the error.
        reason: String,
    },
    /// Zipped parameters of different lengths.
    #[error(
        "{at}: {field} is zipped as `{name}` and has {count} values, but the first parameter of that name has {expected}"
    )]
    Zip {
        /// Location in the sweep.
        at: Box<Location>,
        /// The parameter.
        field: String,
        /// Name of the zip.
        name: String,
        /// Number of values of the parameter.
        count: usize,
        /// Number of values of the first parameter of that zip.
        expected: usize,
    },
    /// Too many jobs.
    #[error("{}: the sweep has {count} jobs; the limit is {MAX_JOBS}", path.display())]
    TooMany {
        /// The sweep.
        path: PathBuf,
        /// Number of jobs.
        count: u128,
    },
}

impl SweepError {
    /// Returns the location in the sweep, if the error has one.
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Scene(error) => error.location(),
            Self::Kind { at, .. }
            | Self::Path { at, .. }
            | Self::Key { at, .. }
            | Self::Twice { at, .. }
            | Self::Range { at, .. }
            | Self::Glob { at, .. }
            | Self::Zip { at, .. } => Some(at),
            Self::TooMany { .. } => None,
        }
    }

    /// Returns the message without its location.
    pub fn reason(&self) -> String {
        without_prefix(self.to_string(), self.location())
    }
}

/// Error of a job of a sweep.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepJobError {
    /// A key path that leads nowhere with the other values of the job.
    #[error(transparent)]
    Path(PathError),
    /// An error of the resulting scene. It names the key, without a line.
    #[error("{0}")]
    Scene(String),
}
