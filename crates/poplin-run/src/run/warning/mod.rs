//! Reasons to doubt the result of a run: on stderr at the end, and as data in `summary.json`.

mod contact;
mod end;
mod motion;
mod parts;
mod setup;
mod start;
mod step;
mod stretch;

use std::sync::Arc;

use poplin_model::ContactMode;
use poplin_scene::BuiltCollider;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::job_cloth::JobCloth;
pub(super) use stretch::{MAX_STRETCH, Overstretch};

/// Advice to use the contact that keeps triangles apart.
const TRIANGLES: &str =
    "`contact = \"triangles\"` in `[cloth_contact_solver]` (--contact triangles)";

/// A reason to doubt the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    /// Stable name in snake case: `starts_inside`.
    pub kind: &'static str,
    /// Name of the cloth or collider; empty for the whole scene.
    pub subject: String,
    /// Number that gave rise to the warning, with the unit that `text` has it in SI; `None` without
    /// one.
    pub value: Option<f32>,
    /// Number that `value` should not exceed, fall below or differ from; `None` without one.
    pub limit: Option<f32>,
    /// Message: the problem, its position and limit, and a remedy.
    pub text: String,
    /// Details, by names with their units.
    #[serde(flatten)]
    pub details: Map<String, Value>,
    /// Key of the cloth in the scene file, or of the scene if it is about that; empty if there is
    /// no single one.
    #[serde(skip)]
    pub(crate) key: &'static str,
}

impl Warning {
    /// Creates a warning about a cloth.
    fn of_cloth(kind: &'static str, cloth: &str, text: String) -> Self {
        Self::new(kind, cloth, text).detail("cloth", cloth)
    }

    /// Creates a warning.
    fn new(kind: &'static str, subject: &str, text: String) -> Self {
        let (subject, details) = (subject.to_owned(), Map::new());
        Self { kind, subject, value: None, limit: None, text, details, key: "" }
    }

    /// Sets the number that gave rise to the warning and the one that it is compared with.
    fn beyond(self, value: f32, limit: f32) -> Self {
        Self { value: Some(value), limit: Some(limit), ..self }
    }

    /// Sets the key of the cloth in the scene file.
    fn at(self, key: &'static str) -> Self {
        Self { key, ..self }
    }

    /// Adds a detail.
    fn detail(mut self, name: &str, value: impl Serialize) -> Self {
        self.details.insert(name.to_owned(), as_json(&value));
        self
    }

    /// Adds the fields of a struct.
    fn details(mut self, fields: &impl Serialize) -> Self {
        if let Value::Object(fields) = as_json(fields) {
            self.details.extend(fields);
        }
        self
    }

    /// Warnings about a whole scene.
    pub(crate) fn of_scene(
        job_cloths: &[JobCloth],
        colliders: &[Arc<BuiltCollider>],
        contact: ContactMode,
    ) -> impl Iterator<Item = Self> {
        let of_mode = Self::of_mode(job_cloths, colliders, contact);
        let of_mode = of_mode.map(|warning| warning.at("cloth_contact_solver.contact"));
        let close = Self::of_distance(job_cloths, contact).map(|warning| warning.at("cloth"));
        let of_colliders = Self::of_colliders(job_cloths, colliders);
        let of_colliders = of_colliders.map(|warning| warning.at("collider"));
        of_mode.into_iter().chain(close).chain(of_colliders)
    }

    /// Warnings about a cloth that are known before its job of `frames` frames is simulated.
    pub(crate) fn before_run(
        job_cloth: &JobCloth,
        contact: ContactMode,
        frames: u32,
        frame_rate: f32,
    ) -> impl Iterator<Item = Self> {
        let start = Self::of_start(job_cloth, contact).into_iter();
        let of_motion = Self::of_motion(frames, frame_rate, job_cloth);
        start.chain(Self::of_mesh(job_cloth, contact)).chain(of_motion)
    }
}

/// Converts a value to JSON by its text, which has `f32` in their shortest form.
fn as_json(value: &impl Serialize) -> Value {
    let text = serde_json::to_string(value).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Names the line of the first face in a mesh file; empty if the file has no lines.
pub fn in_line(first_line: usize) -> String {
    match first_line {
        0 => String::new(),
        line => format!(", the first in line {line}"),
    }
}
