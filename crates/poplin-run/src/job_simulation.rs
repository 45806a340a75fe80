//! Simulation of the cloths of a job, frame by frame.

use std::collections::HashMap;
use std::sync::Arc;

use poplin::{Backend, BackendChoice, ClothId, HoldId, ParticleMotion, Simulation, State};
use poplin_model::{ColliderId, ColliderSet, ContactMode, ContactReport, Particle, Sphere};
use poplin_scene::{BuiltCollider, Wind};

use crate::bodies::{Bodies, ColliderPoses};
use crate::failure::{Failure, OrFail};
use crate::job::Job;
use crate::job_cloth::MovingParticles;
use crate::numbers::counted;

/// Simulation that contains the cloths, colliders and rigid bodies of a job.
#[derive(Debug)]
pub struct JobSimulation {
    /// Simulation that runs now.
    pub simulation: Simulation,
    /// Copies of each cloth of the job.
    pub ids: Vec<Vec<ClothId>>,
    /// Time-dependent wind of each cloth, if it has one that acts on it.
    pub winds: Vec<Option<Wind>>,
    /// Hold of the released pins of each cloth, by their index among its animated pins.
    holds: HashMap<(ClothId, usize), HoldId>,
    /// Colliders of the job.
    colliders: Vec<ColliderId>,
    /// Rigid bodies among the colliders.
    bodies: Bodies,
    /// Index of the last or prepared step, from 1; a frame has [`Job::steps`].
    step: u64,
    /// Time at the end of that step \[s\].
    time: f64,
    /// Empty GPU simulation that takes over once no cloth is crossed.
    later: Option<Simulation>,
    /// Contact reports of the CPU simulation, by cloth of the GPU simulation that took over.
    earlier: HashMap<ClothId, ContactReport>,
    /// Steps simulated on the CPU before a GPU took over; 0 if none did.
    untangled: u64,
}

impl JobSimulation {
    /// Adds the job to an empty simulation.
    ///
    /// # Errors
    /// [`Failure`] if the backend fails or a collider cannot be moved.
    pub fn new(simulation: Simulation, job: &Job) -> Result<Self, Failure> {
        let winds = job.cloths.iter().map(|job_cloth| job_cloth.wind).collect();
        let (ids, colliders, bodies) = (Vec::new(), Vec::new(), Bodies::default());
        let mut running = Self {
            simulation,
            ids,
            winds,
            holds: HashMap::new(),
            colliders,
            bodies,
            step: 0,
            time: 0.0,
            later: None,
            earlier: HashMap::new(),
            untangled: 0,
        };
        running.fill(job)?;
        Ok(running)
    }

    /// Adds the job to an empty simulation. If it is on a GPU and cloth starts crossed, simulates
    /// on the CPU until nothing is crossed, because a GPU does not untangle.
    ///
    /// # Errors
    /// [`Failure`] if the backend fails or a collider cannot be moved.
    pub fn untangling(simulation: Simulation, job: &Job) -> Result<Self, Failure> {
        let has_triangles = job.cloth_contact_solver.contact == ContactMode::Triangles;
        if !has_triangles || simulation.backend().backend != Backend::Gpu {
            return Self::new(simulation, job);
        }
        // One frame on the CPU counts the crossings at the start.
        let on_cpu = || Self::new(Simulation::new(Backend::Cpu)?, job);
        let mut first_frame = on_cpu()?;
        first_frame.advance(job, 1)?;
        let state = first_frame.simulation.state()?;
        let mut ids = first_frame.ids.iter().flatten();
        if ids.all(|&id| state.contact_report(id).start_crossings == 0) {
            return Self::new(simulation, job);
        }
        let mut running = on_cpu()?;
        running.later = Some(simulation);
        Ok(running)
    }

    /// Moves the state to the waiting GPU simulation once nothing is crossed.
    fn hand_over(&mut self) -> Result<(), Failure> {
        let Some(mut simulation) = self.later.take() else { return Ok(()) };
        let state = self.simulation.state()?;
        if self.ids.iter().flatten().any(|&id| state.contact_report(id).crossings > 0) {
            self.later = Some(simulation);
            return Ok(());
        }
        // The snapshot restores cloths in the same order, but with new ids.
        let old = self.simulation.ids().to_vec();
        let new = simulation.restore(&self.simulation.save()?)?;
        let new: HashMap<ClothId, ClothId> = old.into_iter().zip(new).collect();
        for id in self.ids.iter_mut().flatten() {
            if let Some(&new) = new.get(id) {
                self.earlier.insert(new, state.contact_report(*id));
                *id = new;
            }
        }
        self.untangled = self.step;
        self.simulation = simulation;
        Ok(())
    }

    /// Returns the backend in use, with the reason.
    pub fn backend(&self, job: &Job) -> BackendChoice {
        let mut choice = self.simulation.backend().clone();
        if self.later.is_some() {
            choice.reason = String::from("a GPU does not untangle, and cloth was still crossed");
        } else if self.untangled > 0 {
            let frames = counted((self.untangled / u64::from(job.steps)) as usize, "frame");
            choice.reason += &format!("; the first {frames} on the CPU, which untangles");
        }
        choice
    }

    /// Returns the triangle contact reports of cloths since the start, counted in frames of the
    /// job.
    pub(crate) fn contact_reports(
        &self,
        job: &Job,
        state: &State,
        ids: &[ClothId],
    ) -> Vec<ContactReport> {
        let report = |id: &ClothId| {
            let report = state.contact_report(*id);
            let earlier = self.earlier.get(id);
            let report = earlier.map_or(report, |earlier| earlier.followed_by(&report));
            report.of_longer_frames(job.steps)
        };
        ids.iter().map(report).collect()
    }

    /// Returns the simulation that [`Self::new`] or [`Self::untangling`] got.
    pub(crate) fn into_simulation(self) -> Simulation {
        self.later.unwrap_or(self.simulation)
    }

    fn fill(&mut self, job: &Job) -> Result<(), Failure> {
        self.simulation.set_cloth_contact_solver(job.cloth_contact_solver)?;
        let set = self.simulation.colliders_mut();
        self.bodies = Bodies::default();
        (self.step, self.time) = (0, 0.0);
        let add = |collider: &Arc<BuiltCollider>| match collider.body {
            Some(body) => self.bodies.add(collider, body, set),
            None => set.add(collider.collider_at(0.0).or_bad_input()?).or_bad_input(),
        };
        self.colliders = job.colliders.iter().map(add).collect::<Result<_, _>>()?;
        self.ids.clear();
        self.holds.clear();
        for job_cloth in &job.cloths {
            let copies =
                (0..job_cloth.offsets.len()).map(|copy| self.simulation.add(job_cloth.copy(copy)));
            let copies = copies.collect::<Result<Vec<_>, _>>()?;
            for &id in &copies {
                if !job_cloth.velocities.is_empty() {
                    let motion = ParticleMotion::Velocities(&job_cloth.velocities);
                    self.simulation.set_particles(id, &job_cloth.cloth.particles, motion)?;
                }
                let live = self.simulation.cloth_mut(id)?;
                live.set_motion_spheres(&job_cloth.motion_spheres).map_err(poplin::Error::from)?;
                live.set_separation_spheres(&job_cloth.separation_spheres)
                    .map_err(poplin::Error::from)?;
            }
            self.ids.push(copies);
        }
        Ok(())
    }

    /// Resets all cloths and colliders to the start; keeps the current settings.
    ///
    /// # Errors
    /// [`Failure`] if the backend fails or a collider cannot be moved.
    pub fn reset(&mut self, job: &Job) -> Result<(), Failure> {
        let mut configs = Vec::with_capacity(self.ids.len());
        for ids in &self.ids {
            let of_copy = |&id: &ClothId| Ok(self.simulation.cloth(id)?.desc().config.clone());
            configs.push(ids.iter().map(of_copy).collect::<Result<Vec<_>, poplin::Error>>()?);
        }
        self.simulation.clear();
        // Clears rigid bodies as well, which are stored beside the colliders.
        self.simulation.colliders_mut().clear();
        self.fill(job)?;
        for (ids, configs) in self.ids.iter().zip(configs) {
            for (&id, config) in ids.iter().zip(configs) {
                let cloth = self.simulation.cloth_mut(id)?;
                cloth.set_config(config).map_err(poplin::Error::from)?;
            }
        }
        Ok(())
    }

    /// Simulates the next frame, whose index is `frame`, from 1.
    ///
    /// # Errors
    /// [`Failure`] if the backend fails or a collider cannot be moved.
    pub fn advance(&mut self, job: &Job, frame: u32) -> Result<(), Failure> {
        let dt = self.prepare(job, frame)?;
        self.step(job, dt)?;
        self.hand_over()
    }

    /// Sets the motion of pins, local spaces, colliders and wind over the first step of frame
    /// `frame`, from 1. Returns the length of that step \[s\].
    ///
    /// # Errors
    /// [`Failure`] if the backend fails or a collider cannot be moved.
    pub fn prepare(&mut self, job: &Job, frame: u32) -> Result<f32, Failure> {
        self.prepare_step(job, u64::from(frame - 1) * u64::from(job.steps) + 1)
    }

    /// Does the same for the step of this index, from 1.
    fn prepare_step(&mut self, job: &Job, step: u64) -> Result<f32, Failure> {
        let rate = f64::from(job.frame_rate) * f64::from(job.steps);
        let [before, time] = [step - 1, step].map(|step| step as f64 / rate);
        self.step = step;
        self.move_pins(job, before, time)?;
        self.move_frames(job, time)?;
        self.move_colliders(job, before, time)?;
        self.bodies
            .advance(self.simulation.colliders_mut(), rate.recip())
            .map_err(poplin::Error::from)?;
        self.set_wind(time)?;
        // Midpoint rule: an acceleration linear in time then yields the exact velocity.
        self.accelerate(job, (0.5 * (before + time)) as f32)?;
        self.time = time;
        Ok((job.frame_rate * job.steps as f32).recip())
    }

    /// Simulates all steps of the frame whose first step was prepared.
    ///
    /// # Errors
    /// [`Failure`] if the backend fails or a collider cannot be moved.
    pub fn step(&mut self, job: &Job, dt: f32) -> Result<(), Failure> {
        self.simulate(dt)?;
        for _ in 1..job.steps {
            let dt = self.prepare_step(job, self.step + 1)?;
            self.simulate(dt)?;
        }
        self.bodies.end_frame(f64::from(job.frame_rate).recip());
        Ok(())
    }

    fn simulate(&mut self, dt: f32) -> Result<(), Failure> {
        self.simulation.step(dt)?;
        self.simulation.wait()?;
        if !self.bodies.is_empty() {
            self.bodies.apply_impulses(&self.simulation.state()?);
        }
        Ok(())
    }

    /// Returns the poses of colliders after the last step.
    pub fn collider_poses(&self) -> ColliderPoses {
        self.bodies.collider_poses(self.time)
    }

    /// Returns the rigid bodies.
    pub(crate) fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Moves animated pins to their local positions at time `to` \[s\], and lets released ones go.
    fn move_pins(&mut self, job: &Job, from: f64, to: f64) -> Result<(), Failure> {
        for (job_cloth, ids) in job.cloths.iter().zip(&self.ids) {
            for (index, moving) in job_cloth.moving.iter().enumerate() {
                let MovingParticles { particles, path } = moving;
                let positions_at = |time| {
                    let motion = path.motion(time);
                    let particles = particles.iter();
                    particles
                        .map(move |&p| motion.apply(job_cloth.cloth.particles[p as usize].position))
                };
                let spheres_at = |time| -> Vec<_> {
                    positions_at(time).map(|center| Sphere { center, radius: 0.0 }).collect()
                };
                for &id in ids {
                    let live = self.simulation.cloth_mut(id)?;
                    let held = (id, index);
                    if path.is_released(from, to) {
                        if let Some(hold) = self.holds.remove(&held) {
                            live.release(hold);
                        }
                    } else if path.release.is_some() {
                        let hold = match self.holds.get(&held) {
                            Some(&hold) => hold,
                            None => {
                                let spheres = spheres_at(from);
                                live.hold(particles, &spheres).map_err(poplin::Error::from)?
                            }
                        };
                        self.holds.insert(held, hold);
                        live.move_hold(hold, &spheres_at(to)).map_err(poplin::Error::from)?;
                    } else {
                        let pin = |position| Particle { position, inverse_mass: 0.0 };
                        let pins: Vec<_> = positions_at(to).map(pin).collect();
                        live.write_particles(particles, &pins).map_err(poplin::Error::from)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Moves local spaces over the next step to their poses at a time \[s\].
    fn move_frames(&mut self, job: &Job, time: f64) -> Result<(), Failure> {
        for (job_cloth, ids) in
            job.cloths.iter().zip(&self.ids).filter(|(job_cloth, _)| job_cloth.has_moving_frame())
        {
            for (copy, &id) in ids.iter().enumerate() {
                let pose = job_cloth.pose_at(copy, time);
                self.simulation.cloth_mut(id)?.set_pose(pose).map_err(poplin::Error::from)?;
            }
        }
        Ok(())
    }

    /// Moves colliders over the next step to their positions at time `to` \[s\]. Skips colliders at
    /// rest, so that cloths can sleep.
    fn move_colliders(&mut self, job: &Job, from: f64, to: f64) -> Result<(), Failure> {
        let set = self.simulation.colliders_mut();
        for (collider, id) in job.colliders.iter().zip(&self.colliders) {
            if !collider.rests(from, to) {
                move_collider(set, *id, collider, to)?;
            }
        }
        for (job_cloth, ids) in job.cloths.iter().zip(&self.ids) {
            for (collider, &own) in job_cloth.colliders().zip(&job_cloth.own_colliders) {
                if collider.rests(from, to) {
                    continue;
                }
                for &id in ids {
                    let set = self.simulation.cloth_mut(id)?.colliders_mut();
                    move_collider(set, own, collider, to)?;
                }
            }
        }
        Ok(())
    }

    /// Sets time-dependent accelerations to their values at a time \[s\].
    fn accelerate(&mut self, job: &Job, time: f32) -> Result<(), Failure> {
        for (job_cloth, ids) in job.cloths.iter().zip(&self.ids) {
            if !job_cloth.has_changing_accelerations() {
                continue;
            }
            let all = job_cloth.accelerations_at(time);
            for &id in ids {
                let live = self.simulation.cloth_mut(id)?;
                live.set_particle_accelerations(&all).map_err(poplin::Error::from)?;
            }
        }
        Ok(())
    }

    /// Sets wind velocities to their values at a time \[s\].
    fn set_wind(&mut self, time: f64) -> Result<(), Failure> {
        for (wind, ids) in self.winds.iter().zip(&self.ids) {
            let Some(wind) = wind else { continue };
            for &id in ids {
                let live = self.simulation.cloth_mut(id)?;
                let mut config = live.desc().config.clone();
                config.air.wind_velocity = wind.velocity_at(time);
                live.set_config(config).map_err(poplin::Error::from)?;
            }
        }
        Ok(())
    }
}

/// Moves a collider over the next step to its place at a time \[s\]. Its rotation goes with its
/// pose, so that surfaces that move along themselves carry cloth by friction.
fn move_collider(
    set: &mut ColliderSet,
    id: ColliderId,
    collider: &BuiltCollider,
    time: f64,
) -> Result<(), Failure> {
    if let Some(shape) = collider.vertices_at(time).or_bad_input()? {
        set.set_shape(id, shape).map_err(poplin::Error::from)?;
    }
    let pose = collider.pose_at(time);
    Ok(set.set_pose(id, pose).map_err(poplin::Error::from)?)
}
