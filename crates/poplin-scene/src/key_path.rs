//! Paths of scene keys: `cloth[0].density`, `cloth.flag.damping[1]`, `collider."left
//! arm".keys[0].translation`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;
use toml::{Table, Value};

use super::Scene;
use super::file::nearest;

/// Path of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyPath {
    text: String,
    steps: Vec<Step>,
}

/// Step from a table or list to one of its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A key of a table, or the name of a cloth or collider.
    Key(String),
    /// An index into a list, from 0.
    Index(usize),
}

/// Error of a key path.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// A text that is not a path.
    #[error(
        "`{text}` is not the path of a key such as `cloth[0].density` or `cloth.flag.damping[1]`"
    )]
    Parse {
        /// The text.
        text: String,
    },
    /// A path that does not say which cloth or collider.
    #[error("`{path}` does not say which {kind}: write `{kind}[0]` or `{kind}.NAME`; there {are}")]
    Which {
        /// The path.
        path: String,
        /// `"cloth"` or `"collider"`.
        kind: &'static str,
        /// Existing names, in words.
        are: String,
    },
    /// A cloth or collider that the scene does not have.
    #[error("`{path}`: the scene has no {kind} `{name}`{did_you_mean}; there {are}")]
    NoSuch {
        /// The path.
        path: String,
        /// `"cloth"` or `"collider"`.
        kind: &'static str,
        /// The name or index.
        name: String,
        /// Suggestion of the most similar name, in words; empty without one.
        did_you_mean: String,
        /// Existing names, in words.
        are: String,
    },
    /// A step into a value that is not a table or list, or past the end of a list.
    #[error("`{path}`: {at} {reason}")]
    NoEntry {
        /// The path.
        path: String,
        /// Part of the path that exists.
        at: String,
        /// Reason why the next step fails.
        reason: String,
    },
}

impl fmt::Display for KeyPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl FromStr for KeyPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let steps = steps(text).ok_or_else(|| PathError::Parse { text: text.to_owned() })?;
        Ok(Self { text: text.to_owned(), steps })
    }
}

/// Parses the steps of a path; `None` if the text is not a path.
fn steps(text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = text;
    loop {
        // Names with dots or brackets are quoted.
        if let Some(quoted) = rest.strip_prefix('"') {
            let (name, after) = quoted.split_once('"')?;
            steps.push(Step::Key(name.to_owned()));
            rest = after;
        } else {
            let end = rest.find(['.', '[', ']', '"']).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() {
                return None;
            }
            steps.push(Step::Key(name.to_owned()));
            rest = after;
        }
        // Any number of indices: keys[0].translation[1].
        while let Some(bracket) = rest.strip_prefix('[') {
            let (index, after) = bracket.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = after;
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None => return rest.is_empty().then_some(steps),
        }
    }
}

impl KeyPath {
    /// Replaces the name of a cloth or collider in the path by its index in the scene.
    pub(super) fn resolved(mut self, scene: &Scene) -> Result<Self, PathError> {
        let kinds: [(&'static str, Vec<String>); 2] = [
            ("cloth", scene.cloths.iter().map(|cloth| cloth.name.clone()).collect()),
            ("collider", scene.colliders.iter().map(|collider| collider.name.clone()).collect()),
        ];
        let Some(Step::Key(first)) = self.steps.first() else { return Ok(self) };
        let Some((kind, names)) = kinds.into_iter().find(|(kind, _)| first == kind) else {
            return Ok(self);
        };
        let path = self.text.clone();
        let are = match names.len() {
            0 => "are none".to_owned(),
            _ => format!("are `{}`", names.join("`, `")),
        };
        let index = match self.steps.get(1) {
            None => return Err(PathError::Which { path, kind, are }),
            // Names and indices are equivalent, so that a key varied twice is detected.
            Some(Step::Index(index)) if *index < names.len() => *index,
            Some(Step::Index(index)) => {
                let (name, did_you_mean) = (index.to_string(), String::new());
                return Err(PathError::NoSuch { path, kind, name, did_you_mean, are });
            }
            Some(Step::Key(name)) if names.iter().filter(|known| *known == name).count() > 1 => {
                return Err(PathError::Which { path, kind, are });
            }
            Some(Step::Key(name)) => match names.iter().position(|known| known == name) {
                Some(index) => index,
                None => {
                    let near = nearest(name, &names);
                    let did_you_mean =
                        near.map_or(String::new(), |name| format!(", did you mean `{name}`?"));
                    let name = name.clone();
                    return Err(PathError::NoSuch { path, kind, name, did_you_mean, are });
                }
            },
        };
        self.steps[1] = Step::Index(index);
        Ok(self)
    }

    /// Tests whether both paths lead to the same key; both must be resolved.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.steps == other.steps
    }

    /// Sets the value. Missing tables on the path are created; list elements must exist.
    pub(super) fn set(&self, scene: &mut Table, value: Value) -> Result<(), PathError> {
        let Some((Step::Key(first), rest)) = self.steps.split_first() else { return Ok(()) };
        let mut slot = scene.entry(first).or_insert_with(empty);
        for (done, step) in rest.iter().enumerate() {
            let no_entry = |reason: String| PathError::NoEntry {
                path: self.text.clone(),
                at: described(&self.steps[..=done]),
                reason,
            };
            slot = match (step, slot) {
                (Step::Key(key), Value::Table(table)) => table.entry(key).or_insert_with(empty),
                (Step::Index(index), Value::Array(items)) => {
                    let count = items.len();
                    let missing = || no_entry(format!("has only {count}, counted from 0"));
                    items.get_mut(*index).ok_or_else(missing)?
                }
                // A missing key was just created as an empty table.
                (Step::Index(_), Value::Table(table)) if table.is_empty() => {
                    return Err(no_entry(
                        "is not stated in the scene: state it there to vary its elements".into(),
                    ));
                }
                (Step::Key(key), other) => {
                    return Err(no_entry(format!(
                        "is {}, not a table: it has no key `{key}`",
                        kind(other)
                    )));
                }
                (Step::Index(_), other) => {
                    return Err(no_entry(format!("is {}, not a list", kind(other))));
                }
            };
        }
        *slot = value;
        Ok(())
    }
}

fn empty() -> Value {
    Value::Table(Table::new())
}

/// Names the type of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) | Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a time",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// Formats steps as text, `cloth[0].density`.
pub(super) fn described(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Key(key) if text.is_empty() => text = key.clone(),
            Step::Key(key) => text += &format!(".{key}"),
            Step::Index(index) => text += &format!("[{index}]"),
        }
    }
    text
}
