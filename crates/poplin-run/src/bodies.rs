//! Rigid bodies of a job: their motion, and the poses of colliders over time.
//!
//! The engine returns the impulse of the cloths on a body in a step ([`RigidBody`]). This module
//! integrates the motion by semi-implicit Euler: gravity changes the velocity at the start of a
//! step, the body moves with that velocity, and the impulses of the cloths are added at the end.
//! The body rotates by its angular momentum, which only cloths change. Bodies pass through other
//! colliders and bodies.
//!
//! A body that cloth stops still moves until the end of the step, and the cloth that it stretches
//! throws it back: at 60 steps per second a ball of 0.5 kg that falls 0.4 m onto a sheet bounces
//! 2.8 m above its start, at 120 0.5 m, at 480 it stays below. Frames are therefore split into
//! steps.

use std::sync::Arc;

use glam::{DMat3, DQuat, DVec3};
use poplin::State;
use poplin_geometry::{Bounds, wide};
use poplin_model::{
    BodyId, Collider, ColliderId, ColliderSet, ModelError, Pose, Rigid, RigidBody, Shape, Solver,
    SolverChoice,
};
use poplin_scene::{BuiltBody, BuiltCollider, Extent, SceneError};
use serde::Serialize;

use crate::failure::{Failure, OrFail};
use crate::job_cloth::JobCloth;

/// Minimum number of steps per second with rigid bodies [1/s].
const STEP_RATE: f32 = 480.0;

/// Largest frequency that is chosen for bodies [1/s].
const MAX_FREQUENCY: f32 = 9960.0;

/// Least acceleration of a body that cloth stops [m/s^2].
const EARTH: f64 = 9.81;

/// Returns the number of steps per frame with these colliders.
pub(crate) fn steps(colliders: &[Arc<BuiltCollider>], frame_rate: f32) -> u32 {
    let has_bodies = colliders.iter().any(|collider| collider.body.is_some());
    if has_bodies { (STEP_RATE / frame_rate).ceil().max(1.0) as u32 } else { 1 }
}

/// Iterations in the time in which the weight of a body accelerates the cloth under it over a mean
/// edge, squared: with fewer the body parts the cloth. Measured with balls of 1 to 30 kg on sheets
/// of 0.2 kg with edges of 16 to 63 mm, which hold from 20 to 60.
const LOADED_ITERATIONS: f64 = 64.0;

/// Returns the next multiple of `whole` from a chosen frequency on [1/s], or the last one below
/// [`MAX_FREQUENCY`].
fn whole_frequency(frequency: f32, whole: f32) -> f32 {
    let most = (MAX_FREQUENCY / whole).floor().max(1.0);
    (frequency / whole).ceil().min(most) * whole
}

/// Division of frames for rigid bodies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameSplit {
    /// Steps of a frame; 1 without bodies.
    pub(crate) steps: u32,
    /// Stated substeps of a frame; 0 if the solver has a frequency.
    pub(crate) asked_substeps: u32,
}

impl Default for FrameSplit {
    fn default() -> Self {
        Self { steps: 1, asked_substeps: 0 }
    }
}

impl JobCloth {
    /// Raises a chosen frequency so that the cloth holds the rigid bodies that may fall on it.
    /// Returns a line for the summary.
    ///
    /// In a step `h` the cloth under a body, of mass `m`, is pulled by `M g h^2 / m`. That is to be
    /// a small part of an edge.
    pub(crate) fn raise_for_bodies(&mut self, steps: u32, frame_rate: f32) -> Option<String> {
        let (choice, report) = (self.solver_choice?, &self.report);
        let density = report.mass / report.area;
        let edge = f64::from(choice.edge_length);
        let loads = self.colliders().filter_map(|collider| {
            let body = collider.body.filter(|body| body.axis.is_none())?;
            let gravity = wide(body.scene.gravity);
            let down = gravity.try_normalize().unwrap_or(DVec3::NEG_Y);
            let shadow = Extent::of(&collider.shape).shadow(down).min(report.area);
            let cloth_mass = density * shadow;
            let pull = f64::from(body.scene.mass) * gravity.length().max(EARTH) / cloth_mass;
            Some(((LOADED_ITERATIONS * pull / edge).sqrt(), collider, body.scene.mass, cloth_mass))
        });
        let (frequency, collider, mass, cloth_mass) = loads.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let before = choice.frequency;
        // Whole iterations in every step of the bodies.
        let whole = frame_rate * steps as f32;
        let frequency = whole_frequency(frequency as f32, whole);
        if frequency <= before {
            return None;
        }
        let line = format!(
            "bodies `{}` is solved {frequency:.0} times per second, not {before:.0}, as body `{}` has {mass} kg \
             and the cloth under it {cloth_mass:.3} kg",
            self.name, collider.name,
        );
        let pbd = self.cloth.config.solver.as_pbd_mut()?;
        pbd.frequency = frequency;
        self.solver_choice = Some(SolverChoice { frequency, ..choice });
        Some(line)
    }

    /// Splits frames into steps for rigid bodies: a chosen frequency becomes a multiple of theirs,
    /// substeps are divided among them, rounded up.
    pub(crate) fn split_frames(&mut self, steps: u32, frame_rate: f32) {
        let solver = &mut self.cloth.config.solver;
        let whole_hz = frame_rate * steps as f32;
        if let (Some(choice), Some(pbd), true) =
            (&mut self.solver_choice, solver.as_pbd_mut(), steps > 1)
        {
            choice.frequency = whole_frequency(choice.frequency, whole_hz);
            pbd.frequency = choice.frequency;
        }
        let asked_substeps = solver.substeps().filter(|_| solver.frequency().is_none());
        self.split = FrameSplit { steps, asked_substeps: asked_substeps.unwrap_or(0) };
        if let Some(substeps) = solver.substeps_mut() {
            *substeps = substeps.div_ceil(steps);
        }
    }
}

/// Converts iterations per step back to iterations per frame: the inverse of
/// `JobCloth::split_frames`. Returns the stated number where it was not tuned since.
pub fn joined_frames(tuned: &mut Solver, stated: &Solver, steps: u32) {
    let stated = stated.substeps().filter(|_| stated.name() == tuned.name());
    if let Some(substeps) = tuned.substeps_mut() {
        *substeps = match stated {
            Some(stated) if stated.div_ceil(steps) == *substeps => stated,
            _ => substeps.saturating_mul(steps),
        };
    }
}

/// Rigid bodies of a simulation.
#[derive(Debug, Default)]
pub(crate) struct Bodies(Vec<Body>);

/// Rigid body in simulation.
#[derive(Debug)]
struct Body {
    collider: Arc<BuiltCollider>,
    /// Mass, inertia and initial motion.
    built: BuiltBody,
    id: BodyId,
    collider_id: ColliderId,
    now: Motion,
    /// Motion at the end of the prepared step, without the impulses of cloths in it.
    ahead: Motion,
    /// Length of that step \[s\].
    step: f64,
    /// Number of contacts with particles, summed over iterations.
    contact_count: u64,
    /// Impulse of cloths since the start of the frame \[N s\].
    impulse: DVec3,
    /// Mean force of cloths in the last frame \[N\].
    force: DVec3,
}

/// Position and velocity of a body.
#[derive(Debug, Clone, Copy)]
struct Motion {
    /// Center of mass \[m\].
    center: DVec3,
    /// Rotation relative to the start.
    rotation: DQuat,
    /// Velocity of the center of mass [m/s].
    velocity: DVec3,
    /// Angular momentum about it [kg m^2/s].
    spin: DVec3,
}

/// Final state of a body, for the summary.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BodySummary {
    pub(crate) collider: String,
    /// Center of mass in world space.
    pub(crate) center_m: [f64; 3],
    pub(crate) velocity_m_per_s: [f64; 3],
    pub(crate) angular_velocity_deg_per_s: [f64; 3],
    /// Mean force of cloths on the body in the last frame.
    pub(crate) cloth_force_n: [f64; 3],
    /// Number of contacts with particles, summed over iterations.
    pub(crate) contacts: u64,
}

impl BodySummary {
    /// Describes where the first bodies end.
    pub(crate) fn lines(all: &[Self]) -> impl Iterator<Item = String> {
        const MOST: usize = 4;
        let line = |body: &Self| {
            let [x, y, z] = body.center_m;
            let speed = DVec3::from(body.velocity_m_per_s).length();
            format!("body   `{}` ends at ({x:.3}, {y:.3}, {z:.3}) m, {speed:.2} m/s", body.collider)
        };
        let more = all.len().saturating_sub(MOST);
        let more = (more > 0).then(|| format!("       {more} more in summary.json"));
        all.iter().take(MOST).map(line).chain(more)
    }
}

impl Bodies {
    /// Adds a collider and its body to a set, at their start.
    pub(crate) fn add(
        &mut self,
        collider: &Arc<BuiltCollider>,
        built: BuiltBody,
        set: &mut ColliderSet,
    ) -> Result<ColliderId, Failure> {
        let angular_velocity = wide(built.scene.angular_velocity.map(f32::to_radians));
        let now = Motion {
            center: built.center,
            rotation: DQuat::IDENTITY,
            velocity: wide(built.scene.velocity),
            spin: built.inertia * angular_velocity,
        };
        let id = set.add_body(now.rigid_body(&built)).or_bad_input()?;
        let at_start = collider.collider_at(0.0).or_bad_input()?;
        // Bodies move their shapes in double precision.
        let (shape, pose) = (collider.shape_at(0.0).or_bad_input()?, Pose::default());
        let at_start = Collider { body: Some(id), shape, pose, ..at_start };
        let collider_id = set.add(at_start).or_bad_input()?;
        let collider = collider.clone();
        let (impulse, force) = (DVec3::ZERO, DVec3::ZERO);
        self.0.push(Body {
            collider,
            built,
            id,
            collider_id,
            now,
            ahead: now,
            step: 0.0,
            contact_count: 0,
            impulse,
            force,
        });
        Ok(collider_id)
    }

    /// Tests whether there are no bodies.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Moves all bodies over the next step of `dt` seconds by semi-implicit Euler.
    pub(crate) fn advance(&mut self, set: &mut ColliderSet, dt: f64) -> Result<(), ModelError> {
        for body in &mut self.0 {
            // v += g dt;  x += v dt;  R = exp(omega dt) R
            let velocity = body.built.accelerated(body.now.velocity, dt);
            let begin = Motion { velocity, ..body.now };
            body.ahead = begin.moved_from(&begin, &body.built, dt);
            body.step = dt;
            set.set_body(body.id, begin.rigid_body(&body.built))?;
            let shape = body.collider.shape_moved(body.ahead.rigid(&body.built));
            set.set_shape(body.collider_id, shape)?;
        }
        Ok(())
    }

    /// Adds the impulses of cloths in the last step to the velocities of the bodies, and takes the
    /// step of free ones with these: semi-implicit Euler with the force of cloths.
    pub(crate) fn apply_impulses(&mut self, state: &State) {
        for body in &mut self.0 {
            let impulse = state.body_impulse(body.id);
            let [linear, angular] =
                [impulse.linear, impulse.angular].map(|it| DVec3::from(it.map(f64::from)));
            let before = std::mem::replace(&mut body.now, body.ahead);
            body.now.velocity = body.built.struck(body.now.velocity, linear);
            if body.built.axis.is_none() && impulse.contact_count > 0 {
                body.now.spin += angular;
                // The step with the velocities after the impulses: what pins stop does not sink.
                body.now = body.now.moved_from(&before, &body.built, body.step);
            }
            body.impulse += linear;
            body.contact_count += u64::from(impulse.contact_count);
        }
    }

    /// Ends a frame of `dt` seconds.
    pub(crate) fn end_frame(&mut self, dt: f64) {
        for body in &mut self.0 {
            body.force = std::mem::take(&mut body.impulse) / dt;
        }
    }

    /// Returns the poses of colliders at a time \[s\], with the current poses of bodies.
    pub(crate) fn collider_poses(&self, time: f64) -> ColliderPoses {
        let moved = |body: &Body| (body.collider.clone(), body.now.rigid(&body.built));
        ColliderPoses { time, bodies: self.0.iter().map(moved).collect() }
    }

    /// Returns the bodies that fall below the box around all cloths faster than `speed` [m/s]:
    /// name and speed along gravity.
    pub(crate) fn falling(&self, cloths: Bounds, speed: f64) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().filter_map(move |body| {
            let down = wide(body.built.scene.gravity).try_normalize()?;
            // Lowest corner of the box.
            let bottom =
                down.max(DVec3::ZERO).dot(cloths.high) + down.min(DVec3::ZERO).dot(cloths.low);
            let own = body.now.velocity.dot(down);
            (down.dot(body.now.center + body.built.offset) > bottom && own > speed)
                .then_some((&*body.collider.name, own))
        })
    }

    /// Returns the final state of each body.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = BodySummary> {
        self.0.iter().map(|body| {
            let spin = body.now.angular_velocity(&body.built);
            // On a rail the push of the next step follows first: at rest both cancel.
            let on_rail = body.built.axis.map(|_| body.ahead.velocity);
            BodySummary {
                collider: body.collider.name.clone(),
                center_m: (body.now.center + body.built.offset).to_array(),
                velocity_m_per_s: on_rail.unwrap_or(body.now.velocity).to_array(),
                angular_velocity_deg_per_s: spin.to_array().map(f64::to_degrees),
                cloth_force_n: body.force.to_array(),
                contacts: body.contact_count,
            }
        })
    }
}

impl Motion {
    /// Returns the inverse world-space inertia [1/(kg m^2)]: `R I^-1 R^T`.
    fn inverse_inertia(&self, built: &BuiltBody) -> DMat3 {
        let rotation = DMat3::from_quat(self.rotation);
        rotation * built.inertia.inverse() * rotation.transpose()
    }

    fn angular_velocity(&self, built: &BuiltBody) -> DVec3 {
        self.inverse_inertia(built) * self.spin
    }

    /// Returns this motion at the place to which its velocities lead from another one in `dt`
    /// seconds: x = x_0 + v dt, R = exp(omega dt) R_0.
    fn moved_from(&self, start: &Self, built: &BuiltBody, dt: f64) -> Self {
        let turn = DQuat::from_scaled_axis(self.angular_velocity(built) * dt);
        let rotation = (turn * start.rotation).normalize();
        Self { center: start.center + self.velocity * dt, rotation, ..*self }
    }

    /// Returns the body for contact with cloths.
    fn rigid_body(&self, built: &BuiltBody) -> RigidBody {
        let narrow = |v: DVec3| v.as_vec3().to_array();
        // A body on a rail keeps its velocity within a step.
        let (inverse_mass, inverse_inertia) = match built.axis {
            Some(_) => (0.0, DMat3::ZERO),
            None => (built.scene.mass.recip(), self.inverse_inertia(built)),
        };
        RigidBody {
            inverse_mass,
            // The matrix is symmetric, so columns can be passed as rows.
            inverse_inertia: inverse_inertia.to_cols_array_2d().map(|row| row.map(|x| x as f32)),
            center: narrow(self.center),
            velocity: narrow(self.velocity),
            angular_velocity: narrow(self.angular_velocity(built)),
            restitution: built.scene.restitution,
        }
    }

    /// Returns the rigid motion of the shape from its start: `x -> c + R (x - c0)`.
    fn rigid(&self, built: &BuiltBody) -> Rigid {
        Rigid { translation: self.center - self.rotation * built.center, rotation: self.rotation }
    }
}

/// Poses of colliders at one time.
#[derive(Debug, Clone)]
pub struct ColliderPoses {
    time: f64,
    bodies: Vec<(Arc<BuiltCollider>, Rigid)>,
}

impl ColliderPoses {
    /// Returns the poses before the first frame.
    pub(crate) fn start() -> Self {
        Self { time: 0.0, bodies: Vec::new() }
    }

    /// Returns the world-space shape of a collider.
    ///
    /// # Errors
    /// Same as [`BuiltCollider::shape_at`].
    pub(crate) fn shape(&self, collider: &BuiltCollider) -> Result<Shape, SceneError> {
        let is_it =
            |(known, _): &&(Arc<BuiltCollider>, Rigid)| std::ptr::eq(known.as_ref(), collider);
        match self.bodies.iter().find(is_it) {
            Some((_, rigid)) => Ok(collider.shape_moved(*rigid)),
            None => collider.shape_at(self.time),
        }
    }

    /// Returns the world-space shapes of colliders.
    ///
    /// # Errors
    /// Same as [`BuiltCollider::shape_at`].
    ///
    /// # Errors
    /// [`SceneError`] if a point cache can no longer be read.
    pub fn shapes(&self, colliders: &[Arc<BuiltCollider>]) -> Result<Vec<Shape>, SceneError> {
        colliders.iter().map(|collider| self.shape(collider)).collect()
    }
}
