//! Errors of serde, reworded and with suggestions for unknown names.

use crate::SceneError;
use crate::error::other_kind_of_file;
use crate::keys::{keys_elsewhere, keys_that_mean};
use crate::locate::Source;

/// Minimum similarity of a known name that is suggested for an unknown one.
const LIKENESS: f64 = 0.85;

/// Similarity above which an unknown name counts as a typo of a known one.
const TYPO: f64 = 0.9;

/// Maximum number of keys in other tables that are suggested for an unknown key; longer lists do
/// not help.
const MAX_ELSEWHERE: usize = 3;

/// Converts an error of serde: adds a suggestion for unknown names, and rephrases types for other
/// errors.
pub(crate) fn toml_error(error: &toml::de::Error, source: &Source<'_>) -> SceneError {
    let span = error.span().unwrap_or(0..0);
    let message = error.message();
    let field = source.field_at(&span, missing_field(error).is_some());
    let at = source.location_of(span);
    let kinds = [("unknown field `", "key"), ("unknown variant `", "value")];
    let Some((_, kind)) = kinds.into_iter().find(|(begin, _)| message.starts_with(begin)) else {
        let message = match missing_field(error) {
            Some(name) if field.is_empty() => format!("the file needs the key `{name}`"),
            Some(name) => format!("{field} needs the key `{name}`"),
            None if field.is_empty() => plain(&message.replace('\n', "; ")),
            None => format!("{field}: {}", plain(&message.replace('\n', "; "))),
        };
        return SceneError::Syntax { at, message };
    };
    // serde: unknown field `a`, expected one of `b`, `c`. Every second piece between backticks is a
    // name.
    let mut names = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let name = names.next().unwrap_or_default();
    let known: Vec<String> = names.collect();
    let table = table_of(&field).into_boxed_str();
    let name = name.into_boxed_str();
    let mut suggestion = nearest(&name, &known);
    // Unless it is a likely typo, the key may belong to another table, or name its meaning
    // ("mass").
    let is_elsewhere = other_kind_of_file(&name, &known).is_none();
    if kind == "key"
        && is_elsewhere
        && suggestion.as_ref().is_none_or(|known| likeness(known, &name) < TYPO)
    {
        let elsewhere = keys_elsewhere(&name, &table);
        // The solvers count once: a cloth has one of them.
        let of_solvers = elsewhere.iter().filter(|key| key.starts_with("solver.")).count();
        let places = elsewhere.len() - of_solvers.saturating_sub(1);
        if (1..=MAX_ELSEWHERE).contains(&places) {
            return SceneError::Elsewhere { at, name, table, instead: elsewhere };
        }
        if let [only] = keys_that_mean(&name, &known).as_slice() {
            suggestion = Some(only.clone());
        }
    }
    SceneError::Unknown { at, kind, name, table, suggestion, known }
}

/// Returns the header of the table of a field: `[cloth.air]` for `cloth[0].air.drag`, `[[cloth]]`
/// for `cloth[0].density`; empty at the top of the file.
fn table_of(field: &str) -> String {
    let Some((table, _)) = field.rsplit_once('.') else { return String::new() };
    let is_item = table.ends_with(']');
    let mut header = String::new();
    for step in table.split('.') {
        let name = step.split('[').next().unwrap_or_default();
        header += if header.is_empty() { "" } else { "." };
        header += name;
    }
    if is_item { format!("[[{header}]]") } else { format!("[{header}]") }
}

/// Extracts the name from serde's "missing field `name`".
pub(crate) fn missing_field(error: &toml::de::Error) -> Option<&str> {
    error.message().strip_prefix("missing field `")?.split('`').next()
}

/// Rephrases serde's type names for people who write TOML.
fn plain(message: &str) -> String {
    let known = [
        (
            "wanted exactly 1 element, more than 1 element",
            "expected one key in this table, found more",
        ),
        ("wanted exactly 1 element, found 0", "expected one key here, found none"),
        (
            "invalid type: map, expected a sequence",
            "expected a list of tables, each under its name in `[[ ]]`",
        ),
        (
            "unit variant, expected newtype variant",
            "only a name, expected a table with it: `name = {}`",
        ),
        ("` as i128", "`"),
        ("expected a nonzero u32", "expected a whole number from 1 to 4294967295"),
        ("`, expected u32", "`, expected a whole number from 0 to 4294967295"),
        ("expected u32", "expected a whole number"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected an array of length", "expected a list of length"),
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
    ];
    let text = known.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to));
    // Names of types: "expected struct Wind".
    match text.split_once("expected struct ") {
        Some((begin, _)) => format!("{begin}expected a table of keys: `{{ key = value }}`"),
        None => text,
    }
}

/// Returns the known name most similar to an unknown one, if any is similar enough.
pub(crate) fn nearest(name: &str, known: &[String]) -> Option<String> {
    let nearest = known.iter().max_by(|a, b| likeness(a, name).total_cmp(&likeness(b, name)));
    nearest.filter(|candidate| likeness(candidate, name) >= LIKENESS).cloned()
}

/// Jaro-Winkler similarity of two names, 1 = equal.
fn likeness(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b)
}
