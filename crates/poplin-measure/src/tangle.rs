//! Entanglement of cloths that have a thickness.

use glam::{Quat, Vec3};
use poplin_model::{ClothDesc, Particle, Pose};
use serde::Serialize;

use crate::entanglement::EntanglementCounter;

/// Largest number of particles that are measured: beyond it, counting would take longer than
/// simulating.
const MAX_PARTICLES: usize = 200_000;

/// Counts of particles and triangles that came too close, within one cloth or between two.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tangle {
    /// Particle pairs closer than half the thinnest cloth that are not neighbors at rest.
    pub close_pairs: usize,
    /// Edges that cross a triangle.
    pub crossings: usize,
}

/// Distance that a cloth keeps between its particles or to those of other cloths \[m\]; `None` if
/// it does neither.
pub fn kept_distance(cloth: &ClothDesc) -> Option<f32> {
    let [own, others] = cloth.contact_distances();
    Some(own.max(others)).filter(|&distance| distance > 0.0)
}

/// Particles and triangles of all cloths with contact, in one list.
#[derive(Debug, Default)]
pub struct TangleField {
    rest: Vec<[f32; 3]>,
    positions: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
    ends: Vec<usize>,
    thickness: f32,
    spacing: f32,
}

impl TangleField {
    /// Adds a cloth that keeps `distance` \[m\], with the current positions of its particles.
    pub fn add(&mut self, cloth: &ClothDesc, distance: f32, pose: Pose, particles: &[Particle]) {
        let thickness =
            if cloth.config.thickness > 0.0 { cloth.config.thickness } else { distance };
        self.thickness =
            if self.ends.is_empty() { thickness } else { self.thickness.min(thickness) };
        self.spacing = self.spacing.max(distance);
        let begin = self.rest.len() as u32;
        let rotation = Quat::from_array(pose.rotation);
        let in_world = |particle: &Particle| {
            (rotation * Vec3::from(particle.position) + Vec3::from(pose.translation)).to_array()
        };
        self.rest.extend(cloth.particles.iter().map(|particle| particle.position));
        self.positions.extend(particles.iter().map(in_world));
        self.triangles.extend(
            cloth.fabric.triangles.iter().map(|corners| corners.map(|corner| begin + corner)),
        );
        self.ends.push(self.rest.len());
    }

    /// Counts close pairs and crossings; `None` if no cloth keeps a distance or there are too many
    /// particles.
    pub fn measure(&self) -> Option<Tangle> {
        let is_asked = !self.ends.is_empty() && self.rest.len() <= MAX_PARTICLES;
        is_asked.then(|| {
            let counter = EntanglementCounter::new(&self.rest, &self.triangles, &self.ends);
            let found = counter.measure(
                &self.positions,
                f64::from(0.5 * self.thickness),
                // Particles within two spacings at rest are neighbors.
                f64::from(2.0 * self.spacing),
            );
            Tangle { close_pairs: found.close_pairs, crossings: found.crossings }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_cook::{CookOptions, cook};
    use poplin_model::Mesh;

    #[test]
    fn overlapping_layers_count_and_separate_layers_do_not() {
        let mut cloth =
            cook(&Mesh::grid(5, 5, 1.0, 1.0), &CookOptions::default()).unwrap().into_cloth();
        let measure = |cloth: &ClothDesc, height: f32| {
            let mut field = TangleField::default();
            let above = Pose { translation: [0.0, height, 0.0], ..Pose::default() };
            for pose in [Pose::default(), above] {
                kept_distance(cloth)
                    .iter()
                    .for_each(|&distance| field.add(cloth, distance, pose, &cloth.particles));
            }
            field.measure()
        };
        assert_eq!(measure(&cloth, 0.5), None);
        cloth.config.thickness = 0.02;
        assert_eq!(measure(&cloth, 0.5), Some(Tangle { close_pairs: 0, crossings: 0 }));
        assert_eq!(measure(&cloth, 0.005), Some(Tangle { close_pairs: 25, crossings: 0 }));
    }
}
