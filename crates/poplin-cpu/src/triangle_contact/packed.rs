//! Round state in the layout of the GPU buffers, for tests.

use glam::Vec3;
use poplin_host::{PairMultipliers, pack_triangle_bodies};
use poplin_layout::{
    TRIANGLE_AIMS, TRIANGLE_AXES, TRIANGLE_BEGUN, TRIANGLE_BLOCKS, TRIANGLE_CARRIES,
    TRIANGLE_FRAME_ENDS, TRIANGLE_FRAME_STARTS, TRIANGLE_MOVES, TRIANGLE_RESERVE,
    TRIANGLE_SECTIONS, TRIANGLE_SPINS, TRIANGLE_STARTS, TRIANGLE_STEPS, TRIANGLE_TARGETS,
    TRIANGLE_TURNS, TRIANGLE_WANTED, TriangleBodies, TriangleCandidate, TriangleMultiplier,
    TrianglePair, TriangleRound, TriangleRow,
};

use super::measure::path;
use super::memory::{Report, TriangleContact};
use super::near::motion;
use super::pairs::Candidate;
use super::path::AXES;
use super::solve::{Pair, Work};
use super::untangle::Tangles;
use crate::math::xyz;

fn row(v: Vec3, w: f32) -> [f32; 4] {
    [v.x, v.y, v.z, w]
}

fn candidate(of: &Candidate) -> TriangleCandidate {
    let &Candidate { rows, kind, owned, beyond: [a, b, c], friction, is_own, rank, .. } = of;
    let (kind, owned, is_own) = (kind as u32, u32::from(owned), u32::from(is_own));
    let beyond = [a, b, c, 0];
    TriangleCandidate { rows, rank, beyond, kind, owned, friction, is_own }
}

fn pair(of: &Pair, change: Vec3, candidate: u32) -> TrianglePair {
    TrianglePair {
        rows: of.rows,
        weights: of.weights,
        normal: row(of.normal, of.gap),
        drag: row(of.drag, of.push),
        change: row(change, of.compliance),
        slide: row(of.slide, 0.0),
        fractions: of.fractions,
        closing: of.closing,
        hard: of.hard,
        overlap: of.overlap,
        friction: of.friction,
        candidate,
        first_count: of.first_count,
        is_active: u32::from(of.is_active),
        is_pressed: u32::from(of.is_pressed),
    }
}

fn multiplier(of: &PairMultipliers) -> TriangleMultiplier {
    TriangleMultiplier { rank: of.rank, drag: row(of.drag.into(), of.push) }
}

impl TriangleContact {
    /// Runs the passes of one round on the current candidates with given row moves; `holds` flags
    /// the rows that may be truncated, all in a careful round. Returns the packed state before and
    /// after.
    pub fn run_round(
        &mut self,
        moves: &[Vec3],
        thickness: f32,
        part: f32,
        iterations: u32,
        holds: &[bool],
        is_careful: bool,
    ) -> [TriangleRound; 2] {
        self.report = Report { least_gap: f32::INFINITY, ..Report::default() };
        self.work = Work::default();
        self.work.moves.extend(moves.iter().map(|step| row(*step, 0.0)));
        self.work.aims.extend_from_slice(moves);
        self.tangles = Tangles::default();
        self.is_held = holds.to_vec();
        self.is_careful = is_careful;
        let before = TriangleRound { part, ..self.packed(thickness) };
        self.reserve = TRIANGLE_RESERVE * thickness;
        self.bound_moves();
        self.solve_pairs(iterations, part);
        self.keep(part);
        let more = self.truncate_moves(thickness, &vec![true; self.start.len()]);
        if more.is_empty() {
            self.move_rows();
        }
        more.iter().for_each(|&row| self.is_held[row as usize] = true);
        [before, TriangleRound { part, ..self.packed(thickness) }]
    }

    /// Advances rows like [`TriangleContact::advance`], but without earlier intersections, which
    /// the GPU does not look for. Returns the packed state before and after.
    pub fn run_slice(&mut self, thickness: f32, step: f32, iterations: u32) -> [TriangleRound; 2] {
        self.tangles = Tangles::default();
        let held_scale = self.held_scale(step);
        let before = TriangleRound { held_scale, ..self.packed(thickness) };
        self.advance(step, iterations);
        [before, self.packed(thickness)]
    }

    /// Sets the start of the frame to the current positions, and the positions of collider rows at
    /// its end \[m\].
    pub fn set_frame(&mut self, ends: &[Vec3]) {
        self.frame_start.clone_from(&self.start);
        self.ends = ends.to_vec();
    }

    /// Lets rows turn by these vectors \[rad\] in a slice that is a part of a frame.
    pub fn set_spins(&mut self, spins: &[Vec3], slice_part: f32) {
        self.spins = spins.to_vec();
        self.slice_part = slice_part;
    }

    /// Packs the bodies in the layout of the GPU search.
    pub fn packed_bodies(&self) -> TriangleBodies {
        pack_triangle_bodies(&self.bodies.iter().map(|body| &**body).collect::<Vec<_>>())
    }

    /// Packs the current round.
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
            (TRIANGLE_AIMS, &work.aims),
            (TRIANGLE_TARGETS, &self.target),
            (TRIANGLE_CARRIES, &self.carry),
            (TRIANGLE_BLOCKS, &work.stops),
            (TRIANGLE_BEGUN, &self.begun),
            (TRIANGLE_WANTED, &self.wanted),
            (TRIANGLE_FRAME_STARTS, &self.frame_start),
            (TRIANGLE_FRAME_ENDS, &self.ends),
            (TRIANGLE_SPINS, &self.spins),
        ];
        for (section, rows) in sections {
            set(section, &mut rows.iter().copied());
        }
        let path_of = |row: u32| {
            let (at, step, may_hold) = motion(&work.points[row as usize]);
            path(at, step, may_hold, &self.reach(row as usize, self.reserve, 0.0))
        };
        set(TRIANGLE_TURNS, &mut self.spins.iter().map(|spin| *spin * self.slice_part));
        set(TRIANGLE_MOVES, &mut work.moves.iter().map(|step| xyz(*step)));
        for axes in 0..TRIANGLE_AXES {
            for end in 0..2u32 {
                let three = |all: &[[f32; AXES]; 2]| {
                    Vec3::from_slice(&all[end as usize][3 * axes as usize..])
                };
                let section = TRIANGLE_STEPS + 4 * axes + end;
                let rows = 0..work.points.len() as u32;
                set(section, &mut rows.clone().map(|row| three(&path_of(row).ranges().low)));
                set(section + 2, &mut rows.map(|row| three(&path_of(row).ranges().high)));
            }
        }
        let kept = |index: usize| TriangleRow {
            rest: row(self.rest[index], 0.0),
            inverse_mass: self.inverse_mass[index],
            radius: self.radius[index],
            hard: self.hard[index],
            body: self.bodies.iter().filter(|body| body.rows.end <= index).count() as u32,
        };
        // Pairs that came into reach after the response have no change.
        let mut candidates = self.candidates.clone();
        candidates.sort_by_key(|pair| pair.rank);
        candidates.dedup_by_key(|pair| pair.rank);
        let mut changes = vec![Vec3::ZERO; work.pairs.len()];
        for (&index, change) in work.active.iter().zip(&work.changes) {
            changes[index as usize] = xyz(*change);
        }
        let packed = |(of, change): (&Pair, Vec3)| {
            let index = candidates.partition_point(|candidate| candidate.rank < of.rank);
            pair(of, change, index as u32)
        };
        TriangleRound {
            rows: (0..row_count).map(kept).collect(),
            moves,
            candidates: candidates.iter().map(candidate).collect(),
            pairs: work.pairs.iter().zip(changes).map(packed).collect(),
            held: self.held.iter().map(multiplier).collect(),
            begins: work.begins.clone(),
            corners: work.corners.clone(),
            holds: self.is_held.iter().map(|&is_held| u32::from(is_held)).collect(),
            is_careful: self.is_careful,
            contacts: report.contacts,
            held_rows: report.held,
            forced: report.forced,
            least_gap: report.least_gap,
            thickness,
            part: 0.0,
            held_scale: 1.0,
            rounds: report.rounds,
            fraction: 1.0,
            slice_part: self.slice_part,
        }
    }
}
