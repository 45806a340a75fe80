//! A round as the buffers of the kernels hold it, for tests.

use glam::Vec3;
use poplin_host::PairMultipliers;
use poplin_layout::{
    NO_OFFSET, TRIANGLE_AIMS, TRIANGLE_AXES, TRIANGLE_BEGUN, TRIANGLE_BLOCKS, TRIANGLE_CARRIES,
    TRIANGLE_CHILDREN, TRIANGLE_FRAME_ENDS, TRIANGLE_FRAME_STARTS, TRIANGLE_IS_CLOTH,
    TRIANGLE_IS_PLANE, TRIANGLE_MOVES, TRIANGLE_SECTIONS, TRIANGLE_STARTS, TRIANGLE_STEPS,
    TRIANGLE_TARGETS, TRIANGLE_WANTED, TriangleBodies, TriangleCandidate, TriangleMultiplier,
    TriangleNode, TrianglePair, TriangleRound, TriangleRow, TriangleTask,
};

use super::memory::{Report, TriangleContact};
use super::pairs::Candidate;
use super::solve::{Pair, Work};
use super::tree::AXES;
use super::untangle::Tangles;

fn row(v: Vec3, w: f32) -> [f32; 4] {
    [v.x, v.y, v.z, w]
}

fn candidate(of: &Candidate) -> TriangleCandidate {
    let &Candidate { rows, kind, owned, friction, is_own, rank, .. } = of;
    let (kind, owned, is_own) = (kind as u32, u32::from(owned), u32::from(is_own));
    TriangleCandidate { rows, rank, kind, owned, friction, is_own }
}

fn pair(of: &Pair) -> TrianglePair {
    TrianglePair {
        rows: of.rows,
        weights: of.weights,
        normal: row(of.normal, of.gap),
        drag: row(of.drag, of.push),
        change: row(of.change, of.compliance),
        fractions: of.fractions,
        closing: of.closing,
        hard: of.hard,
        overlap: of.overlap,
        friction: of.friction,
        candidate: of.candidate,
        first_count: of.first_count,
        is_active: u32::from(of.is_active),
        is_pressed: u32::from(of.is_pressed),
    }
}

fn multiplier(of: &PairMultipliers) -> TriangleMultiplier {
    TriangleMultiplier { rank: of.rank, drag: row(of.drag.into(), of.push) }
}

/// Adds trees to those of some bodies: where the simplices of each are, words of each of them, and their order. Returns the roots.
fn add_trees(packed: &mut TriangleBodies, trees: &[(u32, u32, &[u32])]) -> Vec<u32> {
    let fan = TRIANGLE_CHILDREN as usize;
    let mut roots = vec![NO_OFFSET; trees.len()];
    // The nodes of each tree on the level below.
    let mut below: Vec<std::ops::Range<u32>> = Vec::new();
    for &(simplices, words, items) in trees {
        let begin = packed.nodes.len() as u32;
        for leaf in items.chunks(fan) {
            let (first, count) = (packed.simplices.len() as u32, leaf.len() as u32);
            packed.simplices.extend(leaf);
            packed.nodes.push(TriangleNode { first, count, simplices, words });
        }
        below.push(begin..packed.nodes.len() as u32);
    }
    loop {
        packed.levels.push(packed.nodes.len() as u32);
        for (nodes, root) in below.iter_mut().zip(&mut roots) {
            if nodes.len() == 1 {
                *root = nodes.start;
                *nodes = 0..0;
            }
            let begin = packed.nodes.len() as u32;
            for first in nodes.clone().step_by(fan) {
                let count = (nodes.end - first).min(TRIANGLE_CHILDREN);
                packed.nodes.push(TriangleNode { first, count, simplices: 0, words: 0 });
            }
            *nodes = begin..packed.nodes.len() as u32;
        }
        if below.iter().all(std::ops::Range::is_empty) {
            return roots;
        }
    }
}

impl TriangleContact {
    /// Runs the passes of a round with the candidates that there are, in which rows move like this; returns what it started from and
    /// what it left.
    pub fn run_round(
        &mut self,
        moves: &[Vec3],
        thickness: f32,
        part: f32,
        iterations: u32,
    ) -> [TriangleRound; 2] {
        self.report = Report { least_gap: f32::INFINITY, ..Report::default() };
        self.work = Work::default();
        self.work.moves.extend_from_slice(moves);
        self.tangles = Tangles::default();
        // Parts of the lists that were searched again come last.
        self.candidates.sort_by_key(|candidate| candidate.rank);
        let before = TriangleRound { part, ..self.packed(thickness) };
        self.respond(thickness, part, iterations);
        [before, TriangleRound { part, ..self.packed(thickness) }]
    }

    /// Moves rows as [`TriangleContact::advance`] where nothing was crossed before, which a GPU does not look at; returns what that started from and what it left.
    pub fn run_slice(&mut self, thickness: f32, step: f32, iterations: u32) -> [TriangleRound; 2] {
        self.tangles = Tangles::default();
        let held_scale = self.held_scale(step);
        let before = TriangleRound { held_scale, ..self.packed(thickness) };
        self.advance(step, iterations);
        [before, self.packed(thickness)]
    }

    /// Sets where rows are before the frame, and where those of colliders are after it.
    pub fn set_frame(&mut self, ends: &[Vec3]) {
        self.frame_start.clone_from(&self.start);
        self.ends = ends.to_vec();
    }

    /// The bodies as the search on a GPU has them.
    pub fn packed_bodies(&self) -> TriangleBodies {
        let mut packed = TriangleBodies { count: self.bodies.len() as u32, ..Default::default() };
        packed.cloth_count = self.bodies.iter().filter(|body| body.is_cloth()).count() as u32;
        let flags = self.bodies.iter().map(|body| {
            let plane = if body.is_plane { TRIANGLE_IS_PLANE } else { 0 };
            if body.is_cloth() { TRIANGLE_IS_CLOTH } else { plane }
        });
        packed.simplices.extend(flags);
        let (mut trees, mut lists) = (Vec::new(), Vec::new());
        for body in &self.bodies {
            let (begin, surface) = (body.rows.start as u32, &body.surface);
            let rows = |of: &[u32]| of.iter().map(|row| begin + row).collect::<Vec<_>>();
            let mut list = |words: Vec<u32>| {
                let begin = packed.simplices.len() as u32;
                packed.simplices.extend(words);
                begin
            };
            let owned = surface.faces.iter().zip(&surface.owned);
            let faces = owned.flat_map(|(face, owned)| [rows(face), vec![u32::from(*owned)]]);
            let faces = list(faces.flatten().collect());
            let edges = list(rows(surface.edges.as_flattened()));
            lists.push([list(rows(surface.vertices.as_flattened())), edges]);
            trees.push((faces, 4, body.faces.items()));
            trees.push((edges, 2, body.edges.items()));
        }
        let roots = add_trees(&mut packed, &trees);
        for (a, b) in
            (0..self.bodies.len()).flat_map(|a| (a..self.bodies.len()).map(move |b| (a, b)))
        {
            let bodies = [a, b].map(|index| &self.bodies[index]);
            let is_wanted = match a == b {
                true => bodies[0].meets_itself,
                false => bodies[0].wants(a as u32, bodies[1], b as u32),
            };
            for kind in (0..3).filter(|&kind| is_wanted && (kind != 1 || a != b)) {
                let is_of_edges = usize::from(kind == 2);
                let (first, second) = if kind == 1 { (b, a) } else { (a, b) };
                let other = &self.bodies[second];
                let is_plane = other.is_plane && kind != 2;
                packed.tasks.push(TriangleTask {
                    first_body: a as u32,
                    second_body: b as u32,
                    kind,
                    query_begin: packed.query_count,
                    items: lists[first][is_of_edges],
                    root: roots[2 * second + is_of_edges],
                    plane: if is_plane { other.rows.start as u32 } else { NO_OFFSET },
                    friction: bodies[0].friction_with(bodies[1]),
                });
                let surface = &self.bodies[first].surface;
                let counts = [surface.vertices.len(), surface.edges.len()];
                packed.query_count += counts[is_of_edges] as u32;
            }
        }
        packed
    }

    /// The round as it is now.
    pub fn packed(&self, thickness: f32) -> TriangleRound {
        let (work, report) = (&self.work, self.report);
        let row_count = self.start.len();
        let mut moves = vec![[0.0; 4]; TRIANGLE_SECTIONS as usize * row_count];
        let mut set = |section: u32, rows: &mut dyn Iterator<Item = Vec3>| {
            let section = &mut moves[section as usize * row_count..];
            section.iter_mut().zip(rows).for_each(|(slot, value)| *slot = row(value, 0.0));
        };
        let sections = [
            (TRIANGLE_STARTS, &self.start),
            (TRIANGLE_MOVES, &work.moves),
            (TRIANGLE_AIMS, &work.aims),
            (TRIANGLE_TARGETS, &self.target),
            (TRIANGLE_CARRIES, &self.carry),
            (TRIANGLE_BLOCKS, &work.blocks),
            (TRIANGLE_BEGUN, &self.begun),
            (TRIANGLE_WANTED, &self.wanted),
            (TRIANGLE_FRAME_STARTS, &self.frame_start),
            (TRIANGLE_FRAME_ENDS, &self.ends),
        ];
        for (section, rows) in sections {
            set(section, &mut rows.iter().copied());
        }
        for axes in 0..TRIANGLE_AXES {
            for end in 0..2u32 {
                let three = |all: &[[f32; AXES]; 2]| {
                    Vec3::from_slice(&all[end as usize][3 * axes as usize..])
                };
                let section = TRIANGLE_STEPS + 4 * axes + end;
                set(section, &mut work.steps.iter().map(|path| three(&path.low)));
                set(section + 2, &mut work.steps.iter().map(|path| three(&path.high)));
            }
        }
        let kept = |index: usize| TriangleRow {
            rest: row(self.rest[index], 0.0),
            inverse_mass: self.inverse_mass[index],
            radius: self.radius[index],
            hard: self.hard[index],
            body: self.bodies.iter().filter(|body| body.rows.end <= index).count() as u32,
        };
        TriangleRound {
            rows: (0..row_count).map(kept).collect(),
            moves,
            candidates: self.candidates.iter().map(candidate).collect(),
            pairs: work.pairs.iter().map(pair).collect(),
            held: self.held.iter().map(multiplier).collect(),
            begins: work.begins.clone(),
            corners: work.corners.clone(),
            contacts: report.contacts,
            held_rows: report.held,
            forced: report.forced,
            least_gap: report.least_gap,
            thickness,
            part: 0.0,
            held_scale: 1.0,
            rounds: report.rounds,
            fraction: 1.0,
        }
    }
}
