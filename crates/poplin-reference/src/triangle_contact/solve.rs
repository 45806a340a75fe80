//! The response: pairs are pushed apart to their thickness and held by friction; then moves are cut to what crosses nothing.
//!
//! A pair is linear in a round: its normal and the weights of its corners are those of its closest points at the start, where
//! nothing is crossed. With C the distance along the normal, C >= min(thickness, C at the start), so that what comes nearer than
//! the thickness by force leaves slowly; multipliers are those of projected Jacobi with the mass of a vertex divided among its
//! contacts (Tonge, Benevolenski, Voroshilov 2012, Mass splitting for jitter-free parallel rigid body simulation), kept from
//! slice to slice so that a stack finds its load; friction is Coulomb's on the motion of the round.

use std::ops::Range;

use glam::Vec3;
use poplin_host::PairMultipliers;
use rayon::prelude::*;

use super::memory::TriangleContact;
use super::pairs::weighted;
use super::tree::Path;
use crate::math::dot3;

/// Part of an overlap that a slice removes, without velocity.
const RECOVERY: f32 = 0.2;
/// Iterations that are added while pins or colliders come too near.
const MORE_ITERATIONS: u32 = 64;
/// Distance beyond its thickness at which a pair is solved even if nothing pushes it yet, as a part of the reserve.
const EAGER: f32 = 0.2;
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
    /// Where it would move without contact \[m\].
    pub(super) aims: Vec<Vec3>,
    /// Boxes around what is in reach of each row: at its start what it may get to, and at both ends what it may push.
    pub(super) steps: Vec<Path>,
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
            + size_of::<Vec3>() * self.aims.capacity()
            + size_of::<Path>() * self.steps.capacity()
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
    /// A pair, if it is in reach in this round: if it pushes, if its corners may come as near as they are thick, or if they could
    /// cross as long as each moves some part of its move and no more than the reserve off it.
    fn in_reach(&self, index: usize) -> Option<Pair> {
        let (candidate, Work { moves, .. }) = (&self.candidates[index], &self.work);
        let rows = candidate.rows;
        let count = candidate.first_count();
        let (first, second) = rows.split_at(count);
        if rows.iter().all(|&row| self.inverse_mass[row as usize] == 0.0)
            || self.tangles.frees(&self.bodies, candidate)
        {
            return None;
        }
        let closest = candidate.closest(rows.map(|row| self.start[row as usize]));
        let (normal, distance) = self.apart(candidate, &closest);
        let thickness = self.thickness(candidate, &closest.weights);
        let hard = weighted(&self.hard, &rows, &closest.weights);
        let closing = (distance - thickness).max(0.0);
        let pair = Pair {
            candidate: index as u32,
            rows,
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
        let approach = |rows: &[u32], sign: f32| {
            let each = rows.iter().map(|&row| sign * dot3(normal, moves[row as usize]));
            each.fold(0.0, f32::max)
        };
        let room = 2.0 * self.reserve;
        let is_active = candidate.speaks(&closest) && normal != Vec3::ZERO;
        let may_push = is_active && closing + dot3(normal, mix(&pair, moves)) < room;
        let may_cross = pair.gap < approach(first, -1.0) + approach(second, 1.0) + room;
        (normal == Vec3::ZERO || may_push || may_cross).then_some(Pair { is_active, ..pair })
    }

    /// The pairs in reach of this round, and which of them push.
    fn narrow(&mut self, part: f32) {
        let mut pairs = std::mem::take(&mut self.work.pairs);
        pairs.clear();
        let steps = &self.work.steps;
        let all = self.candidates.par_iter_mut().enumerate().with_min_len(1024);
        let met = all.filter_map(|(index, candidate)| candidate.meets(steps).then_some(index));
        let met: Vec<usize> = met.collect();
        let all = met.into_par_iter().with_min_len(256);
        pairs.par_extend(all.filter_map(|index| self.in_reach(index)));
        // The lists may have been searched in parts.
        let rank = |pair: &Pair| self.candidates[pair.candidate as usize].rank;
        pairs.sort_by_key(rank);
        // Both are in the order of ranks.
        let mut held = self.held.iter().filter(|_| part > 0.0).peekable();
        for pair in &mut pairs {
            let rank = self.candidates[pair.candidate as usize].rank;
            while held.next_if(|held| held.rank < rank).is_some() {}
            let normal = pair.normal;
            if let Some(held) = held.next_if(|held| held.rank == rank) {
                pair.push = held.push * part;
                let drag = Vec3::from(held.drag);
                let drag = (drag - normal * dot3(drag, normal)) * part;
                pair.drag = drag.clamp_length_max(pair.friction * pair.push);
            }
            let change = dot3(normal, mix(pair, &self.work.moves));
            pair.is_active &= pair.push > 0.0
                || pair.overlap > 0.0
                || pair.closing + change < EAGER * self.reserve;
        }
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

    /// Pushes pairs apart by changing the moves of this round, which is a part of a slice.
    pub(super) fn solve(&mut self, iterations: u32, part: f32) {
        self.narrow(part);
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
        self.target = total;
        let Self { candidates, held, work, report, .. } = self;
        if part > 0.0 {
            held.clear();
            held.extend(work.pairs.iter().filter(|pair| pair.push > 0.0).map(|pair| {
                let rank = candidates[pair.candidate as usize].rank;
                PairMultipliers {
                    rank,
                    push: pair.push / part,
                    drag: (pair.drag / part).to_array(),
                }
            }));
        }
        report.candidates = candidates.len() as u32;
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
        let Work { pairs, moves, aims, blocks, fractions, pressed, .. } = &mut self.work;
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
            // Nothing stops a row without mass. No other goes farther off its path than what is in reach was looked for.
            if self.inverse_mass[row] > 0.0 {
                let (step, aim) = (moves[row], aims[row]);
                let square = dot3(aim, aim);
                let part =
                    if square > 0.0 { (dot3(step, aim) / square).clamp(0.0, 1.0) } else { 0.0 };
                let off = (step - aim * part).length() * *fraction;
                if off > self.reserve {
                    *fraction *= self.reserve / off;
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
