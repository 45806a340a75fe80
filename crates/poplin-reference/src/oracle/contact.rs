//! What a contact does besides the push: friction and weight.

use super::vector::{along, dot, length, minus};

/// Displacement \[m\] of the previous position of a particle that moved by `displacement` over shapes that moved by
/// `shape_displacement`.
///
/// Coulomb's law for positions: friction takes up to `friction` times the push off the sliding, and never more than all of it
/// (Mueller et al., "Position Based Dynamics", 2006, section 3.4). The sum of the exits `push_sum` has the normal's direction, their
/// mean over `count` the normal force.
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

/// Inverse mass of a particle that was pushed: `w / (1 + k |push|^2)`.
pub fn weigh_pushed(w: f64, mass_scale: f64, push: [f64; 3]) -> f64 {
    w / (1.0 + mass_scale * dot(push, push))
}
