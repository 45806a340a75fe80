//! Strain of a cloth as a number at each particle, for colours.

use poplin_measure::strain::StretchEdges;
use poplin_model::Particle;

/// Of the edges at each particle the strain that is farthest from 0, with its sign.
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
