//! Errors of scene files and pin rules.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use poplin_model::ModelError;
use thiserror::Error;

use super::surface::OpenSurface;
use poplin_io::IoError;

/// Location in a scene file, shown as `path:line:column`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The scene file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// Byte range in the file, all on this line.
    pub span: Range<usize>,
}

impl fmt::Display for Location {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// Error of a scene file. Each message says what is wrong, where, and the limit.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SceneError {
    /// A scene file, or a mesh file that it names, that cannot be used.
    #[error(transparent)]
    File(#[from] IoError),
    /// A file that is not TOML, or a value of the wrong type.
    #[error("{at}: {message}")]
    Syntax {
        /// Location in the scene file.
        at: Box<Location>,
        /// Message of the TOML parser.
        message: String,
    },
    /// Settings that cannot be written as TOML.
    #[error("the settings cannot be saved: {0}")]
    Save(toml::ser::Error),
    /// A key, a named value or a cloth that does not exist.
    #[error(
        "{at}: unknown {kind} `{name}` {}{}",
        in_table(table),
        suggest(name, suggestion, known)
    )]
    Unknown {
        /// Location in the scene file.
        at: Box<Location>,
        /// `"key"`, `"value"` for a named choice, or `"cloth"`.
        kind: &'static str,
        /// The name as written.
        name: Box<str>,
        /// The table header above it, as written, or empty at the top of the file.
        table: Box<str>,
        /// Most similar known name, if one is similar enough.
        suggestion: Option<String>,
        /// All known names at this location.
        known: Vec<String>,
    },
    /// A key of another table of the same cloth or collider.
    #[error(
        "{at}: `{name}` is not a key {}; write {}",
        in_table(table),
        instead_in(instead, table)
    )]
    Elsewhere {
        /// Location in the scene file.
        at: Box<Location>,
        /// The key as written.
        name: Box<str>,
        /// The table header above it, as written, or empty at the top of the file.
        table: Box<str>,
        /// Keys that it may stand for, for example `contact.friction`.
        instead: Vec<String>,
    },
    /// A value outside its range.
    #[error("{at}: {field} = {} is outside {}..={}{}", shortest(*value), shortest(*min), shortest(*max), spaced(unit))]
    OutOfRange {
        /// Location in the scene file.
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
    /// More particles than the engine supports.
    #[error("{at}: {field} asks for {count} particles; the limit is {limit} {scope}")]
    TooManyParticles {
        /// Location in the scene file.
        at: Box<Location>,
        /// The field that asks for them.
        field: String,
        /// Number of particles.
        count: u128,
        /// Maximum number of particles.
        limit: usize,
        /// `"per cloth"` or `"per scene"`.
        scope: &'static str,
    },
    /// A cloth or collider without a shape, or with several.
    #[error("{at}: {field} needs exactly one of {known}; it has {}", list(found))]
    Shape {
        /// Location in the scene file.
        at: Box<Location>,
        /// The cloth or collider, for example `cloth[0]`.
        field: String,
        /// Shapes to choose from.
        known: &'static str,
        /// Shapes that it has.
        found: Vec<&'static str>,
    },
    /// A mesh file that does not exist.
    #[error("{at}: {field}: there is no file {}", mesh.display())]
    MissingMesh {
        /// Location in the scene file.
        at: Box<Location>,
        /// The field.
        field: String,
        /// Path at which the mesh was expected.
        mesh: PathBuf,
    },
    /// A pin rule that cannot be read, or that does not fit its mesh.
    #[error("{at}: {field}: {source}")]
    Pin {
        /// Location in the scene file.
        at: Box<Location>,
        /// The field.
        field: String,
        /// Fault of the rule.
        source: PinError,
    },
    /// An empty scene, animation or list.
    #[error("{at}: {field} is empty; it needs at least one {needed}")]
    Empty {
        /// Location in the scene file.
        at: Box<Location>,
        /// The field.
        field: String,
        /// Missing entry or key, in words.
        needed: &'static str,
    },
    /// Keyframes whose times do not rise.
    #[error("{at}: {field}: time {time} s is not after the previous key at {previous} s")]
    KeyOrder {
        /// Location in the scene file.
        at: Box<Location>,
        /// The keyframe.
        field: String,
        /// Its time \[s\].
        time: f32,
        /// Time of the previous keyframe \[s\].
        previous: f32,
    },
    /// A plane whose normal has no direction.
    #[error("{at}: {field} has no direction: {normal:?}")]
    NoNormal {
        /// Location in the scene file.
        at: Box<Location>,
        /// The normal.
        field: String,
        /// Normal as written.
        normal: [f32; 3],
    },
    /// Planes of a convex shape with no point behind all of them.
    #[error(
        "{at}: {field} is empty: no point is behind all of its {count} planes; normals face outwards, and a point x is behind a plane \
         where normal . x < offset"
    )]
    EmptyConvex {
        /// Location in the scene file.
        at: Box<Location>,
        /// The planes.
        field: String,
        /// Number of planes.
        count: usize,
    },
    /// A name that an earlier cloth already has.
    #[error(
        "{at}: {field}: `{name}` is the name of cloth[{first}], too; colliders and files refer to cloths by name, so each cloth needs its own"
    )]
    SameName {
        /// Location in the scene file.
        at: Box<Location>,
        /// The later name.
        field: String,
        /// The name.
        name: String,
        /// Index of the cloth that has it first.
        first: usize,
    },
    /// A bending rigidity without bends to act on.
    #[error(
        "{at}: {bends} = false leaves out the bends that {rigidity} acts on; state only one of them, or a rigidity of 0"
    )]
    NoBends {
        /// Location in the scene file.
        at: Box<Location>,
        /// The option of cooking.
        bends: String,
        /// The rigidity.
        rigidity: String,
    },
    /// A collider whose transformed shape is not valid.
    #[error("collider `{name}`: {source}")]
    Collider {
        /// Its name.
        name: String,
        /// Cause of the error.
        source: ModelError,
    },
    /// A rigid body without a volume.
    #[error(
        "collider `{name}`: its shape encloses no volume to compute the `center` and `inertia` of its `body` from; state both"
    )]
    NoVolume {
        /// Its name.
        name: String,
    },
    /// A collider mesh that is not closed, so that it has no inside.
    #[error(
        "collider `{name}`: {} is not closed: {surface}; close it, give it a thickness, or accept it as it is, \
         with everything behind a triangle as inside (`open = true`; --open-collider)",
        path.display()
    )]
    OpenCollider {
        /// Its name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// Openings of the surface.
        surface: OpenSurface,
    },
    /// A file with the motion of a mesh that cannot be used, or not as the scene states.
    #[error("{at}: {field}: {source}")]
    Motion {
        /// Location in the scene file.
        at: Box<Location>,
        /// The key that asks for it.
        field: String,
        /// Cause of the error.
        source: Box<IoError>,
    },
    /// A key that has no effect without another one.
    #[error("{at}: {field} needs {needed}")]
    Lone {
        /// Location in the scene file.
        at: Box<Location>,
        /// The key.
        field: String,
        /// Missing entry or key, in words.
        needed: &'static str,
    },
    /// A collider that cannot be a rigid body.
    #[error("{at}: {field} {reason}")]
    Body {
        /// Location in the scene file.
        at: Box<Location>,
        /// The table.
        field: String,
        /// Cause of the error.
        reason: &'static str,
    },
    /// More distinct lists of cloths than there are collision groups.
    #[error("{at}: {field}: colliders may name at most {limit} different lists of cloths")]
    TooManyGroups {
        /// Location in the scene file.
        at: Box<Location>,
        /// The list.
        field: String,
        /// Maximum number of distinct lists.
        limit: usize,
    },
    /// A wind velocity in the settings of a cloth that also has a `wind`.
    #[error("{at}: {field} is set beside a `wind` of the cloth or the scene; set only one")]
    TwoWinds {
        /// Location in the scene file.
        at: Box<Location>,
        /// The velocity in the settings.
        field: String,
    },
    /// A vertex that is moved by two animations of one cloth.
    #[error("{at}: {field} moves vertex {vertex}, which an earlier animation of the cloth moves")]
    PinMovedTwice {
        /// Location in the scene file.
        at: Box<Location>,
        /// The later animation.
        field: String,
        /// The vertex, from 0.
        vertex: u32,
    },
}

impl SceneError {
    /// Returns the location in the scene file, if the error has one.
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Syntax { at, .. }
            | Self::Unknown { at, .. }
            | Self::Elsewhere { at, .. }
            | Self::OutOfRange { at, .. }
            | Self::TooManyParticles { at, .. }
            | Self::Shape { at, .. }
            | Self::MissingMesh { at, .. }
            | Self::Pin { at, .. }
            | Self::Empty { at, .. }
            | Self::KeyOrder { at, .. }
            | Self::NoNormal { at, .. }
            | Self::EmptyConvex { at, .. }
            | Self::SameName { at, .. }
            | Self::NoBends { at, .. }
            | Self::Body { at, .. }
            | Self::Motion { at, .. }
            | Self::Lone { at, .. }
            | Self::TooManyGroups { at, .. }
            | Self::TwoWinds { at, .. }
            | Self::PinMovedTwice { at, .. } => Some(at),
            Self::File(_)
            | Self::Save(_)
            | Self::Collider { .. }
            | Self::NoVolume { .. }
            | Self::OpenCollider { .. } => None,
        }
    }

    /// Returns the message without its location.
    pub fn reason(&self) -> String {
        without_prefix(self.to_string(), self.location())
    }
}

/// Strips the location that a message begins with.
pub(super) fn without_prefix(text: String, at: Option<&Location>) -> String {
    let at = at.map(|at| format!("{at}: ")).unwrap_or_default();
    text.strip_prefix(&at).map(str::to_owned).unwrap_or(text)
}

/// Error of a pin rule.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PinError {
    /// A text that is not a pin rule.
    #[error(
        "cannot read the pin rule `{text}`: {reason}; accepted are `top:3%` (also bottom, left, right, front, back), \
         `corner:top-left` (also bottom, right; back and front for a lying sheet), `box:x0,y0,z0,x1,y1,z1`, \
         `indices:0,5,7-12`, `all` and `none`"
    )]
    Parse {
        /// The rule as written.
        text: String,
        /// Cause of the error.
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

/// Lists keys, and names the cloth or collider that has them.
fn instead_in(keys: &[String], table: &str) -> String {
    let keys: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    let within = table.trim_matches(['[', ']']).split('.').next().unwrap_or_default();
    let within = if within.is_empty() { String::new() } else { format!(" in [[{within}]]") };
    format!("{}{within}", keys.join(" or "))
}

/// Returns a hint if a key belongs to the other kind of file: `known` are the keys of a scene or of
/// a sweep, of which only sweeps have `vary`.
pub(crate) fn other_kind_of_file(name: &str, known: &[String]) -> Option<&'static str> {
    let has = |key: &str| known.iter().any(|known| known == key);
    match name {
        "scene" | "vary" if has("cloth") => {
            Some("; this is a sweep, not a scene: run it with `poplin batch`")
        }
        "cloth" | "collider" if has("vary") => {
            Some("; this is a scene, not a sweep: run it with `poplin run`")
        }
        _ => None,
    }
}

fn suggest(name: &str, suggestion: &Option<String>, known: &[String]) -> String {
    if let Some(hint) = other_kind_of_file(name, known) {
        return hint.to_owned();
    }
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

/// Formats a number with the fewest digits.
fn shortest(value: f64) -> String {
    let is_plain = value == 0.0 || !value.is_finite() || (1e-4..1e10).contains(&value.abs());
    if is_plain { value.to_string() } else { format!("{value:e}") }
}

fn spaced(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}
