//! Self collision of particles: the stage against its oracle and conservation laws, and whole
//! cloths without entanglement.

mod pairs;
mod settings;
mod sheets;

use poplin::model::ClothDesc;
use poplin_testkit::scenes::loose_particles as loose;

/// Loose particles with rest positions so far apart that no pair is exempt.
fn apart(particles: Vec<[f32; 4]>, distance: f32) -> ClothDesc {
    let mut cloth = loose(particles);
    cloth.rest_positions =
        (0..cloth.particles.len()).map(|i| [10.0 * distance * i as f32, 0.0, 0.0]).collect();
    cloth.config.self_collision.distance = Some(distance);
    cloth
}

fn wide<const N: usize>(p: &[f32; N]) -> [f64; 3] {
    std::array::from_fn(|k| f64::from(p[k]))
}

fn distance<const N: usize>(a: &[f32; N], b: &[f32; N]) -> f64 {
    let (a, b) = (wide(a), wide(b));
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}
