//! Jobs: cloths and colliders to simulate or cook, from a scene file, a shipped scene or a mesh.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use poplin::{Backend, ClothId, Simulation, SimulationOptions, State};
use poplin_io::{FRAME_FORMATS, FrameFormat, MeshFile, load_mesh};
use poplin_model::{
    Chosen, ClothConfig, ClothContactSolver, Contact, ContactMode, Pbd, PbdPhase, Phases,
};
use poplin_picture::View;
use poplin_scene::{
    BaseSettings, BuiltCloth, BuiltCollider, PinRule, Scene, SceneCloth, Shape, Transform,
};

use crate::bodies;
use crate::choices;
use crate::cook_cache::CookCache;
use crate::failure::{Failure, OrFail};
use crate::job_cloth::JobCloth;
use crate::shipped;

/// Cloths and colliders to simulate, with duration and outputs.
#[derive(Debug)]
pub struct Job {
    /// Title for display.
    pub title: String,
    /// Short name, for the output folder.
    pub name: String,
    /// Frames to simulate.
    pub frames: u32,
    /// Frames per second [1/s].
    pub frame_rate: f32,
    /// Simulation steps per frame: 1, or more with rigid bodies.
    pub steps: u32,
    /// Formats to write the frames in.
    pub formats: Vec<FrameFormat>,
    /// View of its pictures, if the scene states one.
    pub view: Option<View>,
    /// Cloths, at least one.
    pub cloths: Vec<JobCloth>,
    /// Colliders of all cloths.
    pub colliders: Vec<Arc<BuiltCollider>>,
    /// Settings of contact between cloths.
    pub cloth_contact_solver: ClothContactSolver,
    /// World position that all other positions are relative to \[m\]: not 0 for a mesh far from the
    /// world's origin.
    pub origin: [f64; 3],
    /// Lines for the summary about values that were chosen automatically.
    pub choices: Vec<String>,
    /// Scene that the job comes from, if any.
    pub scene: Option<Scene>,
}

/// Default number of frames, as in scene files.
const DEFAULT_FRAMES: u32 = 120;

/// Default frames per second [1/s], as in scene files.
pub(crate) const DEFAULT_FRAME_RATE: f32 = 60.0;

impl Job {
    /// Creates an empty simulation. With triangle contact `auto` chooses the CPU, because a GPU
    /// does not untangle, and with the multilevel solver, which no GPU engine has.
    ///
    /// # Errors
    /// [`Failure`] if the backend is not available.
    pub fn simulation(&self, mut options: SimulationOptions) -> Result<Simulation, Failure> {
        let has_triangles = self.cloth_contact_solver.contact == ContactMode::Triangles;
        let mut solvers = self.cloths.iter().map(|it| &it.cloth.config.solver);
        let needs_cpu = has_triangles || solvers.any(|it| it.as_multilevel().is_some());
        if needs_cpu && options.backend == Backend::Auto {
            options.backend = Backend::Cpu;
        }
        Ok(Simulation::new(options)?)
    }

    /// Returns the number of whole frames that a cloth slept through.
    pub(crate) fn slept_frames(&self, state: &State, id: ClothId) -> u32 {
        state.slept_frames(id) / self.steps
    }

    /// Builds the job of a scene file or a shipped scene, after `change` changed its cloths.
    ///
    /// # Errors
    /// [`Failure::BadInput`] if the scene cannot be read or is not valid, or errors of `change`.
    pub fn of_scene(
        path: &Path,
        frame_rate: Option<f32>,
        change: impl Fn(&mut SceneCloth) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let mut scene = shipped::load_scene(path)?;
        if let Some(frame_rate) = frame_rate {
            scene = scene.with_frame_rate(frame_rate).or_bad_input()?;
        }
        scene.cloths.iter_mut().try_for_each(change)?;
        Self::of_loaded_scene(scene, stem(path))
    }

    /// Builds the job of a scene.
    pub(crate) fn of_loaded_scene(scene: Scene, name: String) -> Result<Self, Failure> {
        let colliders = built_colliders(&scene)?;
        Self::of_built_scene(scene, name, colliders, &CookCache::default())
    }

    /// Builds the job of a scene whose colliders are built.
    pub(crate) fn of_built_scene(
        scene: Scene,
        name: String,
        colliders: Vec<Arc<BuiltCollider>>,
        cache: &CookCache,
    ) -> Result<Self, Failure> {
        let job_cloths =
            (0..scene.cloths.len()).map(|index| cook_scene_cloth(&scene, index, &colliders, cache));
        let mut job_cloths: Vec<JobCloth> = job_cloths.collect::<Result<_, _>>()?;
        let mut choices: Vec<_> = choices::repairs(&colliders).collect();
        let Scene { title, frames, frame_rate, formats, view, cloth_contact_solver, .. } =
            scene.clone();
        let steps = bodies::steps(&colliders, frame_rate);
        for job_cloth in &mut job_cloths {
            job_cloth.center();
            choices.extend(job_cloth.slack_line());
            choices.extend(job_cloth.raise_for_bodies(steps, frame_rate));
            job_cloth.split_frames(steps, frame_rate);
            let contact = cloth_contact_solver.contact;
            choices.extend(job_cloth.choose_continuous(steps, frame_rate, contact));
        }
        Ok(Self {
            scene: Some(scene),
            title,
            name,
            frames,
            frame_rate,
            steps,
            formats,
            view,
            cloths: job_cloths,
            colliders,
            cloth_contact_solver,
            origin: [0.0; 3],
            choices,
        })
    }

    /// Builds the job of a mesh at its place in the file, to cook it.
    ///
    /// # Errors
    /// [`Failure::BadInput`] if the mesh cannot be read or cooked, or errors of `change`.
    pub fn of_cooked_mesh(
        path: &Path,
        pins: &[PinRule],
        change: impl Fn(&mut SceneCloth) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let (mut cloth, built, origin) = placed_mesh(path, pins, Transform::default())?;
        change(&mut cloth)?;
        let job_cloth = JobCloth::cook(&cloth, built, &[], &CookCache::default())?;
        Ok(Self { origin, ..Self::of_cloth(cloth.name, job_cloth, Vec::new()) })
    }

    /// Builds the job of a single cloth.
    pub(crate) fn of_cloth(
        name: String,
        job_cloth: JobCloth,
        colliders: Vec<Arc<BuiltCollider>>,
    ) -> Self {
        Self {
            title: name.clone(),
            name,
            frames: DEFAULT_FRAMES,
            frame_rate: DEFAULT_FRAME_RATE,
            steps: 1,
            formats: FRAME_FORMATS[..1].to_vec(),
            view: None,
            cloths: vec![job_cloth],
            colliders,
            cloth_contact_solver: ClothContactSolver::default(),
            origin: [0.0; 3],
            choices: Vec::new(),
            scene: None,
        }
    }
}

/// Loads a mesh as a cloth. Returns it with its pinned vertices and the world position of its
/// origin. Pin rules select by the positions in the file, before the transform.
pub(crate) fn placed_mesh(
    path: &Path,
    pins: &[PinRule],
    transform: Transform,
) -> Result<(SceneCloth, BuiltCloth, [f64; 3]), Failure> {
    let mut file = load_mesh(path).or_bad_input()?;
    let mut pinned = Vec::new();
    for rule in pins {
        let found = rule
            .select_in_file(&file)
            .map_err(|error| anyhow!("--pin: {}: {error}", path.display()));
        pinned.extend(found.or_bad_input()?);
    }
    transform.apply_to(&mut file);
    let MeshFile { mesh, origin, twisted } = file;
    let built = BuiltCloth { mesh, pinned, twisted, ..BuiltCloth::default() };
    Ok((mesh_cloth(path), built, origin))
}

/// Builds the colliders of a scene and reads their meshes.
pub(crate) fn built_colliders(scene: &Scene) -> Result<Vec<Arc<BuiltCollider>>, Failure> {
    Ok(scene.build_colliders().or_bad_input()?.into_iter().map(Arc::new).collect())
}

fn cook_scene_cloth(
    scene: &Scene,
    index: usize,
    colliders: &[Arc<BuiltCollider>],
    cache: &CookCache,
) -> Result<JobCloth, Failure> {
    let built = scene.build_cloth(index).or_bad_input()?;
    JobCloth::cook(&scene.cloths[index], built, colliders, cache)
}

/// Returns the default settings of a mesh, light cotton: stiff threads with softer shear and
/// bending. With the solver's default, all directions fully stiff at 300 iterations per second, a
/// shirt stretches by 10 % where shear and bending edges work against the threads; with these
/// settings 99 % of its edges are at most 1.1 % too long.
fn mesh_cloth(path: &Path) -> SceneCloth {
    let soft = |stiffness| PbdPhase { stiffness, ..PbdPhase::default() };
    let phases = Phases { shearing: soft(0.9), bending: soft(0.5), ..Phases::default() };
    let config = ClothConfig {
        damping: [0.2; 3],
        solver: Pbd { frequency: 2000.0, phases, ..Pbd::default() }.into(),
        contact: Contact { friction: 0.4, ..Contact::default() },
        ..ClothConfig::default()
    };
    // Irregular triangles need more iterations than the size of the cloth suggests: fixed
    // frequency.
    let chosen = Chosen { stiffness_frequency: true, ..Chosen::NONE };
    SceneCloth::new(stem(path), Shape::Mesh(path.to_path_buf()), BaseSettings { config, chosen })
}

pub(crate) fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "cloth".into(), |stem| stem.to_string_lossy().into_owned())
}
