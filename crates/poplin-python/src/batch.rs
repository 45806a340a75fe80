//! Python functions for sweeps.

use std::path::PathBuf;

use poplin_run::{BatchOptions, Part, run_batch, simulation_options};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::OrRaise;
use crate::process;
use crate::signals::Signals;

/// Returns the number of jobs of a sweep.
#[pyfunction]
pub(crate) fn sweep_job_count(py: Python<'_>, sweep: PathBuf) -> PyResult<usize> {
    py.detach(|| poplin_run::sweep_jobs(&sweep)).or_raise().map(|jobs| jobs.count())
}

/// Returns the varied keys of every job with their values.
#[pyfunction]
pub(crate) fn sweep_jobs<'py>(py: Python<'py>, sweep: PathBuf) -> PyResult<Bound<'py, PyList>> {
    let jobs = py.detach(|| poplin_run::sweep_jobs(&sweep)).or_raise()?;
    let list = PyList::empty(py);
    for job in 0..jobs.count() {
        list.append(crate::json::to_python(py, &jobs.parameters(job).into())?)?;
    }
    Ok(list)
}

/// Runs jobs of a sweep.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "arguments of the Python function")]
pub(crate) fn batch<'py>(
    py: Python<'py>,
    sweep: PathBuf,
    out: PathBuf,
    jobs: Option<(usize, usize)>,
    shard: Option<(usize, usize)>,
    resume: bool,
    backend: &str,
    adapter: Option<String>,
) -> PyResult<Bound<'py, PyDict>> {
    process::enter()?;
    let part = match (jobs, shard) {
        (Some(_), Some(_)) => {
            return Err(PyValueError::new_err("jobs and shard exclude each other: pass only one"));
        }
        (Some((begin, end)), None) => Some(Part::Jobs { begin, end }),
        (None, Some((index, count))) => Some(Part::Shard { index, count }),
        (None, None) => None,
    };
    let simulation = simulation_options(backend, adapter).or_raise()?;
    let options = BatchOptions { part, resume, simulation, progress_bar: false };
    let signals = Signals::new();
    let batch = py.detach(|| run_batch(&sweep, &out, &options, &|| signals.is_raised()));
    // The exception of a signal handler takes precedence over the interrupted result.
    signals.check()?;
    let batch = batch.or_raise()?;
    let dict = PyDict::new(py);
    dict.set_item("wanted", batch.wanted)?;
    dict.set_item("ran", batch.ran)?;
    dict.set_item("done", batch.done)?;
    dict.set_item("failed", batch.failed)?;
    dict.set_item("doubtful", batch.doubtful)?;
    dict.set_item("seconds", batch.seconds)?;
    Ok(dict)
}
