//! Recording of frames that are read back: files, pictures, measurements.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use glam::Vec3;
use poplin::{ClothId, Simulation, State};
use poplin_measure::depth::{Depth, TriangleDepth};
use poplin_measure::strain::{Strain, StretchEdges, max_speed};
use poplin_measure::tangle::{Tangle, TangleField, kept_distance};
use poplin_model::{ContactReport, ImplicitReport, Particle, Pose};

use super::ending::Ending;
use super::files::ClothFiles;
use super::picture_frames::PictureFrames;
use super::warning::{MAX_STRETCH, Overstretch, Warning};
use crate::bodies::ColliderPoses;
use crate::failure::{Failure, OrFail};
use crate::job::Job;
use crate::job_cloth::JobCloth;
use crate::job_simulation::JobSimulation;
use crate::picture::PictureOptions;

/// Recorder of a run into a folder.
pub(super) struct Recorder {
    job: Arc<Job>,
    folder: PathBuf,
    has_frames: bool,
    files: Vec<ClothFiles>,
    picture_frames: PictureFrames,
    edges: Vec<StretchEdges>,
    findings: Vec<Findings>,
    /// Final entanglement of all cloths that collide with themselves.
    tangle: Option<Tangle>,
    /// World positions of the mesh vertices of each cloth, all copies, at the last recorded frame
    /// \[m\].
    vertices: Vec<Vec<[f32; 3]>>,
    /// Poses of colliders at that frame.
    collider_poses: ColliderPoses,
}

/// Measurements of one cloth over the recorded frames, all copies together.
#[derive(Debug, Clone)]
pub(crate) struct Findings {
    /// Strain of the worst copy at the last recorded frame.
    pub(crate) last_strain: Strain,
    /// Worst strain of all recorded frames and copies.
    pub(crate) worst_strain: Strain,
    /// Largest local-space speed at the last recorded frame [m/s].
    pub(crate) last_speed: f32,
    /// Largest speed of all recorded frames [m/s].
    pub(crate) max_speed: f32,
    /// True if every recorded coordinate is finite.
    pub(crate) is_finite: bool,
    /// Iterations of one copy.
    pub(crate) iterations: u32,
    /// Frames slept through, summed over copies.
    pub(crate) slept_frames: u64,
    /// Steps and iterations of the implicit solver, summed over copies.
    pub(crate) implicit: ImplicitReport,
    /// Triangle contact report of each copy.
    pub(crate) contact: Vec<ContactReport>,
    /// Fault of each faulted copy.
    pub(crate) faults: Vec<Fault>,
    /// Edges beyond [`MAX_STRETCH`].
    overstretch: Option<Overstretch>,
    /// Duration of the last iteration \[s\]; 0 before the first.
    step: f32,
    /// State after the last frame.
    pub(crate) ending: Ending,
}

/// Copy of a cloth that was frozen.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// Index of the copy, from 0.
    pub(crate) copy: usize,
    /// Number of faulty particles.
    pub(crate) count: u32,
    /// Lowest index of a faulty particle.
    pub(crate) particle: Option<u32>,
}

/// Result of a recording.
pub(super) struct Outcome {
    /// Measurements of each cloth.
    pub(super) findings: Vec<Findings>,
    /// Final depth of particles and triangles in colliders; `None` without colliders.
    pub(super) depth: Option<(Depth, TriangleDepth)>,
    /// Final entanglement; `None` if no cloth collides with itself.
    pub(super) tangle: Option<Tangle>,
    /// Names of the written files.
    pub(super) files: Vec<String>,
    /// Note about cloths that the picture omits.
    pub(super) omission: Option<String>,
    /// Error of the first file that could not be written.
    pub(super) fault: Result<(), Failure>,
}

impl Recorder {
    /// Opens the frame files.
    pub(super) fn create(
        job: Arc<Job>,
        picture: &PictureOptions,
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
            findings: job.cloths.iter().map(Findings::of).collect(),
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

    /// Tests whether a frame has to be read back.
    pub(super) fn needs(&self, frame: u32) -> bool {
        self.has_frames || self.picture_frames.needs(frame)
    }

    /// Reads back the current frame and records it.
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
        if frame == 0 || !self.has_frames || self.picture_frames.needs(frame) {
            self.picture_frames
                .keep(frame, &self.job.cloths, &self.vertices, &self.collider_poses)
                .or_failed()?;
        }
        Ok(())
    }

    /// Reads back the current frame and measures where the cloths end.
    pub(super) fn measure_ending(&mut self, running: &mut JobSimulation) -> Result<(), Failure> {
        let collider_poses = running.collider_poses();
        let JobSimulation { simulation, ids, .. } = running;
        let state = simulation.state()?;
        for ((job_cloth, findings), ids) in
            self.job.cloths.iter().zip(&mut self.findings).zip(ids.iter())
        {
            let poses = poses(simulation, ids)?;
            findings.measure_ending(job_cloth, &state, ids, &poses, &collider_poses)?;
        }
        Ok(())
    }

    /// Reads back the current frame and measures the entanglement of the cloths.
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

    /// Completes the frame files and writes the meshes and the picture. Continues after a file that
    /// cannot be written.
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
            depth: Ending::depths(self.findings.iter().map(|findings| &findings.ending)),
            findings: self.findings,
            tangle: self.tangle,
            files,
            omission,
            fault,
        }
    }
}

/// Returns the poses of the local spaces of cloths.
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
            step: 0.0,
            ending: Ending::default(),
        }
    }
}

impl Findings {
    /// Creates the findings of a cloth before its first frame, with the speed that it starts with.
    pub(crate) fn of(job_cloth: &JobCloth) -> Self {
        let speeds = job_cloth.velocities.iter().map(|&velocity| Vec3::from(velocity).length());
        Self { max_speed: speeds.fold(0.0, f32::max), ..Self::default() }
    }

    /// Returns the warnings about a cloth after its simulation.
    pub(crate) fn warnings(
        &self,
        job: &Job,
        job_cloth: &JobCloth,
        frames: u32,
        backend: &str,
    ) -> impl Iterator<Item = Warning> {
        // Mean over copies: they sleep for about equally many frames.
        let awake = f64::from(frames) - self.slept_frames as f64 / job_cloth.offsets.len() as f64;
        let iterations = (f64::from(self.iterations) / awake.max(1.0)) as f32;
        let of_strain = Warning::of_strain(
            &job_cloth.name,
            self.overstretch,
            self.last_strain,
            job_cloth.weight_strain.unwrap_or(0.0),
            iterations * job.frame_rate,
        );
        let of_step = Warning::of_step(job_cloth, job.frame_rate, iterations)
            .chain(Warning::of_solves(job_cloth, &self.implicit));
        let contact = job.cloth_contact_solver.contact;
        let start = Warning::of_start(job_cloth, contact).into_iter();
        let of_motion = Warning::of_motion(job.frames, job.frame_rate, job_cloth);
        let crossed = Warning::of_contact(job_cloth, &self.contact, backend);
        let of_end = Warning::of_end(job_cloth, &self.ending, contact);
        // Figures of a frozen cloth are of iterations that did not run.
        let is_frozen = !self.faults.is_empty();
        let of_result =
            crossed.chain(of_end).chain(of_strain).chain(of_step).filter(move |_| !is_frozen);
        start.chain(of_result).chain(Warning::of_mesh(job_cloth, contact)).chain(of_motion)
    }

    /// Measures where all copies, in these poses, are after the last frame.
    pub(crate) fn measure_ending(
        &mut self,
        job_cloth: &JobCloth,
        state: &State,
        ids: &[ClothId],
        poses: &[Pose],
        collider_poses: &ColliderPoses,
    ) -> Result<(), Failure> {
        self.ending = Ending::measure(job_cloth, state, ids, poses, self.step, collider_poses)?;
        Ok(())
    }

    /// Adds a frame of all copies, in these poses, except for the contact reports.
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
            let count = state.fault_count(id);
            // Speed from the last iteration, whose step follows from the frames not slept through;
            // a frozen copy has none.
            if frame > slept_frames && count == 0 {
                let iterations_per_frame = self.iterations as f32 / (frame - slept_frames) as f32;
                self.step = (job.frame_rate * iterations_per_frame.max(1.0)).recip();
                self.last_speed = self.last_speed.max(max_speed(current, previous, self.step));
            }
            self.is_finite &=
                Particle::rows(current).iter().flatten().all(|value| value.is_finite());
            if count > 0 {
                self.faults.push(Fault { copy, count, particle: state.fault_particle(id) });
            }
        }
        self.worst_strain = self.worst_strain.worse(self.last_strain);
        self.max_speed = self.max_speed.max(self.last_speed);
    }
}
