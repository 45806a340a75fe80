//! Ctrl-C and other signals with Python handlers, while poplin works without the interpreter's
//! lock.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Time between checks; each may wait 5 ms for another thread to release the interpreter.
const PERIOD: Duration = Duration::from_millis(100);

/// Periodic check for an exception raised by a Python signal handler.
pub(crate) struct Signals(Mutex<Look>);

struct Look {
    last: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Look { last: Instant::now(), raised: None }))
    }

    /// Tests whether a handler has raised an exception. Python runs handlers only on its main
    /// thread.
    pub(crate) fn is_raised(&self) -> bool {
        let mut look = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if look.raised.is_none() && look.last.elapsed() >= PERIOD {
            look.last = Instant::now();
            look.raised = Python::attach(|py| py.check_signals()).err();
        }
        look.raised.is_some()
    }

    /// Raises the exception of a handler, if any.
    pub(crate) fn check(self) -> PyResult<()> {
        let look = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        look.raised.map_or(Ok(()), Err)
    }
}
