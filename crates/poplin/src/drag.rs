//! Dragging of cloth with a pointer.

use poplin_host::Cloth;
use poplin_model::{ModelError, Particle};

use crate::{Grab, GrabOptions, Ray, TriangleHit};

/// A camera ray through one point of the picture, in world space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sight {
    /// Position of the eye \[m\].
    pub eye: [f64; 3],
    /// Unit vector from the eye through the point.
    pub ray: [f64; 3],
    /// Unit vector of the viewing direction.
    pub ahead: [f64; 3],
}

impl Sight {
    /// Converts the sight to a ray for [`crate::pick_cloth`] and other picking functions.
    pub fn ray(&self) -> Ray {
        let [origin, direction] = [self.eye, self.ray].map(|it| it.map(|x| x as f32));
        Ray { origin, direction }
    }
}

/// A [`Grab`] that follows a pointer in the plane that faces the camera at the depth of the first
/// hit.
#[derive(Debug)]
pub struct Drag {
    grab: Grab,
    /// Depth of the plane in front of the eye \[m\].
    depth: f64,
    /// Offset from the hit point to the grabbed particle, in world space \[m\].
    offset: [f64; 3],
}

impl Drag {
    /// Grabs the particle nearest to the hit point, with default options; `particles` are the ones
    /// the ray was tested against.
    ///
    /// # Errors
    /// See [`Grab::new`].
    pub fn new(
        cloth: &mut Cloth,
        particles: &[Particle],
        hit: &TriangleHit,
        sight: &Sight,
    ) -> Result<Self, ModelError> {
        let grab = Grab::new(cloth, particles, hit.particle, GrabOptions::default())?;
        let at = cloth.pose().apply(particles[hit.particle as usize].position);
        let offset = std::array::from_fn(|k| f64::from(at[k]) - f64::from(hit.point[k]));
        let depth = f64::from(hit.distance) * dot(sight.ray, sight.ahead);
        Ok(Self { grab, depth, offset })
    }

    /// Point on the plane under the pointer, in world space \[m\].
    pub fn point(&self, sight: &Sight) -> [f64; 3] {
        // The ray meets the plane at depth / cos(angle between ray and viewing direction).
        let along = self.depth / dot(sight.ray, sight.ahead);
        std::array::from_fn(|k| sight.eye[k] + sight.ray[k] * along)
    }

    /// Target of the grabbed particle, in world space \[m\].
    pub fn target(&self, sight: &Sight) -> [f64; 3] {
        let point = self.point(sight);
        std::array::from_fn(|k| point[k] + self.offset[k])
    }

    /// Moves the particle with the pointer over the next frame of `dt` seconds; returns false if
    /// the cloth was reset and no longer holds it. `particles` are the particles as read last.
    ///
    /// # Errors
    /// See [`Grab::move_to`] and [`Grab::apply`], except for [`ModelError::StaleHandle`].
    pub fn apply(
        &mut self,
        cloth: &mut Cloth,
        particles: &[Particle],
        dt: f32,
        sight: &Sight,
    ) -> Result<bool, ModelError> {
        self.grab.move_to(self.target(sight).map(|x| x as f32))?;
        match self.grab.apply(cloth, particles, dt) {
            Err(ModelError::StaleHandle { .. }) => Ok(false),
            followed => followed.map(|()| true),
        }
    }

    /// Releases the particle.
    pub fn release(self, cloth: &mut Cloth) {
        self.grab.release(cloth);
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
