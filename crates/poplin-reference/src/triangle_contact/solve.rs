//! The response: pairs are pushed apart to their thickness and held by friction; then moves are cut to what crosses nothing.
//!
//! A pair is linear in a round: its normal and the weights of its corners are those of its closest points at the start, where
//! nothing is crossed. With C the distance along the normal, C >= min(thickness, C at the start), so that what comes nearer than
//! the thickness by force leaves slowly; multipliers are those of projected Jacobi with the mass of a vertex divided among its
//! contacts (Tonge, Benevolenski, Voroshilov 2012, Mass splitting for jitter-free parallel rigid body simulation), kept from
//! slice to slice so that a stack finds its load; friction is Coulomb's on the motion of the round.

use std::ops::Range;

use glam::Vec3;
use rayon::prelude::*;

use super::memory::TriangleContact;
use super::pairs::weighted;
use crate::math::dot3;

/// Part of an overlap that a slice removes, without velocity.
const RECOVERY: f32 = 0.2;
/// Iterations that are added while pins or colliders come too near.
const MORE_ITERATIONS: u32 = 64;
/// Part of a gap that a round may take.
const APPROACH: f32 = 0.5;
/// Gap that no move may close, in thicknesses: what is left for rounding.
const LEAST_GAP: f32 = 0.002;

/// A pair in reach, with what a round keeps constant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pair {
    candidate: u32,
    rows: [u32; 4],
    weights: [f32; 4],
    normal: Vec3,
    /// Distance at the start, without the volume of a collider \[m\].
    gap: f32,
    /// What the distance along the normal changes by at most: down to the thickness, or not at all \[m\].
    closing: f32,
    /// The volume of a collider in that distance \[m\].
    hard: f32,
    /// How much nearer than its thickness it is \[m\].
    overlap: f32,
    friction: f32,
    first_count: u32,
    /// Whether it pushes; others only limit moves.
    is_active: bool,
    push: f32,
    drag: Vec3,
    /// One over the sum of weights squared times inverse mass times contacts.
    compliance: f32,
    /// What the iteration adds to the multipliers.
    change: Vec3,
}

/// Working memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    /// Where each row moves in this round \[m\].
    pub(super) moves: Vec<Vec3>,
    /// How long the move of each row may become \[m\].
    pub(super) limits: Vec<f32>,
    /// Mean move of each body \[m\].
    pub(super) means: Vec<Vec3>,
    /// Direction of the pair that held a row back most; 0 if none did.
    pub(super) blocks: Vec<Vec3>,
    pairs: Vec<Pair>,
    /// Corners of active pairs, by row: where those of each row begin, and `4 pair + corner`.
    begins: Vec<u32>,
    corners: Vec<u32>,
    fractions: Vec<f32>,
    /// Pairs that pins or colliders press by more than their gap leaves.
    pressed: Vec<u32>,
}

impl Work {
    pub(super) fn size(&self) -> usize {
        size_of::<Vec3>() * (self.moves.capacity() + self.blocks.capacity())
            + 4 * self.limits.capacity()
            + size_of::<Pair>() * self.pairs.capacity()
            + 4 * (self.begins.capacity()
                + self.corners.capacity()
                + self.fractions.capacity()
                + self.pressed.capacity())
    }
}

/// Sum of what a field of the corners of a pair is, by weight.
fn mix(pair: &Pair, field: &[Vec3]) -> Vec3 {
    let each = |k: usize| field[pair.rows[k] as usize] * pair.weights[k];
    each(0) + each(1) + each(2) + each(3)
}

impl TriangleContact {
    /// The pairs in reach of this round.
    fn narrow(&mut self, is_first: bool) {
        let mut pairs = std::mem::take(&mut self.work.pairs);
        let moves = &self.work.moves;
        pairs.clear();
        pairs.par_extend(self.candidates.par_iter().enumerate().with_min_len(512).filter_map(
            |(index, candidate)| {
                let [x, y] = candidate.most(&self.spread).map(|spread| spread + self.reserve);
                let is_far = candidate.distance > candidate.most + x + y && candidate.push == 0.0;
                if is_far || self.tangles.frees(&self.bodies, candidate) {
                    return None;
                }
                let at = candidate.rows.map(|row| self.start[row as usize]);
                let closest = candidate.closest(at);
                let (normal, distance) = self.apart(candidate, &closest);
                let thickness = weighted(&self.radius, &candidate.rows, &closest.weights);
                let thickness = thickness.min(candidate.most);
                let count = candidate.first_count();
                let [x, y] = candidate.most(&self.work.limits);
                if distance >= thickness + x + y && candidate.push == 0.0 {
                    return None;
                }
                let closing = (distance - thickness).max(0.0);
                let hard = weighted(&self.hard, &candidate.rows, &closest.weights);
                let mut pair = Pair {
                    candidate: index as u32,
                    rows: candidate.rows,
                    weights: closest.weights,
                    normal,
                    gap: distance - hard,
                    hard,
                    closing,
                    overlap: (thickness - distance).max(0.0),
                    friction: candidate.friction,
                    first_count: count as u32,
                    ..Pair::default()
                };
                let change = dot3(normal, mix(&pair, moves));
                if is_first && candidate.push > 0.0 {
                    pair.push = candidate.push;
                    let drag = candidate.drag - normal * dot3(candidate.drag, normal);
                    pair.drag = drag.clamp_length_max(pair.friction * pair.push);
                }
                pair.is_active = candidate.speaks(&closest)
                    && normal != Vec3::ZERO
                    && (pair.push > 0.0
                        || pair.overlap > 0.0
                        || closing + change < 0.1 * thickness);
                Some(pair)
            },
        ));
        self.work.pairs = pairs;
    }

    /// Corners of active pairs by row, in the order of the pairs, and compliances.
    fn tie(&mut self) {
        let Work { pairs, begins, corners, .. } = &mut self.work;
        begins.clear();
        begins.resize(self.start.len() + 1, 0);
        let active = || (0u32..).zip(pairs.iter()).filter(|(_, pair)| pair.is_active);
        for (_, pair) in active() {
            for k in 0..4 {
                if pair.weights[k] != 0.0 {
                    begins[pair.rows[k] as usize] += 1;
                }
            }
        }
        let mut sum = 0;
        for begin in begins.iter_mut() {
            sum += std::mem::replace(begin, sum);
        }
        corners.clear();
        corners.resize(sum as usize, 0);
        for (index, pair) in active() {
            for k in 0..4u32 {
                if pair.weights[k as usize] != 0.0 {
                    let slot = &mut begins[pair.rows[k as usize] as usize];
                    corners[*slot as usize] = 4 * index + k;
                    *slot += 1;
                }
            }
        }
        begins.rotate_right(1);
        begins[0] = 0;
        let (begins, inverse_mass) = (&*begins, &self.inverse_mass);
        pairs.par_iter_mut().with_min_len(512).filter(|pair| pair.is_active).for_each(|pair| {
            let mut sum = 0.0;
            for k in 0..4 {
                let row = pair.rows[k] as usize;
                let count = (begins[row + 1] - begins[row]) as f32;
                sum += pair.weights[k] * pair.weights[k] * inverse_mass[row] * count;
            }
            pair.compliance = if sum > 0.0 { 1.0 / sum } else { 0.0 };
            pair.is_active = sum > 0.0;
        });
    }

    /// Adds the changes of multipliers to the moves of their corners.
    fn gather(&mut self, mut note: impl FnMut(usize, Vec3)) {
        let Work { pairs, begins, corners, moves, .. } = &mut self.work;
        for (row, step) in moves.iter_mut().enumerate() {
            let range = begins[row] as usize..begins[row + 1] as usize;
            if range.is_empty() || self.inverse_mass[row] == 0.0 {
                continue;
            }
            let mut sum = Vec3::ZERO;
            for &corner in &corners[range] {
                let pair = &pairs[corner as usize / 4];
                sum += pair.change * pair.weights[corner as usize % 4];
            }
            let push = sum * self.inverse_mass[row];
            *step += push;
            note(row, push);
        }
    }

    /// Pushes pairs apart by changing the moves of this round.
    pub(super) fn solve(&mut self, iterations: u32, is_first: bool) {
        self.narrow(is_first);
        self.tie();
        let mut total = std::mem::take(&mut self.target);
        for pair in self.work.pairs.iter_mut() {
            pair.change = pair.normal * pair.push + pair.drag;
        }
        self.gather(|row, push| total[row] += push);
        for iteration in 0..iterations + MORE_ITERATIONS {
            if iteration >= iterations && !self.is_pressed() {
                break;
            }
            let Work { pairs, moves, .. } = &mut self.work;
            let moves = &*moves;
            pairs.par_iter_mut().with_min_len(256).filter(|pair| pair.is_active).for_each(|pair| {
                let relative = mix(pair, moves);
                let along = dot3(pair.normal, relative);
                let push = (pair.push - (along + pair.closing) * pair.compliance).max(0.0);
                let slide = relative - pair.normal * along;
                let drag =
                    (pair.drag - slide * pair.compliance).clamp_length_max(pair.friction * push);
                pair.change = pair.normal * (push - pair.push) + drag - pair.drag;
                (pair.push, pair.drag) = (push, drag);
            });
            self.gather(|row, push| total[row] += push);
        }
        self.recover(&mut total);
        self.untangle(&mut total, is_first);
        self.target = total;
        let Self { candidates, work, report, .. } = self;
        if is_first {
            for candidate in candidates.iter_mut() {
                (candidate.push, candidate.drag) = (0.0, Vec3::ZERO);
            }
            for pair in &work.pairs {
                let candidate = &mut candidates[pair.candidate as usize];
                (candidate.push, candidate.drag) = (pair.push, pair.drag);
            }
        }
        report.pairs = work.pairs.len() as u32;
        report.contacts = work.pairs.iter().filter(|pair| pair.push > 0.0).count() as u32;
    }

    /// Whether pins or colliders come nearer to a pair's other side than moves may.
    fn is_pressed(&self) -> bool {
        let Work { pairs, moves, .. } = &self.work;
        pairs.par_iter().with_min_len(1024).any(|pair| {
            pair.is_active
                && pair.rows.iter().any(|&row| self.inverse_mass[row as usize] == 0.0)
                && dot3(pair.normal, mix(pair, moves)) < -APPROACH * pair.gap
        })
    }

    /// Takes a part of overlaps away, which becomes no velocity.
    fn recover(&mut self, total: &mut [Vec3]) {
        let Work { pairs, moves, .. } = &mut self.work;
        let mut is_needed = false;
        for pair in pairs.iter_mut() {
            pair.change = Vec3::ZERO;
            if pair.is_active && pair.overlap > 0.0 {
                let along = dot3(pair.normal, mix(pair, moves));
                let need = (RECOVERY * pair.overlap - along).max(0.0);
                pair.change = pair.normal * (need * pair.compliance);
                is_needed |= need > 0.0;
            }
        }
        if is_needed {
            let mut carry = std::mem::take(&mut self.carry);
            self.gather(|row, push| {
                total[row] += push;
                carry[row] += push;
            });
            self.carry = carry;
        }
    }

    /// Cuts every move so that each pair keeps a part of its gap, whatever the others do, and makes it. On a straight path between
    /// positions on one side of a plane a corner stays on that side: so a plane between both simplices, which the start leaves
    /// room for and the ends respect, is never crossed.
    pub(super) fn truncate(&mut self, thickness: f32) {
        let row_count = self.start.len();
        let Work { pairs, moves, limits, blocks, fractions, pressed, .. } = &mut self.work;
        fractions.clear();
        fractions.resize(row_count, 1.0f32);
        blocks.resize(row_count, Vec3::ZERO);
        blocks.iter_mut().for_each(|block| *block = Vec3::ZERO);
        pressed.clear();
        let least = LEAST_GAP * thickness;
        let (mut forced, mut least_gap) = (0, self.report.least_gap);
        for (index, pair) in pairs.iter().enumerate() {
            let normal = pair.normal;
            if normal == Vec3::ZERO {
                forced += 1;
                self.tangles.note_forced(&pair.rows, pair.hard);
                continue;
            }
            least_gap = least_gap.min(pair.gap);
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
            let coming = |k: usize| -dot3(normal, moves[pair.rows[k] as usize]) * sign(k);
            let most = |range: Range<usize>, wants_free: bool| {
                range
                    .filter(|&k| is_free(k) == wants_free)
                    .map(|k| coming(k) - behind(k))
                    .fold(0.0, f32::max)
            };
            let by_force = [most(0..count, false), most(count..4, false)];
            let wanted = [most(0..count, true), most(count..4, true)];
            let more = [0, 1].map(|side: usize| (wanted[side] - by_force[side]).max(0.0));
            let room = (APPROACH * gap).min(gap - least).max(0.0);
            let left = room - by_force[0] - by_force[1];
            if more[0] + more[1] <= left {
                continue;
            }
            if left < 0.0 {
                pressed.push(index as u32);
            }
            let left = left.max(0.0);
            for k in 0..4 {
                let side = usize::from(k >= count);
                let part =
                    if more[side] > 0.0 { left * more[side] / (more[0] + more[1]) } else { 0.0 };
                let allowed = by_force[side] + part + behind(k);
                if is_free(k) && coming(k) > allowed {
                    let (row, fraction) = (pair.rows[k] as usize, allowed / coming(k));
                    if fraction < fractions[row] {
                        fractions[row] = fraction;
                        // Two sides that move lose nothing: the next slice pushes both alike, and momentum stays.
                        let is_stopped =
                            pair.rows.iter().any(|&row| self.inverse_mass[row as usize] == 0.0);
                        blocks[row] = if is_stopped { normal } else { Vec3::ZERO };
                    }
                }
            }
        }
        for (row, fraction) in fractions.iter_mut().enumerate() {
            // Nothing stops a row without mass. No other leaves the ball in which the search knows all pairs, nor that in which they
            // were looked at.
            if self.inverse_mass[row] > 0.0 {
                let room = self.slack[row] - (self.start[row] - self.anchors[row]).length();
                let room = room.min(limits[row]);
                let length = moves[row].length() * *fraction;
                if length > room {
                    *fraction *= (room / length).max(0.0);
                }
            }
        }
        // What is pressed by force is not crossed as long as the others give way.
        for &index in pressed.iter() {
            let pair = &pairs[index as usize];
            let count = pair.first_count as usize;
            let ends = pair.rows.map(|row| {
                let row = row as usize;
                dot3(pair.normal, self.start[row] + moves[row] * fractions[row])
            });
            let first = ends[..count].iter().copied().fold(f32::INFINITY, f32::min);
            let second = ends[count..].iter().copied().fold(f32::NEG_INFINITY, f32::max);
            if first - second <= pair.hard {
                forced += 1;
                self.tangles.note_forced(&pair.rows, pair.hard);
            }
        }
        for (row, fraction) in fractions.iter().enumerate() {
            self.start[row] += moves[row] * *fraction;
        }
        self.report.held = fractions.iter().filter(|&&fraction| fraction < 1.0).count() as u32;
        self.report.forced += forced;
        self.report.least_gap = least_gap;
    }
}
