//! Keys of scene files, derived from the types that deserialize them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::file::{SceneFile, nearest};
use super::sweep::SweepFile;

/// Key of a scene file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SceneKey {
    /// Path of the key through its tables, separated by dots: `cloth.contact.friction`. A list of
    /// tables counts as a table.
    pub path: String,
    /// Type of the value: `number`, `3 numbers`, `"xy" or "xz"`, `table`, ...
    pub kind: String,
    /// Meaning with unit, range and default.
    pub meaning: String,
}

impl SceneKey {
    /// Last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// Table of the key, `cloth.contact`; empty at the top of the file.
    pub fn table(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }
}

/// Cooking options that are keys of the cloth itself, not of its `fabric`.
pub(super) const KEYS_OF_THE_CLOTH: [&str; 3] = ["density", "gravity", "pins"];

/// Returns the JSON Schema (draft 2020-12) of scene files, for editors that validate and complete
/// TOML.
pub fn scene_schema() -> Value {
    let schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<SceneFile>();
    let mut schema = schema.to_value();
    if let Some(fabric) = schema.pointer_mut("/$defs/CookOptions/properties")
        && let Some(fabric) = fabric.as_object_mut()
    {
        // These keys of the shared type exist only in `[[cloth]]`.
        KEYS_OF_THE_CLOTH.iter().for_each(|key| drop(fabric.remove(*key)));
    }
    clean(&mut schema);
    schema
}

/// Returns the JSON Schema (draft 2020-12) of sweep files.
pub fn sweep_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<SweepFile>().to_value();
    clean(&mut schema);
    schema
}

/// Returns every key of a scene file, each table before its keys, in the order of [`scene_schema`].
pub fn scene_keys() -> Vec<SceneKey> {
    let schema = scene_schema();
    let mut keys = Vec::new();
    add_keys(&schema, &schema, "", &mut keys);
    keys
}

/// Finds tables that are written as lists, which serde would fill by the order of their keys, and
/// returns their byte ranges.
pub(super) fn lists_for_tables(document: &DeTable<'_>) -> Vec<Range<usize>> {
    // Made once: a sweep reads as many scenes as it has jobs.
    static SCHEMA: LazyLock<Value> = LazyLock::new(scene_schema);
    let mut found = Vec::new();
    add_lists(&SCHEMA, &SCHEMA, document, &mut found);
    found
}

fn add_lists(root: &Value, schema: &Value, table: &DeTable<'_>, found: &mut Vec<Range<usize>>) {
    for (key, value) in table {
        for schema in properties(root, schema, key.get_ref()) {
            add_lists_in(root, schema, value, found);
        }
    }
}

fn add_lists_in(
    root: &Value,
    schema: &Value,
    value: &Spanned<DeValue<'_>>,
    found: &mut Vec<Range<usize>>,
) {
    let schema = resolved(root, schema);
    match value.get_ref() {
        DeValue::Table(table) => add_lists(root, schema, table, found),
        DeValue::Array(items) if schema["items"].is_object() => {
            items.iter().for_each(|item| add_lists_in(root, &schema["items"], item, found));
        }
        DeValue::Array(_) if is_table(root, schema) => found.push(value.span()),
        _ => {}
    }
}

/// Returns the schemas of a key of a table, in each variant that has it.
fn properties<'a>(root: &'a Value, schema: &'a Value, key: &str) -> Vec<&'a Value> {
    let schema = resolved(root, schema);
    let own = schema["properties"].get(key).into_iter();
    own.chain(variants(schema).flat_map(|variant| properties(root, variant, key))).collect()
}

/// Tests whether a schema has tables and nothing that is a list.
fn is_table(root: &Value, schema: &Value) -> bool {
    let schema = resolved(root, schema);
    let mut variants = variants(schema).peekable();
    match variants.peek() {
        None => schema["type"] == "object" || schema["properties"].is_object(),
        Some(_) => {
            let is_list = |schema: &Value| resolved(root, schema)["type"] == "array";
            let all: Vec<_> = variants.collect();
            all.iter().any(|it| is_table(root, it)) && !all.iter().any(|it| is_list(it))
        }
    }
}

/// Returns the variants of a schema; none if it has only itself.
fn variants(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["oneOf", "anyOf"].into_iter().filter_map(|name| schema[name].as_array());
    lists.flatten()
}

/// Finds keys in other tables of the same cloth or collider that an unknown key may stand for, as
/// paths from there: `contact.friction` for `friction` in `[[cloth]]`. Each word of the unknown key
/// must be in the path, and each word of the known key in the unknown one.
pub(super) fn keys_elsewhere(name: &str, header: &str) -> Vec<String> {
    let within = header.trim_matches(['[', ']']).split('.').next().unwrap_or_default();
    let mut found = Vec::new();
    for key in scene_keys() {
        let path = match key.path.split_once('.') {
            _ if within.is_empty() => key.path.as_str(),
            Some((table, path)) if table == within => path,
            _ => continue,
        };
        let words: Vec<_> = path.split(['.', '_']).collect();
        let meant: Vec<_> = name.split('_').collect();
        let is_meant = meant.iter().all(|word| words.iter().any(|known| is_same(known, word)))
            && key.name().split('_').all(|known| meant.iter().any(|word| is_same(known, word)));
        // A table that matches stands for all keys in it.
        let is_in = |table: &String| path.strip_prefix(table).is_some_and(|it| it.starts_with('.'));
        if is_meant && !found.iter().any(is_in) {
            found.push(path.to_owned());
        }
    }
    found
}

/// Maximum number of keys that are suggested for a name; longer lists do not help.
const MAX_LIKE: usize = 8;

/// Finds tables and keys that an unknown name may stand for: those that end in it, else the most
/// similar; none if there are too many.
pub fn keys_like(name: &str) -> Vec<String> {
    let keys = scene_keys();
    let paths: Vec<_> = keys.iter().map(|key| key.path.clone()).collect();
    let names: Vec<_> = keys.iter().map(|key| key.name().to_owned()).collect();
    let likely = keys_elsewhere(name, "");
    let named = |last: String| {
        keys.iter().filter(move |key| key.name() == last).map(|key| key.path.clone())
    };
    let found: Vec<_> = match nearest(name, &paths) {
        _ if !likely.is_empty() => likely,
        Some(path) => vec![path],
        None => nearest(name, &names).into_iter().flat_map(named).collect(),
    };
    // A name as common as `translation` has too many paths to be of help.
    if found.len() > MAX_LIKE { Vec::new() } else { found }
}

/// Compares two words, ignoring a plural `s`.
fn is_same(a: &str, b: &str) -> bool {
    a.trim_end_matches('s') == b.trim_end_matches('s')
}

/// Finds keys among `known`, all of one table, whose meaning begins with the word `name`.
pub(super) fn keys_that_mean(name: &str, known: &[String]) -> Vec<String> {
    let keys = scene_keys();
    let begins = |key: &&SceneKey| {
        let word = key.meaning.split(|x: char| !x.is_alphanumeric()).next().unwrap_or_default();
        is_same(&word.to_lowercase(), &name.to_lowercase())
    };
    let found = keys.iter().filter(begins).map(|key| key.name().to_owned());
    let mut found: Vec<_> = found.filter(|key| known.contains(key)).collect();
    found.dedup();
    found
}

/// Converts descriptions, which are doc comments, to plain text.
fn clean(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "description" => *text = plain(text),
                    _ => clean(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        _ => {}
    }
}

/// Strips links, escapes, line ends and Rust paths from a doc comment: ``[`crate::Fabric::bends`]``
/// becomes `` `bends` ``.
fn plain(text: &str) -> String {
    let text = text.replace("[`", "`").replace("`]", "`").replace("\\[", "[").replace("\\]", "]");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Split at backticks: every second piece is code.
    let is_path = |code: &str| code.chars().all(|x| x.is_alphanumeric() || "_:".contains(x));
    let pieces = text.split('`').enumerate().map(|(index, piece)| match piece.rsplit_once("::") {
        Some((_, name)) if index % 2 == 1 && is_path(piece) => name,
        _ => piece,
    });
    pieces.collect::<Vec<_>>().join("`")
}

/// Follows references of a schema, and drops the `null` variant of optional values.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(target) = schema["$ref"].as_str() {
        let target = root.pointer(target.trim_start_matches('#'));
        return target.map_or(schema, |target| resolved(root, target));
    }
    let is_some = |variant: &&Value| variant["type"] != "null";
    match schema["anyOf"].as_array().map(|variants| variants.iter().filter(is_some)) {
        Some(mut variants) if schema["anyOf"].as_array().is_some_and(|all| all.len() == 2) => {
            match (variants.next(), variants.next()) {
                (Some(only), None) => resolved(root, only),
                _ => schema,
            }
        }
        _ => schema,
    }
}

fn add_keys(root: &Value, table: &Value, path: &str, keys: &mut Vec<SceneKey>) {
    let Some(properties) = table["properties"].as_object() else { return };
    // Sibling tables with the same keys are listed once.
    let mut written: HashMap<*const Value, &str> = HashMap::new();
    for (name, property) in properties {
        let value = resolved(root, property);
        let inner = match value["items"].is_object() {
            true => resolved(root, &value["items"]),
            false => value,
        };
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let meaning = [property, value].iter().find_map(|schema| schema["description"].as_str());
        let mut kind = kind(root, value);
        let twin = written.get(&std::ptr::from_ref(inner)).copied();
        if let Some(twin) = twin {
            kind = format!("{kind}, as `{twin}`");
        }
        keys.push(SceneKey { path: path.clone(), kind, meaning: meaning.unwrap_or("").into() });
        if twin.is_some() {
            continue;
        }
        if has_keys(inner) {
            written.insert(inner, name);
        }
        add_keys(root, inner, &path, keys);
        // Variants of an enum with data, such as solvers, are tables with one key each.
        for variant in inner["oneOf"].as_array().into_iter().flatten() {
            let begin = keys.len();
            add_keys(root, variant, &path, keys);
            if let (Some(key), Some(text)) = (keys.get_mut(begin), variant["description"].as_str())
            {
                key.meaning = text.into();
            }
        }
    }
}

fn has_keys(schema: &Value) -> bool {
    schema["properties"].is_object() || schema["oneOf"].is_array()
}

/// Describes the type of a value for people.
fn kind(root: &Value, schema: &Value) -> String {
    let schema = resolved(root, schema);
    if let Some(variants) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let mut kinds: Vec<_> = variants.iter().map(|variant| kind(root, variant)).collect();
        kinds.dedup();
        return kinds.join(" or ");
    }
    if let Some(names) = schema["enum"].as_array() {
        return names.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
    }
    if schema["const"].is_string() {
        return schema["const"].to_string();
    }
    let type_name = match &schema["type"] {
        // Optional: a type or `null`.
        Value::Array(types) => types.first().and_then(Value::as_str).unwrap_or_default(),
        name => name.as_str().unwrap_or_default(),
    };
    match type_name {
        "boolean" => "true or false".into(),
        "string" => "text".into(),
        "object" => "table".into(),
        "array" => match (schema["minItems"].as_u64(), &schema["prefixItems"], &schema["items"]) {
            (_, Value::Array(items), _) => {
                let kinds: Vec<_> = items.iter().map(|item| kind(root, item)).collect();
                format!("[{}]", kinds.join(", "))
            }
            (Some(count), _, items) => format!("{count} {}", plural(&kind(root, items))),
            (None, _, items) => format!("list of {}", plural(&kind(root, items))),
        },
        name => name.into(),
    }
}

fn plural(kind: &str) -> String {
    if kind.chars().all(char::is_alphabetic) { format!("{kind}s") } else { kind.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scene;

    #[test]
    fn every_key_has_a_meaning_and_a_kind() {
        let keys = scene_keys();
        assert!(keys.len() > 150, "{}", keys.len());
        for SceneKey { path, kind, meaning } in keys {
            assert!(!meaning.is_empty() && !kind.is_empty(), "{path}: {kind}: {meaning}");
            assert!(!meaning.contains("::"), "{path} names a Rust path: {meaning}");
            assert!(!meaning.contains("`None`"), "{path} names a Rust value: {meaning}");
        }
    }

    #[test]
    fn an_unknown_name_suggests_similar_keys() {
        for (name, meant) in [
            ("contact", &["cloth_contact_solver.contact", "cloth.contact"][..]),
            ("contacts", &["cloth_contact_solver.contact", "cloth.contact"]),
            ("contct", &["cloth_contact_solver.contact", "cloth.contact"]),
            ("cloth.contct", &["cloth.contact"]),
            ("colider", &["collider"]),
            ("hats", &[]),
            ("", &[]),
        ] {
            assert_eq!(keys_like(name), meant, "{name}");
        }
        let frictions = keys_like("friction");
        assert!(frictions.len() > 3 && frictions.iter().all(|key| key.ends_with(".friction")));
    }

    /// The parser accepts every key: a value of the wrong type gives a type error, not an unknown
    /// key.
    #[test]
    fn the_parser_knows_every_key() {
        let keys = scene_keys();
        let is_list = |path: &str| {
            keys.iter().any(|key| key.path == path && key.kind.starts_with("list of table"))
        };
        for key in &keys {
            let wrong =
                if key.kind.contains("number") || key.kind == "integer" { "'x'" } else { "1.5" };
            let mut text = format!("{} = {wrong}", key.name());
            let mut table = key.table();
            while !table.is_empty() {
                let (rest, name) = table.rsplit_once('.').unwrap_or(("", table));
                let [open, close] = if is_list(table) { ["[{", "}]"] } else { ["{", "}"] };
                text = format!("{name} = {open} {text} {close}");
                table = rest;
            }
            let faults = Scene::check_text(&text, "scene.toml").faults;
            let message = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            assert!(
                message.contains("nvalid type") || message.contains("wanted"),
                "{text}: {message}"
            );
        }
    }
}
