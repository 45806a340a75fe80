//! Single cloths, colliders and contact solvers from their keys, for programs without a scene file.

use poplin_model::{ClothContactSolver, Collider};
use serde_json::{Map, Value};
use thiserror::Error;
use toml::Table;

use super::{BuiltCloth, Scene, SceneCloth, SceneCollider, SceneError, Settings};

/// File name of the generated text; not shown in messages.
const NAME: &str = "keys";

/// Keys that move a collider.
const MOVERS: [&str; 5] = ["keys", "spin", "body", "animation", "cache"];

/// Error of keys, worded like that of a scene file.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct KeysError {
    message: String,
}

impl From<toml::de::Error> for KeysError {
    fn from(error: toml::de::Error) -> Self {
        Self { message: error.message().to_owned() }
    }
}

impl From<toml::ser::Error> for KeysError {
    fn from(error: toml::ser::Error) -> Self {
        Self { message: error.to_string() }
    }
}

impl From<SceneError> for KeysError {
    fn from(error: SceneError) -> Self {
        Self { message: error.reason() }
    }
}

impl SceneCloth {
    /// Creates a cloth from keys of `[[cloth]]`; a null key counts as not stated. The shape is a
    /// placeholder: programs supply their own mesh.
    ///
    /// # Errors
    /// [`KeysError`] for a fault that a scene file would have.
    pub fn of_keys(keys: &Map<String, Value>) -> Result<Self, KeysError> {
        let mut scene = parsed([("cloth", vec![with_shape(keys.clone())].into())])?;
        Ok(scene.cloths.remove(0))
    }
}

impl BuiltCloth {
    /// Builds the mesh of a cloth from keys of `[[cloth]]`, one of them `grid`, `tube` or `mesh`;
    /// the path of a mesh file is relative to the current folder.
    ///
    /// # Errors
    /// [`KeysError`] for a fault that a scene file would have, or if a mesh file cannot be used.
    pub fn of_keys(keys: &Map<String, Value>) -> Result<Self, KeysError> {
        Ok(parsed([("cloth", vec![keys.clone()].into())])?.build_cloth(0)?)
    }
}

impl SceneCollider {
    /// Creates a collider in its start pose from keys of `[[collider]]`; a null key counts as not
    /// stated. The path of a mesh file is relative to the current folder. Keys that move the
    /// collider are errors: programs move colliders themselves.
    ///
    /// # Errors
    /// [`KeysError`] for a fault that a scene file would have, or if a mesh file cannot be used.
    pub fn of_keys(keys: &Map<String, Value>) -> Result<Collider, KeysError> {
        let is_stated = |key: &&&str| keys.get(**key).is_some_and(|value| !value.is_null());
        if let Some(key) = MOVERS.iter().find(is_stated) {
            let message =
                format!("`{key}` is only for scene files; a program moves its colliders itself");
            return Err(KeysError { message });
        }
        let cloth = vec![with_shape(Map::new())].into();
        let scene = parsed([("cloth", cloth), ("collider", vec![keys.clone()].into())])?;
        Ok(scene.build_colliders()?.remove(0).collider_at(0.0)?)
    }
}

impl Scene {
    /// Creates a scene from the keys of a scene file; a null key counts as not stated. Mesh paths
    /// are relative to the working directory.
    ///
    /// # Errors
    /// [`KeysError`] for the first fault.
    pub fn of_keys(keys: &Map<String, Value>) -> Result<Self, KeysError> {
        parsed(keys.iter().map(|(name, value)| (name.as_str(), value.clone())))
    }
}

/// Returns the contact solver `under` with keys of `[cloth_contact_solver]`.
///
/// # Errors
/// [`KeysError`] for a fault that a scene file would have.
pub fn contact_solver_of_keys(
    under: &ClothContactSolver,
    keys: &Map<String, Value>,
) -> Result<ClothContactSolver, KeysError> {
    let cloth = vec![with_shape(Map::new())].into();
    // Faults of the keys are worded like those of a scene file.
    parsed([("cloth", cloth), ("cloth_contact_solver", keys.clone().into())])?;
    Settings::of_keys(keys).over(under)
}

/// Adds a placeholder shape to the keys of a cloth.
fn with_shape(mut keys: Map<String, Value>) -> Map<String, Value> {
    let grid = serde_json::json!({ "columns": 2, "rows": 2, "width": 1, "height": 1 });
    keys.insert("grid".to_owned(), grid);
    keys
}

/// Parses a scene from tables.
fn parsed<'a>(tables: impl IntoIterator<Item = (&'a str, Value)>) -> Result<Scene, KeysError> {
    let tables = tables.into_iter();
    let all: Table = tables.filter_map(|(name, it)| Some((name.to_owned(), stated(it)?))).collect();
    let text = toml::to_string(&all).map_err(SceneError::Save)?;
    Ok(Scene::parse(&text, NAME)?)
}

/// Converts JSON to TOML; null, which TOML lacks, becomes `None`.
pub(super) fn stated(value: Value) -> Option<toml::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => value.into(),
        Value::String(text) => text.into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64()?.into(),
        },
        Value::Array(values) => toml::Value::Array(values.into_iter().filter_map(stated).collect()),
        Value::Object(map) => {
            let pairs = map.into_iter().filter_map(|(key, value)| Some((key, stated(value)?)));
            toml::Value::Table(pairs.collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(json: Value) -> Map<String, Value> {
        json.as_object().cloned().unwrap()
    }

    #[test]
    fn keys_mean_what_they_mean_in_a_scene_file() {
        let json = serde_json::json!({ "damping": [0.1, 0, 0.3], "max_speed": null, "contact": { "friction": 0.4 } });
        let cloth = SceneCloth::of_keys(&keys(json)).unwrap();
        assert_eq!(cloth.config.damping, [0.1, 0.0, 0.3]);
        assert_eq!((cloth.config.contact.friction, cloth.config.max_speed), (0.4, None));
        let json =
            serde_json::json!({ "sphere": { "center": [0, 1, 0], "radius": 2 }, "friction": 0.5 });
        let collider = SceneCollider::of_keys(&keys(json)).unwrap();
        assert_eq!(
            collider.shape,
            poplin_model::Sphere { center: [0.0, 1.0, 0.0], radius: 2.0 }.into()
        );
        assert_eq!(collider.friction, 0.5);
        let json = serde_json::json!({ "contact": "triangles", "iterations": 4 });
        let expected = ClothContactSolver {
            contact: poplin_model::ContactMode::Triangles,
            iterations: 4,
            ..ClothContactSolver::default()
        };
        assert_eq!(
            contact_solver_of_keys(&ClothContactSolver::default(), &keys(json)).unwrap(),
            expected
        );
    }

    #[test]
    fn errors_have_no_line() {
        let cloth = |json| SceneCloth::of_keys(&keys(json)).unwrap_err().to_string();
        let mesh = |json| BuiltCloth::of_keys(&keys(json)).unwrap_err().to_string();
        let collider = |json| SceneCollider::of_keys(&keys(json)).unwrap_err().to_string();
        let solver = |json| {
            contact_solver_of_keys(&ClothContactSolver::default(), &keys(json))
                .unwrap_err()
                .to_string()
        };
        let said = [
            solver(serde_json::json!({ "contct": "triangles" })),
            solver(serde_json::json!({ "iterations": 65 })),
            cloth(serde_json::json!({ "contact": { "frictoin": 1 } })),
            cloth(serde_json::json!({ "damping": 1 })),
            cloth(serde_json::json!({ "contact": { "friction": -1 } })),
            collider(serde_json::json!({ "sphere": { "radius": -1 } })),
            collider(serde_json::json!({})),
            collider(
                serde_json::json!({ "sphere": { "radius": 1 }, "body": { "mass": 1 }, "keys": null }),
            ),
            mesh(
                serde_json::json!({ "grid": { "columns": 1, "rows": 2, "width": 1, "height": 1 } }),
            ),
        ];
        for (said, expected) in said.iter().zip([
            "unknown key `contct` in [cloth_contact_solver]; did you mean `contact`?",
            "cloth_contact_solver.iterations = 65 is outside 1..=64",
            "unknown key `frictoin` in [cloth.contact]; did you mean `friction`?",
            "cloth[0].damping: invalid type: integer `1`, expected a list of length 3",
            "cloth[0].contact.friction = -1 is outside 0..=100",
            "collider[0].sphere.radius = -1 is outside 1e-6..=1000000 m",
            "collider[0] needs exactly one of `sphere`",
            "`body` is only for scene files",
            "cloth[0].grid.columns",
        ]) {
            assert!(said.starts_with(expected) && !said.contains(NAME), "{said}");
        }
    }
}
