//! Rounds of one slice: twin of `shaders/contact/triangle_slice.wgsl`, except that a GPU searches
//! for candidates in every round.
//!
//! A slice moves every row from its start to its target in rounds. A round covers a fraction of the
//! slice that is small enough for its linearised contacts: search, narrow phase, response, then
//! truncation of all moves.

use glam::Vec3;
use poplin_layout::{
    TRIANGLE_ARRIVED, TRIANGLE_GAIN, TRIANGLE_MAX_LATE_ROUNDS, TRIANGLE_MAX_REPEATS,
    TRIANGLE_MAX_ROUNDS, TRIANGLE_RESERVE, TRIANGLE_STRIDE,
};
use rayon::prelude::*;

use super::body::Body;
use super::memory::{Report, TriangleContact};
use super::pairs::BodyPair;
use super::path::Path;
use crate::math::dot3;

/// Division of the rest of a slice into rounds.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Fraction of the slice that is done.
    made: f32,
    /// Number of equal parts that the last round left.
    left: f32,
    /// Largest number of rounds that the slice is divided into.
    strides: u32,
    /// Round after which the slice ends.
    last: u32,
}

impl Cut {
    /// Returns the largest number of parts for the rest of the slice in a round; the first round is
    /// round 1. No part is much smaller than 1 / `TRIANGLE_MAX_ROUNDS` of the slice: otherwise a
    /// row that makes no progress would halve the rest for ever.
    fn most(&self, round: u32) -> f32 {
        let rounds = (self.strides + 1).saturating_sub(round).max(1) as f32;
        let parts = ((1.0 - self.made) * TRIANGLE_MAX_ROUNDS as f32).ceil();
        rounds.min(parts.max(1.0))
    }

    /// Tests whether a round of one part in `count` may start again with a smaller part.
    fn allows_more(&self, count: f32, round: u32) -> bool {
        2 * (round + 1) < self.last && count < self.most(round + 1)
    }

    /// Returns the length of the first of `count` equal parts of the rest, and the fraction of the
    /// slice that is done after it.
    fn part(&self, count: f32) -> (f32, f32) {
        let part = (1.0 - self.made) / count;
        (part, if count == 1.0 { 1.0 } else { self.made + part })
    }
}

impl TriangleContact {
    /// Moves rows from `start` towards `target` without a crossing; both then hold the positions
    /// reached. `step` is the length of a solver iteration \[s\].
    pub fn advance(&mut self, step: f32, iterations: u32) {
        // On a pool thread the many short passes do not wait for another thread to wake up.
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
        // Warm start: multipliers of the last slice, scaled to this step length.
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
            // Late rounds: the slice is done, but truncated rows continue towards their targets
            // while they gain.
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

    /// Returns the largest number of rounds of a slice, and of those that divide it.
    fn most_rounds(&self) -> (u32, u32) {
        let all = TRIANGLE_MAX_ROUNDS + TRIANGLE_MAX_LATE_ROUNDS;
        let most = if self.max_rounds == 0 { all } else { self.max_rounds.min(all) };
        (most, most.min(TRIANGLE_MAX_ROUNDS))
    }

    /// Finds the pairs of bodies whose boxes over the slice overlap.
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

    /// Returns the largest displacement of an immovable row in this slice \[m\], among bodies near
    /// other bodies and cloths.
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

    /// Sets the uncorrected move of each row: to the end of the first of `count` equal parts of the
    /// rest of its path. `end` is the fraction of the slice that is done after it.
    fn plan_moves(&mut self, count: f32, end: f32) {
        let Self { start, target, begun, inverse_mass, work, .. } = self;
        let rows = start.par_iter().zip(target).zip(begun).zip(inverse_mass).with_min_len(1024);
        rows.map(|(((start, target), begun), inverse_mass)| {
            if *inverse_mass == 0.0 {
                // Immovable rows follow their exact path: no rounding error accumulates over
                // rounds.
                *begun + (*target - *begun) * end - *start
            } else {
                (*target - *start) / count
            }
        })
        .collect_into_vec(&mut work.aims);
    }

    /// Returns the largest distance of a row from its target \[m\].
    fn farthest(&self) -> f32 {
        let rows = self.start.iter().zip(&self.target);
        let squares = rows.map(|(start, target)| *target - *start).map(|left| dot3(left, left));
        squares.fold(0.0, f32::max).sqrt()
    }

    /// Runs one round: candidate search if due, response, truncation. If its end violates the
    /// linearisation at its start, the round starts again with a smaller part; if unexpected rows
    /// are truncated, the pairs then in reach truncate moves as well. Each repeat counts as a
    /// round. Returns the fraction of the slice that is done and the number of parts left; both
    /// unchanged if the lists overflow.
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
            // A priori limit: steps of pins and colliders near cloth.
            let limit = if part > 0.0 { self.limit_fraction(thickness) } else { 1.0 };
            if limit < 1.0 {
                count = (count / limit).ceil().min(most);
                (part, end) = cut.part(count);
                self.plan_moves(count, end);
                self.bound_moves();
            }
            self.solve_pairs(iterations, part);
            // A posteriori limit: after the response.
            let limit = if part > 0.0 { self.valid_part(thickness) } else { 1.0 };
            if limit == 1.0 || !cut.allows_more(count, self.report.rounds) {
                break;
            }
            count = (count / limit).ceil();
        }
        self.keep(part);
        // Truncating a row can bring new pairs into reach, which may truncate more rows. The last
        // repeat lets every row be truncated, so that it is the last.
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
                // Targets follow the pushes, so that no recovery is left in the velocity.
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

    /// Counts a round; in the second half of all rounds every row may be truncated.
    fn begin_round(&mut self, is_careful: bool, last: u32) {
        self.report.rounds += 1;
        self.is_careful = is_careful || 2 * self.report.rounds >= last;
    }

    /// Keeps truncated motion as velocity, except for its component along the normal of the pair
    /// that truncated it. `asked` holds the original targets.
    fn restore_velocities(&mut self, asked: &[Vec3]) {
        let pushed = self.start.iter().zip(asked).map(|(start, asked)| *start - *asked);
        self.pushed.clear();
        self.pushed.extend(pushed);
        for row in 0..self.start.len() {
            let lost = self.target[row] - self.start[row];
            let normal = self.work.stops[row];
            // previous -= lost - n (n . lost)
            self.carry[row] -= lost - normal * dot3(lost, normal);
        }
        self.target.copy_from_slice(&self.start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_progress_does_not_halve_the_slice_forever() {
        // A row that makes no progress: each round starts again with half of the rest.
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
        // Pins that move as far as the rounds can follow have as many rounds as before.
        let cut = |made: f32| Cut { made, left: 1.0, strides: 128, last: 136 };
        assert_eq!((cut(0.0).most(1), cut(0.5).most(65), cut(1.0).most(129)), (128.0, 64.0, 1.0));
    }
}
