//! The response: pairs are pushed apart to their thickness and held by friction; then moves are cut to what crosses nothing.
//!
//! A pair is linear in a round: its normal and the weights of its corners are those of its closest points at the start, where
//! nothing is crossed. With C the distance along the normal, C >= min(thickness, C at the start), so that what comes nearer than
//! the thickness by force leaves slowly; multipliers are those of projected Jacobi with the mass of a vertex divided among its
//! contacts (Tonge, Benevolenski, Voroshilov 2012, Mass splitting for jitter-free parallel rigid body simulation), kept from
//! slice to slice so that a stack finds its load; friction is Coulomb's on the motion of the round.
//!
//! Twin of `shaders/contact/triangle_narrow.wgsl`, `triangle_solve.wgsl` and `triangle_truncate.wgsl`.

use std::ops::Range;

use glam::Vec3;
use poplin_layout::{
    TRIANGLE_APPROACH, TRIANGLE_LEAST_GAP, TRIANGLE_PRESSED_PART, TRIANGLE_REACH, TRIANGLE_STRIDE,
};
use rayon::prelude::*;

use super::memory::TriangleContact;
use super::near::{Point, near};
use super::pairs::Candidate;
use super::respond::Block;
use crate::math::{clamp_unit, dot3, length3, shorten, xyz};

/// Listed pairs that a thread looks at together.
const NEAR_BLOCK: usize = 4096;
/// A pair in reach, with what a round keeps constant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pair {
    pub(super) rank: [u32; 4],
    pub(super) rows: [u32; 4],
    pub(super) weights: [f32; 4],
    pub(super) normal: Vec3,
    /// Distance at the start, without the volume of a collider \[m\].
    pub(super) gap: f32,
    /// What the distance along the normal changes by at most: down to the thickness, or not at all \[m\].
    pub(super) closing: f32,
    /// The volume of a collider in that distance \[m\].
    pub(super) hard: f32,
    /// How much nearer than its thickness it is \[m\].
    pub(super) overlap: f32,
    pub(super) friction: f32,
    pub(super) first_count: u32,
    /// Whether it pushes if nothing changes where its corners go, and it may.
    pub(super) is_near: bool,
    /// Whether it pushes; others only limit moves.
    pub(super) is_active: bool,
    pub(super) push: f32,
    pub(super) drag: Vec3,
    /// One over the sum of weights squared times inverse mass times contacts.
    pub(super) compliance: f32,
    /// What it leaves of the moves of its corners.
    pub(super) fractions: [f32; 4],
    /// Whether pins or colliders press it by more than its gap leaves.
    pub(super) is_pressed: bool,
}

/// Working memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// Where each row moves in this round \[m\].
    pub(super) moves: Vec<[f32; 4]>,
    /// Where it would move without contact \[m\].
    pub(super) aims: Vec<Vec3>,
    /// Where each row is, and how far away it may be in reach.
    pub(super) points: Vec<Point>,
    /// Direction of the pair that held a row back most; 0 if none did.
    pub(super) stops: Vec<Vec3>,
    pub(super) pairs: Vec<Pair>,
    /// Corners of active pairs, by row: where those of each row begin, and `4 pair + corner`.
    pub(super) begins: Vec<u32>,
    pub(super) corners: Vec<u32>,
    /// Of each of these the weight, and which active pair it is of.
    pub(super) weights: Vec<f32>,
    pub(super) sources: Vec<u32>,
    /// The rows that have any and can move.
    pub(super) tied: Vec<u32>,
    /// Indices of active pairs, and these eight by eight.
    pub(super) active: Vec<u32>,
    pub(super) blocks: Vec<Block>,
    /// What the iteration adds to the multipliers of each of them.
    pub(super) changes: Vec<[f32; 4]>,
    pub(super) fractions: Vec<f32>,
}

impl Work {
    /// Whether a row has corners of active pairs.
    fn is_tied(&self, row: usize) -> bool {
        self.begins[row] < self.begins[row + 1]
    }

    pub(super) fn size(&self) -> usize {
        let rows = [&self.moves, &self.changes].map(Vec::capacity);
        let vectors = [&self.aims, &self.stops].map(Vec::capacity);
        let indices = [&self.begins, &self.corners, &self.sources, &self.tied, &self.active];
        let indices = indices.map(Vec::capacity).iter().sum::<usize>();
        size_of::<[f32; 4]>() * rows.iter().sum::<usize>()
            + size_of::<Vec3>() * vectors.iter().sum::<usize>()
            + size_of::<Point>() * self.points.capacity()
            + size_of::<Pair>() * self.pairs.capacity()
            + size_of::<Block>() * self.blocks.capacity()
            + 4 * (indices + self.weights.capacity() + self.fractions.capacity())
    }
}

/// Whether any of some rows is one of those.
fn any_of(rows: &[u32; 4], those: &[bool]) -> bool {
    rows.iter().any(|&row| those[row as usize])
}

/// Which part of a length there is room for.
fn part_of(room: f32, length: f32) -> f32 {
    if length > room { room / length } else { 1.0 }
}

/// Sum of what the corners of a pair have of something, by weight.
pub(super) fn mix(pair: &Pair, field: &[[f32; 4]]) -> Vec3 {
    let each = |k: usize| xyz(field[pair.rows[k] as usize]) * pair.weights[k];
    each(0) + each(1) + each(2) + each(3)
}

impl TriangleContact {
    /// Whether a candidate may be in reach: not all of its corners are immovable, and it is not of what is tangled.
    fn may_meet(&self, candidate: &Candidate) -> bool {
        candidate.rows.iter().any(|&row| self.inverse_mass[row as usize] > 0.0)
            && !self.tangles.frees(&self.bodies, candidate)
    }

    /// Whether a row may be held back in this round: those that were in this slice, all in a careful round.
    pub(super) fn may_hold(&self, row: u32) -> bool {
        let row = row as usize;
        self.inverse_mass[row] > 0.0 && (self.is_careful || self.is_held[row])
    }

    /// How far a corner that moves so far towards the other side may come: of one that may be held back, less.
    fn most_coming(&self, row: u32, coming: f32) -> f32 {
        if self.may_hold(row) { coming.max(0.0) } else { coming }
    }

    /// Indices of the chosen candidates that a round has to look at, in the order of ranks: those that no slab keeps apart.
    fn looked_at(&self, is_chosen: impl Fn(&Candidate) -> bool + Sync) -> Vec<u32> {
        let Self { candidates, rest, reserve, work: Work { points, .. }, .. } = self;
        let blocks = candidates.par_chunks(NEAR_BLOCK).enumerate();
        let near = blocks.map(|(k, block)| {
            let all = (k * NEAR_BLOCK) as u32..;
            let chosen = all.zip(block).filter(|(_, it)| is_chosen(it));
            let chosen: Vec<u32> = chosen.map(|(index, _)| index).collect();
            let mut near = near(candidates, &chosen, points, rest, *reserve);
            near.retain(|&index| self.may_meet(&candidates[index as usize]));
            near
        });
        let mut near: Vec<u32> = near.flatten_iter().collect();
        if near.last().is_some_and(|&last| last as usize >= self.sorted) {
            let rank = |index: &u32| candidates[*index as usize].rank;
            near.sort_by_key(rank);
            near.dedup_by_key(|index| rank(index));
        }
        near
    }

    /// Which fraction of this round pins and colliders in reach may make: no more than what a pair's other corners can still be pushed.
    pub(super) fn limit_fraction(&self, thickness: f32) -> f32 {
        let stride = TRIANGLE_STRIDE * thickness;
        let forced = |row: usize| {
            let step = self.work.aims[row];
            if self.inverse_mass[row] == 0.0 { dot3(step, step) } else { 0.0 }
        };
        let rows = (0..self.start.len()).into_par_iter().with_min_len(1024);
        // Most rounds look at no pair.
        if rows.map(forced).reduce(|| 0.0, f32::max).sqrt() <= stride {
            return 1.0;
        }
        let forced = |rows: &[u32; 4]| {
            rows.map(|row| forced(row as usize)).into_iter().fold(0.0, f32::max).sqrt()
        };
        let near = self.looked_at(|it| forced(&it.rows) > stride);
        let limits = self.in_reach(&near).into_iter();
        let limits = limits.map(|pair| part_of(pair.closing + stride, forced(&pair.rows)));
        limits.fold(1.0, f32::min)
    }

    /// Which fraction of this round leaves its end what was seen at its start: after the response corners of both sides of a pair go
    /// `TRIANGLE_REACH` against each other once it touches, and what pins or colliders press gets out of their path.
    pub(super) fn valid_part(&self, thickness: f32) -> f32 {
        let reach = TRIANGLE_REACH * thickness;
        let reached = |pair: &Pair| {
            let moves = pair.rows.map(|row| xyz(self.work.moves[row as usize]));
            let (first, second) = moves.split_at(pair.first_count as usize);
            let square = |a: &Vec3, b: &Vec3| dot3(*a - *b, *a - *b);
            let against = first.iter().flat_map(|a| second.iter().map(move |b| square(a, b)));
            let part = part_of(pair.closing + reach, against.fold(0.0, f32::max).sqrt());
            let room = TRIANGLE_APPROACH * pair.gap;
            let is_pressed = room > 0.0 && self.pressing(pair).is_some_and(|it| it > room);
            let pressed = if is_pressed { TRIANGLE_PRESSED_PART } else { 1.0 };
            part.min(pressed)
        };
        let pairs = self.work.pairs.par_iter().with_min_len(1024);
        pairs.map(reached).reduce(|| 1.0, f32::min)
    }

    /// The pairs in reach of this round, and which of them push.
    pub(super) fn build_pairs(&mut self, part: f32) {
        let near = self.looked_at(|_| true);
        let mut pairs = self.in_reach(&near);
        // Both are in the order of ranks.
        let mut held = self.held.iter().filter(|_| part > 0.0).peekable();
        for pair in &mut pairs {
            let rank = pair.rank;
            while held.next_if(|held| held.rank < rank).is_some() {}
            let normal = pair.normal;
            if let Some(held) = held.next_if(|held| held.rank == rank) {
                pair.push = held.push * part;
                let drag = Vec3::from(held.drag);
                let drag = (drag - normal * dot3(drag, normal)) * part;
                pair.drag = shorten(drag, pair.friction * pair.push);
            }
            pair.is_active &= pair.push > 0.0 || pair.is_near;
        }
        self.work.pairs = pairs;
    }

    /// Fractions of the moves of its corners that a pair leaves, so that it keeps a part of its gap whatever the others do, and whether
    /// what nothing can stop leaves even less. On a straight path between positions on one side of a plane a corner stays on that
    /// side: so a plane between both simplices, which the start leaves room for and the ends respect, is never crossed.
    fn truncate_pair(&self, pair: &Pair, least: f32) -> ([f32; 4], bool) {
        let mut fractions = [1.0; 4];
        let normal = pair.normal;
        if normal == Vec3::ZERO {
            return (fractions, false);
        }
        let moves = &self.work.moves;
        let count = pair.first_count as usize;
        let sign = |k: usize| if k < count { 1.0 } else { -1.0 };
        let is_free = |k: usize| self.inverse_mass[pair.rows[k] as usize] > 0.0;
        // How far each corner is behind the nearest of its side, and how far it comes towards the other side.
        let origin = self.start[pair.rows[0] as usize];
        let heights: [f32; 4] = std::array::from_fn(|k| {
            dot3(normal, self.start[pair.rows[k] as usize] - origin) * sign(k)
        });
        let nearest =
            |range: Range<usize>| heights[range].iter().copied().fold(f32::INFINITY, f32::min);
        let nearest = [nearest(0..count), nearest(count..4)];
        let behind = |k: usize| heights[k] - nearest[usize::from(k >= count)];
        // The normal is rounded: what it leaves between all corners is less, if anything.
        let gap = pair.gap.min(nearest[0] + nearest[1] - pair.hard);
        let coming = |k: usize| -dot3(normal, xyz(moves[pair.rows[k] as usize])) * sign(k);
        // What goes away makes room, if nothing can hold it back.
        let front = |k: usize| self.most_coming(pair.rows[k], coming(k)) - behind(k);
        let sides = [0..count, count..4];
        let fronts = sides.clone().map(|side| side.map(front).fold(f32::NEG_INFINITY, f32::max));
        let forced = sides.map(|side| side.filter(|&k| !is_free(k)).map(front).fold(0.0, f32::max));
        let by_force = [0, 1].map(|side| fronts[side].min(forced[side]));
        let more = [0, 1].map(|side| fronts[side] - by_force[side]);
        let room = (TRIANGLE_APPROACH * gap).min(gap - least).max(0.0);
        let left = room - by_force[0] - by_force[1];
        if more[0] + more[1] <= left {
            return (fractions, false);
        }
        for (k, fraction) in fractions.iter_mut().enumerate() {
            let side = usize::from(k >= count);
            // A side that goes away, or comes by force alone, is not cut: what is allowed would be below 0.
            if more[side] <= 0.0 {
                continue;
            }
            let part = left.max(0.0) * more[side] / (more[0] + more[1]);
            let allowed = by_force[side] + part + behind(k);
            if is_free(k) && coming(k) > allowed {
                *fraction = allowed / coming(k);
            }
        }
        (fractions, left < 0.0)
    }

    /// What all pairs leave of the moves, and the direction of the one that leaves least: of several the first.
    fn mark_limiting_pairs(&mut self) {
        let Work { pairs, stops, fractions, .. } = &mut self.work;
        fractions.clear();
        fractions.resize(self.start.len(), 1.0);
        stops.clear();
        stops.resize(self.start.len(), Vec3::ZERO);
        for pair in pairs.iter().filter(|pair| pair.fractions != [1.0; 4]) {
            // Two sides that move lose nothing: the next slice pushes both alike, and momentum stays.
            let is_stopped = pair.rows.iter().any(|&row| self.inverse_mass[row as usize] == 0.0);
            for (row, fraction) in pair.rows.iter().zip(pair.fractions) {
                let row = *row as usize;
                if fraction < fractions[row] {
                    fractions[row] = fraction;
                    stops[row] = if is_stopped { pair.normal } else { Vec3::ZERO };
                }
            }
        }
    }

    /// Whether a row ends farther off where it would be than what is in reach was looked for.
    fn is_off(&self, row: usize) -> bool {
        length3(xyz(self.work.moves[row]) - self.work.aims[row]) > self.reserve
    }

    /// What is left of the move of a row that may be held back, so that it gets no farther off its path than what is in reach was looked
    /// for.
    fn limit_deviation(&self, row: usize, fraction: f32) -> f32 {
        let (step, aim) = (xyz(self.work.moves[row]), self.work.aims[row]);
        let square = dot3(aim, aim);
        let part = if square > 0.0 { clamp_unit(dot3(step, aim) / square) } else { 0.0 };
        let off = length3(step - aim * part) * fraction;
        if off > self.reserve { fraction * (self.reserve / off) } else { fraction }
    }

    /// Whether a pair is crossed by force: what is pressed is not as long as the others make room.
    fn is_forced(&self, pair: &Pair) -> bool {
        if pair.normal == Vec3::ZERO || !pair.is_pressed {
            return pair.normal == Vec3::ZERO;
        }
        let ends = pair.rows.map(|row| dot3(pair.normal, self.start[row as usize]));
        let (first, second) = ends.split_at(pair.first_count as usize);
        let first = first.iter().copied().fold(f32::INFINITY, f32::min);
        let second = second.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        first - second <= pair.hard
    }

    /// Cuts every move to what all pairs leave, of which those are as before that have no corner among new rows. Returns who is held back
    /// that was not expected to be: others may then be in reach.
    pub(super) fn truncate_moves(&mut self, thickness: f32, is_new: &[bool]) -> Vec<u32> {
        let least = TRIANGLE_LEAST_GAP * thickness;
        let mut pairs = std::mem::take(&mut self.work.pairs);
        let changed = pairs.par_iter_mut().with_min_len(512);
        changed
            .filter(|pair| any_of(&pair.rows, is_new))
            .for_each(|pair| (pair.fractions, pair.is_pressed) = self.truncate_pair(pair, least));
        self.work.pairs = pairs;
        self.mark_limiting_pairs();
        let mut fractions = std::mem::take(&mut self.work.fractions);
        let mut more = Vec::new();
        for (row, fraction) in fractions.iter_mut().enumerate() {
            // Nothing stops a row without mass, and what neither is cut nor has been pushed is on its path.
            if self.inverse_mass[row] > 0.0 && (*fraction < 1.0 || self.work.is_tied(row)) {
                if self.may_hold(row as u32) {
                    *fraction = self.limit_deviation(row, *fraction);
                } else if *fraction < 1.0 || self.is_off(row) {
                    more.push(row as u32);
                }
            }
        }
        self.work.fractions = fractions;
        more
    }

    /// Takes in what is in reach now that new rows may be held back.
    pub(super) fn add_pairs_in_reach(&mut self, is_new: &[bool]) {
        for row in (0..is_new.len()).filter(|&row| is_new[row]) {
            self.work.points[row] = self.point(row);
        }
        let mut near = self.looked_at(|it| any_of(&it.rows, is_new));
        near.retain(|&index| {
            let rank = self.candidates[index as usize].rank;
            self.work.pairs.binary_search_by_key(&rank, |pair| pair.rank).is_err()
        });
        let more = self.in_reach(&near).into_iter();
        self.work.pairs.extend(more.map(|pair| Pair { is_active: false, ..pair }));
        self.work.pairs.sort_by_key(|pair| pair.rank);
    }

    /// Makes the moves.
    pub(super) fn move_rows(&mut self) {
        let Self { start, target, work: Work { moves, aims, fractions, .. }, .. } = self;
        let mut held = 0;
        let rows = start.iter_mut().zip(target).zip(moves.iter().zip(aims)).zip(fractions);
        for (((start, target), (step, aim)), fraction) in rows {
            let step = xyz(*step);
            *start += step * *fraction;
            *target += step - *aim;
            held += u32::from(*fraction < 1.0);
        }
        let pairs = &self.work.pairs;
        let forced: Vec<_> = pairs.iter().filter(|pair| self.is_forced(pair)).collect();
        let known = pairs.iter().filter(|pair| pair.normal != Vec3::ZERO);
        let least_gap = known.map(|pair| pair.gap).fold(self.report.least_gap, f32::min);
        self.report.held = held;
        self.report.pairs = pairs.len() as u32;
        self.report.forced += forced.len() as u32;
        forced.iter().for_each(|pair| self.tangles.note_forced(&pair.rows, pair.hard));
        self.report.least_gap = least_gap;
    }
}
