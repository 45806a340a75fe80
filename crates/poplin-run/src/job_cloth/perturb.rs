//! Perturbation of flat cloth, which folds nowhere by itself.

use glam::Vec3;
use poplin_model::{ClothDesc, Particle};

use super::mean_rest_length;

/// Mean edge, in shortest edges, beyond which displacements follow the shortest edge: those of the
/// mean edge would stretch slivers.
const SLIVER: f32 = 50.0;

/// Displaces the free particles of a flat cloth off its plane, by up to `fraction` of its mean
/// edge.
pub(super) fn perturb(cloth: &mut ClothDesc, fraction: f32) {
    let Some(normal) = plane_of(&cloth.particles) else { return };
    let shortest = cloth.fabric.rest_lengths.iter().copied().fold(f32::INFINITY, f32::min);
    let mean_edge = mean_rest_length(&cloth.fabric).min(SLIVER * shortest);
    for (index, particle) in (0u32..).zip(&mut cloth.particles) {
        if particle.is_pinned() {
            continue;
        }
        // Pseudo-random number in -1..=1 from the index (Knuth's multiplicative hash).
        let random =
            index.wrapping_add(1).wrapping_mul(2_654_435_761) as f32 / (1u32 << 31) as f32 - 1.0;
        let shift = normal * (random * fraction * mean_edge);
        particle.position = (Vec3::from(particle.position) + shift).to_array();
    }
}

/// Returns the normal of the plane that contains all particles up to rounding, if there is one.
fn plane_of(particles: &[Particle]) -> Option<Vec3> {
    let positions = || particles.iter().map(|particle| Vec3::from(particle.position));
    let origin = positions().next()?;
    // Farthest point from the first, then farthest from that line: robust edges of the plane.
    let farthest_from = |distance: &dyn Fn(Vec3) -> f32| {
        positions().max_by(|a, b| distance(*a).total_cmp(&distance(*b)))
    };
    let first = farthest_from(&|p| p.distance(origin))? - origin;
    let along = first.try_normalize()?;
    let second = farthest_from(&|p| (p - origin).cross(along).length())? - origin;
    let normal = along.cross(second).try_normalize()?;
    // Tolerance relative to size and distance from the origin, which set the rounding errors.
    let size = first.length().max(origin.abs().max_element());
    positions().all(|p| (p - origin).dot(normal).abs() <= 1e-5 * size).then_some(normal)
}
