//! Sweeps: one scene with many values of some of its keys.
//!
//! ```toml
//! scene = "flag"                         # a file beside the sweep, or a shipped scene
//! frames = 60                            # default: the scene's
//! seed = 1                               # of random values
//! count = 100                            # of samples, for each combination of the other values
//!
//! [[vary]]
//! key = "cloth[0].density"
//! values = [0.1, 0.2, 0.4]
//!
//! [[vary]]
//! key = "cloth.flag.damping[0]"
//! uniform = [0.0, 0.3]
//!
//! [output]
//! arrays = ["positions"]
//! ```
//!
//! Lists, ranges and globs are combined as a Cartesian product in which the first parameter changes
//! slowest; parameters with the same `zip` advance together. Each combination has `count` jobs with
//! different random values. A job follows from its index only.

mod error;
mod jobs;
mod output;
#[cfg(test)]
mod tests;
mod values;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use toml::{Table, Value};

pub use self::error::{SweepError, SweepJobError};
pub use self::jobs::SweepJobs;
use self::jobs::parsed;
pub use self::output::{ArrayKind, SweepOutput};
use self::values::{require, values};
use super::distribution::{Distribution, Normal};
use super::file::{read_scene_text, toml_error};
use super::key_path::KeyPath;
use super::locate::Source;
use super::{Scene, SceneError};

/// Maximum number of jobs of a sweep.
pub const MAX_JOBS: usize = 10_000_000;

/// Sweep of poplin: one scene with many values of some of its keys.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Sweep")]
pub(super) struct SweepFile {
    /// Scene that is varied: a file beside the sweep, or the name of a shipped scene.
    scene: PathBuf,
    /// Number of frames to simulate, `1..=1_000_000` (default: the scene's).
    frames: Option<u32>,
    /// Seed of random values (default 0).
    #[serde(default)]
    seed: u64,
    /// Jobs per combination of the other values, which differ in their random values, 1 or more
    /// (default 1).
    #[serde(default = "one")]
    count: u32,
    /// Keys that vary: `[[vary]]`.
    #[serde(default)]
    vary: Vec<VaryFile>,
    /// Output of each job.
    #[serde(default)]
    output: SweepOutput,
}

/// Key with its values. Exactly one of the keys from `values` to `normal` is needed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Vary")]
struct VaryFile {
    /// Path of the key: `cloth[0].density`, `cloth.flag.damping[1]`.
    key: String,
    /// List of values.
    #[schemars(with = "Option<Vec<serde_json::Value>>")]
    values: Option<Vec<Value>>,
    /// Evenly spaced numbers.
    linear: Option<RangeFile>,
    /// Numbers above 0 with a constant ratio from one to the next.
    log: Option<RangeFile>,
    /// Files that match a pattern, relative to the folder of the sweep.
    glob: Option<String>,
    /// Random numbers, uniform between a minimum and a maximum.
    uniform: Option<[f64; 2]>,
    /// Random numbers above 0 with uniform logarithms between a minimum and a maximum.
    log_uniform: Option<[f64; 2]>,
    /// Normally distributed random numbers.
    normal: Option<Normal>,
    /// Rounds numbers to integers (default false).
    #[serde(default)]
    whole: bool,
    /// Name of a group of keys that advance together (default: every combination with other keys).
    zip: Option<String>,
}

/// Numbers from a first to a last one, both included.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Range")]
struct RangeFile {
    /// First number.
    from: f64,
    /// Last number.
    to: f64,
    /// Number of values, 1 or more.
    count: u32,
}

fn one() -> u32 {
    1
}

/// Checked sweep whose scene is not read yet.
#[derive(Debug)]
pub struct Sweep {
    /// The scene as written: a path relative to the sweep's folder, or the name of a shipped scene.
    pub scene: PathBuf,
    /// Output of each job.
    pub output: SweepOutput,
    frames: Option<u32>,
    seed: u64,
    count: usize,
    parameters: Vec<Parameter>,
    axes: Vec<Axis>,
    path: PathBuf,
    text: String,
}

/// Key with its values.
#[derive(Debug)]
struct Parameter {
    /// Field in the sweep for errors, `vary[0]`.
    field: String,
    key: KeyPath,
    values: Values,
    is_whole: bool,
}

#[derive(Debug)]
enum Values {
    List(Vec<Value>),
    Random(Distribution),
}

/// Axis of the product: parameters that advance together.
#[derive(Debug)]
struct Axis {
    zip: Option<String>,
    count: usize,
    parameters: Vec<usize>,
}

impl Sweep {
    /// Tests whether a text is a sweep instead of a scene: it has `scene` or `vary`, and no
    /// `cloth`.
    pub fn is_sweep(text: &str) -> bool {
        let (table, _) = toml::de::DeTable::parse_recoverable(text);
        let has = |key: &str| table.get_ref().contains_key(key);
        (has("scene") || has("vary")) && !has("cloth")
    }

    /// Reads and checks a sweep file.
    ///
    /// # Errors
    /// [`SweepError`] for the first fault.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SweepError> {
        let path = path.as_ref();
        Self::parse(read_scene_text(path)?, path)
    }

    /// Checks the text of a sweep, and expands its globs relative to the folder of `path`.
    ///
    /// # Errors
    /// [`SweepError`] for the first fault.
    pub fn parse(text: impl Into<String>, path: impl Into<PathBuf>) -> Result<Self, SweepError> {
        let (text, path) = (text.into(), path.into());
        let source = Source::new(&text, &path);
        let file: SweepFile = toml::from_str(&text).map_err(|error| toml_error(&error, &source))?;
        let range = |is_met, field: &str, requirement| require(&source, is_met, field, requirement);
        range(file.count > 0, "count", "must be 1 or more")?;
        let frames = file.frames.is_none_or(|frames| (1..=1_000_000).contains(&frames));
        range(frames, "frames", "must be in 1..=1000000")?;
        let mut parameters: Vec<Parameter> = Vec::new();
        let mut axes: Vec<Axis> = Vec::new();
        for (index, vary) in file.vary.into_iter().enumerate() {
            let field = format!("vary[{index}]");
            let (zip, is_whole) = (vary.zip.clone(), vary.whole);
            let at = |name: &str| source.location(&format!("{field}.{name}"));
            let key: KeyPath = vary.key.parse().map_err(|error| SweepError::Path {
                at: at("key"),
                field: format!("{field}.key"),
                source: Box::new(error),
            })?;
            let values = values(vary, &field, &source)?;
            match (&values, zip) {
                (Values::Random(_), None) => {}
                (Values::Random(_), Some(_)) => range(
                    false,
                    &format!("{field}.zip"),
                    "needs a list, range or glob: random values cannot advance together",
                )?,
                (Values::List(list), zip) => {
                    // Parameters with equal `zip` share one axis.
                    let same = axes.iter_mut().find(|axis| zip.is_some() && axis.zip == zip);
                    match (same, zip) {
                        (Some(axis), Some(name)) if axis.count != list.len() => {
                            let (count, expected) = (list.len(), axis.count);
                            let at = at("zip");
                            return Err(SweepError::Zip { at, field, name, count, expected });
                        }
                        (Some(axis), _) => axis.parameters.push(index),
                        (None, zip) => {
                            axes.push(Axis { zip, count: list.len(), parameters: vec![index] });
                        }
                    }
                }
            }
            parameters.push(Parameter { field, key, values, is_whole });
        }
        // In u128 and saturating: many axes overflow usize before the limit is checked.
        let combinations = axes.iter().map(|axis| axis.count as u128);
        let count = combinations.fold(file.count.into(), u128::saturating_mul);
        if count > MAX_JOBS as u128 {
            return Err(SweepError::TooMany { path, count });
        }
        let SweepFile { scene, output, frames, seed, count, .. } = file;
        let count = count as usize;
        Ok(Self { scene, output, frames, seed, count, parameters, axes, path, text })
    }

    /// Number of jobs.
    pub fn job_count(&self) -> usize {
        self.axes.iter().map(|axis| axis.count).product::<usize>() * self.count
    }

    /// Applies the sweep to its scene.
    ///
    /// # Errors
    /// [`SweepError`] if a key does not exist in the scene.
    pub fn of_scene(self, scene: &Scene) -> Result<SweepJobs, SweepError> {
        let Self { mut parameters, .. } = self;
        let source = Source::new(&self.text, &self.path);
        let mut table: Table = toml::from_str(&scene.text)
            .map_err(|error| toml_error(&error, &Source::new(&scene.text, &scene.path)))?;
        if let Some(frames) = self.frames {
            table.insert("frames".to_owned(), Value::Integer(frames.into()));
        }
        for index in 0..parameters.len() {
            let field = format!("{}.key", parameters[index].field);
            let at = || source.location(&field);
            let path_error = |error| SweepError::Path {
                at: at(),
                field: field.clone(),
                source: Box::new(error),
            };
            let key = parameters[index].key.clone().resolved(scene).map_err(path_error)?;
            // Compared after resolution: `cloth[0]` and `cloth.NAME` may be the same.
            if parameters[..index].iter().any(|known| known.key.is_same(&key)) {
                let key = key.to_string();
                return Err(SweepError::Twice { at: at(), field, key });
            }
            // Unknown keys are found by setting the first value, one parameter at a time.
            let value = parameters[index].value(self.seed, 0, index, 0);
            let mut probe = table.clone();
            key.set(&mut probe, value).map_err(path_error)?;
            if let Err(
                error @ (SceneError::Unknown { kind: "key", .. } | SceneError::Elsewhere { .. }),
            ) = parsed(&probe, scene)
            {
                let (key, reason) = (key.to_string(), error.reason());
                return Err(SweepError::Key { at: at(), field, key, reason });
            }
            parameters[index].key = key;
        }
        let sweep = Self { parameters, ..self };
        Ok(SweepJobs { sweep, table, scene: scene.clone() })
    }
}
