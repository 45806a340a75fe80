//! Rigid bodies with two-way coupling.

use crate::error::{ModelError, check_finite, check_range};
use crate::{BodyId, MAX_COORDINATE};

/// A rigid body on which cloths exert impulses through its colliders, in the space of its set.
///
/// In every iteration a particle that hits the body exchanges normal velocity with it by
/// conservation of momentum and restitution, and slides with friction. The velocity of the body
/// changes within the frame, and the sum of the impulses is reported afterwards. Moving the body is
/// up to the application, which sets the poses of the colliders and the velocity for the next
/// frame. Shapes of a body collide discretely, not continuously, and not with virtual particles.
///
/// Within a frame, each cloth acts on the body independently of other cloths; the application sums
/// the reports of all cloths.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RigidBody {
    /// Inverse mass [1/kg], `>= 0`; 0 = not moved by cloth.
    pub inverse_mass: f32,
    /// Inverse inertia tensor about the center of mass [1/(kg m^2)], in the axes of the set's
    /// space, symmetric; 0 = not rotated by cloth.
    pub inverse_inertia: [[f32; 3]; 3],
    /// Center of mass at the start of the frame \[m\].
    pub center: [f32; 3],
    /// Velocity of the center of mass [m/s].
    pub velocity: [f32; 3],
    /// Angular velocity [rad/s].
    pub angular_velocity: [f32; 3],
    /// Coefficient of restitution: separation speed over approach speed, `0..=1`.
    pub restitution: f32,
}

impl RigidBody {
    /// Checks that all values are finite and in range.
    ///
    /// # Errors
    /// The first [`ModelError`] found.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("body inverse_mass", self.inverse_mass, 0.0, MAX_COORDINATE)?;
        check_range("body restitution", self.restitution, 0.0, 1.0)?;
        check_finite(
            "body center, velocity, angular_velocity",
            &[self.center, self.velocity, self.angular_velocity],
        )?;
        check_finite("body inverse_inertia", &self.inverse_inertia)
    }
}

/// Impulse of a cloth on a rigid body in a frame, in the axes of the body's set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyImpulse {
    /// The body.
    pub body: BodyId,
    /// Impulse on the body [N s].
    pub linear: [f32; 3],
    /// Angular impulse about the body's center of mass [N m s].
    pub angular: [f32; 3],
    /// Number of contacts with particles, summed over the iterations of the frame.
    pub contact_count: u32,
}

impl BodyImpulse {
    /// Creates a zero impulse on a body.
    pub fn none(body: BodyId) -> Self {
        Self { body, linear: [0.0; 3], angular: [0.0; 3], contact_count: 0 }
    }

    /// Adds the impulse of another cloth on the same body.
    pub fn add(&mut self, other: &Self) {
        for k in 0..3 {
            self.linear[k] += other.linear[k];
            self.angular[k] += other.angular[k];
        }
        self.contact_count += other.contact_count;
    }
}
