//! Jobs of a sweep: their values and scenes.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{Parameter, Sweep, SweepJobError, SweepOutput, Values};
use crate::locate::Source;
use crate::save::shorten;
use crate::{ColliderShape, Location, MotionSource, Scene, SceneError, Shape};
use poplin_io::other_files_of_mesh;

/// Jobs of a sweep.
#[derive(Debug)]
pub struct SweepJobs {
    pub(super) sweep: Sweep,
    /// Scene as TOML, with the frame count of the sweep.
    pub(super) table: Table,
    pub(super) scene: Scene,
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
        let others: Vec<_> = files.iter().flat_map(|path| other_files_of_mesh(path)).collect();
        files.extend(others);
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

impl Parameter {
    pub(super) fn value(&self, seed: u64, job: usize, index: usize, position: usize) -> Value {
        let value = match &self.values {
            Values::List(values) => values[position].clone(),
            Values::Random(random) => Value::Float(random.sample(seed, job as u64, index as u64)),
        };
        match value {
            Value::Float(number) if self.is_whole => Value::Integer(number.round() as i64),
            // f32 settings in their shortest form; tables are copied unchanged.
            mut value => {
                if !matches!(value, Value::Table(_)) {
                    shorten(&mut value);
                }
                value
            }
        }
    }
}

/// Parses the scene of a table.
pub(super) fn parsed(table: &Table, scene: &Scene) -> Result<Scene, SceneError> {
    Scene::parse(&toml::to_string(table).map_err(SceneError::Save)?, &scene.path)
}
