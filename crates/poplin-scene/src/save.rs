//! Scene files with changed settings.

use std::path::Path;

use poplin_model::ClothConfig;
use toml::{Table, Value};

use super::file::toml_error;
use super::locate::Source;
use super::{PinRule, Scene, SceneError, Wind};

impl Scene {
    /// Creates a scene of one cloth from a mesh file and pin rules.
    ///
    /// # Errors
    /// [`SceneError`] if the scene is not valid.
    pub fn of_mesh(name: &str, mesh: &Path, pins: &[PinRule]) -> Result<Self, SceneError> {
        let mesh = std::path::absolute(mesh).unwrap_or_else(|_| mesh.to_path_buf());
        let keys = [("name", name.to_owned()), ("mesh", mesh.display().to_string())];
        let keys = keys.into_iter().map(|(key, text)| (key.to_owned(), Value::String(text)));
        let pins = pins.iter().map(|rule| Value::String(rule.to_string())).collect();
        let cloth = keys.chain([("pins".to_owned(), Value::Array(pins))]).collect();
        let cloths = Value::Array(vec![Value::Table(cloth)]);
        let scene = Table::from_iter([("cloth".to_owned(), cloths)]);
        Self::parse(
            &toml::to_string(&scene).map_err(SceneError::Save)?,
            mesh.with_extension("toml"),
        )
    }

    /// Returns the text of this scene with new settings of some cloths, by index, and new winds.
    /// The stated settings of those cloths are replaced by the differences from the defaults;
    /// everything else stays, except comments. Mesh paths become absolute, so that the text can be
    /// saved anywhere.
    ///
    /// # Errors
    /// [`SceneError`] if the scene was not read from a text.
    pub fn with_settings(
        &self,
        settings: &[Option<(ClothConfig, Option<Wind>)>],
    ) -> Result<String, SceneError> {
        let source = Source::new(&self.text, &self.path);
        let mut scene: Table =
            toml::from_str(&self.text).map_err(|error| toml_error(&error, &source))?;
        let folder = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = folder.parent().unwrap_or(Path::new(""));
        for key in ["cloth", "collider"] {
            tables(&mut scene, key).for_each(|table| resolve_files(table, folder));
        }
        let defaults = to_table(&ClothConfig::default())?;
        for (table, settings) in tables(&mut scene, "cloth").zip(settings) {
            let Some((config, wind)) = settings else { continue };
            // `max_speed` has no default, so it is not among their keys.
            for key in defaults.keys().map(String::as_str).chain(["max_speed"]) {
                table.remove(key);
            }
            // A material would fill in settings that are not stated, so all are stated.
            let own = to_table(config)?;
            let is_whole = table.contains_key("material");
            table.extend(if is_whole { own } else { difference(own, &defaults) });
            if let Some(pbd) = config.solver.as_pbd() {
                // Without a stated frequency it would be chosen again.
                let mut frequency = Value::Float(pbd.frequency.into());
                shorten(&mut frequency);
                set(table, &["solver", "pbd", "frequency"], frequency);
            }
            if let Some(wind) = wind {
                table.insert("wind".to_owned(), Value::Table(to_table(wind)?));
            }
        }
        toml::to_string(&scene).map_err(SceneError::Save)
    }
}

/// Iterates over the tables of an array, if it exists.
fn tables<'a>(scene: &'a mut Table, key: &str) -> impl Iterator<Item = &'a mut Table> {
    let array = scene.get_mut(key).and_then(Value::as_array_mut);
    array.into_iter().flatten().filter_map(Value::as_table_mut)
}

/// Sets a value in nested tables; creates missing tables.
fn set(table: &mut Table, path: &[&str], value: Value) {
    let [key, rest @ ..] = path else { return };
    match table.entry(*key).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(inner) if !rest.is_empty() => set(inner, rest, value),
        old => *old = value,
    }
}

fn resolve_files(table: &mut Table, folder: &Path) {
    for key in ["mesh", "cache"] {
        if let Some(Value::String(path)) = table.get_mut(key) {
            *path = folder.join(&path).display().to_string();
        }
    }
}

/// Converts settings to a table.
fn to_table(value: &impl serde::Serialize) -> Result<Table, SceneError> {
    let mut table = Table::try_from(value).map_err(SceneError::Save)?;
    table.iter_mut().for_each(|(_, value)| shorten(value));
    Ok(table)
}

/// Rounds numbers to the shortest form of their `f32`: 0.3, not 0.30000001192092896.
pub(super) fn shorten(value: &mut Value) {
    match value {
        Value::Float(number) => {
            *number = (*number as f32).to_string().parse().unwrap_or(*number);
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Table(table) => table.iter_mut().for_each(|(_, value)| shorten(value)),
        _ => {}
    }
}

/// Returns the entries that differ from the defaults. A table with a key that the default does not
/// have, such as a different solver, is kept whole.
fn difference(table: Table, defaults: &Table) -> Table {
    let differing = table.into_iter().filter_map(|(key, value)| {
        let value = match (value, defaults.get(&key)) {
            (Value::Table(table), Some(Value::Table(defaults))) => {
                let difference = difference(table, defaults);
                (!difference.is_empty()).then_some(Value::Table(difference))
            }
            (value, default) => (Some(&value) != default).then_some(value),
        };
        Some((key, value?))
    });
    differing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scene;

    const TEXT: &str = "
        frames = 7
        [[cloth]]
        name = 'a'
        grid = { columns = 3, rows = 3, width = 1, height = 1 }
        damping = [0.1, 0.1, 0.1]
        solver.pbd.frequency = 500
        [[cloth]]
        name = 'b'
        grid = { columns = 3, rows = 3, width = 1, height = 1 }
        material = 'silk'
    ";

    #[test]
    fn saved_settings_round_trip() {
        let scene = Scene::parse(TEXT, "scene.toml").unwrap();
        let mut tuned = scene.cloths[0].config.clone();
        tuned.damping = [0.0; 3];
        tuned.thickness = 0.01;
        tuned.solver = poplin_model::Solver::xpbd(12);
        let wind = Wind { velocity: [1.0, 0.0, 2.0], ..Wind::default() };
        let text = scene.with_settings(&[Some((tuned.clone(), Some(wind))), None]).unwrap();
        let read = Scene::parse(&text, "other.toml").unwrap();
        assert_eq!(read.cloths[0].config, tuned, "{text}");
        assert_eq!(read.cloths[0].wind, Some(wind));
        assert_eq!(read.cloths[1].config, scene.cloths[1].config);
        assert_eq!(read.frames, 7);
        assert!(text.contains("thickness = 0.01\n"), "{text}");
    }

    #[test]
    fn a_mesh_of_any_name_becomes_a_scene() {
        let name = format!("poplin-io it's \"{}\".obj", std::process::id());
        let mesh = std::env::temp_dir().join(name);
        std::fs::write(&mesh, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
        let scene = Scene::of_mesh("it's \"it\"", &mesh, &["top:3%".parse().unwrap()]).unwrap();
        let crate::Shape::Mesh(path) = &scene.cloths[0].shape else { panic!() };
        assert_eq!((path, scene.cloths[0].pins.len()), (&mesh, 1));
        let tuned = ClothConfig { thickness: 0.02, ..ClothConfig::default() };
        let text = scene.with_settings(&[Some((tuned.clone(), None))]).unwrap();
        let read = Scene::parse(&text, "scene.toml");
        std::fs::remove_file(&mesh).unwrap();
        assert_eq!(read.unwrap().cloths[0].config, tuned);
    }

    #[test]
    fn saving_states_a_chosen_frequency() {
        let scene = Scene::parse(TEXT, "scene.toml").unwrap();
        let tuned = ClothConfig { damping: [0.3; 3], ..ClothConfig::default() };
        let text = scene.with_settings(&[Some((tuned.clone(), None))]).unwrap();
        let read = Scene::parse(&text, "scene.toml").unwrap();
        assert_eq!(read.cloths[0].config, tuned);
        assert_eq!(read.cloths[0].chosen, poplin_model::Chosen::NONE, "{text}");
    }
}
