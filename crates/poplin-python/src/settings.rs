//! Settings of cloths as dicts with the keys of `[[cloth]]`, and those of their contact with the keys of `[cloth_contact_solver]`.

use poplin::model::{ClothConfig, ClothContactSolver};
use poplin_io::scene::{SceneCloth, contact_solver_of_keys};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value};

use crate::errors::OrRaise;
use crate::json::{to_keys, to_python, to_value};

/// The settings as a dict.
pub(crate) fn to_dict<'py>(py: Python<'py>, config: &ClothConfig) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, &to_value(config)?)
}

/// Settings that are set anew in any number of cloths.
pub(crate) struct SettingChanges(Value);

impl SettingChanges {
    /// Those of keys as JSON. Names, types and ranges are checked in the words of a scene file.
    pub(crate) fn new(keys: &str) -> PyResult<Self> {
        let keys = to_keys(keys)?;
        SceneCloth::of_keys(&keys).or_raise()?;
        let known = to_value(&ClothConfig::default())?;
        if let Some(key) = keys.keys().find(|key| known.get(key.as_str()).is_none()) {
            return Err(PyValueError::new_err(format!(
                "`{key}` is an option of cooking: pass it to cook(), it cannot change afterwards"
            )));
        }
        Ok(Self(keys.into()))
    }

    /// The settings of a cloth after them; others stay.
    pub(crate) fn applied_to(&self, config: &ClothConfig) -> PyResult<ClothConfig> {
        let mut settings = to_value(config)?;
        merge(&mut settings, &self.0);
        serde_json::from_value(settings).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// How cloths collide after changes by keys as JSON; others stay.
pub(crate) fn changed_contact_solver(
    settings: ClothContactSolver,
    keys: &str,
) -> PyResult<ClothContactSolver> {
    let mut all = to_value(&settings)?;
    merge(&mut all, &to_keys(keys)?.into());
    contact_solver_of_keys(all.as_object().unwrap_or(&Map::new())).or_raise()
}

/// Puts values over others. A choice, which is a table of one key, replaces another one.
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

/// Whether both are choices, and not the same one.
fn is_other_choice(under: &Map<String, Value>, over: &Map<String, Value>) -> bool {
    under.len() == 1 && over.len() == 1 && !over.keys().all(|key| under.contains_key(key))
}
