//! A simulation with the cloths of a job in it, and how it goes from frame to frame.

use std::sync::Arc;

use poplin::{ClothId, Simulation};
use poplin_io::scene::{BuiltCollider, Wind};
use poplin_model::{ColliderId, Frame, Particle};

use crate::failure::{Failure, OrFail};
use crate::job::Job;

/// A simulation with the cloths of a job in it.
pub(crate) struct Stage {
    /// The simulation.
    pub(crate) simulation: Simulation,
    /// The copies of each garment.
    pub(crate) ids: Vec<Vec<ClothId>>,
    /// The wind that each garment feels and its settings do not hold.
    pub(crate) winds: Vec<Option<Wind>>,
    /// The colliders of the job.
    colliders: Vec<ColliderId>,
}

impl Stage {
    /// Fills an empty simulation.
    pub(crate) fn new(simulation: Simulation, job: &Job) -> Result<Self, Failure> {
        let winds = job.garments.iter().map(|garment| garment.wind).collect();
        let mut stage = Self { simulation, ids: Vec::new(), winds, colliders: Vec::new() };
        stage.fill(job)?;
        Ok(stage)
    }

    fn fill(&mut self, job: &Job) -> Result<(), Failure> {
        self.simulation.set_cloth_contact_solver(job.cloth_contact_solver)?;
        let set = self.simulation.colliders_mut();
        let add = |collider: &Arc<BuiltCollider>| {
            let collider = collider.collider_at(0.0).or_bad_input()?;
            Ok::<_, Failure>(set.add(collider).map_err(poplin::Error::from)?)
        };
        self.colliders = job.colliders.iter().map(add).collect::<Result<_, _>>()?;
        self.ids.clear();
        for garment in &job.garments {
            let copies =
                (0..garment.offsets.len()).map(|copy| self.simulation.add(garment.copy(copy)));
            self.ids.push(copies.collect::<Result<_, _>>()?);
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
        for id in std::mem::take(&mut self.colliders) {
            self.simulation.colliders_mut().remove(id).map_err(poplin::Error::from)?;
        }
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
        let frame = self.prepare(job, frame)?;
        self.step(&frame)
    }

    /// Sets what the job moves over the next frame, whose index is `frame`, from 1.
    pub(crate) fn prepare(&mut self, job: &Job, frame: u32) -> Result<Frame, Failure> {
        let rate = f64::from(job.frame_rate);
        let time = f64::from(frame) / rate;
        self.move_pins(job, time as f32)?;
        self.move_frames(job, time)?;
        self.move_colliders(job, f64::from(frame - 1) / rate, time)?;
        self.blow(time)?;
        Ok(Frame { dt: job.frame_rate.recip() })
    }

    /// Simulates the frame that was prepared.
    pub(crate) fn step(&mut self, frame: &Frame) -> Result<(), Failure> {
        self.simulation.step(frame)?;
        Ok(self.simulation.wait()?)
    }

    /// Moves animated pins to where they are in their local spaces at a time \[s\].
    fn move_pins(&mut self, job: &Job, time: f32) -> Result<(), Failure> {
        for (garment, ids) in job.garments.iter().zip(&self.ids) {
            for moving in &garment.moving {
                let step = moving.path.translation(time);
                let position = |&particle: &u32| {
                    let [x, y, z] = garment.cloth.particles[particle as usize].position;
                    let position = [x + step[0], y + step[1], z + step[2]];
                    Particle { position, inverse_mass: 0.0 }
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
        for (garment, ids) in
            job.garments.iter().zip(&self.ids).filter(|(garment, _)| garment.has_moving_frame())
        {
            for (copy, &id) in ids.iter().enumerate() {
                let pose = garment.pose_at(copy, time);
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
        for (garment, ids) in job.garments.iter().zip(&self.ids) {
            for (collider, &own) in garment.colliders().zip(&garment.own_colliders) {
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
