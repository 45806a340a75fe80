//! What a user judges a run by: strain, speed, finiteness.

use poplin_model::Fabric;

/// Strain of the stretch edges of a cloth.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Strain {
    /// Largest `|length / rest - 1|`.
    pub max: f32,
    /// 99th percentile.
    pub p99: f32,
}

/// Strain over the horizontal and vertical edges, or over all edges if there are none of these.
pub fn stretch_strain(fabric: &Fabric, particles: &[[f32; 4]]) -> Strain {
    use poplin_model::PhaseKind::{Horizontal, Vertical};
    let kinds = fabric.edge_kinds();
    let has_stretch = kinds.iter().any(|kind| matches!(kind, Horizontal | Vertical));
    let mut strains: Vec<f32> = fabric
        .edges()
        .filter(|(edge, _)| !has_stretch || matches!(kinds[*edge], Horizontal | Vertical))
        .filter(|(edge, _)| fabric.rest_lengths[*edge] > 0.0)
        .map(|(edge, [a, b])| (distance(particles[a as usize], particles[b as usize]) / fabric.rest_lengths[edge] - 1.0).abs())
        .collect();
    if strains.is_empty() {
        return Strain::default();
    }
    strains.sort_by(f32::total_cmp);
    Strain { max: strains[strains.len() - 1], p99: strains[(strains.len() - 1) * 99 / 100] }
}

/// Whether every coordinate is finite.
pub fn is_finite(particles: &[[f32; 4]]) -> bool {
    particles.iter().flatten().all(|value| value.is_finite())
}

/// Largest distance of a particle between two states, per second [m/s].
pub fn max_speed(before: &[[f32; 4]], after: &[[f32; 4]], dt: f32) -> f32 {
    before.iter().zip(after).map(|(a, b)| distance(*a, *b) / dt).fold(0.0, f32::max)
}

fn distance(a: [f32; 4], b: [f32; 4]) -> f32 {
    let d: [f32; 3] = std::array::from_fn(|k| a[k] - b[k]);
    (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
}
