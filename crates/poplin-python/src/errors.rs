//! poplin's errors as Python's: `ValueError` where the caller can do something about it, `BlockingIOError` where another process is at
//! it, else `RuntimeError`, with the same words.

use poplin_cli::Failure;
use pyo3::exceptions::{PyBlockingIOError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// An error as Python's.
pub(crate) trait OrRaise<T> {
    /// As Python's.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Into<Failure>> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| {
            let failure = error.into();
            let text = failure.to_string();
            match failure {
                Failure::BadInput(_) => PyValueError::new_err(text),
                Failure::Failed(_) => PyRuntimeError::new_err(text),
                Failure::Busy(_) => PyBlockingIOError::new_err(text),
            }
        })
    }
}
