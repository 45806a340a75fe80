//! Detection of forked processes, which lack the threads of the CPU backend.

use std::sync::OnceLock;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Id of the process that first used poplin.
static OWNER: OnceLock<u32> = OnceLock::new();

/// Checks that the process is not a fork. Call it before any use of threads or devices, which do
/// not survive a fork.
///
/// # Errors
/// `RuntimeError` in a process that was forked after the first use.
pub(crate) fn enter() -> PyResult<()> {
    let own = std::process::id();
    let owner = *OWNER.get_or_init(|| own);
    if own == owner {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(format!(
        "process {own} was forked from process {owner} after poplin was used there, and has none of its threads: start \
         processes with multiprocessing.get_context(\"spawn\"), or use poplin only after the fork"
    )))
}
