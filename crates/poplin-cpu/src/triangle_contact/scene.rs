//! Conversion of cloths and colliders to bodies and rows, and back. Targets and write-back are the
//! twin of `shaders/contact/triangle_particles.wgsl`.

use glam::Vec3;
use poplin_host::{HostCloth, SceneChange, in_world, renamed_multipliers};
use poplin_layout::{ContactCloth, Feedback};
use poplin_model::ColliderSet;

use super::body::Body;
use super::memory::TriangleContact;
use crate::contact::ContactBody;
use crate::math::{dot3, xyz};

/// Cloth that takes part in a frame.
#[derive(Debug, Clone, Copy)]
pub struct ClothInput<'a> {
    /// Its settings and colliders.
    pub host: &'a HostCloth,
    /// Its particles before the frame.
    pub current: &'a [[f32; 4]],
    /// Its local space before the frame.
    pub space: ContactCloth,
}

impl TriangleContact {
    /// Clears all bodies and pairs: a position that is set is not a motion.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Adds the cloths and colliders of a frame at their positions before it.
    pub fn begin_frame(&mut self, cloths: &[ClothInput<'_>], world: &ColliderSet) {
        let hosts: Vec<&HostCloth> = cloths.iter().map(|cloth| cloth.host).collect();
        self.tangles.end_frame(&self.start);
        // After `set_multipliers` the multipliers belong to the bodies of this frame.
        let is_first = self.scene.bodies.is_empty();
        let mut scene = std::mem::take(&mut self.scene);
        let change = scene.begin_frame(&hosts, world);
        match &change {
            SceneChange::None => {}
            SceneChange::Values => {
                for (body, now) in self.bodies.iter_mut().zip(&scene.bodies) {
                    **body = now.clone();
                }
                self.drop_lists();
            }
            // Other bodies: rows are assigned again, and multipliers follow the bodies that stay.
            SceneChange::Bodies(indices) => {
                let held = std::mem::take(&mut self.held);
                let held = if is_first { held } else { renamed_multipliers(&held, indices) };
                let step = self.step;
                self.forget();
                self.bodies = scene.bodies.iter().map(|body| Body::from(body.clone())).collect();
                self.set_row_count(scene.rest.len());
                (self.step, self.held) = (step, held);
            }
        }
        if change != SceneChange::None {
            self.rest.clone_from(&scene.rest);
            self.radius.clone_from(&scene.radius);
            self.hard.clone_from(&scene.hard);
        }
        self.start.copy_from_slice(&scene.starts);
        for (body, cloth) in self.bodies.iter().zip(cloths) {
            for (start, particle) in self.start[body.rows.clone()].iter_mut().zip(cloth.current) {
                *start = in_world(&cloth.space, particle);
            }
        }
        self.ends.clone_from(&scene.ends);
        self.spins.clone_from(&scene.spins);
        self.scene = scene;
        self.frame_start.clone_from(&self.start);
        self.expect_tangles();
    }

    /// Sets the targets at a fraction of the frame: particles after the solver, colliders on their
    /// linear paths. The slice takes the part `slice_part` of the frame.
    pub fn set_targets(
        &mut self,
        cloths: &[ContactCloth],
        members: &[ContactBody<'_>],
        [fraction, slice_part]: [f32; 2],
    ) {
        self.slice_part = slice_part;
        for (index, body) in self.bodies.iter().enumerate() {
            let rows = body.rows.clone();
            if let (Some(cloth), Some(member)) = (cloths.get(index), members.get(index)) {
                // A sleeping or faulty cloth is an obstacle that does not move.
                let is_held = is_held(member.feedback);
                for (row, particle) in rows.zip(member.current.iter()) {
                    let position = in_world(cloth, particle);
                    self.target[row] = if is_held { self.start[row] } else { position };
                    self.inverse_mass[row] = if is_held { 0.0 } else { particle[3] };
                }
            } else {
                for row in rows {
                    let (start, end) = (self.frame_start[row], self.ends[row]);
                    self.target[row] =
                        if fraction < 1.0 { start + (end - start) * fraction } else { end };
                }
            }
        }
        self.wanted.clone_from(&self.target);
    }

    /// Writes the corrections of contact back to the particles.
    pub fn write_particles(&self, cloths: &[ContactCloth], members: &mut [ContactBody<'_>]) {
        for ((cloth, member), body) in cloths.iter().zip(members).zip(&self.bodies) {
            if is_held(member.feedback) {
                continue;
            }
            let local = to_local(cloth);
            let rows = body.rows.clone();
            let particles = member.current.iter_mut().zip(member.previous.iter_mut());
            for (row, (current, previous)) in rows.zip(particles) {
                if self.inverse_mass[row] == 0.0 {
                    continue;
                }
                // Only the change by contact is written.
                let push = local(self.start[row] - self.wanted[row]);
                let carry = local(self.carry[row]);
                for k in 0..3 {
                    current[k] += push[k];
                    previous[k] += carry[k];
                }
            }
        }
    }
}

/// Turns vectors of the world into a local space: dot products with its orthonormal axes.
pub(super) fn to_local(space: &ContactCloth) -> impl Fn(Vec3) -> Vec3 {
    let axes = [space.axis_x, space.axis_y, space.axis_z].map(xyz);
    move |v| Vec3::from(axes.map(|axis| dot3(axis, v)))
}

/// True for cloths that are asleep or stopped by a fault: their rows are immovable.
fn is_held(feedback: &Feedback) -> bool {
    feedback.fault_count != 0 || feedback.is_asleep != 0
}
