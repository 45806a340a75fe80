//! Smallest distances between particles that collision keeps apart, between cloths and within one
//! cloth.

use poplin::State;
use poplin_model::Particle;

use crate::case::Case;

/// Smallest distance over the pairs of particles that a case keeps apart \[m\]: pairs of different
/// cloths if these collide with one another, and pairs of one cloth if it collides with itself,
/// except pairs that are closer at rest. Infinite without pairs, NaN if a particle is not finite.
#[must_use]
pub fn smallest_distance(case: &Case, state: &State) -> f32 {
    let mut smallest = f32::INFINITY;
    for (first, &id) in state.ids().iter().enumerate() {
        let own = state.current(id);
        if case.inter_collision.is_some() {
            for &second in &state.ids()[..first] {
                smallest = nan_min(smallest, between(own, state.current(second)));
            }
        }
        if let Some(limit) = case.self_collision_distance(first) {
            let rest = case.rest_positions(first);
            smallest = nan_min(
                smallest,
                within(own, case.self_collision_indices(first).as_deref(), rest.as_deref(), limit),
            );
        }
    }
    smallest
}

/// Smallest distance between particles of two cloths \[m\].
pub fn between(a: &[Particle], b: &[Particle]) -> f32 {
    a.iter()
        .flat_map(|first| b.iter().map(move |second| distance(first, second)))
        .fold(f32::INFINITY, nan_min)
}

/// Smallest distance of two particles of a cloth \[m\]: of all particles or of `indices`, except
/// pairs whose rest distance is below `limit`.
fn within(
    particles: &[Particle],
    indices: Option<&[u32]>,
    rest: Option<&[Particle]>,
    limit: f32,
) -> f32 {
    let all: Vec<u32> = (0..particles.len() as u32).collect();
    let indices = indices.unwrap_or(&all);
    let mut smallest = f32::INFINITY;
    for (position, &a) in indices.iter().enumerate() {
        for &b in &indices[..position] {
            let (a, b) = (a as usize, b as usize);
            if rest.is_none_or(|rest| distance(&rest[a], &rest[b]) >= limit) {
                smallest = nan_min(smallest, distance(&particles[a], &particles[b]));
            }
        }
    }
    smallest
}

/// Distance of two particles \[m\], in double precision.
fn distance(a: &Particle, b: &Particle) -> f32 {
    point_distance(a.position, b.position)
}

/// Distance of two points \[m\], in double precision.
pub(crate) fn point_distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let d: [f64; 3] = std::array::from_fn(|k| f64::from(a[k]) - f64::from(b[k]));
    (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt() as f32
}

/// Minimum of two numbers, NaN if either one is.
fn nan_min(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::NAN } else { a.min(b) }
}

/// Distance of the mean position of all particles of all cloths from `center` \[m\].
#[must_use]
pub fn center_error(state: &State, center: [f32; 3]) -> f32 {
    let particles = state.ids().iter().flat_map(|&id| state.current(id));
    let (mut sum, mut count) = ([0.0f64; 3], 0.0);
    for particle in particles {
        count += 1.0;
        sum.iter_mut().zip(particle.position).for_each(|(sum, x)| *sum += f64::from(x));
    }
    let mean = sum.map(|sum| (sum / count) as f32);
    point_distance(mean, center)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_close_at_rest_and_unlisted_particles_do_not_count() {
        let particles =
            [[0.0; 4], [0.1, 0.0, 0.0, 1.0], [0.0, 0.3, 0.0, 1.0], [0.0, 0.3, 0.05, 1.0]]
                .map(Particle::from);
        let rest = [[0.0; 4], [0.1, 0.0, 0.0, 1.0], [5.0, 0.0, 0.0, 1.0], [9.0, 0.0, 0.0, 1.0]]
            .map(Particle::from);
        assert_eq!(within(&particles, None, None, 0.2), 0.05);
        assert_eq!(within(&particles, Some(&[0, 1, 2]), None, 0.2), 0.1);
        assert_eq!(within(&particles, Some(&[0, 1, 2]), Some(&rest), 0.2), 0.3);
        assert_eq!(within(&particles, Some(&[0, 1]), Some(&rest), 0.2), f32::INFINITY);
        assert!(within(&[[f32::NAN; 4], [0.0; 4]].map(Particle::from), None, None, 0.2).is_nan());
        assert_eq!(between(&particles[..2], &particles[2..3]), 0.3);
    }
}
