//! Scenes in simulation.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use poplin_run::{SceneRun, simulation_options};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{View, bytes};
use crate::cooked::{Arrays, arrays};
use crate::errors::OrRaise;
use crate::json::{to_keys, to_python, to_value};
use crate::process;
use crate::signals::Signals;
use crate::state::StateRead;

/// Scene in simulation. The lock is used like that of [`crate::simulation::Simulation`].
#[pyclass(frozen, module = "poplin._poplin")]
pub(crate) struct Scene(Mutex<SceneRun>);

impl Scene {
    /// Locks the scene and runs an action without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        action: impl FnOnce(&mut SceneRun) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        process::with(py, &self.0, action)
    }
}

#[pymethods]
impl Scene {
    /// Cooks a scene file, a shipped scene, or the keys of a scene as JSON.
    #[new]
    fn new(
        py: Python<'_>,
        path: Option<PathBuf>,
        keys: &str,
        frame_rate: Option<f32>,
        backend: &str,
        adapter: Option<String>,
    ) -> PyResult<Self> {
        process::enter()?;
        let (keys, options) = (to_keys(keys)?, simulation_options(backend, adapter).or_raise()?);
        let run = py.detach(|| match path {
            Some(path) => SceneRun::of_file(&path, frame_rate, options).or_raise(),
            None => {
                let scene = poplin_scene::Scene::of_keys(&keys).or_raise()?;
                SceneRun::of_scene(scene, frame_rate, options).or_raise()
            }
        })?;
        Ok(Self(Mutex::new(run)))
    }

    /// Returns name, adapter and reason.
    fn backend(&self, py: Python<'_>) -> PyResult<(String, String, String)> {
        self.with(py, |run| {
            let choice = run.backend();
            Ok((choice.backend.name().to_lowercase(), choice.adapter, choice.reason))
        })
    }

    /// Returns the names of the cloths, the number of frames and the frame rate.
    fn about(&self, py: Python<'_>) -> PyResult<(Vec<String>, u32, f32)> {
        self.with(py, |run| {
            let job = run.job();
            let names = job.cloths.iter().map(|job_cloth| job_cloth.name.clone());
            Ok((names.collect(), job.frames, job.frame_rate))
        })
    }

    fn frame(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |run| Ok(run.frame()))
    }

    /// Simulates frames. Unlocks the scene between frames, and checks signals.
    fn step(&self, py: Python<'_>, frames: u32) -> PyResult<()> {
        process::enter()?;
        let signals = Signals::new();
        py.detach(|| -> PyResult<()> {
            for _ in 0..frames {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).advance().or_raise()?;
                if signals.is_raised() {
                    break;
                }
            }
            Ok(())
        })?;
        signals.check()
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |run| run.reset().or_raise())
    }

    /// Returns the handles of the copies of a cloth.
    fn ids<'py>(&self, py: Python<'py>, cloth: usize) -> PyResult<Bound<'py, PyBytes>> {
        let ids = self.with(py, |run| {
            let ids = run.ids(cloth).or_raise()?;
            Ok(ids.iter().map(|id| id.to_bits()).collect::<Vec<_>>())
        })?;
        Ok(bytes(py, &ids))
    }

    fn read(&self, py: Python<'_>) -> PyResult<StateRead> {
        self.with(py, |run| {
            let (state, simulation) = run.read().or_raise()?;
            StateRead::new(state, simulation)
        })
    }

    fn mesh<'py>(&self, py: Python<'py>, cloth: usize) -> PyResult<Arrays<'py>> {
        let mesh = self.with(py, |run| run.mesh(cloth).or_raise().cloned())?;
        Ok(arrays(py, &mesh))
    }

    /// Returns world positions of vertices.
    fn points(&self, py: Python<'_>, cloth: usize, copy: usize) -> PyResult<View> {
        let points = self.with(py, |run| run.points(cloth, copy).or_raise())?;
        let count = points.len();
        Ok(View::of_rows(points, None, count))
    }

    /// Returns normals of vertices.
    fn normals(&self, py: Python<'_>, cloth: usize, copy: usize) -> PyResult<View> {
        let normals = self.with(py, |run| run.normals(cloth, copy).or_raise())?;
        let count = normals.len();
        Ok(View::of_rows(normals, None, count))
    }

    /// Returns the measurements of the frame as a dict.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = self.with(py, |run| run.report().or_raise())?;
        to_python(py, &to_value(&report)?)
    }
}
