//! Entry into the native half: forked processes, which lack the threads of the CPU backend, and
//! locks.

use std::sync::{Mutex, OnceLock, PoisonError};

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

/// Locks a value and runs an action on it, both without the interpreter's lock.
///
/// # Errors
/// Errors of [`enter`] and of the action.
pub(crate) fn with<V: Send, T: Send>(
    py: Python<'_>,
    value: &Mutex<V>,
    action: impl FnOnce(&mut V) -> PyResult<T> + Send,
) -> PyResult<T> {
    enter()?;
    py.detach(|| action(&mut value.lock().unwrap_or_else(PoisonError::into_inner)))
}
