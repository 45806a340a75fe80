//! Which process the threads of the CPU backend are in.

use std::sync::OnceLock;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The process that first used poplin.
static OWNER: OnceLock<u32> = OnceLock::new();

/// Comes before anything that uses threads or a device, neither of which a fork takes along.
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
        "poplin was used in process {owner} before this one, {own}, was forked from it, and its threads are not here: start \
         processes with multiprocessing.get_context(\"spawn\"), or use poplin only after the fork"
    )))
}
