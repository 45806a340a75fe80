//! Reference cases: measured trajectories, format `poplin-case/1`.

use std::path::Path;
use std::sync::Arc;

use poplin_model::{Cloth, ClothConfig, Fabric, Phase, PhaseConfig, PhaseKind};
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

/// Why a case could not be read or run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaseError {
    /// The file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a case.
    #[error("{path}: {message}")]
    Format {
        /// The file.
        path: String,
        /// What is wrong with it.
        message: String,
    },
    /// The simulation refused the case.
    #[error(transparent)]
    Simulation(#[from] poplin::Error),
    /// The GPU refused the case.
    #[error(transparent)]
    Gpu(#[from] poplin::gpu::GpuError),
    /// The case is not valid.
    #[error(transparent)]
    Model(#[from] poplin_model::ModelError),
    /// The case uses something that is not built yet.
    #[error("unsupported: {0}")]
    Unsupported(String),
}

/// A reference case.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// `poplin-case/1`.
    pub format: String,
    /// Name of the case.
    pub name: String,
    /// `trajectory` or `separation`.
    pub compare: String,
    /// The cloths.
    pub cloths: Vec<CaseCloth>,
    /// Events before the first frame.
    pub setup: Vec<Event>,
    /// The frames.
    pub frames: Vec<CaseFrame>,
    /// States to reach.
    pub expected: Vec<Snapshot>,
}

/// A cloth of a case: fabric and particles.
#[derive(Debug, Clone, Deserialize)]
pub struct CaseCloth {
    /// The fabric, to use as it is.
    pub fabric: CaseFabric,
    /// x y z w of each particle.
    pub particles: Vec<f32>,
    /// x y z w of each previous particle, or the same.
    pub previous_particles: Option<Vec<f32>>,
}

/// A cooked fabric.
#[derive(Debug, Clone, Deserialize)]
pub struct CaseFabric {
    particle_count: u32,
    phases: Vec<CasePhase>,
    set_ends: Vec<u32>,
    edges: Vec<u32>,
    rest_lengths: Vec<f32>,
    edge_log2_one_minus_stiffness: Vec<f32>,
    tether_anchors: Vec<u32>,
    tether_lengths: Vec<f32>,
    triangles: Vec<u32>,
}

#[derive(Debug, Clone, Deserialize)]
struct CasePhase {
    set: u32,
    kind: PhaseKind,
}

/// Something set before a frame.
#[derive(Debug, Clone, Deserialize)]
pub struct Event {
    /// The cloth.
    #[serde(default)]
    pub cloth: usize,
    /// What is set.
    pub set: String,
    /// Its value or values.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// One frame of a case.
#[derive(Debug, Clone, Deserialize)]
pub struct CaseFrame {
    /// Its length \[s\].
    pub dt: f32,
    /// Events before it.
    #[serde(default)]
    pub events: Vec<Event>,
}

/// A state to reach.
#[derive(Debug, Clone, Deserialize)]
pub struct Snapshot {
    /// After this many frames.
    pub frame: usize,
    /// Largest distance to the measured particles \[m\]; none where order decides the details.
    #[serde(default)]
    pub tolerance_m: Option<f32>,
    /// x y z w of each particle, per cloth.
    pub particles: Option<Vec<Vec<f32>>>,
}

fn rows<const N: usize>(values: &[f32]) -> Vec<[f32; N]> {
    values.as_chunks::<N>().0.to_vec()
}

/// Reads and parses a JSON file.
pub(crate) fn read_json<T: for<'de> Deserialize<'de>>(path: &Path, format: &str) -> Result<T, CaseError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| CaseError::Io { path: name.clone(), source })?;
    let error = |message: String| CaseError::Format { path: name.clone(), message };
    let value: Value = serde_json::from_str(&text).map_err(|source| error(format!("not JSON: {source}")))?;
    let found = value.get("format").and_then(Value::as_str).unwrap_or("none");
    if found != format {
        return Err(error(format!("format is `{found}`; expected `{format}`")));
    }
    serde_json::from_value(value).map_err(|source| error(source.to_string()))
}

impl Case {
    /// Reads a case file.
    ///
    /// # Errors
    /// [`CaseError`] if the file cannot be read or is not a `poplin-case/1`.
    pub fn load(path: &Path) -> Result<Self, CaseError> {
        read_json(path, "poplin-case/1")
    }

    /// The cloths as they are before the first frame, with the setup events applied.
    ///
    /// # Errors
    /// [`CaseError::Unsupported`] if the setup or a frame uses what is not built yet; [`CaseError::Model`] if it is invalid.
    pub fn cloths(&self) -> Result<Vec<Cloth>, CaseError> {
        if self.compare != "trajectory" {
            return Err(CaseError::Unsupported(format!("compare `{}`", self.compare)));
        }
        let mut cloths: Vec<Cloth> = self.cloths.iter().map(CaseCloth::cloth).collect();
        for event in &self.setup {
            let count = cloths.len();
            let cloth = cloths.get_mut(event.cloth);
            let cloth = cloth.ok_or(poplin::Error::NoSuchCloth { cloth: event.cloth, count })?;
            event.apply_to_cloth(cloth)?;
        }
        for event in self.frames.iter().flat_map(|frame| &frame.events) {
            event.change()?;
        }
        cloths.iter().try_for_each(Cloth::validate)?;
        Ok(cloths)
    }
}

impl CaseCloth {
    /// The cloth before any event: no gravity, no phases.
    fn cloth(&self) -> Cloth {
        let mut cloth = Cloth::new(Arc::new(self.fabric.fabric()), rows(&self.particles));
        cloth.config.gravity = [0.0; 3];
        cloth.phase_configs.clear();
        if let Some(previous) = &self.previous_particles {
            cloth.previous_positions = rows::<4>(previous).iter().map(|&[x, y, z, _]| [x, y, z]).collect();
        }
        cloth
    }
}

impl CaseFabric {
    fn fabric(&self) -> Fabric {
        let edge_count = self.rest_lengths.len() as u32;
        Fabric {
            particle_count: self.particle_count,
            phases: self.phases.iter().map(|p| Phase { kind: p.kind, set_begin: p.set, set_end: p.set + 1 }).collect(),
            set_fiber_begin: std::iter::once(0).chain(self.set_ends.iter().copied()).collect(),
            fiber_edge_begin: (0..=edge_count).collect(),
            fiber_vertices: self.edges.clone(),
            rest_lengths: self.rest_lengths.clone(),
            edge_stiffness_log2: self.edge_log2_one_minus_stiffness.clone(),
            tethers_per_particle: self.tether_lengths.len() as u32 / self.particle_count.max(1),
            tether_anchors: self.tether_anchors.clone(),
            tether_lengths: self.tether_lengths.clone(),
            triangles: self.triangles.as_chunks::<3>().0.to_vec(),
        }
    }
}

/// What an event does to a running simulation.
#[derive(Debug, Clone)]
pub enum Change {
    /// Changes a setting.
    Config(fn(&mut ClothConfig, &[f32]), Vec<f32>),
    /// Replaces the phases.
    Phases(Vec<PhaseConfig>),
    /// Replaces the accelerations.
    Accelerations(Vec<[f32; 3]>),
    /// Writes current particles.
    Particles(Vec<u32>, Vec<[f32; 4]>),
    /// Multiplies rest lengths; before the first frame only.
    ScaleRestLengths(f32),
    /// Multiplies tether lengths; before the first frame only.
    ScaleTetherLengths(f32),
}

impl Event {
    fn floats(&self, field: &str) -> Result<Vec<f32>, CaseError> {
        let wrong = || CaseError::Unsupported(format!("{}: field `{field}` is not made of numbers", self.set));
        let value = self.fields.get(field).ok_or_else(wrong)?;
        let number = |value: &Value| value.as_f64().map(|number| number as f32).ok_or_else(wrong);
        match value {
            Value::Array(values) => values.iter().map(number).collect(),
            value => Ok(vec![number(value)?]),
        }
    }

    fn scalar(&self) -> Result<f32, CaseError> {
        self.floats("value")?.first().copied().ok_or_else(|| CaseError::Unsupported(format!("{}: empty value", self.set)))
    }

    /// What the event does.
    ///
    /// # Errors
    /// [`CaseError::Unsupported`] if its kind is not built yet.
    pub fn change(&self) -> Result<Change, CaseError> {
        let config = |apply: fn(&mut ClothConfig, &[f32]), len: usize| {
            let values = self.floats("value")?;
            let wrong = || CaseError::Unsupported(format!("{}: expected {len} numbers", self.set));
            if values.len() == len { Ok(Change::Config(apply, values)) } else { Err(wrong()) }
        };
        match self.set.as_str() {
            "gravity" => config(|c, v| c.gravity = [v[0], v[1], v[2]], 3),
            "damping" => config(|c, v| c.damping = [v[0], v[1], v[2]], 3),
            "solver_frequency" => config(|c, v| c.solver_frequency = v[0], 1),
            "stiffness_frequency" => config(|c, v| c.stiffness_frequency = v[0], 1),
            "tether_stiffness" => config(|c, v| c.tether_stiffness = v[0], 1),
            "tether_scale" => config(|c, v| c.tether_scale = v[0], 1),
            "scale_rest_lengths" => Ok(Change::ScaleRestLengths(self.scalar()?)),
            "scale_tether_lengths" => Ok(Change::ScaleTetherLengths(self.scalar()?)),
            "particle_accelerations" => {
                Ok(Change::Accelerations(rows::<4>(&self.floats("xyzw")?).iter().map(|&[x, y, z, _]| [x, y, z]).collect()))
            }
            "current_particles" => {
                let indices = self.floats("indices")?.iter().map(|&index| index as u32).collect();
                Ok(Change::Particles(indices, rows(&self.floats("xyzw")?)))
            }
            "phase_configs" => {
                let value = self.fields.get("value").cloned().unwrap_or(Value::Null);
                let configs = serde_json::from_value(value).map_err(|error| CaseError::Unsupported(error.to_string()))?;
                Ok(Change::Phases(configs))
            }
            other => Err(CaseError::Unsupported(other.to_owned())),
        }
    }

    fn apply_to_cloth(&self, cloth: &mut Cloth) -> Result<(), CaseError> {
        match self.change()? {
            Change::Config(apply, values) => apply(&mut cloth.config, &values),
            Change::Phases(configs) => cloth.phase_configs = configs,
            Change::Accelerations(values) => cloth.particle_accelerations = values,
            Change::ScaleRestLengths(factor) => Arc::make_mut(&mut cloth.fabric).scale_rest_lengths(factor),
            Change::ScaleTetherLengths(factor) => Arc::make_mut(&mut cloth.fabric).scale_tether_lengths(factor),
            Change::Particles(..) => return Err(CaseError::Unsupported("current_particles before the first frame".to_owned())),
        }
        Ok(())
    }
}
