//! What is kept of every frame that is read back: files, moments, measurements.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use poplin::{ClothId, Simulation, State};
use poplin_measure::depth::{Depth, DepthField, TriangleDepth};
use poplin_measure::strain::{Strain, StretchEdges, max_speed};
use poplin_measure::tangle::{Tangle, TangleField, kept_distance};
use poplin_model::{ContactReport, ImplicitReport, Particle, Pose};

use super::files::ClothFiles;
use super::picture_frames::PictureFrames;
use super::warning::{MAX_SQUASH, MAX_STRETCH, MAX_USUAL_STRETCH, Overstretch, Warning};
use crate::args::PictureArgs;
use crate::bodies::ColliderPoses;
use crate::failure::{Failure, OrFail};
use crate::job::Job;
use crate::job_cloth::JobCloth;
use crate::job_simulation::JobSimulation;

/// Records a run into a folder.
pub(super) struct Recorder {
    job: Arc<Job>,
    folder: PathBuf,
    has_frames: bool,
    files: Vec<ClothFiles>,
    picture_frames: PictureFrames,
    edges: Vec<StretchEdges>,
    findings: Vec<Findings>,
    /// Of all cloths that collide with something, at the end.
    depth: Option<(Depth, TriangleDepth)>,
    /// Of all cloths that collide with themselves, at the end.
    tangle: Option<Tangle>,
    /// Mesh vertices of all copies of each garment at the last recorded frame, in the world \[m\].
    vertices: Vec<Vec<[f32; 3]>>,
    /// Where colliders were then.
    collider_poses: ColliderPoses,
}

/// What the records report of one garment, all copies together.
#[derive(Debug, Clone)]
pub(crate) struct Findings {
    /// Strain at the last recorded frame, of the worst copy.
    pub(crate) last_strain: Strain,
    /// Worst strain of all recorded frames and copies.
    pub(crate) worst_strain: Strain,
    /// Largest speed at the last recorded frame, in local space [m/s].
    pub(crate) last_speed: f32,
    /// Largest speed of all recorded frames [m/s].
    pub(crate) max_speed: f32,
    /// Whether every recorded coordinate was finite.
    pub(crate) is_finite: bool,
    /// Iterations of a copy.
    pub(crate) iterations: u32,
    /// Frames slept through, of all copies together.
    pub(crate) slept_frames: u64,
    /// What the implicit solver took for all copies together.
    pub(crate) implicit: ImplicitReport,
    /// What contact of triangles could not keep apart, of each copy.
    pub(crate) contact: Vec<ContactReport>,
    /// Faults of each faulted copy.
    pub(crate) faults: Vec<Fault>,
    /// Edges longer than those of any cloth.
    overstretch: Option<Overstretch>,
}

/// A cloth that was frozen.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// The copy, from 0.
    pub(crate) copy: usize,
    /// Particles at fault.
    pub(crate) count: u32,
    /// The lowest of them.
    pub(crate) particle: Option<u32>,
}

/// The result of a recording.
pub(super) struct Outcome {
    /// What the records report of each garment.
    pub(super) findings: Vec<Findings>,
    /// How deep particles and triangles are in colliders at the end; `None` without colliders.
    pub(super) depth: Option<(Depth, TriangleDepth)>,
    /// How entangled cloths are at the end; `None` if none collides with itself.
    pub(super) tangle: Option<Tangle>,
    /// Names of the files written.
    pub(super) files: Vec<String>,
    /// What the picture leaves out.
    pub(super) omission: Option<String>,
    /// The first file that could not be written.
    pub(super) fault: Result<(), Failure>,
}

impl Recorder {
    /// Opens the files of frames.
    pub(super) fn create(
        job: Arc<Job>,
        picture: &PictureArgs,
        folder: &Path,
    ) -> Result<Self, Failure> {
        Ok(Self {
            folder: folder.to_path_buf(),
            has_frames: !job.formats.is_empty(),
            files: ClothFiles::create(&job, folder)?,
            picture_frames: PictureFrames::new(
                &job.cloths,
                (job.frames, job.frame_rate),
                picture,
                job.view,
                folder,
            )
            .or_failed()?,
            edges: job
                .cloths
                .iter()
                .map(|job_cloth| StretchEdges::new(&job_cloth.cloth.fabric))
                .collect(),
            findings: vec![Findings::default(); job.cloths.len()],
            depth: None,
            tangle: None,
            vertices: job
                .cloths
                .iter()
                .map(|job_cloth| Vec::with_capacity(job_cloth.vertex_count()))
                .collect(),
            collider_poses: ColliderPoses::start(),
            job,
        })
    }

    /// Whether the frame is worth reading back.
    pub(super) fn wants(&self, frame: u32) -> bool {
        self.has_frames || self.picture_frames.wants(frame)
    }

    /// Reads a frame back and records it.
    pub(super) fn record(
        &mut self,
        frame: u32,
        running: &mut JobSimulation,
    ) -> Result<(), Failure> {
        self.collider_poses = running.collider_poses();
        let state = running.simulation.state()?;
        for (index, (job_cloth, ids)) in self.job.cloths.iter().zip(&running.ids).enumerate() {
            let vertices = &mut self.vertices[index];
            vertices.clear();
            let poses = poses(&running.simulation, ids)?;
            for (&id, &pose) in ids.iter().zip(&poses) {
                job_cloth.append_vertices(pose, state.current(id), vertices);
            }
            let edges = &mut self.edges[index];
            let findings = &mut self.findings[index];
            findings.update(frame, &self.job, &state, ids, &poses, edges);
            findings.contact = running.contact_reports(&self.job, &state, ids);
        }
        self.files.iter_mut().try_for_each(|files| files.push(&self.vertices))?;
        if frame == 0 || !self.has_frames || self.picture_frames.wants(frame) {
            self.picture_frames
                .keep(frame, &self.job.cloths, &self.vertices, &self.collider_poses)
                .or_failed()?;
        }
        Ok(())
    }

    /// Reads a frame back and measures how deep particles are in colliders.
    pub(super) fn measure_depth(&mut self, running: &mut JobSimulation) -> Result<(), Failure> {
        let collider_poses = running.collider_poses();
        let JobSimulation { simulation, ids, .. } = running;
        if !self.job.cloths.iter().any(JobCloth::has_colliders) {
            return Ok(());
        }
        let state = simulation.state()?;
        let (mut depth, mut of_triangles) = (Depth::default(), TriangleDepth::default());
        for ((job_cloth, vertices), ids) in
            self.job.cloths.iter().zip(&self.vertices).zip(ids.iter())
        {
            if !job_cloth.has_colliders() {
                continue;
            }
            let field = DepthField::new(&job_cloth.shapes_in(&collider_poses)?);
            for &id in ids {
                let pose = simulation.cloth(id)?.pose();
                depth = depth.and(field.measure(pose, state.current(id)));
            }
            let triangles = job_cloth.free_triangles();
            of_triangles = of_triangles.and(field.measure_triangles(vertices, triangles));
        }
        self.depth = Some((depth, of_triangles));
        Ok(())
    }

    /// Reads a frame back and counts how entangled the cloths are.
    pub(super) fn measure_tangle(
        &mut self,
        simulation: &mut Simulation,
        ids: &[Vec<ClothId>],
    ) -> Result<(), Failure> {
        let distances: Vec<_> =
            self.job.cloths.iter().map(|job_cloth| kept_distance(&job_cloth.cloth)).collect();
        if distances.iter().all(Option::is_none) {
            return Ok(());
        }
        let state = simulation.state()?;
        let mut field = TangleField::default();
        for ((job_cloth, distance), ids) in self.job.cloths.iter().zip(distances).zip(ids) {
            let Some(distance) = distance else { continue };
            for &id in ids {
                field.add(
                    &job_cloth.cloth,
                    distance,
                    simulation.cloth(id)?.pose(),
                    state.current(id),
                );
            }
        }
        self.tangle = field.measure();
        Ok(())
    }

    /// Completes the files of frames and writes the meshes and the picture. One file that cannot be written does not stop
    /// the others.
    pub(super) fn finish(mut self, frames: u32) -> Outcome {
        let job = &self.job;
        let mut files = Vec::new();
        let mut fault: Result<(), anyhow::Error> = Ok(());
        for own_files in self.files {
            match own_files.finish(&self.folder, job, &self.vertices) {
                Ok(names) => files.extend(names),
                Err(error) => fault = fault.and(Err(error)),
            }
        }
        let kept = self.picture_frames.keep(
            frames,
            &self.job.cloths,
            &self.vertices,
            &self.collider_poses,
        );
        fault = fault.and(kept.map_err(Into::into));
        log::info!("drawing the picture");
        let omission = self.picture_frames.omission(&self.job.cloths);
        let drawn = (job.cloths.as_slice(), job.colliders.as_slice());
        match self.picture_frames.write_picture(&self.folder, drawn, job.frame_rate, frames) {
            Ok(name) => files.extend(name.map(str::to_owned)),
            Err(error) => fault = fault.and(Err(error)),
        }
        let fault = fault.context("not every file could be written").or_failed();
        Outcome {
            findings: self.findings,
            depth: self.depth,
            tangle: self.tangle,
            files,
            omission,
            fault,
        }
    }
}

/// The poses of local spaces.
pub(crate) fn poses(simulation: &Simulation, ids: &[ClothId]) -> Result<Vec<Pose>, Failure> {
    ids.iter().map(|&id| Ok(simulation.cloth(id)?.pose())).collect()
}

impl Default for Findings {
    fn default() -> Self {
        Self {
            last_strain: Strain::default(),
            worst_strain: Strain::default(),
            last_speed: 0.0,
            max_speed: 0.0,
            is_finite: true,
            iterations: 0,
            slept_frames: 0,
            implicit: ImplicitReport::default(),
            contact: Vec::new(),
            faults: Vec::new(),
            overstretch: None,
        }
    }
}

impl Findings {
    /// What makes a garment doubtful.
    pub(crate) fn warnings(
        &self,
        job: &Job,
        job_cloth: &JobCloth,
        frames: u32,
        backend: &str,
    ) -> impl Iterator<Item = Warning> {
        let cloth = || job_cloth.name.clone();
        let stretch = self.overstretch;
        let overstretched =
            stretch.map(|stretch| Warning::Overstretched { cloth: cloth(), stretch });
        let is_stretchy = self.last_strain.p99.min(self.last_strain.longest) > MAX_USUAL_STRETCH;
        // All copies sleep alike, or hardly.
        let awake = f64::from(frames) - self.slept_frames as f64 / job_cloth.offsets.len() as f64;
        let iterations = (f64::from(self.iterations) / awake.max(1.0)) as f32;
        let stretchy = is_stretchy.then(|| Warning::Stretchy {
            cloth: cloth(),
            p99_strain: self.last_strain.p99,
            frequency_hz: iterations * job.frame_rate,
        });
        let Strain { p99: p99_strain, shortest: shortest_strain, .. } = self.last_strain;
        let is_squashed = p99_strain.min(-shortest_strain) > MAX_SQUASH;
        let squashed =
            is_squashed.then(|| Warning::Squashed { cloth: cloth(), p99_strain, shortest_strain });
        let stretchy = stretchy.into_iter().chain(squashed);
        let of_step = Warning::of_step(job_cloth, job.frame_rate, iterations)
            .chain(Warning::of_solves(job_cloth, &self.implicit));
        let contact = job.cloth_contact_solver.contact;
        let start = Warning::of_start(job_cloth, contact).into_iter();
        let of_motion = Warning::of_motion(job.frames, job.frame_rate, job_cloth);
        let crossed = Warning::of_contact(job_cloth, &self.contact, backend);
        let doubts = start.chain(crossed).chain(overstretched).chain(stretchy).chain(of_step);
        doubts.chain(Warning::of_mesh(job_cloth, contact)).chain(of_motion)
    }

    /// Takes in a frame but for what contact reports: the copies of a garment, in these poses.
    pub(crate) fn update(
        &mut self,
        frame: u32,
        job: &Job,
        state: &State,
        ids: &[ClothId],
        poses: &[Pose],
        edges: &mut StretchEdges,
    ) {
        let mut overstretch = None;
        for (copy, (&id, pose)) in ids.iter().zip(poses).enumerate() {
            let current = state.current(id);
            if let Some(long) = edges.longer(current, MAX_STRETCH) {
                Overstretch::add(&mut overstretch, long, [frame as usize, copy], |particle| {
                    pose.apply(current[particle as usize].position)
                });
            }
        }
        Overstretch::follow(&mut self.overstretch, overstretch);
        (self.last_strain, self.last_speed) = (Strain::default(), 0.0);
        self.slept_frames = 0;
        self.implicit = ImplicitReport::default();
        self.faults.clear();
        for (copy, &id) in ids.iter().enumerate() {
            let (current, previous) = (state.current(id), state.previous(id));
            self.last_strain = self.last_strain.worse(edges.measure(current));
            self.iterations = state.iteration_total(id);
            let slept_frames = job.slept_frames(state, id);
            self.slept_frames += u64::from(slept_frames);
            self.implicit = self.implicit.with(state.implicit_report(id));
            // Sleepers do not iterate.
            if frame > slept_frames {
                let iterations_per_frame = self.iterations as f32 / (frame - slept_frames) as f32;
                let step = (job.frame_rate * iterations_per_frame.max(1.0)).recip();
                self.last_speed = self.last_speed.max(max_speed(current, previous, step));
            }
            self.is_finite &=
                Particle::rows(current).iter().flatten().all(|value| value.is_finite());
            let count = state.fault_count(id);
            if count > 0 {
                self.faults.push(Fault { copy, count, particle: state.fault_particle(id) });
            }
        }
        self.worst_strain = self.worst_strain.worse(self.last_strain);
        self.max_speed = self.max_speed.max(self.last_speed);
    }
}
