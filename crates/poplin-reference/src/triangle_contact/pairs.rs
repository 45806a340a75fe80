//! Pairs of a vertex and a face or of two edges that may come close. What a pair is, is the twin of `shaders/contact/triangle_pairs.wgsl`.

use std::ops::Range;

use glam::Vec3;
use poplin_layout::{MIN_NORMAL_SQUARE, MIN_SQUARE, TRIANGLE_BORDER, TRIANGLE_REST};
use rayon::prelude::*;

use super::closest::{Closest, edge_edge, vertex_face};
use super::memory::TriangleContact;
use super::tree::Path;
use crate::math::{cross3, dot3, length3};

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
    /// Whether both simplices are of one body.
    pub is_own: bool,
    /// Both bodies, the kind and the first simplex, and the second: pairs are in this order.
    pub rank: [u32; 4],
}

impl Candidate {
    /// Corners of its first simplex.
    pub(super) fn first_count(&self) -> usize {
        first_count(self.kind)
    }

    /// Whether this pair is the one that speaks for its closest points: those on a side or corner of a face belong to several, and those
    /// at the end of an edge to a vertex.
    pub(super) fn speaks(&self, closest: &Closest) -> bool {
        let has = closest.weights.map(|weight| weight.abs() > TRIANGLE_BORDER);
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

impl Note {
    fn candidate(self, rows: [u32; 4], kind: Kind) -> Candidate {
        let Self { rank, owned, friction, is_own } = self;
        Candidate { rows, kind, owned, friction, is_own, rank }
    }
}

/// Two bodies that may meet, or one with itself.
pub(super) type BodyPair = [u32; 2];

impl TriangleContact {
    /// The bodies that may meet on these paths of theirs.
    pub(super) fn near_bodies(&self, paths: &[Path]) -> Vec<BodyPair> {
        let mut found = Vec::new();
        let mut order: Vec<usize> = (0..self.bodies.len()).collect();
        let low = |index: usize| paths[index].low[0].x.min(paths[index].low[1].x);
        let high = |index: usize| paths[index].high[0].x.max(paths[index].high[1].x);
        order.sort_unstable_by(|&a, &b| low(a).total_cmp(&low(b)).then(a.cmp(&b)));
        for (rank, &first) in order.iter().enumerate() {
            let end = high(first);
            for &second in &order[rank + 1..] {
                if low(second) > end {
                    break;
                }
                let (a, b) = (first.min(second), first.max(second));
                if !paths[a].misses(&paths[b])
                    && self.bodies[a].wants(a as u32, &self.bodies[b], b as u32)
                {
                    found.push([a as u32, b as u32]);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// All pairs that may be in reach while rows are near these paths.
    pub(super) fn search(&mut self) {
        let Self { bodies, paths, .. } = self;
        let mut bounds = Vec::with_capacity(bodies.len());
        for body in bodies.iter_mut() {
            let paths = &paths[body.rows.clone()];
            body.faces.refit(paths);
            body.edges.refit(paths);
            body.vertices.refit(paths);
            bounds.push(body.bounds());
        }
        let own = (0..self.bodies.len() as u32).filter(|&a| self.bodies[a as usize].meets_itself);
        let near = self.near_bodies(&bounds);
        let mut all: Vec<BodyPair> = own.map(|a| [a, a]).chain(near).collect();
        all.sort_unstable();
        let tasks = all.iter().flat_map(|&pair| self.tasks(pair)).collect::<Vec<_>>();
        let lists: Vec<Vec<Candidate>> = tasks.into_par_iter().map(|task| self.run(task)).collect();
        self.candidates = lists.concat();
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
        let rank = |item: usize, other| [a, b, kind << 28 | item as u32, other];
        for item in items {
            let begin = found.len();
            if kind == 2 {
                let [i, j] = first.surface.edges[item];
                let rows = [p + i, p + j];
                second.edges.visit(&Path::around(&rows, &self.paths), |other, &[k, l]| {
                    let shares = i == k || i == l || j == k || j == l;
                    if a == b && (shares || other as usize <= item) {
                        return;
                    }
                    let note = Note { rank: rank(item, other), ..note };
                    let rows = [p + i, p + j, q + k, q + l];
                    found.push(note.candidate(rows, Kind::EdgeEdge));
                });
            } else {
                let [vertex] = first.surface.vertices[item];
                let row = p + vertex;
                if second.is_plane {
                    let note = Note { rank: rank(item, 0), ..note };
                    found.push(note.candidate([row, q, q, q], Kind::VertexPlane));
                    continue;
                }
                second.faces.visit(&self.paths[row as usize], |other, corners| {
                    if a != b || !corners.contains(&vertex) {
                        let [x, y, z] = corners.map(|corner| q + corner);
                        let owned = second.surface.owned[other as usize];
                        let note = Note { rank: rank(item, other), owned, ..note };
                        found.push(note.candidate([row, x, y, z], Kind::VertexFace));
                    }
                });
            }
            found[begin..].sort_unstable_by_key(|candidate| candidate.rank[3]);
        }
        found
    }

    /// How far apart a pair is kept where its closest points have these weights \[m\]: by the radii, or less because it rests closer.
    pub(super) fn thickness(&self, candidate: &Candidate, weights: &[f32; 4]) -> f32 {
        let thickness = weighted(&self.radius, &candidate.rows, weights);
        if !candidate.is_own {
            return thickness;
        }
        let rest = candidate.rows.map(|row| self.rest[row as usize]);
        if TRIANGLE_REST * box_distance(candidate.kind, &rest) > thickness {
            return thickness;
        }
        thickness.min(TRIANGLE_REST * length3(candidate.closest(rest).delta))
    }

    /// The direction in which a pair is apart, and how far \[m\]: below 0 behind a plane.
    pub(super) fn apart(&self, candidate: &Candidate, closest: &Closest) -> (Vec3, f32) {
        if candidate.kind == Kind::VertexPlane {
            let normal = self.rest[candidate.rows[1] as usize];
            return (normal, dot3(normal, closest.delta));
        }
        let square = dot3(closest.delta, closest.delta);
        if square < MIN_SQUARE {
            return (Vec3::ZERO, 0.0);
        }
        let length = square.sqrt();
        // Over a face, and inside both edges, what the directions of the sides say is as exact as they are long; a small delta is not.
        let [a, b, c, d] = candidate.rows.map(|row| self.start[row as usize]);
        let direction = closest.delta / length;
        let normal = if closest.is_inside {
            let cross = match candidate.kind {
                Kind::VertexFace => cross3(c - b, d - b),
                _ => cross3(b - a, d - c),
            };
            if dot3(cross, direction) < 0.0 { -cross } else { cross }
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
        let square = dot3(normal, normal);
        (if square > MIN_NORMAL_SQUARE { normal / square.sqrt() } else { direction }, length)
    }
}

/// Sum of a field of the corners by the size of their weights: of the radii how far two simplices are kept apart \[m\], of
/// [`TriangleContact::hard`] what of that is the volume of a collider.
pub(super) fn weighted(field: &[f32], rows: &[u32; 4], weights: &[f32; 4]) -> f32 {
    let each = |k: usize| field[rows[k] as usize] * weights[k].abs();
    each(0) + each(1) + each(2) + each(3)
}

/// Corners of the first simplex.
fn first_count(kind: Kind) -> usize {
    if kind == Kind::EdgeEdge { 2 } else { 1 }
}

/// Distance of the boxes around both simplices \[m\].
fn box_distance(kind: Kind, [a, b, c, d]: &[Vec3; 4]) -> f32 {
    let (first, second) = if first_count(kind) == 1 {
        ([*a, *a], [b.min(*c).min(*d), b.max(*c).max(*d)])
    } else {
        ([a.min(*b), a.max(*b)], [c.min(*d), c.max(*d)])
    };
    let between = (first[0] - second[1]).max(second[0] - first[1]).max(Vec3::ZERO);
    length3(between)
}
