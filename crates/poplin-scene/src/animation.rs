//! Pins that move by keyframes.

use glam::DVec3;
use poplin_geometry::wide;
use poplin_model::Rigid;

use super::frame::rigid_at;
use super::{FrameKey, PinRule};

/// Pins that move together along a path, like a rigid body.
#[derive(Debug, Clone, PartialEq)]
pub struct AnimatedPins {
    /// Rules that select the vertices, which are pinned, or held until `release`.
    pub pins: Vec<PinRule>,
    /// Pivot of the rotation, in the local space before it moves \[m\] (default: the center of the
    /// vertices' bounding box at the start).
    pub pivot: Option<[f32; 3]>,
    /// Poses relative to the start, at least one without `release`, rising in time. A vertex that
    /// starts at x is at `pivot + rotation (x - pivot) + translation`, in the axes of the local
    /// space.
    pub keys: Vec<FrameKey>,
    /// Time at which the vertices are let go \[s\], `0..=1e6` (default: never).
    pub release: Option<f32>,
}

/// Pinned vertices that move together.
#[derive(Debug, Clone, PartialEq)]
pub struct MovingPins {
    /// Vertex indices, rising.
    pub vertices: Vec<u32>,
    /// Pivot of the rotation, in the local space \[m\].
    pub pivot: [f32; 3],
    /// Poses relative to the start, rising in time.
    pub keys: Vec<FrameKey>,
    /// Time at which the vertices are let go \[s\]; they are then not pinned, but held.
    pub release: Option<f32>,
}

impl MovingPins {
    /// Returns the displacement of the pins at a time \[s\]. Between keyframes the pivot moves
    /// linearly and the pins rotate at a constant rate around one axis, on circles about the pivot;
    /// before the first key and after the last the pose is held.
    pub fn motion(&self, time: f64) -> PinMotion {
        PinMotion { pivot: wide(self.pivot), rigid: rigid_at(&self.keys, time) }
    }

    /// Tests whether the vertices are free in a step from `begin` to `end` \[s\]: they are let go
    /// at the boundary of two steps that is nearest to `release`.
    pub fn is_released(&self, begin: f64, end: f64) -> bool {
        self.release.is_some_and(|release| f64::from(release) <= 0.5 * (begin + end))
    }
}

/// Displacement of moving pins at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PinMotion {
    pivot: DVec3,
    rigid: Rigid,
}

impl PinMotion {
    /// Returns the position of a pin that starts at `start`, both in the local space \[m\].
    pub fn apply(&self, start: [f32; 3]) -> [f32; 3] {
        let Rigid { translation, rotation } = self.rigid;
        let start = wide(start);
        (self.pivot + rotation * (start - self.pivot) + translation).as_vec3().to_array()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(time: f32, x: f32, angle: f32) -> FrameKey {
        FrameKey { time, translation: [x, 0.0, 1.0], rotation: [angle, 0.0, 0.0] }
    }

    #[test]
    fn pins_move_linearly_between_keys_and_hold_at_the_ends() {
        let keys = vec![key(1.0, 2.0, 0.0), key(2.0, 4.0, 0.0), key(4.0, 0.0, 0.0)];
        let pins = MovingPins { vertices: vec![0], pivot: [9.0, 9.0, 9.0], keys, release: None };
        for (time, x) in [(-1.0, 2.0), (1.0, 2.0), (1.5, 3.0), (2.0, 4.0), (3.0, 2.0), (9.0, 0.0)] {
            assert_eq!(
                pins.motion(time).apply([0.5, 0.1, 0.0]),
                [0.5 + x, 0.1, 1.0],
                "at {time} s"
            );
        }
        let none = MovingPins { keys: Vec::new(), ..pins };
        assert_eq!(none.motion(1.0).apply([0.5, 0.1, 0.2]), [0.5, 0.1, 0.2]);
    }

    #[test]
    fn pins_are_released_at_the_nearest_step() {
        let pins = |release| MovingPins {
            vertices: vec![0],
            pivot: [0.0; 3],
            keys: Vec::new(),
            release: Some(release),
        };
        let is_free = |release, step: u32| {
            pins(release).is_released(f64::from(step) / 60.0, f64::from(step + 1) / 60.0)
        };
        // 0.1 s is 6 frames, although the nearest f32 is above it.
        assert_eq!([5, 6].map(|step| is_free(0.1, step)), [false, true]);
        assert!(is_free(0.0, 0) && !is_free(0.01, 0) && is_free(0.01, 1));
    }

    #[test]
    fn pins_rotate_on_circles_about_their_pivot() {
        let keys = vec![key(0.0, 0.0, 0.0), key(1.0, 0.0, 90.0)];
        let pins = MovingPins { vertices: vec![0], pivot: [0.0, 2.0, 0.0], keys, release: None };
        for step in 0..=20 {
            let time = f64::from(step) / 20.0;
            let [x, y, z] = pins.motion(time).apply([5.0, 3.0, 0.0]);
            let angle = (90.0 * time).to_radians() as f32;
            let (sin, cos) = angle.sin_cos();
            let error = (y - 2.0 - cos).abs().max((z - 1.0 - sin).abs());
            assert!(x == 5.0 && error < 1e-6, "at {time} s: {:?}", [x, y, z]);
        }
    }
}
