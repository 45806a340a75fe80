//! Pose of a local space in the world.

use crate::error::{ModelError, check_finite, check_range};

/// Position and rotation of a cloth's local space: `world = rotation * local + translation`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Pose {
    /// Origin of the local space in the world \[m\] (default 0).
    pub translation: [f32; 3],
    /// Unit quaternion x y z w (default: no rotation).
    pub rotation: [f32; 4],
}

impl Default for Pose {
    fn default() -> Self {
        Self { translation: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] }
    }
}

impl Pose {
    /// Checks that all values are finite and that the length of the quaternion is 1 within 0.001.
    ///
    /// # Errors
    /// [`ModelError`] that names the field.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_finite("pose translation", &[self.translation])?;
        check_finite("pose rotation", &[self.rotation])?;
        let length = self.rotation.iter().map(|x| x * x).sum::<f32>().sqrt();
        check_range("pose rotation length", length, 0.999, 1.001)
    }

    /// Transforms a point from local to world space \[m\].
    pub fn apply(&self, local: [f32; 3]) -> [f32; 3] {
        let rotated =
            glam::Quat::from_array(self.rotation).normalize() * glam::Vec3::from_array(local);
        (rotated + glam::Vec3::from_array(self.translation)).to_array()
    }

    /// Transforms a point from world to local space \[m\]; computed in `f64` and rounded once, so
    /// it stays accurate far from the origin.
    pub fn to_local(&self, world: [f32; 3]) -> [f32; 3] {
        let widen = |point: [f32; 3]| glam::DVec3::from_array(point.map(f64::from));
        let rotation = glam::DQuat::from_array(self.rotation.map(f64::from)).normalize();
        let local = rotation.conjugate() * (widen(world) - widen(self.translation));
        local.as_vec3().to_array()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarter_rotation_about_y_maps_x_to_minus_z() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let pose = Pose { translation: [1.0, 2.0, 3.0], rotation: [0.0, half, 0.0, half] };
        let [x, y, z] = pose.apply([1.0, 0.0, 0.0]);
        assert!((x - 1.0).abs() < 1e-6 && (y - 2.0).abs() < 1e-6 && (z - 2.0).abs() < 1e-6);
    }

    #[test]
    fn to_local_inverts_apply() {
        let rotation = glam::Quat::from_euler(glam::EulerRot::XYZ, 0.3, -1.2, 2.0).to_array();
        let pose = Pose { translation: [4.0, -2.0, 0.5], rotation };
        let local = pose.to_local(pose.apply([0.25, -1.0, 3.0]));
        let error = glam::Vec3::from(local).distance(glam::vec3(0.25, -1.0, 3.0));
        assert!(error < 2e-6, "{local:?}");
    }

    #[test]
    fn validate_requires_unit_quaternion() {
        assert!(Pose { rotation: [0.0; 4], ..Pose::default() }.validate().is_err());
        assert!(Pose { translation: [f32::NAN; 3], ..Pose::default() }.validate().is_err());
        assert!(Pose::default().validate().is_ok());
    }
}
