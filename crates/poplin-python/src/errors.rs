//! Conversion of poplin's errors to Python exceptions with the same message: `ValueError` for input
//! that the caller can fix, `FileNotFoundError` for a file that does not exist, `BlockingIOError`
//! if another process is doing the work, else `RuntimeError`.

use poplin_run::Failure;
use pyo3::exceptions::{PyBlockingIOError, PyFileNotFoundError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// Conversion of an error to a Python exception.
pub(crate) trait OrRaise<T> {
    /// Converts the error to a Python exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Failure> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|failure| {
            let text = failure.to_string();
            match failure {
                Failure::BadInput(error) if error.chain().any(is_missing) => {
                    PyFileNotFoundError::new_err(text)
                }
                Failure::BadInput(_) => PyValueError::new_err(text),
                Failure::Failed(_) => PyRuntimeError::new_err(text),
                Failure::Busy(_) => PyBlockingIOError::new_err(text),
            }
        })
    }
}

impl<T> OrRaise<T> for Result<T, poplin::Error> {
    fn or_raise(self) -> PyResult<T> {
        match self {
            // Here handles are numbers.
            Err(poplin::Error::NoSuchCloth(error)) => Err(PyValueError::new_err(format!(
                "no cloth {}: it was removed, or belongs to another simulation",
                error.id.to_bits()
            ))),
            Err(poplin::Error::Save(error)) => Err(PyValueError::new_err(error.to_string())),
            other => other.map_err(Failure::from).or_raise(),
        }
    }
}

impl<T> OrRaise<T> for Result<T, poplin::model::ModelError> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(poplin::Error::from).or_raise()
    }
}

impl<T> OrRaise<T> for Result<T, poplin_scene::KeysError> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

impl<T> OrRaise<T> for Result<T, poplin_io::IoError> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| match std::error::Error::source(&error) {
            Some(source) if is_missing(source) => PyFileNotFoundError::new_err(error.to_string()),
            _ => PyValueError::new_err(error.to_string()),
        })
    }
}

/// Tests for the error of the operating system that a file does not exist.
fn is_missing(error: &(dyn std::error::Error + 'static)) -> bool {
    let error = error.downcast_ref::<std::io::Error>();
    error.is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
