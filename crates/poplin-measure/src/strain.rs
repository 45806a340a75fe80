//! Strain and speed of particle states that are read back.

use poplin_model::{Fabric, Particle};
use serde::Serialize;

/// Strain of the stretch edges of a cloth: `|length / rest - 1|`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Strain {
    /// Largest strain.
    pub max: f32,
    /// 99th percentile.
    pub p99: f32,
    /// Signed strain of the longest edge, `length / rest - 1`.
    pub longest: f32,
    /// Signed strain of the shortest edge.
    pub shortest: f32,
}

impl Strain {
    /// Worse of both, value by value; NaN is worst.
    pub fn worse(self, other: Self) -> Self {
        let larger = |a: f32, b: f32| if a.total_cmp(&b).is_ge() { a } else { b };
        Self {
            max: larger(self.max, other.max),
            p99: larger(self.p99, other.p99),
            longest: larger(self.longest, other.longest),
            shortest: -larger(-self.shortest, -other.shortest),
        }
    }
}

/// Signed strain of the stretch edges of a cloth, `length / rest - 1`: above 0 an edge is longer
/// than at rest, below 0 shorter. Stretched cloth raises `p99` and `longest`, compressed cloth
/// lowers `p1` and `shortest`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct SignedStrain {
    /// 99th percentile.
    pub p99: f32,
    /// Largest strain.
    pub longest: f32,
    /// First percentile.
    pub p1: f32,
    /// Smallest strain.
    pub shortest: f32,
}

impl SignedStrain {
    /// Statistics over the strains of single edges, of one or more states of a cloth; 0 without
    /// edges. Sorts `strains`.
    pub fn of(strains: &mut [f32]) -> Self {
        strains.sort_unstable_by(f32::total_cmp);
        let [Some(&shortest), Some(&longest)] = [strains.first(), strains.last()] else {
            return Self::default();
        };
        let last = strains.len() - 1;
        // Both percentiles are the same number of entries from their ends.
        let (p99, p1) = (strains[last * 99 / 100], strains[last - last * 99 / 100]);
        Self { p99, longest, p1, shortest }
    }
}

/// Edges that are longer than a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongEdges {
    /// Number of edges, at least 1.
    pub count: usize,
    /// Strain of the longest edge, `length / rest - 1`.
    pub longest: f32,
    /// Particles of the longest edge.
    pub particles: [u32; 2],
}

/// Stretch edges of a fabric, prepared for measuring every frame.
#[derive(Debug)]
pub struct StretchEdges {
    /// Ends and inverse rest length [1/m] of each edge.
    edges: Vec<([u32; 2], f32)>,
    strains: Vec<f32>,
}

impl StretchEdges {
    /// Collects the vertical and horizontal edges, or all edges if there are none of these; edges
    /// without rest length are skipped.
    pub fn new(fabric: &Fabric) -> Self {
        let kinds = fabric.edge_kinds();
        let is_stretch = |edge: usize| kinds[edge].is_stretch();
        let has_stretch = (0..kinds.len()).any(is_stretch);
        let counts =
            |edge: usize| (is_stretch(edge) || !has_stretch) && fabric.rest_lengths[edge] > 0.0;
        let edges: Vec<_> = fabric
            .edges()
            .filter(|(edge, _)| counts(*edge))
            .map(|(edge, pair)| (pair, fabric.rest_lengths[edge].recip()))
            .collect();
        Self { strains: Vec::with_capacity(edges.len()), edges }
    }

    /// Particles of each edge.
    pub fn ends(&self) -> impl Iterator<Item = [u32; 2]> {
        self.edges.iter().map(|&(ends, _)| ends)
    }

    /// Signed strain of each edge.
    pub fn strains(&self, particles: &[Particle]) -> impl Iterator<Item = f32> {
        self.edges.iter().map(|&([a, b], inverse_rest)| {
            distance(particles[a as usize], particles[b as usize]) * inverse_rest - 1.0
        })
    }

    /// Edges longer than `1 + limit` times their rest length; `None` without any. NaN does not
    /// count.
    pub fn longer(&self, particles: &[Particle], limit: f32) -> Option<LongEdges> {
        let strains = self.strains(particles).zip(&self.edges);
        let mut found: Option<LongEdges> = None;
        for (strain, &(particles, _)) in strains.filter(|(strain, _)| *strain > limit) {
            let edges = found.get_or_insert(LongEdges { count: 0, longest: strain, particles });
            edges.count += 1;
            if strain > edges.longest {
                (edges.longest, edges.particles) = (strain, particles);
            }
        }
        found
    }

    /// Strain of these particles; 0 without edges.
    pub fn measure(&mut self, particles: &[Particle]) -> Strain {
        let mut strains = std::mem::take(&mut self.strains);
        strains.clear();
        let (mut longest, mut shortest) = (f32::NEG_INFINITY, f32::INFINITY);
        for strain in self.strains(particles) {
            (longest, shortest) = (longest.max(strain), shortest.min(strain));
            strains.push(strain.abs());
        }
        self.strains = strains;
        if self.strains.is_empty() {
            return Strain::default();
        }
        let rank = (self.strains.len() - 1) * 99 / 100;
        // Selecting the percentile takes linear time; the largest strain is at or above it.
        let (_, &mut p99, above) = self.strains.select_nth_unstable_by(rank, f32::total_cmp);
        let max = above.iter().copied().max_by(f32::total_cmp).unwrap_or(p99);
        Strain { max, p99, longest, shortest }
    }
}

/// Largest speed of a free particle [m/s] in its last iteration of `step` seconds.
pub fn max_speed(current: &[Particle], previous: &[Particle], step: f32) -> f32 {
    let free = current.iter().zip(previous).filter(|(_, previous)| !previous.is_pinned());
    free.map(|(&current, &previous)| distance(current, previous) / step).fold(0.0, f32::max)
}

fn distance(a: Particle, b: Particle) -> f32 {
    let [x, y, z] = [0, 1, 2].map(|k| a.position[k] - b.position[k]);
    (x * x + y * y + z * z).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::stretch_strain;
    use poplin_cook::{CookOptions, cook};
    use poplin_model::Mesh;

    #[test]
    fn strain_matches_the_independent_metrics() {
        let cooked = cook(&Mesh::grid(17, 13, 1.0, 1.0), &CookOptions::default()).unwrap();
        let mut particles = cooked.particles.clone();
        for Particle { position: [x, y, _], .. } in &mut particles {
            (*x, *y) = (*x * 1.01, *y + 0.01 * (*x * 40.0).sin());
        }
        let mut edges = StretchEdges::new(&cooked.fabric);
        let (ours, theirs) =
            (edges.measure(&particles), stretch_strain(&cooked.fabric, &particles));
        assert!(ours.p99 > 0.005, "{ours:?}");
        assert!(
            (ours.max - theirs.max).abs() < 1e-6 && (ours.p99 - theirs.p99).abs() < 1e-6,
            "{ours:?} {theirs:?}"
        );
    }

    #[test]
    fn edges_beyond_a_limit_are_counted() {
        let cooked = cook(&Mesh::grid(2, 4, 3.0, 1.0), &CookOptions::default()).unwrap();
        let edges = StretchEdges::new(&cooked.fabric);
        assert_eq!(edges.longer(&cooked.particles, 0.5), None);
        let mut particles = cooked.particles.clone();
        particles[0].position[0] -= 6.0;
        particles[1].position[0] = f32::NAN;
        let found = edges.longer(&particles, 0.5).unwrap();
        let reached = edges.strains(&particles).filter(|strain| *strain > 0.5).count();
        assert_eq!((found.count, found.particles.contains(&0)), (reached, true));
        assert!(found.longest > 1.0, "{found:?}");
    }

    #[test]
    fn nan_is_the_worst_strain() {
        let nan = Strain { max: f32::NAN, p99: 0.1, longest: 0.3, shortest: -0.1 };
        let worst = nan.worse(Strain { max: 5.0, p99: 0.2, longest: 0.2, shortest: -0.4 });
        assert!(worst.max.is_nan());
        assert_eq!((worst.p99, worst.longest, worst.shortest), (0.2, 0.3, -0.4));
    }

    #[test]
    fn signed_strain_separates_long_and_short_edges() {
        // -0.50, -0.49 ... 1.50, shuffled.
        let mut strains: Vec<_> = (0..201).map(|k| (k * 77 % 201 - 50) as f32 / 100.0).collect();
        let strain = SignedStrain::of(&mut strains);
        let expected = SignedStrain { p99: 1.48, longest: 1.5, p1: -0.48, shortest: -0.5 };
        assert_eq!(strain, expected);
        assert_eq!(SignedStrain::of(&mut []), SignedStrain::default());
        assert!(SignedStrain::of(&mut [0.1, f32::NAN]).longest.is_nan());
    }

    #[test]
    fn pins_have_no_speed() {
        let (current, previous) =
            ([[1.0, 0.0, 0.0, 1.0], [9.0, 0.0, 0.0, 0.0]], [[0.5, 0.0, 0.0, 1.0], [0.0; 4]]);
        let [current, previous] = [current, previous].map(|rows| rows.map(Particle::from));
        assert_eq!(max_speed(&current, &previous, 0.25), 2.0);
    }
}
