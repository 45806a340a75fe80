//! Memory of contact of triangles, and how a slice of a frame goes.

use glam::Vec3;
use rayon::prelude::*;

use super::body::Body;
use super::pairs::{BodyPair, Candidate};

/// How far rows may move on, in thicknesses, before pairs are searched again.
const SLACK: f32 = 0.3;
/// What contact may add to the length of a move, in thicknesses; what is more waits for the next round.
const RESERVE: f32 = 0.25;
/// Longest move of a round, in thicknesses: the shorter, the fewer pairs can meet.
const REACH: f32 = 1.0;
/// Most of the rounds that a slice is cut into because colliders are fast, or because pairs held rows back.
const MAX_ROUNDS: u32 = 64;
/// Rounds after the colliders have arrived.
const MAX_LATE_ROUNDS: u32 = 8;
/// How far a collider moves in a round, in thicknesses.
const STRIDE: f32 = 0.25;
/// What rows may still be away from where they go when a slice ends, in thicknesses, without another round.
const ARRIVED: f32 = 0.02;

/// What the passes report of the last slice.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Report {
    /// Rounds that it took.
    pub rounds: u32,
    /// Searches for pairs.
    pub searches: u32,
    /// Pairs in reach, in the last round.
    pub pairs: u32,
    /// Pairs that push.
    pub contacts: u32,
    /// The smallest gap \[m\], between surfaces without thickness; infinite if none is near.
    pub least_gap: f32,
    /// Rows that were held back in the last round.
    pub held: u32,
    /// Pairs that no move of a particle could keep from being crossed: pins or colliders force it.
    pub forced: u32,
    /// Pairs of an edge and a face that cross, before the slice; counted exactly.
    pub crossings: u32,
    /// Whether a row that nothing can stop moved farther than rounds follow.
    pub is_hurried: bool,
}

/// Rows of all bodies, and pairs of them, kept from slice to slice.
#[derive(Debug, Clone, Default)]
pub struct TriangleContact {
    /// Who takes part.
    pub bodies: Vec<Body>,
    /// Position of each row \[m\], where nothing is crossed.
    pub start: Vec<Vec3>,
    /// Where it would go \[m\].
    pub target: Vec<Vec3>,
    /// Where it moves from during the slice, if nothing can stop it \[m\].
    pub(super) begun: Vec<Vec3>,
    /// Inverse mass [1/kg]; 0: nothing can stop it.
    pub inverse_mass: Vec<f32>,
    /// Half the thickness of a cloth, the radius of a ball or capsule \[m\].
    pub radius: Vec<f32>,
    /// What of it is the volume of a collider \[m\].
    pub hard: Vec<f32>,
    /// Positions at rest \[m\]; the normal of a plane.
    pub rest: Vec<Vec3>,
    /// By how much the previous position of each row has to move, so that what contact does to positions alone becomes no velocity \[m\].
    pub carry: Vec<Vec3>,
    /// Where the solver has put rows \[m\].
    pub(super) wanted: Vec<Vec3>,
    /// Where rows were before the frame, and where those of colliders are after it \[m\].
    pub(super) frame_start: Vec<Vec3>,
    pub(super) ends: Vec<Vec3>,
    pub(super) keys: Vec<super::scene::Key>,
    /// Where the pairs were searched, and how far rows may be from there \[m\].
    pub(super) anchors: Vec<Vec3>,
    pub(super) slack: Vec<f32>,
    /// How far rows may be from their anchors after their moves \[m\].
    pub(super) spread: Vec<f32>,
    pub(super) reserve: f32,
    pub(super) near: Vec<BodyPair>,
    /// Pairs that may touch.
    pub candidates: Vec<Candidate>,
    pub(super) work: super::solve::Work,
    pub(super) tangles: super::untangle::Tangles,
    /// The multipliers are of steps of this length \[s\].
    pub(super) step: f32,
    /// What the last slice was like.
    pub report: Report,
}

impl TriangleContact {
    /// Takes in a body whose rows come after all others.
    pub fn add(&mut self, mut body: Body, radius: f32, hard: f32) {
        let begin = self.start.len();
        let count = body.surface.rest.len();
        body.rows = begin..begin + count;
        self.rest.extend(&body.surface.rest);
        self.start.extend(&body.surface.rest);
        self.inverse_mass.resize(begin + count, 0.0);
        self.radius.resize(begin + count, radius);
        self.hard.resize(begin + count, hard);
        self.target.resize(begin + count, Vec3::ZERO);
        self.carry.resize(begin + count, Vec3::ZERO);
        self.bodies.push(body);
        self.anchors.clear();
    }

    /// The smallest thickness of a cloth \[m\].
    pub(super) fn least_thickness(&self) -> f32 {
        let cloths = self.bodies.iter().filter(|body| body.is_cloth());
        let radii = cloths.filter_map(|body| self.radius.get(body.rows.start));
        2.0 * radii.copied().fold(f32::INFINITY, f32::min)
    }

    /// Moves rows from `start` towards `target`, in which they do not cross each other; both are then where they got to. `step`
    /// is the length of a solver iteration \[s\].
    pub fn advance(&mut self, step: f32, iterations: u32) {
        let crossings = self.tangles.count();
        self.report = Report { least_gap: f32::INFINITY, crossings, ..Report::default() };
        self.tangles.begin_slice();
        self.carry.iter_mut().for_each(|carry| *carry = Vec3::ZERO);
        let thickness = self.least_thickness();
        if !thickness.is_finite() || thickness <= 0.0 {
            self.start.copy_from_slice(&self.target);
            return;
        }
        if self.step > 0.0 && self.step != step {
            let factor = (step / self.step) * (step / self.step);
            for candidate in &mut self.candidates {
                candidate.push *= factor;
                candidate.drag *= factor;
            }
        }
        self.step = step;
        self.begun.clone_from(&self.start);
        let near = self.drift(thickness);
        let fastest = self.fastest_forced(&near);
        if fastest > MAX_ROUNDS as f32 * STRIDE * thickness {
            self.report.is_hurried = true;
            self.note_hurry(&near);
        }
        let strides = (fastest / (STRIDE * thickness)).ceil().clamp(1.0, MAX_ROUNDS as f32) as u32;
        let mut late = 0;
        for round in 0.. {
            let fraction = ((round + 1) as f32 / strides as f32).min(1.0);
            self.aim(fraction, thickness);
            self.round(thickness, iterations, round == 0);
            self.report.rounds = round + 1;
            if round + 1 >= strides {
                late += 1;
                if late > MAX_LATE_ROUNDS || self.farthest() <= ARRIVED * thickness {
                    break;
                }
            }
        }
        self.finish();
        self.follow_tangles(thickness, &near);
    }

    /// Bodies that are near no other move by the mean of their rows at once: what a whole body does crosses nothing of itself. Returns
    /// those that are near.
    fn drift(&mut self, thickness: f32) -> Vec<BodyPair> {
        self.sweep(true);
        let Self { bodies, start, target, radius, inverse_mass, work, .. } = self;
        work.means.clear();
        work.means.resize(bodies.len(), Vec3::ZERO);
        for (body, mean) in bodies.iter_mut().zip(&mut work.means) {
            let rows = body.rows.clone();
            if !body.is_cloth() || inverse_mass[rows.clone()].contains(&0.0) {
                continue;
            }
            let moves = target[rows.clone()].iter().zip(&start[rows.clone()]);
            *mean = moves.map(|(target, start)| *target - *start).sum::<Vec3>() / rows.len() as f32;
            // A row may leave what it sweeps on its own.
            for row in rows {
                body.swept[0] = body.swept[0].min(start[row] + *mean - radius[row]);
                body.swept[1] = body.swept[1].max(start[row] + *mean + radius[row]);
            }
        }
        let near = self.near_bodies(thickness);
        for (index, mean) in self.work.means.iter().enumerate() {
            let is_alone = !near.iter().flatten().any(|&other| other as usize == index);
            if !is_alone || *mean == Vec3::ZERO {
                continue;
            }
            let rows = self.bodies[index].rows.clone();
            self.start[rows.clone()].iter_mut().for_each(|start| *start += *mean);
            if let Some(anchors) = self.anchors.get_mut(rows) {
                anchors.iter_mut().for_each(|anchor| *anchor += *mean);
            }
            // What was known of it and others is of where it was.
            self.near.retain(|pair| !pair.contains(&(index as u32)));
        }
        near
    }

    /// How far the fastest row that nothing stops moves, of bodies that others are near \[m\].
    fn fastest_forced(&self, near: &[BodyPair]) -> f32 {
        let forced = |index: u32| {
            let rows = self.bodies[index as usize].rows.clone();
            rows.filter(|&row| self.inverse_mass[row] == 0.0)
                .map(|row| (self.target[row] - self.start[row]).length_squared())
                .fold(0.0, f32::max)
        };
        let cloths = (0..self.bodies.len() as u32).filter(|&a| self.bodies[a as usize].is_cloth());
        let met = near.iter().flatten().copied();
        met.chain(cloths).map(forced).fold(0.0, f32::max).sqrt()
    }

    /// Where rows go in this round: those that nothing stops to a fraction of their path, others a part of a thickness.
    fn aim(&mut self, fraction: f32, thickness: f32) {
        let most = REACH * thickness;
        let Self { start, target, begun, inverse_mass, work, .. } = self;
        let rows = start.par_iter().zip(target).zip(begun).zip(inverse_mass).with_min_len(1024);
        rows.map(|(((start, target), begun), inverse_mass)| {
            if *inverse_mass == 0.0 {
                *begun + (*target - *begun) * fraction - *start
            } else {
                (*target - *start).clamp_length_max(most)
            }
        })
        .collect_into_vec(&mut work.moves);
    }

    /// How far the last row is from its target \[m\].
    fn farthest(&self) -> f32 {
        let rows = self.start.iter().zip(&self.target);
        rows.map(|(start, target)| (*target - *start).length_squared()).fold(0.0, f32::max).sqrt()
    }

    /// Fits the boxes of what bodies sweep, on the whole path or in this round.
    fn sweep(&mut self, is_whole: bool) {
        let Self { bodies, start, target, radius, work, .. } = self;
        for body in bodies {
            if body.is_plane {
                body.swept = [Vec3::NEG_INFINITY, Vec3::INFINITY];
                continue;
            }
            let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
            for row in body.rows.clone() {
                let end = if is_whole { target[row] } else { start[row] + work.moves[row] };
                low = low.min(start[row].min(end) - radius[row]);
                high = high.max(start[row].max(end) + radius[row]);
            }
            body.swept = [low, high];
        }
    }

    /// One round: pairs are searched if they must be, solved, and moves are cut to what keeps all pairs apart.
    fn round(&mut self, thickness: f32, iterations: u32, is_first: bool) {
        self.sweep(false);
        let margin = SLACK * thickness;
        let near = self.near_bodies(RESERVE * thickness);
        let has_all = near.iter().all(|pair| self.near.contains(pair));
        let is_kept = self.anchors.len() == self.start.len() && has_all && {
            let rows = self.anchors.iter().zip(&self.start).zip(&self.work.moves).zip(&self.slack);
            let mut rows = rows.map(|(((anchor, start), step), slack)| {
                (*start + *step - *anchor).length_squared() <= 0.8 * slack * (0.8 * slack)
            });
            rows.all(|is_near| is_near)
        };
        if !is_kept {
            self.anchors.clone_from(&self.start);
            let moves = self.work.moves.iter();
            self.slack.clear();
            self.slack.extend(moves.map(|step| margin.max(step.length() + RESERVE * thickness)));
            let near = self.near_bodies(2.0 * margin);
            self.search(&near);
            self.near = near;
            self.report.searches += 1;
        }
        let rows = self.anchors.iter().zip(&self.start).zip(&self.work.moves);
        self.spread.clear();
        self.spread.extend(
            rows.map(|((anchor, start), step)| (*start - *anchor).length() + step.length()),
        );
        self.reserve = RESERVE * thickness;
        self.work.limits.clear();
        self.work.limits.extend(self.work.moves.iter().map(|step| step.length() + self.reserve));
        self.solve(iterations, is_first);
        self.truncate(thickness);
    }

    /// What was held back of the moves stays velocity, but for what is against the pair that held it.
    fn finish(&mut self) {
        for row in 0..self.start.len() {
            let lost = self.target[row] - self.start[row];
            let normal = self.work.blocks[row];
            self.carry[row] -= lost - normal * lost.dot(normal);
        }
        self.target.copy_from_slice(&self.start);
    }

    /// Bytes of its vectors.
    pub fn size(&self) -> usize {
        let rows = [&self.start, &self.target, &self.begun, &self.rest, &self.carry, &self.anchors];
        let more = [&self.wanted, &self.frame_start, &self.ends].map(Vec::capacity);
        let values = [&self.inverse_mass, &self.radius, &self.hard].map(Vec::capacity);
        (rows.map(Vec::capacity).iter().sum::<usize>() + more.iter().sum::<usize>())
            * size_of::<Vec3>()
            + 4 * values.iter().sum::<usize>()
            + self.candidates.capacity() * size_of::<Candidate>()
            + self.work.size()
            + self.tangles.size()
    }
}
