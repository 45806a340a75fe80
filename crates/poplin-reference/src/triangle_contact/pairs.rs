//! Pairs of a vertex and a face or of two edges that may come close.

use glam::Vec3;
use rayon::prelude::*;

use super::closest::{Closest, edge_edge, vertex_face};
use super::memory::TriangleContact;
use crate::math::dot3;

/// What the corners of a pair are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A vertex and the three of a face.
    VertexFace,
    /// Two edges.
    EdgeEdge,
    /// A vertex and a point of a plane, three times.
    VertexPlane,
}

/// A pair that the search found, with what does not change while its list is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Rows of its four corners: a vertex and a face, or two edges.
    pub rows: [u32; 4],
    /// What its corners are.
    pub kind: Kind,
    /// Coefficient of friction.
    pub friction: f32,
    /// The least thickness of the pair, of what rests closer than it is thick \[m\]; else infinite.
    pub rest: f32,
    /// Multiplier of the push \[kg m\] of the last slice, and that of friction in its plane.
    pub push: f32,
    /// See `push`.
    pub drag: Vec3,
}

impl Candidate {
    /// Order and identity: what is the same pair in another list.
    pub(super) fn key(&self) -> (Kind, [u32; 4]) {
        (self.kind, self.rows)
    }

    /// Corners of its first simplex.
    pub(super) fn first_count(&self) -> usize {
        if self.kind == Kind::EdgeEdge { 2 } else { 1 }
    }

    /// Its closest points with these corners.
    pub(super) fn closest(&self, [a, b, c, d]: [Vec3; 4]) -> Closest {
        match self.kind {
            Kind::VertexFace => vertex_face(a, [b, c, d]),
            Kind::EdgeEdge => edge_edge([a, b], [c, d]),
            Kind::VertexPlane => {
                Closest { weights: [1.0, -1.0, 0.0, 0.0], delta: a - b, is_inside: true }
            }
        }
    }
}

/// Two bodies that may meet, or one with itself.
pub(super) type BodyPair = [u32; 2];

impl TriangleContact {
    /// The bodies that may meet in this round if rows move by `slack` \[m\] more than they do.
    pub(super) fn near_bodies(&self, slack: f32) -> Vec<BodyPair> {
        let mut found = Vec::new();
        for (a, first) in self.bodies.iter().enumerate() {
            for (b, second) in self.bodies.iter().enumerate().skip(a + 1) {
                let is_near = (first.swept[0] - slack).cmple(second.swept[1] + slack).all()
                    && (second.swept[0] - slack).cmple(first.swept[1] + slack).all();
                if is_near && first.wants(a as u32, second, b as u32) {
                    found.push([a as u32, b as u32]);
                }
            }
        }
        found
    }

    /// All pairs that may touch while no row leaves the ball of the list's slack around its anchor. Multipliers of the old list
    /// are kept.
    pub(super) fn search(&mut self, near: &[BodyPair]) {
        let Self { bodies, start, radius, .. } = self;
        for body in bodies.iter_mut() {
            let rows = body.rows.clone();
            let (positions, radii) = (&start[rows.clone()], &radius[rows]);
            body.faces.refit(positions, radii);
            body.edges.refit(positions, radii);
            body.vertices.refit(positions, radii);
        }
        let own = (0..self.bodies.len() as u32).filter(|&a| self.bodies[a as usize].is_cloth());
        let all: Vec<BodyPair> = own.map(|a| [a, a]).chain(near.iter().copied()).collect();
        let mut found: Vec<Candidate> =
            all.par_iter().flat_map_iter(|&pair| self.search_bodies(pair)).collect();
        found.par_sort_unstable_by_key(Candidate::key);
        // Both lists are in order: what is in both keeps its multipliers.
        let mut old = self.candidates.iter().peekable();
        for candidate in &mut found {
            while old.next_if(|old| old.key() < candidate.key()).is_some() {}
            if let Some(old) = old.next_if(|old| old.key() == candidate.key()) {
                (candidate.push, candidate.drag) = (old.push, old.drag);
            }
        }
        self.candidates = found;
    }

    /// Those of two bodies, or of one with itself.
    fn search_bodies(&self, [a, b]: BodyPair) -> Vec<Candidate> {
        let mut found = Vec::new();
        let (first, second) = (&self.bodies[a as usize], &self.bodies[b as usize]);
        let friction = first.friction_with(second);
        let sides = if a == b { &[(first, second)][..] } else { &[(first, second), (second, first)] };
        for (points, faces) in sides {
            let (p, f) = (points.rows.start as u32, faces.rows.start as u32);
            for &[vertex] in &points.surface.vertices {
                let row = (p + vertex) as usize;
                let reach = self.radius[row] + 2.0 * self.slack;
                let (low, high) = (self.start[row] - reach, self.start[row] + reach);
                faces.faces.visit(low, high, |_, corners| {
                    if a == b && corners.contains(&vertex) {
                        return;
                    }
                    let [x, y, z] = corners.map(|corner| f + corner);
                    self.note(&mut found, [row as u32, x, y, z], Kind::VertexFace, friction, a == b);
                });
            }
        }
        for (points, plane) in sides.iter().filter(|(_, plane)| plane.is_plane) {
            for &[vertex] in &points.surface.vertices {
                let (row, point) = (points.rows.start as u32 + vertex, plane.rows.start as u32);
                let rows = [row, point, point, point];
                self.note(&mut found, rows, Kind::VertexPlane, friction, false);
            }
        }
        let (p, q) = (first.rows.start as u32, second.rows.start as u32);
        for &[i, j] in &first.surface.edges {
            let rows = [(p + i) as usize, (p + j) as usize];
            let ends = rows.map(|row| self.start[row]);
            let reach = rows.map(|row| self.radius[row] + 2.0 * self.slack);
            let low = (ends[0] - reach[0]).min(ends[1] - reach[1]);
            let high = (ends[0] + reach[0]).max(ends[1] + reach[1]);
            second.edges.visit(low, high, |_, &[k, l]| {
                let shares = i == k || i == l || j == k || j == l;
                if a == b && (shares || [k, l] < [i, j]) {
                    return;
                }
                self.note(&mut found, [p + i, p + j, q + k, q + l], Kind::EdgeEdge, friction, a == b);
            });
        }
        found
    }

    /// Adds a pair if it is near enough.
    fn note(
        &self,
        found: &mut Vec<Candidate>,
        rows: [u32; 4],
        kind: Kind,
        friction: f32,
        is_own: bool,
    ) {
        let mut candidate = Candidate {
            rows,
            kind,
            friction,
            rest: f32::INFINITY,
            push: 0.0,
            drag: Vec3::ZERO,
        };
        if rows.iter().all(|&row| self.inverse_mass[row as usize] == 0.0) {
            return;
        }
        let at = rows.map(|row| self.start[row as usize]);
        let closest = candidate.closest(at);
        let limit = self.thickness(&rows, &closest.weights) + 2.0 * self.slack;
        if self.apart(&candidate, &closest).1 < limit {
            if is_own {
                let rest = rows.map(|row| self.rest[row as usize]);
                candidate.rest = 0.9 * candidate.closest(rest).delta.length();
            }
            found.push(candidate);
        }
    }

    /// The direction in which a pair is apart, and how far \[m\]: below 0 behind a plane.
    pub(super) fn apart(&self, candidate: &Candidate, closest: &Closest) -> (Vec3, f32) {
        if candidate.kind == Kind::VertexPlane {
            let normal = self.rest[candidate.rows[1] as usize];
            return (normal, dot3(normal, closest.delta));
        }
        let length = closest.delta.length();
        (if length > 0.0 { closest.delta / length } else { Vec3::ZERO }, length)
    }

    /// How far two simplices are kept apart: the radii at their closest points \[m\].
    pub(super) fn thickness(&self, rows: &[u32; 4], weights: &[f32; 4]) -> f32 {
        let each = |k: usize| self.radius[rows[k] as usize] * weights[k].abs();
        each(0) + each(1) + each(2) + each(3)
    }

    /// What of that is the volume of a collider \[m\]: closer, its surface is crossed.
    pub(super) fn hard(&self, rows: &[u32; 4], weights: &[f32; 4]) -> f32 {
        let each = |k: usize| self.hard[rows[k] as usize] * weights[k].abs();
        each(0) + each(1) + each(2) + each(3)
    }
}
