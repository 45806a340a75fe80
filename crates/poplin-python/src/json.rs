//! Conversion between JSON values and Python objects.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::{Map, Value};

/// Converts a JSON value to dicts, lists, strings, numbers, booleans and `None`.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => whole.into_pyobject(py)?.into_any(),
            (None, Some(whole)) => whole.into_pyobject(py)?.into_any(),
            (None, None) => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::Array(values) => {
            let list = PyList::empty(py);
            values.iter().try_for_each(|value| list.append(to_python(py, value)?))?;
            list.into_any()
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            map.iter().try_for_each(|(key, value)| dict.set_item(key, to_python(py, value)?))?;
            dict.into_any()
        }
    })
}

/// Converts a value to JSON by its text, which has `f32` in their shortest form: 0.3 and not
/// 0.30000001192092896.
pub(crate) fn to_value(value: &impl Serialize) -> PyResult<Value> {
    serde_json::to_string(value)
        .and_then(|text| serde_json::from_str(&text))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Parses the keys of a JSON object from the Python half.
pub(crate) fn to_keys(text: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}
