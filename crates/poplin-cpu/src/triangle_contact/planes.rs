//! Planes of vertices, edges and faces on colliders, for solves that hold cloth off them.
//!
//! Contact that acts behind a solve alone leaves cloth on a collider moving for ever: each step it
//! falls, and is pushed back. So a solve takes the pairs with colliders that pushed in the last
//! slice as planes, with their friction, and contact does the rest.

use glam::Vec3;
use poplin_host::PairMultipliers;
use poplin_layout::ContactCloth;

use super::body::Body;
use super::measure::apart;
use super::memory::TriangleContact;
use super::pairs::{Candidate, closest};
use super::scene::to_local;
use crate::math::{cross3, dot3, particle};
use crate::multilevel::{ContactLink, Touching};
use crate::stage::implicit::ContactPlane;

/// Largest gap beyond the contact distance at which a pair that a solve holds is kept, over the
/// least thickness: a solve rounds, and faces that rest on a sphere hold their corners above it.
const KEPT: f32 = 1e-2;

/// Multiplier of a pair that a solve holds \[kg m\]: next to nothing is left to contact.
const SERVED: f32 = f32::MIN_POSITIVE;

/// Point of a cloth that a collider pushes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    /// Corners of its vertex, edge or face.
    rows: [usize; 3],
    /// Share of each corner in the point, 0 of what is none.
    shares: [f32; 3],
    /// Direction of the push.
    normal: Vec3,
    /// Displacement of the surface of the collider in the slice \[m\].
    travel: Vec3,
    /// Friction factor of the collider.
    friction: f32,
    /// True if it is in the interior of a face, or of both edges.
    is_inside: bool,
    /// Distance beyond that of contact \[m\].
    beyond: f32,
    /// Multiplier of the last slice \[kg m\].
    push: f32,
}

impl Touch {
    /// True if it is a vertex of the cloth.
    fn is_vertex(&self) -> bool {
        self.shares[1] == 0.0
    }

    /// Plane of the point, in the local space that `local` turns vectors to.
    fn plane(&self, local: impl Fn(Vec3) -> Vec3) -> ContactPlane {
        let (normal, travel) = (local(self.normal), local(self.travel));
        ContactPlane {
            plane: particle(normal, dot3(normal, travel) - self.beyond.max(0.0)),
            travel: particle(travel, self.friction),
        }
    }
}

impl TriangleContact {
    /// Returns the touch of a pair with this multiplier \[kg m\] in a slice that takes a part of
    /// the frame; `None` if it is not of a cloth and a collider.
    fn touch_of(&self, candidate: &Candidate, push: f32, slice_part: f32) -> Option<Touch> {
        let [a, b, ..] = candidate.rank;
        let [a, b] = [a, b].map(|index| &self.bodies[index as usize]);
        let (cloth, collider) = match [a.is_cloth(), b.is_cloth()] {
            [true, false] => (a, b),
            [false, true] => (b, a),
            _ => return None,
        };
        let rows = candidate.rows.map(|row| row as usize);
        let at = rows.map(|row| self.start[row]);
        let closest = closest(candidate.kind, at);
        // The faces around an edge own it for vertices a little beyond, too.
        let is_inside = closest.is_inside;
        if !is_inside && !candidate.owns_feature(&closest.weights, closest.delta, &self.start) {
            return None;
        }
        let is_own = |row: usize| cloth.rows.contains(&row);
        let (mut own, mut shares, mut count, mut sign) = ([0; 3], [0.0; 3], 0, 0.0);
        for (row, weight) in rows.into_iter().zip(closest.weights) {
            if is_own(row) && weight != 0.0 && count < own.len() {
                (own[count], shares[count], sign) = (row, weight.abs(), weight.signum());
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        // Without a share, a corner that is none must still be a row of the cloth.
        let first = own[0];
        own[count..].fill(first);
        let (normal, distance) = apart(candidate.kind, at, self.rest[rows[1]], &closest);
        let (mut travel, mut reach, mut hard) = (Vec3::ZERO, 0.0, 0.0);
        for (other, weight) in rows.into_iter().zip(closest.weights) {
            let weight = weight.abs();
            reach += self.radius[other] * weight;
            hard += self.hard[other] * weight;
            if !is_own(other) {
                travel += (self.ends[other] - self.frame_start[other]) * weight;
            }
        }
        // From the center of a collider that turns in place to its surface.
        let spin = self.spins[rows[0]] + self.spins[rows[3]];
        let arm = (closest.delta - normal * (distance - hard)) * sign;
        travel += cross3(spin, arm);
        Some(Touch {
            rows: own,
            shares,
            normal: normal * sign,
            travel: travel * slice_part,
            friction: collider.friction,
            is_inside,
            beyond: distance - reach,
            push,
        })
    }

    /// Finds what of served cloths touches colliders before a slice, which takes a part of the
    /// frame, and takes its load off the pairs.
    pub fn serve(&mut self, slice_part: f32, is_served: impl Fn(usize) -> bool) {
        let mut touches = std::mem::take(&mut self.touches);
        let mut links = std::mem::take(&mut self.links);
        let mut held = std::mem::take(&mut self.held);
        touches.clear();
        links.clear();
        for pair in &mut held {
            let [a, b, ..] = pair.rank.map(|index| index as usize);
            if !is_served(a) && !is_served(b) {
                continue;
            }
            let candidate = self.candidate_of(pair.rank);
            if let Some(touch) = candidate.and_then(|it| self.touch_of(&it, pair.push, slice_part))
            {
                (pair.push, pair.drag) = (SERVED, [0.0; 3]);
                if touch.is_vertex() { &mut touches } else { &mut links }.push(touch);
                self.served.push(*pair);
            }
        }
        touches.sort_by_key(|touch| touch.rows[0]);
        (self.touches, self.links, self.held) = (touches, links, held);
    }

    /// Writes the contacts of the `index`th cloth that [`Self::serve`] has found, in its local
    /// space.
    pub fn write_contacts(&self, index: usize, space: &ContactCloth, touching: &mut Touching) {
        let Some(body) = self.bodies.get(index) else { return };
        let Touching { planes, links } = touching;
        planes.resize(body.rows.len(), None);
        let local = to_local(space);
        links.extend(self.links.iter().filter(|link| body.rows.contains(&link.rows[0])).map(
            |link| ContactLink {
                particles: link.rows.map(|row| (row - body.rows.start) as u32),
                shares: link.shares,
                plane: link.plane(&local),
            },
        ));
        let place = |row: usize| self.touches.partition_point(|touch| touch.rows[0] < row);
        let own = &self.touches[place(body.rows.start)..place(body.rows.end)];
        for touches in own.chunk_by(|a, b| a.rows[0] == b.rows[0]) {
            let (mut normal, mut travel) = (Vec3::ZERO, Vec3::ZERO);
            let (mut push, mut friction, mut room) = (0.0, 0.0, 0.0);
            // Products of the least multipliers would vanish.
            let most = touches.iter().map(|touch| touch.push).fold(SERVED, f32::max);
            let has_inside = touches.iter().any(|touch| touch.is_inside);
            for touch in touches.iter().filter(|touch| touch.is_inside || !has_inside) {
                let part = touch.push / most;
                normal += touch.normal * part;
                travel += touch.travel * part;
                push += part;
                friction += touch.friction * part;
                room += touch.beyond.max(0.0) * part;
            }
            let length = dot3(normal, normal).sqrt();
            if length > 0.0 {
                let mean = Touch {
                    normal: normal / length,
                    travel: travel / push,
                    friction: friction / push,
                    beyond: room / push,
                    ..touches[0]
                };
                planes[mean.rows[0] - body.rows.start] = Some(mean.plane(&local));
            }
        }
    }

    /// Keeps touches that solves hold, which contact has not pushed: of the same pair, or of a face
    /// that the vertex has slid to.
    fn keep_served(&mut self) {
        if self.served.is_empty() {
            return;
        }
        let most = KEPT * self.least_thickness();
        let still = |it: &Self, candidate: &Candidate| {
            it.touch_of(candidate, SERVED, 0.0).filter(|touch| touch.beyond <= most)
        };
        let mut is_sought = vec![false; self.start.len()];
        let rows = self.touches.iter().chain(&self.links).flat_map(|touch| touch.rows);
        rows.for_each(|row| is_sought[row] = true);
        let mut kept = std::mem::take(&mut self.served);
        kept.retain(|pair| {
            let candidate = self.candidate_of(pair.rank);
            let touch = candidate.and_then(|candidate| still(self, &candidate));
            if let Some(touch) = touch {
                is_sought[touch.rows[0]] &= !(touch.is_vertex() && touch.is_inside);
            }
            touch.is_some()
        });
        if is_sought.contains(&true) {
            let sought = |it: &&Candidate| it.rows.iter().any(|&row| is_sought[row as usize]);
            let found = self.candidates.iter().filter(sought);
            let found = found.filter(|it| still(self, it).is_some_and(|touch| touch.is_inside));
            kept.extend(found.map(|it| PairMultipliers {
                rank: it.rank,
                push: SERVED,
                drag: [0.0; 3],
            }));
        }
        // Stable: what contact has pushed comes first.
        self.held.extend(kept);
        self.held.sort_by_key(|held| held.rank);
        self.held.dedup_by_key(|held| held.rank);
    }

    /// Tells of each body whether it is a cloth in free flight: neither it nor what it touches,
    /// directly or through others, is a collider or pinned.
    pub fn flying(&self) -> Vec<bool> {
        let is_free = |body: &Body| {
            body.is_cloth() && self.inverse_mass[body.rows.clone()].iter().all(|mass| *mass > 0.0)
        };
        let mut flying: Vec<bool> = self.bodies.iter().map(is_free).collect();
        let mut is_changed = true;
        while std::mem::take(&mut is_changed) {
            for pair in &self.held {
                let [a, b, ..] = pair.rank.map(|index| index as usize);
                if flying[a] != flying[b] {
                    (flying[a], flying[b]) = (false, false);
                    is_changed = true;
                }
            }
        }
        flying
    }

    /// Advances after solves that were [served](Self::serve).
    pub fn advance_served(&mut self, step: f32, iterations: u32) {
        self.advance(step, iterations);
        self.keep_served();
    }

    /// Advances once more in a slice, from where it ended to what repairs of solves have made of
    /// it: only what is new is pushed.
    pub fn advance_again(&mut self, step: f32, iterations: u32) {
        let held = std::mem::take(&mut self.held);
        self.advance(step, iterations);
        self.held = held;
    }
}
