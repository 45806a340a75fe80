//! Broad phase: candidate pairs from the trees of all bodies, in parallel over blocks of leaves.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use fearless_simd::{Level, Simd, dispatch};
use poplin_host::NO_CORNER;
use poplin_layout::NO_OFFSET;
use rayon::prelude::*;

use super::body::Body;
use super::course::{keep_near, stays_apart};
use super::lanes::LANES;
use super::memory::TriangleContact;
use super::pairs::{BodyPair, Candidate, Kind};
use super::path::Path;
use super::tree::{Between, Subset};

/// Number of leaves per task.
const BLOCK: usize = 32;

/// Initial capacity per leaf for overlapping simplices.
const PER_NODE: usize = 32;

/// Kinds of searches between two bodies: vertices of the first against faces of the second (0),
/// vertices of the second against faces of the first (1), edges against edges (2).
const VERTICES_OF_SECOND: u32 = 1;

/// Search of edges against edges, see [`VERTICES_OF_SECOND`].
const EDGES: u32 = 2;

/// Simplices of a body incident to a row whose path has changed.
struct Changed {
    vertices: Subset,
    edges: Subset,
    faces: Subset,
}

/// Leaves of one side of a search, which one task tests against the other side.
struct Task<'a> {
    sides: Sides<'a>,
    /// Side of the leaves: false for vertices or first edges, true for faces or second edges.
    of_second: bool,
    /// True for a full search, in which a self-search of edges finds each pair once.
    is_whole: bool,
    /// Leaves with the bit masks of their simplices.
    groups: Vec<(usize, u32)>,
}

impl<'a> Task<'a> {
    /// Cuts a sequence of leaves into tasks.
    fn all(
        sides: Sides<'a>,
        of_second: bool,
        is_whole: bool,
        groups: impl Iterator<Item = (usize, u32)>,
    ) -> Vec<Self> {
        let groups: Vec<_> = groups.collect();
        let block = |groups: &[_]| Self { sides, of_second, is_whole, groups: groups.to_vec() };
        groups.chunks(BLOCK).map(block).collect()
    }
}

/// Both bodies of a search; the one with the vertices or first edges comes first.
#[derive(Clone, Copy)]
struct Sides<'a> {
    pair: BodyPair,
    kind: u32,
    bodies: [&'a Body; 2],
    friction: f32,
}

impl Sides<'_> {
    /// True for a self-search.
    fn is_own(&self) -> bool {
        self.pair[0] == self.pair[1]
    }

    /// Indices of both bodies in search order.
    fn indices(&self) -> [usize; 2] {
        let [a, b] = self.pair.map(|index| index as usize);
        if self.kind == VERTICES_OF_SECOND { [b, a] } else { [a, b] }
    }

    /// Returns the rows of the corners of a vertex or edge of the first body and a face or edge of
    /// the second.
    #[inline(always)]
    fn rows(&self, first: u32, second: u32) -> [u32; 4] {
        let [p, q] = self.bodies.map(|body| body.rows.start as u32);
        let [own, others] = self.bodies.map(|body| &*body.surface);
        if self.kind == EDGES {
            let [i, j] = own.edges[first as usize];
            let [k, l] = others.edges[second as usize];
            [p + i, p + j, q + k, q + l]
        } else {
            let [vertex] = own.vertices[first as usize];
            let [i, j, k] = others.faces[second as usize];
            [p + vertex, q + i, q + j, q + k]
        }
    }

    /// Builds the candidate of a vertex or edge of the first body and a face or edge of the second,
    /// without a common corner. Two edges of one body give the same candidate in either order.
    fn candidate(&self, mut first: u32, mut second: u32) -> Candidate {
        let [a, b] = self.pair;
        let is_own = self.is_own();
        let (mut kind, mut owned, mut beyond) = (Kind::EdgeEdge, 0, [NO_OFFSET; 3]);
        let rows;
        if self.kind == EDGES {
            if is_own && second < first {
                (first, second) = (second, first);
            }
            rows = self.rows(first, second);
        } else {
            let [p, q] = self.bodies.map(|body| body.rows.start as u32);
            let [own, others] = self.bodies.map(|body| &*body.surface);
            let [vertex] = own.vertices[first as usize];
            if self.bodies[1].is_plane {
                (rows, kind) = ([p + vertex, q, q, q], Kind::VertexPlane);
            } else {
                rows = self.rows(first, second);
                owned = others.owned[second as usize];
                let is_there = |corner: u32| corner != NO_CORNER && !(is_own && corner == vertex);
                beyond = others.beyond[second as usize]
                    .map(|corner| if is_there(corner) { q + corner } else { NO_OFFSET });
                kind = Kind::VertexFace;
            }
        }
        // The sort key packs the kind above 28 bits of the simplex index.
        let rank = [a, b, self.kind << 28 | first, second];
        let (friction, rest) = (self.friction, f32::INFINITY);
        Candidate { rows, kind, owned, beyond, friction, rest, is_own, rank }
    }
}

impl TriangleContact {
    /// Returns the pairs of bodies whose paths overlap and whose settings let them collide: sweep
    /// and prune along x.
    pub(super) fn near_bodies(&self, paths: &[Path]) -> Vec<BodyPair> {
        let mut found = Vec::new();
        let mut order: Vec<usize> = (0..self.bodies.len()).collect();
        let low = |index: usize| paths[index].extent(0)[0];
        let high = |index: usize| paths[index].extent(0)[1];
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

    /// Refits all trees and searches for the candidates of all rows, sorted by rank; returns false
    /// if they exceed the capacity.
    pub(super) fn search(&mut self) -> bool {
        let Self { bodies, paths, .. } = self;
        for body in bodies.iter_mut() {
            let paths = &paths[body.rows.clone()];
            body.faces.refit(paths);
            body.edges.refit(paths);
            body.vertices.refit(paths);
        }
        let bounds: Vec<Path> = self.bodies.iter().map(Body::bounds).collect();
        self.near = self.body_pairs(&bounds);
        let leaves = |sides: &Sides<'_>| match sides.kind {
            EDGES => sides.bodies[0].edges.leaf_count(),
            _ => sides.bodies[0].vertices.leaf_count(),
        };
        let tasks = self.all_sides().flat_map(|sides| {
            let groups = (0..leaves(&sides)).map(|leaf| (leaf, u32::MAX));
            Task::all(sides, false, true, groups)
        });
        let found = self.run(tasks.collect());
        self.candidates.clear();
        if let Some(found) = &found {
            self.candidates.reserve_exact(found.iter().map(Vec::len).sum());
            found.iter().for_each(|list| self.candidates.extend(list));
        }
        self.sorted = self.candidates.len();
        found.is_some()
    }

    /// Returns the overlapping pairs of bodies, and self pairs of those that collide with
    /// themselves.
    pub(super) fn body_pairs(&self, bounds: &[Path]) -> Vec<BodyPair> {
        let own = (0..self.bodies.len() as u32).filter(|&a| self.bodies[a as usize].meets_itself);
        let mut all: Vec<BodyPair> = own.map(|a| [a, a]).chain(self.near_bodies(bounds)).collect();
        all.sort_unstable();
        all
    }

    /// Searches again for candidates with a corner among `rows` (sorted), whose paths have changed.
    /// Returns false if a full search is needed: new pairs of bodies overlap, a plane has moved, or
    /// the candidates exceed the capacity.
    pub(super) fn search_some(&mut self, rows: &[u32]) -> bool {
        let Self { bodies, paths, .. } = self;
        let mut changed: Vec<Changed> = Vec::with_capacity(bodies.len());
        for body in bodies.iter_mut() {
            let begin = rows.partition_point(|&row| (row as usize) < body.rows.start);
            let end = rows.partition_point(|&row| (row as usize) < body.rows.end);
            if body.is_plane && begin < end {
                // A plane has no box: any vertex may be near it now.
                return false;
            }
            let own = rows[begin..end].iter().map(|&row| row - body.rows.start as u32);
            let own: Vec<u32> = own.collect();
            let paths = &paths[body.rows.clone()];
            changed.push(Changed {
                vertices: body.vertices.refit_touching(&own, paths),
                edges: body.edges.refit_touching(&own, paths),
                faces: body.faces.refit_touching(&own, paths),
            });
        }
        let bounds: Vec<Path> = self.bodies.iter().map(Body::bounds).collect();
        if self.body_pairs(&bounds) != self.near {
            return false;
        }
        let of = |[a, b]: [usize; 2], kind: u32| match kind {
            EDGES => [&changed[a].edges, &changed[b].edges],
            _ => [&changed[a].vertices, &changed[b].faces],
        };
        let tasks = self.all_sides().flat_map(|sides| {
            let [first, second] = of(sides.indices(), sides.kind);
            // A self-search of edges is symmetric, and a plane has no leaves: one direction is
            // enough.
            let is_one_sided = sides.bodies[1].is_plane || sides.kind == EDGES && sides.is_own();
            let second = second.groups().filter(move |_| !is_one_sided);
            let tasks = Task::all(sides, false, false, first.groups());
            tasks.into_iter().chain(Task::all(sides, true, false, second))
        });
        let Some(found) = self.run(tasks.collect()) else { return false };
        let mut found = found.concat();
        // Sorted, so that rounds read a few sorted runs. Many pairs are found from both sides.
        found.sort_unstable_by_key(|pair| pair.rank);
        found.dedup_by_key(|pair| pair.rank);
        if self.candidates.len() + found.len() > self.most_candidates() {
            return false;
        }
        self.candidates.extend(found);
        // Candidates that were not found again stay: an extra candidate never changes the result.
        if self.candidates.len() > 2 * self.sorted {
            self.candidates.sort_by_key(|pair| pair.rank);
            self.candidates.dedup_by_key(|pair| pair.rank);
            self.sorted = self.candidates.len();
        }
        true
    }

    /// Iterates over all searches, in the order of the ranks that they find.
    fn all_sides(&self) -> impl Iterator<Item = Sides<'_>> {
        self.near
            .iter()
            .flat_map(move |&pair| (0..3).filter_map(move |kind| self.sides(pair, kind)))
    }

    /// Returns the candidate of a sort key; `None` if these bodies have no such pair.
    pub(super) fn candidate_of(&self, [a, b, first, second]: [u32; 4]) -> Option<Candidate> {
        let (kind, first) = (first >> 28, first & 0x0fff_ffff);
        let count = self.bodies.len() as u32;
        let sides = if a.max(b) < count { self.sides([a, b], kind)? } else { return None };
        let [own, others] = sides.bodies.map(|body| &*body.surface);
        let counts = if kind == EDGES {
            [own.edges.len(), others.edges.len()]
        } else if sides.bodies[1].is_plane {
            [own.vertices.len(), 1]
        } else {
            [own.vertices.len(), others.faces.len()]
        };
        let is_there = [first, second].into_iter().zip(counts).all(|(k, n)| (k as usize) < n);
        is_there.then(|| sides.candidate(first, second))
    }

    /// Returns both sides of a search; `None` for the second vertex search of a body with itself,
    /// which would repeat the first.
    fn sides(&self, pair: BodyPair, kind: u32) -> Option<Sides<'_>> {
        let mut bodies = pair.map(|index| &self.bodies[index as usize]);
        let friction = bodies[0].friction_with(bodies[1]);
        match kind {
            VERTICES_OF_SECOND if pair[0] == pair[1] => return None,
            VERTICES_OF_SECOND => bodies.reverse(),
            _ => {}
        }
        Some(Sides { pair, kind, bodies, friction })
    }

    /// Runs searches in parallel; returns `None` if their candidates exceed the capacity.
    fn run(&self, tasks: Vec<Task<'_>>) -> Option<Vec<Vec<Candidate>>> {
        let room = self.most_candidates();
        let count = AtomicUsize::new(0);
        let run = |task| {
            if count.load(Ordering::Relaxed) > room {
                return None;
            }
            let found = dispatch!(Level::new(), simd => self.run_one(simd, &task, room))?;
            let before = count.fetch_add(found.len(), Ordering::Relaxed);
            (before + found.len() <= room).then_some(found)
        };
        tasks.into_par_iter().map(run).collect()
    }

    /// Runs one search; returns `None` if boxes by themselves leave more than `most` pairs.
    #[inline(always)]
    fn run_one<S: Simd>(&self, simd: S, task: &Task<'_>, most: usize) -> Option<Vec<Candidate>> {
        let &Task { sides, of_second, .. } = task;
        // Checked per leaf: one leaf by itself meets few simplices.
        let met_count = Cell::new(0);
        let groups = task.groups.iter().copied().take_while(|_| met_count.get() <= most);
        let [first, second] = sides.bodies;
        if sides.kind != EDGES && second.is_plane {
            let items = groups.flat_map(|(leaf, lanes)| {
                first.vertices.leaf(leaf).filter(move |item| lanes >> (item % LANES) & 1 != 0)
            });
            let mut found = items.map(|item| sides.candidate(item as u32, 0)).collect();
            keep_near(simd, &mut found, &self.courses, &self.rest, &self.span());
            return Some(found);
        }
        let mut met = Vec::with_capacity(task.groups.len() * PER_NODE);
        let add = |item: u32, other: u32| {
            met.push(if of_second { [other, item] } else { [item, other] });
            met_count.set(met.len());
        };
        let of = match (sides.is_own(), sides.kind == EDGES && task.is_whole) {
            (false, _) => Between::TwoBodies,
            (true, false) => Between::OneBody,
            (true, true) => Between::OneTree,
        };
        match (sides.kind == EDGES, of_second) {
            (true, false) => first.edges.visit_pairs(simd, groups, &second.edges, of, add),
            (true, true) => second.edges.visit_pairs(simd, groups, &first.edges, of, add),
            (false, false) => first.vertices.visit_pairs(simd, groups, &second.faces, of, add),
            (false, true) => second.faces.visit_pairs(simd, groups, &first.vertices, of, add),
        }
        if met.len() > most {
            return None;
        }
        let kind = if sides.kind == EDGES { Kind::EdgeEdge } else { Kind::VertexFace };
        let mut found = Vec::with_capacity(met.len() / 4);
        for met in met.chunks(LANES) {
            let mut rows = [[0; LANES]; 4];
            for (lane, &[item, other]) in met.iter().enumerate() {
                for (rows, row) in rows.iter_mut().zip(sides.rows(item, other)) {
                    rows[lane] = row;
                }
            }
            // Slabs reject most of what boxes pass, before candidates are built.
            let far = stays_apart(simd, kind, &rows, &self.courses, &self.span());
            let near = met.iter().enumerate().filter(|(lane, _)| far >> lane & 1 == 0);
            found.extend(near.map(|(_, &[item, other])| sides.candidate(item, other)));
        }
        if sides.is_own() {
            self.set_rests(simd, kind, &mut found);
            keep_near(simd, &mut found, &self.courses, &self.rest, &self.span());
        }
        Some(found)
    }
}
