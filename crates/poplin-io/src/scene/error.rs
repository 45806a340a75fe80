//! What can be wrong with a scene file and its pins.

use std::fmt;
use std::path::{Path, PathBuf};

use poplin_model::ModelError;
use thiserror::Error;

use super::surface::OpenSurface;
use crate::IoError;

/// A location in a scene file; shown as `path:line:column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The scene file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// Why a scene was rejected. Each message says what, where and the limit.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SceneError {
    /// The scene file, or a mesh file it names, cannot be used.
    #[error(transparent)]
    File(#[from] IoError),
    /// The file is not TOML, or a value has the wrong type.
    #[error("{at}: {message}")]
    Syntax {
        /// Where in the scene file.
        at: Box<Location>,
        /// What the TOML parser said.
        message: String,
    },
    /// Settings that cannot be written as TOML.
    #[error("the settings cannot be saved: {0}")]
    Save(toml::ser::Error),
    /// A key, a named value or a cloth that does not exist.
    #[error("{at}: unknown {kind} `{name}` {}{}", in_table(table), suggest(suggestion, known))]
    Unknown {
        /// Where in the scene file.
        at: Box<Location>,
        /// `"key"`, `"value"` for a named choice, or `"cloth"`.
        kind: &'static str,
        /// The name as written.
        name: Box<str>,
        /// The table header above it, as written, or empty at the top of the file.
        table: Box<str>,
        /// The nearest name that exists, if one is near.
        suggestion: Option<String>,
        /// All names that exist there.
        known: Vec<String>,
    },
    /// A key of another table of the same cloth or collider.
    #[error("{at}: `{name}` is no key {}; write {}", in_table(table), instead_in(instead, table))]
    Elsewhere {
        /// Where in the scene file.
        at: Box<Location>,
        /// The key as written.
        name: Box<str>,
        /// The table header above it, as written, or empty at the top of the file.
        table: Box<str>,
        /// The keys that it could mean, for example `contact.friction`.
        instead: Vec<String>,
    },
    /// A value outside its range.
    #[error("{at}: {field} = {} is outside {}..={}{}", shortest(*value), shortest(*min), shortest(*max), spaced(unit))]
    OutOfRange {
        /// Where in the scene file.
        at: Box<Location>,
        /// The field, for example `cloth[0].density`.
        field: String,
        /// Its value.
        value: f64,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// The unit, or empty.
        unit: &'static str,
    },
    /// More particles than the engine takes.
    #[error("{at}: {field} asks for {count} particles; the limit is {limit} {scope}")]
    TooManyParticles {
        /// Where in the scene file.
        at: Box<Location>,
        /// The field that asks for them.
        field: String,
        /// How many particles.
        count: u128,
        /// How many may be.
        limit: usize,
        /// `"per cloth"` or `"per scene"`.
        scope: &'static str,
    },
    /// A cloth or collider with no shape, or with several.
    #[error("{at}: {field} needs exactly one of {known}; it has {}", list(found))]
    Shape {
        /// Where in the scene file.
        at: Box<Location>,
        /// The cloth or collider, for example `cloth[0]`.
        field: String,
        /// The shapes that there are.
        known: &'static str,
        /// The shapes it has.
        found: Vec<&'static str>,
    },
    /// A mesh file that does not exist.
    #[error("{at}: {field}: there is no file {}", mesh.display())]
    MissingMesh {
        /// Where in the scene file.
        at: Box<Location>,
        /// The field.
        field: String,
        /// Where the mesh was looked for.
        mesh: PathBuf,
    },
    /// A pin rule that cannot be read, or that does not fit its mesh.
    #[error("{at}: {field}: {source}")]
    Pin {
        /// Where in the scene file.
        at: Box<Location>,
        /// The field.
        field: String,
        /// What is wrong with the rule.
        source: PinError,
    },
    /// A scene, or an animation, without anything in it.
    #[error("{at}: {field} is empty; it needs at least one {needed}")]
    Empty {
        /// Where in the scene file.
        at: Box<Location>,
        /// The field.
        field: String,
        /// What it needs.
        needed: &'static str,
    },
    /// Keyframes that do not follow each other in time.
    #[error("{at}: {field}: time {time} s does not come after {previous} s")]
    KeyOrder {
        /// Where in the scene file.
        at: Box<Location>,
        /// The keyframe.
        field: String,
        /// Its time \[s\].
        time: f32,
        /// The time of the keyframe before it \[s\].
        previous: f32,
    },
    /// A plane whose normal has no direction.
    #[error("{at}: {field} has no direction: {normal:?}")]
    NoNormal {
        /// Where in the scene file.
        at: Box<Location>,
        /// The normal.
        field: String,
        /// As it is written.
        normal: [f32; 3],
    },
    /// Planes of a convex that exclude each other.
    #[error(
        "{at}: {field} is empty: no point is behind all of its {count} planes; normals face outwards, and a point x is behind a plane \
         where normal . x < offset"
    )]
    EmptyConvex {
        /// Where in the scene file.
        at: Box<Location>,
        /// The planes.
        field: String,
        /// How many there are.
        count: usize,
    },
    /// A name that an earlier cloth has.
    #[error(
        "{at}: {field}: `{name}` is the name of cloth[{first}], too; colliders and files go by the name, so that each cloth needs its own"
    )]
    SameName {
        /// Where in the scene file.
        at: Box<Location>,
        /// The later name.
        field: String,
        /// The name.
        name: String,
        /// Index of the cloth that has it first.
        first: usize,
    },
    /// A bending rigidity, and no bends that it could act on.
    #[error(
        "{at}: {bends} = false leaves out what {rigidity} acts on; state only one, or a rigidity of 0"
    )]
    NoBends {
        /// Where in the scene file.
        at: Box<Location>,
        /// The option of cooking.
        bends: String,
        /// The rigidity.
        rigidity: String,
    },
    /// A collider whose shape is not valid once it is in its pose.
    #[error("collider `{name}`: {source}")]
    Collider {
        /// Its name.
        name: String,
        /// What is wrong with it.
        source: ModelError,
    },
    /// The mesh of a collider encloses nothing that cloth could be kept out of.
    #[error(
        "collider `{name}`: {} is not closed: {surface}; close it, make a solid of it, or take it as it is, everything \
         behind a triangle as inside (`open = true`; --open-collider)",
        path.display()
    )]
    OpenCollider {
        /// Its name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// Where it is open.
        surface: OpenSurface,
    },
    /// More different lists of cloths than there are collision groups.
    #[error("{at}: {field}: colliders may name at most {limit} different lists of cloths")]
    TooManyGroups {
        /// Where in the scene file.
        at: Box<Location>,
        /// The list.
        field: String,
        /// How many there may be.
        limit: usize,
    },
    /// A wind velocity in the settings of a cloth that also has a `wind`.
    #[error("{at}: {field} is set beside a `wind` of the cloth or the scene; set only one")]
    TwoWinds {
        /// Where in the scene file.
        at: Box<Location>,
        /// The velocity in the settings.
        field: String,
    },
    /// A vertex that two animations of one cloth both move.
    #[error("{at}: {field} moves vertex {vertex}, which an earlier animation of the cloth moves")]
    PinMovedTwice {
        /// Where in the scene file.
        at: Box<Location>,
        /// The later animation.
        field: String,
        /// The vertex, from 0.
        vertex: u32,
    },
}

impl SceneError {
    /// The error without its location in a text that is not the file of this path.
    pub(super) fn without_location(&self, path: &Path) -> String {
        let text = self.to_string();
        let after = text.strip_prefix(&format!("{}:", path.display())).and_then(|rest| {
            let (line, rest) = rest.split_once(':')?;
            let (column, rest) = rest.split_once(": ")?;
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            (is_number(line) && is_number(column)).then(|| rest.to_owned())
        });
        after.unwrap_or(text)
    }
}

/// Why a pin rule was refused.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PinError {
    /// A text that is none of the accepted forms.
    #[error(
        "cannot read the pin rule `{text}`: {reason}; accepted are `top:3%` (also bottom, left, right, front, back), \
         `corner:top-left` (also bottom, right; back and front for a lying sheet), `box:x0,y0,z0,x1,y1,z1`, \
         `indices:0,5,7-12`, `all` and `none`"
    )]
    Parse {
        /// The rule as written.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A rule that selects no vertex.
    #[error(
        "the pin rule `{rule}` selects none of the {vertex_count} vertices, which lie in {low:?} to {high:?} m"
    )]
    SelectsNothing {
        /// The rule.
        rule: String,
        /// Vertices of the mesh.
        vertex_count: usize,
        /// Smallest corner of the mesh \[m\].
        low: [f32; 3],
        /// Largest corner of the mesh \[m\].
        high: [f32; 3],
    },
    /// A vertex index past the end of the mesh.
    #[error("the pin rule `{rule}` names vertex {index}, but there are only {vertex_count} (0 to {})", vertex_count.saturating_sub(1))]
    IndexOutOfRange {
        /// The rule.
        rule: String,
        /// The index, from 0.
        index: u32,
        /// Vertices of the mesh.
        vertex_count: usize,
    },
}

fn in_table(table: &str) -> String {
    if table.is_empty() { "at the top of the file".into() } else { format!("in {table}") }
}

/// Keys, and the cloth or collider that they are in.
fn instead_in(keys: &[String], table: &str) -> String {
    let keys: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    let within = table.trim_matches(['[', ']']).split('.').next().unwrap_or_default();
    let within = if within.is_empty() { String::new() } else { format!(" in [[{within}]]") };
    format!("{}{within}", keys.join(" or "))
}

fn suggest(suggestion: &Option<String>, known: &[String]) -> String {
    match suggestion {
        Some(name) => format!("; did you mean `{name}`?"),
        None => format!("; expected one of {}", list(known)),
    }
}

fn list<T: AsRef<str>>(names: &[T]) -> String {
    if names.is_empty() {
        return "none".into();
    }
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// A number with as few digits as it needs.
fn shortest(value: f64) -> String {
    let is_plain = value == 0.0 || !value.is_finite() || (1e-4..1e10).contains(&value.abs());
    if is_plain { value.to_string() } else { format!("{value:e}") }
}

fn spaced(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}
