//! Constants of the implicit solver in a frame, its elements of a fabric, and its scratch rows.

use glam::{DVec2, dvec2};
use poplin_model::{Fabric, Implicit, PhaseKind, Preconditioner, StretchModel};

use crate::chains::CHAIN_FAMILIES;
use crate::gpu_struct::gpu_struct;
use crate::{
    SOLVE_CHAIN_ROWS, SOLVE_CHECK_INTERVAL, SOLVE_PARTICLE_ARRAYS, SOLVE_PARTS, SOLVE_STATE_ROWS,
    SOLVE_SUMS, SPRING_KINDS, StepScale,
};

gpu_struct! {
    /// Constants of an implicit solver in one frame, rows of `frame_pool`: those of whole steps, of
    /// half steps and so on. Stiffnesses include damping.
    pub struct ImplicitConstants {
        /// First row of the solve in the cloth's scratch, after those of the earlier stages.
        pub solve_begin: u32,
        /// Model of stretch: one of the `STRETCH` constants.
        pub stretch_model: u32,
        /// Model of bending: one of the `BEND` constants.
        pub bend_model: u32,
        /// Largest number of iterations of a step.
        pub max_iterations: u32,
        /// Stiffness along u, or Lamé's lambda of a trispring [N/m].
        pub stiffness_u: f32,
        /// Stiffness along v, or Lamé's mu of a trispring [N/m].
        pub stiffness_v: f32,
        /// Shear stiffness [N/m].
        pub shear_stiffness: f32,
        /// Stiffness along u in the estimate of frequencies [N/m].
        pub rate_u: f32,
        /// Stiffness along v in the estimate of frequencies [N/m].
        pub rate_v: f32,
        /// Bending rigidity [N m].
        pub rigidity: f32,
        /// Weight of the last step's shape in the effective rest shape of stretch and shear, which
        /// models damping.
        pub stretch_memory: f32,
        /// Weight of the rest shape in the effective rest shape: the remainder.
        pub rest_fraction: f32,
        /// Weight of the last step's shape in the effective rest shape of bending.
        pub bend_memory: f32,
        /// Squared step [s^2].
        pub step_square: f32,
        /// Tolerance of the residual \[m\].
        pub tolerance: f32,
        /// Stiffness of contact with colliders [N/m].
        pub contact_stiffness: f32,
        /// Preconditioner: one of the `PRECONDITIONER` constants.
        pub preconditioner: u32,
        /// Number of iterations between checks.
        pub check_interval: u32,
        /// Largest step along a direction.
        pub max_step: f32,
        /// Largest number of evaluations of a whole step.
        pub evaluation_count: u32,
        /// Largest number of halvings.
        pub max_halvings: u32,
        /// Length of a step in units of `2^-max_halvings` of a whole step.
        pub tick_count: u32,
        /// Length of a step as a fraction of a whole step.
        pub fraction: f32,
        /// Number of steps in a whole step.
        pub split: f32,
        /// Factor on the stiffness of springs that are shorter than at rest.
        pub compression: f32,
        /// Weight of the rest shape in the effective rest shape of bending.
        pub bend_rest_fraction: f32,
        /// Number of iterations of a whole step after which no part of it is halved, and each is
        /// accepted at its first check.
        pub iteration_budget: u32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
    }
}

/// Computes the constants of steps after `halvings` halvings, in a frame whose solve begins at row
/// `solve_begin` of the cloth's scratch.
pub(crate) fn implicit_constants(
    implicit: &Implicit,
    gravity: [f32; 3],
    solve_begin: u32,
    scale: &StepScale,
    halvings: u32,
) -> ImplicitConstants {
    let split = f64::from(1u32 << halvings);
    let step = f64::from(scale.step) / split;
    // k* = k (1 + beta/h), C* = (C0 + beta/h C_n) / (1 + beta/h)
    let memory = |damping: f32| {
        let damping = f64::from(damping);
        if damping > 0.0 && step > 0.0 { damping / (step + damping) } else { 0.0 }
    };
    let [stretch_memory, bend_memory] =
        [implicit.stretch_damping, implicit.bending_damping].map(memory);
    // k (1 + beta/h) = k / (1 - memory); the clamp keeps products with masses finite.
    let damped = |stiffness: f64| (stiffness / (1.0 - stretch_memory)).min(1e20) as f32;
    let [u, v, shear] = stiffnesses(implicit);
    let [rate_u, rate_v] = match implicit.stretch {
        StretchModel::StretchShear | StretchModel::Springs => [u + shear, v + shear],
        // lambda + 2 mu for stretch plus mu for shear
        StretchModel::Trispring => [u + 3.0 * v; 2],
    };
    let gravity = glam::Vec3::from(gravity).as_dvec3().length();
    let gravity = if gravity > 0.0 { gravity } else { STANDARD_GRAVITY };
    ImplicitConstants {
        solve_begin,
        stretch_model: implicit.stretch as u32,
        bend_model: implicit.bend as u32,
        max_iterations: implicit.max_iterations,
        stiffness_u: damped(u),
        stiffness_v: damped(v),
        shear_stiffness: damped(shear),
        rate_u: damped(rate_u),
        rate_v: damped(rate_v),
        rigidity: (f64::from(implicit.bending_rigidity) / (1.0 - bend_memory)).min(1e20) as f32,
        stretch_memory: stretch_memory as f32,
        rest_fraction: (1.0 - stretch_memory) as f32,
        bend_memory: bend_memory as f32,
        step_square: (step * step) as f32,
        tolerance: (f64::from(implicit.tolerance) * gravity * step * step) as f32,
        contact_stiffness: contact_stiffness(implicit) as f32,
        preconditioner: implicit.preconditioner as u32,
        check_interval: check_interval(implicit.preconditioner),
        // The metric has no eigenvalue below 1; only along fibers does it contain the Hessian.
        max_step: match implicit.preconditioner {
            Preconditioner::Mass => 1.0,
            Preconditioner::Fibers => MAX_FIBER_STEP,
        },
        evaluation_count: max_evaluations(implicit),
        max_halvings: implicit.max_halvings,
        tick_count: 1 << (implicit.max_halvings - halvings),
        fraction: split.recip() as f32,
        split: split as f32,
        compression: implicit.compression,
        bend_rest_fraction: (1.0 - bend_memory) as f32,
        iteration_budget: iteration_budget(implicit),
        padding_0: 0,
    }
}

/// Stiffness of contact with colliders, per particle [N/m]: that of the cloth, so that it adds
/// hardly any iterations.
fn contact_stiffness(implicit: &Implicit) -> f64 {
    implicit.stretch_stiffness.map(f64::from).into_iter().fold(0.0, f64::max)
}

/// Gravity to which the tolerance refers if gravity is 0 [m/s^2].
const STANDARD_GRAVITY: f64 = 9.81;

/// Stiffness along u (weft) and v (warp) and of shear, or Lamé's lambda and mu [N/m].
fn stiffnesses(implicit: &Implicit) -> [f64; 3] {
    let [warp, weft] = implicit.stretch_stiffness.map(f64::from);
    match implicit.stretch {
        StretchModel::StretchShear | StretchModel::Springs => {
            [weft, warp, f64::from(implicit.shear_stiffness)]
        }
        StretchModel::Trispring => {
            let [lambda, mu] = lame(implicit.stretch_stiffness[0], implicit.poisson_ratio);
            [lambda, mu, 0.0]
        }
    }
}

/// Lamé's lambda and mu in plane stress [N/m].
pub(crate) fn lame(stiffness: f32, poisson_ratio: f32) -> [f64; 2] {
    let (k, ratio) = (f64::from(stiffness), f64::from(poisson_ratio));
    // lambda = K nu / (1 - nu^2), mu = K / (2 (1 + nu))
    [k * ratio / (1.0 - ratio * ratio), k / (2.0 * (1.0 + ratio))]
}

/// Weights of the second and third corner of a triangle in the derivatives of the position by u,
/// then by v [1/m], and its area \[m^2\]; 0 if it is degenerate.
pub fn triangle_weights(shape: &[f32; 4]) -> [f32; 5] {
    TriangleShape::new(shape).row()
}

/// Number of vec4 of scratch for an implicit solve: state, partial sums, sums of these, particles,
/// triangles, bends, chains.
pub fn solve_scratch_len(fabric: &Fabric) -> u32 {
    SOLVE_STATE_ROWS
        + 2 * (SOLVE_PARTS + SOLVE_SUMS)
        + SOLVE_PARTICLE_ARRAYS * fabric.particle_count
        + 3 * fabric.triangles.len() as u32
        + 4 * fabric.bends.len() as u32
        + (SOLVE_CHAIN_ROWS + 1) * CHAIN_FAMILIES * fabric.particle_count
}

/// Angle between triangles \[rad\] at which [`poplin_model::BendModel::Springs`] has the energy of
/// its rigidity.
const SPRING_ANGLE: f64 = 0.5;

/// Packs the springs of every particle, those of stretch and shear and then those of bending:
/// prefix sums `[particle_count + 1]`, then two words per spring in ascending order of edges:
/// `SPRING_KINDS` times the edge plus its kind, and the factor on its stiffness.
///
/// The factor is breadth over length for stretch and shear. Two-ring edges of a cylinder of squares
/// that folds by t at edges of length a = L/2 have the energy `k/2 (a t^2/4)^2`, and the hinges of
/// breadth b below them `B b t^2/(2 a)`; both are equal at t for `k = 16 B b/(a^3 t^2)`.
pub(crate) fn spring_words(fabric: &Fabric) -> Vec<u32> {
    let kinds = fabric.edge_kinds();
    let springs_of = |of_bends: bool| {
        let mut lists = vec![Vec::new(); fabric.particle_count as usize];
        let chosen =
            fabric.edges().filter(|&(edge, _)| (kinds[edge] == PhaseKind::Bending) == of_bends);
        for (edge, ends) in chosen {
            let (length, breadth) =
                (f64::from(fabric.rest_lengths[edge]), f64::from(fabric.edge_breadths[edge]));
            let factor = if of_bends {
                16.0 * breadth / ((0.5 * length).powi(3) * SPRING_ANGLE.powi(2))
            } else {
                breadth / length
            };
            let factor = if factor.is_finite() { factor.min(MAX_RATE) as f32 } else { 0.0 };
            let words = [SPRING_KINDS * edge as u32 + kinds[edge] as u32, factor.to_bits()];
            for particle in ends {
                lists[particle as usize].extend(words);
            }
        }
        let mut words = vec![0];
        for list in &lists {
            words.push(words[words.len() - 1] + list.len() as u32 / 2);
        }
        words.extend(lists.concat());
        words
    };
    [springs_of(false), springs_of(true)].concat()
}

/// Largest step along a preconditioned direction.
const MAX_FIBER_STEP: f32 = 16.0;

/// Number of iterations between checks.
const fn check_interval(preconditioner: Preconditioner) -> u32 {
    match preconditioner {
        Preconditioner::Mass => SOLVE_CHECK_INTERVAL,
        Preconditioner::Fibers => SOLVE_CHECK_INTERVAL / 2,
    }
}

/// Number of iterations of a whole step after which no part of it is halved.
const fn iteration_budget(implicit: &Implicit) -> u32 {
    let solves = 4 * implicit.max_iterations;
    if solves > MIN_BUDGET { solves } else { MIN_BUDGET }
}

/// Smallest iteration budget.
const MIN_BUDGET: u32 = 1024;

/// Largest number of evaluations of a whole step: per solve the first and the last, one per
/// iteration, and checks.
///
/// After `ImplicitConstants::iteration_budget` iterations a solve ends at its first check, and a
/// step is halved again only after two other steps have been joined.
pub const fn max_evaluations(implicit: &Implicit) -> u32 {
    let interval = check_interval(implicit.preconditioner);
    let ticks = 1 << implicit.max_halvings;
    // Without step control a frame step is exactly one solve.
    let (solves, budget) = if implicit.max_halvings == 0 {
        (1, implicit.max_iterations)
    } else {
        (
            ticks + ticks / 2 + implicit.max_halvings + 1,
            iteration_budget(implicit) + interval * (1 + ticks),
        )
    };
    let all = solves * implicit.max_iterations;
    let iterations = if all < budget { all } else { budget };
    2 * solves + iterations + iterations / interval
}

/// Height over the longest side below which a triangle is degenerate.
const MIN_FLATNESS: f64 = 1e-6;

/// Largest rate factor, which keeps products with masses finite.
const MAX_RATE: f64 = 1e30;

/// Rest shape of a triangle for finite elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TriangleShape {
    /// Weights of the second and third corner in the derivatives of the position by u and by v
    /// [1/m]; the weight of the first is minus their sum.
    weights: [DVec2; 2],
    area: f64,
    corners: [DVec2; 2],
}

impl TriangleShape {
    /// Creates the element from a row of [`Fabric::triangle_shapes`]; a degenerate triangle exerts
    /// no force.
    pub(crate) fn new(&[u1, v1, u2, v2]: &[f32; 4]) -> Self {
        let corners = [dvec2(u1.into(), v1.into()), dvec2(u2.into(), v2.into())];
        let [p, q] = corners;
        let double_area = p.perp_dot(q);
        // wu = (v2 p - v1 q) / D, wv = (u1 q - u2 p) / D
        let longest = p.length_squared().max(q.length_squared()).max(p.distance_squared(q));
        if double_area.abs() <= MIN_FLATNESS * longest {
            return Self { weights: [DVec2::ZERO; 2], area: 0.0, corners };
        }
        let weights = [dvec2(q.y, -q.x), dvec2(-p.y, p.x)].map(|weight| weight / double_area);
        Self { weights, area: 0.5 * double_area.abs(), corners }
    }

    /// Packs the element for [`crate::FabricOffsets::element_begin`].
    pub(crate) fn row(&self) -> [f32; 5] {
        let [second, third] = self.weights;
        [second.x, third.x, second.y, third.y, self.area]
            .map(|number| number.clamp(-MAX_RATE, MAX_RATE) as f32)
    }

    /// Squared weights of each corner times the area, and the mean length of its two edges \[m\].
    fn rates(&self) -> [(DVec2, f64); 3] {
        let [second, third] = self.weights;
        let [p, q] = self.corners;
        let across = (q - p).length();
        [
            (-second - third, 0.5 * (p.length() + q.length())),
            (second, 0.5 * (p.length() + across)),
            (third, 0.5 * (q.length() + across)),
        ]
        .map(|(weight, reach)| (weight * weight * self.area, reach))
    }
}

/// Computes the rate factors of each particle; see [`crate::FabricOffsets::element_begin`].
///
/// `omega_G^2 = 2 w (rate_u a + rate_v b)` is at least 1.6 times the squared highest frequency of a
/// sheet's stretch, where a and b are sums of area times squared weights: traces of the blocks of
/// the Hessian at rest. `omega_b^2 = w B c` bounds the frequencies of bending, where c is the sum
/// of `weight |g_i| sum_j |g_j|` and g the gradient of the angle.
pub(crate) fn rates(fabric: &Fabric, shapes: &[TriangleShape]) -> Vec<[f32; 4]> {
    if shapes.is_empty() {
        return Vec::new();
    }
    let mut sums = vec![[0.0f64; 5]; fabric.particle_count as usize];
    for (triangle, shape) in fabric.triangles.iter().zip(shapes) {
        for (&particle, (stretch, reach)) in triangle.iter().zip(shape.rates()) {
            let [a, b, _, length, count] = &mut sums[particle as usize];
            *a += stretch.x;
            *b += stretch.y;
            *length += reach;
            *count += 1.0;
        }
    }
    for bend in &fabric.bends {
        let [c, d] = bend.wings.map(|wing| 1.0 / f64::from(wing.height));
        let [at_c, at_d] = bend.wings.map(|wing| f64::from(wing.foot));
        // |grad angle|: 1/h at the far corners, split by the foot of the height at the edge's ends.
        let ends =
            [(1.0 - at_c).abs() * c + (1.0 - at_d).abs() * d, at_c.abs() * c + at_d.abs() * d];
        let gradients = [ends[0], ends[1], c, d];
        // |g_i| sum_j |g_j| bounds the row sums of the Hessian g g^T.
        let sum: f64 = gradients.iter().sum();
        for (particle, gradient) in bend.particles.iter().zip(gradients) {
            sums[*particle as usize][2] += f64::from(bend.weight) * gradient * sum;
        }
    }
    let row = |[a, b, c, length, count]: [f64; 5]| [a, b, c, length / count.max(1.0)];
    sums.into_iter().map(|sums| row(sums).map(|number| number.min(MAX_RATE) as f32)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_reproduce_the_derivatives_of_a_triangle() {
        let shape = [0.3, 0.1, -0.2, 0.5];
        let [u_second, u_third, v_second, v_third, area] = TriangleShape::new(&shape).row();
        let [u1, v1, u2, v2] = shape;
        // The position is (u, v) itself: derivatives (1, 0) and (0, 1).
        let derivative = |second: f32, third: f32| {
            [second * u1 + third * u2, second * v1 + third * v2].map(|x| (x * 1e6).round() / 1e6)
        };
        assert_eq!(derivative(u_second, u_third), [1.0, 0.0]);
        assert_eq!(derivative(v_second, v_third), [0.0, 1.0]);
        assert!((area - 0.085).abs() < 1e-7);
        assert_eq!(TriangleShape::new(&[0.1, 0.2, 0.2, 0.4]).row(), [0.0; 5], "no area");
    }
}
