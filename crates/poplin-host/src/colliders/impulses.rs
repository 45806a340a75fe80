//! Impulses of a frame on rigid bodies.

use glam::{DQuat, DVec3};
use poplin_layout::{BODY_ROWS, Feedback};
use poplin_model::BodyImpulse;

use super::BodyRef;

/// Impulses of one frame on the bodies that a cloth pushes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClothImpulses {
    /// Impulses on bodies of the simulation's set, world axes.
    pub world: Vec<BodyImpulse>,
    /// Impulses on bodies of the cloth's own set, axes of its local space.
    pub own: Vec<BodyImpulse>,
}

/// Bodies whose impulses the kernel writes in a frame, and the rotation of the local space.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrameBodies {
    /// Bodies in the order of their rows.
    pub(super) refs: Vec<BodyRef>,
    /// Rotation from local to world axes; `None` if they are equal.
    pub(super) to_world: Option<DQuat>,
}

impl FrameBodies {
    /// Reads the impulses of the frame from the rows that the kernel wrote
    /// ([`crate::HostCloth::body_rows`]); none if the cloth was not simulated, because it sleeps or
    /// is frozen.
    pub fn impulses(&self, rows: &[[f32; 4]], feedback: &Feedback) -> ClothImpulses {
        let mut impulses = ClothImpulses::default();
        if feedback.is_asleep != 0 || feedback.fault_count != 0 {
            return impulses;
        }
        let rows: &[[[f32; 4]; BODY_ROWS as usize]] = rows.as_chunks().0;
        // Rows of a body: linear impulse with the contact count in w, angular impulse; the last row
        // is not reported.
        for (&BodyRef { body, is_world }, [linear, angular, _]) in self.refs.iter().zip(rows) {
            let rotated = |[x, y, z, _]: [f32; 4]| match self.to_world.filter(|_| is_world) {
                Some(rotation) => {
                    let v = DVec3::from([x, y, z].map(f64::from));
                    (rotation * v).as_vec3().to_array()
                }
                None => [x, y, z],
            };
            let (linear, angular, contact_count) =
                (rotated(*linear), rotated(*angular), linear[3] as u32);
            let list = if is_world { &mut impulses.world } else { &mut impulses.own };
            list.push(BodyImpulse { body, linear, angular, contact_count });
        }
        impulses
    }
}
