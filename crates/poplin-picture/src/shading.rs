//! Shading of cloth: a key light, a fill light, ambient light, and the sheen of fibres at grazing
//! angles.

use glam::{DVec3, Vec2, Vec3};

use super::studio::{
    BOUNCE, FILL, FILL_DIRECTION, FLOOR, KEY, KEY_DIRECTION, SHEEN, SKY, TRANSMISSION, WRAP, sides,
};
use super::{Camera, Color};

/// Returns the unit vector to the key light in world axes: it moves with the camera, to the upper
/// left.
pub(super) fn key_direction(camera: &Camera) -> DVec3 {
    let [right, up, ahead] = KEY_DIRECTION.to_array();
    (camera.right * right + camera.up * up + camera.forward * ahead).normalize()
}

/// Lights of one picture, in camera axes (right, up, ahead).
pub(super) struct Lights {
    key: Vec3,
    fill: Vec3,
    up: Vec3,
}

impl Lights {
    /// Creates lights that move with the camera: key from the upper left, fill from the right.
    pub(super) fn new(camera: &Camera) -> Self {
        let axes = |direction: DVec3| camera.to_axes(direction).as_vec3();
        Self {
            key: axes(key_direction(camera)),
            fill: FILL_DIRECTION.normalize(),
            up: axes(DVec3::Y),
        }
    }

    /// Returns the light that a surface with this normal (camera axes, any length, zero for none)
    /// sends to the camera. `visibility` has the fractions of the ambient and of the key light that
    /// reach it.
    pub(super) fn shade(
        &self,
        material: &Material,
        normal: Vec3,
        visibility: Vec2,
        is_front: bool,
    ) -> Vec3 {
        let albedo = if is_front { material.front } else { material.back };
        let normal = normal.try_normalize().unwrap_or(Vec3::NEG_Z);
        // Interpolated normals are those of the front; the back is lit from its own side.
        let normal = if is_front { normal } else { -normal };
        // Wrapped diffuse light: max(0, (n . l + w) / (1 + w))
        let wrapped = |direction: Vec3| ((normal.dot(direction) + WRAP) / (1.0 + WRAP)).max(0.0);
        let key = wrapped(self.key) * (TRANSMISSION + (1.0 - TRANSMISSION) * visibility.y);
        let around = FILL * wrapped(self.fill) + FLOOR.lerp(SKY, normal.dot(self.up) * 0.5 + 0.5);
        let light = KEY * key + around * (BOUNCE + (1.0 - BOUNCE) * visibility.x);
        // Sheen: (1 - |n . view|)^3
        let grazing = 1.0 - normal.z.abs().min(1.0);
        (albedo + Vec3::splat(SHEEN * grazing * grazing * grazing)) * light
    }
}

/// Colours of the two sides of a cloth, in linear light.
pub(super) struct Material {
    front: Vec3,
    back: Vec3,
}

impl Material {
    pub(super) fn new(color: Color) -> Self {
        let [front, back] = sides(color);
        Self { front, back }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shadow_darkens_and_the_back_is_paler() {
        let lights = Lights::new(&Camera::framing(&[], Default::default()));
        let material = Material::new([78, 112, 158]);
        let shade = |visibility, is_front| {
            let normal = if is_front { Vec3::NEG_Z } else { Vec3::Z };
            lights.shade(&material, normal, visibility, is_front).element_sum()
        };
        assert!(shade(Vec2::ZERO, true) < 0.5 * shade(Vec2::ONE, true));
        assert!(shade(Vec2::ONE, false) > 1.2 * shade(Vec2::ONE, true));
    }
}
