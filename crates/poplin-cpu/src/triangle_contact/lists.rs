//! Lifetime of the candidate lists: prediction of row motion, and searches when a row leaves its
//! prediction.

use glam::Vec3;
use rayon::prelude::*;

use super::course::{Course, Span, course, parts};
use super::measure::reach;
use super::memory::TriangleContact;
use super::near::{self, Point};
use super::path::{Path, Reach};

/// Largest distance of rows from the paths of the lists before a new search, in thicknesses: per
/// slice of the horizon, and at most. A slack that the lists do not use up only makes them longer.
const SLACK: [f32; 2] = [0.05, 0.2];

/// Smallest and largest lifetime of the lists \[slices\]: the age that the last lists reached,
/// doubled if they reached their horizon.
const HORIZON: [f32; 2] = [1.0, 16.0];

/// Ratio of the speed of a row to that at the start of the slice above which the row counts as one
/// that lagged behind and is at rest.
const MOST_LATE: f32 = 4.0;

/// A full search replaces a partial one if more than one row in this many is off its path.
const MOST_OFF: usize = 10;

impl TriangleContact {
    /// Updates the lists to cover this round, which is a fraction `part` of the slice.
    pub(super) fn follow_paths(&mut self, thickness: f32, part: f32) {
        let off = self.off_path(part);
        if off.is_empty() {
            return;
        }
        let is_all = off.len() == self.start.len();
        if is_all {
            // Lists that expired by age get twice the horizon, others the age that they reached.
            let factor = if self.clock + part > self.horizon { 2.0 } else { 1.0 };
            self.horizon = (factor * self.clock).clamp(HORIZON[0], HORIZON[1]);
            self.clock = 0.0;
            if part > 0.0 {
                self.longest_part = (2.0 * part).min(1.0);
            }
        }
        self.search_for(&off, thickness, part);
    }

    /// Updates the lists for rows that may be truncated and whose lists do not account for it.
    pub(super) fn loosen(&mut self, thickness: f32, part: f32) {
        // Late rounds end within the reach of the lists anyway.
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

    /// Predicts the motion of sorted rows over this part of a slice and searches for candidates
    /// with a corner among them. If lists for the whole horizon overflow, they are made for one
    /// slice only; if those overflow too, nothing moves.
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

    /// Stores the move and the reach of each row for this round.
    pub(super) fn bound_moves(&mut self) {
        let mut points = std::mem::take(&mut self.work.points);
        let rows = (0..self.start.len()).into_par_iter().with_min_len(1024);
        rows.map(|row| self.point(row)).collect_into_vec(&mut points);
        self.work.points = points;
    }

    /// Returns the move of a row in this round and its reach.
    pub(super) fn point(&self, row: usize) -> Point {
        let reach = self.reach(row, self.reserve, 0.0);
        near::point(self.start[row], self.work.aims[row], &reach, self.may_hold(row as u32))
    }

    /// Returns the contact and crossing radius of a row, inflated by its path slack and the
    /// reserve.
    pub(super) fn reach(&self, row: usize, reserve: f32, slack: f32) -> Reach {
        reach(self.radius[row], self.hard[row], reserve, slack)
    }

    /// Forces a full search next, for example when participants change their settings. The results
    /// do not change.
    pub fn drop_lists(&mut self) {
        self.paths.clear();
    }

    /// Returns the current span of the lists.
    pub(super) fn span(&self) -> Span {
        let times = [self.clock, self.horizon];
        Span { times, longest: self.longest_part, reserve: self.reserve }
    }

    /// Returns the rows that are off the paths of the lists at the start or the end of this part;
    /// all rows if many are off or the lists expire.
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
            // Deviation from the predicted position at both ends of the round.
            let off = self.start[row] - (anchor + speed * clock);
            let end = self.start[row] + self.work.aims[row] - (anchor + speed * end);
            // The factor is conservative rounding. A NaN row is off.
            let slack = 0.99 * slack;
            let is_near = |off: Vec3| off.length_squared() <= slack * slack;
            !(is_near(off) && is_near(end))
        };
        let off: Vec<u32> = (0..count as u32).filter(is_off).collect();
        if off.len() > count / MOST_OFF { all() } else { off }
    }

    /// Predicts the path of a row over the lifetime of the lists from its move in this part. Its
    /// reach, as in a round, covers contact and crossing, inflated by the slack of the path.
    fn follow(&mut self, row: usize, thickness: f32, part: f32) {
        let (start, step) = (self.start[row], self.work.aims[row]);
        let mut slack = (SLACK[0] * self.horizon).min(SLACK[1]) * thickness;
        let asked = (self.target[row] - self.begun[row]).length();
        let speed = if part > 0.0 && step.length() > MOST_LATE * part * asked {
            // The row lagged behind and does not keep this speed.
            slack = slack.max(1.02 * step.length());
            Vec3::ZERO
        } else if part > 0.0 {
            // A row that contact pushed far in the last slice may not be pushed again: the path
            // must cover both cases.
            let is_near = self.pushed[row].length() <= 0.99 * slack;
            step / part + if is_near { self.pushed[row] } else { Vec3::ZERO }
        } else {
            slack = slack.max(1.02 * step.length());
            parts(&self.courses[row]).1
        };
        // The path starts at the birth of the lists, `clock` slices ago.
        let anchor = start - speed * self.clock;
        let reach = self.reach(row, self.reserve, slack);
        let ends = [anchor, anchor + speed * self.horizon];
        let is_loose = self.may_hold(row as u32) || self.was_held[row];
        // A truncated row may stay anywhere on its move.
        let back = if is_loose { -speed * self.longest_part } else { Vec3::ZERO };
        self.paths[row] = Path::new(ends, [back; 2], &reach);
        self.courses[row] = course(anchor, speed, slack, &reach, self.longest_part, is_loose);
        self.is_loose[row] = is_loose;
    }
}
