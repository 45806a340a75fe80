//! Motion of a cloth's local space: velocities, inertia and rotation constants, computed once on
//! the host so that both backends get the same values.

use glam::{DMat3, DQuat, DVec3};
use poplin_geometry::wide;
use poplin_layout::{
    FrameSteps, MotionConstants, RotationConstants, effective_stiffness, stiffness_to_log2,
};
#[cfg(feature = "save")]
use poplin_model::check_finite;
use poplin_model::{ClothConfig, ModelError, Pose};

/// Pose of the local space, its target, and its last velocities.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "save", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameMotion {
    current: Pose,
    target: Pose,
    velocity: DVec3,
    spin: DVec3,
    keep_velocity: bool,
}

/// Velocities of the local space in one frame, and in the one before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameVelocities {
    /// Rotation of the local space before this frame's change.
    pub rotation: DQuat,
    /// Velocity of the origin, world axes [m/s].
    pub velocity: DVec3,
    /// Velocity in the last frame [m/s].
    pub last_velocity: DVec3,
    /// Angular velocity as a half-angle vector, world axes [rad/s / 2].
    pub spin: DVec3,
    /// Angular velocity in the last frame.
    pub last_spin: DVec3,
}

/// Step below which displacements leave remainders \[s\]. Gravity moves a particle by 60 um in it,
/// 500 times the spacing of coordinates of 1 to 2 m.
const MIN_PLAIN_STEP: f32 = 1.0 / 400.0;

impl FrameVelocities {
    /// True if the local space rotates now or rotated in the last frame.
    fn rotates(&self) -> bool {
        self.spin != DVec3::ZERO || self.last_spin != DVec3::ZERO
    }

    /// True if displacements of a frame leave remainders: in short steps, and where velocities are
    /// corrected. In a rotating space a displacement is a difference of products, not of positions.
    pub fn keeps_remainders(&self, config: &ClothConfig, steps: &FrameSteps) -> bool {
        let is_short = steps.step < MIN_PLAIN_STEP;
        (is_short || config.solver.second_order() > 0.0) && !self.rotates()
    }
}

impl FrameMotion {
    /// Creates a local space at rest.
    pub fn new(pose: Pose) -> Self {
        Self {
            current: pose,
            target: pose,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            keep_velocity: false,
        }
    }

    /// Validates a motion that was read.
    #[cfg(feature = "save")]
    pub(crate) fn validate(&self) -> Result<(), ModelError> {
        self.current.validate()?;
        self.target.validate()?;
        let narrow = |v: DVec3| v.as_vec3().to_array();
        check_finite("velocity, spin of a local space", &[self.velocity, self.spin].map(narrow))
    }

    /// Pose of the local space after the last simulated frame.
    pub fn pose(&self) -> Pose {
        self.current
    }

    /// Pose of the local space after the next simulated frame.
    pub fn target(&self) -> Pose {
        self.target
    }

    /// True if the local space moves or rotates in the next frame or was just stopped: a sleeping
    /// cloth must then wake.
    pub fn is_moving(&self) -> bool {
        self.current != self.target || self.velocity != DVec3::ZERO || self.spin != DVec3::ZERO
    }

    /// True if [`FrameMotion::advance`] would change nothing.
    pub fn is_settled(&self) -> bool {
        !self.is_moving() && !self.keep_velocity
    }

    /// Moves the local space to `pose` over the next frame.
    ///
    /// # Errors
    /// [`ModelError`] if the pose is not valid.
    pub fn set_target(&mut self, pose: Pose) -> Result<(), ModelError> {
        pose.validate()?;
        self.target = pose;
        Ok(())
    }

    /// Shifts the local space without any effect on the cloth.
    ///
    /// # Errors
    /// [`ModelError`] if the result is not finite.
    pub fn teleport(&mut self, delta: [f32; 3]) -> Result<(), ModelError> {
        let shift = |pose: Pose| Pose {
            translation: std::array::from_fn(|k| pose.translation[k] + delta[k]),
            ..pose
        };
        let (current, target) = (shift(self.current), shift(self.target));
        current.validate().and_then(|()| target.validate())?;
        (self.current, self.target) = (current, target);
        Ok(())
    }

    /// Teleports the local space to `pose` without any effect on the cloth.
    ///
    /// # Errors
    /// [`ModelError`] if the pose is not valid.
    pub fn teleport_to(&mut self, pose: Pose) -> Result<(), ModelError> {
        self.set_target(pose)?;
        self.current = pose;
        Ok(())
    }

    /// Keeps the last frame's velocities for the next frame, independent of the poses.
    pub fn ignore_velocity_discontinuity(&mut self) {
        self.keep_velocity = true;
    }

    /// Moves to the target at once and clears all velocity.
    pub fn clear_inertia(&mut self) {
        self.current = self.target;
        self.velocity = DVec3::ZERO;
        self.spin = DVec3::ZERO;
    }

    /// Moves the local space to its target in `dt` seconds.
    pub fn advance(&mut self, dt: f32) -> FrameVelocities {
        let dt = f64::from(dt);
        let rotation = quaternion(self.current);
        let (last_velocity, last_spin) = (self.velocity, self.spin);
        if !self.keep_velocity {
            let translation = |pose: Pose| wide(pose.translation);
            self.velocity = (translation(self.target) - translation(self.current)) / dt;
            self.spin = if self.target.rotation == self.current.rotation {
                DVec3::ZERO
            } else {
                // log(q_target q_current^-1) / dt
                half_angle_log(quaternion(self.target) * rotation.conjugate()) / dt
            };
        }
        self.keep_velocity = false;
        self.current = self.target;
        FrameVelocities {
            rotation,
            velocity: self.velocity,
            last_velocity,
            spin: self.spin,
            last_spin,
        }
    }
}

/// Constant angular velocity from one pose to another in `dt` seconds, world axes [rad/s].
pub(crate) fn angular_velocity(from: Pose, to: Pose, dt: f64) -> DVec3 {
    rotation_vector(quaternion(from), quaternion(to)) / dt
}

/// Axis times angle of the shorter rotation from one orientation to another; exactly 0 between
/// equal ones, where the quotient may be rounded.
pub(crate) fn rotation_vector(from: DQuat, to: DQuat) -> DVec3 {
    if from == to {
        return DVec3::ZERO;
    }
    half_angle_log(to * from.conjugate()) * 2.0
}

fn quaternion(pose: Pose) -> DQuat {
    DQuat::from_array(pose.rotation.map(f64::from)).normalize()
}

/// Logarithm of a rotation: its axis times half its angle, along the shorter arc.
fn half_angle_log(rotation: DQuat) -> DVec3 {
    let rotation = if rotation.w < 0.0 { -rotation } else { rotation };
    let vector = DVec3::new(rotation.x, rotation.y, rotation.z);
    let sine = vector.length();
    if sine == 0.0 { DVec3::ZERO } else { vector * (sine.atan2(rotation.w) / sine) }
}

/// Exponential of a half-angle vector: its rotation.
fn half_angle_exp(half: DVec3) -> DQuat {
    let angle = half.length();
    let vector = if angle == 0.0 { half } else { half * (angle.sin() / angle) };
    DQuat::from_xyzw(vector.x, vector.y, vector.z, angle.cos())
}

/// Squared length plus `sqrt(f32::MIN_POSITIVE)` (a measured value), so that quotients of short
/// vectors are never 0/0.
fn guarded(x: DVec3) -> f64 {
    x.dot(x) + f64::from(f32::MIN_POSITIVE).sqrt()
}

/// Scaled length of `x` relative to its length, |x scaled|^2 / (|x| |x scaled|).
fn scaled_fraction(x: DVec3, scale: DVec3) -> f64 {
    let scaled = guarded(x * scale);
    scaled / (guarded(x) * scaled).sqrt()
}

fn effective(values: [f32; 3], exponent: f32) -> DVec3 {
    wide(values.map(|value| effective_stiffness(stiffness_to_log2(value), exponent)))
}

/// Constants of one frame. With v and v0 the velocities of the local space in this and the last
/// frame, `alpha = (n + 1) / (2 n)` and n iterations of h seconds, the cloth receives the inertial
/// velocity change `I (v0 - v)` spread over the iterations, gravity, and drag along with the local
/// space.
pub fn motion_constants(
    config: &ClothConfig,
    steps: &FrameSteps,
    frame: &FrameVelocities,
) -> MotionConstants {
    let h = f64::from(steps.step);
    let n = f64::from(steps.iteration_count);
    let exponent = config.stiffness_frequency * steps.step;
    // Fraction of velocity that damping leaves in one step.
    let kept = config
        .damping
        .map(|damping| 1.0 - effective_stiffness(stiffness_to_log2(damping), exponent));
    let to_local = frame.rotation.conjugate();
    // Mean of i / n over the iterations i = 1..n.
    let alpha = (n + 1.0) / (2.0 * n);
    let drag = effective(config.inertia.linear_drag, exponent);
    // Displacements per iteration, hence the factor h.
    let jump = wide(config.inertia.linear) * h * (frame.last_velocity - frame.velocity);
    let gravity = wide(config.gravity) * f64::from(steps.gravity_scale);
    let bias = to_local * (alpha * jump + gravity - drag * h * frame.velocity);
    let previous_bias = to_local * ((1.0 - alpha) * jump);
    let wind = to_local * (h * (frame.velocity - wide(config.air.wind_velocity)));
    // Without rotation the kernel skips the matrices.
    let rotation = frame.rotates().then(|| rotation_constants(config, steps, frame, kept));
    let keeps_remainders = frame.keeps_remainders(config, steps);
    let has_remainders = false;
    MotionConstants { kept, bias, previous_bias, wind, rotation, keeps_remainders, has_remainders }
}

fn rotation_constants(
    config: &ClothConfig,
    steps: &FrameSteps,
    frame: &FrameVelocities,
    kept: [f32; 3],
) -> RotationConstants {
    let h = f64::from(steps.step);
    let n = f64::from(steps.iteration_count);
    let exponent = config.stiffness_frequency * steps.step;
    let to_local = frame.rotation.conjugate();
    let (spin, last_spin) = (to_local * frame.spin, to_local * frame.last_spin);
    let step_rotation = half_angle_exp(-h * spin);
    let rotation = DMat3::from_quat(step_rotation);
    // Rotation over two steps, for the previous positions.
    let double = DMat3::from_quat(half_angle_exp(-h * last_spin) * step_rotation);

    let drag = scaled_fraction(spin, effective(config.inertia.angular_drag, exponent));
    let inertia = scaled_fraction(spin - last_spin, wide(config.inertia.angular)) / n;
    let centrifugal =
        (2.0 * n - 1.0) / n * scaled_fraction(spin, wide(config.inertia.centrifugal)) - inertia;

    // Mean rotation m of the local space in a step; centrifugal force is m x (m x r) = m (m . r) -
    // r (m . m).
    let mean = -0.5 * h * (last_spin + spin);
    let outer = DMat3::from_cols(mean * mean.x, mean * mean.y, mean * mean.z) * centrifugal;
    // Matrix of the cross product: cross * r = m x r.
    let cross = DMat3::from_cols(
        DVec3::X.cross(mean) * -1.0,
        DVec3::Y.cross(mean) * -1.0,
        DVec3::Z.cross(mean) * -1.0,
    ) * centrifugal;
    let square = centrifugal * mean.dot(mean);
    // Matrices on previous and current positions; the first iteration scales by the step ratio.
    let factors = |ratio: f64| {
        let scale = wide(kept) * ratio;
        let columns = |values: DVec3| DMat3::from_diagonal(values);
        let of_previous = columns(DVec3::splat(square)) - outer - cross
            + rotation * columns(DVec3::splat(inertia) - scale)
            - double * inertia;
        let of_current = columns(DVec3::splat(square - inertia - drag)) - outer
            + cross
            + rotation * columns(DVec3::splat(inertia + drag) + scale);
        [of_previous, of_current]
    };
    RotationConstants { first: factors(f64::from(steps.step_ratio)), rest: factors(1.0), rotation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_angle_vectors_round_trip_along_the_shorter_arc() {
        let half = DVec3::new(0.1, -0.2, 0.05);
        let rotation = half_angle_exp(half);
        assert!((half_angle_log(rotation) - half).length() < 1e-15);
        assert!((half_angle_log(-rotation) - half).length() < 1e-15);
        assert_eq!(half_angle_log(DQuat::IDENTITY), DVec3::ZERO);
    }

    #[test]
    fn velocities_come_from_the_poses_unless_ignored() {
        let mut motion = FrameMotion::new(Pose::default());
        motion.set_target(Pose { translation: [0.5, 0.0, 0.0], ..Pose::default() }).unwrap();
        let first = motion.advance(0.5);
        assert_eq!((first.velocity.x, first.last_velocity.x), (1.0, 0.0));
        motion.teleport([10.0, 0.0, 0.0]).unwrap();
        assert_eq!(motion.advance(0.5).velocity.x, 0.0);
        motion.set_target(Pose { translation: [90.0, 0.0, 0.0], ..Pose::default() }).unwrap();
        motion.ignore_velocity_discontinuity();
        assert_eq!(motion.advance(0.5).velocity.x, 0.0);
        motion.set_target(Pose::default()).unwrap();
        motion.clear_inertia();
        assert_eq!(motion.advance(0.5).velocity.x, 0.0);
        assert_eq!(motion.pose(), Pose::default());
    }
}
