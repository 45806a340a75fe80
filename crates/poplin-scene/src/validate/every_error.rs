//! All range errors of a value, not only the first.

use poplin_cook::CookError;
use poplin_model::ModelError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// Reports every error of a value, not only the first: each faulty field is reset, and the rest is
/// checked again. `field` returns the field that an error is about and its value.
pub(super) fn each_error<T: Serialize + DeserializeOwned, E>(
    value: &T,
    validate: impl Fn(&T) -> Result<(), E>,
    field: impl Fn(&E) -> Option<(String, f64)>,
    mut refuse: impl FnMut(&E),
) {
    let mut mended: Option<T> = None;
    let mut known = Vec::new();
    while let Err(error) = validate(mended.as_ref().unwrap_or(value)) {
        refuse(&error);
        let found = field(&error).map(|(name, value)| (name, value.to_bits()));
        // The same fault again would loop forever: its field could not be reset.
        let Some(found) = found.filter(|found| !known.contains(found)) else { return };
        mended = without(mended.as_ref().unwrap_or(value), &found.0, f64::from_bits(found.1));
        if mended.is_none() {
            return;
        }
        known.push(found);
    }
}

/// Returns a value with one of its fields, `air.drag`, reset to its default. A faulty list entry,
/// either stated, `damping[1]`, or found by its value `bad`, becomes 0.
fn without<T: Serialize + DeserializeOwned>(value: &T, field: &str, bad: f64) -> Option<T> {
    let mut whole = Table::try_from(value).ok()?;
    let (field, index) = match field.split_once('[') {
        Some((field, rest)) => (field, Some(rest.strip_suffix(']')?.parse::<usize>().ok()?)),
        None => (field, None),
    };
    let (tables, key) = field.rsplit_once('.').unwrap_or(("", field));
    let mut table = &mut whole;
    for name in tables.split('.').filter(|name| !name.is_empty()) {
        table = table.get_mut(name)?.as_table_mut()?;
    }
    let is_bad = |item: &Value| {
        // Compared as f32, the precision of the settings; NaN equals NaN here.
        item.as_float().is_some_and(|it| it as f32 == bad as f32 || it.is_nan() && bad.is_nan())
    };
    match (table.get_mut(key)?, index) {
        (Value::Array(items), Some(index)) => *items.get_mut(index)? = Value::Float(0.0),
        (Value::Array(items), None) if items.iter().any(is_bad) => {
            items.iter_mut().filter(|item| is_bad(item)).for_each(|it| *it = Value::Float(0.0));
        }
        _ => drop(table.remove(key)),
    }
    whole.try_into().ok()
}

/// Returns the field that an error of the model is about and its value, if it has one.
pub(super) fn model_field(error: &ModelError) -> Option<(String, f64)> {
    match error {
        ModelError::OutOfRange { field: name, value, .. }
        | ModelError::NotFinite { what: name, value, .. } => Some((name.clone(), (*value).into())),
        _ => None,
    }
}

/// Returns the option that an error of cooking is about and its value, if it has one.
pub(super) fn cook_field(error: &CookError) -> Option<(String, f64)> {
    match error {
        CookError::OptionOutOfRange { field, value, .. } => Some(((*field).to_owned(), *value)),
        CookError::EntryOutOfRange { field, index, value, .. } => {
            Some((format!("{field}[{index}]"), (*value).into()))
        }
        _ => None,
    }
}
