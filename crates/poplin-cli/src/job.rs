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
    BaseSettings, BuiltCloth, BuiltCollider, ColliderShape, PinRule, Scene, SceneCloth,
    SceneCollider, Shape, Transform,
};

use crate::args::{CookArgs, PositionArgs, RunArgs};
use crate::bodies;
use crate::choices::{self, mean_edge};
use crate::cook_cache::CookCache;
use crate::failure::{Failure, OrFail};
use crate::job_cloth::JobCloth;
use crate::shipped;

/// Cloths and colliders to simulate, with duration and outputs.
pub(crate) struct Job {
    /// Title for display.
    pub(crate) title: String,
    /// Short name, for the output folder.
    pub(crate) name: String,
    /// Frames to simulate.
    pub(crate) frames: u32,
    /// Frames per second [1/s].
    pub(crate) frame_rate: f32,
    /// Simulation steps per frame: 1, or more with rigid bodies.
    pub(crate) steps: u32,
    /// Formats to write the frames in.
    pub(crate) formats: Vec<FrameFormat>,
    /// View of its pictures, if the scene states one.
    pub(crate) view: Option<View>,
    /// Cloths, at least one.
    pub(crate) cloths: Vec<JobCloth>,
    /// Colliders of all cloths.
    pub(crate) colliders: Vec<Arc<BuiltCollider>>,
    /// Settings of contact between cloths.
    pub(crate) cloth_contact_solver: ClothContactSolver,
    /// World position that all other positions are relative to \[m\]: not 0 for a mesh far from the
    /// world's origin.
    pub(crate) origin: [f64; 3],
    /// Lines for the summary about values that were chosen automatically.
    pub(crate) choices: Vec<String>,
    /// Scene that the job comes from, if any.
    #[cfg_attr(
        not(feature = "view"),
        expect(dead_code, reason = "only `poplin view` saves scenes")
    )]
    pub(crate) scene: Option<Scene>,
}

/// Default number of frames, as in scene files.
const DEFAULT_FRAMES: u32 = 120;

/// Default frames per second [1/s], as in scene files.
const DEFAULT_FRAME_RATE: f32 = 60.0;

impl Job {
    /// Builds the job of `poplin run`.
    pub(crate) fn of_run(args: &RunArgs) -> Result<Self, Failure> {
        let change = |cloth: &mut SceneCloth| args.fabric.apply(cloth, Some(&args.solver));
        let mut job = match (&args.scene, &args.mesh) {
            (Some(_), _) if args.collider.is_some() => {
                return bad_input(
                    "--collider needs --mesh; a scene has `[[collider]]` tables".into(),
                );
            }
            (Some(_), _) if args.wind.stated().is_some() => {
                return bad_input(format!(
                    "{} needs --mesh; a scene has `[wind]`, and its cloths `air = {{ drag = ..., lift = ... }}`",
                    args.wind.stated().unwrap_or_default()
                ));
            }
            (Some(scene), _) => match args.position.stated() {
                Some(option) => {
                    return bad_input(format!(
                        "{option} needs --mesh; the cloths and colliders of a scene have `transform = {{ translation = \
                         ..., rotation = ..., scale = ... }}`"
                    ));
                }
                None => Self::of_scene(scene, &args.pins, args.frame_rate, change)?,
            },
            (None, Some(mesh)) if args.pins.is_empty() && args.collider.is_none() => {
                let mesh = mesh.display();
                return bad_input(format!(
                    "{mesh} has no pins and no collider: add a pin rule, for example `--pin top:3%`, or `--pin none` to let it fall"
                ));
            }
            (None, Some(mesh)) => match args.position.stated_of_collider() {
                Some(option) if args.collider.is_none() => {
                    return bad_input(format!("{option} needs --collider"));
                }
                _ => Self::of_mesh(mesh, args, change)?,
            },
            (None, None) => {
                return bad_input(format!(
                    "no scene to run: pass a TOML file or a shipped scene ({}), for example `poplin run flag`, \
                     or a mesh with pins, for example `poplin run --mesh shirt.obj --pin top:3%`",
                    shipped::names()
                ));
            }
        };
        job.frames = args.frames.unwrap_or(job.frames);
        if args.solver.contact.is_some() {
            job.cloth_contact_solver.contact = args.contact();
        }
        job.frame_rate = args.frame_rate.unwrap_or(job.frame_rate);
        if args.no_cache || !args.formats.is_empty() {
            job.formats.clone_from(&args.formats);
        }
        // A repeated format is one file: two sinks would overwrite each other.
        let mut known = Vec::new();
        job.formats.retain(|format| {
            let is_new = !known.contains(format);
            known.push(*format);
            is_new
        });
        Ok(job)
    }

    /// Creates an empty simulation. With triangle contact `auto` chooses the CPU, because a GPU
    /// does not untangle.
    pub(crate) fn simulation(&self, mut options: SimulationOptions) -> Result<Simulation, Failure> {
        let has_triangles = self.cloth_contact_solver.contact == ContactMode::Triangles;
        if has_triangles && options.backend == Backend::Auto {
            options.backend = Backend::Cpu;
        }
        Ok(Simulation::new(options)?)
    }

    /// Returns the number of whole frames that a cloth slept through.
    pub(crate) fn slept_frames(&self, state: &State, id: ClothId) -> u32 {
        state.slept_frames(id) / self.steps
    }

    /// Builds the job of a scene without changes.
    #[cfg(feature = "view")]
    pub(crate) fn of_shown_scene(path: &Path) -> Result<Self, Failure> {
        Self::of_scene(path, &[], None, |_| Ok(()))
    }

    /// Builds the job of a mesh without collider, held by `pins`.
    #[cfg(feature = "view")]
    pub(crate) fn of_hung_mesh(path: &Path, pins: &[PinRule]) -> Result<Self, Failure> {
        Self::of_run(&RunArgs::of_hung_mesh(path, pins))
    }

    /// Builds the job of `poplin cook`.
    pub(crate) fn of_cook(args: &CookArgs) -> Result<Self, Failure> {
        let change = |cloth: &mut SceneCloth| args.fabric.apply(cloth, None);
        if shipped::is_mesh(&args.file) {
            Self::of_cooked_mesh(&args.file, &args.pins, change)
        } else {
            Self::of_scene(&args.file, &args.pins, None, change)
        }
    }

    fn of_scene(
        path: &Path,
        pins: &[PinRule],
        frame_rate: Option<f32>,
        change: impl Fn(&mut SceneCloth) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let mut scene = shipped::load_scene(path)?;
        scene.frame_rate = frame_rate.unwrap_or(scene.frame_rate);
        if !pins.is_empty() {
            return bad_input(format!(
                "--pin needs a mesh; the scene {} has its own pins",
                path.display()
            ));
        }
        scene.cloths.iter_mut().try_for_each(change)?;
        let colliders = built_colliders(&scene)?;
        Self::of_built_scene(scene, stem(path), colliders, &CookCache::default())
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
        let choices = choices::repairs(&colliders).collect();
        let Scene { title, frames, frame_rate, formats, view, cloth_contact_solver, .. } =
            scene.clone();
        let steps = bodies::steps(&colliders, frame_rate);
        for job_cloth in &mut job_cloths {
            bodies::split_frames(&mut job_cloth.cloth.config.solver, steps);
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

    fn of_mesh(
        path: &Path,
        args: &RunArgs,
        change: impl Fn(&mut SceneCloth) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let position = &args.position;
        let (mut cloth, mut built, origin) = placed_mesh(path, &args.pins, position.transform())?;
        change(&mut cloth)?;
        let BuiltCloth { mesh, pinned, .. } = &mut built;
        let mean_edge = mean_edge(mesh);
        let mut choices: Vec<_> = choices::origin(origin).into_iter().collect();
        if args.wind.stated().is_some() {
            let Some((air, line)) = args.wind.air() else {
                return bad_input(
                    "--wind has no effect with --drag 0 and --lift 0: omit one, or raise it".into(),
                );
            };
            cloth.config.air = air;
            choices.extend(line);
        }
        if args.solver.thickness.is_none() && cloth.material.is_none() {
            let (thickness, line) = choices::thickness(mean_edge, args.contact());
            cloth.config.thickness = thickness;
            choices.push(line);
        }
        let body =
            args.collider.as_ref().map(|path| mesh_collider(path, position, origin)).transpose()?;
        let is_placed = position.translate.is_some() || position.allow_inside;
        if let Some(body) = body.as_ref().filter(|_| !is_placed) {
            choices.extend(choices::lift(mesh, pinned, body, mean_edge));
        }
        let floor = choices::floor(position, mesh, body.as_ref(), mean_edge, origin)?;
        let (floor, line) = floor.unzip();
        choices.extend(line.flatten());
        let colliders: Vec<_> = body.into_iter().chain(floor).map(Arc::new).collect();
        choices.extend(choices::repairs(&colliders));
        let job_cloth = JobCloth::cook(&cloth, built, &colliders, &CookCache::default())?;
        Ok(Self { origin, choices, ..Self::of_cloth(cloth.name, job_cloth, colliders) })
    }

    fn of_cooked_mesh(
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
    fn of_cloth(name: String, job_cloth: JobCloth, colliders: Vec<Arc<BuiltCollider>>) -> Self {
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
fn placed_mesh(
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

/// Loads a mesh as a collider at rest.
fn mesh_collider(
    path: &Path,
    position: &PositionArgs,
    origin: [f64; 3],
) -> Result<BuiltCollider, Failure> {
    let (transform, is_open) = (position.collider_transform(), position.open_collider);
    let shape = ColliderShape::Mesh(path.to_path_buf());
    let collider = SceneCollider { transform, is_open, ..SceneCollider::new(stem(path), shape) };
    collider.build_near(origin).or_bad_input()
}

/// Returns the default settings of `--mesh`, light cotton: stiff threads with softer shear and
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

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "cloth".into(), |stem| stem.to_string_lossy().into_owned())
}

fn bad_input<T>(message: String) -> Result<T, Failure> {
    Err(Failure::BadInput(anyhow!(message)))
}
