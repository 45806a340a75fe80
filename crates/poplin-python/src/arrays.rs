//! Arrays between NumPy and Rust: rows in as bytes, views out by NumPy's array interface.

use std::sync::Arc;

use bytemuck::{AnyBitPattern, NoUninit, cast_slice, pod_collect_to_vec};
use poplin::State;
use poplin::model::Particle;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// The rows of an array's bytes, which the Python half has checked: whole rows in this machine's byte order.
pub(crate) fn rows<T: NoUninit + AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
    pod_collect_to_vec(bytes)
}

/// The bytes of rows.
pub(crate) fn bytes<'py, T: NoUninit>(py: Python<'py>, rows: &[T]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, cast_slice(rows))
}

/// Numbers that do not move and are not written while an array shows them.
#[pyclass(frozen, module = "poplin._poplin")]
pub(crate) struct View {
    /// Keeps them.
    owner: Owner,
    /// First particle and coordinate of the owner.
    begin: usize,
    shape: Vec<usize>,
    /// From one row, of the last two axes, to the next \[bytes\].
    stride: usize,
}

/// Whose numbers they are.
enum Owner {
    State(Arc<State>),
    Rows(Vec<[f32; 3]>),
}

impl View {
    /// The first `width` of position and inverse mass of particles from `begin` on: one cloth's of shape `[n, width]`, or those of `cloths` of
    /// `n` particles each, one after another.
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

    /// Rows of their own.
    pub(crate) fn of_rows(rows: Vec<[f32; 3]>, cloths: Option<usize>, count: usize) -> Self {
        let shape = cloths.into_iter().chain([count, 3]).collect();
        Self { owner: Owner::Rows(rows), begin: 0, shape, stride: size_of::<[f32; 3]>() }
    }
}

#[pymethods]
impl View {
    /// NumPy's array interface, version 3.
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
