//! Memory of contact of triangles, and how a slice of a frame goes: twin of `shaders/contact/triangle_slice.wgsl`, but that a GPU
//! searches in every round.

use glam::Vec3;
use poplin_host::{ContactMultipliers, PairMultipliers, TriangleScene, least_thickness};
use poplin_layout::{
    TRIANGLE_ARRIVED, TRIANGLE_GAIN, TRIANGLE_MAX_LATE_ROUNDS, TRIANGLE_MAX_REPEATS,
    TRIANGLE_MAX_ROUNDS, TRIANGLE_RESERVE, TRIANGLE_STRIDE,
};
use rayon::prelude::*;

use super::body::Body;
use super::course::{Course, Span, course, parts};
use super::measure::reach;
use super::near::{self, Point};
use super::pairs::{BodyPair, Candidate};
use super::tree::{Path, Reach};
use crate::math::dot3;

/// How far rows may be from the paths of the lists, in thicknesses, before pairs are searched again: for each slice that the lists look
/// ahead, and at most. Room for what they do not last for would only make them longer.
const SLACK: [f32; 2] = [0.05, 0.2];
/// Slices that the lists look ahead, at least and at most: as many as the last ones were good for, twice as many if they were good to
/// their end.
const HORIZON: [f32; 2] = [1.0, 16.0];
/// A row that goes so many times as fast as it did at the start of the slice has been kept back, and is taken as one that stays.
const MOST_LATE: f32 = 4.0;
/// A search is of all rows if more than one in so many are off their paths.
const MOST_OFF: usize = 10;

/// Most pairs in the lists: 3.8 GB of them, and about as much again while they are searched.
const MOST_CANDIDATES: u32 = 1 << 26;

/// What the passes report of the last slice.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Report {
    /// Rounds that it took.
    pub rounds: u32,
    /// Searches for pairs of all rows.
    pub searches: u32,
    /// Searches for pairs of some rows.
    pub updates: u32,
    /// Pairs in reach, in the last round.
    pub pairs: u32,
    /// Pairs in the lists.
    pub candidates: u32,
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
    /// More pairs than the lists have room for, if there are: all rows then stay where they are.
    pub unlisted: u32,
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
    /// Who took part in the last frame.
    pub(super) scene: TriangleScene,
    /// Courses for which the lists were made, and the boxes around what is in reach there.
    pub(super) courses: Vec<Course>,
    /// How far contact has taken each row in the last slice from where the solver had put it \[m\]: so it will again.
    pushed: Vec<Vec3>,
    pub(super) paths: Vec<Path>,
    /// Slices since then, and after how many they end.
    clock: f32,
    horizon: f32,
    /// Longest part of a slice that a round may have with them.
    longest_part: f32,
    /// Bodies that may meet there, with themselves too.
    pub(super) near: Vec<BodyPair>,
    /// Rows that were held back in this slice, and in the last one.
    pub(super) is_held: Vec<bool>,
    was_held: Vec<bool>,
    /// Rows for which the lists have room if they are held back.
    is_loose: Vec<bool>,
    /// Whether any row may be held back in this round.
    pub(super) is_careful: bool,
    /// How far contact may take a row off its path in a round \[m\].
    pub(super) reserve: f32,
    /// Pairs that may touch: what the last search of all rows found, in the order of ranks, then what those of some rows have found since,
    /// some of it again.
    pub candidates: Vec<Candidate>,
    /// How many of them are in order.
    pub(super) sorted: usize,
    /// Multipliers of the last slice.
    pub(super) held: Vec<PairMultipliers>,
    pub(super) work: super::solve::Work,
    pub(super) tangles: super::untangle::Tangles,
    /// The multipliers are of steps of this length \[s\].
    pub(super) step: f32,
    /// Most rounds of a slice; 0: as many as it takes, up to `TRIANGLE_MAX_ROUNDS` and some late ones.
    pub max_rounds: u32,
    /// Most pairs in the lists; 0: 67 million.
    pub max_candidates: u32,
    /// What the last slice was like.
    pub report: Report,
}

/// How what is left of a slice is cut into rounds.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Part of the slice that has been made.
    made: f32,
    /// Parts that the last round has left.
    left: f32,
    /// Most rounds that the slice is cut into.
    strides: u32,
    /// After how many rounds it ends.
    last: u32,
}

impl Cut {
    /// Most parts that what is left is cut into in a round; they count from 1. None is much less of the slice than one of
    /// `TRIANGLE_MAX_ROUNDS`: a row that gets no nearer to where it goes would halve what is left for ever.
    fn most(&self, round: u32) -> f32 {
        let rounds = (self.strides + 1).saturating_sub(round).max(1) as f32;
        let parts = ((1.0 - self.made) * TRIANGLE_MAX_ROUNDS as f32).ceil();
        rounds.min(parts.max(1.0))
    }

    /// Whether a round that is one of so many parts may begin again with a smaller one.
    fn allows_more(&self, count: f32, round: u32) -> bool {
        2 * (round + 1) < self.last && count < self.most(round + 1)
    }

    /// The part of the slice that is the first of so many equal ones that are left, and the part that has been made after it.
    fn part(&self, count: f32) -> (f32, f32) {
        let part = (1.0 - self.made) / count;
        (part, if count == 1.0 { 1.0 } else { self.made + part })
    }
}

impl TriangleContact {
    /// Takes in a body whose rows come after all others.
    pub fn add(&mut self, mut body: Body, radius: f32, hard: f32) {
        let begin = self.start.len();
        let end = begin + body.surface.rest.len();
        body.rows = begin..end;
        self.rest.extend(&body.surface.rest);
        self.start.extend(&body.surface.rest);
        self.radius.resize(end, radius);
        self.hard.resize(end, hard);
        self.set_row_count(end);
        self.bodies.push(body);
    }

    /// Has so many rows, of which those that are new are nowhere yet, and immovable.
    pub(super) fn set_row_count(&mut self, count: usize) {
        self.start.resize(count, Vec3::ZERO);
        self.inverse_mass.resize(count, 0.0);
        self.target.resize(count, Vec3::ZERO);
        self.carry.resize(count, Vec3::ZERO);
        self.pushed.resize(count, Vec3::ZERO);
        for flags in [&mut self.is_held, &mut self.was_held, &mut self.is_loose] {
            flags.resize(count, false);
        }
        self.paths.clear();
    }

    /// The smallest thickness of a cloth \[m\].
    pub(super) fn least_thickness(&self) -> f32 {
        least_thickness(self.bodies.iter().map(|body| &**body), &self.radius)
    }

    /// Moves rows from `start` towards `target`, in which they do not cross each other; both are then where they got to. `step`
    /// is the length of a solver iteration \[s\].
    pub fn advance(&mut self, step: f32, iterations: u32) {
        // On a thread of the pool: its many short passes then wait for no other thread to wake.
        rayon::scope(|_| self.advance_here(step, iterations));
    }

    /// See [`TriangleContact::advance`].
    fn advance_here(&mut self, step: f32, iterations: u32) {
        let crossings = self.tangles.count();
        self.report = Report { least_gap: f32::INFINITY, crossings, ..Report::default() };
        self.tangles.begin_slice();
        std::mem::swap(&mut self.is_held, &mut self.was_held);
        self.is_held.fill(false);
        self.carry.iter_mut().for_each(|carry| *carry = Vec3::ZERO);
        let thickness = self.least_thickness();
        if !thickness.is_finite() || thickness <= 0.0 {
            self.start.copy_from_slice(&self.target);
            return;
        }
        self.reserve = TRIANGLE_RESERVE * thickness;
        let scale = self.held_scale(step);
        if scale != 1.0 {
            for held in &mut self.held {
                held.push *= scale;
                held.drag = held.drag.map(|drag| drag * scale);
            }
        }
        self.step = step;
        self.begun.clone_from(&self.start);
        let asked = self.target.clone();
        let near = self.near_in_slice(thickness);
        let (max_rounds, max_strides) = self.most_rounds();
        self.report.is_hurried =
            self.find_forced_move(&near) / thickness > max_strides as f32 * TRIANGLE_STRIDE;
        if self.report.is_hurried {
            self.note_hurry(&near);
        }
        let (mut made, mut left, mut late) = (0.0, 0.0, 0);
        let mut farthest = 0.0;
        loop {
            late += u32::from(made == 1.0);
            let cut = Cut { made, left, strides: max_strides, last: max_rounds };
            (made, left) = self.round(thickness, iterations, cut);
            let before = std::mem::replace(&mut farthest, self.farthest());
            let is_there = farthest <= TRIANGLE_ARRIVED * thickness;
            let gains = late == 0 || farthest <= TRIANGLE_GAIN * before;
            let is_late = late == TRIANGLE_MAX_LATE_ROUNDS || is_there || !gains;
            let is_last = self.report.rounds >= max_rounds || made == 1.0 && is_late;
            if is_last || self.report.unlisted > 0 {
                break;
            }
        }
        self.restore_velocities(&asked);
        self.follow_tangles(thickness, &near);
    }

    /// Most pairs in the lists.
    pub(super) fn most_candidates(&self) -> usize {
        let most = if self.max_candidates == 0 { MOST_CANDIDATES } else { self.max_candidates };
        most as usize
    }

    /// Most rounds of a slice, and most of those that it is cut into.
    fn most_rounds(&self) -> (u32, u32) {
        let all = TRIANGLE_MAX_ROUNDS + TRIANGLE_MAX_LATE_ROUNDS;
        let most = if self.max_rounds == 0 { all } else { self.max_rounds.min(all) };
        (most, most.min(TRIANGLE_MAX_ROUNDS))
    }

    /// Factor on multipliers for steps of this length \[s\].
    pub(super) fn held_scale(&self, step: f32) -> f32 {
        let ratio = if self.step > 0.0 { step / self.step } else { 1.0 };
        ratio * ratio
    }

    /// Bodies that may meet in this slice.
    fn near_in_slice(&self, thickness: f32) -> Vec<BodyPair> {
        let around = |body: &Body| {
            if body.is_plane {
                return Path::EVERYTHING;
            }
            let rows = body.rows.clone();
            let at = |from: &[Vec3]| {
                let (from, radius) = (&from[rows.clone()], &self.radius[rows.clone()]);
                let rows =
                    from.iter().zip(radius).map(|(at, radius)| (*at - *radius, *at + *radius));
                let none = (Vec3::INFINITY, Vec3::NEG_INFINITY);
                rows.fold(none, |(low, high), row| (low.min(row.0), high.max(row.1)))
            };
            let (start, end) = (at(&self.start), at(&self.target));
            Path::in_box(start.0.min(end.0) - thickness, start.1.max(end.1) + thickness)
        };
        let paths: Vec<Path> = self.bodies.iter().map(around).collect();
        self.near_bodies(&paths)
    }

    /// How far the fastest row goes of those that nothing stops, where others are near \[m\].
    fn find_forced_move(&self, near: &[BodyPair]) -> f32 {
        let mut is_met: Vec<bool> = self.bodies.iter().map(|body| body.is_cloth()).collect();
        for &index in near.iter().flatten() {
            is_met[index as usize] = true;
        }
        let met = self.bodies.iter().zip(is_met).filter(|(_, is_met)| *is_met);
        let rows = met.flat_map(|(body, _)| body.rows.clone());
        let steps = rows.filter(|&row| self.inverse_mass[row] == 0.0).map(|row| {
            let step = self.target[row] - self.start[row];
            dot3(step, step)
        });
        steps.fold(0.0, f32::max).sqrt()
    }

    /// Where rows go in this round: the first of so many equal parts of what is left of their paths. `end` is the part of the slice that
    /// has then been made.
    fn plan_moves(&mut self, count: f32, end: f32) {
        let Self { start, target, begun, inverse_mass, work, .. } = self;
        let rows = start.par_iter().zip(target).zip(begun).zip(inverse_mass).with_min_len(1024);
        rows.map(|(((start, target), begun), inverse_mass)| {
            if *inverse_mass == 0.0 {
                *begun + (*target - *begun) * end - *start
            } else {
                (*target - *start) / count
            }
        })
        .collect_into_vec(&mut work.aims);
    }

    /// How far the last row is from its target \[m\].
    fn farthest(&self) -> f32 {
        let rows = self.start.iter().zip(&self.target);
        let squares = rows.map(|(start, target)| *target - *start).map(|left| dot3(left, left));
        squares.fold(0.0, f32::max).sqrt()
    }

    /// One round: pairs are searched if they must be, then there is a response. If its end is not what was seen at its start, it begins
    /// again with a smaller part; if rows are held back that were not expected to be, what is then in reach cuts moves as well: either
    /// counts as a round. Returns which part of the slice has been made then, and how many such parts are left: as before, if the lists have
    /// no room for what is in reach.
    fn round(&mut self, thickness: f32, iterations: u32, cut: Cut) -> (f32, f32) {
        self.untangle(cut.made == 0.0);
        let mut count = cut.left;
        let (mut part, mut end);
        loop {
            self.begin_round(false, cut.last);
            let most = cut.most(self.report.rounds);
            count = count.clamp(1.0, most);
            (part, end) = cut.part(count);
            self.plan_moves(count, end);
            self.follow_paths(thickness, part);
            self.loosen(thickness, part);
            if self.report.unlisted > 0 {
                return (cut.made, cut.left);
            }
            self.bound_moves();
            let limit = if part > 0.0 { self.limit_fraction(thickness) } else { 1.0 };
            if limit < 1.0 {
                count = (count / limit).ceil().min(most);
                (part, end) = cut.part(count);
                self.plan_moves(count, end);
                self.bound_moves();
            }
            self.solve_pairs(iterations, part);
            let limit = if part > 0.0 { self.valid_part(thickness) } else { 1.0 };
            if limit == 1.0 || !cut.allows_more(count, self.report.rounds) {
                break;
            }
            count = (count / limit).ceil();
        }
        self.keep(part);
        let mut repeats = 0;
        let mut is_new = vec![true; self.start.len()];
        loop {
            let more = self.truncate_moves(thickness, &is_new);
            if more.is_empty() {
                break;
            }
            repeats += 1;
            self.begin_round(repeats == TRIANGLE_MAX_REPEATS, cut.last);
            is_new.fill(self.is_careful);
            for row in more.into_iter().map(|row| row as usize) {
                (self.is_held[row], is_new[row]) = (true, true);
            }
            self.loosen(thickness, part);
            if self.report.unlisted > 0 {
                // Targets take part in what has been pushed, so that no recovery is left in the velocity.
                self.work.fractions.fill(0.0);
                self.move_rows();
                return (cut.made, cut.left);
            }
            self.add_pairs_in_reach(&is_new);
        }
        self.clock += part;
        self.move_rows();
        (end, count - 1.0)
    }

    /// Counts a round; once half of all have been there, any row may be held back.
    fn begin_round(&mut self, is_careful: bool, last: u32) {
        self.report.rounds += 1;
        self.is_careful = is_careful || 2 * self.report.rounds >= last;
    }

    /// Makes the lists hold what is in reach on the paths of this round, which is a part of a slice.
    fn follow_paths(&mut self, thickness: f32, part: f32) {
        let off = self.off_path(part);
        if off.is_empty() {
            return;
        }
        let is_all = off.len() == self.start.len();
        if is_all {
            let factor = if self.clock + part > self.horizon { 2.0 } else { 1.0 };
            self.horizon = (factor * self.clock).clamp(HORIZON[0], HORIZON[1]);
            self.clock = 0.0;
            if part > 0.0 {
                self.longest_part = (2.0 * part).min(1.0);
            }
        }
        self.search_for(&off, thickness, part);
    }

    /// Makes the lists hold what is in reach if rows are held back that may be.
    fn loosen(&mut self, thickness: f32, part: f32) {
        // Late rounds end where the lists hold them anyway.
        if part == 0.0 || self.report.unlisted > 0 {
            return;
        }
        let rows = 0..self.start.len() as u32;
        let is_new = |row: &u32| self.may_hold(*row) && !self.is_loose[*row as usize];
        let rows: Vec<u32> = rows.filter(is_new).collect();
        if !rows.is_empty() {
            self.search_for(&rows, thickness, part);
        }
    }

    /// Follows some rows, in order, in this part of a slice, and searches what has a corner among them. If there is no room for lists
    /// that last, there may be for those of one slice; if not for those, nothing moves.
    fn search_for(&mut self, rows: &[u32], thickness: f32, part: f32) {
        rows.iter().for_each(|&row| self.follow(row as usize, thickness, part));
        if rows.len() <= self.start.len() / MOST_OFF && self.search_some(rows) {
            self.report.updates += 1;
            return;
        }
        self.report.searches += 1;
        let mut has_room = self.search();
        if !has_room && self.horizon > HORIZON[0] {
            (self.clock, self.horizon) = (0.0, HORIZON[0]);
            (0..self.start.len()).for_each(|row| self.follow(row, thickness, part));
            has_room = self.search();
        }
        if !has_room {
            self.report.unlisted = (self.most_candidates() as u32).saturating_add(1);
            self.drop_lists();
            self.work.stops.clear();
            self.work.stops.resize(self.start.len(), Vec3::ZERO);
        }
    }

    /// Notes where each row goes in this round, and what is in reach of it.
    pub(super) fn bound_moves(&mut self) {
        let mut points = std::mem::take(&mut self.work.points);
        let rows = (0..self.start.len()).into_par_iter().with_min_len(1024);
        rows.map(|row| self.point(row)).collect_into_vec(&mut points);
        self.work.points = points;
    }

    /// Where a row goes in this round, and what is in reach of it.
    pub(super) fn point(&self, row: usize) -> Point {
        let reach = self.reach(row, self.reserve, 0.0);
        near::point(self.start[row], self.work.aims[row], &reach, self.may_hold(row as u32))
    }

    /// What is in reach of a row that contact takes so far off its path, from wherever it is within a slack of that.
    pub(super) fn reach(&self, row: usize, reserve: f32, slack: f32) -> Reach {
        reach(self.radius[row], self.hard[row], reserve, slack)
    }

    /// What its pairs hold.
    pub fn multipliers(&self) -> ContactMultipliers {
        ContactMultipliers { step: self.step, pairs: self.held.clone() }
    }

    /// Forgets everything; the bodies of the next frame begin with these.
    pub fn set_multipliers(&mut self, multipliers: &ContactMultipliers) {
        self.forget();
        (self.step, self.held) = (multipliers.step, multipliers.pairs.clone());
    }

    /// Makes the next search one of all rows, as when whoever takes part does so otherwise than before. The result is the same.
    pub fn drop_lists(&mut self) {
        self.paths.clear();
    }

    /// The lists that there are.
    pub(super) fn span(&self) -> Span {
        let times = [self.clock, self.horizon];
        Span { times, longest: self.longest_part, reserve: self.reserve }
    }

    /// The rows that are not near the paths of the lists both before and after a part of a slice; all, if many are not or the lists end.
    fn off_path(&mut self, part: f32) -> Vec<u32> {
        let count = self.start.len();
        let all = || (0..count as u32).collect();
        if self.paths.len() != count {
            self.paths.resize(count, Path::NOTHING);
            self.courses.resize(count, Course::default());
            return all();
        }
        if self.clock + part > self.horizon || part > self.longest_part {
            return all();
        }
        let (clock, end) = (self.clock, self.clock + part);
        let is_off = |row: &u32| {
            let row = *row as usize;
            let (anchor, speed, slack) = parts(&self.courses[row]);
            let off = self.start[row] - (anchor + speed * clock);
            let end = self.start[row] + self.work.aims[row] - (anchor + speed * end);
            // Rounded down: what is near must be. A row that is no number is off.
            let slack = 0.99 * slack;
            let is_near = |off: Vec3| off.length_squared() <= slack * slack;
            !(is_near(off) && is_near(end))
        };
        let off: Vec<u32> = (0..count as u32).filter(is_off).collect();
        if off.len() > count / MOST_OFF { all() } else { off }
    }

    /// Follows a row on the path that it takes in this part of a slice. In reach of it is, as in a round, what it may get to or may
    /// push, with room for what it may be off its path.
    fn follow(&mut self, row: usize, thickness: f32, part: f32) {
        let (start, step) = (self.start[row], self.work.aims[row]);
        let mut slack = (SLACK[0] * self.horizon).min(SLACK[1]) * thickness;
        let asked = (self.target[row] - self.begun[row]).length();
        let speed = if part > 0.0 && step.length() > MOST_LATE * part * asked {
            // It has stayed behind, and goes nowhere at such a speed.
            slack = slack.max(1.02 * step.length());
            Vec3::ZERO
        } else if part > 0.0 {
            // Who was pushed farther may not be again, and its path has to hold both.
            let is_near = self.pushed[row].length() <= 0.99 * slack;
            step / part + if is_near { self.pushed[row] } else { Vec3::ZERO }
        } else {
            slack = slack.max(1.02 * step.length());
            parts(&self.courses[row]).1
        };
        let anchor = start - speed * self.clock;
        let reach = self.reach(row, self.reserve, slack);
        let ends = [anchor, anchor + speed * self.horizon];
        let is_loose = self.may_hold(row as u32) || self.was_held[row];
        let back = if is_loose { -speed * self.longest_part } else { Vec3::ZERO };
        self.paths[row] = Path::new(ends, [back; 2], &reach);
        self.courses[row] = course(anchor, speed, slack, &reach, self.longest_part, is_loose);
        self.is_loose[row] = is_loose;
    }

    /// What was held back of the moves stays velocity, but for what is against the pair that held it. Rows were asked to go there.
    fn restore_velocities(&mut self, asked: &[Vec3]) {
        let pushed = self.start.iter().zip(asked).map(|(start, asked)| *start - *asked);
        self.pushed.clear();
        self.pushed.extend(pushed);
        for row in 0..self.start.len() {
            let lost = self.target[row] - self.start[row];
            let normal = self.work.stops[row];
            self.carry[row] -= lost - normal * dot3(lost, normal);
        }
        self.target.copy_from_slice(&self.start);
    }

    /// Bytes of its vectors.
    pub fn size(&self) -> usize {
        let rows = [&self.start, &self.target, &self.begun, &self.rest, &self.carry, &self.pushed];
        let more = [&self.wanted, &self.frame_start, &self.ends];
        let more = more.map(Vec::capacity);
        let values = [&self.inverse_mass, &self.radius, &self.hard].map(Vec::capacity);
        let flags = [&self.is_held, &self.was_held, &self.is_loose].map(Vec::capacity);
        (rows.map(Vec::capacity).iter().sum::<usize>() + more.iter().sum::<usize>())
            * size_of::<Vec3>()
            + 4 * values.iter().sum::<usize>()
            + flags.iter().sum::<usize>()
            + self.candidates.capacity() * size_of::<Candidate>()
            + self.work.size()
            + self.tangles.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_slice_is_not_halved_for_ever() {
        // As a row wants it that gets no nearer: each round begins again with half of what is left.
        let (mut made, mut round) = (0.0, 0);
        while made < 1.0 {
            let cut = Cut { made, left: 1.0, strides: 128, last: 136 };
            round += 1;
            let mut count = 1.0;
            if cut.allows_more(count, round) {
                round += 1;
                count = cut.most(round).min(2.0);
            }
            made = cut.part(count).1;
        }
        assert!(round < 20, "{round} rounds");
        // Pins that go as far as rounds follow have as many as before.
        let cut = |made: f32| Cut { made, left: 1.0, strides: 128, last: 136 };
        assert_eq!((cut(0.0).most(1), cut(0.5).most(65), cut(1.0).most(129)), (128.0, 64.0, 1.0));
    }
}
