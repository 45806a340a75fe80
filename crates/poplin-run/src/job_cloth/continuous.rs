//! Choice of continuous collision for thin colliders.

use std::sync::Arc;

use poplin_model::{ContactMode, Shape};
use poplin_scene::BuiltCollider;

use super::JobCloth;
use crate::numbers::short_length;

/// Speed for which a collider is thin: what a particle of this speed crosses in an iteration [m/s].
/// Cloth that falls 5 m has it.
const FAST: f32 = 10.0;

impl JobCloth {
    /// Returns about how many iterations it has per second [1/s], in frames of so many steps.
    pub(crate) fn frequency(&self, steps: u32, frame_rate: f32) -> f32 {
        let solver = &self.cloth.config.solver;
        let of_substeps = |substeps: u32| (substeps * steps) as f32 * frame_rate;
        let frequency = solver.frequency().or(solver.substeps().map(of_substeps));
        frequency.unwrap_or(frame_rate).max(frame_rate)
    }

    /// Turns continuous collision on, unless it was stated, if a box, a convex or a mesh is so
    /// thin that a particle of speed [`FAST`] crosses it in an iteration. Returns a line for the
    /// summary.
    pub(crate) fn choose_continuous(
        &mut self,
        steps: u32,
        frame_rate: f32,
        contact: ContactMode,
    ) -> Option<String> {
        if self.states_continuous || contact == ContactMode::Triangles {
            return None;
        }
        let reach = FAST / self.frequency(steps, frame_rate);
        let is_flat = |collider: &&Arc<BuiltCollider>| {
            let is_round = matches!(collider.shape, Shape::Sphere(_) | Shape::Capsule(_));
            collider.body.is_none() && !is_round
        };
        let thin = self.colliders.iter().filter(is_flat).map(|it| (it.sizes()[0], &it.name));
        let (thickness, collider) = thin.min_by(|a, b| a.0.total_cmp(&b.0))?;
        if thickness >= reach {
            return None;
        }
        self.cloth.config.contact.continuous = true;
        Some(format!(
            "sweep  `{}` collides along the paths of its particles, as collider `{collider}` is {} \
             thin (`contact.continuous`)",
            self.name,
            short_length(thickness)
        ))
    }
}
