//! Reads a scene file to its end whatever is wrong with it: serde stops at the first fault, so something that it takes is put in place of
//! what it does not, and it reads again.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

use super::SceneError;
use super::file::{SceneFile, toml_error};
use super::key_path::{Step, described};
use super::locate::Source;

/// Most faults that are looked for: more say nothing.
const MAX_FAULTS: usize = 100;

/// Most text that is read in all \[bytes\]: each fault takes a few more readings.
const MAX_WORK: usize = 64 << 20;

/// Least count of readings, however long the text is.
const MIN_ROUNDS: usize = 16;

/// What of a file could not be read.
#[derive(Default)]
pub(super) struct Damaged {
    /// Fields, `cloth[0].grid`, and the bytes of the file that they are.
    fields: Vec<(String, Range<usize>)>,
    /// The cloths, colliders and other tables that are not TOML.
    tables: Vec<Range<usize>>,
    /// Nothing is known of the rest.
    is_lost: bool,
}

impl Damaged {
    /// Whether a cloth or collider, `cloth[0]`, is in part something else than the file says.
    pub(super) fn has(&self, element: &str) -> bool {
        let is_in = |field: &str| {
            let rest = field.strip_prefix(element);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                || element.strip_prefix(field).is_some_and(|rest| rest.starts_with('['))
        };
        self.is_lost || !self.tables.is_empty() || self.fields.iter().any(|(name, _)| is_in(name))
    }

    /// Whether a fault that was found in the rest may come of what could not be read.
    pub(super) fn explains(&self, fault: &SceneError) -> bool {
        let Some(at) = fault.location() else { return self.is_lost };
        let is_at = |span: &Range<usize>| at.span.start < span.end && span.start < at.span.end;
        let mut spans = self.fields.iter().map(|(_, span)| span).chain(&self.tables);
        self.is_lost
            || spans.any(is_at)
            || match fault {
                SceneError::Unknown { kind: "cloth", .. } => self.has_names(),
                SceneError::Empty { field, .. } => field == "cloth" && self.has("cloth"),
                SceneError::Shape { field, .. } => self.has_key_of(field),
                SceneError::Lone { field, .. } => {
                    field.rsplit_once('.').is_some_and(|(table, _)| self.has_key_of(table))
                }
                _ => false,
            }
    }

    /// Whether the name of a cloth could not be read.
    fn has_names(&self) -> bool {
        let is_name = |field: &str| {
            let rest =
                field.strip_prefix("cloth").map(|rest| rest.trim_start_matches(|c| c != ']'));
            field == "cloth" || matches!(rest, Some("]" | "].name"))
        };
        self.is_lost || !self.tables.is_empty() || self.fields.iter().any(|(name, _)| is_name(name))
    }

    /// Whether a key of this table itself could not be read.
    fn has_key_of(&self, table: &str) -> bool {
        let is_in = |field: &str| field.rsplit_once('.').is_some_and(|(above, _)| above == table);
        self.fields.iter().any(|(name, _)| name == table || is_in(name))
    }
}

/// What stands in place of a value that cannot be read.
struct StandIn {
    steps: Vec<Step>,
    /// Which of [`stand_in`] it is.
    kind: usize,
}

/// The file as serde sees it, and what of it could not be read; all of that is refused.
pub(super) fn read_file(source: &Source<'_>) -> (SceneFile, Damaged) {
    let (document, errors) = source.document();
    let mut damaged = Damaged::default();
    for error in errors.iter().take(MAX_FAULTS) {
        source.refuse(toml_error(error, source));
        damaged.tables.push(table_around(source.text(), error.span().unwrap_or(0..0).start));
    }
    let mut root = document.clone();
    let mut stand_ins: Vec<StandIn> = Vec::new();
    // Keys that unknown ones were meant to be.
    let mut meant: Vec<String> = Vec::new();
    let rounds = (MAX_WORK / source.text().len().max(1)).max(MIN_ROUNDS);
    for _ in 0..rounds {
        let error = match SceneFile::deserialize(Deserializer::from(root.clone())) {
            Ok(file) => return (file, damaged),
            Err(error) => error,
        };
        // Spans of stand-ins are past the end of any text; a fault without one is that of the last.
        let last = stand_ins.len().checked_sub(1);
        let span = error.span().or(last.map(span_of)).unwrap_or(0..0);
        if let Some(index) = usize::MAX.checked_sub(span.end).filter(|&k| k < stand_ins.len()) {
            if !advance(&mut root, &mut stand_ins, index, missing_field(&error)) {
                break;
            }
            continue;
        }
        let fault = toml_error(&error, source);
        let is_unknown =
            matches!(fault, SceneError::Unknown { kind: "key", .. } | SceneError::Elsewhere { .. });
        let suggestion = match &fault {
            SceneError::Unknown { suggestion, .. } => suggestion.clone(),
            _ => None,
        };
        let missing = missing_field(&error);
        let mut steps = Vec::new();
        let found = find(root.get_ref(), &span, missing.is_some(), &mut steps);
        // What is not TOML lacks more than it says.
        let is_known = damaged.tables.iter().any(|table| table.contains(&span.start));
        let Some(around) = found.filter(|_| source.fault_count() < MAX_FAULTS) else {
            source.refuse(fault);
            break;
        };
        damaged.fields.push((described(&steps), around));
        if is_unknown {
            source.refuse(fault);
            let table = described(steps.split_last().map_or(&[], |(_, above)| above));
            meant.extend(suggestion.map(|name| format!("{table}.{name}")));
            if !remove(&mut root, &steps) {
                break;
            }
            continue;
        }
        steps.extend(missing.map(|name| Step::Key(name.to_owned())));
        // Nor does a table lack a key that is misspelt in it.
        let is_meant = meant.contains(&described(&steps));
        let is_tried = |steps: &[Step]| stand_ins.iter().any(|known| known.steps == steps);
        if !is_known && !is_meant && !is_tried(&steps) {
            source.refuse(fault);
        }
        // A stand-in does not help: the table or list around it is at fault.
        while is_tried(&steps) {
            steps.pop();
        }
        let index = stand_ins.len();
        stand_ins.push(StandIn { steps, kind: 0 });
        if !put(&mut root, &stand_ins[index], index) {
            break;
        }
    }
    damaged.is_lost = true;
    (SceneFile::default(), damaged)
}

/// The name in serde's "missing field `name`".
fn missing_field(error: &toml::de::Error) -> Option<&str> {
    error.message().strip_prefix("missing field `")?.split('`').next()
}

/// Puts the next value in place of a stand-in that does not do, or what it lacks into it; removes it in the end.
fn advance(
    root: &mut Spanned<DeTable<'_>>,
    stand_ins: &mut Vec<StandIn>,
    index: usize,
    missing: Option<&str>,
) -> bool {
    let name = missing.map(str::to_owned);
    let stand_in = &mut stand_ins[index];
    if let Some(name) = name {
        let steps = [stand_in.steps.as_slice(), &[Step::Key(name)]].concat();
        // A field of the same name that nothing does for is not tried again.
        if stand_ins.iter().all(|tried| tried.steps != steps) {
            let index = stand_ins.len();
            stand_ins.push(StandIn { steps, kind: 0 });
            return put(root, &stand_ins[index], index);
        }
        return remove(root, &stand_ins[index].steps);
    }
    stand_in.kind += 1;
    put(root, stand_in, index) || remove(root, &stand_in.steps)
}

/// The span of a stand-in.
fn span_of(index: usize) -> Range<usize> {
    usize::MAX - index..usize::MAX - index
}

/// Values of every kind that a scene has, one of which serde may take; all of a span that no text has.
fn stand_in(kind: usize, index: usize) -> Option<Spanned<DeValue<'static>>> {
    let spanned = |value| Spanned::new(span_of(index), value);
    let one = || DeValue::parse("1").map(|one| spanned(one.into_inner())).ok();
    let list = |count: usize| (0..count).map(|_| one()).collect::<Option<DeArray<'static>>>();
    let value = match kind {
        0 => return one(),
        1 => DeValue::String("none".into()),
        2 => DeValue::Boolean(false),
        3..=6 => DeValue::Array(list(kind - 3)?),
        7 => DeValue::Table(DeTable::new()),
        _ => return None,
    };
    Some(spanned(value))
}

/// Puts a stand-in where it belongs; false if there is none left, or no such entry.
fn put(root: &mut Spanned<DeTable<'_>>, it: &StandIn, index: usize) -> bool {
    let Some(value) = stand_in(it.kind, index) else { return false };
    let Some((last, above)) = it.steps.split_last() else { return false };
    let key = |name: &String| Spanned::new(value.span(), name.clone().into());
    match (last, entry(root.get_mut(), above)) {
        (Step::Key(name), Some(Entry::Table(table))) => {
            match table.get_mut(name.as_str()) {
                Some(old) => *old = value,
                None => drop(table.insert(key(name), value)),
            }
            true
        }
        (Step::Index(at), Some(Entry::Array(items))) => items.get_mut(*at).is_some_and(|item| {
            *item = value;
            true
        }),
        _ => false,
    }
}

/// Removes an entry of a table, or the list that it is in: the positions of others must stay.
fn remove(root: &mut Spanned<DeTable<'_>>, steps: &[Step]) -> bool {
    let Some((last, above)) = steps.split_last() else { return false };
    match (last, entry(root.get_mut(), above)) {
        (Step::Key(name), Some(Entry::Table(table))) => table.remove(name.as_str()).is_some(),
        (Step::Index(_), Some(_)) => remove(root, above),
        _ => false,
    }
}

/// A table or list.
enum Entry<'t, 'i> {
    Table(&'t mut DeTable<'i>),
    Array(&'t mut DeArray<'i>),
}

/// The table or list that steps lead to.
fn entry<'t, 'i>(table: &'t mut DeTable<'i>, steps: &[Step]) -> Option<Entry<'t, 'i>> {
    let mut entry = Entry::Table(table);
    for step in steps {
        let value = match (step, entry) {
            (Step::Key(name), Entry::Table(table)) => table.get_mut(name.as_str())?,
            (Step::Index(index), Entry::Array(items)) => items.get_mut(*index)?,
            _ => return None,
        };
        entry = match value.get_mut() {
            DeValue::Table(table) => Entry::Table(table),
            DeValue::Array(items) => Entry::Array(items),
            _ => return None,
        };
    }
    Some(entry)
}

/// The steps to the entry whose key or value has this span, a table alone if one is asked for; of several the innermost. Returns what the
/// entry takes up in the text.
fn find(
    table: &DeTable<'_>,
    span: &Range<usize>,
    is_table: bool,
    steps: &mut Vec<Step>,
) -> Option<Range<usize>> {
    for (key, value) in table {
        steps.push(Step::Key(key.get_ref().to_string()));
        let around = key.span().start..key.span().end.max(match value.get_ref() {
            DeValue::Table(_) => key.span().end,
            // A stand-in has none.
            _ if value.span().is_empty() => key.span().end,
            _ => value.span().end,
        });
        let inner = find_in(value, span, is_table, steps);
        let is_it = || value.span() == *span || !is_table && key.span() == *span;
        if let Some(found) = inner.or_else(|| is_it().then_some(around)) {
            return Some(found);
        }
        steps.pop();
    }
    None
}

/// The same for what is in a value.
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

/// The part of a text from the header `[[cloth]]`, `[wind]`, ... above an offset to the next one that is not within it.
fn table_around(text: &str, offset: usize) -> Range<usize> {
    let (mut begin, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let header = line.trim_start().strip_prefix('[').map(|rest| rest.trim_start_matches('['));
        let is_outer = header.is_some_and(|name| {
            let name = name.split(']').next().unwrap_or_default();
            !name.contains(['.', ',']) && name.starts_with(char::is_alphabetic)
        });
        if is_outer {
            if at > offset {
                return begin..at;
            }
            begin = at;
        }
        at += line.len();
    }
    begin..text.len() + 1
}
