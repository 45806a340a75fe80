//! Cloth that follows the pointer.

use glam::DVec3;
use poplin::model::{Frame, ModelError, Particle};
use poplin::{Grab, GrabOptions, LiveCloth, Ray, pick_cloth};

/// A point of the picture: where the eye is \[m\], the unit direction through the point, and the one that the camera looks in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sight {
    pub(crate) eye: DVec3,
    pub(crate) ray: DVec3,
    pub(crate) ahead: DVec3,
}

/// Cloth that the pointer holds as far ahead of the eye as it was met.
#[derive(Debug)]
pub(crate) struct Held {
    grab: Grab,
    /// How far ahead of the eye \[m\].
    depth: f64,
    /// From the point that was met to the particle that is grabbed, in the world \[m\].
    offset: DVec3,
}

impl Held {
    /// Grabs the cloth where the pointer meets it, if it does; `particles` are as they were read last.
    pub(crate) fn pick(
        cloth: &mut LiveCloth,
        particles: &[Particle],
        sight: Sight,
    ) -> Result<Option<Self>, ModelError> {
        let [origin, direction] = [sight.eye, sight.ray].map(|it| it.as_vec3().to_array());
        let Some(hit) = pick_cloth(cloth, particles, &Ray { origin, direction })? else {
            return Ok(None);
        };
        let grab = Grab::new(cloth, particles, hit.particle, GrabOptions::default())?;
        let at = cloth.pose().apply(particles[hit.particle as usize].position);
        let [at, met] = [at, hit.point].map(|point| DVec3::from(point.map(f64::from)));
        let depth = f64::from(hit.distance) * sight.ray.dot(sight.ahead);
        Ok(Some(Self { grab, depth, offset: at - met }))
    }

    /// Where the pointer holds it \[m\].
    fn point(&self, sight: Sight) -> DVec3 {
        sight.eye + sight.ray * (self.depth / sight.ray.dot(sight.ahead))
    }

    /// Has it follow the pointer over the next frame; false if it slipped away, since the cloth was reset.
    pub(crate) fn follow(
        &mut self,
        cloth: &mut LiveCloth,
        particles: &[Particle],
        frame: &Frame,
        sight: Sight,
    ) -> Result<bool, ModelError> {
        self.grab.move_to((self.point(sight) + self.offset).as_vec3().to_array())?;
        match self.grab.apply(cloth, particles, frame) {
            Err(ModelError::StaleHandle { .. }) => Ok(false),
            followed => followed.map(|()| true),
        }
    }

    /// Lets go.
    pub(crate) fn release(self, cloth: &mut LiveCloth) {
        self.grab.release(cloth);
    }
}
