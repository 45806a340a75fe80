//! Scene in simulation, for programs that read it frame by frame.

use std::path::Path;

use poplin::{BackendChoice, ClothId, SimulationOptions, State};
use poplin_geometry::vertex_normals;
use poplin_measure::depth::{Depth, TriangleDepth};
use poplin_measure::strain::{Strain, StretchEdges};
use poplin_model::{ContactReport, Mesh};
use poplin_scene::Scene;
use serde::Serialize;

use crate::bodies::BodySummary;
use crate::failure::{Failure, OrFail};
use crate::job::Job;
use crate::job_simulation::JobSimulation;
use crate::run::Warning;
use crate::run::record::{Findings, poses};
use crate::shipped;

/// Scene in simulation.
#[derive(Debug)]
pub struct SceneRun {
    job: Job,
    running: JobSimulation,
    frame: u32,
}

/// Measurements of a frame.
#[derive(Debug, Serialize)]
pub struct SceneReport {
    frame: u32,
    cloths: Vec<ClothReport>,
    bodies: Vec<BodySummary>,
    warnings: Vec<Warning>,
}

/// Measurements of one `[[cloth]]`, all copies together.
#[derive(Debug, Serialize)]
struct ClothReport {
    name: String,
    strain: Strain,
    speed_m_per_s: f32,
    /// `None` without colliders.
    collider_depth: Option<Depth>,
    triangle_depth: Option<TriangleDepth>,
    /// Sum over copies.
    slept_frames: u64,
    frozen_copies: usize,
    /// Report of each copy.
    contact: Vec<ContactReport>,
}

impl SceneRun {
    /// Cooks a scene file or a shipped scene, and adds it to a new simulation.
    ///
    /// # Errors
    /// [`Failure`] if the scene is not valid or the backend is not available.
    pub fn of_file(
        path: &Path,
        frame_rate: Option<f32>,
        options: SimulationOptions,
    ) -> Result<Self, Failure> {
        Self::of_scene(shipped::load_scene(path)?, frame_rate, options)
    }

    /// Cooks a scene and adds it to a new simulation, at its own frame rate or another.
    ///
    /// # Errors
    /// Same as [`SceneRun::of_file`].
    pub fn of_scene(
        scene: Scene,
        frame_rate: Option<f32>,
        options: SimulationOptions,
    ) -> Result<Self, Failure> {
        let scene = match frame_rate {
            Some(frame_rate) => scene.with_frame_rate(frame_rate).or_bad_input()?,
            None => scene,
        };
        let job = Job::of_loaded_scene(scene, "scene".to_owned())?;
        let running = JobSimulation::untangling(job.simulation(options)?, &job)?;
        Ok(Self { job, running, frame: 0 })
    }

    /// Returns what the scene asks for.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Returns the backend in use, with the reason.
    pub fn backend(&self) -> BackendChoice {
        self.running.backend(&self.job)
    }

    /// Returns the number of frames simulated.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    /// Simulates the next frame; after the last key everything keeps its last pose.
    ///
    /// # Errors
    /// [`Failure`] if the backend fails or a collider cannot be moved.
    pub fn advance(&mut self) -> Result<(), Failure> {
        self.running.advance(&self.job, self.frame + 1)?;
        self.frame += 1;
        Ok(())
    }

    /// Begins again at the start.
    ///
    /// # Errors
    /// [`Failure`] if the backend fails.
    pub fn reset(&mut self) -> Result<(), Failure> {
        self.running.reset(&self.job)?;
        self.frame = 0;
        Ok(())
    }

    /// Returns the mesh of a cloth in its local space before the start.
    ///
    /// # Errors
    /// [`Failure::BadInput`] if there is no cloth of this index.
    pub fn mesh(&self, cloth: usize) -> Result<&Mesh, Failure> {
        let found = self.job.cloths.get(cloth).map(|job_cloth| &job_cloth.mesh);
        found.ok_or_else(|| self.no_such(cloth))
    }

    /// Returns the ids of the copies of a cloth.
    ///
    /// # Errors
    /// [`Failure::BadInput`] if there is no cloth of this index.
    pub fn ids(&self, cloth: usize) -> Result<&[ClothId], Failure> {
        let found = self.running.ids.get(cloth).map(Vec::as_slice);
        found.ok_or_else(|| self.no_such(cloth))
    }

    /// Reads back the particles of all cloths; the simulation has their poses.
    ///
    /// # Errors
    /// [`Failure`] if the backend fails.
    pub fn read(&mut self) -> Result<(State, &poplin::Simulation), Failure> {
        Ok((self.running.simulation.state()?, &self.running.simulation))
    }

    /// Reads back the world positions of the mesh vertices of a copy of a cloth \[m\].
    ///
    /// # Errors
    /// [`Failure`] if there is no such copy or the backend fails.
    pub fn points(&mut self, cloth: usize, copy: usize) -> Result<Vec<[f32; 3]>, Failure> {
        let ids = self.ids(cloth)?;
        let id = *ids.get(copy).ok_or_else(|| {
            let count = ids.len();
            Failure::BadInput(anyhow::anyhow!("there is no copy {copy}: the cloth has {count}"))
        })?;
        let simulation = &mut self.running.simulation;
        let state = simulation.read(id)?;
        let pose = simulation.cloth(id)?.pose();
        let job_cloth = &self.job.cloths[cloth];
        let mut points = Vec::with_capacity(job_cloth.vertex_count());
        job_cloth.append_vertices(pose, state.current(id), &mut points);
        Ok(points)
    }

    /// Reads back the unit normals of the mesh vertices of a copy of a cloth, weighted by area.
    ///
    /// # Errors
    /// Same as [`SceneRun::points`].
    pub fn normals(&mut self, cloth: usize, copy: usize) -> Result<Vec<[f32; 3]>, Failure> {
        let points = self.points(cloth, copy)?;
        let normals = vertex_normals(&points, self.mesh(cloth)?.triangulated());
        Ok(normals.into_iter().map(|normal| normal.as_vec3().to_array()).collect())
    }

    /// Reads back the frame and measures it.
    ///
    /// # Errors
    /// [`Failure`] if the backend fails.
    pub fn report(&mut self) -> Result<SceneReport, Failure> {
        let state = self.running.simulation.state()?;
        let collider_poses = self.running.collider_poses();
        let (job, running) = (&self.job, &self.running);
        let backend = running.backend(job).backend.name();
        let contact_mode = job.cloth_contact_solver.contact;
        let (mut cloths, mut warnings) = (Vec::new(), Vec::new());
        for (job_cloth, ids) in job.cloths.iter().zip(&running.ids) {
            let poses = poses(&running.simulation, ids)?;
            let mut findings = Findings::default();
            let mut edges = StretchEdges::new(&job_cloth.cloth.fabric);
            findings.update(self.frame, job, &state, ids, &poses, &mut edges);
            findings.contact = running.contact_reports(job, &state, ids);
            findings.measure_ending(job_cloth, &state, ids, &poses, &collider_poses)?;
            warnings.extend(findings.warnings(job, job_cloth, self.frame, backend));
            let depth = findings.ending.depth;
            cloths.push(ClothReport {
                name: job_cloth.name.clone(),
                strain: findings.last_strain,
                speed_m_per_s: findings.last_speed,
                collider_depth: depth.map(|(depth, _)| depth),
                triangle_depth: depth.map(|(_, depth)| depth),
                slept_frames: findings.slept_frames,
                frozen_copies: findings.faults.len(),
                contact: findings.contact,
            });
        }
        warnings.extend(Warning::of_scene(&job.cloths, &job.colliders, contact_mode));
        let bodies = running.bodies().summaries().collect();
        Ok(SceneReport { frame: self.frame, cloths, bodies, warnings })
    }

    fn no_such(&self, cloth: usize) -> Failure {
        let count = self.job.cloths.len();
        Failure::BadInput(anyhow::anyhow!("there is no cloth {cloth}: the scene has {count}"))
    }
}
