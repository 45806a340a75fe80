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
    let (offset, at) = (span.start, source.location_of(span));
    let message = error.message();
    let kinds = [("unknown field `", "key"), ("unknown variant `", "value")];
    let Some((_, kind)) = kinds.into_iter().find(|(begin, _)| message.starts_with(begin)) else {
        return SceneError::Syntax { at, message: plain(&message.replace('\n', "; ")) };
    };
    // serde: unknown field `a`, expected one of `b`, `c`. Every second piece between backticks is a
    // name.
    let mut names = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let name = names.next().unwrap_or_default();
    let known: Vec<String> = names.collect();
    // The table of the key is the last header line above it.
    let above = source.text().get(..offset).unwrap_or_default();
    let table = above
        .lines()
        .rev()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .find(|line| line.starts_with('[') && line.ends_with(']'));
    let table: Box<str> = table.unwrap_or_default().into();
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
        if (1..=MAX_ELSEWHERE).contains(&elsewhere.len()) {
            return SceneError::Elsewhere { at, name, table, instead: elsewhere };
        }
        if let [only] = keys_that_mean(&name, &known).as_slice() {
            suggestion = Some(only.clone());
        }
    }
    SceneError::Unknown { at, kind, name, table, suggestion, known }
}

/// Rephrases serde's type names for people who write TOML.
fn plain(message: &str) -> String {
    let known = [
        (
            "wanted exactly 1 element, more than 1 element",
            "expected one key in this table, for example one solver, found more",
        ),
        ("wanted exactly 1 element, found 0", "expected one key here, found none"),
        (
            "invalid type: map, expected a sequence",
            "expected a list of tables: write [[ ]] around its name",
        ),
        (
            "unit variant, expected newtype variant",
            "only a name, expected a table with it: `name = {}`",
        ),
        ("expected u32", "expected a whole number, 0 or more"),
        ("expected u64", "expected a whole number, 0 or more"),
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
