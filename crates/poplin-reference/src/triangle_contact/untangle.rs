//! What is crossed: at the start, after a jump, or because pins and colliders forced it. It is counted exactly, left out of the pairs
//! that keep their side, and moved apart.
//!
//! Two surfaces are moved against each other so that the contour along which they intersect becomes shorter: Volino and
//! Magnenat-Thalmann 2006, Resolving Surface Collisions through Intersection Contour Minimization. The derivative of its length
//! is here that of the polyline of all crossings, and is summed over a connected contour, so that it moves as a whole. What of a
//! cloth the contour cuts off moves along, and keeps no side until it is free: the regions of Baraff, Witkin, Kass 2003, Untangling
//! Cloth, but found by removing the edges that cross, and the largest is the one that is right. Within a collider with an outside
//! there is nothing to minimize: what is behind its faces leaves by the nearest.

use std::ops::Range;

use glam::{DVec3, Vec3};
use poplin_host::{
    NO_FACE, Surface, contact_partner, crossing_point, properly_intersect, report_crossings,
};
use poplin_model::{ContactPartner, ContactReport, Trouble};
use rayon::prelude::*;

use super::body::Body;
use super::closest::{edge_edge, vertex_face};
use super::memory::TriangleContact;
use super::pairs::{BodyPair, Candidate};
use super::tree::Path;

/// How far a slice moves what is tangled, in thicknesses: less than what a round may add to a move.
const STEP: f32 = 0.2;
/// Square of the sine of the angle between an edge and a face below which the derivative of the contour's length grows no more.
const GRAZING: f32 = 0.05;
/// What is tangled takes what is within so many edges of it along, less the farther: alone it would be pulled back at once. One more
/// for so many crossings of the contour.
const RINGS: usize = 5;
/// See [`RINGS`].
const CROSSINGS_PER_RING: usize = 2;
/// For how long a tangle moves on without becoming less by a quarter, and when it is given up \[s\].
const PATIENCE: [f32; 2] = [0.5, 1.5];
/// Edges that a thread looks at once.
const BLOCK: usize = 512;
/// How far a row of a cloth may be from where it was a frame before, in parts of its coordinates and of its radius: that is rounding.
const ROUNDING: [f32; 2] = [4e-6, 0.01];

/// An edge that goes through a face.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Crossing {
    /// The bodies, in ascending order.
    pair: BodyPair,
    /// Which of them has the edge.
    side: u8,
    /// Index of the edge in its surface.
    edge: u32,
    /// Index of the face in the other one.
    face: u32,
    /// Rows of the ends of the edge.
    ends: [u32; 2],
    /// Rows of the corners of the face.
    corners: [u32; 3],
    /// Where it is \[m\].
    at: Vec3,
    /// Where on the edge: 0 at its first end, 1 at its second.
    along: f32,
    /// Which of both surfaces has the edge, along the contour: 0 or 1.
    label: u8,
}

/// Two bodies that cross, or one that crosses itself.
#[derive(Debug, Clone, Default)]
struct Tangle {
    pair: BodyPair,
    /// Of each row of both bodies: the region that it is in and which is on the wrong side; 0 if it is in none.
    regions: [Vec<u32>; 2],
    /// Of each row of both bodies: whether it is of an edge or a face that crosses.
    is_crossed: [Vec<bool>; 2],
    /// How many crossings it had when it last became less by a quarter.
    milestone: usize,
    /// How long ago that was \[s\].
    idle: f32,
}

/// A row that leaves a collider.
#[derive(Debug, Clone, Copy)]
struct Exit {
    row: u32,
    /// Where to, of a length of at most 1.
    to: Vec3,
    /// Its body.
    collider: u32,
    /// Whether it is behind its faces.
    is_inside: bool,
}

/// What is crossed, and where it moves.
#[derive(Debug, Clone, Default)]
pub(super) struct Tangles {
    crossings: Vec<Crossing>,
    /// In the order of their pairs.
    tangles: Vec<Tangle>,
    /// How far the next slice moves each row \[m\]; empty if nothing is crossed.
    moves: Vec<Vec3>,
    /// Rows that leave a collider.
    exits: Vec<Exit>,
    /// Where rows were at the end of the last frame \[m\].
    before: Vec<Vec3>,
    /// Pairs of cloth and a ball, capsule or plane that pins or colliders forced across in this slice.
    forced: Vec<[u32; 4]>,
    /// Cloths that met something that was too fast in this slice, or were it themselves, with its body and where it was.
    hurried: Vec<(BodyPair, Vec3)>,
}

impl Tangles {
    /// Pairs of an edge and a face that cross.
    pub(super) fn count(&self) -> u32 {
        self.crossings.len() as u32
    }

    /// Forgets what the last slice forced.
    pub(super) fn begin_slice(&mut self) {
        self.forced.clear();
        self.hurried.clear();
    }

    /// Notes a pair that was forced across, if one of its sides has no faces whose crossings could be counted.
    pub(super) fn note_forced(&mut self, rows: &[u32; 4], hard: f32) {
        let [_, a, b, _] = rows;
        if hard > 0.0 || a == b {
            self.forced.push(*rows);
        }
    }

    /// Remembers where rows are before anybody else moves them.
    pub(super) fn end_frame(&mut self, start: &[Vec3]) {
        self.before.clear();
        self.before.extend(start);
    }

    /// Whether a pair need not keep its side: one that a contour cuts off, or both are on it.
    pub(super) fn frees(&self, bodies: &[Body], candidate: &Candidate) -> bool {
        if self.tangles.is_empty() {
            return false;
        }
        let [a, b, ..] = candidate.rank;
        let Some(tangle) = tangle_between(&self.tangles, [a, b]) else { return false };
        let first = &bodies[a as usize].rows;
        let count = candidate.first_count();
        let mut is_crossed = [false; 2];
        let mut regions = [(u32::MAX, 0); 2];
        for (k, &row) in candidate.rows.iter().enumerate() {
            let (row, part) = (row as usize, usize::from(k >= count));
            let side = usize::from(!first.contains(&row));
            let local = row - bodies[tangle.pair[side] as usize].rows.start;
            is_crossed[part] |= tangle.is_crossed[side].get(local).copied().unwrap_or(false);
            let region = tangle.regions[side].get(local).copied().unwrap_or(0);
            regions[part] = (regions[part].0.min(region), regions[part].1.max(region));
        }
        let (low, high) = (regions[0].0.min(regions[1].0), regions[0].1.max(regions[1].1));
        // What is in one region of a cloth keeps its side of the same region.
        let is_apart = if a == b { low != high } else { high != 0 };
        is_apart || is_crossed == [true; 2]
    }

    /// Bytes of its vectors.
    pub(super) fn size(&self) -> usize {
        size_of::<Crossing>() * self.crossings.capacity()
            + size_of::<Vec3>() * (self.moves.capacity() + self.before.capacity())
            + size_of::<Exit>() * self.exits.capacity()
            + size_of::<[u32; 4]>() * self.forced.capacity()
            + size_of::<(BodyPair, Vec3)>() * self.hurried.capacity()
            + self.tangles.iter().map(Tangle::size).sum::<usize>()
    }
}

impl Tangle {
    /// Bytes of its vectors.
    fn size(&self) -> usize {
        let each = |k: usize| 4 * self.regions[k].capacity() + self.is_crossed[k].capacity();
        each(0) + each(1)
    }
}

/// The tangle of two bodies, of some in the order of their pairs.
fn tangle_between(tangles: &[Tangle], pair: BodyPair) -> Option<&Tangle> {
    let index = tangles.binary_search_by_key(&pair, |tangle| tangle.pair).ok()?;
    tangles.get(index)
}

/// The ends of the edges of each row of a surface.
struct Neighbours {
    /// Where those of each row begin, and where the last end.
    begins: Vec<u32>,
    /// The other ends.
    rows: Vec<u32>,
}

impl Neighbours {
    /// Those of a surface.
    fn of(surface: &Surface) -> Self {
        let mut begins = vec![0u32; surface.rest.len() + 1];
        surface.edges.iter().flatten().for_each(|&row| begins[row as usize] += 1);
        let mut sum = 0;
        for begin in &mut begins {
            sum += std::mem::replace(begin, sum);
        }
        let mut rows = vec![0; sum as usize];
        for &[a, b] in &surface.edges {
            for (from, to) in [(a, b), (b, a)] {
                let slot = &mut begins[from as usize];
                rows[*slot as usize] = to;
                *slot += 1;
            }
        }
        begins.rotate_right(1);
        begins[0] = 0;
        Self { begins, rows }
    }

    /// Some rows, and those within so many edges of them, with parts that fall from 1.
    fn around(&self, rows: &[u32], rings: usize) -> Vec<(u32, f32)> {
        let mut is_seen = vec![false; self.begins.len()];
        let mut found: Vec<(u32, f32)> = Vec::new();
        let mut ring: Vec<u32> = rows.to_vec();
        ring.iter().for_each(|&row| is_seen[row as usize] = true);
        for index in 0..rings {
            let part = (rings - index) as f32 / rings as f32;
            found.extend(ring.iter().map(|&row| (row, part)));
            let mut next = Vec::new();
            for row in ring {
                let row = row as usize;
                for &to in &self.rows[self.begins[row] as usize..self.begins[row + 1] as usize] {
                    if !std::mem::replace(&mut is_seen[to as usize], true) {
                        next.push(to);
                    }
                }
            }
            ring = next;
        }
        found
    }
}

/// The nearest face to a point.
struct Nearest {
    /// Its index in the surface.
    face: u32,
    /// From it to the point \[m\].
    delta: Vec3,
    /// The length of that \[m\].
    distance: f32,
}

/// Sets of rows that edges join: of each row one of its set, of the lowest row itself.
struct Sets(Vec<u32>);

impl Sets {
    /// Each row alone.
    fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    /// The lowest row of a set.
    fn root(&mut self, row: u32) -> u32 {
        let mut root = row;
        while self.0[root as usize] != root {
            let above = self.0[self.0[root as usize] as usize];
            self.0[root as usize] = above;
            root = above;
        }
        root
    }

    /// Makes one set of those of two rows.
    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
    }
}

/// The sets of rows of a surface that its edges join, but for those that are left out, which are in order.
fn sets_of(surface: &Surface, cut: &[u32]) -> Sets {
    let mut sets = Sets::new(surface.rest.len());
    let mut cut = cut.iter().peekable();
    for (index, &[a, b]) in (0..).zip(&surface.edges) {
        if cut.next_if(|&&edge| edge == index).is_none() {
            sets.join(a, b);
        }
    }
    sets
}

/// Six times the volume between the faces of a surface and the origin \[m^3\].
fn volume(surface: &Surface, at: &[Vec3]) -> f64 {
    let corner = |index: u32| at[index as usize].as_dvec3();
    surface.faces.iter().map(|it| corner(it[0]).dot(corner(it[1]).cross(corner(it[2])))).sum()
}

/// Whether a point is in a closed surface: the solid angle of its faces (Van Oosterom, Strackee 1983, The Solid Angle of a Plane
/// Triangle).
fn is_inside(surface: &Surface, at: &[Vec3], point: Vec3) -> bool {
    let corner = |index: u32| (at[index as usize] - point).as_dvec3();
    let each = |it: &[u32; 3]| {
        let [a, b, c] = it.map(corner);
        let [x, y, z] = [a, b, c].map(DVec3::length);
        let cosine = x * y * z + a.dot(b) * z + b.dot(c) * x + c.dot(a) * y;
        2.0 * a.dot(b.cross(c)).atan2(cosine)
    };
    surface.faces.iter().map(each).sum::<f64>().abs() > std::f64::consts::TAU
}

impl TriangleContact {
    /// Looks for what is crossed where the frame begins, if anything jumped or is new.
    pub(super) fn expect_tangles(&mut self) {
        let before = std::mem::take(&mut self.tangles.before);
        let has_jumped = before.len() != self.start.len()
            || before.iter().zip(&self.start).zip(&self.radius).any(|((before, start), radius)| {
                let most = ROUNDING[0] * start.abs().max_element() + ROUNDING[1] * radius;
                (*start - *before).length_squared() > most * most
            });
        self.tangles.before = before;
        if has_jumped {
            let thickness = self.least_thickness();
            self.find_tangles(thickness, true);
        }
    }

    /// Looks for what is crossed after a slice, if anything was or may be.
    pub(super) fn follow_tangles(&mut self, thickness: f32, near: &[BodyPair]) {
        let is_due = !self.tangles.tangles.is_empty() || self.report.forced > 0;
        if is_due || self.crosses_by_force(near) {
            self.find_tangles(thickness, false);
        }
    }

    /// Whether nothing can stop a row.
    fn is_fixed(&self, row: usize) -> bool {
        self.inverse_mass[row] == 0.0
    }

    /// The edges of a body whose ends nothing can stop, as rows.
    fn fixed_edges(&self, body: &Body) -> Vec<[usize; 2]> {
        let edges = body.surface.edges.iter();
        let all = edges.map(|edge| edge.map(|end| body.rows.start + end as usize));
        all.filter(|ends| ends.iter().all(|&end| self.is_fixed(end))).collect()
    }

    /// Faces of a cloth that nothing can stop and that are in a ball or capsule, with one of its rows.
    fn forced_into(&self, cloth: &Body, round: &Body) -> Vec<[u32; 4]> {
        let mut found = Vec::new();
        if round.is_cloth() || round.is_plane || !round.surface.is_round() {
            return found;
        }
        let (first, last) = (round.rows.start, round.rows.end - 1);
        let ends = [first, last].map(|row| self.start[row]);
        let radii = [first, last].map(|row| self.hard[row]);
        let mut path = Path::NOTHING;
        (0..2).for_each(|k| path.include(&Path::still(ends[k], radii[k])));
        cloth.still_faces.visit(&path, |_, corners| {
            let rows = corners.map(|corner| cloth.rows.start + corner as usize);
            if !rows.iter().all(|&row| self.is_fixed(row)) {
                return;
            }
            let [a, b, c] = rows.map(|row| self.start[row]);
            let is_end_near =
                (0..2).any(|k| vertex_face(ends[k], [a, b, c]).delta.length() < radii[k]);
            let is_side_near = || {
                [[a, b], [b, c], [c, a]].into_iter().any(|side| {
                    let closest = edge_edge(side, ends);
                    let radius =
                        radii[0] * closest.weights[2].abs() + radii[1] * closest.weights[3].abs();
                    closest.delta.length() < radius
                })
            };
            if is_end_near || is_side_near() {
                let [a, b, c] = rows.map(|row| row as u32);
                found.push([first as u32, a, b, c]);
            }
        });
        found.sort_unstable();
        found
    }

    /// Whether edges and faces cross that nothing can stop, which are in no pair.
    fn crosses_by_force(&mut self, near: &[BodyPair]) -> bool {
        let cloths = self.bodies.iter().map(|body| body.is_cloth().then_some(body));
        let fixed: Vec<Vec<[usize; 2]>> =
            cloths.map(|body| body.map_or(Vec::new(), |body| self.fixed_edges(body))).collect();
        if fixed.iter().all(Vec::is_empty) {
            return false;
        }
        let own = (0..self.bodies.len() as u32).filter(|&a| self.bodies[a as usize].meets_itself);
        let mut pairs: Vec<BodyPair> = own.map(|a| [a, a]).chain(near.iter().copied()).collect();
        pairs.retain(|pair| !fixed[pair[0] as usize].is_empty());
        let has_moved = |index: u32| {
            let mut rows = self.bodies[index as usize].rows.clone();
            rows.any(|row| self.is_fixed(row) && self.begun[row] != self.start[row])
        };
        pairs.retain(|&[a, b]| has_moved(a) || has_moved(b));
        if pairs.is_empty() {
            return false;
        }
        self.fit_faces();
        for pair in &pairs {
            let [cloth, round] = pair.map(|index| &self.bodies[index as usize]);
            let forced = self.forced_into(cloth, round);
            self.tangles.forced.extend(forced);
        }
        let at = |row: usize| self.start[row];
        let wide = |row: usize| at(row).as_dvec3().to_array();
        pairs.iter().any(|pair| {
            let [first, second] = pair.map(|index| &self.bodies[index as usize]);
            let others = if second.is_cloth() {
                fixed[pair[1] as usize].clone()
            } else {
                self.fixed_edges(second)
            };
            [(&fixed[pair[0] as usize], second), (&others, first)].into_iter().any(
                |(edges, body)| {
                    edges.par_iter().with_min_len(BLOCK).any(|&ends| {
                        let [a, b] = ends.map(at);
                        let mut crosses = false;
                        body.still_faces.visit(&Path::between(&[a, b]), |_, corners| {
                            let corners = corners.map(|corner| body.rows.start + corner as usize);
                            crosses |= corners
                                .iter()
                                .all(|&row| self.is_fixed(row) && !ends.contains(&row))
                                && properly_intersect(ends.map(wide), corners.map(wide));
                        });
                        crosses
                    })
                },
            )
        })
    }

    /// Finds what is crossed, and where it moves in the next slice. `has_jumped`: nothing is known from before.
    fn find_tangles(&mut self, thickness: f32, has_jumped: bool) {
        let old = std::mem::take(&mut self.tangles.tangles);
        self.tangles.moves.clear();
        self.tangles.exits.clear();
        self.fit_faces();
        self.tangles.crossings = self.find_crossings();
        if thickness.is_finite() && thickness > 0.0 {
            self.find_regions(&old, has_jumped);
            if !self.tangles.tangles.is_empty() {
                self.find_moves(thickness);
            }
        }
    }

    /// Fits the boxes of faces to where they are, but for what is round, which nothing crosses.
    fn fit_faces(&mut self) {
        let Self { bodies, start, .. } = self;
        bodies.par_iter_mut().for_each(|body| {
            if body.still_faces.is_empty() && !body.surface.is_round() {
                body.still_faces.clone_from(&body.faces);
            }
            let rows = &start[body.rows.clone()];
            let paths: Vec<Path> = rows.iter().map(|&at| Path::still(at, 0.0)).collect();
            body.still_faces.refit(&paths);
        });
    }

    /// Pairs of bodies whose boxes overlap and that may have crossed.
    fn touching_bodies(&self) -> Vec<BodyPair> {
        let bounds = self.bodies.iter().map(|body| body.still_faces.bounds());
        self.body_pairs(&bounds.collect::<Vec<_>>())
    }

    /// All edges through faces, in order.
    fn find_crossings(&self) -> Vec<Crossing> {
        let mut tasks: Vec<(BodyPair, u8, Range<usize>)> = Vec::new();
        for pair in self.touching_bodies() {
            for side in 0..if pair[0] == pair[1] { 1 } else { 2 } {
                let count = self.bodies[pair[side] as usize].surface.edges.len();
                let blocks = (0..count).step_by(BLOCK);
                tasks.extend(
                    blocks.map(|begin| (pair, side as u8, begin..(begin + BLOCK).min(count))),
                );
            }
        }
        let found: Vec<Vec<Crossing>> = tasks
            .into_par_iter()
            .map(|(pair, side, edges)| self.crossings_of(pair, side, edges))
            .collect();
        found.concat()
    }

    /// Some edges of one of two bodies through faces of the other, in order.
    fn crossings_of(&self, pair: BodyPair, side: u8, edges: Range<usize>) -> Vec<Crossing> {
        let mut found = Vec::new();
        let own = &self.bodies[pair[usize::from(side)] as usize];
        let other = &self.bodies[pair[usize::from(1 - side)] as usize];
        let (p, q) = (own.rows.start as u32, other.rows.start as u32);
        let is_own = pair[0] == pair[1];
        for edge in edges {
            let local = own.surface.edges[edge];
            let ends = local.map(|end| p + end);
            let [a, b] = ends.map(|row| self.start[row as usize]);
            let begin = found.len();
            other.still_faces.visit(&Path::between(&[a, b]), |face, corners| {
                if is_own && corners.iter().any(|corner| local.contains(corner)) {
                    return;
                }
                let corners = corners.map(|corner| q + corner);
                let faces = corners.map(|row| self.start[row as usize]);
                let Some((at, along)) = crossing_point([a, b], faces) else { return };
                found.push(Crossing {
                    pair,
                    side,
                    edge: edge as u32,
                    face,
                    ends,
                    corners,
                    at,
                    along,
                    label: side,
                });
            });
            // By face, whatever the tree is like.
            found[begin..].sort_unstable_by_key(|crossing| crossing.face);
        }
        found
    }

    /// What of each body is on the wrong side.
    fn find_regions(&mut self, old: &[Tangle], has_jumped: bool) {
        let crossings = std::mem::take(&mut self.tangles.crossings);
        let mut tangles: Vec<Tangle> = crossings
            .chunk_by(|a, b| a.pair == b.pair)
            .map(|crossings| self.tangle_of(crossings[0].pair, crossings))
            .collect();
        // What is wholly in a collider crosses nothing.
        let pairs = if has_jumped {
            self.touching_bodies()
        } else {
            old.iter().map(|it| it.pair).collect()
        };
        let before = |pair: BodyPair| tangle_between(old, pair).filter(|_| !has_jumped);
        for pair in pairs {
            let index = tangles.binary_search_by_key(&pair, |tangle| tangle.pair);
            let found = index.ok().map(|index| &tangles[index]);
            if let Some(tangle) = self.swallowed(pair, found, before(pair)) {
                match index {
                    Ok(index) => tangles[index] = tangle,
                    Err(index) => tangles.insert(index, tangle),
                }
            }
        }
        let mut rest = &crossings[..];
        for tangle in &mut tangles {
            let count = rest.partition_point(|crossing| crossing.pair <= tangle.pair);
            rest = &rest[count..];
            tangle.milestone = count;
            let is_no_less = |before: &&Tangle| 3 * before.milestone <= 4 * count;
            if let Some(before) = before(tangle.pair).filter(is_no_less) {
                (tangle.milestone, tangle.idle) = (before.milestone, before.idle + self.step);
            }
        }
        self.tangles.crossings = crossings;
        self.tangles.tangles = tangles;
    }

    /// With the parts of a cloth that are in a closed collider and cross nothing of it: those that were there, or any if nothing is
    /// known before.
    fn swallowed(
        &self,
        pair: BodyPair,
        found: Option<&Tangle>,
        before: Option<&Tangle>,
    ) -> Option<Tangle> {
        let [cloth, collider] = pair.map(|index| &self.bodies[index as usize]);
        if collider.is_cloth() || !collider.surface.is_closed {
            return None;
        }
        let at = &self.start[collider.rows.clone()];
        let mut sets = sets_of(&cloth.surface, &[]);
        let count = cloth.surface.rest.len();
        let mut is_cut = vec![false; count];
        if let Some(found) = found {
            for row in 0..count as u32 {
                let root = sets.root(row) as usize;
                is_cut[root] |= found.is_crossed[0][row as usize];
            }
        }
        let mut result: Option<Tangle> = None;
        let mut is_in = vec![false; count];
        for row in 0..count as u32 {
            let root = sets.root(row);
            if is_cut[root as usize] {
                continue;
            }
            if root == row {
                let was_in = before.is_none_or(|before| before.regions[0][row as usize] != 0);
                let point = self.start[cloth.rows.start + row as usize];
                is_in[row as usize] = was_in && is_inside(&collider.surface, at, point);
            }
            if is_in[root as usize] {
                let tangle = result.get_or_insert_with(|| {
                    found.cloned().unwrap_or_else(|| Tangle {
                        pair,
                        regions: [vec![0; count], Vec::new()],
                        is_crossed: [vec![false; count], Vec::new()],
                        ..Tangle::default()
                    })
                });
                tangle.regions[0][row as usize] = root + 1;
            }
        }
        result
    }

    /// The regions of two bodies that cross.
    fn tangle_of(&self, pair: BodyPair, crossings: &[Crossing]) -> Tangle {
        let bodies = pair.map(|index| &self.bodies[index as usize]);
        let count = |k: usize| bodies[k].surface.rest.len();
        let mut tangle = Tangle {
            pair,
            regions: [vec![0; count(0)], Vec::new()],
            is_crossed: [vec![false; count(0)], vec![false; count(1)]],
            ..Tangle::default()
        };
        for crossing in crossings {
            let own = usize::from(crossing.side);
            let other = if pair[0] == pair[1] { own } else { 1 - own };
            for row in crossing.ends {
                tangle.is_crossed[own][row as usize - bodies[own].rows.start] = true;
            }
            for row in crossing.corners {
                tangle.is_crossed[other][row as usize - bodies[other].rows.start] = true;
            }
        }
        if bodies[1].is_cloth() {
            for (side, body) in
                bodies.iter().enumerate().take(if pair[0] == pair[1] { 1 } else { 2 })
            {
                let own = crossings.iter().filter(|crossing| usize::from(crossing.side) == side);
                let cut: Vec<u32> = own.map(|crossing| crossing.edge).collect();
                tangle.regions[side] = wrong_side(&body.surface, &cut);
            }
        } else {
            let own = crossings.iter().filter(|crossing| crossing.side == 0).collect::<Vec<_>>();
            tangle.regions[0] = self.behind(pair, &own);
        }
        tangle
    }

    /// The regions of a cloth behind the faces of a collider: those with an end of an edge that is behind, and none that is before.
    fn behind(&self, pair: BodyPair, crossings: &[&Crossing]) -> Vec<u32> {
        let cloth = &self.bodies[pair[0] as usize];
        let sign = self.outside_of(pair[1]);
        let mut cut: Vec<u32> = crossings.iter().map(|crossing| crossing.edge).collect();
        cut.dedup();
        let mut sets = sets_of(&cloth.surface, &cut);
        let count = cloth.surface.rest.len();
        let mut sides = vec![[false; 2]; count];
        for group in crossings.chunk_by(|a, b| a.edge == b.edge) {
            // The crossing next to an end says on which side it is.
            for (end, is_first) in [(0, true), (1, false)] {
                let next = group.iter().copied().reduce(|a, b| {
                    if (b.along < a.along) == is_first && a.along != b.along { b } else { a }
                });
                let Some(crossing) = next else { continue };
                let [a, b, c] = crossing.corners.map(|row| self.start[row as usize]);
                let row = crossing.ends[end] as usize;
                let height = (b - a).cross(c - a).dot(self.start[row] - a) * sign;
                let root = sets.root((row - cloth.rows.start) as u32) as usize;
                sides[root][usize::from(height < 0.0)] = true;
            }
        }
        (0..count as u32)
            .map(|row| {
                let root = sets.root(row);
                if sides[root as usize] == [false, true] { root + 1 } else { 0 }
            })
            .collect()
    }

    /// 1 if the normals of a collider point outwards, -1 if inwards: as those of a box with left-handed edges.
    fn outside_of(&self, collider: u32) -> f32 {
        let body = &self.bodies[collider as usize];
        let is_box = body.is_box;
        let at = &self.start[body.rows.clone()];
        if is_box && volume(&body.surface, at) < 0.0 { -1.0 } else { 1.0 }
    }

    /// Where what is tangled moves.
    fn find_moves(&mut self, thickness: f32) {
        let mut all = vec![Vec3::ZERO; self.start.len()];
        let mut own = all.clone();
        let mut exits = std::mem::take(&mut self.tangles.exits);
        exits.clear();
        let mut crossings = std::mem::take(&mut self.tangles.crossings);
        let mut begin = 0;
        for tangle in &self.tangles.tangles {
            let count = crossings[begin..].partition_point(|crossing| crossing.pair <= tangle.pair);
            let crossings = &mut crossings[begin..begin + count];
            begin += count;
            let [cloth, other] = tangle.pair.map(|index| &self.bodies[index as usize]);
            let strength =
                ((PATIENCE[1] - tangle.idle) / (PATIENCE[1] - PATIENCE[0])).clamp(0.0, 1.0);
            if strength == 0.0 {
                continue;
            }
            if other.is_cloth() {
                self.shorten(tangle, crossings, &mut own);
                for (all, own) in all.iter_mut().zip(&mut own) {
                    *all += std::mem::take(own).clamp_length_max(1.0) * strength;
                }
                continue;
            }
            self.shorten(tangle, crossings, &mut own);
            self.lift(tangle, crossings, &mut own);
            self.leave(tangle, thickness, &mut own);
            for row in cloth.rows.clone() {
                let step = std::mem::take(&mut own[row]).clamp_length_max(1.0) * strength;
                if step != Vec3::ZERO {
                    all[row] += step;
                    exits.push(Exit {
                        row: row as u32,
                        to: step,
                        collider: tangle.pair[1],
                        is_inside: tangle.regions[0][row - cloth.rows.start] != 0,
                    });
                }
            }
        }
        for (row, step) in all.iter_mut().enumerate() {
            let is_free = self.inverse_mass[row] > 0.0;
            *step =
                if is_free { step.clamp_length_max(1.0) * (STEP * thickness) } else { Vec3::ZERO };
        }
        self.tangles.crossings = crossings;
        (self.tangles.moves, self.tangles.exits) = (all, exits);
    }

    /// Towards a shorter contour: directions of at most 1, divided between both sides by inverse mass.
    fn shorten(&self, tangle: &Tangle, crossings: &mut [Crossing], sum: &mut [Vec3]) {
        let pair = tangle.pair;
        let bodies = pair.map(|index| &self.bodies[index as usize]);
        let is_own = pair[0] == pair[1];
        let is_cloth = bodies[1].is_cloth();
        let neighbours = [0, 1].map(|side: usize| Neighbours::of(&bodies[side].surface));
        let mut ties: Vec<([u32; 2], u32)> = Vec::new();
        for (index, crossing) in (0..).zip(crossings.iter()) {
            let side = usize::from(crossing.side);
            for face in bodies[side].surface.wings[crossing.edge as usize] {
                if face != NO_FACE {
                    let mut faces = [face, crossing.face];
                    if side == 1 || is_own && face > crossing.face {
                        faces.swap(0, 1);
                    }
                    ties.push((faces, index));
                }
            }
        }
        ties.sort_unstable();
        // Two crossings of the same two faces are the ends of a piece of the contour.
        let mut links: Vec<[u32; 2]> = Vec::new();
        let mut slopes = vec![Vec3::ZERO; crossings.len()];
        for ends in ties.chunk_by(|a, b| a.0 == b.0) {
            let &[(_, a), (_, b)] = ends else { continue };
            links.push([a, b]);
            let (first, second) = (&crossings[a as usize], &crossings[b as usize]);
            let Some(along) = (second.at - first.at).try_normalize() else { continue };
            slopes[a as usize] += self.slope(first, along);
            slopes[b as usize] += self.slope(second, -along);
        }
        let mut degrees = vec![0; crossings.len()];
        links.iter().flatten().for_each(|&index| degrees[index as usize] += 1);
        let mut sets = Sets::new(crossings.len());
        links.iter().for_each(|&[a, b]| sets.join(a, b));
        if is_own {
            self.label(crossings, &links);
        }
        let mut order: Vec<(u32, u32)> =
            (0..crossings.len() as u32).map(|index| (sets.root(index), index)).collect();
        order.sort_unstable();
        for contour in order.chunk_by(|a, b| a.0 == b.0) {
            let members = || contour.iter().map(|&(_, index)| index as usize);
            let signed = |index: usize| {
                if crossings[index].label == 0 { slopes[index] } else { -slopes[index] }
            };
            let total: Vec3 = members().map(signed).sum();
            // Rows of both sides, and the regions that the contour cuts off from each.
            let mut rows: [Vec<u32>; 2] = Default::default();
            let mut regions: [Vec<u32>; 2] = Default::default();
            for index in members() {
                let crossing = &crossings[index];
                let (label, side) = (usize::from(crossing.label), usize::from(crossing.side));
                rows[label].extend(crossing.ends);
                rows[1 - label].extend(crossing.corners);
                for row in crossing.ends {
                    let local = row as usize - bodies[side].rows.start;
                    regions[label].extend(tangle.regions[side].get(local).filter(|it| **it != 0));
                }
            }
            for k in 0..2 {
                regions[k].sort_unstable();
                regions[k].dedup();
                let side = if is_own { 0 } else { k };
                let begin = bodies[side].rows.start as u32;
                let all = (begin..).zip(&tangle.regions[side]);
                let is_cut = |region: &u32| regions[k].binary_search(region).is_ok();
                rows[k].extend(all.filter(|(_, region)| is_cut(region)).map(|(row, _)| row));
                rows[k].sort_unstable();
                rows[k].dedup();
            }
            // What leaves a collider by its nearest face needs no other direction.
            if !is_cloth && !regions[0].is_empty() {
                continue;
            }
            let mean = |rows: &[u32]| {
                let all = rows.iter().map(|&row| self.inverse_mass[row as usize]);
                all.sum::<f32>() / rows.len().max(1) as f32
            };
            let weights = [mean(&rows[0]), mean(&rows[1])];
            let weight = weights[0] + weights[1];
            if weight == 0.0 {
                continue;
            }
            // A contour that cuts both surfaces is not shorter where they are nearer to each other: around a tube, say.
            let is_closed = members().all(|index| degrees[index] == 2);
            let is_mutual = is_closed && regions.iter().all(|regions| !regions.is_empty());
            if is_mutual {
                for k in 0..2 {
                    let sides = if is_own { [0, 0] } else { [k, 1 - k] };
                    let step = weights[k] / weight;
                    self.attract(tangle, sides, [&regions[k], &regions[1 - k]], step, sum);
                }
            }
            let direction = if is_mutual { Vec3::ZERO } else { total.normalize_or_zero() };
            for (k, sign) in [(0, 1.0), (1, -1.0)] {
                let step = direction * (sign * weights[k] / weight);
                let side = if is_own { 0 } else { k };
                if step != Vec3::ZERO {
                    let begin = bodies[side].rows.start;
                    rows[k].iter_mut().for_each(|row| *row -= begin as u32);
                    let rings = RINGS + contour.len() / CROSSINGS_PER_RING;
                    for (row, part) in neighbours[side].around(&rows[k], rings) {
                        sum[begin + row as usize] += step * part;
                    }
                }
            }
            for index in members() {
                let crossing = &crossings[index];
                let slope = slopes[index] / (1.0 + slopes[index].length());
                let [edge, face] = [mean(&crossing.ends), mean(&crossing.corners)];
                if edge + face > 0.0 {
                    let part = slope * (0.5 / (edge + face));
                    crossing.ends.iter().for_each(|&row| sum[row as usize] += part * edge);
                    crossing.corners.iter().for_each(|&row| sum[row as usize] -= part * face);
                }
            }
        }
    }

    /// Moves regions of one side of a contour to the nearest face of those of the other: beyond it they are where they should be.
    fn attract(
        &self,
        tangle: &Tangle,
        sides: [usize; 2],
        regions: [&[u32]; 2],
        step: f32,
        sum: &mut [Vec3],
    ) {
        let [own, other] = sides.map(|side| &self.bodies[tangle.pair[side] as usize]);
        let begin = own.rows.start;
        let is_other = |corners: &[u32; 3]| {
            corners.iter().any(|&corner| {
                let region = tangle.regions[sides[1]][corner as usize];
                regions[1].binary_search(&region).is_ok()
            })
        };
        let rows = tangle.regions[sides[0]].par_iter().enumerate();
        let rows = rows.filter(|(_, region)| regions[0].binary_search(region).is_ok());
        let steps: Vec<(usize, Vec3)> = rows
            .map(|(local, _)| {
                let nearest = self.nearest(other, self.start[begin + local], is_other);
                (begin + local, nearest.map_or(Vec3::ZERO, |it| -it.delta.normalize_or_zero()))
            })
            .collect();
        steps.into_iter().for_each(|(row, to)| sum[row] += to * step);
    }

    /// The nearest of some faces of a body to a point, as its index and from it to the point \[m\].
    fn nearest(
        &self,
        body: &Body,
        point: Vec3,
        is_wanted: impl Fn(&[u32; 3]) -> bool,
    ) -> Option<Nearest> {
        let at = |corner: u32| self.start[body.rows.start + corner as usize];
        let [low, high] = body.still_faces.bounds().corners()?;
        let most = (high - low).length() + (point - point.clamp(low, high)).length();
        // From near ones to all.
        for halvings in (0..8).rev() {
            let reach = 2.0 * most / (1 << halvings) as f32;
            let mut best = (f32::INFINITY, u32::MAX, Vec3::ZERO);
            body.still_faces.visit(&Path::still(point, reach), |face, corners| {
                if is_wanted(corners) {
                    let delta = vertex_face(point, corners.map(at)).delta;
                    let square = delta.length_squared();
                    if (square, face) < (best.0, best.1) {
                        best = (square, face, delta);
                    }
                }
            });
            let (square, face, delta) = best;
            if square <= reach * reach {
                return Some(Nearest { face, delta, distance: square.sqrt() });
            }
        }
        None
    }

    /// Where an edge moves in relation to the face that it crosses to shorten a piece of the contour, which lies in the plane of the
    /// face and goes from the crossing in a direction.
    fn slope(&self, crossing: &Crossing, along: Vec3) -> Vec3 {
        let [a, b, c] = crossing.corners.map(|row| self.start[row as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        let [p, q] = crossing.ends.map(|row| self.start[row as usize]);
        let edge = (q - p).normalize_or_zero();
        let sine = edge.dot(normal);
        along - normal * (edge.dot(along) * sine / (sine * sine).max(GRAZING))
    }

    /// Which of the two surfaces that cross along a contour has each edge, where both are of one cloth.
    fn label(&self, crossings: &mut [Crossing], links: &[[u32; 2]]) {
        const NONE: u8 = 2;
        crossings.iter_mut().for_each(|crossing| crossing.label = NONE);
        let mut ends: Vec<[u32; 2]> = links.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        ends.sort_unstable();
        let mut stack = Vec::new();
        for first in 0..crossings.len() {
            if crossings[first].label != NONE {
                continue;
            }
            crossings[first].label = 0;
            stack.push(first as u32);
            while let Some(index) = stack.pop() {
                let begin = ends.partition_point(|&[from, _]| from < index);
                let Crossing { face, label, .. } = crossings[index as usize];
                for &[_, to] in ends[begin..].iter().take_while(|&&[from, _]| from == index) {
                    let next = &mut crossings[to as usize];
                    if next.label == NONE {
                        next.label = if next.face == face { label } else { 1 - label };
                        stack.push(to);
                    }
                }
            }
        }
    }

    /// Edges of a cloth that cut a corner of a collider leave it along the normals of the faces that they cross.
    fn lift(&self, tangle: &Tangle, crossings: &[Crossing], sum: &mut [Vec3]) {
        let sign = self.outside_of(tangle.pair[1]);
        let begin = self.bodies[tangle.pair[0] as usize].rows.start;
        for crossing in crossings.iter().filter(|crossing| crossing.side == 0) {
            let is_out = |row: &u32| tangle.regions[0][*row as usize - begin] == 0;
            if crossing.ends.iter().all(is_out) {
                let [a, b, c] = crossing.corners.map(|row| self.start[row as usize]);
                let normal = (b - a).cross(c - a).normalize_or_zero() * sign;
                crossing.ends.iter().for_each(|&row| sum[row as usize] += normal);
            }
        }
    }

    /// What is behind the faces of a collider leaves it by the nearest.
    fn leave(&self, tangle: &Tangle, thickness: f32, sum: &mut [Vec3]) {
        let [cloth, collider] = tangle.pair.map(|index| &self.bodies[index as usize]);
        let sign = self.outside_of(tangle.pair[1]);
        let begin = cloth.rows.start;
        let at = |corner: u32| self.start[collider.rows.start + corner as usize];
        let exit = |row: usize| {
            let nearest = self.nearest(collider, self.start[row], |_| true);
            nearest.map_or(Vec3::ZERO, |Nearest { face, delta, distance }| {
                let [a, b, c] = collider.surface.faces[face as usize].map(at);
                let normal = (b - a).cross(c - a).normalize_or_zero() * sign;
                if distance > 0.01 * thickness { -delta / distance } else { normal }
            })
        };
        let rows = tangle.regions[0].par_iter().enumerate().filter(|(_, region)| **region != 0);
        let exits: Vec<(usize, Vec3)> =
            rows.map(|(local, _)| (begin + local, exit(begin + local))).collect();
        exits.into_iter().for_each(|(row, exit)| sum[row] += exit);
    }

    /// Has what is tangled go elsewhere, which becomes no velocity. What leaves a collider does not go on into it, and what is in it does not come
    /// out faster: particles that are pushed out at once would be thrown.
    pub(super) fn untangle(&mut self, is_first: bool) {
        let Self { bodies, tangles, carry, inverse_mass, start, target, .. } = self;
        for exits in tangles.exits.chunk_by(|a, b| a.collider == b.collider) {
            let rows = bodies[exits[0].collider as usize].rows.clone();
            let moves = rows.clone().map(|row| target[row] - start[row]);
            let mean = moves.sum::<Vec3>() / rows.len() as f32;
            for &Exit { row, to, is_inside, .. } in exits {
                let row = row as usize;
                if inverse_mass[row] > 0.0 {
                    let along = (target[row] - start[row] - mean).dot(to);
                    target[row] -= to * if is_inside { along } else { along.min(0.0) };
                }
            }
        }
        for (row, step) in tangles.moves.iter().enumerate().filter(|_| is_first) {
            target[row] += *step;
            carry[row] += *step;
        }
    }

    /// Notes who met something that was too fast.
    pub(super) fn note_hurry(&mut self, near: &[BodyPair]) {
        let fastest = |index: usize| {
            let rows = self.bodies[index].rows.clone().filter(|&row| self.inverse_mass[row] == 0.0);
            let moved = rows.map(|row| ((self.target[row] - self.start[row]).length(), row));
            moved.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0))
        };
        let own = (0..self.bodies.len() as u32).map(|index| [index, index]);
        let pairs = own.chain(near.iter().flat_map(|&[a, b]| [[a, b], [b, a]]));
        let speeds: Vec<(f32, usize)> = (0..self.bodies.len()).map(fastest).collect();
        let most = speeds.iter().map(|it| it.0).fold(0.0, f32::max);
        let hurried =
            pairs.filter(|&[cloth, _]| self.is_cloth(cloth)).filter_map(|[cloth, other]| {
                let (speed, row) = speeds[other as usize];
                (speed > 0.5 * most).then(|| ([cloth, other], self.start[row]))
            });
        self.tangles.hurried = hurried.collect();
    }

    /// Begins a frame in the report of a cloth, the `index`th of the frame, with what is crossed before it.
    pub fn report_start(&self, index: usize, report: &mut ContactReport) {
        let is_first = report.frames == 0;
        report.frames += u32::from(!is_first);
        self.report_crossings(index, report);
        if is_first {
            report.start_crossings = report.crossings;
            report.frames = 1;
        }
    }

    /// Adds what a slice of a frame did to the report of a cloth, the `index`th of the frame.
    pub fn report_slice(&self, index: usize, report: &mut ContactReport) {
        let Some(body) = self.bodies.get(index) else { return };
        let is_own = |rows: &&[u32; 4]| rows.iter().any(|&row| body.rows.contains(&(row as usize)));
        let mut forced = self.tangles.forced.iter().filter(is_own);
        let frame = report.frames;
        if let Some(rows) = forced.clone().next() {
            let at = self.start[rows[0] as usize].to_array();
            let count = forced.by_ref().count() as u32;
            let now = Trouble::in_frame(frame, count, ContactPartner::Collider, at);
            Trouble::add(&mut report.forced, now);
        }
        let hurried = self.tangles.hurried.iter().find(|([cloth, _], _)| *cloth as usize == index);
        if let Some((pair, at)) = hurried {
            let partner = contact_partner(index as u32, *pair, |body| self.is_cloth(body));
            let now = Trouble::in_frame(frame, 1, partner, at.to_array());
            Trouble::add(&mut report.hurried, now);
        }
        if self.report.unlisted > 0 {
            let corners = Path::between(&self.start[body.rows.clone()]).corners();
            let middle = corners.map_or(Vec3::ZERO, |[low, high]| (low + high) * 0.5).to_array();
            let (count, partner) = (self.report.unlisted, ContactPartner::Itself);
            Trouble::add(&mut report.unlisted, Trouble::in_frame(frame, count, partner, middle));
        }
        self.report_crossings(index, report);
    }

    /// Whether a body is a cloth.
    fn is_cloth(&self, index: u32) -> bool {
        self.bodies[index as usize].is_cloth()
    }

    /// Adds what is crossed now to the report of a cloth.
    fn report_crossings(&self, index: usize, report: &mut ContactReport) {
        let crossings = self.tangles.crossings.iter().map(|it| (it.pair, it.at));
        report_crossings(index as u32, crossings, |body| self.is_cloth(body), report);
    }
}

/// The regions of a cloth that are on the wrong side: who crosses an edge that is cut comes to the other side, and of both sides of
/// each part of the cloth the smaller one is wrong, of equal ones that without its first row. Edges of `cut` are in order, once for
/// each face that they cross.
fn wrong_side(surface: &Surface, cut: &[u32]) -> Vec<u32> {
    let count = surface.rest.len();
    let groups = || cut.chunk_by(|a, b| a == b);
    let once: Vec<u32> = groups().map(|group| group[0]).collect();
    let mut parts = sets_of(surface, &once);
    let mut ties: Vec<(u32, u32, bool)> = Vec::new();
    for group in groups() {
        let [a, b] = surface.edges[group[0] as usize].map(|row| parts.root(row));
        // Where a contour ends within the cloth, both ends are in one part.
        if a != b {
            let is_other = group.len() % 2 == 1;
            ties.extend([(a, b, is_other), (b, a, is_other)]);
        }
    }
    ties.sort_unstable();
    let mut sizes = vec![0u32; count];
    (0..count as u32).for_each(|row| sizes[parts.root(row) as usize] += 1);
    let mut is_other: Vec<Option<bool>> = vec![None; count];
    let mut stack = Vec::new();
    let mut wrong = vec![false; count];
    for first in ties.iter().map(|tie| tie.0) {
        if is_other[first as usize].is_some() {
            continue;
        }
        is_other[first as usize] = Some(false);
        stack.push(first);
        let mut members = Vec::new();
        while let Some(part) = stack.pop() {
            members.push(part as usize);
            let begin = ties.partition_point(|tie| tie.0 < part);
            for &(_, to, flips) in ties[begin..].iter().take_while(|tie| tie.0 == part) {
                if is_other[to as usize].is_none() {
                    is_other[to as usize] = is_other[part as usize].map(|side| side != flips);
                    stack.push(to);
                }
            }
        }
        let size = |side: bool| -> u32 {
            let own = members.iter().filter(|&&part| is_other[part] == Some(side));
            own.map(|&part| sizes[part]).sum()
        };
        let wrong_side = size(true) <= size(false);
        members.iter().for_each(|&part| wrong[part] = is_other[part] == Some(wrong_side));
    }
    (0..count as u32)
        .map(|row| {
            let part = parts.root(row);
            if wrong[part as usize] { part + 1 } else { 0 }
        })
        .collect()
}
