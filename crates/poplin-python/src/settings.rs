//! Settings of cloths as dicts with the keys of `[[cloth]]`, and of their contact with the keys of
//! `[cloth_contact_solver]`.

use poplin::model::{ClothConfig, ClothContactSolver};
use poplin_scene::{SceneCloth, contact_solver_of_keys};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::errors::OrRaise;
use crate::json::{to_keys, to_python, to_value};

/// Converts settings to a dict.
pub(crate) fn to_dict<'py>(py: Python<'py>, config: &ClothConfig) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &to_value(config)?)
}

/// Changes of settings, for any number of cloths.
pub(crate) struct SettingChanges(Value);

impl SettingChanges {
    /// Parses keys as JSON. Checks names, types and ranges like a scene file.
    pub(crate) fn new(keys: &str) -> PyResult<Self> {
        let keys = to_keys(keys)?;
        SceneCloth::of_keys(&keys).or_raise()?;
        let known = to_value(&ClothConfig::default())?;
        if let Some(key) = keys.keys().find(|key| known.get(key.as_str()).is_none()) {
            return Err(PyValueError::new_err(format!(
                "`{key}` is an option of cooking and cannot change later: pass it to cook()"
            )));
        }
        Ok(Self(keys.into()))
    }

    /// Returns the settings of a cloth with these changes.
    pub(crate) fn applied_to(&self, config: &ClothConfig) -> PyResult<ClothConfig> {
        let mut settings = to_value(config)?;
        merge(&mut settings, &self.0);
        serde_json::from_value(settings).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Returns the settings of cloth contact with changes by keys as JSON.
pub(crate) fn changed_contact_solver(
    settings: ClothContactSolver,
    keys: &str,
) -> PyResult<ClothContactSolver> {
    let mut all = to_value(&settings)?;
    merge(&mut all, &to_keys(keys)?.into());
    contact_solver_of_keys(all.as_object().unwrap_or(&Map::new())).or_raise()
}

/// Merges values into others, recursively. A choice (a table with one key) replaces a different
/// choice.
fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) if !is_other_choice(under, over) => {
            for (key, value) in over {
                merge(under.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

/// Tests whether both are choices with different keys.
fn is_other_choice(under: &Map<String, Value>, over: &Map<String, Value>) -> bool {
    under.len() == 1 && over.len() == 1 && !over.keys().all(|key| under.contains_key(key))
}
