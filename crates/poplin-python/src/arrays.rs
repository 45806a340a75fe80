//! Arrays between NumPy and Rust: input as bytes, output as views by NumPy's array interface.

use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit, cast_slice, pod_collect_to_vec};
use poplin::State;
use poplin::model::Particle;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// Converts the bytes of an array to rows. The Python half has checked that they are whole rows in
/// native byte order.
pub(crate) fn rows<T: NoUninit + AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    pod_collect_to_vec(bytes)
}

/// Converts rows to bytes.
pub(crate) fn bytes<'py, T: NoUninit>(py: Python<'py>, rows: &[T]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, cast_slice(rows))
}

/// Owner of immutable numbers for the lifetime of a NumPy view.
#[pyclass(frozen, module = "poplin._poplin")]
pub(crate) struct View {
    /// Memory of the numbers.
    owner: Owner,
    /// Index of the first particle in the state; 0 for rows.
    begin: usize,
    shape: Vec<usize>,
    /// Stride between rows, the second last axis \[bytes\].
    stride: usize,
}

/// Memory of a view.
enum Owner {
    State(Arc<State>),
    Rows(Vec<[f32; 3]>),
}

impl View {
    /// Returns a view of the first `width` of position and inverse mass of particles from `begin`:
    /// shape `[count, width]` for one cloth, or `[cloths, count, width]` for consecutive cloths of
    /// `count` particles each.
    pub(crate) fn of_state(
        state: Arc<State>,
        begin: usize,
        cloths: Option<usize>,
        count: usize,
        width: usize,
    ) -> Self {
        let shape = cloths.into_iter().chain([count, width]).collect();
        Self { owner: Owner::State(state), begin, shape, stride: size_of::<Particle>() }
    }

    /// Returns a view of new rows.
    pub(crate) fn of_rows(rows: Vec<[f32; 3]>, cloths: Option<usize>, count: usize) -> Self {
        let shape = cloths.into_iter().chain([count, 3]).collect();
        Self { owner: Owner::Rows(rows), begin: 0, shape, stride: size_of::<[f32; 3]>() }
    }
}

#[pymethods]
impl View {
    /// Returns NumPy's array interface, version 3.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let address = match &self.owner {
            Owner::State(state) => state.particles()[self.begin..].as_ptr().addr(),
            Owner::Rows(rows) => rows.as_ptr().addr(),
        };
        let mut strides = vec![self.stride, size_of::<f32>()];
        if let [_, count, _] = self.shape[..] {
            strides.insert(0, count * self.stride);
        }
        let tuple = |values: &[usize]| pyo3::types::PyTuple::new(py, values);
        let dict = PyDict::new(py);
        dict.set_item("version", 3)?;
        dict.set_item("typestr", if cfg!(target_endian = "little") { "<f4" } else { ">f4" })?;
        dict.set_item("data", (address, true))?;
        dict.set_item("shape", tuple(&self.shape)?)?;
        dict.set_item("strides", tuple(&strides)?)?;
        Ok(dict)
    }
}
