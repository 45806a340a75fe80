//! Settings of cloths as dicts with the keys of `[[cloth]]`, and of their contact with the keys of
//! `[cloth_contact_solver]`.

use poplin::model::ClothConfig;
use poplin_scene::{SceneCloth, Settings, is_live_setting};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::json::{to_keys, to_python, to_value};

/// Converts settings to a dict.
pub(crate) fn to_dict<'py>(py: Python<'py>, config: &ClothConfig) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &to_value(config)?)
}

/// Parses changes of settings as JSON. Checks names, types and ranges like a scene file.
pub(crate) fn changes(keys: &str) -> PyResult<Settings> {
    let keys = to_keys(keys)?;
    SceneCloth::of_keys(&keys).or_raise()?;
    if let Some(key) = keys.keys().find(|key| !is_live_setting(key)) {
        return Err(PyValueError::new_err(format!(
            "`{key}` is an option of cooking and cannot change later: pass it to cook()"
        )));
    }
    Ok(Settings::of_keys(&keys))
}
