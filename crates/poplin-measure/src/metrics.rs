//! Strain, speed and finiteness of particle states, computed independently of [`crate::strain`].

use poplin_model::{Fabric, Particle};

/// Strain of the stretch edges of a cloth: `|length / rest - 1|`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Strain {
    /// Largest strain.
    pub max: f32,
    /// 99th percentile.
    pub p99: f32,
    /// Mean.
    pub mean: f32,
    /// Root of the mean square.
    pub rms: f32,
}

impl Strain {
    /// Statistics over the strains of single edges, of one or more states of a cloth; 0 without
    /// edges.
    pub fn of(mut strains: Vec<f32>) -> Self {
        if strains.is_empty() {
            return Self::default();
        }
        // NaN sorts last and becomes the maximum.
        strains.sort_by(f32::total_cmp);
        let mean = |power: i32| {
            strains.iter().map(|&strain| f64::from(strain).powi(power)).sum::<f64>()
                / strains.len() as f64
        };
        let (mean, rms) = (mean(1) as f32, mean(2).sqrt() as f32);
        Self {
            max: strains[strains.len() - 1],
            p99: strains[(strains.len() - 1) * 99 / 100],
            mean,
            rms,
        }
    }
}

/// Strain of the horizontal and vertical edges, or of all edges if there are none of these.
pub fn stretch_strain(fabric: &Fabric, particles: &[Particle]) -> Strain {
    Strain::of(stretch_strains(fabric, particles))
}

/// Strains of the single edges that [`stretch_strain`] measures.
pub fn stretch_strains(fabric: &Fabric, particles: &[Particle]) -> Vec<f32> {
    let kinds = fabric.edge_kinds();
    let has_stretch = kinds.iter().any(|kind| kind.is_stretch());
    fabric
        .edges()
        .filter(|(edge, _)| !has_stretch || kinds[*edge].is_stretch())
        .filter(|(edge, _)| fabric.rest_lengths[*edge] > 0.0)
        .map(|(edge, [a, b])| {
            (distance(particles[a as usize], particles[b as usize]) / fabric.rest_lengths[edge]
                - 1.0)
                .abs()
        })
        .collect()
}

/// Tests whether every coordinate and inverse mass is finite.
pub fn is_finite(particles: &[Particle]) -> bool {
    Particle::rows(particles).iter().flatten().all(|value| value.is_finite())
}

/// Largest speed of a particle between two states `dt` apart [m/s].
pub fn max_speed(before: &[Particle], after: &[Particle], dt: f32) -> f32 {
    before.iter().zip(after).map(|(a, b)| distance(*a, *b) / dt).fold(0.0, f32::max)
}

fn distance(a: Particle, b: Particle) -> f32 {
    let d: [f32; 3] = std::array::from_fn(|k| a.position[k] - b.position[k]);
    (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strain_counts_the_edges_of_its_percentile() {
        // 0.00, 0.01 ... 1.99, shuffled.
        let strain = Strain::of((0..200).map(|k| (k * 77 % 200) as f32 / 100.0).collect());
        assert_eq!((strain.max, strain.p99), (1.99, 1.97));
        assert!(
            (strain.mean - 0.995).abs() < 1e-6 && (strain.rms - 1.15037).abs() < 1e-4,
            "{strain:?}"
        );
        assert_eq!(Strain::of(Vec::new()), Strain::default());
    }
}
