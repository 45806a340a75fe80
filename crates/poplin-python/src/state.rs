//! States that were read from cloths.

use std::sync::Arc;

use poplin::model::Pose;
use poplin::{ClothId, ClothState, State};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{View, bytes};
use crate::errors::OrRaise;
use crate::json::{to_python, to_value};

/// State of cloths at the time of reading.
#[pyclass(frozen, module = "poplin._poplin")]
pub(crate) struct StateRead {
    state: Arc<State>,
    /// Pose and last iteration step \[s\] of each cloth, in the order of the state.
    cloths: Vec<(Pose, f32)>,
}

impl StateRead {
    /// Combines a state with poses and steps from its simulation.
    pub(crate) fn new(state: State, simulation: &poplin::Simulation) -> PyResult<Self> {
        let cloth = |&id: &ClothId| {
            let live = simulation.cloth(id).or_raise()?;
            Ok((live.pose(), live.last_step()))
        };
        let cloths = state.ids().iter().map(cloth).collect::<PyResult<_>>()?;
        Ok(Self { state: Arc::new(state), cloths })
    }

    /// Returns the state of the cloth at an index.
    fn cloth(&self, index: usize) -> PyResult<ClothState<'_>> {
        self.state.cloth(self.state.ids()[index]).map_err(poplin::Error::from).or_raise()
    }

    /// Returns the first particle, the number of cloths if `index` is `None`, and the particles per
    /// cloth.
    fn range(&self, index: Option<usize>) -> PyResult<(usize, Option<usize>, usize)> {
        let count = |index| self.cloth(index).map(|cloth| cloth.current.len());
        if let Some(index) = index {
            let before = (0..index).map(count).sum::<PyResult<usize>>()?;
            return Ok((before, None, count(index)?));
        }
        let all = self.state.cloth_count();
        let first = if all == 0 { 0 } else { count(0)? };
        for index in 1..all {
            let other = count(index)?;
            if other != first {
                return Err(PyValueError::new_err(format!(
                    "the cloths have different particle counts, {first} and {other}, which do not fit one array: select one \
                     cloth, or cloths of one fabric"
                )));
            }
        }
        Ok((0, Some(all), first))
    }

    /// Computes a row for each particle of one cloth or of all cloths.
    fn computed(
        &self,
        index: Option<usize>,
        append: impl Fn(&ClothState<'_>, Pose, f32, &mut Vec<[f32; 3]>),
    ) -> PyResult<View> {
        let (_, cloths, count) = self.range(index)?;
        let indices = index.map_or(0..self.cloths.len(), |index| index..index + 1);
        let mut rows = Vec::with_capacity(count * indices.len());
        for index in indices {
            let (pose, step) = self.cloths[index];
            append(&self.cloth(index)?, pose, step, &mut rows);
        }
        Ok(View::of_rows(rows, cloths, count))
    }
}

#[pymethods]
impl StateRead {
    fn ids<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let ids: Vec<_> = self.state.ids().iter().map(|id| id.to_bits()).collect();
        bytes(py, &ids)
    }

    /// Returns a view of the first `width` of position and inverse mass, of one cloth or all.
    fn particles(&self, index: Option<usize>, width: usize) -> PyResult<View> {
        let (begin, cloths, count) = self.range(index)?;
        Ok(View::of_state(self.state.clone(), begin, cloths, count, width.min(4)))
    }

    /// Returns world positions.
    fn world_positions(&self, index: Option<usize>) -> PyResult<View> {
        self.computed(index, |cloth, pose, _, rows| {
            rows.extend(cloth.current.iter().map(|particle| pose.apply(particle.position)));
        })
    }

    /// Returns velocities in the last iteration, in local or world axes.
    fn velocities(&self, index: Option<usize>, world: bool) -> PyResult<View> {
        self.computed(index, |cloth, pose, step, rows| {
            let axes = Pose { translation: [0.0; 3], ..pose };
            // v = (x - x_previous) / step
            rows.extend(cloth.current.iter().zip(cloth.previous).map(|(now, before)| {
                let velocity =
                    [0, 1, 2].map(|axis| (now.position[axis] - before.position[axis]) / step);
                if world { axes.apply(velocity) } else { velocity }
            }));
        })
    }

    /// Returns the triangle contact report of every cloth, as a list of dicts.
    fn contact_reports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let ids = self.state.ids().iter();
        let reports: Vec<_> = ids.map(|&id| self.state.contact_report(id)).collect();
        to_python(py, &to_value(&reports)?)
    }

    /// Returns the counters of every cloth.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let ids = self.state.ids();
        let of = |value: &dyn Fn(ClothId) -> u32| {
            bytes(py, &ids.iter().map(|&id| value(id)).collect::<Vec<_>>())
        };
        let dict = PyDict::new(py);
        dict.set_item("fault_count", of(&|id| self.state.fault_count(id)))?;
        dict.set_item("iteration_total", of(&|id| self.state.iteration_total(id)))?;
        dict.set_item("slept_frames", of(&|id| self.state.slept_frames(id)))?;
        Ok(dict)
    }
}
