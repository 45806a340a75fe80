//! `poplin view`: shows a scene in a window, or draws it into a picture.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow};
use poplin::{Simulation, SimulationOptions};
use poplin_model::Shape;
use poplin_picture::View;
use poplin_run::{
    Failure, Job, JobSimulation, MeshJob, OrFail, PictureOptions, Recording, joined_frames, shipped,
};
use poplin_scene::{PinRule, Scene};
use poplin_view::{LineLayers, Scenes, Screenshot, Show, ShowError, ShownCloth, open_window};

use crate::args::{Layer, ViewArgs};
use crate::failure::{Exit, not_held};
use crate::output::say;

/// Width and height of a picture without a window \[pixels\].
const SIZE: [u32; 2] = [1280, 800];

/// Default number of frames before a picture.
const FRAMES: u32 = 60;

/// Shows a scene until its window is closed, or writes a picture of it.
pub(crate) fn view(args: &ViewArgs) -> Result<Exit, Failure> {
    let options = args.backend.options()?;
    let scene = args.mesh.as_ref().or(args.scene.as_ref()).ok_or_else(|| {
        let names = shipped::names();
        Failure::BadInput(anyhow!(
            "no scene to show: pass a TOML file, a shipped scene ({names}) or --mesh"
        ))
    })?;
    // Errors of the first scene are reported before a window opens.
    let job = open(scene, &args.pins)?;
    drop(job);
    let scene_list = Box::new(SceneList { options, pins: args.pins.clone() });
    let shown = match &args.screenshot {
        None => open_window(scene_list, scene),
        Some(path) => {
            let (frames, drag) = (args.frames.unwrap_or(FRAMES), args.drag);
            let shows = |layer| args.show.contains(&layer);
            let screenshot = Screenshot {
                scene: scene.clone(),
                frames,
                size: SIZE,
                drag,
                has_strain: shows(Layer::Strain),
                lines: LineLayers {
                    edges: shows(Layer::Edges),
                    normals: shows(Layer::Normals),
                    tethers: shows(Layer::Tethers),
                    spheres: shows(Layer::Spheres),
                    contacts: shows(Layer::Contacts),
                },
            };
            screenshot.write(scene_list, path).inspect(|()| say!("wrote {}", path.display()))
        }
    };
    shown.map(|()| Exit::Success).or_failed()
}

/// Builds the job of a shipped scene, a scene file or a mesh.
fn open(scene: &Path, pins: &[PinRule]) -> Result<Job, Failure> {
    match shipped::is_mesh(scene) {
        true if pins.is_empty() => Err(not_held(scene)),
        true => Job::of_mesh(&MeshJob::new(scene, pins), |_| Ok(())),
        false => Job::of_scene(scene, None, |_| Ok(())),
    }
}

/// Shipped scenes, with the options that scenes are opened with.
struct SceneList {
    options: SimulationOptions,
    /// Pin rules of a mesh.
    pins: Vec<PinRule>,
}

impl Scenes for SceneList {
    fn names(&self) -> Vec<&'static str> {
        shipped::list().map(|(name, _)| name).collect()
    }

    fn open(&self, scene: &Path) -> Result<Box<dyn Show>, ShowError> {
        let job = Arc::new(open(scene, &self.pins).map_err(to_show_error)?);
        let simulation = job.simulation(self.options.clone()).map_err(to_show_error)?;
        let running = JobSimulation::new(simulation, &job).map_err(to_show_error)?;
        let cloths = job.cloths.iter().zip(&running.ids);
        let cloths = cloths.map(|(job_cloth, ids)| ShownCloth {
            name: job_cloth.name.clone(),
            ids: ids.clone(),
            wind: job_cloth.wind,
        });
        let cloths = cloths.collect();
        let (source, pins) = (scene.to_path_buf(), self.pins.clone());
        Ok(Box::new(ViewedJob { source, pins, job, running, cloths, frame: 0, recording: None }))
    }
}

/// Job that is simulated and shown.
struct ViewedJob {
    /// Name or file of the scene.
    source: PathBuf,
    /// Pin rules, used for a mesh.
    pins: Vec<PinRule>,
    job: Arc<Job>,
    running: JobSimulation,
    cloths: Vec<ShownCloth>,
    frame: u32,
    /// Recording in progress, with its start time.
    recording: Option<(Recording, Instant)>,
}

/// Converts an error of the command line into one of the viewer.
fn to_show_error(failure: Failure) -> ShowError {
    match failure {
        Failure::BadInput(error) | Failure::Failed(error) | Failure::Busy(error) => error.into(),
    }
}

impl Show for ViewedJob {
    fn title(&self) -> &str {
        &self.job.title
    }

    fn frame_rate(&self) -> f32 {
        self.job.frame_rate
    }

    fn view(&self) -> Option<View> {
        self.job.view
    }

    fn frame(&self) -> u32 {
        self.frame
    }

    fn cloths(&self) -> &[ShownCloth] {
        &self.cloths
    }

    fn cloths_mut(&mut self) -> &mut [ShownCloth] {
        &mut self.cloths
    }

    fn shapes(&self) -> Result<Vec<Shape>, ShowError> {
        Ok(self.running.collider_poses().shapes(&self.job.colliders)?)
    }

    fn simulation(&mut self) -> &mut Simulation {
        &mut self.running.simulation
    }

    fn prepare(&mut self) -> Result<f32, ShowError> {
        self.running.winds = self.cloths.iter().map(|cloth| cloth.wind).collect();
        self.running.prepare(&self.job, self.frame + 1).map_err(to_show_error)
    }

    fn step(&mut self, dt: f32) -> Result<(), ShowError> {
        let begin = Instant::now();
        self.running.step(&self.job, dt).map_err(to_show_error)?;
        self.frame += 1;
        if let Some((recording, _)) = &mut self.recording {
            recording.count(begin.elapsed());
            recording.record(self.frame, &mut self.running).map_err(to_show_error)?;
        }
        Ok(())
    }

    fn reset(&mut self) -> Result<(), ShowError> {
        if self.is_recording() {
            self.stop_recording()?;
        }
        self.running.reset(&self.job).map_err(to_show_error)?;
        for (cloth, ids) in self.cloths.iter_mut().zip(&self.running.ids) {
            cloth.ids.clone_from(ids);
        }
        self.frame = 0;
        Ok(())
    }

    fn record(&mut self) -> Result<(), ShowError> {
        self.reset()?;
        let picture = PictureOptions::default();
        let mut recording =
            Recording::begin(self.job.clone(), None, &picture).map_err(to_show_error)?;
        recording.record(0, &mut self.running).map_err(to_show_error)?;
        self.recording = Some((recording, Instant::now()));
        Ok(())
    }

    fn is_recording(&self) -> bool {
        self.recording.is_some()
    }

    fn stop_recording(&mut self) -> Result<String, ShowError> {
        let Some((recording, begin)) = self.recording.take() else { return Ok(String::new()) };
        let folder = recording.close(&mut self.running, begin.elapsed()).map_err(to_show_error)?;
        Ok(format!("recorded {} frames into {}", self.frame, folder.display()))
    }

    fn save(&mut self) -> Result<String, ShowError> {
        let mut tuned = Vec::with_capacity(self.cloths.len());
        for (cloth, job_cloth) in self.cloths.iter().zip(&self.job.cloths) {
            let first = cloth.ids.first().copied();
            let config = first.map(|id| self.running.simulation.cloth(id)).transpose()?;
            let config = config.map(|live| live.desc().config.clone());
            let is_tuned =
                config.as_ref() != Some(&job_cloth.cloth.config) || cloth.wind != job_cloth.wind;
            let mut config = config.filter(|_| is_tuned);
            let stated = self.job.scene.as_ref().and_then(|scene| scene.cloths.get(tuned.len()));
            if let (Some(config), Some(stated)) = (&mut config, stated) {
                let steps = self.job.steps;
                joined_frames(&mut config.solver, &stated.config.solver, steps);
            }
            tuned.push(config.map(|config| (config, cloth.wind)));
        }
        let text = match &self.job.scene {
            Some(scene) => scene.with_settings(&tuned)?,
            None => {
                Scene::of_mesh(&self.job.name, &self.source, &self.pins)?.with_settings(&tuned)?
            }
        };
        let path = PathBuf::from(format!("{}-tuned.toml", self.job.name));
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(format!("wrote {}", path.display()))
    }
}
