//! Rigid transforms in double precision, and their effect on shapes.

use glam::{DMat3, DQuat, DVec3};

use crate::Pose;

/// A rigid transform: a rotation, then a translation, in double precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rigid {
    /// Displacement \[m\].
    pub translation: DVec3,
    /// Unit quaternion.
    pub rotation: DQuat,
}

impl Rigid {
    /// Transform from the local space with this `pose` to the world.
    #[inline]
    pub fn new(pose: Pose) -> Self {
        let rotation = DQuat::from_array(pose.rotation.map(f64::from));
        // Skips the normalisation for the most common rotation.
        let is_none = rotation == DQuat::IDENTITY;
        let rotation = if is_none { rotation } else { rotation.normalize() };
        Self { translation: widen(pose.translation), rotation }
    }

    /// Returns the inverse transform.
    #[must_use]
    pub fn inverse(self) -> Self {
        let rotation = self.rotation.conjugate();
        Self { translation: -(rotation * self.translation), rotation }
    }

    /// Composes two transforms: `first`, then `self`.
    #[must_use]
    pub fn after(self, first: Self) -> Self {
        let rotation = (self.rotation * first.rotation).normalize();
        Self { translation: self.rotation * first.translation + self.translation, rotation }
    }
}

/// A similarity transform: a scale, then a rotation, then a translation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    scale: f64,
    /// Rotation, `None` for the identity, which most shapes have.
    rotation: Option<DMat3>,
    translation: DVec3,
}

impl Placement {
    /// Creates a placement that scales by a factor above 0, then applies the rigid transform.
    #[inline]
    pub fn new(scale: f64, rigid: Rigid) -> Self {
        let is_rotated = rigid.rotation != DQuat::IDENTITY;
        let rotation = is_rotated.then(|| DMat3::from_quat(rigid.rotation));
        Self { scale, rotation, translation: rigid.translation }
    }

    #[inline]
    fn rotate(&self, v: DVec3) -> DVec3 {
        self.rotation.map_or(v, |rotation| rotation * v)
    }

    /// Transforms a point \[m\].
    #[inline]
    pub fn point(&self, point: [f32; 3]) -> [f32; 3] {
        narrow(self.rotate(widen(point) * self.scale) + self.translation)
    }

    /// Transforms a difference of points \[m\].
    pub fn edge(&self, edge: [f32; 3]) -> [f32; 3] {
        narrow(self.rotate(widen(edge) * self.scale))
    }

    /// Scales a length \[m\].
    #[inline]
    pub fn length(&self, length: f32) -> f32 {
        (f64::from(length) * self.scale) as f32
    }

    /// Transforms a plane with a unit normal n and its offset d: n . x = d becomes n' . x' = d'
    /// with n' = R n, d' = s d + n' . t.
    pub fn plane(&self, normal: [f32; 3], offset: f32) -> ([f32; 3], f32) {
        let normal = self.rotate(widen(normal));
        let offset = f64::from(offset) * self.scale + normal.dot(self.translation);
        (narrow(normal), offset as f32)
    }
}

#[inline]
fn widen(v: [f32; 3]) -> DVec3 {
    DVec3::from(v.map(f64::from))
}

#[inline]
fn narrow(v: DVec3) -> [f32; 3] {
    v.as_vec3().to_array()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_after_transform_is_identity() {
        let pose = Pose { translation: [1.0, -2.0, 3.0], rotation: [0.5, -0.5, 0.5, 0.5] };
        let there = Rigid::new(pose);
        let back = there.inverse().after(there);
        assert!(back.translation.length() < 1e-15);
        assert!((back.rotation.w.abs() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn plane_and_its_points_transform_together() {
        let pose = Pose { translation: [1.0, -2.0, 3.0], rotation: [0.5, -0.5, 0.5, 0.5] };
        let placement = Placement::new(2.0, Rigid::new(pose));
        let (normal, offset) = placement.plane([0.6, 0.8, 0.0], 1.5);
        // A point of the plane: 0.6 * 0.9 + 0.8 * 1.2 = 1.5.
        let point = placement.point([0.9, 1.2, 7.0]);
        let height = (0..3).map(|k| normal[k] * point[k]).sum::<f32>() - offset;
        assert!(height.abs() < 1e-5, "{height}");
    }
}
