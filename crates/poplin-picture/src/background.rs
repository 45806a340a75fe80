//! Background: a soft gradient, and a floor with grid lines that show the scale.

use glam::{DVec3, Vec3};

use super::color::to_linear;
use super::shadow::Shadow;
use super::studio::{
    GRID_LINE, GROUND, GROUND_RADIUS, LINE_WIDTH, LINES_PER_RADIUS, PAPER_BOTTOM, PAPER_TOP,
    SHADOW, SHADOW_FRACTION, round_length,
};
use super::{Camera, Surface};

/// Floor below everything in the frame.
pub(super) struct Ground {
    center: DVec3,
    radius: f64,
    /// Distance between grid lines \[m\].
    spacing: f64,
}

fn ground_radius(camera: &Camera) -> f64 {
    let [low, high] = camera.bounds;
    ((high - low).length() * 0.5 * GROUND_RADIUS).max(1e-3)
}

/// Returns a round distance between grid lines for all of these cameras \[m\].
pub(super) fn grid_spacing(cameras: &[Camera]) -> f64 {
    let radius = cameras.iter().map(ground_radius).fold(1e-3, f64::max);
    round_length(radius / LINES_PER_RADIUS)
}

impl Ground {
    /// Creates the floor of a camera's picture, with this distance between grid lines \[m\].
    pub(super) fn new(camera: &Camera, spacing: f64) -> Self {
        let [low, high] = camera.bounds;
        let middle = (low + high) * 0.5;
        let center = DVec3::new(middle.x, camera.floor, middle.z);
        Self { center, radius: ground_radius(camera), spacing }
    }

    /// Fills a square picture of `size` pixels with the gradient, the floor, and the shadow of the
    /// surfaces.
    pub(super) fn paint(
        &self,
        camera: &Camera,
        surfaces: &[Surface],
        size: usize,
        mut put: impl FnMut(usize, usize, Vec3),
    ) {
        let shadow = Shadow::new(surfaces, self.center, self.radius);
        let [top, bottom, ground, line, dark] =
            [PAPER_TOP, PAPER_BOTTOM, GROUND, GRID_LINE, SHADOW].map(to_linear);
        for row in 0..size {
            let paper = top.lerp(bottom, row as f32 / size as f32);
            for column in 0..size {
                let (x, y) = (column as f64 + 0.5, row as f64 + 0.5);
                let mut light = paper;
                if let Some(point) = self.hit(camera, x, y, size) {
                    // The floor fades into the background, without a horizon.
                    let distance = (point - self.center).length() / self.radius;
                    let fade = (1.0 - distance).clamp(0.0, 1.0) as f32;
                    // smoothstep
                    let fade = fade * fade * (3.0 - 2.0 * fade);
                    let neighbor = self.hit(camera, x + 0.5, y + 0.5, size).unwrap_or(point);
                    let floor =
                        ground.lerp(line, self.line_cover(point, (neighbor - point).abs() * 2.0));
                    light = paper
                        .lerp(floor, fade * 0.8)
                        .lerp(dark, shadow.cover(point) * SHADOW_FRACTION * fade);
                }
                put(column, row, light);
            }
        }
    }

    /// Intersects the ray through a pixel with the floor, if it looks down on it.
    fn hit(&self, camera: &Camera, x: f64, y: f64, size: usize) -> Option<DVec3> {
        let ray = camera.ray(x, y, size as f64);
        // eye.y + distance ray.y = floor
        let distance = (self.center.y - camera.eye.y) / ray.y;
        (ray.y < 0.0 && distance > 0.0)
            .then(|| camera.eye + ray * distance)
            .filter(|point| point.is_finite())
    }

    /// Fraction of a pixel that grid lines cover; `footprint` is the pixel's extent on the floor
    /// \[m\].
    fn line_cover(&self, point: DVec3, footprint: DVec3) -> f32 {
        let along = |coordinate: f64, width: f64| {
            let width = width.max(1e-12) * LINE_WIDTH;
            let distance = (coordinate / self.spacing - (coordinate / self.spacing).round()).abs()
                * self.spacing;
            // Lines closer than a few pixels fade out instead of flickering.
            (1.0 - distance / width).clamp(0.0, 1.0)
                * (1.0 - 4.0 * width / self.spacing).clamp(0.0, 1.0)
        };
        along(point.x, footprint.x).max(along(point.z, footprint.z)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_camera_below_the_floor_sees_only_the_background() {
        let mut camera = Camera::framing(&[], Default::default());
        let ground = Ground::new(&camera, 1.0);
        camera.eye.y = ground.center.y - 1.0;
        camera.forward = DVec3::Y;
        assert_eq!(ground.hit(&camera, 5.0, 5.0, 10), None);
    }
}
