//! A round as the buffers of the kernels hold it, for tests.

use glam::Vec3;
use poplin_layout::{
    TRIANGLE_AIMS, TRIANGLE_BLOCKS, TRIANGLE_CARRIES, TRIANGLE_MOVES, TRIANGLE_SECTIONS,
    TRIANGLE_STARTS, TRIANGLE_STEPS, TRIANGLE_TARGETS, TriangleCandidate, TriangleMultiplier,
    TrianglePair, TriangleRound, TriangleRow,
};

use super::memory::{Report, TriangleContact};
use super::pairs::Candidate;
use super::solve::{Held, Pair, Work};

fn row(v: Vec3, w: f32) -> [f32; 4] {
    [v.x, v.y, v.z, w]
}

fn candidate(of: &Candidate) -> TriangleCandidate {
    let &Candidate { rows, kind, owned, friction, is_own, rank } = of;
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

fn multiplier(of: &Held) -> TriangleMultiplier {
    TriangleMultiplier { rank: of.rank, drag: row(of.drag, of.push) }
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
        let mut before = self.packed(thickness, part);
        self.respond(thickness, part, iterations);
        let after = self.packed(thickness, part);
        before.reserve = after.reserve;
        [before, after]
    }

    /// The round as it is now.
    fn packed(&self, thickness: f32, part: f32) -> TriangleRound {
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
        ];
        for (section, rows) in sections {
            set(section, &mut rows.iter().copied());
        }
        for end in 0..2u32 {
            let index = end as usize;
            set(TRIANGLE_STEPS + end, &mut work.steps.iter().map(|path| path.low[index]));
            set(TRIANGLE_STEPS + 2 + end, &mut work.steps.iter().map(|path| path.high[index]));
        }
        let kept = |index: usize| TriangleRow {
            rest: row(self.rest[index], 0.0),
            inverse_mass: self.inverse_mass[index],
            radius: self.radius[index],
            hard: self.hard[index],
            padding_0: 0,
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
            reserve: self.reserve,
            part,
        }
    }
}
