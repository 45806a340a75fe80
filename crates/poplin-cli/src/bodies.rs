//! Rigid bodies of a job: who moves them, and where colliders are at a time.
//!
//! The engine says what cloths do to a body within a step ([`RigidBody`]); moving it is up to here, by semi-implicit Euler: gravity
//! changes the velocity at the start of a step, the body moves by that velocity, and at the end it takes the impulses of the cloths. It
//! rotates by its angular momentum, which only cloths change. Bodies feel nothing else: other colliders and bodies they pass through.
//!
//! A body that cloth stops goes on to the end of the step all the same, and what it stretches there throws it back: at 60 steps a second a
//! ball of 0.5 kg that falls 0.4 m onto a sheet is thrown 2.8 m above where it came from, at 120 by 0.5 m, at 480 it stays below. So frames
//! are split into steps.

use std::sync::Arc;

use glam::{DMat3, DQuat, DVec3};
use poplin::State;
use poplin_io::scene::{BuiltBody, BuiltCollider, SceneError};
use poplin_model::{
    BodyId, Collider, ColliderId, ColliderSet, ModelError, Rigid, RigidBody, Shape, Solver,
};
use serde::Serialize;

use crate::failure::{Failure, OrFail};

/// Least count of steps in a second where bodies move [1/s].
const STEP_RATE: f32 = 480.0;

/// Steps that a frame takes with these colliders.
pub(crate) fn steps(colliders: &[Arc<BuiltCollider>], frame_rate: f32) -> u32 {
    let has_bodies = colliders.iter().any(|collider| collider.body.is_some());
    if has_bodies { (STEP_RATE / frame_rate).ceil().max(1.0) as u32 } else { 1 }
}

/// Splits the iterations that a solver has in a frame among its steps, rounded up.
pub(crate) fn split_frames(solver: &mut Solver, steps: u32) {
    if let Some(xpbd) = solver.as_xpbd_mut() {
        xpbd.substeps = xpbd.substeps.div_ceil(steps);
    }
    if let Some(implicit) = solver.as_implicit_mut() {
        implicit.substeps = implicit.substeps.div_ceil(steps);
    }
}

/// A solver whose iterations were split and perhaps tuned since, as one of whole frames: as stated where they were not tuned.
#[cfg(feature = "view")]
pub(crate) fn joined_frames(tuned: &mut Solver, stated: &Solver, steps: u32) {
    let joined = |tuned: u32, stated: Option<u32>| match stated {
        Some(stated) if stated.div_ceil(steps) == tuned => stated,
        _ => tuned.saturating_mul(steps),
    };
    if let Some(xpbd) = tuned.as_xpbd_mut() {
        xpbd.substeps = joined(xpbd.substeps, stated.as_xpbd().map(|xpbd| xpbd.substeps));
    }
    if let Some(implicit) = tuned.as_implicit_mut() {
        let stated = stated.as_implicit().map(|implicit| implicit.substeps);
        implicit.substeps = joined(implicit.substeps, stated);
    }
}

/// The rigid bodies of a simulation.
#[derive(Debug, Default)]
pub(crate) struct Bodies(Vec<Body>);

/// A rigid body in simulation.
#[derive(Debug)]
struct Body {
    collider: Arc<BuiltCollider>,
    /// What it is at the start.
    built: BuiltBody,
    id: BodyId,
    collider_id: ColliderId,
    now: Motion,
    /// At the end of the step that was prepared, without what cloths do in it.
    ahead: Motion,
    /// Contacts with particles until now, each iteration counted.
    contact_count: u64,
}

/// Where a body is, and how it moves.
#[derive(Debug, Clone, Copy)]
struct Motion {
    /// Center of mass \[m\].
    center: DVec3,
    /// Rotation from the start.
    rotation: DQuat,
    /// Velocity of the center of mass [m/s].
    velocity: DVec3,
    /// Angular momentum about it [kg m^2/s].
    spin: DVec3,
}

/// What came of a body.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BodySummary {
    pub(crate) collider: String,
    /// Of mass, in the world.
    pub(crate) center_m: [f64; 3],
    pub(crate) velocity_m_per_s: [f64; 3],
    pub(crate) angular_velocity_deg_per_s: [f64; 3],
    /// With particles, each iteration counted.
    pub(crate) contacts: u64,
}

impl Bodies {
    /// Adds a collider that is a body where it starts, in place of those that it was in before.
    pub(crate) fn add(
        &mut self,
        collider: &Arc<BuiltCollider>,
        built: BuiltBody,
        set: &mut ColliderSet,
    ) -> Result<ColliderId, Failure> {
        let wide = |v: [f32; 3]| DVec3::from(v.map(f64::from));
        let angular_velocity = wide(built.scene.angular_velocity.map(f32::to_radians));
        let now = Motion {
            center: built.center,
            rotation: DQuat::IDENTITY,
            velocity: wide(built.scene.velocity),
            spin: built.inertia * angular_velocity,
        };
        let id = set.add_body(now.felt(&built)).or_bad_input()?;
        let at_start = collider.collider_at(0.0).or_bad_input()?;
        let collider_id = set.add(Collider { body: Some(id), ..at_start }).or_bad_input()?;
        let collider = collider.clone();
        self.0.push(Body { collider, built, id, collider_id, now, ahead: now, contact_count: 0 });
        Ok(collider_id)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Moves all over the next step of `dt` seconds.
    pub(crate) fn lead(&mut self, set: &mut ColliderSet, dt: f64) -> Result<(), ModelError> {
        for body in &mut self.0 {
            let gravity = DVec3::from(body.built.scene.gravity.map(f64::from));
            let begin = Motion { velocity: body.now.velocity + gravity * dt, ..body.now };
            let angular_velocity = begin.angular_velocity(&body.built);
            body.ahead = Motion {
                center: begin.center + begin.velocity * dt,
                rotation: (DQuat::from_scaled_axis(angular_velocity * dt) * begin.rotation)
                    .normalize(),
                ..begin
            };
            set.set_body(body.id, begin.felt(&body.built))?;
            let shape = body.collider.shape_moved(body.ahead.rigid(&body.built));
            set.set_shape(body.collider_id, shape)?;
        }
        Ok(())
    }

    /// Takes what cloths did in the step that has ended.
    pub(crate) fn take(&mut self, state: &State) {
        for body in &mut self.0 {
            let impulse = state.body_impulse(body.id);
            let [linear, angular] =
                [impulse.linear, impulse.angular].map(|it| DVec3::from(it.map(f64::from)));
            body.now = body.ahead;
            body.now.velocity += linear / f64::from(body.built.scene.mass);
            body.now.spin += angular;
            body.contact_count += u64::from(impulse.contact_count);
        }
    }

    /// Where colliders are at a time \[s\], bodies as they are now.
    pub(crate) fn collider_poses(&self, time: f64) -> ColliderPoses {
        let moved = |body: &Body| (body.collider.clone(), body.now.rigid(&body.built));
        ColliderPoses { time, bodies: self.0.iter().map(moved).collect() }
    }

    /// What has come of them.
    pub(crate) fn summaries(&self) -> impl Iterator<Item = BodySummary> {
        self.0.iter().map(|body| {
            let spin = body.now.angular_velocity(&body.built);
            BodySummary {
                collider: body.collider.name.clone(),
                center_m: body.now.center.to_array(),
                velocity_m_per_s: body.now.velocity.to_array(),
                angular_velocity_deg_per_s: spin.to_array().map(f64::to_degrees),
                contacts: body.contact_count,
            }
        })
    }
}

impl Motion {
    /// Inverse of the inertia as the body is now [1/(kg m^2)].
    fn inverse_inertia(&self, built: &BuiltBody) -> DMat3 {
        let rotation = DMat3::from_quat(self.rotation);
        rotation * built.inertia.inverse() * rotation.transpose()
    }

    fn angular_velocity(&self, built: &BuiltBody) -> DVec3 {
        self.inverse_inertia(built) * self.spin
    }

    /// The body as cloths feel it.
    fn felt(&self, built: &BuiltBody) -> RigidBody {
        let narrow = |v: DVec3| v.as_vec3().to_array();
        RigidBody {
            inverse_mass: built.scene.mass.recip(),
            // Symmetric: its columns are its rows.
            inverse_inertia: self
                .inverse_inertia(built)
                .to_cols_array_2d()
                .map(|row| row.map(|x| x as f32)),
            center: narrow(self.center),
            velocity: narrow(self.velocity),
            angular_velocity: narrow(self.angular_velocity(built)),
            restitution: built.scene.restitution,
        }
    }

    /// What moves the shape from where it was at the start.
    fn rigid(&self, built: &BuiltBody) -> Rigid {
        Rigid { translation: self.center - self.rotation * built.center, rotation: self.rotation }
    }
}

/// Where colliders are at one time.
#[derive(Debug, Clone)]
pub(crate) struct ColliderPoses {
    time: f64,
    bodies: Vec<(Arc<BuiltCollider>, Rigid)>,
}

impl ColliderPoses {
    /// Before the first frame.
    pub(crate) fn start() -> Self {
        Self { time: 0.0, bodies: Vec::new() }
    }

    /// The shape of a collider in the world.
    ///
    /// # Errors
    /// As [`BuiltCollider::shape_at`].
    pub(crate) fn shape(&self, collider: &BuiltCollider) -> Result<Shape, SceneError> {
        let is_it =
            |(known, _): &&(Arc<BuiltCollider>, Rigid)| std::ptr::eq(known.as_ref(), collider);
        match self.bodies.iter().find(is_it) {
            Some((_, rigid)) => Ok(collider.shape_moved(*rigid)),
            None => collider.shape_at(self.time),
        }
    }

    /// The shapes of colliders in the world.
    ///
    /// # Errors
    /// As [`BuiltCollider::shape_at`].
    pub(crate) fn shapes(
        &self,
        colliders: &[Arc<BuiltCollider>],
    ) -> Result<Vec<Shape>, SceneError> {
        colliders.iter().map(|collider| self.shape(collider)).collect()
    }
}
