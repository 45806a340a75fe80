//! Self-collision of particles by testing every pair, without a grid.

use super::vector::{along, dot, length, minus};

/// Particle that takes part in self-collision.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Position \[m\].
    pub position: [f64; 3],
    /// Position one iteration ago \[m\].
    pub previous: [f64; 3],
    /// Rest position \[m\].
    pub rest: [f64; 3],
    /// Inverse mass [1/kg].
    pub w: f64,
}

/// Settings of self-collision.
#[derive(Debug, Clone, Copy)]
pub struct Apartness {
    /// Distance \[m\].
    pub distance: f64,
    /// Fraction of the rest distance that replaces `distance` where it is smaller.
    pub rest_fraction: f64,
    /// Fraction of the overlap removed.
    pub stiffness: f64,
    /// Fraction of the tangential motion removed.
    pub friction: f64,
    /// Over-relaxation of pushes that share a particle.
    pub relaxation: f64,
}

/// Contact of a particle.
struct Contact {
    other: usize,
    /// Direction away from the other.
    normal: [f64; 3],
    overlap: f64,
}

impl Apartness {
    /// Finds the contacts of particle `a`. Coincident particles separate along y, the first
    /// upwards.
    fn contacts(&self, members: &[Member], a: usize) -> Vec<Contact> {
        let own = &members[a];
        let contact = |b: usize| {
            let other = &members[b];
            let kept = self.distance.min(self.rest_fraction * length(minus(own.rest, other.rest)));
            let between = minus(own.position, other.position);
            let distance = length(between);
            let aside = [0.0, if a < b { 1.0 } else { -1.0 }, 0.0];
            let normal = if distance > 0.0 { between.map(|x| x / distance) } else { aside };
            let touches = distance < kept && own.w + other.w > 0.0;
            touches.then_some(Contact { other: b, normal, overlap: kept - distance })
        };
        (0..members.len()).filter(|&b| b != a).filter_map(contact).collect()
    }
}

/// Counts the contacts that push along a direction, each weighted by the mean of 1 and its cosine;
/// at least 1.
fn count_along(direction: [f64; 3], contacts: &[Contact]) -> f64 {
    contacts
        .iter()
        .map(|contact| 0.5 * (1.0 + dot(direction, contact.normal)))
        .sum::<f64>()
        .max(1.0)
}

/// Returns the new positions of the members after one Jacobi step: the sum over contacts, divided
/// by inverse mass (Mueller, "Cloth Self-Collision Handling", Ten Minute Physics 15, for distance
/// and friction). A push is divided by the number of contacts that push in the same direction,
/// friction by the number of all contacts, of the particle that has more (Macklin et al., "Unified
/// Particle Physics", 2014, section 4.2, averages over all and over-relaxes as here).
pub fn push_apart(members: &[Member], rule: &Apartness) -> Vec<[f64; 3]> {
    let contacts: Vec<_> = (0..members.len()).map(|a| rule.contacts(members, a)).collect();
    let moved = |a: usize| {
        let own = &members[a];
        contacts[a].iter().fold(own.position, |position, &Contact { other: b, normal, overlap }| {
            let other = &members[b];
            let slip =
                minus(minus(own.position, own.previous), minus(other.position, other.previous));
            let sideways = along(slip, normal, -dot(slip, normal));
            let weight = own.w / (own.w + other.w);
            let count = count_along(normal, &contacts[a])
                .max(count_along(normal.map(|x| -x), &contacts[b]));
            let pushed = along(
                position,
                normal,
                rule.stiffness * weight * (rule.relaxation / count).min(1.0) * overlap,
            );
            along(
                pushed,
                sideways,
                -rule.friction * weight / contacts[a].len().max(contacts[b].len()) as f64,
            )
        })
    };
    (0..members.len()).map(moved).collect()
}
