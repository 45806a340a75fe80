//! Cloth that follows a pointer.

use poplin_host::LiveCloth;
use poplin_model::{Frame, ModelError, Particle};

use crate::{Grab, GrabOptions, Ray, TriangleHit};

/// A point of a picture, seen by a camera in the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sight {
    /// Where the eye is \[m\].
    pub eye: [f64; 3],
    /// Unit vector from there through the point.
    pub ray: [f64; 3],
    /// Unit vector that the camera looks along.
    pub ahead: [f64; 3],
}

impl Sight {
    /// What it meets, for [`crate::pick_cloth`] and the like.
    pub fn ray(&self) -> Ray {
        let [origin, direction] = [self.eye, self.ray].map(|it| it.map(|x| x as f32));
        Ray { origin, direction }
    }
}

/// A [`Grab`] that a pointer leads, as far ahead of the eye as it met the cloth: in a plane that faces the camera.
#[derive(Debug)]
pub struct Drag {
    grab: Grab,
    /// How far ahead of the eye \[m\].
    depth: f64,
    /// From the point that was met to the particle that is grabbed, in the world \[m\].
    offset: [f64; 3],
}

impl Drag {
    /// Grabs the particle that is nearest to where the sight meets a cloth, with default options; `particles` are those that were hit.
    ///
    /// # Errors
    /// As [`Grab::new`].
    pub fn new(
        cloth: &mut LiveCloth,
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

    /// Where the pointer holds the cloth \[m\].
    pub fn point(&self, sight: &Sight) -> [f64; 3] {
        let along = self.depth / dot(sight.ray, sight.ahead);
        std::array::from_fn(|k| sight.eye[k] + sight.ray[k] * along)
    }

    /// Where that draws the particle to \[m\].
    pub fn target(&self, sight: &Sight) -> [f64; 3] {
        let point = self.point(sight);
        std::array::from_fn(|k| point[k] + self.offset[k])
    }

    /// Has it follow the pointer over the next frame; false if it slipped away, since the cloth was reset. `particles` are as they were
    /// read last.
    ///
    /// # Errors
    /// As [`Grab::move_to`] and [`Grab::apply`], but for a handle that is stale.
    pub fn apply(
        &mut self,
        cloth: &mut LiveCloth,
        particles: &[Particle],
        frame: &Frame,
        sight: &Sight,
    ) -> Result<bool, ModelError> {
        self.grab.move_to(self.target(sight).map(|x| x as f32))?;
        match self.grab.apply(cloth, particles, frame) {
            Err(ModelError::StaleHandle { .. }) => Ok(false),
            followed => followed.map(|()| true),
        }
    }

    /// Lets go.
    pub fn release(self, cloth: &mut LiveCloth) {
        self.grab.release(cloth);
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
