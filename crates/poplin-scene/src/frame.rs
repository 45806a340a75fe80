//! Local space of a cloth, moved by keyframes.

use glam::{DQuat, DVec3, EulerRot};
use poplin_geometry::wide;
use poplin_model::{Pose, Rigid};
use schemars::JsonSchema;
use serde::Deserialize;

/// Path of a cloth's local space, for example of the body that wears the cloth.
///
/// The cloth is simulated in local space: `transform` places it there, and pins, static or
/// animated, move with the space. The cloth's `inertia` sets how strongly this motion acts on it.
/// Gravity and wind keep their world axes. Output (caches, meshes, pictures) is in world
/// coordinates. Each copy has its own local space, `spacing` apart.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalFrame {
    /// Poses of the local space, at least one, rising in time.
    pub keys: Vec<FrameKey>,
}

/// Pose of a local space, of a collider's body or of animated pins at one time.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrameKey {
    /// Time since the first frame \[s\], 0 or more.
    pub time: f32,
    /// Displacement \[m\] (default 0).
    #[serde(default)]
    pub translation: [f32; 3],
    /// Rotations \[degrees\] (default 0) around the world's x axis first, then y, then z, as in
    /// `transform`, `-36000..=36000`.
    #[serde(default)]
    pub rotation: [f32; 3],
}

impl FrameKey {
    /// Returns the rotation.
    pub fn quaternion(&self) -> DQuat {
        let [x, y, z] = self.rotation.map(|angle| f64::from(angle).to_radians());
        DQuat::from_euler(EulerRot::ZYX, z, y, x)
    }
}

impl LocalFrame {
    /// Returns the pose at a time \[s\]. Between keyframes the origin moves linearly and the space
    /// rotates at a constant rate around one axis, by the smaller angle (unambiguous for keys less
    /// than 180 degrees apart). Before the first key and after the last the pose is held.
    ///
    /// Rotations use sine and cosine: their last bits may differ between platforms.
    pub fn pose_at(&self, time: f64) -> Pose {
        pose_at(&self.keys, time)
    }
}

/// Returns the pose at a time \[s\], as in [`LocalFrame::pose_at`].
pub(super) fn pose_at(keys: &[FrameKey], time: f64) -> Pose {
    single(rigid_at(keys, time))
}

fn single(Rigid { translation, rotation }: Rigid) -> Pose {
    Pose { translation: translation.as_vec3().to_array(), rotation: rotation.as_quat().to_array() }
}

/// Returns the pose at a time \[s\] in double precision; the identity without keys.
pub(super) fn rigid_at(keys: &[FrameKey], time: f64) -> Rigid {
    let next = keys.partition_point(|key| f64::from(key.time) <= time);
    match (keys.get(next.wrapping_sub(1)), keys.get(next)) {
        (Some(before), Some(after)) => between(before, after, time),
        (Some(key), None) | (None, Some(key)) => rigid(wide(key.translation), key.quaternion()),
        (None, None) => rigid(DVec3::ZERO, DQuat::IDENTITY),
    }
}

/// Motion of the body that a collider is fixed to: along keyframes, and turning steadily.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BodyPath {
    /// Poses, rising in time; empty if it rests.
    pub(super) keys: Vec<FrameKey>,
    /// Point about which it turns, where it is before it moves [m].
    pub(super) pivot: DVec3,
    /// Angular velocity about the pivot, before `keys` turn it [rad/s].
    pub(super) spin: DVec3,
}

impl BodyPath {
    /// Returns the motion at a time [s]: x moves to `pivot + R S (x - pivot) + t` with the turn S
    /// so far and the pose R, t of the keys.
    pub(super) fn rigid_at(&self, time: f64) -> Rigid {
        let keyed = rigid_at(&self.keys, time);
        // Keys alone keep their bits.
        if self.pivot == DVec3::ZERO && self.spin == DVec3::ZERO {
            return keyed;
        }
        let rotation = keyed.rotation * DQuat::from_scaled_axis(self.spin * time);
        rigid(keyed.translation + self.pivot - rotation * self.pivot, rotation)
    }

    /// Returns the motion at a time [s] in single precision.
    pub(super) fn pose_at(&self, time: f64) -> Pose {
        single(self.rigid_at(time))
    }
}

fn between(before: &FrameKey, after: &FrameKey, time: f64) -> Rigid {
    let [begin, end] = [before.time, after.time].map(f64::from);
    let fraction = (time - begin) / (end - begin);
    let [from, to] = [before, after].map(|key| wide(key.translation));
    let rotation = if before.rotation == after.rotation {
        // Bit-identical at all times, so that a space at rest lets its cloth sleep.
        before.quaternion()
    } else {
        let (from, to) = (before.quaternion(), after.quaternion());
        // q and -q are the same rotation: the nearer one gives the smaller angle.
        let to = if from.dot(to) < 0.0 { -to } else { to };
        // slerp: from (from^-1 to)^fraction
        from * DQuat::from_scaled_axis((from.conjugate() * to).to_scaled_axis() * fraction)
    };
    rigid(from + (to - from) * fraction, rotation)
}

fn rigid(translation: DVec3, rotation: DQuat) -> Rigid {
    Rigid { translation, rotation: rotation.normalize() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(time: f32, x: f32, angle: f32) -> FrameKey {
        FrameKey { time, translation: [x, 0.0, 0.0], rotation: [0.0, angle, 0.0] }
    }

    /// Rotation around y \[degrees\].
    fn angle(pose: Pose) -> f32 {
        let [x, _, z] = Pose { translation: [0.0; 3], ..pose }.apply([1.0, 0.0, 0.0]);
        (-z).atan2(x).to_degrees()
    }

    #[test]
    fn spaces_move_linearly_rotate_steadily_and_hold_at_the_ends() {
        let frame = LocalFrame {
            keys: vec![key(1.0, 0.0, 0.0), key(2.0, 4.0, 120.0), key(4.0, 4.0, 120.0)],
        };
        for (time, x, degrees) in [
            (0.0, 0.0, 0.0),
            (1.25, 1.0, 30.0),
            (1.5, 2.0, 60.0),
            (3.0, 4.0, 120.0),
            (9.0, 4.0, 120.0),
        ] {
            let pose = frame.pose_at(time);
            assert!(
                (pose.translation[0] - x).abs() < 1e-6 && (angle(pose) - degrees).abs() < 1e-4,
                "at {time} s: {pose:?}"
            );
            pose.validate().unwrap();
        }
        assert_eq!(
            frame.pose_at(2.0),
            frame.pose_at(3.3),
            "a space at rest does not change by a bit"
        );
        assert_eq!(LocalFrame::default().pose_at(1.0), Pose::default());
    }

    #[test]
    fn spaces_rotate_by_the_smaller_angle() {
        let frame = LocalFrame { keys: vec![key(0.0, 0.0, 350.0), key(1.0, 0.0, 10.0)] };
        assert!(angle(frame.pose_at(0.5)).abs() < 1e-4, "{}", angle(frame.pose_at(0.5)));
    }

    #[test]
    fn bodies_turn_about_their_pivot_while_keys_move_them() {
        let pivot = DVec3::new(2.0, 1.0, 0.0);
        let spin = DVec3::new(0.0, std::f64::consts::TAU, 0.0);
        let path = BodyPath { keys: vec![key(0.0, 0.0, 0.0), key(1.0, 4.0, 90.0)], pivot, spin };
        let quarter = path.rigid_at(0.25);
        let at = |x: DVec3| quarter.rotation * x + quarter.translation;
        assert!((at(pivot) - DVec3::new(3.0, 1.0, 0.0)).length() < 1e-12, "{quarter:?}");
        // A quarter of a turn, and a quarter of the 90 degrees of its keys.
        let arm = at(pivot + DVec3::X) - at(pivot);
        let angle = (90.0_f64 + 22.5).to_radians();
        assert!((arm - DVec3::new(angle.cos(), 0.0, -angle.sin())).length() < 1e-12, "{arm}");
        // Turns of whole revolutions keep the body where its keys put it.
        let whole = BodyPath { keys: Vec::new(), ..path }.rigid_at(1000.0);
        assert!(whole.translation.length() < 1e-9, "{whole:?}");
    }

    #[test]
    fn rotations_mean_the_same_as_those_of_transforms() {
        let rotation = [30.0, -50.0, 200.0];
        let transform = crate::Transform { rotation, ..Default::default() };
        let frame = LocalFrame { keys: vec![FrameKey { rotation, ..key(0.0, 0.0, 0.0) }] };
        let (a, b) = (transform.apply([1.0, 2.0, 3.0]), frame.pose_at(0.0).apply([1.0, 2.0, 3.0]));
        assert!((0..3).all(|axis| (a[axis] - b[axis]).abs() < 1e-5), "{a:?} {b:?}");
    }
}
