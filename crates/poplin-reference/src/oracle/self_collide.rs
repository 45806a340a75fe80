//! Particles that are kept apart: every pair, without a grid.

use super::vector::{along, dot, length, minus};

/// A particle that takes part in self collision.
#[derive(Debug, Clone, Copy)]
pub struct Member {
    /// Where it is \[m\].
    pub position: [f64; 3],
    /// Where it was one iteration ago \[m\].
    pub previous: [f64; 3],
    /// Where it rests \[m\].
    pub rest: [f64; 3],
    /// Inverse mass [1/kg].
    pub w: f64,
}

/// How particles are kept apart.
#[derive(Debug, Clone, Copy)]
pub struct Apartness {
    /// Distance \[m\].
    pub distance: f64,
    /// Share of the distance at rest that is kept where that is less.
    pub rest_share: f64,
    /// Share of the overlap removed.
    pub stiffness: f64,
    /// Share of the sideways motion lost.
    pub friction: f64,
}

impl Apartness {
    /// Overlap of two particles \[m\], if they overlap and one can move.
    fn overlap(&self, a: &Member, b: &Member) -> Option<f64> {
        let kept = self.distance.min(self.rest_share * length(minus(a.rest, b.rest)));
        let overlap = kept - length(minus(a.position, b.position));
        (overlap > 0.0 && a.w + b.w > 0.0).then_some(overlap)
    }
}

/// Where the members go in one Jacobi step: each by the sum of its contacts, a contact divided by the larger number of
/// contacts of its two particles and shared out by inverse mass (Mueller, "Cloth Self-Collision Handling", Ten Minute Physics
/// 15, for the distance and the friction). Coincident particles part along y, the first upwards.
pub fn push_apart(members: &[Member], rule: &Apartness) -> Vec<[f64; 3]> {
    let others = |a: usize| (0..members.len()).filter(move |&b| b != a);
    let count = |a: usize| others(a).filter(|&b| rule.overlap(&members[a], &members[b]).is_some()).count();
    let counts: Vec<usize> = (0..members.len()).map(count).collect();
    let moved = |a: usize| {
        let own = &members[a];
        others(a).fold(own.position, |place, b| {
            let other = &members[b];
            let Some(overlap) = rule.overlap(own, other) else { return place };
            let between = minus(own.position, other.position);
            let distance = length(between);
            let aside = [0.0, if a < b { 1.0 } else { -1.0 }, 0.0];
            let normal = if distance > 0.0 { between.map(|x| x / distance) } else { aside };
            let slip = minus(minus(own.position, own.previous), minus(other.position, other.previous));
            let sideways = along(slip, normal, -dot(slip, normal));
            let share = own.w / (own.w + other.w) / counts[a].max(counts[b]) as f64;
            along(along(place, normal, rule.stiffness * overlap * share), sideways, -rule.friction * share)
        })
    };
    (0..members.len()).map(moved).collect()
}
