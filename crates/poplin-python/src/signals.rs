//! Ctrl-C, and whatever else Python has handlers for, while poplin works without the interpreter's lock.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Time between two looks: each may wait until another thread leaves the interpreter, 5 ms.
const PERIOD: Duration = Duration::from_millis(100);

/// Asks Python now and then whether a handler wants to end the work.
pub(crate) struct Signals(Mutex<Look>);

struct Look {
    last: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Look { last: Instant::now(), raised: None }))
    }

    /// Whether a handler has raised an exception. Python runs handlers on its main thread alone.
    pub(crate) fn is_raised(&self) -> bool {
        let mut look = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if look.raised.is_none() && look.last.elapsed() >= PERIOD {
            look.last = Instant::now();
            look.raised = Python::attach(|py| py.check_signals()).err();
        }
        look.raised.is_some()
    }

    /// Raises what a handler has raised.
    pub(crate) fn check(self) -> PyResult<()> {
        let look = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        look.raised.map_or(Ok(()), Err)
    }
}
