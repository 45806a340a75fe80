//! Effects of a contact besides the push: friction and mass scaling.

use super::vector::{along, dot, length, minus};

/// Returns the displacement \[m\] of the previous position of a particle that moved by
/// `displacement` in contact with shapes that moved by `shape_displacement`.
///
/// Coulomb's law for positions: friction removes up to `friction` times the push from the sliding,
/// and never more than all of it (Mueller et al., "Position Based Dynamics", 2006, section 3.4).
/// Each of the `exits`, with the friction factor of its shape, is a push by its share in their
/// mean. Their sum has the direction of the normal, an exit that opposes those before it reversed.
pub fn coulomb(
    displacement: [f64; 3],
    shape_displacement: [f64; 3],
    exits: &[([f64; 3], f64)],
    friction: f64,
) -> [f64; 3] {
    let axis = exits.iter().fold([0.0; 3], |axis, &(exit, _)| {
        along(axis, exit, if dot(exit, axis) < 0.0 { -1.0 } else { 1.0 })
    });
    let grip: f64 = exits.iter().map(|&(exit, factor)| length(exit) * factor).sum();
    let relative = minus(displacement, shape_displacement);
    if length(axis) == 0.0 {
        return [0.0; 3];
    }
    let normal = axis.map(|x| x / length(axis));
    let sliding = along(relative, normal, -dot(relative, normal));
    let speed = length(sliding);
    if speed == 0.0 {
        return [0.0; 3];
    }
    let taken = (friction * grip / exits.len() as f64).min(speed);
    sliding.map(|x| x / speed * taken)
}

/// Returns the inverse mass of a pushed particle: `w / (1 + k |push|^2)`.
pub fn weigh_pushed(w: f64, mass_scale: f64, push: [f64; 3]) -> f64 {
    w / (1.0 + mass_scale * dot(push, push))
}
