//! A simulation with the cloths of a job in it, and how it goes from frame to frame.

use std::collections::HashMap;
use std::sync::Arc;

use poplin::{Backend, BackendChoice, ClothId, Simulation, State};
use poplin_io::scene::{BuiltCollider, Wind};
use poplin_model::{ColliderId, ContactMode, ContactReport, Frame, Particle};

use crate::bodies::{Bodies, ColliderPoses};
use crate::failure::{Failure, OrFail};
use crate::job::Job;
use crate::output::counted;

/// A simulation with the cloths of a job in it.
pub(crate) struct JobSimulation {
    /// The simulation.
    pub(crate) simulation: Simulation,
    /// The copies of each garment.
    pub(crate) ids: Vec<Vec<ClothId>>,
    /// The wind that each garment feels and its settings do not hold.
    pub(crate) winds: Vec<Option<Wind>>,
    /// The colliders of the job.
    colliders: Vec<ColliderId>,
    /// Those of them that are rigid bodies.
    bodies: Bodies,
    /// The last step, from 1, or the one that is prepared; a frame has [`Job::steps`].
    step: u64,
    /// Time at its end \[s\].
    time: f64,
    /// The one on a GPU that goes on once nothing is crossed.
    later: Option<Simulation>,
    /// What contact of triangles reported of cloths until it did, and after how many steps that was.
    earlier: HashMap<ClothId, ContactReport>,
    untangled: u64,
}

impl JobSimulation {
    /// Fills an empty simulation.
    pub(crate) fn new(simulation: Simulation, job: &Job) -> Result<Self, Failure> {
        let winds = job.cloths.iter().map(|job_cloth| job_cloth.wind).collect();
        let (ids, colliders, bodies) = (Vec::new(), Vec::new(), Bodies::default());
        let mut running = Self {
            simulation,
            ids,
            winds,
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

    /// Fills an empty simulation. What starts crossed begins on the CPU if that is one on a GPU, which untangles nothing.
    pub(crate) fn untangling(simulation: Simulation, job: &Job) -> Result<Self, Failure> {
        let has_triangles = job.cloth_contact_solver.contact == ContactMode::Triangles;
        if !has_triangles || simulation.backend().backend != Backend::Gpu {
            return Self::new(simulation, job);
        }
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

    /// Goes on on the GPU once nothing is crossed.
    fn hand_over(&mut self) -> Result<(), Failure> {
        let Some(mut simulation) = self.later.take() else { return Ok(()) };
        let state = self.simulation.state()?;
        if self.ids.iter().flatten().any(|&id| state.contact_report(id).crossings > 0) {
            self.later = Some(simulation);
            return Ok(());
        }
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

    /// Where it runs, and why there.
    pub(crate) fn backend(&self, job: &Job) -> BackendChoice {
        let mut choice = self.simulation.backend().clone();
        if self.later.is_some() {
            choice.reason =
                String::from("a GPU untangles nothing, and something was still crossed");
        } else if self.untangled > 0 {
            let frames = counted((self.untangled / u64::from(job.steps)) as usize, "frame");
            choice.reason += &format!("; the first {frames} on the CPU, which untangles");
        }
        choice
    }

    /// What contact of triangles reports of cloths in a state, since the start.
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

    /// The simulation that it was made of.
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
        for job_cloth in &job.cloths {
            let copies =
                (0..job_cloth.offsets.len()).map(|copy| self.simulation.add(job_cloth.copy(copy)));
            let copies = copies.collect::<Result<Vec<_>, _>>()?;
            for &id in &copies {
                let live = self.simulation.cloth_mut(id)?;
                live.set_motion_spheres(&job_cloth.motion_spheres).map_err(poplin::Error::from)?;
                live.set_separation_spheres(&job_cloth.separation_spheres)
                    .map_err(poplin::Error::from)?;
            }
            self.ids.push(copies);
        }
        Ok(())
    }

    /// Goes back to the start with the settings as they are now.
    #[cfg(feature = "view")]
    pub(crate) fn reset(&mut self, job: &Job) -> Result<(), Failure> {
        let mut configs = Vec::with_capacity(self.ids.len());
        for ids in &self.ids {
            let of_copy = |&id: &ClothId| Ok(self.simulation.cloth(id)?.cloth().config.clone());
            configs.push(ids.iter().map(of_copy).collect::<Result<Vec<_>, poplin::Error>>()?);
        }
        self.simulation.clear();
        // Bodies too, which are no colliders.
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
    pub(crate) fn advance(&mut self, job: &Job, frame: u32) -> Result<(), Failure> {
        let step = self.prepare(job, frame)?;
        self.step(job, &step)?;
        self.hand_over()
    }

    /// Sets what the job moves over the first step of the next frame, whose index is `frame`, from 1. Returns that step.
    pub(crate) fn prepare(&mut self, job: &Job, frame: u32) -> Result<Frame, Failure> {
        self.prepare_step(job, u64::from(frame - 1) * u64::from(job.steps) + 1)
    }

    /// The same for the step of this index, from 1.
    fn prepare_step(&mut self, job: &Job, step: u64) -> Result<Frame, Failure> {
        let rate = f64::from(job.frame_rate) * f64::from(job.steps);
        let [before, time] = [step - 1, step].map(|step| step as f64 / rate);
        self.step = step;
        self.move_pins(job, time)?;
        self.move_frames(job, time)?;
        self.move_colliders(job, before, time)?;
        self.bodies
            .lead(self.simulation.colliders_mut(), rate.recip())
            .map_err(poplin::Error::from)?;
        self.blow(time)?;
        // Over a step it is that of its middle: the velocity at its end is then right.
        self.accelerate(job, (0.5 * (before + time)) as f32)?;
        self.time = time;
        Ok(Frame { dt: (job.frame_rate * job.steps as f32).recip() })
    }

    /// Simulates the frame whose first step was prepared.
    pub(crate) fn step(&mut self, job: &Job, step: &Frame) -> Result<(), Failure> {
        self.simulate(step)?;
        for _ in 1..job.steps {
            let step = self.prepare_step(job, self.step + 1)?;
            self.simulate(&step)?;
        }
        Ok(())
    }

    fn simulate(&mut self, step: &Frame) -> Result<(), Failure> {
        self.simulation.step(step)?;
        self.simulation.wait()?;
        if !self.bodies.is_empty() {
            self.bodies.take(&self.simulation.state()?);
        }
        Ok(())
    }

    /// Where colliders are after the last frame.
    pub(crate) fn collider_poses(&self) -> ColliderPoses {
        self.bodies.collider_poses(self.time)
    }

    /// What has come of rigid bodies.
    pub(crate) fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Moves animated pins to where they are in their local spaces at a time \[s\].
    fn move_pins(&mut self, job: &Job, time: f64) -> Result<(), Failure> {
        for (job_cloth, ids) in job.cloths.iter().zip(&self.ids) {
            for moving in &job_cloth.moving {
                let motion = moving.path.motion(time);
                let position = |&particle: &u32| {
                    let start = job_cloth.cloth.particles[particle as usize].position;
                    Particle { position: motion.apply(start), inverse_mass: 0.0 }
                };
                let positions: Vec<_> = moving.particles.iter().map(position).collect();
                for &id in ids {
                    self.simulation
                        .cloth_mut(id)?
                        .write_particles(&moving.particles, &positions)
                        .map_err(poplin::Error::from)?;
                }
            }
        }
        Ok(())
    }

    /// Moves local spaces over the next frame to where they are at a time \[s\].
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

    /// Moves colliders over the next frame, from one time \[s\] to another, to where they are then. Those that do not move
    /// are left alone, so that cloths may sleep.
    fn move_colliders(&mut self, job: &Job, from: f64, to: f64) -> Result<(), Failure> {
        let set = self.simulation.colliders_mut();
        for (collider, id) in job.colliders.iter().zip(&self.colliders) {
            if !collider.rests(from, to) {
                let shape = collider.shape_at(to).or_bad_input()?;
                set.set_shape(*id, shape).map_err(poplin::Error::from)?;
            }
        }
        for (job_cloth, ids) in job.cloths.iter().zip(&self.ids) {
            for (collider, &own) in job_cloth.colliders().zip(&job_cloth.own_colliders) {
                if collider.rests(from, to) {
                    continue;
                }
                let shape = collider.shape_at(to).or_bad_input()?;
                for &id in ids {
                    let set = self.simulation.cloth_mut(id)?.colliders_mut();
                    set.set_shape(own, shape.clone()).map_err(poplin::Error::from)?;
                }
            }
        }
        Ok(())
    }

    /// Sets accelerations that change to those of a time \[s\].
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

    /// Sets the wind of a time \[s\].
    fn blow(&mut self, time: f64) -> Result<(), Failure> {
        for (wind, ids) in self.winds.iter().zip(&self.ids) {
            let Some(wind) = wind else { continue };
            for &id in ids {
                let live = self.simulation.cloth_mut(id)?;
                let mut config = live.cloth().config.clone();
                config.air.wind_velocity = wind.velocity_at(time);
                live.set_config(config).map_err(poplin::Error::from)?;
            }
        }
        Ok(())
    }
}
