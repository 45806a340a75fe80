//! Partial settings and their one merge: default, then material, then scene, then options; the last
//! layer that states a value decides.

use poplin_cook::{CookOptions, Yarns};
use poplin_model::{Chosen, ClothConfig, ClothDesc, Material, Solver, Xpbd};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::lone::{KeysError, stated};
use super::{DEFAULT_PERTURBATION, SceneCloth};

/// Keys whose value is a choice: a table whose only key says which. A different choice replaces the
/// whole table.
const CHOICES: [&str; 3] = ["solver", "virtual_particles", "weld"];

/// Bending rigidity of a cloth that an option gives a solver with bends [N m]: that of cotton.
const RIGIDITY: f32 = 1e-5;

/// Settings that a material sets, which an option `--material` therefore replaces.
const SET_BY_MATERIAL: [&str; 12] = [
    "density",
    "thickness",
    "contact.friction",
    "fabric.bending",
    "solver.pbd",
    "solver.xpbd.bending_rigidity",
    "solver.xpbd.bending_damping",
    "solver.xpbd.phases",
    "solver.implicit.stretch_stiffness",
    "solver.implicit.shear_stiffness",
    "solver.implicit.bending_rigidity",
    "solver.implicit.bending_damping",
];

/// Keys of a solver of which one layer states at most one: the one stated last decides.
const RATES: [&str; 2] = ["substeps", "frequency"];

/// Settings that one layer states, by the keys of `[[cloth]]`. A value counts as stated even if it
/// equals the default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    table: Table,
    /// Paths that are stated as null: they return to the default of the layers below.
    unset: Vec<String>,
}

impl Settings {
    /// Wraps a table, such as that of a cloth in a scene file.
    pub fn of_table(table: Table) -> Self {
        Self { table, unset: Vec::new() }
    }

    /// Creates settings from JSON. A null key resets what other layers state.
    pub fn of_keys(keys: &serde_json::Map<String, serde_json::Value>) -> Self {
        let mut unset = Vec::new();
        nulls(keys, "", &mut unset);
        let value = stated(keys.clone().into());
        let table = value.and_then(|value| value.try_into().ok()).unwrap_or_default();
        Self { table, unset }
    }

    /// Returns the value at a path such as `contact.friction`, if it is stated.
    pub fn get(&self, path: &str) -> Option<&Value> {
        match path.rsplit_once('.') {
            None => self.table.get(path),
            Some((above, key)) => self.get(above)?.get(key),
        }
    }

    /// Tests whether the value at a path such as `contact.friction` is stated.
    pub fn states(&self, path: &str) -> bool {
        self.get(path).is_some()
    }

    /// States a value at a path such as `contact.friction`.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) {
        let nested = path.rsplit('.').fold(value.into(), |value, key| {
            Value::Table(Table::from_iter([(key.to_owned(), value)]))
        });
        if let Value::Table(nested) = nested {
            merge(&mut self.table, nested);
        }
    }

    /// States a value at a path if there is one.
    pub fn set_some(&mut self, path: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(path, value);
        }
    }

    /// States that the value at a path returns to that of the layers below.
    pub fn reset(&mut self, path: &str) {
        self.forget(path);
        self.unset.push(path.to_owned());
    }

    /// Merges a layer over these settings: what it states replaces what they state.
    pub fn merge(&mut self, over: &Self) {
        over.unset.iter().for_each(|path| self.forget(path));
        merge(&mut self.table, over.table.clone());
    }

    /// Returns complete settings with the values that this layer states.
    ///
    /// # Errors
    /// [`KeysError`] for a key that `T` does not have, or a value of the wrong type.
    pub fn over<T: Serialize + DeserializeOwned>(&self, under: &T) -> Result<T, KeysError> {
        let mut all = Self::of_table(Table::try_from(under)?);
        all.merge(self);
        Ok(all.table.try_into()?)
    }

    /// Removes the value at a path, and tables that are empty without it except choices.
    fn forget(&mut self, path: &str) {
        fn forget(table: &mut Table, path: &str, is_choice: bool) {
            match path.split_once('.') {
                None => drop(table.remove(path)),
                Some((key, rest)) => {
                    let Some(Value::Table(inner)) = table.get_mut(key) else { return };
                    forget(inner, rest, CHOICES.contains(&key));
                    if inner.is_empty() && !is_choice {
                        table.remove(key);
                    }
                }
            }
        }
        forget(&mut self.table, path, false);
    }

    /// Returns the number at a path, if it is stated.
    pub(super) fn number(&self, path: &str) -> Option<f32> {
        match self.get(path)? {
            Value::Integer(number) => Some(*number as f32),
            Value::Float(number) => Some(*number as f32),
            _ => None,
        }
    }

    /// Returns the keys that are stated and for which `is_kept` is true.
    fn only(&self, is_kept: impl Fn(&str) -> bool) -> Self {
        let kept = |key: &str| is_kept(key.split('.').next().unwrap_or(key));
        let table = self.table.iter().filter(|(key, _)| kept(key));
        let unset = self.unset.iter().filter(|path| kept(path));
        Self {
            table: table.map(|(key, value)| (key.clone(), value.clone())).collect(),
            unset: unset.cloned().collect(),
        }
    }
}

/// Merges a table over another, recursively.
fn merge(under: &mut Table, over: Table) {
    if RATES.iter().any(|&key| over.contains_key(key)) {
        RATES.iter().for_each(|&key| drop(under.remove(key)));
    }
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(Value::Table(under)), Value::Table(over))
                if !CHOICES.contains(&key.as_str()) || over.keys().eq(under.keys()) =>
            {
                merge(under, over);
            }
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

/// Collects the paths of null keys.
fn nulls(keys: &serde_json::Map<String, serde_json::Value>, above: &str, found: &mut Vec<String>) {
    for (key, value) in keys {
        match value {
            serde_json::Value::Null => found.push(format!("{above}{key}")),
            serde_json::Value::Object(inner) => nulls(inner, &format!("{above}{key}."), found),
            _ => {}
        }
    }
}

/// Tests whether a key of `[[cloth]]` is a setting of [`ClothConfig`], which can change after
/// cooking.
pub fn is_live_setting(key: &str) -> bool {
    // As JSON, which keeps keys without a value.
    serde_json::to_value(ClothConfig::default()).is_ok_and(|known| known.get(key).is_some())
}

/// Lowest layer of settings, beneath the material.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseSettings {
    /// Settings.
    pub config: ClothConfig,
    /// Settings chosen from the cloth if no layer states a frequency of [`poplin_model::Pbd`].
    pub chosen: Chosen,
}

impl Default for BaseSettings {
    fn default() -> Self {
        Self { config: ClothConfig::default(), chosen: Chosen::ALL }
    }
}

impl SceneCloth {
    /// States settings over those that the cloth has: options of a command over a scene.
    ///
    /// # Errors
    /// [`KeysError`] for an unknown key or a value of the wrong type.
    pub fn state(&mut self, options: &Settings) -> Result<(), KeysError> {
        self.stated.merge(options);
        self.settle()
    }

    /// Replaces everything that a material sets, stated or not, by the values of `material`.
    ///
    /// # Errors
    /// See [`Self::state`].
    pub fn use_material(&mut self, material: Material) -> Result<(), KeysError> {
        SET_BY_MATERIAL.iter().for_each(|path| self.stated.forget(path));
        self.stated.set("material", material.name);
        self.settle()
    }

    /// Changes to the default of another solver, with the stiffnesses of the material, or the
    /// bending rigidity of cotton without one. The same solver keeps its settings; fiber solvers
    /// and the rigidity of the implicit and the multilevel solver are kept.
    ///
    /// # Errors
    /// See [`Self::state`].
    pub fn use_solver(&mut self, name: &str) -> Result<(), KeysError> {
        let old = self.config.solver.clone();
        if old.name() == name {
            return Ok(());
        }
        let mut options = Settings::default();
        options.set(&format!("solver.{name}"), Table::new());
        let has_fibers = |name: &str| matches!(name, "pbd" | "xpbd");
        if has_fibers(name) {
            for phase in ["vertical", "horizontal", "shearing", "bending"] {
                let path = |solver| format!("solver.{solver}.phases.{phase}.fiber_solver");
                options.set_some(&path(name), self.stated.get(&path(old.name())).cloned());
            }
        }
        let keeps_bending = !has_fibers(old.name()) && name != "pbd";
        let rigidity = match keeps_bending {
            true => self.stated.number(&format!("solver.{}.bending_rigidity", old.name())),
            false => (self.material.is_none() && name != "pbd").then_some(RIGIDITY),
        };
        options.set_some(&format!("solver.{name}.bending_rigidity"), rigidity);
        // Two-ring edges are rigid: beside them a bending rigidity has no effect.
        let bending = self.fabric.bending && (keeps_bending || name == "pbd");
        options.set("fabric.bending", bending);
        self.state(&options)
    }

    /// Merges the layers: base, material, stated settings.
    pub(super) fn settle(&mut self) -> Result<(), KeysError> {
        let (stated, base) = (&self.stated, &self.base);
        let material = stated.get("material").and_then(Value::as_str).and_then(Material::named);
        let mut under = base.config.clone();
        let solver = stated.get("solver").and_then(Value::as_table);
        let solver = solver.and_then(|choice| choice.keys().next());
        if let Some(name) = solver {
            let mut choice = Settings::default();
            choice.set(&format!("solver.{name}"), Table::new());
            under = choice.over(&under)?;
        }
        if let Some(material) = material {
            let chosen = under.solver.clone();
            // Damping of bending follows from the rigidity that applies.
            let rigidity = stated.number("solver.xpbd.bending_rigidity");
            Material { bending: rigidity.unwrap_or(material.bending), ..material }
                .apply(&mut under);
            if solver.is_some() && chosen.as_pbd().is_some() {
                under.solver = chosen;
            }
            Material::set_frequency(&mut under.solver);
        }
        let mut config = stated.only(is_live_setting).over(&under)?;
        let of_fabric = stated.get("fabric").and_then(Value::as_table).cloned();
        let of_fabric = Settings::of_table(of_fabric.unwrap_or_default());
        let mut fabric = of_fabric.over(&CookOptions::default())?;
        let density = stated.number("density").or(material.map(|material| material.density));
        fabric.density = density.unwrap_or(fabric.density);
        let without_bends = !fabric.bends && of_fabric.states("bends");
        let states_edges = of_fabric.states("bending");
        // Rigid two-ring edges would carry what the stretch of XPBD lets go: the rigidity of cotton
        // replaces them, if none is stated.
        let needs_bends = stretches(&config.solver, material) && !states_edges && !without_bends;
        if needs_bends && !stated.states("solver.xpbd.bending_rigidity") {
            let rigidity = config.solver.bending_rigidity();
            config.solver.set_bending_rigidity(if rigidity > 0.0 { rigidity } else { RIGIDITY });
        }
        // Bending elements [N m] replace two-ring edges, which would be redundant beside
        // inextensible edges.
        if (needs_bends || config.solver.bending_rigidity() > 0.0) && !states_edges {
            fabric.bending = false;
        }
        if without_bends {
            config.solver.set_bending_rigidity(0.0);
        }
        // A stated PBD frequency is an explicit choice of solver settings: nothing is chosen
        // automatically.
        let chosen = match stated.states("solver.pbd.frequency") {
            true => Chosen::NONE,
            false => Chosen {
                stiffness_frequency: base.chosen.stiffness_frequency
                    && !stated.states("stiffness_frequency"),
                ..base.chosen
            },
        };
        let perturbation = stated.number("perturbation").unwrap_or(DEFAULT_PERTURBATION);
        (self.config, self.fabric, self.material) = (config, fabric, material);
        (self.chosen, self.without_bends) = (chosen, without_bends);
        self.perturbation = perturbation;
        Ok(())
    }

    /// Meshes that get yarns: those stated, else all for a membrane, and irregular ones for a
    /// material, both with [`Xpbd`].
    pub fn yarns(&self) -> Yarns {
        if self.stated.states("fabric.yarns") {
            return self.fabric.yarns;
        }
        match self.config.solver.as_xpbd() {
            Some(xpbd) if xpbd.membrane.is_some() => Yarns::All,
            Some(_) if self.material.is_some() => Yarns::Irregular,
            _ => self.fabric.yarns,
        }
    }

    /// Sets the compliance of [`Xpbd`] edges to that of the material, if the cloth has one, for
    /// each phase whose compliance is not stated.
    pub fn set_membrane(&self, cloth: &mut ClothDesc) {
        let Some(material) = &self.material else { return };
        let before = cloth.config.solver.clone();
        cloth.set_membrane(material);
        let (Solver::Xpbd(Xpbd { phases, .. }), Solver::Xpbd(before)) =
            (&mut cloth.config.solver, before)
        else {
            return;
        };
        for (name, phase, before) in [
            ("vertical", &mut phases.vertical, before.phases.vertical),
            ("horizontal", &mut phases.horizontal, before.phases.horizontal),
            ("shearing", &mut phases.shearing, before.phases.shearing),
        ] {
            let states = |key| self.stated.states(&format!("solver.xpbd.phases.{name}.{key}"));
            if states("compliance") {
                *phase = before;
            } else if states("damping") {
                phase.damping = before.damping;
            }
        }
    }
}

/// Tests whether [`Xpbd`] lets cloth stretch while its two-ring edges would not.
fn stretches(solver: &Solver, material: Option<Material>) -> bool {
    let stretches = |Xpbd { membrane, phases, .. }: &Xpbd| {
        let is_soft = phases.vertical.compliance > 0.0 || phases.horizontal.compliance > 0.0;
        (material.is_some() || membrane.is_some() || is_soft) && phases.bending.compliance == 0.0
    };
    solver.as_xpbd().is_some_and(stretches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scene;

    fn cloth(lines: &str) -> SceneCloth {
        let sheet = "[[cloth]]\ngrid = { columns = 3, rows = 3, width = 1, height = 1 }";
        Scene::parse(&format!("{sheet}\n{lines}"), "scene.toml").unwrap().cloths.remove(0)
    }

    /// Friction, thickness and bending rigidity.
    fn values(config: &ClothConfig) -> [f32; 3] {
        [config.contact.friction, config.thickness, config.solver.bending_rigidity()]
    }

    #[test]
    fn later_layers_win_value_by_value() {
        let mut settings = Settings::default();
        settings.set("contact.friction", 0.5f32);
        settings.set("solver.pbd.frequency", 600);
        let mut over = Settings::default();
        over.set("contact.friction_slop", 0.25f32);
        over.set("solver.xpbd.substeps", 7);
        settings.merge(&over);
        assert!(settings.states("contact.friction") && !settings.states("solver.pbd"));
        let config = settings.over(&ClothConfig::default()).unwrap();
        assert_eq!((config.contact.friction, config.contact.friction_slop), (0.5, 0.25));
        assert_eq!(config.solver, Solver::xpbd(7));
        settings.reset("contact.friction");
        let config = settings.over(&config).unwrap();
        assert_eq!(config.contact.friction, 0.0);
    }

    #[test]
    fn a_null_key_returns_to_the_default() {
        let keys = serde_json::json!({ "max_speed": null, "contact": { "friction": null } });
        let mut config = ClothConfig { max_speed: Some(3.0), ..ClothConfig::default() };
        config.contact.friction = 0.5;
        let reset = Settings::of_keys(keys.as_object().unwrap()).over(&config).unwrap();
        assert_eq!(reset, ClothConfig::default());
    }

    #[test]
    fn values_stated_at_their_default_stay_with_any_solver() {
        let stated = "material = 'silk'\nthickness = 0\ncontact.friction = 0";
        let mut cloth = cloth(stated);
        assert_eq!(values(&cloth.config), [0.0, 0.0, Material::SILK.bending]);
        cloth.use_solver("implicit").unwrap();
        assert_eq!(values(&cloth.config), [0.0, 0.0, Material::SILK.bending]);
        let solver = "solver.implicit = { stretch_stiffness = [1000, 1000], bending_rigidity = 0 }";
        let cloth = self::cloth(&format!("{stated}\n{solver}"));
        let implicit = cloth.config.solver.as_implicit().unwrap();
        assert_eq!((implicit.stretch_stiffness, implicit.bending_rigidity), ([1000.0; 2], 0.0));
        assert_eq!(implicit.shear_stiffness, Material::SILK.shear);
    }

    #[test]
    fn options_win_over_the_scene_and_the_material() {
        let mut cloth = cloth("material = 'silk'\ncontact.friction = 0.7\nthickness = 0.01");
        let mut options = Settings::default();
        options.set("contact.friction", 0.0);
        options.set("solver.xpbd.bending_rigidity", 0.0);
        cloth.state(&options).unwrap();
        assert_eq!(values(&cloth.config), [0.0, 0.01, 0.0]);
        cloth.use_material(Material::DENIM).unwrap();
        let Material { friction, thickness, bending, density, .. } = Material::DENIM;
        assert_eq!(values(&cloth.config), [friction, thickness, bending]);
        assert_eq!(cloth.fabric.density, density);
    }

    #[test]
    fn a_material_is_between_the_base_and_stated_settings() {
        let config = ClothConfig { thickness: 0.01, damping: [0.2; 3], ..ClothConfig::default() };
        let base = BaseSettings { config, chosen: Chosen::NONE };
        let shape = cloth("").shape;
        let mut cloth = SceneCloth::new("sheet".into(), shape, base);
        cloth.use_material(Material::SILK).unwrap();
        let Material { friction, thickness, bending, .. } = Material::SILK;
        assert_eq!(values(&cloth.config), [friction, thickness, bending]);
        assert_eq!((cloth.config.damping, cloth.chosen), ([0.2; 3], Chosen::NONE));
    }
}
