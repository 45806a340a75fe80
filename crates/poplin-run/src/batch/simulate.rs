//! Simulation of a group of jobs.

use std::time::Instant;

use poplin::{ClothId, Simulation, SimulationOptions, State};
use poplin_measure::strain::StretchEdges;
use poplin_measure::tangle::{Tangle, TangleField, kept_distance};
use poplin_model::{ContactReport, Particle, Pose};
use rayon::prelude::*;

use super::artifacts::{Artifacts, PosedCloth};
use super::hash::Fnv;
use super::prepare::{Group, Member};
use super::row::JobResult;
use super::store::Store;
use crate::bodies::ColliderPoses;
use crate::failure::Failure;
use crate::job::Job;
use crate::job_cloth::JobCloth;
use crate::job_cloth::drivers::moved_by;
use crate::job_simulation::JobSimulation;
use crate::numbers::counted;
use crate::run::ending::Ending;
use crate::run::record::{Findings, poses};
use crate::run::warning::Warning;
use poplin_scene::SweepOutput;

/// Finished job of a group.
pub(super) struct Ended {
    /// Index in the sweep.
    pub(super) index: usize,
    /// Result, or error message.
    pub(super) result: Result<JobResult, String>,
}

/// Runner of groups, one after another.
pub(super) struct Runner<'a> {
    options: SimulationOptions,
    simulation: Option<Simulation>,
    output: &'a SweepOutput,
    /// Called after every frame; true to stop.
    interrupt: &'a (dyn Fn() -> bool + Sync),
}

/// Copies of a cloth in a frame that was read back.
struct Copies {
    ids: Vec<ClothId>,
    poses: Vec<Pose>,
    contact: Vec<ContactReport>,
}

/// Frame that was read back.
struct Reading {
    /// Copies of each cloth of the group.
    copies: Vec<Copies>,
    state: State,
    collider_poses: ColliderPoses,
}

impl Reading {
    fn of(job_simulation: &mut JobSimulation, job: &Job) -> Result<Self, Failure> {
        let (state, collider_poses) =
            (job_simulation.simulation.state()?, job_simulation.collider_poses());
        let copies = |ids: &Vec<ClothId>| {
            let poses = poses(&job_simulation.simulation, ids)?;
            Ok(Copies {
                ids: ids.clone(),
                poses,
                contact: job_simulation.contact_reports(job, &state, ids),
            })
        };
        let copies = job_simulation.ids.iter().map(copies).collect::<Result<_, Failure>>()?;
        Ok(Self { copies, state, collider_poses })
    }
}

/// Job in simulation.
struct Running<'a> {
    member: &'a Member,
    job_cloths: &'a [JobCloth],
    /// Stretch edges of each cloth.
    edges: Vec<StretchEdges>,
    findings: Vec<Findings>,
    /// Files of the job; `None` if the sweep writes none.
    artifacts: Option<Artifacts>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        options: SimulationOptions,
        output: &'a SweepOutput,
        interrupt: &'a (dyn Fn() -> bool + Sync),
    ) -> Result<Self, Failure> {
        let simulation = Some(Simulation::new(options.clone())?);
        Ok(Self { options, simulation, output, interrupt })
    }

    /// Tests whether the jobs are simulated on a GPU.
    pub(super) fn is_on_gpu(&self) -> bool {
        self.simulation.as_ref().is_some_and(|simulation| simulation.gpu().is_some())
    }

    /// Returns the name of the backend.
    pub(super) fn backend(&self) -> &'static str {
        poplin::Backend::name(if self.is_on_gpu() {
            poplin::Backend::Gpu
        } else {
            poplin::Backend::Cpu
        })
    }

    /// Tests whether the user wants to stop.
    pub(super) fn is_interrupted(&self) -> bool {
        (self.interrupt)()
    }

    /// Runs a group and publishes the folders of its jobs; their rows are not yet written. Returns
    /// `None` if interrupted. If the simulation rejects a job, that job fails and the others of the
    /// group run one by one.
    pub(super) fn run(
        &mut self,
        group: Group,
        store: &Store,
        tick: &dyn Fn(u32, &Group),
    ) -> Result<Option<Vec<Ended>>, Failure> {
        match self.run_once(&group, store, tick) {
            Ok(ended) => Ok(ended),
            Err(failure @ (Failure::Failed(_) | Failure::Busy(_))) => Err(failure),
            Err(Failure::BadInput(error)) if group.members.len() == 1 => {
                let index = group.members[0].index;
                store.discard(index);
                let result = Err(Failure::BadInput(error).to_string());
                Ok(Some(vec![Ended { index, result }]))
            }
            Err(Failure::BadInput(error)) => {
                log::info!("the jobs of a group run one by one: {error}");
                let mut all = Vec::new();
                for single in group.split() {
                    match self.run(single, store, tick)? {
                        Some(ended) => all.extend(ended),
                        None => return Ok(None),
                    }
                }
                Ok(Some(all))
            }
        }
    }

    fn run_once(
        &mut self,
        group: &Group,
        store: &Store,
        tick: &dyn Fn(u32, &Group),
    ) -> Result<Option<Vec<Ended>>, Failure> {
        let begin = Instant::now();
        let mut simulation = match self.simulation.take() {
            Some(simulation) => simulation,
            None => Simulation::new(self.options.clone())?,
        };
        simulation.clear();
        simulation.colliders_mut().clear();
        let job = &group.job;
        let mut job_simulation = JobSimulation::untangling(simulation, job)?;
        let begun = group.members.par_iter().map(|member| self.begin(member, group, store));
        let mut running = begun.collect::<Result<Vec<_>, _>>()?;
        // Last frame that was read back.
        let mut read = None;
        for frame in 0..=job.frames {
            if frame > 0 {
                job_simulation.advance(job, frame)?;
            }
            if self.is_interrupted() {
                group.members.iter().for_each(|member| store.discard(member.index));
                self.simulation = Some(job_simulation.into_simulation());
                return Ok(None);
            }
            let is_last = frame == job.frames;
            let is_wanted = running.iter().any(|job| job.needs(frame));
            if is_last || is_wanted {
                let reading = Reading::of(&mut job_simulation, job)?;
                running
                    .par_iter_mut()
                    .try_for_each(|running| running.record(frame, group, &reading))?;
                read = Some(reading);
            }
            tick(frame, group);
        }
        // The last frame is always read back.
        let Some(reading) = read else { return Ok(Some(Vec::new())) };
        let backend = job_simulation.simulation.backend().backend.name();
        let ended = running
            .into_par_iter()
            .map(|running| running.end(group, &reading, store, backend))
            .collect::<Result<Vec<_>, Failure>>();
        self.simulation = Some(job_simulation.into_simulation());
        let mut ended = ended?;
        let seconds = begin.elapsed().as_secs_f64() / group.members.len() as f64;
        for result in ended.iter_mut().filter_map(|ended| ended.result.as_mut().ok()) {
            result.seconds = seconds;
        }
        Ok(Some(ended))
    }

    fn begin<'b>(
        &self,
        member: &'b Member,
        group: &'b Group,
        store: &Store,
    ) -> Result<Running<'b>, Failure> {
        let job_cloths = &group.job.cloths[member.job_cloths.clone()];
        let create = || {
            let folder = store.begin(member.index)?;
            Artifacts::create(folder, self.output, &group.job, job_cloths)
        };
        Ok(Running {
            member,
            job_cloths,
            edges: job_cloths.iter().map(|it| StretchEdges::new(&it.cloth.fabric)).collect(),
            findings: job_cloths.iter().map(Findings::of).collect(),
            artifacts: self.output.is_any().then(create).transpose()?,
        })
    }
}

impl Running<'_> {
    fn needs(&self, frame: u32) -> bool {
        self.artifacts.as_ref().is_some_and(|artifacts| artifacts.needs(frame))
    }

    /// Records a frame.
    fn record(&mut self, frame: u32, group: &Group, reading: &Reading) -> Result<(), Failure> {
        let Reading { state, collider_poses, .. } = reading;
        let copies = &reading.copies[self.member.job_cloths.clone()];
        for ((findings, edges), copies) in self.findings.iter_mut().zip(&mut self.edges).zip(copies)
        {
            findings.update(frame, &group.job, state, &copies.ids, &copies.poses, edges);
            findings.contact.clone_from(&copies.contact);
        }
        let Some(artifacts) = &mut self.artifacts else { return Ok(()) };
        let posed_cloths = self.job_cloths.iter().zip(copies);
        let posed_cloths: Vec<_> = posed_cloths
            .map(|(job_cloth, Copies { ids, poses, .. })| PosedCloth { job_cloth, ids, poses })
            .collect();
        artifacts.record(frame, &group.job, self.job_cloths, &posed_cloths, state, collider_poses)
    }

    /// Measures the last frame, then completes and publishes the files; discards those of a faulty
    /// job.
    fn end(
        mut self,
        group: &Group,
        reading: &Reading,
        store: &Store,
        backend: &'static str,
    ) -> Result<Ended, Failure> {
        let (job, index) = (&group.job, self.member.index);
        if let Some(fault) = self.fault() {
            store.discard(index);
            return Ok(Ended { index, result: Err(fault) });
        }
        let all_copies = &reading.copies[self.member.job_cloths.clone()];
        for ((findings, job_cloth), Copies { ids, poses, .. }) in
            self.findings.iter_mut().zip(self.job_cloths).zip(all_copies)
        {
            let Reading { state, collider_poses, .. } = reading;
            findings.measure_ending(job_cloth, state, ids, poses, collider_poses)?;
        }
        let depths = Ending::depths(self.findings.iter().map(|findings| &findings.ending));
        let (collider_depth, tangle) = (depths.map(|(depth, _)| depth), self.tangle(reading));
        let last = self.findings.iter().map(|findings| findings.last_strain);
        let strain = last.fold(Default::default(), poplin_measure::strain::Strain::worse);
        let speeds = self.findings.iter().map(|findings| findings.last_speed);
        let warnings = self.job_cloths.iter().zip(&self.findings);
        let warnings = warnings
            .flat_map(|(job_cloth, findings)| {
                findings.warnings(job, job_cloth, job.frames, backend)
            })
            .chain(Warning::of_tangle(self.job_cloths, tangle, job.cloth_contact_solver.contact))
            .chain(Warning::of_scene(
                self.job_cloths,
                &self.member.colliders,
                job.cloth_contact_solver.contact,
            ))
            .collect();
        let mut result = JobResult {
            frames: job.frames,
            particle_count: self.job_cloths.iter().map(JobCloth::particle_count).sum(),
            max_edge_strain: strain.max,
            p99_edge_strain: strain.p99,
            max_speed_m_per_s: speeds.fold(0.0, f32::max),
            collider_depth,
            tangle,
            warnings,
            particle_hash: self.hash(reading),
            files: Vec::new(),
            seconds: 0.0,
            group: group.members.len(),
            backend,
        };
        if let Some(artifacts) = self.artifacts {
            result.files = artifacts.finish(job, self.job_cloths, &self.member.colliders)?;
            store.publish(index)?;
        }
        Ok(Ended { index, result: Ok(result) })
    }

    /// Returns the error message of a faulty job.
    fn fault(&self) -> Option<String> {
        self.job_cloths.iter().zip(&self.findings).find_map(|(job_cloth, findings)| {
            let name = &job_cloth.name;
            let frozen = findings.faults.first().map(|fault| {
                let particles = counted(fault.count as usize, "particle");
                let copy =
                    if fault.copy > 0 { format!(", copy {},", fault.copy) } else { String::new() };
                let drivers = moved_by(&job_cloth.drivers());
                format!(
                    "cloth `{name}`{copy} is frozen: {particles} became NaN, infinite or too far \
                     away{drivers}"
                )
            });
            frozen
                .or_else(|| (!findings.is_finite).then(|| format!("cloth `{name}` is not finite")))
        })
    }

    /// Returns the cloths of the job with their copies.
    fn copies<'b>(
        &'b self,
        reading: &'b Reading,
    ) -> impl Iterator<Item = (&'b JobCloth, &'b Copies)> {
        self.job_cloths.iter().zip(&reading.copies[self.member.job_cloths.clone()])
    }

    fn tangle(&self, reading: &Reading) -> Option<Tangle> {
        let mut field = TangleField::default();
        let mut is_empty = true;
        for (job_cloth, Copies { ids, poses, .. }) in self.copies(reading) {
            let Some(distance) = kept_distance(&job_cloth.cloth) else { continue };
            for (&id, &pose) in ids.iter().zip(poses) {
                field.add(&job_cloth.cloth, distance, pose, reading.state.current(id));
                is_empty = false;
            }
        }
        if is_empty { None } else { field.measure() }
    }

    fn hash(&self, reading: &Reading) -> String {
        let mut hash = Fnv::new();
        for &id in self.copies(reading).flat_map(|(_, copies)| &copies.ids) {
            let values = Particle::rows(reading.state.current(id)).iter().flatten();
            hash.add(values.flat_map(|value| value.to_le_bytes()));
        }
        hash.hex()
    }
}
