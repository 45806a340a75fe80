//! Response: pairs are pushed apart to their thickness with friction; then moves are truncated so
//! that nothing crosses.
//!
//! A pair is linear in a round: its normal and barycentric weights are those of its closest points
//! at the start, where nothing is crossed. With C the distance along the normal, C >=
//! min(thickness, C at the start), so that a pair forced below the thickness recovers slowly.
//! Lagrange multipliers are solved by projected Jacobi with the mass of a vertex split among its
//! contacts (Tonge, Benevolenski, Voroshilov 2012, Mass splitting for jitter-free parallel rigid
//! body simulation) and kept from slice to slice as a warm start, so that a stack finds its load.
//! Friction is Coulomb friction on the motion of the round.
//!
//! Twin of `shaders/contact/triangle_narrow.wgsl`, `triangle_solve.wgsl` and
//! `triangle_truncate.wgsl`.

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
use crate::math::{clamp_unit, cross3, dot3, length3, shorten, xyz};

/// Number of candidates per task.
const NEAR_BLOCK: usize = 4096;
/// Contact pair in reach, with the values that are constant in a round and the state of its solve.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pair {
    /// Sort key, see [`Candidate::rank`].
    pub(super) rank: [u32; 4],
    /// Rows of its corners.
    pub(super) rows: [u32; 4],
    /// Signed barycentric weights: those of the first simplex sum to 1, of the second to -1.
    pub(super) weights: [f32; 4],
    /// Unit normal from the second simplex to the first; 0 if they touch.
    pub(super) normal: Vec3,
    /// Distance at the start without the solid portion of the radii \[m\].
    pub(super) gap: f32,
    /// Distance by which the pair may close: down to its thickness, 0 if it is below \[m\].
    pub(super) closing: f32,
    /// Solid portion of the distance \[m\].
    pub(super) hard: f32,
    /// Depth below the thickness \[m\].
    pub(super) overlap: f32,
    /// Coefficient of friction.
    pub(super) friction: f32,
    /// Number of corners of the first simplex.
    pub(super) first_count: u32,
    /// Displacement of the first side along the second by surfaces that turn in place \[m\].
    pub(super) slide: Vec3,
    /// True if the uncorrected moves bring it within push distance.
    pub(super) is_near: bool,
    /// True if it pushes; inactive pairs only limit moves.
    pub(super) is_active: bool,
    /// Multiplier along the normal [kg m].
    pub(super) push: f32,
    /// Friction multiplier, perpendicular to the normal [kg m].
    pub(super) drag: Vec3,
    /// Effective mass \[kg\]: 1 / sum(w^2 m^-1 n) over the corners, n the number of contacts of the
    /// row.
    pub(super) compliance: f32,
    /// Step fraction that it allows each corner.
    pub(super) fractions: [f32; 4],
    /// True if immovable corners use up more than the room in its gap.
    pub(super) is_pressed: bool,
}

/// Working memory of a round.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// Corrected move of each row in this round \[m\].
    pub(super) moves: Vec<[f32; 4]>,
    /// Uncorrected move of each row in this round \[m\].
    pub(super) aims: Vec<Vec3>,
    /// Position and radii of each row, see [`Point`].
    pub(super) points: Vec<Point>,
    /// Normal of the pair that truncates each row most; 0 if none does.
    pub(super) stops: Vec<Vec3>,
    /// Pairs in reach, sorted by rank.
    pub(super) pairs: Vec<Pair>,
    /// Prefix sum of the number of active-pair corners per row, shape `[row_count + 1]`.
    pub(super) begins: Vec<u32>,
    /// Corners of active pairs by row, as `4 pair + corner`.
    pub(super) corners: Vec<u32>,
    /// Weight of each of these corners.
    pub(super) weights: Vec<f32>,
    /// Index of the pair of each of these corners among the active ones.
    pub(super) sources: Vec<u32>,
    /// Movable rows with a corner of an active pair.
    pub(super) tied: Vec<u32>,
    /// Indices of active pairs.
    pub(super) active: Vec<u32>,
    /// Active pairs in blocks of eight.
    pub(super) blocks: Vec<Block>,
    /// Change of each active pair's multipliers in an iteration.
    pub(super) changes: Vec<[f32; 4]>,
    /// Step fraction of each row.
    pub(super) fractions: Vec<f32>,
}

impl Work {
    /// Tests whether a row has corners of active pairs.
    fn is_tied(&self, row: usize) -> bool {
        self.begins[row] < self.begins[row + 1]
    }

    /// Allocated bytes.
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

/// Tests whether any of four rows is flagged.
fn any_of(rows: &[u32; 4], those: &[bool]) -> bool {
    rows.iter().any(|&row| those[row as usize])
}

/// Returns the fraction of a length that fits into `room`, at most 1.
fn part_of(room: f32, length: f32) -> f32 {
    if length > room { room / length } else { 1.0 }
}

/// Sums a vector field over the corners of a pair with its weights.
pub(super) fn mix(pair: &Pair, field: &[[f32; 4]]) -> Vec3 {
    let each = |k: usize| xyz(field[pair.rows[k] as usize]) * pair.weights[k];
    each(0) + each(1) + each(2) + each(3)
}

impl TriangleContact {
    /// Tests whether a candidate can interact: at least one corner is movable and it is not part of
    /// an intersection.
    fn may_meet(&self, candidate: &Candidate) -> bool {
        candidate.rows.iter().any(|&row| self.inverse_mass[row as usize] > 0.0)
            && !self.tangles.frees(&self.bodies, candidate)
    }

    /// Tests whether a row may be truncated in this round: rows that were truncated in this slice,
    /// or every row in a careful round.
    pub(super) fn may_hold(&self, row: u32) -> bool {
        let row = row as usize;
        self.inverse_mass[row] > 0.0 && (self.is_careful || self.is_held[row])
    }

    /// Returns the farthest that a corner can come towards the other side. A corner that may be
    /// truncated can also stay where it is.
    fn most_coming(&self, row: u32, coming: f32) -> f32 {
        if self.may_hold(row) { coming.max(0.0) } else { coming }
    }

    /// Returns the indices of the chosen candidates that no slab separates in this round, sorted by
    /// rank.
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
        // Candidates of partial searches follow the sorted ones and may repeat them.
        if near.last().is_some_and(|&last| last as usize >= self.sorted) {
            let rank = |index: &u32| candidates[*index as usize].rank;
            near.sort_by_key(rank);
            near.dedup_by_key(|index| rank(index));
        }
        near
    }

    /// Returns the fraction of this round that pins and colliders may move: no farther than the
    /// other corners of their pairs can be pushed.
    pub(super) fn limit_fraction(&self, thickness: f32) -> f32 {
        let stride = TRIANGLE_STRIDE * thickness;
        let forced = |row: usize| {
            let step = self.work.aims[row];
            if self.inverse_mass[row] == 0.0 { dot3(step, step) } else { 0.0 }
        };
        let rows = (0..self.start.len()).into_par_iter().with_min_len(1024);
        // Most rounds end here without a pair.
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

    /// Returns the largest fraction of the round for which the linearised contacts stay valid:
    /// after the response, opposite corners move at most `TRIANGLE_REACH` against each other once
    /// they touch, and rows pressed by pins or colliders clear their path.
    pub(super) fn valid_part(&self, thickness: f32) -> f32 {
        let reach = TRIANGLE_REACH * thickness;
        let reached = |pair: &Pair| {
            let moves = pair.rows.map(|row| xyz(self.work.moves[row as usize]));
            let (first, second) = moves.split_at(pair.first_count as usize);
            let square = |a: &Vec3, b: &Vec3| dot3(*a - *b, *a - *b);
            // Largest relative move of a corner of each side.
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

    /// Returns the displacement of the first side of a pair along the second in this round by
    /// spheres, capsules and planes that turn.
    fn slide_of(&self, pair: &Pair, part: f32) -> Vec3 {
        let turn = |k: usize| self.spins[pair.rows[k] as usize] * self.slice_part;
        let [spin, last] = [turn(0), turn(3)];
        let spin = spin + last;
        if spin == Vec3::ZERO {
            return Vec3::ZERO;
        }
        let at = |k: usize| self.start[pair.rows[k] as usize] * pair.weights[k];
        // From the center of the turning side to its surface; -(spin x arm) as the second side.
        let arm = at(0) + at(1) + at(2) + at(3) - pair.normal * pair.gap;
        let turned = cross3(arm, spin) * part;
        turned - pair.normal * dot3(pair.normal, turned)
    }

    /// Narrow phase of this round: finds the pairs in reach and which of them push, with
    /// multipliers of the last slice.
    pub(super) fn build_pairs(&mut self, part: f32) {
        let near = self.looked_at(|_| true);
        let mut pairs = self.in_reach(&near);
        // Merge join: both lists are sorted by rank.
        let mut held = self.held.iter().filter(|_| part > 0.0).peekable();
        for pair in &mut pairs {
            pair.slide = self.slide_of(pair, part);
            let rank = pair.rank;
            while held.next_if(|held| held.rank < rank).is_some() {}
            let normal = pair.normal;
            if let Some(held) = held.next_if(|held| held.rank == rank) {
                pair.push = held.push * part;
                let drag = Vec3::from(held.drag);
                // The stored friction is projected on the new tangent plane and on the Coulomb
                // cone.
                let drag = (drag - normal * dot3(drag, normal)) * part;
                pair.drag = shorten(drag, pair.friction * pair.push);
            }
            pair.is_active &= pair.push > 0.0 || pair.is_near;
        }
        self.work.pairs = pairs;
    }

    /// Returns the step fraction that a pair allows each of its corners, so that it keeps a part of
    /// its gap whatever the other pairs do, and whether immovable rows use up even that part.
    ///
    /// A corner on a straight path whose ends are on one side of a plane stays on that side. So a
    /// plane between both simplices that has room at the start and that all ends respect is never
    /// crossed.
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
        // heights: distance of each corner from the other side, up to a constant of its side;
        // behind: distance behind the frontmost corner of its side; coming: move towards the other
        // side.
        let origin = self.start[pair.rows[0] as usize];
        let heights: [f32; 4] = std::array::from_fn(|k| {
            dot3(normal, self.start[pair.rows[k] as usize] - origin) * sign(k)
        });
        let nearest =
            |range: Range<usize>| heights[range].iter().copied().fold(f32::INFINITY, f32::min);
        let nearest = [nearest(0..count), nearest(count..4)];
        let behind = |k: usize| heights[k] - nearest[usize::from(k >= count)];
        // The rounded normal can only make the gap between all corners smaller.
        let gap = pair.gap.min(nearest[0] + nearest[1] - pair.hard);
        let coming = |k: usize| -dot3(normal, xyz(moves[pair.rows[k] as usize])) * sign(k);
        // A receding side makes room, if it cannot be truncated.
        let front = |k: usize| self.most_coming(pair.rows[k], coming(k)) - behind(k);
        let sides = [0..count, count..4];
        let fronts = sides.clone().map(|side| side.map(front).fold(f32::NEG_INFINITY, f32::max));
        // Advance of each side: by_force of its immovable corners, more of its movable ones beyond
        // that.
        let forced = sides.map(|side| side.filter(|&k| !is_free(k)).map(front).fold(0.0, f32::max));
        let by_force = [0, 1].map(|side| fronts[side].min(forced[side]));
        let more = [0, 1].map(|side| fronts[side] - by_force[side]);
        // room: the part of the gap that one round may use up.
        let room = (TRIANGLE_APPROACH * gap).min(gap - least).max(0.0);
        let left = room - by_force[0] - by_force[1];
        if more[0] + more[1] <= left {
            return (fractions, false);
        }
        for (k, fraction) in fractions.iter_mut().enumerate() {
            let side = usize::from(k >= count);
            // A side that recedes, or advances by force only, is not truncated: its allowance would
            // be negative.
            if more[side] <= 0.0 {
                continue;
            }
            // The rest of the room is divided in proportion to the advance of both sides.
            let part = left.max(0.0) * more[side] / (more[0] + more[1]);
            let allowed = by_force[side] + part + behind(k);
            if is_free(k) && coming(k) > allowed {
                *fraction = allowed / coming(k);
            }
        }
        (fractions, left < 0.0)
    }

    /// Takes the smallest step fraction over the pairs of each row, and the normal of that pair;
    /// ties go to the first pair.
    fn mark_limiting_pairs(&mut self) {
        let Work { pairs, stops, fractions, .. } = &mut self.work;
        fractions.clear();
        fractions.resize(self.start.len(), 1.0);
        stops.clear();
        stops.resize(self.start.len(), Vec3::ZERO);
        for pair in pairs.iter().filter(|pair| pair.fractions != [1.0; 4]) {
            // Between two movable sides no velocity is removed: the next slice pushes both alike,
            // and momentum is conserved.
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

    /// Tests whether a row deviates from its uncorrected move by more than the reserve.
    fn is_off(&self, row: usize) -> bool {
        length3(xyz(self.work.moves[row]) - self.work.aims[row]) > self.reserve
    }

    /// Reduces the step fraction of a row that may be truncated, so that it stays within the
    /// reserve of its path.
    fn limit_deviation(&self, row: usize, fraction: f32) -> f32 {
        let (step, aim) = (xyz(self.work.moves[row]), self.work.aims[row]);
        let square = dot3(aim, aim);
        let part = if square > 0.0 { clamp_unit(dot3(step, aim) / square) } else { 0.0 };
        // Distance of the end from the segment of the uncorrected move, scaled by the fraction.
        let off = length3(step - aim * part) * fraction;
        if off > self.reserve { fraction * (self.reserve / off) } else { fraction }
    }

    /// Tests whether a pair is crossed by force: simplices that touch, or pressed ones that are
    /// closer than the solid portion.
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

    /// Truncates every move to the step fraction that all pairs allow; pairs without a corner in
    /// `is_new` keep their fractions. Returns rows that are truncated but were not expected to be:
    /// more pairs may then be in reach.
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
            // Immovable rows are never truncated; a row that is neither truncated nor pushed is on
            // its path.
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

    /// Adds the pairs that are in reach now that new rows may be truncated. They only limit moves.
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

    /// Applies the truncated moves to positions and targets, and updates the report.
    pub(super) fn move_rows(&mut self) {
        let Self { start, target, work: Work { moves, aims, fractions, .. }, .. } = self;
        let mut held = 0;
        let rows = start.iter_mut().zip(target).zip(moves.iter().zip(aims)).zip(fractions);
        for (((start, target), (step, aim)), fraction) in rows {
            let step = xyz(*step);
            *start += step * *fraction;
            // The target shifts by the correction, so that the rest of the slice does not undo it.
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
