//! Local spaces of cloths far from the origin.

use poplin_model::MAX_COORDINATE;

use super::JobCloth;

/// Distance of the middle of a cloth from the origin along an axis up to which its local space
/// stays that of the world \[m\].
const NEAR: f32 = 4.0;

impl JobCloth {
    /// Moves the origin of the local space to the middle of a cloth that is far from the world's
    /// origin and has no `frame`: the steps of a simulation are smaller than what `f32` resolves
    /// there. The whole meters of the shift are exact.
    pub(crate) fn center(&mut self) {
        let [low, high] = self.bounds();
        let middle = ((low + high) * 0.5).round();
        if self.frame.is_some() || !middle.is_finite() || middle.abs().max_element() <= NEAR {
            return;
        }
        let middle = middle.to_array();
        let shift = |position: &mut [f32; 3]| {
            *position = [0, 1, 2].map(|axis| position[axis] - middle[axis]);
        };
        self.cloth.particles.iter_mut().for_each(|particle| shift(&mut particle.position));
        self.cloth.previous_positions.iter_mut().for_each(shift);
        self.mesh.positions.iter_mut().for_each(shift);
        self.moving.iter_mut().for_each(|moving| shift(&mut moving.path.pivot));
        let spheres = self.motion_spheres.iter_mut().chain(&mut self.separation_spheres);
        let bounded = spheres.filter(|sphere| sphere.radius < MAX_COORDINATE);
        bounded.for_each(|sphere| shift(&mut sphere.center));
        for offset in &mut self.offsets {
            *offset = [0, 1, 2].map(|axis| offset[axis] + middle[axis]);
        }
    }
}
