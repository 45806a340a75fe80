//! Orbit camera for interactive renderers: it looks at a point from a distance.

use glam::camera::rh::proj::directx::perspective;
use glam::camera::rh::view::look_to_mat4;
use glam::{DVec3, Mat4, Vec3};

use super::View;
use super::camera::TAN_HALF_FIELD;

/// Maximum elevation \[degrees\]: beyond it, up would be undefined.
const STEEPEST: f64 = 89.0;

/// Fraction of the picture that the framed box may fill.
const FILL: f64 = 0.86;

/// Camera that orbits a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Orbit {
    /// Point that it looks at \[m\].
    pub target: DVec3,
    /// Distance from the target \[m\].
    pub distance: f64,
    /// Direction from the target to the camera.
    pub view: View,
}

impl Orbit {
    /// Returns a camera with the box from `low` to `high` \[m\] in a picture of this size in
    /// pixels.
    pub fn framing([low, high]: [DVec3; 2], view: View, [width, height]: [f64; 2]) -> Self {
        let mut orbit = Self { target: (low + high) * 0.5, distance: 1.0, view };
        let [right, up, ahead] = orbit.axes();
        let aspect = (width / height.max(1.0)).max(0.1);
        let half = (high - low) * 0.5;
        // In the frame:  |s| <= t (D + z)  for every corner, s across or up, z ahead  =>  D =
        // max(|s| / t - z).
        let reach =
            |corner: DVec3, axis: DVec3, t: f64| corner.dot(axis).abs() / t - corner.dot(ahead);
        let t = TAN_HALF_FIELD * FILL;
        for index in 0..8 {
            let sign = |bit: u32| if index >> bit & 1 == 1 { 1.0 } else { -1.0 };
            let corner = half * DVec3::new(sign(0), sign(1), sign(2));
            let needed = reach(corner, right, t * aspect).max(reach(corner, up, t));
            orbit.distance = if index == 0 { needed } else { orbit.distance.max(needed) };
        }
        // A single point still needs a frame of some size.
        orbit.distance = orbit.distance.max(1e-2 + orbit.target.abs().max_element() * 1e-5);
        orbit
    }

    /// Unit vectors to the right, up and ahead.
    pub fn axes(&self) -> [DVec3; 3] {
        let (sin_azimuth, cos_azimuth) = self.view.azimuth.to_radians().sin_cos();
        let (sin_elevation, cos_elevation) = self.view.elevation.to_radians().sin_cos();
        let ahead =
            -DVec3::new(sin_azimuth * cos_elevation, sin_elevation, cos_azimuth * cos_elevation);
        let right = DVec3::new(cos_azimuth, 0.0, -sin_azimuth);
        [right, right.cross(ahead), ahead]
    }

    /// Position of the camera \[m\].
    pub fn eye(&self) -> DVec3 {
        self.target - self.axes()[2] * self.distance
    }

    /// Returns the matrix from the world to the clip space of a picture of this size in pixels.
    pub fn clip_from_world(&self, [width, height]: [f64; 2]) -> Mat4 {
        let field = 2.0 * TAN_HALF_FIELD.atan();
        let aspect = (width / height.max(1.0)) as f32;
        let [near, far] = [self.distance * 0.02, self.distance * 50.0];
        let eye = self.eye();
        perspective(field as f32, aspect, near as f32, far as f32)
            * look_to_mat4(eye.as_vec3(), self.axes()[2].as_vec3(), Vec3::Y)
    }

    /// Rotates by a drag in pixels.
    pub fn rotate(&mut self, [x, y]: [f64; 2]) {
        self.view.azimuth = (self.view.azimuth - x * 0.4).rem_euclid(360.0);
        self.view.elevation = (self.view.elevation + y * 0.4).clamp(-STEEPEST, STEEPEST);
    }

    /// Moves in the picture plane by a drag in pixels, in a picture of this height.
    pub fn pan(&mut self, [x, y]: [f64; 2], height: f64) {
        let [right, up, _] = self.axes();
        self.target += (up * y - right * x) * self.pixel(height);
    }

    /// Divides the distance by a factor.
    pub fn zoom(&mut self, factor: f64) {
        self.distance = (self.distance / factor).clamp(1e-3, 1e6);
    }

    /// Size of a pixel at the target, in a picture of this height \[m\].
    pub fn pixel(&self, height: f64) -> f64 {
        2.0 * TAN_HALF_FIELD * self.distance / height.max(1.0)
    }

    /// Returns the direction of the ray through a pixel of a picture of this size.
    pub fn ray(&self, [x, y]: [f64; 2], [width, height]: [f64; 2]) -> DVec3 {
        let [right, up, ahead] = self.axes();
        let half = height.max(1.0) * 0.5;
        let across = (x - width * 0.5) / half * TAN_HALF_FIELD;
        let upward = (half - y) / half * TAN_HALF_FIELD;
        (ahead + right * across + up * upward).normalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [f64; 2] = [1280.0, 800.0];

    #[test]
    fn the_frame_contains_the_box_tightly() {
        let [low, high] = [DVec3::new(-1.0, 0.0, -0.5), DVec3::new(1.0, 2.0, 0.5)];
        let orbit = Orbit::framing([low, high], View::default(), SIZE);
        let clip = orbit.clip_from_world(SIZE);
        let corners = (0..8).map(|index| {
            let pick = |bit: usize| if index >> bit & 1 == 1 { high[bit] } else { low[bit] };
            clip.project_point3(DVec3::new(pick(0), pick(1), pick(2)).as_vec3())
        });
        let farthest = corners.map(|corner| corner.x.abs().max(corner.y.abs())).fold(0.0, f32::max);
        assert!((0.81..0.87).contains(&farthest), "{farthest}");
    }

    #[test]
    fn a_ray_goes_through_its_pixel() {
        let orbit = Orbit { target: DVec3::ONE, distance: 3.0, view: View::default() };
        let point = orbit.eye() + orbit.ray([900.0, 200.0], SIZE) * 2.0;
        let clip = orbit.clip_from_world(SIZE).project_point3(point.as_vec3());
        let pixel = [(clip.x + 1.0) * 640.0, (1.0 - clip.y) * 400.0];
        assert!((pixel[0] - 900.0).abs() < 0.1 && (pixel[1] - 200.0).abs() < 0.1, "{pixel:?}");
    }
}
