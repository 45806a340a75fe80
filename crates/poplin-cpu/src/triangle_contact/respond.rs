//! Response of a round: projected Jacobi on the contact pairs, eight side by side. Twin of
//! `shaders/contact/triangle_solve.wgsl`.

use fearless_simd::{Level, Simd, dispatch, f32x8};
use glam::Vec3;
use poplin_host::PairMultipliers;
use poplin_layout::{
    TRIANGLE_APPROACH, TRIANGLE_MORE_ITERATIONS, TRIANGLE_RECOVERY, TRIANGLE_RELAXATION,
};
use rayon::prelude::*;

use super::lanes::{LANES, Vector, Wide, columns, load};
use super::memory::TriangleContact;
use super::solve::{Pair, Work, mix};
use crate::lanes::Real as _;
use crate::math::{dot3, particle, xyz};

/// Number of blocks per task.
const BLOCKS: usize = 64;

/// Eight active pairs side by side, with the values that an iteration needs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block {
    rows: [[u32; LANES]; 4],
    weights: [[f32; LANES]; 4],
    normal: [[f32; LANES]; 3],
    slide: [[f32; LANES]; 3],
    closing: [f32; LANES],
    friction: [f32; LANES],
    /// Effective mass times the over-relaxation factor \[kg\].
    part: [f32; LANES],
    push: [f32; LANES],
    drag: [[f32; LANES]; 3],
}

impl Block {
    /// Copies a pair into a lane.
    fn set(&mut self, lane: usize, pair: &Pair) {
        for k in 0..4 {
            self.rows[k][lane] = pair.rows[k];
            self.weights[k][lane] = pair.weights[k];
        }
        for k in 0..3 {
            self.normal[k][lane] = pair.normal[k];
            self.slide[k][lane] = pair.slide[k];
            self.drag[k][lane] = pair.drag[k];
        }
        self.closing[lane] = pair.closing;
        self.friction[lane] = pair.friction;
        self.part[lane] = TRIANGLE_RELAXATION * pair.compliance;
        self.push[lane] = pair.push;
    }

    /// Returns the multipliers of a pair: push and friction.
    fn multipliers(&self, lane: usize) -> (f32, Vec3) {
        (self.push[lane], Vec3::from([0, 1, 2].map(|k| self.drag[k][lane])))
    }

    /// Returns the multipliers of a pair as one vector.
    fn held(&self, lane: usize) -> [f32; 4] {
        let (push, drag) = self.multipliers(lane);
        particle(Vec3::from([0, 1, 2].map(|k| self.normal[k][lane])) * push + drag, 0.0)
    }

    /// Runs one iteration and writes the change of each pair's multipliers.
    #[inline(always)]
    fn relax<S: Simd>(&mut self, simd: S, moves: &[[f32; 4]], changes: &mut [[f32; 4]]) {
        let zero = f32x8::splat(simd, 0.0);
        // relative = sum w dx over the corners: relative motion of the closest points.
        let mut relative = Wide::new(zero, zero, zero);
        for k in 0..4 {
            let [x, y, z, _] = columns::<S, 1>(simd, moves, 0, &self.rows[k]);
            let own = Wide::new(x, y, z) * f32x8::from_slice(simd, &self.weights[k]);
            relative = if k == 0 { own } else { relative + own };
        }
        let (normal, old_drag) = (load(simd, &self.normal), load(simd, &self.drag));
        let [closing, friction] =
            [&self.closing, &self.friction].map(|it| f32x8::from_slice(simd, it));
        let [part, old_push] = [&self.part, &self.push].map(|it| f32x8::from_slice(simd, it));
        let along = normal.dot3(relative);
        // push = max(push - k (n . dx + closing), 0)
        let push = (old_push - (along + closing) * part).greater(zero);
        // drag = drag - k (dx - n (n . dx) + slide), clamped to |drag| <= friction push
        let slide = relative - normal * along + load(simd, &self.slide);
        let drag = old_drag - slide * part;
        let (length, most) = (drag.dot3(drag).sqrt(), friction * push);
        let drag = Wide::select(most.simd_lt(length), drag * (most / length), drag);
        let change = normal * (push - old_push) + drag - old_drag;
        let [x, y, z] = change.coordinates();
        for (lane, change) in changes.iter_mut().enumerate() {
            *change = [x[lane], y[lane], z[lane], 0.0];
        }
        push.store_slice(&mut self.push);
        for (own, drag) in self.drag.iter_mut().zip(drag.coordinates()) {
            drag.store_slice(own);
        }
    }
}

/// Runs one iteration on some blocks.
#[inline(always)]
fn relax_all<S: Simd>(simd: S, blocks: &mut [Block], moves: &[[f32; 4]], changes: &mut [[f32; 4]]) {
    for (block, changes) in blocks.iter_mut().zip(changes.chunks_exact_mut(LANES)) {
        block.relax(simd, moves, changes);
    }
}

impl TriangleContact {
    /// Builds the compressed rows of active pairs by movable row, and the effective masses.
    fn sort_incidence(&mut self) {
        let Self { inverse_mass, work, .. } = self;
        let Work { pairs, begins, corners, weights, sources, tied, active, .. } = work;
        // Nothing is summed at pins and colliders, where thousands of corners may meet.
        let has_corner = |pair: &Pair, k: usize| {
            pair.weights[k] != 0.0 && inverse_mass[pair.rows[k] as usize] != 0.0
        };
        active.clear();
        let is_active = |&(_, pair): &(u32, &Pair)| pair.is_active;
        active.extend((0..).zip(pairs.iter()).filter(is_active).map(|(index, _)| index));
        begins.clear();
        begins.resize(inverse_mass.len() + 1, 0);
        // Counting sort: counts per row, exclusive prefix sum, scatter.
        for pair in active.iter().map(|&index| &pairs[index as usize]) {
            for k in (0..4).filter(|&k| has_corner(pair, k)) {
                begins[pair.rows[k] as usize] += 1;
            }
        }
        let mut sum = 0;
        for begin in begins.iter_mut() {
            sum += std::mem::replace(begin, sum);
        }
        corners.clear();
        corners.resize(sum as usize, 0);
        weights.clear();
        weights.resize(sum as usize, 0.0);
        sources.clear();
        sources.resize(sum as usize, 0);
        for (source, &index) in (0..).zip(active.iter()) {
            let pair = &pairs[index as usize];
            for k in (0..4).filter(|&k| has_corner(pair, k)) {
                let slot = &mut begins[pair.rows[k] as usize];
                corners[*slot as usize] = 4 * index + k as u32;
                weights[*slot as usize] = pair.weights[k];
                sources[*slot as usize] = source;
                *slot += 1;
            }
        }
        // The scatter advanced each begin to the end of its row.
        begins.rotate_right(1);
        begins[0] = 0;
        tied.clear();
        let rows = (0..).zip(begins.windows(2));
        tied.extend(rows.filter(|(_, ends)| ends[0] < ends[1]).map(|(row, _)| row));
        for &index in active.iter() {
            let pair = &mut pairs[index as usize];
            let mut sum = 0.0;
            for k in 0..4 {
                let row = pair.rows[k] as usize;
                let count = (begins[row + 1] - begins[row]) as f32;
                // Mass splitting: a row with n contacts has mass m / n in each.
                sum += pair.weights[k] * pair.weights[k] * inverse_mass[row] * count;
            }
            pair.compliance = if sum > 0.0 { 1.0 / sum } else { 0.0 };
            // Pairs of immovable rows cannot push.
            pair.is_active = sum > 0.0;
        }
        self.pack_blocks();
    }

    /// Packs active pairs into blocks of eight. Unused lanes of the last block push nothing.
    fn pack_blocks(&mut self) {
        let Work { pairs, active, blocks, changes, .. } = &mut self.work;
        blocks.clear();
        blocks.extend(active.chunks(LANES).map(|active| {
            let mut block = Block::default();
            for (lane, &index) in active.iter().enumerate() {
                block.set(lane, &pairs[index as usize]);
            }
            block
        }));
        changes.clear();
        changes.resize(LANES * blocks.len(), [0.0; 4]);
    }

    /// Adds the changes of the multipliers to the moves of their corners: dx = m^-1 sum w change.
    /// With `is_carried` the correction adds no velocity.
    fn gather_corrections(&mut self, is_carried: bool) {
        let Work { begins, sources, weights, tied, changes, moves, .. } = &mut self.work;
        for row in tied.iter().map(|&row| row as usize) {
            let range = begins[row] as usize..begins[row + 1] as usize;
            let mut sum = [0.0; 4];
            for (source, weight) in sources[range.clone()].iter().zip(&weights[range]) {
                let change = &changes[*source as usize];
                for (sum, change) in sum.iter_mut().zip(change) {
                    *sum += *change * *weight;
                }
            }
            let push = sum.map(|sum| sum * self.inverse_mass[row]);
            for (step, push) in moves[row].iter_mut().zip(push) {
                *step += push;
            }
            if is_carried {
                self.carry[row] += xyz(push);
            }
        }
    }

    /// Pushes pairs apart by correcting the moves of this round, which is a fraction `part` of the
    /// slice.
    pub(super) fn solve_pairs(&mut self, iterations: u32, part: f32) {
        self.build_pairs(part);
        self.sort_incidence();
        let Work { aims, moves, blocks, changes, .. } = &mut self.work;
        moves.clear();
        moves.extend(aims.iter().map(|aim| particle(*aim, 0.0)));
        // Warm start: the stored multipliers act at once.
        for (block, changes) in blocks.iter().zip(changes.chunks_mut(LANES)) {
            for (lane, change) in changes.iter_mut().enumerate() {
                *change = block.held(lane);
            }
        }
        self.gather_corrections(false);
        for iteration in 0..iterations + TRIANGLE_MORE_ITERATIONS {
            // More iterations only while pins or colliders press a pair.
            if iteration >= iterations && !self.is_pressed() {
                break;
            }
            let Work { blocks, moves, changes, .. } = &mut self.work;
            let moves = &*moves;
            let each = blocks.par_chunks_mut(BLOCKS).zip(changes.par_chunks_mut(BLOCKS * LANES));
            each.for_each(|(blocks, changes)| {
                dispatch!(Level::new(), simd => relax_all(simd, blocks, moves, changes));
            });
            self.gather_corrections(false);
        }
        let Work { pairs, active, blocks, .. } = &mut self.work;
        for (block, active) in blocks.iter().zip(active.chunks(LANES)) {
            for (lane, &index) in active.iter().enumerate() {
                let pair = &mut pairs[index as usize];
                (pair.push, pair.drag) = block.multipliers(lane);
            }
        }
    }

    /// Ends the response of a round whose part is final: recovers overlaps and stores multipliers
    /// for the next slice.
    pub(super) fn keep(&mut self, part: f32) {
        self.reduce_overlaps();
        let Self { candidates, held, work, report, .. } = self;
        if part > 0.0 {
            held.clear();
            held.extend(work.pairs.iter().filter(|pair| pair.push > 0.0).map(|pair| {
                PairMultipliers {
                    rank: pair.rank,
                    // Stored for a whole slice.
                    push: pair.push / part,
                    drag: (pair.drag / part).to_array(),
                }
            }));
        }
        report.candidates = candidates.len() as u32;
        report.contacts = work.pairs.iter().filter(|pair| pair.push > 0.0).count() as u32;
    }

    /// Returns how far pins or colliders close an active pair in this round \[m\]; `None` if the
    /// pair has no immovable corner or does not push.
    pub(super) fn pressing(&self, pair: &Pair) -> Option<f32> {
        let has_pin = pair.rows.iter().any(|&row| self.inverse_mass[row as usize] == 0.0);
        (has_pin && pair.is_active).then(|| -dot3(pair.normal, mix(pair, &self.work.moves)))
    }

    /// Tests whether pins or colliders close a pair by more than one round may.
    fn is_pressed(&self) -> bool {
        let pairs = self.work.pairs.par_iter().with_min_len(1024);
        pairs.any(|pair| self.pressing(pair).is_some_and(|it| it > TRIANGLE_APPROACH * pair.gap))
    }

    /// Removes a part of each overlap without adding velocity.
    fn reduce_overlaps(&mut self) {
        let Work { pairs, active, moves, changes, .. } = &mut self.work;
        let mut is_needed = false;
        for (&index, change) in active.iter().zip(changes) {
            let pair = &pairs[index as usize];
            *change = [0.0; 4];
            if pair.is_active && pair.overlap > 0.0 {
                let along = dot3(pair.normal, mix(pair, moves));
                // need = recovery * overlap - n . dx: what the moves do not recover by themselves
                let need = (TRIANGLE_RECOVERY * pair.overlap - along).max(0.0);
                *change = particle(pair.normal * (need * pair.compliance), 0.0);
                is_needed |= need > 0.0;
            }
        }
        if is_needed {
            self.gather_corrections(true);
        }
    }
}
