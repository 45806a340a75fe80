//! Effects of a contact besides the push: friction and mass scaling.

use super::vector::{along, dot, length, minus};

/// Returns the displacement \[m\] of the previous position of a particle that moved by
/// `displacement` in contact with shapes that moved by `shape_displacement`.
///
/// Coulomb's law for positions: friction removes up to `friction` times the push from the sliding,
/// and never more than all of it (Mueller et al., "Position Based Dynamics", 2006, section 3.4).
/// The sum of the exits `push_sum` has the direction of the normal, their mean over `count` is the
/// normal force.
pub fn coulomb(
    displacement: [f64; 3],
    shape_displacement: [f64; 3],
    push_sum: [f64; 3],
    count: usize,
    friction: f64,
) -> [f64; 3] {
    let push = length(push_sum);
    let relative = minus(displacement, shape_displacement);
    if push == 0.0 {
        return [0.0; 3];
    }
    let normal = push_sum.map(|x| x / push);
    let sliding = along(relative, normal, -dot(relative, normal));
    let speed = length(sliding);
    if speed == 0.0 {
        return [0.0; 3];
    }
    let taken = (friction * push / count as f64).min(speed);
    sliding.map(|x| x / speed * taken)
}

/// Returns the inverse mass of a pushed particle: `w / (1 + k |push|^2)`.
pub fn weigh_pushed(w: f64, mass_scale: f64, push: [f64; 3]) -> f64 {
    w / (1.0 + mass_scale * dot(push, push))
}
