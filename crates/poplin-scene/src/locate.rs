//! Lines and columns of the fields of a TOML text, and the faults found in them.

use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

use poplin_cook::CookError;
use poplin_model::ModelError;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::key_path::{Step, described};
use super::{Location, SceneError};

/// Scene text while it is checked. Finds the locations of fields and collects faults.
pub(super) struct Source<'a> {
    text: &'a str,
    path: &'a Path,
    /// Parsed text with the byte offsets of its keys, made when first needed, and its TOML errors.
    document: OnceCell<(Spanned<DeTable<'a>>, Vec<toml::de::Error>)>,
    faults: RefCell<Vec<SceneError>>,
}

impl<'a> Source<'a> {
    /// Wraps a text and its path.
    pub(super) fn new(text: &'a str, path: &'a Path) -> Self {
        Self { text, path, document: OnceCell::new(), faults: RefCell::default() }
    }

    /// Returns the parsed text with the byte offsets of its keys, as far as it is TOML, and its
    /// TOML errors.
    pub(super) fn document(&self) -> &(Spanned<DeTable<'a>>, Vec<toml::de::Error>) {
        self.document.get_or_init(|| DeTable::parse_recoverable(self.text))
    }

    /// Records a fault.
    pub(super) fn refuse(&self, fault: SceneError) {
        self.faults.borrow_mut().push(fault);
    }

    /// Number of faults recorded so far.
    pub(super) fn fault_count(&self) -> usize {
        self.faults.borrow().len()
    }

    /// Removes and returns all recorded faults.
    pub(super) fn take_faults(&self) -> Vec<SceneError> {
        self.faults.take()
    }

    /// Returns the first fault in the text as an error, if there is one.
    pub(super) fn verdict(self) -> Result<(), SceneError> {
        in_order(self.take_faults()).into_iter().next().map_or(Ok(()), Err)
    }

    /// Scene text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Path of the scene file.
    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    /// Returns the location of a field such as `cloth[0].air.drag`: that of its key, or of the
    /// nearest enclosing table that the file has.
    pub(super) fn location(&self, field: &str) -> Box<Location> {
        self.location_of(self.find(field).0)
    }

    /// Tests whether the file states a field such as `cloth[0].air.drag`.
    pub(super) fn states(&self, field: &str) -> bool {
        self.find(field).1
    }

    /// Returns the location of a byte range, cut at the end of its first line.
    pub(super) fn location_of(&self, span: Range<usize>) -> Box<Location> {
        let start = span.start.min(self.text.len());
        let (before, after) = self.text.as_bytes().split_at(start);
        let begin = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = String::from_utf8_lossy(&before[begin..]).chars().count() + 1;
        let rest = after.iter().position(|&byte| byte == b'\n').unwrap_or(after.len());
        // Messages underline a single line.
        let length = span.end.saturating_sub(start).min(rest);
        Box::new(Location { path: self.path.into(), line, column, span: start..start + length })
    }

    /// Returns the byte range of a field, or of the nearest enclosing table that the file has, and
    /// true if it is the field itself.
    fn find(&self, field: &str) -> (Range<usize>, bool) {
        let mut table = Some(self.document().0.get_ref());
        let mut array: Option<&DeArray<'_>> = None;
        let mut span = 0..0;
        // `cloth[0].air.drag` has the steps cloth, 0, air, drag.
        for step in field.split(['.', '[', ']']).filter(|step| !step.is_empty()) {
            let value = match (table, array) {
                (Some(entries), _) => {
                    let Some((key, value)) = entries.iter().find(|(key, _)| key.get_ref() == step)
                    else {
                        return (span, false);
                    };
                    // A table is located by its header or key, a value by `key = value`.
                    span = match value.get_ref() {
                        DeValue::Table(_) => key.span(),
                        _ => key.span().start..value.span().end,
                    };
                    value
                }
                (None, Some(items)) => {
                    let Some(item) = step.parse().ok().and_then(|index: usize| items.get(index))
                    else {
                        return (span, false);
                    };
                    span = item.span();
                    item
                }
                (None, None) => return (span, false),
            };
            (table, array) = match value.get_ref() {
                DeValue::Table(entries) => (Some(entries), None),
                DeValue::Array(items) => (None, Some(items)),
                _ => (None, None),
            };
        }
        (span, true)
    }

    /// Returns the field whose key or value has this byte range, only tables if `is_table`; empty
    /// if there is none.
    pub(super) fn field_at(&self, span: &Range<usize>, is_table: bool) -> String {
        let mut steps = Vec::new();
        find(self.document().0.get_ref(), span, is_table, &mut steps);
        described(&steps)
    }

    /// Reports a value outside `min..=max`; NaN is outside every range.
    pub(super) fn check_range(
        &self,
        field: &str,
        value: impl Into<f64>,
        [min, max]: [f64; 2],
        unit: &'static str,
    ) {
        let value = value.into();
        // Negated comparison: NaN fails it.
        if !(value >= min && value <= max) {
            self.refuse(self.out_of_range(field, value, [min, max], unit));
        }
    }

    /// Reports components of a vector outside `-limit..=limit`.
    pub(super) fn check_vector(
        &self,
        field: &str,
        value: [f32; 3],
        limit: f64,
        unit: &'static str,
    ) {
        for component in value {
            self.check_range(field, shortest(component), [-limit, limit], unit);
        }
    }

    fn out_of_range(
        &self,
        field: &str,
        value: f64,
        [min, max]: [f64; 2],
        unit: &'static str,
    ) -> SceneError {
        let at = self.location(field);
        SceneError::OutOfRange { at, field: field.into(), value, min, max, unit }
    }

    /// Converts an error of the model's checks to one with a location. `table` has the field that
    /// the error names.
    pub(super) fn model_error(&self, table: &str, error: &ModelError) -> SceneError {
        let (name, value, [min, max]) = match error {
            ModelError::OutOfRange { field, value, min, max } => (field, *value, [*min, *max]),
            ModelError::NotFinite { what, value, limit, .. } => (what, *value, [-limit, *limit]),
            _ => {
                let at = self.location(table);
                return SceneError::Syntax { at, message: format!("{table}: {error}") };
            }
        };
        self.out_of_range(
            &format!("{table}.{name}"),
            shortest(value),
            [shortest(min), shortest(max)],
            "",
        )
    }

    /// Converts an error of cooking options of `cloth` to one with a location.
    pub(super) fn cook_error(&self, cloth: &str, error: &CookError) -> SceneError {
        let fabric = format!("{cloth}.fabric");
        match *error {
            CookError::OptionOutOfRange { field: "density", value, min, max, unit } => {
                self.out_of_range(&format!("{cloth}.density"), value, [min, max], unit)
            }
            CookError::OptionOutOfRange { field, value, min, max, unit } => {
                self.out_of_range(&format!("{fabric}.{field}"), value, [min, max], unit)
            }
            CookError::EntryOutOfRange { field, index, value, min, max } => {
                let [value, min, max] = [value, min, max].map(shortest);
                self.out_of_range(&format!("{fabric}.{field}[{index}]"), value, [min, max], "")
            }
            _ => SceneError::Syntax {
                at: self.location(&fabric),
                message: format!("{fabric}: {error}"),
            },
        }
    }
}

/// Finds the innermost entry whose key or value has this span, only tables if `is_table`, and
/// stores the steps to it. Returns the byte range of the entry in the text.
pub(super) fn find(
    table: &DeTable<'_>,
    span: &Range<usize>,
    is_table: bool,
    steps: &mut Vec<Step>,
) -> Option<Range<usize>> {
    for (key, value) in table {
        steps.push(Step::Key(key.get_ref().to_string()));
        let around = key.span().start..key.span().end.max(match value.get_ref() {
            DeValue::Table(_) => key.span().end,
            // A stand-in has no text.
            _ if value.span().is_empty() => key.span().end,
            _ => value.span().end,
        });
        let inner = find_in(value, span, is_table, steps);
        // A missing key has the span of its table, any other fault that of a key or value.
        let is_it = || value.span() == *span || !is_table && key.span() == *span;
        if let Some(found) = inner.or_else(|| is_it().then_some(around)) {
            return Some(found);
        }
        steps.pop();
    }
    None
}

/// Finds an entry, like [`find`], inside a value.
fn find_in(
    value: &Spanned<DeValue<'_>>,
    span: &Range<usize>,
    is_table: bool,
    steps: &mut Vec<Step>,
) -> Option<Range<usize>> {
    match value.get_ref() {
        DeValue::Table(table) => find(table, span, is_table, steps),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                steps.push(Step::Index(index));
                let inner = find_in(item, span, is_table, steps);
                let is_it = item.span() == *span;
                if let Some(found) = inner.or_else(|| is_it.then(|| item.span())) {
                    return Some(found);
                }
                steps.pop();
            }
            None
        }
        _ => None,
    }
}

/// Sorts faults by their location in the text and removes duplicates; faults without a location
/// come last.
pub(super) fn in_order(mut faults: Vec<SceneError>) -> Vec<SceneError> {
    // Stable: faults at one location keep their order.
    faults.sort_by_key(|fault| match fault.location() {
        Some(at) if at.span != (0..0) => at.span.start,
        _ => usize::MAX,
    });
    let mut known = HashSet::new();
    faults.retain(|fault| known.insert(fault.to_string()));
    faults
}

/// Converts an `f32` to the `f64` with the same shortest decimal form: 0.1 stays 0.1 in messages
/// and range checks.
pub(super) fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "title = 'x'\n[[cloth]]\nname = 'a'\n[[cloth]]\nair = { drag = 0,\n  wind_velocity = [2, 0, 0] }\n[cloth.sleep]\nthreshold = 3\n";

    #[test]
    fn fields_are_found_in_tables_arrays_and_inline_tables() {
        let source = Source::new(TEXT, Path::new("x.toml"));
        for (field, line, column) in [
            ("title", 1, 1),
            ("cloth[1].air.wind_velocity", 6, 3),
            ("cloth[1].air.wind_velocity[0]", 6, 20),
            ("cloth[1].sleep.threshold", 8, 1),
            ("cloth[0].density", 2, 1),
            ("nothing", 1, 1),
        ] {
            let at = source.location(field);
            assert_eq!((at.line, at.column), (line, column), "{field}");
        }
    }

    #[test]
    fn columns_count_characters() {
        let source = Source::new("ä = 1\nöö x", Path::new("x.toml"));
        assert_eq!(source.location_of(12..13).to_string(), "x.toml:2:4");
    }
}
