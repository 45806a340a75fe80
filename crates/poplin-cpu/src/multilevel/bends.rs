//! Bends in a multilevel solve.

use poplin_geometry::Csr;
use poplin_layout::MultilevelConstants;
use poplin_model::{Fabric, Level};

use super::parallel::{each, each_pair};
use super::symmetric::Symmetric;
use super::{add, apart, dot, scale};
use crate::stage::implicit::{Hinge, balanced};
use crate::vector::Vec3;

/// Bends of a fabric.
#[derive(Debug)]
pub(super) struct BendPlan {
    bends: Vec<Bend>,
    /// Bends of each particle, and which of their four particles it is.
    corners: Csr<(u32, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Bend {
    particles: [u32; 4],
    rest_angle: f32,
    /// Stiffness over the bending rigidity.
    weight: f32,
}

/// Bends of a cloth in a step; empty without a rigidity.
#[derive(Debug, Clone, Default)]
pub(super) struct BendMemory {
    /// Gradient of the angle at the four particles, times the root of the stiffness.
    gradients: Vec<[[f32; 3]; 4]>,
    /// Moment over the root of the stiffness; in a product, that of the moves.
    moments: Vec<f32>,
}

impl BendPlan {
    pub(super) fn new(fabric: &Fabric) -> Self {
        let bends: Vec<Bend> = fabric
            .bends
            .iter()
            .map(|bend| Bend {
                particles: bend.particles,
                rest_angle: bend.rest_angle,
                weight: bend.weight,
            })
            .collect();
        let corners = bends.iter().zip(0..).flat_map(|(bend, index)| {
            bend.particles.into_iter().zip(0..).map(move |(it, corner)| (it, (index, corner)))
        });
        Self { corners: Csr::new(fabric.particle_count as usize, corners), bends }
    }

    pub(super) fn size(&self) -> usize {
        size_of_val(self.bends.as_slice()) + self.corners.size()
    }
}

impl BendMemory {
    pub(super) fn size(&self) -> usize {
        48 * self.gradients.capacity() + 4 * self.moments.capacity()
    }

    /// Computes gradients and moments at the prediction.
    pub(super) fn set_up(
        &mut self,
        plan: &BendPlan,
        constants: &MultilevelConstants,
        positions: &[[f32; 3]],
        moves: &[[f32; 3]],
    ) {
        let count = if constants.rigidity > 0.0 { plan.bends.len() } else { 0 };
        self.gradients.resize(count, [[0.0; 3]; 4]);
        self.moments.resize(count, 0.0);
        each_pair(&mut self.gradients, &mut self.moments, move |index, gradients, moment| {
            let bend = &plan.bends[index];
            let [first, edge, side_2, side_3] = bend.particles.map(|it| it as usize);
            let from_first = |other: usize| {
                let [x, y, z] = apart(positions, moves, [first, other]);
                Vec3::new(x, y, z)
            };
            let hinge = Hinge {
                edge: from_first(edge),
                side_2: from_first(side_2),
                side_3: from_first(side_3),
            };
            let root = (constants.rigidity * bend.weight).sqrt();
            (*gradients, *moment) = linearised(hinge, bend.rest_angle, root);
        });
    }

    /// Adds the forces of bends at a particle \[N\].
    pub(super) fn force(&self, plan: &BendPlan, particle: usize, force: [f32; 3]) -> [f32; 3] {
        self.gather(plan, particle, force, -1.0)
    }

    /// Adds the part of bends to the diagonal block of a particle.
    pub(super) fn add_block(&self, plan: &BendPlan, particle: usize, block: &mut Symmetric) {
        if self.gradients.is_empty() {
            return;
        }
        for &(bend, corner) in plan.corners.row(particle) {
            let [x, y, z] = self.gradients[bend as usize][corner as usize];
            block.add_spring([x, y, z, 0.0], 1.0);
        }
    }

    /// Begins a product with the matrix of bends.
    pub(super) fn begin_product(&mut self, plan: &BendPlan, vectors: &[[f32; 3]]) {
        let gradients = &self.gradients[..];
        each(&mut self.moments, move |index, moment| {
            let [a, b, c, d] = plan.bends[index].particles.map(|it| vectors[it as usize]);
            let [at_a, at_b, at_c, at_d] = gradients[index];
            *moment = dot(at_a, a) + dot(at_b, b) + (dot(at_c, c) + dot(at_d, d));
        });
    }

    /// Adds the product at a particle.
    pub(super) fn product(&self, plan: &BendPlan, particle: usize, sum: [f32; 3]) -> [f32; 3] {
        self.gather(plan, particle, sum, 1.0)
    }

    /// Adds moments times gradients at a particle, with this sign.
    fn gather(&self, plan: &BendPlan, particle: usize, sum: [f32; 3], sign: f32) -> [f32; 3] {
        if self.gradients.is_empty() {
            return sum;
        }
        plan.corners.row(particle).iter().fold(sum, |sum, &(bend, corner)| {
            let gradient = self.gradients[bend as usize][corner as usize];
            add(sum, scale(gradient, sign * self.moments[bend as usize]))
        })
    }
}

/// Returns the part of bends in the blocks of the first coarser level, a multiple of the unit
/// matrix, over the rigidity: that of the flat rest shape in all directions, `P^T w c c^T P` with
/// the cotangent weights c (Bergou et al., "A Quadratic Bending Model for Inextensible Surfaces",
/// 2006). Pairs of nodes without a block count at the diagonal of both, so
/// that the sum stays positive.
pub(super) fn coarse_bending(fabric: &Fabric, level: &Level) -> Vec<f32> {
    let mut sums = vec![0.0; level.blocks.len()];
    let mut nodes: Vec<(u32, f32)> = Vec::new();
    let at = |pair: [u32; 2]| level.blocks.binary_search(&pair).ok();
    for bend in &fabric.bends {
        let [second, third] = bend.wings.map(|wing| (wing.height.recip(), wing.foot));
        let ahead = second.0 * second.1 + third.0 * third.1;
        let weights = [second.0 + third.0 - ahead, ahead, -second.0, -third.0];
        if !weights.iter().all(|weight| weight.is_finite()) {
            continue;
        }
        nodes.clear();
        for (particle, weight) in bend.particles.into_iter().zip(weights) {
            let parents = level.parents[particle as usize].iter();
            for (node, share) in parents {
                match nodes.iter_mut().find(|(other, _)| *other == node) {
                    Some((_, sum)) => *sum += weight * share,
                    None => nodes.push((node, weight * share)),
                }
            }
        }
        for (k, &(a, of_a)) in nodes.iter().enumerate() {
            for &(b, of_b) in &nodes[k..] {
                let value = bend.weight * of_a * of_b;
                match at([a.min(b), a.max(b)]) {
                    Some(block) => sums[block] += value,
                    None => [a, b].into_iter().filter_map(|it| at([it, it])).for_each(|block| {
                        sums[block] += value.abs();
                    }),
                }
            }
        }
    }
    sums
}

/// Returns the gradient of the angle at the four particles and the error of the angle, both times
/// `root`; 0 if a triangle has no height.
fn linearised(hinge: Hinge<f32>, rest_angle: f32, root: f32) -> ([[f32; 3]; 4], f32) {
    let fold = hinge.fold(());
    if !fold.is_usable {
        return ([[0.0; 3]; 4], 0.0);
    }
    let gradients = balanced(fold.angle_gradients(hinge, root * fold.edge_square.sqrt()));
    let gradients = gradients.map(|it| [it.x, it.y, it.z]);
    (gradients, root * fold.angle_error((), hinge.edge, rest_angle))
}
