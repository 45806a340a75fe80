//! Strain at each particle, for colours.

use poplin::model::Particle;
use poplin_measure::strain::StretchEdges;

/// Writes for each particle the signed strain of its incident edge that is farthest from 0.
pub(crate) fn fill(strains: &mut Vec<f32>, edges: &StretchEdges, particles: &[Particle]) {
    strains.clear();
    strains.resize(particles.len(), 0.0);
    for (strain, ends) in edges.strains(particles).zip(edges.ends()) {
        for end in ends {
            let worst = &mut strains[end as usize];
            if strain.abs() > worst.abs() {
                *worst = strain;
            }
        }
    }
}
