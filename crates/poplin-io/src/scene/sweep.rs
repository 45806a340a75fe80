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

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use thiserror::Error;
use toml::{Table, Value};

use super::distribution::{Distribution, Normal};
use super::error::without_prefix;
use super::file::{read_scene_text, toml_error};
use super::key_path::{KeyPath, PathError};
use super::locate::Source;
use super::save::shorten;
use super::{ColliderShape, Location, MotionSource, Scene, SceneError, Shape};
use crate::gltf::buffer_files;
use crate::{FrameFormat, MeshFormat, Precision};

/// Maximum number of jobs of a sweep.
pub const MAX_JOBS: usize = 10_000_000;

/// Error of a sweep.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A file that cannot be read as a sweep.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A parameter without values, or with several kinds of values.
    #[error(
        "{at}: {field} needs exactly one of `values`, `linear`, `log`, `glob`, `uniform`, `log_uniform` and `normal`"
    )]
    Kind {
        /// Location in the sweep.
        at: Box<Location>,
        /// The parameter, for example `vary[0]`.
        field: String,
    },
    /// A key path that leads nowhere in the scene.
    #[error("{at}: {field}: {source}")]
    Path {
        /// Location in the sweep.
        at: Box<Location>,
        /// The field.
        field: String,
        /// Cause of the error.
        source: Box<PathError>,
    },
    /// A key that scenes do not have.
    #[error("{at}: {field}: `{key}`: {reason}")]
    Key {
        /// Location in the sweep.
        at: Box<Location>,
        /// The field.
        field: String,
        /// The key.
        key: String,
        /// Cause of the error, with similar names.
        reason: String,
    },
    /// Two parameters for one key.
    #[error("{at}: {field}: `{key}` is varied twice")]
    Twice {
        /// Location in the sweep.
        at: Box<Location>,
        /// The later parameter.
        field: String,
        /// The key.
        key: String,
    },
    /// A number out of range.
    #[error("{at}: {field} {requirement}")]
    Range {
        /// Location in the sweep.
        at: Box<Location>,
        /// The field.
        field: String,
        /// Requirement that the number violates.
        requirement: &'static str,
    },
    /// A glob that matches no file, or is malformed.
    #[error("{at}: {field}: {reason}: {pattern}")]
    Glob {
        /// Location in the sweep.
        at: Box<Location>,
        /// The field.
        field: String,
        /// The absolute pattern.
        pattern: String,
        /// Cause of the error.
        reason: String,
    },
    /// Zipped parameters of different lengths.
    #[error(
        "{at}: {field} is zipped as `{name}` and has {count} values, but the first parameter of that name has {expected}"
    )]
    Zip {
        /// Location in the sweep.
        at: Box<Location>,
        /// The parameter.
        field: String,
        /// Name of the zip.
        name: String,
        /// Number of values of the parameter.
        count: usize,
        /// Number of values of the first parameter of that zip.
        expected: usize,
    },
    /// Too many jobs.
    #[error("{}: the sweep has {count} jobs; the limit is {MAX_JOBS}", path.display())]
    TooMany {
        /// The sweep.
        path: PathBuf,
        /// Number of jobs.
        count: u128,
    },
}

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

/// Output of each job.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SweepOutput {
    /// Arrays of each cloth (default positions).
    pub arrays: Vec<ArrayKind>,
    /// Formats in which the frames are written in addition (default none).
    pub formats: Vec<FrameFormat>,
    /// Frame interval of the output: frames 0, `every`, 2 `every`, ... (default: only the last
    /// frame for arrays, all frames for formats).
    pub every: Option<std::num::NonZero<u32>>,
    /// Number format of the arrays (default `f32`).
    pub precision: Precision,
    /// Writes the last frame as OBJ, too (default false).
    pub final_obj: bool,
    /// Draws a contact sheet (default false).
    pub picture: bool,
    /// Draws the last frame and, when all jobs are done, all of them side by side (default false).
    pub overview: bool,
}

impl SweepOutput {
    /// Tests whether jobs write any files.
    pub fn is_any(&self) -> bool {
        let Self { arrays, formats, final_obj, picture, overview, .. } = self;
        !arrays.is_empty() || !formats.is_empty() || *final_obj || *picture || *overview
    }
}

/// Content of an array, three numbers per vertex of the mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ArrayKind {
    /// Positions in the world \[m\].
    Positions,
    /// Unit normals, area-weighted; 0 for a vertex without triangles.
    Normals,
    /// Velocities relative to the local space in the last iteration of a frame, world axes [m/s].
    Velocities,
}

impl ArrayKind {
    /// Name in sweeps and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Positions => "positions",
            Self::Normals => "normals",
            Self::Velocities => "velocities",
        }
    }
}

impl Default for SweepOutput {
    fn default() -> Self {
        Self {
            arrays: vec![ArrayKind::Positions],
            formats: Vec::new(),
            every: None,
            precision: Precision::default(),
            final_obj: false,
            picture: false,
            overview: false,
        }
    }
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

impl SweepError {
    /// Returns the location in the sweep, if the error has one.
    pub fn location(&self) -> Option<&Location> {
        match self {
            Self::Scene(error) => error.location(),
            Self::Kind { at, .. }
            | Self::Path { at, .. }
            | Self::Key { at, .. }
            | Self::Twice { at, .. }
            | Self::Range { at, .. }
            | Self::Glob { at, .. }
            | Self::Zip { at, .. } => Some(at),
            Self::TooMany { .. } => None,
        }
    }

    /// Returns the message without its location.
    pub fn reason(&self) -> String {
        without_prefix(self.to_string(), self.location())
    }
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

/// Jobs of a sweep.
#[derive(Debug)]
pub struct SweepJobs {
    sweep: Sweep,
    /// Scene as TOML, with the frame count of the sweep.
    table: Table,
    scene: Scene,
}

impl SweepJobs {
    /// Number of jobs.
    pub fn count(&self) -> usize {
        self.sweep.job_count()
    }

    /// Seed of random values.
    pub fn seed(&self) -> u64 {
        self.sweep.seed
    }

    /// Output of each job.
    pub fn output(&self) -> &SweepOutput {
        &self.sweep.output
    }

    /// Scene that is varied.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Varied keys, as written.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = String> {
        self.sweep.parameters.iter().map(|parameter| parameter.key.to_string())
    }

    /// Values of a job, below [`SweepJobs::count`], in the order of [`SweepJobs::keys`].
    pub fn values(&self, job: usize) -> Vec<serde_json::Value> {
        let json = |value: Value| serde_json::to_value(value).unwrap_or_default();
        self.toml_values(job).into_iter().map(json).collect()
    }

    /// Varied keys with their values in a job, below [`SweepJobs::count`].
    pub fn parameters(&self, job: usize) -> serde_json::Map<String, serde_json::Value> {
        self.keys().zip(self.values(job)).collect()
    }

    /// Location of a field of the sweep, such as `vary[0].key`, in its file.
    pub fn location(&self, field: &str) -> Location {
        *Source::new(&self.sweep.text, &self.sweep.path).location(field)
    }

    /// Returns the scene of a job.
    ///
    /// # Errors
    /// [`SweepJobError`] if a value is not valid for its key; it has no location.
    pub fn scene_of(&self, job: usize) -> Result<Scene, SweepJobError> {
        let mut table = self.table.clone();
        for (parameter, value) in self.sweep.parameters.iter().zip(self.toml_values(job)) {
            parameter.key.set(&mut table, value).map_err(SweepJobError::Path)?;
        }
        parsed(&table, &self.scene).map_err(|error| SweepJobError::Scene(error.reason()))
    }

    /// Texts that determine the jobs together with [`SweepJobs::files`]: the sweep, the scene, the
    /// file names of globs.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        [self.sweep.text.as_str(), self.scene.text.as_str()].into_iter().chain(self.words())
    }

    /// Existing files that jobs read, sorted and unique: meshes and point caches of the scene, and
    /// files beside it that values name.
    pub fn files(&self) -> Vec<PathBuf> {
        let cloths = self.scene.cloths.iter().filter_map(|cloth| match &cloth.shape {
            Shape::Mesh(path) => Some(path.clone()),
            _ => None,
        });
        let colliders = self.scene.colliders.iter().filter_map(|collider| match &collider.shape {
            ColliderShape::Mesh(path) => Some(path.clone()),
            _ => None,
        });
        let caches = self.scene.colliders.iter().filter_map(|collider| {
            match &collider.motion.as_ref()?.source {
                MotionSource::Cache { path, .. } => Some(path.clone()),
                MotionSource::Animation(_) => None,
            }
        });
        let folder = self.scene.path.parent().unwrap_or(Path::new(""));
        let named = self.words().map(|word| folder.join(word));
        let mut files: Vec<_> = cloths
            .chain(colliders)
            .chain(caches)
            .chain(named)
            .filter(|path| path.is_file())
            .collect();
        let is_gltf = |path: &&PathBuf| MeshFormat::of(path).is_some_and(MeshFormat::is_gltf);
        let buffers: Vec<_> =
            files.iter().filter(is_gltf).flat_map(|path| buffer_files(path)).collect();
        files.extend(buffers);
        files.sort_unstable();
        files.dedup();
        files
    }

    /// List values that are text.
    fn words(&self) -> impl Iterator<Item = &str> {
        let lists = self.sweep.parameters.iter().filter_map(|parameter| match &parameter.values {
            Values::List(values) => Some(values.iter().filter_map(Value::as_str)),
            Values::Random(_) => None,
        });
        lists.flatten()
    }

    fn toml_values(&self, job: usize) -> Vec<Value> {
        let Sweep { seed, count, parameters, axes, .. } = &self.sweep;
        let mut positions = vec![0; parameters.len()];
        // Mixed-radix digits of the combination, the last axis fastest.
        let mut rest = job / count;
        for axis in axes.iter().rev() {
            axis.parameters.iter().for_each(|&index| positions[index] = rest % axis.count);
            rest /= axis.count;
        }
        let value = |(index, parameter): (usize, &Parameter)| {
            parameter.value(*seed, job, index, positions[index])
        };
        parameters.iter().enumerate().map(value).collect()
    }
}

/// Error of a job of a sweep.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepJobError {
    /// A key path that leads nowhere with the other values of the job.
    #[error(transparent)]
    Path(PathError),
    /// An error of the resulting scene. It names the key, without a line.
    #[error("{0}")]
    Scene(String),
}

impl Parameter {
    fn value(&self, seed: u64, job: usize, index: usize, position: usize) -> Value {
        let value = match &self.values {
            Values::List(values) => values[position].clone(),
            Values::Random(random) => Value::Float(random.sample(seed, job as u64, index as u64)),
        };
        match value {
            Value::Float(number) if self.is_whole => Value::Integer(number.round() as i64),
            mut value => {
                if !matches!(value, Value::Table(_)) {
                    shorten(&mut value);
                }
                value
            }
        }
    }
}

/// Returns an error if a field does not meet a requirement.
fn require(
    source: &Source<'_>,
    is_met: bool,
    field: &str,
    requirement: &'static str,
) -> Result<(), SweepError> {
    if is_met {
        return Ok(());
    }
    Err(SweepError::Range { at: source.location(field), field: field.into(), requirement })
}

/// Returns the values of a parameter.
fn values(vary: VaryFile, field: &str, source: &Source<'_>) -> Result<Values, SweepError> {
    let range = |is_met, name: &str, requirement| {
        require(source, is_met, &format!("{field}.{name}"), requirement)
    };
    let ordered = |name, [min, max]: [f64; 2]| {
        range(min <= max && min.is_finite() && max.is_finite(), name, "must be [least, most]")
    };
    let VaryFile { values, linear, log, glob, uniform, log_uniform, normal, .. } = vary;
    let found = match (values, linear, log, glob, uniform, log_uniform, normal) {
        (Some(values), None, None, None, None, None, None) => {
            range(!values.is_empty(), "values", "needs at least one value")?;
            Values::List(values)
        }
        (None, Some(ends), None, None, None, None, None) => {
            Values::List(ends.values("linear", range, |t, [a, b]| a + (b - a) * t)?)
        }
        (None, None, Some(ends), None, None, None, None) => {
            range(ends.from > 0.0 && ends.to > 0.0, "log", "must be above 0 at both ends")?;
            let between = |t: f64, [a, b]: [f64; 2]| (a.ln() + (b.ln() - a.ln()) * t).exp();
            Values::List(ends.values("log", range, between)?)
        }
        (None, None, None, Some(pattern), None, None, None) => {
            let names = files(&pattern, &format!("{field}.glob"), source)?;
            Values::List(names.into_iter().map(Value::String).collect())
        }
        (None, None, None, None, Some(ends), None, None) => {
            ordered("uniform", ends)?;
            Values::Random(Distribution::Uniform(ends))
        }
        (None, None, None, None, None, Some(ends), None) => {
            range(ends[0] > 0.0, "log_uniform", "must be above 0")?;
            ordered("log_uniform", ends)?;
            Values::Random(Distribution::LogUniform(ends))
        }
        (None, None, None, None, None, None, Some(normal)) => {
            let is_met = normal.mean.is_finite() && (0.0..f64::MAX).contains(&normal.deviation);
            range(is_met, "normal", "must have a finite mean and a deviation of 0 or more")?;
            Values::Random(Distribution::Normal(normal))
        }
        _ => return Err(SweepError::Kind { at: source.location(field), field: field.into() }),
    };
    Ok(found)
}

impl RangeFile {
    fn values(
        self,
        name: &str,
        range: impl Fn(bool, &str, &'static str) -> Result<(), SweepError>,
        between: impl Fn(f64, [f64; 2]) -> f64,
    ) -> Result<Vec<Value>, SweepError> {
        let Self { from, to, count } = self;
        range((1..=MAX_JOBS as u32).contains(&count), name, "must have a count in 1..=10000000")?;
        range(from.is_finite() && to.is_finite(), name, "must have finite ends")?;
        let value = |index: u32| {
            // Both ends exactly as written.
            let number = match index {
                0 => from,
                _ if index == count - 1 => to,
                _ => between(f64::from(index) / f64::from(count - 1), [from, to]),
            };
            Value::Float(number)
        };
        Ok((0..count).map(value).collect())
    }
}

/// Returns the absolute paths of files that match a pattern, sorted by name.
fn files(pattern: &str, field: &str, source: &Source<'_>) -> Result<Vec<String>, SweepError> {
    let folder = std::path::absolute(source.path()).unwrap_or_else(|_| source.path().into());
    let folder = folder.parent().unwrap_or(Path::new("")).display().to_string();
    let pattern = match Path::new(pattern).is_absolute() {
        true => pattern.to_owned(),
        false => format!("{}/{pattern}", glob::Pattern::escape(&folder)),
    };
    let refused = |reason: String| SweepError::Glob {
        at: source.location(field),
        field: field.into(),
        pattern: pattern.clone(),
        reason,
    };
    let found = glob::glob(&pattern).map_err(|error| refused(error.msg.to_owned()))?;
    let mut names = Vec::new();
    for path in found {
        let path = path.map_err(|error| refused(error.to_string()))?;
        if path.is_file() {
            let name = path.to_str().ok_or_else(|| refused("a file name is not UTF-8".into()))?;
            names.push(name.to_owned());
        }
    }
    names.sort();
    if names.is_empty() { Err(refused("matches no file".into())) } else { Ok(names) }
}

/// Parses the scene of a table.
fn parsed(table: &Table, scene: &Scene) -> Result<Scene, SceneError> {
    Scene::parse(&toml::to_string(table).map_err(SceneError::Save)?, &scene.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: &str = "\
[[cloth]]
name = \"flag\"
grid = { columns = 3, rows = 3, width = 1.0, height = 1.0 }
damping = [0.1, 0.2, 0.3]
[[cloth]]
grid = { columns = 4, rows = 4, width = 1.0, height = 1.0 }
[[collider]]
name = \"left arm\"
sphere = { radius = 1 }
keys = [{ time = 0.0 }, { time = 1.0, translation = [0, 1, 0] }]
";

    fn jobs(sweep: &str) -> Result<SweepJobs, SweepError> {
        let scene = Scene::parse(SCENE, "scene.toml").unwrap();
        Sweep::parse(format!("scene = \"scene.toml\"\n{sweep}"), "sweep.toml")?.of_scene(&scene)
    }

    fn vary(key: &str, values: &str) -> String {
        format!("[[vary]]\nkey = '{key}'\n{values}\n")
    }

    fn refused(sweep: &str) -> String {
        jobs(sweep).unwrap_err().to_string()
    }

    fn all(jobs: &SweepJobs) -> Vec<String> {
        (0..jobs.count()).map(|job| serde_json::to_string(&jobs.values(job)).unwrap()).collect()
    }

    #[test]
    fn paths_reach_every_kind_of_key() {
        let sweep = [
            vary("cloth[0].density", "values = [0.5]"),
            vary("cloth.flag.damping[1]", "values = [0.9]"),
            vary(
                "cloth.\"cloth 1\".grid.columns",
                "linear = { from = 5, to = 5, count = 1 }\nwhole = true",
            ),
            vary("collider.left arm.keys[1].translation", "values = [[0, 2, 0]]"),
            vary("wind.gust.strength", "values = [3]"),
            vary("cloth.flag.fabric.tethers", "values = ['none']"),
            vary("frame_rate", "values = [30]"),
        ];
        let scene = jobs(&sweep.concat()).unwrap().scene_of(0).unwrap();
        assert_eq!(scene.cloths[0].fabric.density, 0.5);
        assert_eq!(scene.cloths[0].config.damping, [0.1, 0.9, 0.3]);
        assert_eq!(scene.colliders[0].keys[1].translation, [0.0, 2.0, 0.0]);
        assert_eq!(scene.cloths[1].wind.unwrap().gust.strength, 3.0);
        assert_eq!(scene.cloths[0].fabric.tethers, poplin_cook::Tethers::None);
        assert_eq!(scene.frame_rate, 30.0);
        let super::super::Shape::Grid(grid) = &scene.cloths[1].shape else { panic!() };
        assert_eq!(grid.columns, 5);
    }

    #[test]
    fn unknown_paths_suggest_similar_names() {
        let one = |key: &str| refused(&vary(key, "values = [1]"));
        for (key, expected) in [
            ("cloth.density", "the scene has no cloth `density`; there are `flag`, `cloth 1`"),
            ("cloth", "does not say which cloth: write `cloth[0]` or `cloth.NAME`"),
            ("cloth[2].density", "no cloth `2`"),
            ("cloth.falg.density", "did you mean `flag`?"),
            (
                "cloth[0].densty",
                "sweep.toml:3:1: vary[0].key: `cloth[0].densty`: unknown key `densty` in [[cloth]]; did you mean `density`?",
            ),
            ("cloth[0].friction", "write `contact.friction`"),
            ("cloth[0].damping[3]", "cloth[0].damping has only 3, counted from 0"),
            ("cloth[0].gravity[1]", "cloth[0].gravity is not stated in the scene"),
            ("cloth[0].name.x", "cloth[0].name is a text, not a table: it has no key `x`"),
            ("cloth[0]..x", "is not the path of a key"),
        ] {
            assert!(one(key).contains(expected), "{key}: {}", one(key));
        }
        let twice =
            vary("cloth[0].density", "values = [1]") + &vary("cloth.flag.density", "values = [2]");
        assert!(refused(&twice).contains("varied twice"));
    }

    #[test]
    fn axes_are_crossed_and_zipped_ones_advance_together() {
        let sweep = [
            vary("cloth[0].density", "values = [1.0, 2.0]"),
            vary("cloth[0].damping[0]", "linear = { from = 0.0, to = 1.0, count = 3 }\nzip = 'a'"),
            vary("cloth[0].damping[1]", "log = { from = 0.01, to = 1.0, count = 3 }\nzip = 'a'"),
        ];
        let jobs = jobs(&sweep.concat()).unwrap();
        let expected = [
            "[1.0,0.0,0.01]",
            "[1.0,0.5,0.1]",
            "[1.0,1.0,1.0]",
            "[2.0,0.0,0.01]",
            "[2.0,0.5,0.1]",
            "[2.0,1.0,1.0]",
        ];
        assert_eq!(all(&jobs), expected);
        let uneven = sweep[1].clone() + &vary("cloth[0].density", "values = [1]\nzip = 'a'");
        assert!(
            refused(&uneven)
                .contains("zipped as `a` and has 1 values, but the first parameter of that name has 3")
        );
    }

    #[test]
    fn random_values_depend_only_on_seed_and_job() {
        let sweep = |seed: u32, count: u32| {
            let random = vary("cloth[0].density", "values = [1.0, 2.0]")
                + &vary("cloth[0].damping[0]", "uniform = [0.0, 1.0]")
                + &vary("cloth[1].grid.rows", "log_uniform = [2, 9]\nwhole = true");
            all(&jobs(&format!("seed = {seed}\ncount = {count}\n{random}")).unwrap())
        };
        let all = sweep(1, 4);
        assert_eq!(all.len(), 8);
        assert_eq!(all, sweep(1, 4));
        assert_ne!(all, sweep(2, 4));
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), 8);
        // Pinned value: a job must be the same in every version.
        assert_eq!(all[5], GOLDEN);
    }

    /// Values of job 5 of the sweep above.
    const GOLDEN: &str = "[2.0,0.49032357,4]";

    #[test]
    fn invalid_values_are_reported_without_a_line() {
        let jobs = jobs(&vary("cloth[0].density", "values = [1, -1]")).unwrap();
        let error = jobs.scene_of(1).unwrap_err().to_string();
        assert_eq!(error, "cloth[0].density = -1 is outside 1e-9..=1000000000 kg/m^2");
    }

    #[test]
    fn kinds_of_values_are_checked() {
        for (values, expected) in [
            ("", "needs exactly one of `values`"),
            ("values = [1]\nuniform = [0, 1]", "needs exactly one of"),
            ("values = []", "needs at least one value"),
            ("log = { from = 0, to = 1, count = 2 }", "must be above 0"),
            ("uniform = [2, 1]", "must be [least, most]"),
            ("glob = 'no-such-*.obj'", "matches no file"),
            ("linear = { from = 0, to = 1, count = 0 }", "count"),
            ("uniform = [0, 1]\nzip = 'a'", "cannot advance together"),
        ] {
            let text = refused(&vary("cloth[0].density", values));
            assert!(text.contains(expected), "{values}: {text}");
        }
        let many = "linear = { from = 0.0, to = 1.0, count = 10000 }";
        let many = vary("cloth[0].damping[0]", many) + &vary("cloth[0].damping[1]", many);
        assert!(refused(&many).contains("100000000 jobs; the limit is 10000000"));
    }
}
