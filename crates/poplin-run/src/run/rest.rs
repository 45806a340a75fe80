//! Detection of rest, to end a run before its last frame.

use crate::failure::Failure;
use crate::job::Job;
use crate::job_simulation::JobSimulation;
use crate::run::record::poses;

/// Time without motion after which cloths count as at rest [s].
const CALM: f64 = 0.5;

/// Watch for the frame after which nothing moves any more.
#[derive(Debug)]
pub struct RestWatch {
    /// Speed of a vertex at rest [m/s].
    limit: f32,
    /// Last key of pins, local spaces and accelerations, and last motion of colliders [s].
    last_motion: f64,
    /// Vertices of the frame before, in the world [m].
    before: Vec<[f32; 3]>,
    now: Vec<[f32; 3]>,
    /// Consecutive frames without motion.
    calm: u32,
}

impl RestWatch {
    /// Watches for half a second in which no vertex moves faster than `limit` \[m/s\], after the
    /// last key of the cloths and the last motion of the colliders.
    pub fn new(job: &Job, limit: f32) -> Self {
        let last_key = job.cloths.iter().map(|job_cloth| job_cloth.last_key()).fold(0.0, f64::max);
        let frame_rate = f64::from(job.frame_rate);
        let moves = |frame: &u32| {
            let [from, to] = [frame - 1, *frame].map(|frame| f64::from(frame) / frame_rate);
            job.colliders
                .iter()
                .any(|collider| collider.body.is_none() && !collider.rests(from, to))
        };
        let last_frame = (1..=job.frames).rev().find(moves).unwrap_or(0);
        let last_motion = last_key.max(f64::from(last_frame) / frame_rate);
        Self { limit, last_motion, before: Vec::new(), now: Vec::new(), calm: 0 }
    }

    /// Reads back a frame and returns true if the scene is at rest. Call it after every frame.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the backend fails.
    pub fn is_at_rest(
        &mut self,
        frame: u32,
        job: &Job,
        running: &mut JobSimulation,
    ) -> Result<bool, Failure> {
        let state = running.simulation.state()?;
        std::mem::swap(&mut self.before, &mut self.now);
        self.now.clear();
        for (job_cloth, ids) in job.cloths.iter().zip(&running.ids) {
            for (&id, pose) in ids.iter().zip(poses(&running.simulation, ids)?) {
                job_cloth.append_vertices(pose, state.current(id), &mut self.now);
            }
        }
        let moves = |(a, b): (&[f32; 3], &[f32; 3])| {
            let square = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>();
            square.sqrt() * job.frame_rate > self.limit
        };
        let is_calm =
            self.before.len() == self.now.len() && !self.before.iter().zip(&self.now).any(moves);
        self.calm = if is_calm { self.calm + 1 } else { 0 };
        let frame_rate = f64::from(job.frame_rate);
        let is_long = f64::from(self.calm) >= CALM * frame_rate;
        Ok(is_long && f64::from(frame) >= self.last_motion * frame_rate)
    }
}
