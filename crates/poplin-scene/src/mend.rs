//! Reads a whole scene file despite faults: serde stops at the first fault, so the faulty value is
//! replaced by one that serde accepts, and the file is read again.

use std::ops::Range;

use serde::Deserialize;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};
use toml::{Spanned, Table};

use super::SceneError;
use super::file::{SceneFile, missing_field, toml_error};
use super::key_path::{Step, described};
use super::keys::lists_for_tables;
use super::locate::{Source, find};

/// Maximum number of reported faults; longer lists do not help.
const MAX_FAULTS: usize = 100;

/// Limit of the text read in all rounds together \[bytes\]; each fault takes a few rounds.
const MAX_WORK: usize = 64 << 20;

/// Minimum number of rounds, for texts of any length.
const MIN_ROUNDS: usize = 16;

/// Parts of a file that could not be read.
#[derive(Default)]
pub(super) struct Damaged {
    /// Fields, `cloth[0].grid`, and their byte ranges in the file.
    fields: Vec<(String, Range<usize>)>,
    /// Byte ranges of cloths, colliders and other tables that are not TOML.
    tables: Vec<Range<usize>>,
    /// True if reading was given up, so that nothing of the file is known.
    is_lost: bool,
}

impl Damaged {
    /// Tests whether a cloth or collider, `cloth[0]`, has parts that differ from the file.
    pub(super) fn has(&self, element: &str) -> bool {
        let is_in = |field: &str| {
            let rest = field.strip_prefix(element);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                || element.strip_prefix(field).is_some_and(|rest| rest.starts_with('['))
        };
        self.is_lost || !self.tables.is_empty() || self.fields.iter().any(|(name, _)| is_in(name))
    }

    /// Tests whether a fault may be a consequence of unreadable parts.
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

    /// Tests whether the name of a cloth could not be read.
    fn has_names(&self) -> bool {
        let is_name = |field: &str| {
            let rest =
                field.strip_prefix("cloth").map(|rest| rest.trim_start_matches(|c| c != ']'));
            field == "cloth" || matches!(rest, Some("]" | "].name"))
        };
        self.is_lost || !self.tables.is_empty() || self.fields.iter().any(|(name, _)| is_name(name))
    }

    /// Tests whether a direct key of this table could not be read.
    fn has_key_of(&self, table: &str) -> bool {
        let is_in = |field: &str| field.rsplit_once('.').is_some_and(|(above, _)| above == table);
        self.fields.iter().any(|(name, _)| name == table || is_in(name))
    }
}

/// Stand-in for a value that cannot be read.
struct StandIn {
    steps: Vec<Step>,
    /// Index of the value in [`stand_in`].
    kind: usize,
}

/// Tables of the cloths, as stated.
#[derive(Deserialize)]
struct ClothTables {
    #[serde(default)]
    cloth: Vec<Table>,
}

/// Reads the file and the tables of its cloths, with stand-ins for unreadable values; reports those
/// values and returns them as [`Damaged`].
pub(super) fn read_file(source: &Source<'_>) -> (SceneFile, Vec<Table>, Damaged) {
    let (document, errors) = source.document();
    let mut damaged = Damaged::default();
    // Syntax errors: their whole table counts as unreadable.
    for error in errors.iter().take(MAX_FAULTS) {
        source.refuse(toml_error(error, source));
        damaged.tables.push(table_around(source.text(), error.span().unwrap_or(0..0).start));
    }
    for span in lists_for_tables(document.get_ref()) {
        let field = source.field_at(&span, false);
        let message = format!("{field}: expected a table of keys, `{{ key = value }}`, not a list");
        source.refuse(SceneError::Syntax { at: source.location_of(span), message });
    }
    let mut root = document.clone();
    let mut stand_ins: Vec<StandIn> = Vec::new();
    // Known keys that unknown ones were likely meant to be.
    let mut meant: Vec<String> = Vec::new();
    // Each round reads the whole text once.
    let rounds = (MAX_WORK / source.text().len().max(1)).max(MIN_ROUNDS);
    for _ in 0..rounds {
        let error = match SceneFile::deserialize(Deserializer::from(root.clone())) {
            Ok(file) => {
                let cloths = ClothTables::deserialize(Deserializer::from(root));
                return (file, cloths.map_or(Vec::new(), |tables| tables.cloth), damaged);
            }
            Err(error) => error,
        };
        // Spans of stand-ins are past the end of any text; a fault without a span is that of the
        // last stand-in.
        let last = stand_ins.len().checked_sub(1);
        let span = error.span().or(last.map(span_of)).unwrap_or(0..0);
        // serde rejected a stand-in, not the file: try its next value without reporting a fault.
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
        // Missing keys in a table that is not TOML are consequences of that.
        let is_known = damaged.tables.iter().any(|table| table.contains(&span.start));
        let Some(around) = found.filter(|_| source.fault_count() < MAX_FAULTS) else {
            source.refuse(fault);
            break;
        };
        damaged.fields.push((described(&steps), around));
        // An unknown key is removed, so that it is reported only once.
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
        // A key that is misspelt in its table is not missing as well.
        let is_meant = meant.contains(&described(&steps));
        let is_tried = |steps: &[Step]| stand_ins.iter().any(|known| known.steps == steps);
        if !is_known && !is_meant && !is_tried(&steps) {
            source.refuse(fault);
        }
        // This stand-in was tried: the table or list around it is at fault.
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
    (SceneFile::default(), Vec::new(), damaged)
}

/// Replaces a stand-in that serde rejects by the next value, or adds the key that it lacks; removes
/// it when no value is left.
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
        // A field for which no value worked is not tried again.
        if stand_ins.iter().all(|tried| tried.steps != steps) {
            let index = stand_ins.len();
            stand_ins.push(StandIn { steps, kind: 0 });
            return put(root, &stand_ins[index], index);
        }
        // No value works for the missing field: drop the table that lacks it.
        return remove(root, &stand_ins[index].steps);
    }
    stand_in.kind += 1;
    put(root, stand_in, index) || remove(root, &stand_in.steps)
}

/// Span of a stand-in, past the end of any text.
fn span_of(index: usize) -> Range<usize> {
    usize::MAX - index..usize::MAX - index
}

/// Returns the stand-in of a kind: one value for each type that scene keys have, with a span that
/// no text has.
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

/// Inserts a stand-in at its steps; returns false if no kind is left or the entry does not exist.
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

/// Removes an entry of a table, or the whole list of an element: the indices of other elements must
/// not change.
fn remove(root: &mut Spanned<DeTable<'_>>, steps: &[Step]) -> bool {
    let Some((last, above)) = steps.split_last() else { return false };
    match (last, entry(root.get_mut(), above)) {
        (Step::Key(name), Some(Entry::Table(table))) => table.remove(name.as_str()).is_some(),
        // Removing one element would shift the indices in later messages.
        (Step::Index(_), Some(_)) => remove(root, above),
        _ => false,
    }
}

/// Mutable table or list.
enum Entry<'t, 'i> {
    Table(&'t mut DeTable<'i>),
    Array(&'t mut DeArray<'i>),
}

/// Returns the table or list at the end of `steps`.
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

/// Byte range from the header `[[cloth]]`, `[wind]`, ... above an offset to the next header that is
/// not within that table.
fn table_around(text: &str, offset: usize) -> Range<usize> {
    let (mut begin, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let header = line.trim_start().strip_prefix('[').map(|rest| rest.trim_start_matches('['));
        let is_outer = header.is_some_and(|name| {
            let name = name.split(']').next().unwrap_or_default();
            // `[cloth.air]` belongs to its cloth; `[1, 2]` is a list over several lines, not a
            // header.
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
