//! Intersections that exist at the start of a scene, after a jump, or because pins and colliders
//! force them. They are counted exactly, excluded from the pairs that keep their side, and resolved
//! by displacements.
//!
//! Two surfaces are displaced relative to each other so that their intersection contour becomes
//! shorter: Volino and Magnenat-Thalmann 2006, Resolving Surface Collisions through Intersection
//! Contour Minimization. Here the gradient is that of the length of the polyline through all
//! crossings, summed over each connected contour, so that a contour moves as a whole. The part of a
//! cloth that a contour cuts off moves along and has no contact until it is free: the regions of
//! Baraff, Witkin, Kass 2003, Untangling Cloth, but found by removing the crossing edges, with the
//! largest region taken as the correct side. In a collider with a defined outside there is no
//! contour to minimize: vertices behind its faces leave through the nearest face.

mod contour;
mod crossings;
mod forced;
mod moves;
mod regions;
mod report;

use glam::Vec3;
use rayon::prelude::*;

use super::body::Body;
use super::memory::TriangleContact;
use super::pairs::{BodyPair, Candidate};
use super::path::Path;

/// Edges that one task tests for crossings.
const BLOCK: usize = 512;
/// Largest difference between the start of a row and its end in the last frame that counts as
/// rounding, as fractions of its coordinates and of its radius. Larger differences are jumps.
const ROUNDING: [f32; 2] = [4e-6, 0.01];

/// One crossing: an edge that passes through a face.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Crossing {
    /// The bodies, in ascending order.
    pair: BodyPair,
    /// Index in `pair` of the body that has the edge.
    side: u8,
    /// Index of the edge in its surface.
    edge: u32,
    /// Index of the face in the surface of the other body.
    face: u32,
    /// Rows of the end points of the edge.
    ends: [u32; 2],
    /// Rows of the corners of the face.
    corners: [u32; 3],
    /// Position of the crossing \[m\].
    at: Vec3,
    /// Parameter on the edge: 0 at its first end, 1 at its second.
    along: f32,
    /// Side of the contour that the edge belongs to, 0 or 1: `side` for two bodies, set along the
    /// contour for a self-intersection.
    label: u8,
}

/// State of one pair of intersecting bodies, or of one body that intersects itself.
#[derive(Debug, Clone, Default)]
struct Tangle {
    pair: BodyPair,
    /// Region on the wrong side that each row of both bodies lies in; 0 outside all regions.
    regions: [Vec<u32>; 2],
    /// Flags of the rows of both bodies that belong to a crossing edge or face.
    is_crossed: [Vec<bool>; 2],
    /// Number of crossings when it last fell by a quarter.
    milestone: usize,
    /// Time since then \[s\].
    idle: f32,
}

/// Displacement of one row out of a collider.
#[derive(Debug, Clone, Copy)]
struct Exit {
    row: u32,
    /// Direction out of the collider, of a length of at most 1.
    to: Vec3,
    /// Index of the collider's body.
    collider: u32,
    /// True if the row lies behind the collider's faces.
    is_inside: bool,
}

/// All intersections, and the displacements that resolve them.
#[derive(Debug, Clone, Default)]
pub(super) struct Tangles {
    crossings: Vec<Crossing>,
    /// Intersecting pairs of bodies, sorted by pair.
    tangles: Vec<Tangle>,
    /// Displacement of each row in the next slice \[m\]; empty if nothing intersects.
    moves: Vec<Vec3>,
    /// Rows that are displaced out of a collider, in the order of the tangles.
    exits: Vec<Exit>,
    /// Row positions at the end of the last frame \[m\].
    before: Vec<Vec3>,
    /// Rows of pairs that pins or colliders forced to cross in this slice and whose crossings
    /// cannot be counted: one side is a ball, capsule or plane.
    forced: Vec<[u32; 4]>,
    /// Pairs of a cloth and a body that moved too fast in this slice, with a position of the fast
    /// row \[m\].
    hurried: Vec<(BodyPair, Vec3)>,
}

impl Tangles {
    /// Number of edge-face crossings.
    pub(super) fn count(&self) -> u32 {
        self.crossings.len() as u32
    }

    /// Clears the records of forced and too fast pairs of the last slice.
    pub(super) fn begin_slice(&mut self) {
        self.forced.clear();
        self.hurried.clear();
    }

    /// Records a forced pair, unless both sides have faces: then its crossings are counted exactly.
    pub(super) fn note_forced(&mut self, rows: &[u32; 4], hard: f32) {
        let [_, a, b, _] = rows;
        if hard > 0.0 || a == b {
            self.forced.push(*rows);
        }
    }

    /// Saves the row positions at the end of a frame, before anything else moves the rows.
    pub(super) fn end_frame(&mut self, start: &[Vec3]) {
        self.before.clear();
        self.before.extend(start);
    }

    /// Tests whether a candidate is exempt from contact: one of its simplices lies in a region that
    /// a contour cuts off, or both touch a contour.
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
        // low, high: smallest and largest region of all four corners. A pair within one region of a
        // cloth keeps its sides.
        let is_apart = if a == b { low != high } else { high != 0 };
        is_apart || is_crossed == [true; 2]
    }

    /// Allocated bytes.
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
    /// Allocated bytes.
    fn size(&self) -> usize {
        let each = |k: usize| 4 * self.regions[k].capacity() + self.is_crossed[k].capacity();
        each(0) + each(1)
    }
}

/// Finds the tangle of a pair in a list sorted by pair.
fn tangle_between(tangles: &[Tangle], pair: BodyPair) -> Option<&Tangle> {
    let index = tangles.binary_search_by_key(&pair, |tangle| tangle.pair).ok()?;
    tangles.get(index)
}

impl TriangleContact {
    /// Searches for intersections at the start of a frame if a row jumped or the rows are new.
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

    /// Searches for intersections after a slice if there were any before or new ones are possible.
    pub(super) fn follow_tangles(&mut self, thickness: f32, near: &[BodyPair]) {
        let is_due = !self.tangles.tangles.is_empty() || self.report.forced > 0;
        if is_due || self.crosses_by_force(near) {
            self.find_tangles(thickness, false);
        }
    }

    /// Finds all crossings and the displacements of the next slice. With `has_jumped`, earlier
    /// regions are ignored.
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

    /// Refits the face trees to the current positions. Round bodies have no faces that an edge
    /// could cross.
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

    /// Returns the pairs of bodies that may collide and whose boxes overlap.
    fn touching_bodies(&self) -> Vec<BodyPair> {
        let bounds = self.bodies.iter().map(|body| body.still_faces.bounds());
        self.body_pairs(&bounds.collect::<Vec<_>>())
    }

    /// Applies the displacements of intersecting rows without adding velocity. Rows that leave a
    /// collider lose their motion into it relative to the collider; rows inside it lose their
    /// motion out of it as well, because particles that are pushed out at once would be thrown.
    pub(super) fn untangle(&mut self, is_first: bool) {
        let Self { bodies, tangles, carry, inverse_mass, start, target, .. } = self;
        for exits in tangles.exits.chunk_by(|a, b| a.collider == b.collider) {
            let rows = bodies[exits[0].collider as usize].rows.clone();
            // Velocity of the collider: mean displacement of its rows.
            let moves = rows.clone().map(|row| target[row] - start[row]);
            let mean = moves.sum::<Vec3>() / rows.len() as f32;
            for &Exit { row, to, is_inside, .. } in exits {
                let row = row as usize;
                if inverse_mass[row] > 0.0 {
                    // Motion relative to the collider along the exit; below 0 is motion into the
                    // collider.
                    let along = (target[row] - start[row] - mean).dot(to);
                    target[row] -= to * if is_inside { along } else { along.min(0.0) };
                }
            }
        }
        for (row, step) in tangles.moves.iter().enumerate().filter(|_| is_first) {
            target[row] += *step;
            // `carry` moves the previous position too: the displacement becomes no velocity.
            carry[row] += *step;
        }
    }

    /// True if the body at this index is a cloth.
    fn is_cloth(&self, index: u32) -> bool {
        self.bodies[index as usize].is_cloth()
    }
}
