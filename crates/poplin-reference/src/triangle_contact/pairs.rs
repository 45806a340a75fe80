//! Pairs of a vertex and a face or of two edges that may come close.

use std::ops::Range;

use glam::Vec3;
use rayon::prelude::*;

use super::body::Body;
use super::closest::{Closest, edge_edge, vertex_face};
use super::memory::TriangleContact;
use crate::math::{cross3, dot3};

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
    /// Of a face: the sides and corners that it answers for, see [`Surface::owned`](super::Surface::owned).
    pub owned: u8,
    /// Coefficient of friction.
    pub friction: f32,
    /// Most that it is kept apart \[m\]: by its radii, or less because it rests so close.
    pub most: f32,
    /// How far apart it was when it was found \[m\].
    pub distance: f32,
    /// Its rank in the search, bodies first: what is the same pair in another list has the same.
    pub rank: [u32; 4],
    /// Multiplier of the push \[kg m\] of the last slice, and that of friction in its plane.
    pub push: f32,
    /// See `push`.
    pub drag: Vec3,
}

impl Candidate {
    /// Corners of its first simplex.
    pub(super) fn first_count(&self) -> usize {
        first_count(self.kind)
    }

    /// Whether this pair is the one that speaks for its closest points: those on a side or corner of a face belong to several, and those
    /// at the end of an edge to a vertex.
    pub(super) fn speaks(&self, closest: &Closest) -> bool {
        let has = closest.weights.map(|weight| weight.abs() > BORDER);
        if self.kind != Kind::VertexFace || has == [true; 4] {
            return self.kind == Kind::VertexPlane || has == [true; 4];
        }
        let [_, a, b, c] = has;
        let feature = match [a, b, c] {
            [true, true, _] => 1,
            [_, true, true] => 2,
            [true, _, true] => 4,
            [true, _, _] => 8,
            [_, true, _] => 16,
            _ => 32,
        };
        self.owned & feature != 0
    }

    /// The largest value of a field at the corners of each of its simplices.
    pub(super) fn most(&self, field: &[f32]) -> [f32; 2] {
        most(self.kind, &self.rows, field)
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

/// Part of its distance at rest that a pair keeps which rests closer than it is thick.
const REST: f32 = 0.9;

/// Weight of a corner below which closest points count as on the side, or at the end, without it.
const BORDER: f32 = 1e-3;

/// Vertices or edges of a search that a thread does at once.
const BLOCK: usize = 512;

/// Some vertices of the first body against the faces of the second (kind 0), the other way round (1), or edges (2).
struct Task {
    pair: BodyPair,
    kind: u32,
    items: Range<usize>,
}

/// What the pairs of two bodies have in common.
#[derive(Clone, Copy)]
struct Note {
    rank: [u32; 4],
    owned: u8,
    friction: f32,
    is_own: bool,
}

/// Two bodies that may meet, or one with itself.
pub(super) type BodyPair = [u32; 2];

impl TriangleContact {
    /// The bodies that may meet in this round if rows move by `more` \[m\] than they do.
    pub(super) fn near_bodies(&self, more: f32) -> Vec<BodyPair> {
        let mut found = Vec::new();
        let mut order: Vec<usize> = (0..self.bodies.len()).collect();
        order.sort_unstable_by(|&a, &b| {
            let low = |index: usize| self.bodies[index].swept[0].x;
            low(a).total_cmp(&low(b)).then(a.cmp(&b))
        });
        for (rank, &first) in order.iter().enumerate() {
            let end = self.bodies[first].swept[1].x + 2.0 * more;
            for &second in &order[rank + 1..] {
                if self.bodies[second].swept[0].x > end {
                    break;
                }
                let (a, b) = (first.min(second), first.max(second));
                if self.are_near(&self.bodies[a], &self.bodies[b], more)
                    && self.bodies[a].wants(a as u32, &self.bodies[b], b as u32)
                {
                    found.push([a as u32, b as u32]);
                }
            }
        }
        found.sort_unstable();
        found
    }

    fn are_near(&self, first: &Body, second: &Body, more: f32) -> bool {
        match (first.is_plane, second.is_plane) {
            (true, _) => self.reaches(first, second, more),
            (_, true) => self.reaches(second, first, more),
            _ => {
                (first.swept[0] - more).cmple(second.swept[1] + more).all()
                    && (second.swept[0] - more).cmple(first.swept[1] + more).all()
            }
        }
    }

    /// Whether what a body sweeps may reach a plane.
    fn reaches(&self, plane: &Body, body: &Body, more: f32) -> bool {
        let (row, [low, high]) = (plane.rows.start, body.swept);
        let normal = self.rest[row];
        let height = self.start[row].dot(normal).max(self.target[row].dot(normal));
        let lowest = low.min(high) * normal.max(Vec3::ZERO) + high * normal.min(Vec3::ZERO);
        lowest.element_sum() <= height + 2.0 * more
    }

    /// All pairs that may touch while no row leaves the ball of the list's slack around its anchor. Multipliers of the old list
    /// are kept.
    pub(super) fn search(&mut self, near: &[BodyPair]) {
        let Self { bodies, start, radius, slack, .. } = self;
        let reach: Vec<f32> =
            radius.iter().zip(slack).map(|(radius, slack)| radius + *slack).collect();
        for body in bodies.iter_mut() {
            let rows = body.rows.clone();
            let (positions, radii) = (&start[rows.clone()], &reach[rows]);
            body.faces.refit(positions, radii);
            body.edges.refit(positions, radii);
            body.vertices.refit(positions, radii);
        }
        let own = (0..self.bodies.len() as u32).filter(|&a| self.bodies[a as usize].meets_itself);
        let mut all: Vec<BodyPair> = own.map(|a| [a, a]).chain(near.iter().copied()).collect();
        all.sort_unstable();
        let tasks = all.iter().flat_map(|&pair| self.tasks(pair)).collect::<Vec<_>>();
        let lists: Vec<Vec<Candidate>> = tasks.into_par_iter().map(|task| self.run(task)).collect();
        let mut found = lists.concat();
        // Both lists are in order: what is in both keeps its multipliers.
        let mut old = self.candidates.iter().filter(|old| old.push > 0.0).peekable();
        for candidate in &mut found {
            while old.next_if(|old| old.rank < candidate.rank).is_some() {}
            if let Some(old) = old.next_if(|old| old.rank == candidate.rank) {
                (candidate.push, candidate.drag) = (old.push, old.drag);
            }
        }
        self.candidates = found;
    }

    /// The searches of two bodies, or of one with itself.
    fn tasks(&self, pair: BodyPair) -> impl Iterator<Item = Task> + use<> {
        let bodies = pair.map(|index| &self.bodies[index as usize]);
        let count = |kind: u32| match kind {
            0 => bodies[0].surface.vertices.len(),
            1 if pair[0] == pair[1] => 0,
            1 => bodies[1].surface.vertices.len(),
            _ => bodies[0].surface.edges.len(),
        };
        let counts = [0, 1, 2].map(count);
        (0..3).flat_map(move |kind| {
            let count = counts[kind as usize];
            (0..count).step_by(BLOCK).map(move |begin| Task {
                pair,
                kind,
                items: begin..(begin + BLOCK).min(count),
            })
        })
    }

    /// The candidates of one.
    fn run(&self, Task { pair: [a, b], kind, items }: Task) -> Vec<Candidate> {
        let mut found = Vec::new();
        let (mut first, mut second) = (&self.bodies[a as usize], &self.bodies[b as usize]);
        let friction = first.friction_with(second);
        if kind == 1 {
            std::mem::swap(&mut first, &mut second);
        }
        let (p, q) = (first.rows.start as u32, second.rows.start as u32);
        let note = Note { rank: [a, b, 0, 0], owned: 0, friction, is_own: a == b };
        if kind == 2 {
            for item in items {
                let [i, j] = first.surface.edges[item];
                let rows = [(p + i) as usize, (p + j) as usize];
                let ends = rows.map(|row| self.start[row]);
                let reach = rows.map(|row| self.radius[row] + self.slack[row]);
                let low = (ends[0] - reach[0]).min(ends[1] - reach[1]);
                let high = (ends[0] + reach[0]).max(ends[1] + reach[1]);
                second.edges.visit(low, high, |leaf, &[k, l]| {
                    let shares = i == k || i == l || j == k || j == l;
                    if a == b && (shares || [k, l] < [i, j]) {
                        return;
                    }
                    let note = Note { rank: [a, b, 2 << 28 | item as u32, leaf], ..note };
                    self.note(&mut found, [p + i, p + j, q + k, q + l], Kind::EdgeEdge, note);
                });
            }
            return found;
        }
        for item in items {
            let [vertex] = first.surface.vertices[item];
            let row = (p + vertex) as usize;
            let rank = |leaf| [a, b, kind << 28 | item as u32, leaf];
            if second.is_plane {
                let rows = [row as u32, q, q, q];
                self.note(&mut found, rows, Kind::VertexPlane, Note { rank: rank(0), ..note });
                continue;
            }
            let reach = self.radius[row] + self.slack[row];
            let (low, high) = (self.start[row] - reach, self.start[row] + reach);
            second.faces.visit(low, high, |leaf, corners| {
                if a != b || !corners.contains(&vertex) {
                    let [x, y, z] = corners.map(|corner| q + corner);
                    let rows = [row as u32, x, y, z];
                    let owned = second.surface.owned[second.faces.item(leaf)];
                    let note = Note { rank: rank(leaf), owned, ..note };
                    self.note(&mut found, rows, Kind::VertexFace, note);
                }
            });
        }
        found
    }

    /// Adds a pair if it is near enough.
    fn note(&self, found: &mut Vec<Candidate>, rows: [u32; 4], kind: Kind, note: Note) {
        let Note { rank, owned, friction, is_own } = note;
        let at = rows.map(|row| self.start[row as usize]);
        let ([x, y], [u, v]) = (most(kind, &rows, &self.slack), most(kind, &rows, &self.radius));
        let reach = x + y + u + v;
        if kind != Kind::VertexPlane && box_square(kind, &at) >= reach * reach
            || rows.iter().all(|&row| self.inverse_mass[row as usize] == 0.0)
        {
            return;
        }
        let mut candidate = Candidate {
            rows,
            kind,
            owned,
            friction,
            most: 0.0,
            distance: 0.0,
            rank,
            push: 0.0,
            drag: Vec3::ZERO,
        };
        let closest = candidate.closest(at);
        candidate.distance = match kind {
            Kind::VertexPlane => self.apart(&candidate, &closest).1,
            _ => closest.delta.length(),
        };
        let thickness = weighted(&self.radius, &rows, &closest.weights);
        if candidate.distance < thickness + x + y {
            candidate.most = u + v;
            if is_own {
                let rest = rows.map(|row| self.rest[row as usize]);
                candidate.most = candidate.most.min(rest_distance(&candidate, rest, thickness));
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
        if length == 0.0 {
            return (Vec3::ZERO, 0.0);
        }
        // Over a face, and inside both edges, what the directions of the sides say is as exact as they are long; a small delta is not.
        let [a, b, c, d] = candidate.rows.map(|row| self.start[row as usize]);
        let direction = closest.delta / length;
        let normal = if closest.is_inside {
            let cross = match candidate.kind {
                Kind::VertexFace => cross3(c - b, d - b),
                _ => cross3(b - a, d - c),
            };
            cross * dot3(cross, direction).signum()
        } else {
            // At right angles to the edge that holds one of the closest points between its ends.
            let [p, q, r, s] = closest.weights.map(|weight| weight != 0.0);
            let along = match (candidate.kind, [p, q, r, s]) {
                (Kind::VertexFace, [_, true, true, false]) => c - b,
                (Kind::VertexFace, [_, false, true, true]) => d - c,
                (Kind::VertexFace, [_, true, false, true]) => d - b,
                (Kind::EdgeEdge, [true, true, _, _]) => b - a,
                (Kind::EdgeEdge, [_, _, true, true]) => d - c,
                _ => Vec3::ZERO,
            };
            let square = dot3(along, along);
            let part = if square > 0.0 { dot3(direction, along) / square } else { 0.0 };
            direction - along * part
        };
        (normal.try_normalize().unwrap_or(direction), length)
    }
}

/// Sum of a field of the corners by the size of their weights: of the radii how far two simplices are kept apart \[m\], of
/// [`TriangleContact::hard`] what of that is the volume of a collider.
pub(super) fn weighted(field: &[f32], rows: &[u32; 4], weights: &[f32; 4]) -> f32 {
    let each = |k: usize| field[rows[k] as usize] * weights[k].abs();
    each(0) + each(1) + each(2) + each(3)
}

/// What a pair keeps at most because it rests so close; infinite if it rests farther apart than it is thick.
fn rest_distance(candidate: &Candidate, rest: [Vec3; 4], thickness: f32) -> f32 {
    let beyond = thickness / REST;
    if box_square(candidate.kind, &rest) > beyond * beyond {
        return f32::INFINITY;
    }
    REST * candidate.closest(rest).delta.length()
}

/// Corners of the first simplex.
fn first_count(kind: Kind) -> usize {
    if kind == Kind::EdgeEdge { 2 } else { 1 }
}

/// The largest value of a field at the corners of each simplex.
fn most(kind: Kind, rows: &[u32; 4], field: &[f32]) -> [f32; 2] {
    let [a, b, c, d] = rows.map(|row| field[row as usize]);
    if first_count(kind) == 1 { [a, b.max(c).max(d)] } else { [a.max(b), c.max(d)] }
}

/// Square of the distance of the boxes around both simplices \[m^2\].
fn box_square(kind: Kind, [a, b, c, d]: &[Vec3; 4]) -> f32 {
    let (first, second) = if first_count(kind) == 1 {
        ([*a, *a], [b.min(*c).min(*d), b.max(*c).max(*d)])
    } else {
        ([a.min(*b), a.max(*b)], [c.min(*d), c.max(*d)])
    };
    let between = (first[0] - second[1]).max(second[0] - first[1]).max(Vec3::ZERO);
    between.length_squared()
}
