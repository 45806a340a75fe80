//! Reference cases: measured trajectories, file format `poplin-case/1`.

mod event;

use std::path::Path;
use std::sync::Arc;

use poplin_host::HostCloth;
use poplin_model::{ClothContactSolver, ClothDesc, Fabric, Particle, Phase, PhaseKind};
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

pub use self::event::Event;
use crate::shape_arrays::ShapeArrays;

/// Format tag of a case.
const FORMAT: &str = "poplin-case/1";

/// Error of reading or running a case.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaseError {
    /// The file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// Path of the file.
        path: String,
        /// Cause of the error.
        source: std::io::Error,
    },
    /// The file is not a valid case.
    #[error("{path}: {message}")]
    Format {
        /// Path of the file.
        path: String,
        /// Description of the problem.
        message: String,
    },
    /// The simulation rejected the case.
    #[error(transparent)]
    Simulation(#[from] poplin::Error),
    /// The case is not valid.
    #[error(transparent)]
    Model(#[from] poplin_model::ModelError),
    /// The case uses a feature that is not implemented.
    #[error("unsupported: {0}")]
    Unsupported(String),
}

/// Reference case.
#[derive(Debug, Clone, Deserialize)]
pub struct Case {
    /// Format tag: `poplin-case/1`.
    pub format: String,
    /// Name of the case.
    pub name: String,
    /// Comparison mode: `trajectory` or `separation`.
    pub compare: String,
    /// Cloths of the case.
    pub cloths: Vec<CaseCloth>,
    /// Events before the first frame.
    pub setup: Vec<Event>,
    /// Frames of the case.
    pub frames: Vec<CaseFrame>,
    /// Collision between cloths, if enabled.
    #[serde(default)]
    pub inter_collision: Option<InterCollision>,
    /// Expected states.
    pub expected: Vec<Snapshot>,
}

/// Collision between the cloths of a case. It runs once per frame, after all cloths.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct InterCollision {
    /// Distance kept between particles of different cloths \[m\].
    pub distance: f32,
    /// Fraction of an overlap removed per pass.
    pub stiffness: f32,
    /// Number of passes per frame.
    pub iterations: u32,
}

/// Cloth of a case: fabric and particles.
#[derive(Debug, Clone, Deserialize)]
pub struct CaseCloth {
    /// Cooked fabric, used as it is.
    pub fabric: CaseFabric,
    /// Position \[m\] and inverse mass [1/kg] of each particle, shape `[particle_count * 4]`.
    pub particles: Vec<f32>,
    /// Previous positions and inverse masses in the same layout; the current ones if absent.
    pub previous_particles: Option<Vec<f32>>,
}

/// Cooked fabric.
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

/// Frame of a case.
#[derive(Debug, Clone, Deserialize)]
pub struct CaseFrame {
    /// Length of the frame \[s\].
    pub dt: f32,
    /// Events before the frame.
    #[serde(default)]
    pub events: Vec<Event>,
}

/// Expected state.
#[derive(Debug, Clone, Deserialize)]
pub struct Snapshot {
    /// Number of frames before this state.
    pub frame: usize,
    /// Largest allowed distance from the measured positions \[m\]; `None` where the order of
    /// operations decides the details.
    #[serde(default)]
    pub tolerance_m: Option<f32>,
    /// Position \[m\] and inverse mass [1/kg] of each particle, per cloth.
    pub particles: Option<Vec<Vec<f32>>>,
    /// Number of passed rest tests, per cloth.
    #[serde(default)]
    pub sleep_pass_count: Option<Vec<u32>>,
    /// Sleep state of each cloth.
    #[serde(default)]
    pub asleep: Option<Vec<bool>>,
    /// Distance that collision keeps between particles \[m\].
    #[serde(default)]
    pub collision_distance_m: Option<f32>,
    /// Mean position of all particles of all cloths \[m\].
    #[serde(default)]
    pub center_of_mass: Option<[f32; 3]>,
}

fn rows<const N: usize>(values: &[f32]) -> Vec<[f32; N]> {
    values.as_chunks::<N>().0.to_vec()
}

fn particles(values: &[f32]) -> Vec<Particle> {
    rows(values).into_iter().map(Particle::from).collect()
}

/// Reads and parses a JSON file.
pub(crate) fn read_json<T: for<'de> Deserialize<'de>>(
    path: &Path,
    format: &str,
) -> Result<T, CaseError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|source| CaseError::Io { path: name.clone(), source })?;
    parse_json(&name, &text, format)
}

/// Parses the text of the file `name`, which has this format tag.
pub(crate) fn parse_json<T: for<'de> Deserialize<'de>>(
    name: &str,
    text: &str,
    format: &str,
) -> Result<T, CaseError> {
    let error = |message: String| CaseError::Format { path: name.to_owned(), message };
    let value: Value =
        serde_json::from_str(text).map_err(|source| error(format!("not JSON: {source}")))?;
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
        read_json(path, FORMAT).map(Self::in_order)
    }

    /// Parses the text of a case file of this name.
    ///
    /// # Errors
    /// [`CaseError::Format`] if it is not a `poplin-case/1`.
    pub fn parse(name: &str, text: &str) -> Result<Self, CaseError> {
        parse_json(name, text, FORMAT).map(Self::in_order)
    }

    fn in_order(mut self) -> Self {
        // A case may define convexes before their planes: move them to the frame that sets the
        // planes.
        if !self.setup.iter().any(|event| event.set == "planes")
            && let Some(frame) = self
                .frames
                .iter_mut()
                .find(|frame| frame.events.iter().any(|event| event.set == "planes"))
        {
            frame.events.extend(self.setup.extract_if(.., |event| event.set == "convexes"));
        }
        self
    }

    /// Creates the cloths with their setup events applied.
    ///
    /// # Errors
    /// [`CaseError::Unsupported`] if the setup or a frame uses a feature that is not implemented;
    /// [`CaseError::Model`] if it is invalid.
    pub fn cloths(&self) -> Result<Vec<ClothDesc>, CaseError> {
        if !["trajectory", "separation"].contains(&self.compare.as_str()) {
            return Err(CaseError::Unsupported(format!("compare `{}`", self.compare)));
        }
        let mut cloths: Vec<ClothDesc> = self.cloths.iter().map(CaseCloth::cloth).collect();
        if let Some(inter) = self.inter_collision {
            cloths
                .iter_mut()
                .for_each(|cloth| cloth.config.cloth_collision.distance = Some(inter.distance));
        }
        for event in &self.setup {
            let cloth = event.find(&mut cloths)?;
            match event.set.as_str() {
                "scale_rest_lengths" => {
                    Arc::make_mut(&mut cloth.fabric).scale_rest_lengths(event.scalar("value")?)
                }
                "virtual_particles" => {
                    Arc::make_mut(&mut cloth.fabric).virtual_particles =
                        event.virtual_particles()?
                }
                "scale_tether_lengths" => {
                    Arc::make_mut(&mut cloth.fabric).scale_tether_lengths(event.scalar("value")?)
                }
                _ => {}
            }
        }
        // Apply every event to trial cloths, so that unsupported ones are reported before anything
        // is simulated.
        let mut hosts =
            cloths.iter().cloned().map(HostCloth::new).collect::<Result<Vec<_>, _>>()?;
        let mut shapes = vec![ShapeArrays::default(); hosts.len()];
        for event in self.setup_events().chain(self.frames.iter().flat_map(|frame| &frame.events)) {
            event.apply(event.find(&mut hosts)?.live_mut(), event.find(&mut shapes)?)?;
        }
        Ok(cloths)
    }

    /// Number of passed rest tests after which a cloth counts as asleep.
    pub fn sleep_after_count(&self, cloth: usize) -> Option<u32> {
        let event = self
            .setup
            .iter()
            .rfind(|event| event.cloth == cloth && event.set == "sleep_after_count")?;
        event.scalar("value").ok().map(|count| count as u32)
    }

    /// Distance that self collision keeps between the particles of a cloth \[m\], if enabled.
    pub fn self_collision_distance(&self, cloth: usize) -> Option<f32> {
        let event = self
            .setup
            .iter()
            .rfind(|event| event.cloth == cloth && event.set == "self_collision_distance")?;
        event.scalar("value").ok()
    }

    /// Indices of the particles that take part in self collision, if not all do.
    pub(crate) fn self_collision_indices(&self, cloth: usize) -> Option<Vec<u32>> {
        let event = self
            .setup
            .iter()
            .rfind(|event| event.cloth == cloth && event.set == "self_collision_indices")?;
        event.numbers("indices").ok()
    }

    /// Rest positions that self collision uses for a cloth \[m\], if given.
    pub(crate) fn rest_positions(&self, cloth: usize) -> Option<Vec<Particle>> {
        let event = self
            .setup
            .iter()
            .rfind(|event| event.cloth == cloth && event.set == "rest_positions")?;
        event.floats("xyzw").ok().map(|values| particles(&values))
    }

    /// Solver settings of collision between the cloths, if enabled.
    pub fn cloth_contact_solver(&self) -> Option<ClothContactSolver> {
        self.inter_collision.map(|inter| ClothContactSolver {
            stiffness: inter.stiffness,
            iterations: inter.iterations,
            every: 0,
            ..ClothContactSolver::default()
        })
    }

    /// Setup events to apply once the cloths are simulated.
    pub fn setup_events(&self) -> impl Iterator<Item = &Event> {
        self.setup.iter().filter(|event| !event.set.starts_with("scale_"))
    }
}

impl CaseCloth {
    /// Creates the cloth before any event: no gravity, no phases.
    fn cloth(&self) -> ClothDesc {
        let mut cloth = ClothDesc::new(Arc::new(self.fabric.fabric()), particles(&self.particles));
        cloth.config.gravity = [0.0; 3];
        cloth.phase_order.clear();
        if let Some(previous) = &self.previous_particles {
            cloth.previous_positions =
                rows::<4>(previous).iter().map(|&[x, y, z, _]| [x, y, z]).collect();
        }
        cloth
    }
}

impl CaseFabric {
    fn fabric(&self) -> Fabric {
        let edge_count = self.rest_lengths.len() as u32;
        Fabric {
            particle_count: self.particle_count,
            phases: self
                .phases
                .iter()
                .map(|p| Phase { kind: p.kind, set_begin: p.set, set_end: p.set + 1 })
                .collect(),
            set_fiber_begin: std::iter::once(0).chain(self.set_ends.iter().copied()).collect(),
            fiber_edge_begin: (0..=edge_count).collect(),
            fiber_vertices: self.edges.clone(),
            rest_lengths: self.rest_lengths.clone(),
            edge_stiffness_log2: self.edge_log2_one_minus_stiffness.clone(),
            tethers_per_particle: self.tether_lengths.len() as u32 / self.particle_count.max(1),
            tether_anchors: self.tether_anchors.clone(),
            tether_lengths: self.tether_lengths.clone(),
            triangles: self.triangles.as_chunks::<3>().0.to_vec(),
            virtual_particles: Vec::new(),
            ..Fabric::default()
        }
    }
}
