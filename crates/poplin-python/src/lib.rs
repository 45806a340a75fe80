//! The native half of the Python package `poplin`, whose other half, with documentation and types, is under `python/poplin`.

mod batch;
mod errors;
mod json;
mod process;
mod signals;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The native half of the package `poplin`.
#[pymodule]
mod _poplin {
    #[pymodule_export]
    use super::batch::{batch, sweep_jobs};
    #[pymodule_export]
    use super::command;
}

/// Does what a command line says, its first word the name of the program; returns the exit code.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> PyResult<u8> {
    process::enter()?;
    Ok(py.detach(|| poplin_cli::command(words)))
}
