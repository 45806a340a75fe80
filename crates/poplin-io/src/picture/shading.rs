//! Light on cloth: a key light, a fill light, light from all around, and the sheen of fibres at grazing angles.

use glam::{DVec3, Vec2, Vec3};

use super::color::to_linear;
use super::{Camera, Color};

/// Linear light of the key light.
const KEY: Vec3 = Vec3::new(0.96, 0.93, 0.87);
/// Linear light of the fill light from the other side, cooler.
const FILL: Vec3 = Vec3::new(0.13, 0.16, 0.22);
/// Light from straight above and straight below.
const SKY: Vec3 = Vec3::new(0.38, 0.40, 0.44);
const FLOOR: Vec3 = Vec3::new(0.19, 0.18, 0.17);
/// How far light reaches around the terminator, as cloth scatters it.
const WRAP: f32 = 0.2;
/// Part of the key light that still arrives in its shadow: cloth lets light through.
const TRANSMISSION: f32 = 0.2;
/// Part of the light from all around that reaches the deepest fold, from cloth to cloth.
const BOUNCE: f32 = 0.34;
/// Strength of the sheen at the silhouette.
const SHEEN: f32 = 0.10;
/// The lining: what the back of a cloth is mixed with, and its fraction.
const LINING: Color = [236, 224, 204];
const LINING_FRACTION: f32 = 0.5;

/// Unit vector to the key light, world axes: it moves with the camera, to the upper left.
pub(super) fn key_direction(camera: &Camera) -> DVec3 {
    (camera.right * -0.66 + camera.up * 0.62 - camera.forward * 0.52).normalize()
}

/// The lights of one picture, in camera axes (right, up, ahead).
pub(super) struct Lights {
    key: Vec3,
    fill: Vec3,
    up: Vec3,
}

impl Lights {
    /// Lights that move with the camera: key from the upper left, fill from the right.
    pub(super) fn new(camera: &Camera) -> Self {
        let axes = |direction: DVec3| camera.to_axes(direction).as_vec3();
        Self {
            key: axes(key_direction(camera)),
            fill: Vec3::new(0.85, 0.05, -0.5).normalize(),
            up: axes(DVec3::Y),
        }
    }

    /// Light that a surface of this normal (camera axes, any length, zero for none) sends to the camera. `visibility`:
    /// fractions of the surrounding and of the key light that reach it.
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
        let wrapped = |direction: Vec3| ((normal.dot(direction) + WRAP) / (1.0 + WRAP)).max(0.0);
        let key = wrapped(self.key) * (TRANSMISSION + (1.0 - TRANSMISSION) * visibility.y);
        let around = FILL * wrapped(self.fill) + FLOOR.lerp(SKY, normal.dot(self.up) * 0.5 + 0.5);
        let light = KEY * key + around * (BOUNCE + (1.0 - BOUNCE) * visibility.x);
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
        let front = to_linear(color);
        Self { front, back: front.lerp(to_linear(LINING), LINING_FRACTION) }
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
