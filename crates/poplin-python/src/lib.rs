//! Native half of the Python package `poplin`; the Python half, with documentation and types, is in
//! `python/poplin`.

mod arrays;
mod batch;
mod cooked;
mod errors;
mod json;
mod process;
mod scene;
mod settings;
mod signals;
mod simulation;
mod state;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Native half of the package `poplin`.
#[pymodule]
mod _poplin {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrays::View;
    #[pymodule_export]
    use super::batch::{batch, sweep_job_count, sweep_jobs};
    #[pymodule_export]
    use super::command;
    #[pymodule_export]
    use super::cooked::vertex_normals;
    #[pymodule_export]
    use super::cooked::{Cooked, load_mesh, shape_mesh};
    #[pymodule_export]
    use super::scene::Scene;
    #[pymodule_export]
    use super::simulation::Simulation;
    #[pymodule_export]
    use super::state::StateRead;

    /// Adds the version of the package.
    #[pymodule_init]
    fn add_version(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Runs a command line, whose first word is the name of the program. Returns the exit code.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<OsString>) -> PyResult<u8> {
    process::enter()?;
    Ok(py.detach(|| poplin_cli::command(words)))
}
