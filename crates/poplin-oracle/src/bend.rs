//! Dihedral angle between two triangles.

use super::vector::{along, cross, dot, length, minus};

/// Returns the dihedral angle of the triangles (a, b, c) and (b, a, d) over their edge \[rad\]: 0
/// where they are coplanar, positive where they fold away from the side from which (a, b, c) is
/// counterclockwise.
///
/// Computed as the rotation of d relative to c about the edge, minus pi.
pub fn bend_angle([a, b, c, d]: [[f64; 3]; 4]) -> f64 {
    let edge = minus(b, a);
    let axis = edge.map(|x| x / length(edge));
    // Arms perpendicular to the edge; (axis, first, second) is right-handed.
    let across = |p: [f64; 3]| along(minus(p, a), axis, -dot(minus(p, a), axis));
    let (first, arm) = (across(c), across(d));
    let second = cross(axis, first);
    let angle = dot(arm, second).atan2(dot(arm, first));
    (angle.rem_euclid(std::f64::consts::TAU) - std::f64::consts::PI)
        .clamp(-std::f64::consts::PI, std::f64::consts::PI)
}

/// Gradient of [`bend_angle`] at each of the four positions [rad/m], by central differences over
/// `step` \[m\].
pub fn bend_gradient(positions: [[f64; 3]; 4], step: f64) -> [[f64; 3]; 4] {
    let at = |i: usize, k: usize, shift: f64| {
        let mut positions = positions;
        positions[i][k] += shift;
        bend_angle(positions)
    };
    std::array::from_fn(|i| {
        std::array::from_fn(|k| wrapped(at(i, k, step) - at(i, k, -step)) / (2.0 * step))
    })
}

/// Wraps an angle to (-pi, pi].
fn wrapped(angle: f64) -> f64 {
    let (half, whole) = (std::f64::consts::PI, std::f64::consts::TAU);
    half - (half - angle).rem_euclid(whole)
}

/// Bend over one step.
#[derive(Debug, Clone, Copy)]
pub struct BendStep {
    /// Positions at the start of the step \[m\].
    pub previous: [[f64; 3]; 4],
    /// Inverse masses [1/kg].
    pub inverse_masses: [f64; 4],
    /// Angle at rest \[rad\].
    pub rest_angle: f64,
    /// One over stiffness and squared step [1/(kg m^2)].
    pub compliance: f64,
    /// Compliance times damping coefficient over the step.
    pub damping: f64,
}

/// Returns the new positions of a bend's particles: `lambda = (-C - damping grad C (x -
/// x_previous)) / ((1 + damping) W + c)` with `W = sum w |grad C|^2` (Macklin, Müller, Chentanez,
/// "XPBD", 2016, eq. 26), but `c = compliance - W/2`: the mean of the angle before and after
/// balances the moment. Below 0, `c` is multiplied by -4: a rigid bend takes a third of its error.
pub fn solve_bend(positions: [[f64; 3]; 4], bend: &BendStep) -> [[f64; 3]; 4] {
    let gradient = bend_gradient(positions, 1e-6);
    let error = wrapped(bend_angle(positions) - bend.rest_angle);
    let sum = |of: &dyn Fn(usize) -> f64| (0..4).map(of).sum::<f64>();
    let mobility = sum(&|i| bend.inverse_masses[i] * dot(gradient[i], gradient[i]));
    let rate = sum(&|i| dot(gradient[i], minus(positions[i], bend.previous[i])));
    let excess = bend.compliance - 0.5 * mobility;
    let compliance = excess.max(-4.0 * excess);
    let lambda = (-error - bend.damping * rate) / ((1.0 + bend.damping) * mobility + compliance);
    std::array::from_fn(|i| along(positions[i], gradient[i], bend.inverse_masses[i] * lambda))
}
