//! Candidate lists and contacts of a block of rows.

use std::ops::Range;

use crate::contact::{ContactMemory, wants};
use poplin_layout::{ContactCloth, ContactParameters, MIN_SQUARE};

use super::rows::{Rows, square_between};
use crate::lanes::{MAX_LANES, Real, gather};
use crate::vector::Vec3;
use crate::wide::near::{Grid, sort_few};

/// Candidate of a contact pair: the index of the other row among the followed rows, and the squared
/// contact distance \[m^2\].
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    index: u32,
    square: f32,
}

/// Lists, contacts and results of the rows of a block.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    /// End of the candidate list of each row.
    ends: Vec<u32>,
    candidates: Vec<Candidate>,
    /// End of the contacts of each row.
    contact_ends: Vec<u32>,
    /// Both rows of each contact pair.
    firsts: Vec<u32>,
    seconds: Vec<u32>,
    /// Push and friction displacement of the first row of each contact \[m\].
    pushes: Vec<[f32; 4]>,
    drags: Vec<[f32; 4]>,
    /// Sleeping cloths that contacts wake.
    pub(super) woken: Vec<u32>,
    /// Scratch memory of a search.
    found: Vec<u32>,
}

/// Read-only inputs of all blocks.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) parameters: &'a ContactParameters,
    pub(super) cloths: &'a [ContactCloth],
    pub(super) mirror: &'a ContactMemory,
    pub(super) rows: &'a Rows,
}

/// Arguments of a search for one block.
pub(super) struct Search<'a> {
    pub(super) shared: Shared<'a>,
    pub(super) grid: &'a Grid,
    pub(super) margin: f32,
    pub(super) block: &'a mut Block,
}

/// Lists the candidates of a range of rows.
#[inline(always)]
pub(super) fn list<V: Real>(simd: V::Token, search: &mut Search<'_>, indices: Range<u32>) {
    let &mut Search { shared: Shared { cloths, mirror, rows, .. }, grid, margin, .. } = search;
    let block = &mut *search.block;
    block.ends.clear();
    block.candidates.clear();
    for index in indices {
        let index = index as usize;
        let (own, radius) = (&rows.now[index], rows.motions[index][3]);
        block.found.clear();
        grid.find::<V>(simd, own, radius + mirror.widest + margin, &mut block.found);
        for &slot in &block.found {
            let other = grid.points()[slot as usize];
            if wants(cloths, rows.slots[index], rows.slots[other as usize]) {
                let distance = radius + rows.motions[other as usize][3];
                // Slightly longer, against rounding of the squared distance.
                let reach = 1.0001 * (distance + margin);
                if square_between(own, &rows.now[other as usize]) <= reach * reach {
                    let square = distance * distance;
                    block.candidates.push(Candidate { index: other, square });
                }
            }
        }
        block.ends.push(block.candidates.len() as u32);
    }
}

/// Arguments of a pass for one block.
pub(super) struct Pass<'a> {
    pub(super) shared: Shared<'a>,
    pub(super) counts: &'a [u32],
    pub(super) block: &'a mut Block,
    /// Pushes of the rows of the block.
    pub(super) pushes: &'a mut [[f32; 4]],
}

impl Block {
    /// Finds and counts the contacts of each row from `begin` on, in the order of the reference.
    pub(super) fn touch(&mut self, shared: &Shared<'_>, begin: usize, counts: &mut [u32]) {
        let &Shared { cloths, mirror, rows, .. } = shared;
        let Rows { slots, now, motions, cells, .. } = rows;
        self.contact_ends.clear();
        self.firsts.clear();
        self.seconds.clear();
        self.woken.clear();
        let key = |index: u32| (cells[index as usize], index);
        let mut listed = 0;
        for ((index, &end), count) in (begin..).zip(&self.ends).zip(counts) {
            let (own, slot) = (&now[index], slots[index] as usize);
            let candidates = &self.candidates[listed..end as usize];
            listed = end as usize;
            let first = self.seconds.len();
            for candidate in candidates {
                if square_between(own, &now[candidate.index as usize]) < candidate.square {
                    self.seconds.push(candidate.index);
                }
            }
            let touched = &mut self.seconds[first..];
            if !touched.is_empty() {
                if own[3] > 0.0 {
                    // Order of the reference: cells by z, then y, then x; within a cell by row.
                    sort_few(touched, |&other| key(other));
                } else {
                    let farthest = |&other: &u32| {
                        let [x, y, z, _] = motions[other as usize].map(f32::abs);
                        x.max(y.max(z))
                    };
                    // A sleeping cloth wakes if a touching row moves farther than the threshold.
                    let threshold = cloths[slot].wake_distance;
                    if mirror.is_held[slot]
                        && touched.iter().any(|other| farthest(other) > threshold)
                    {
                        self.woken.push(slot as u32);
                    }
                    // Rows without inverse mass need neither pushes nor their number.
                    self.seconds.truncate(first);
                }
            }
            *count = (self.seconds.len() - first) as u32;
            self.firsts.resize(self.seconds.len(), index as u32);
            self.contact_ends.push(self.seconds.len() as u32);
        }
        // Padding lanes repeat the last contact.
        if let (Some(&first), Some(&second)) = (self.firsts.last(), self.seconds.last()) {
            let padded = self.firsts.len().next_multiple_of(MAX_LANES);
            self.firsts.resize(padded, first);
            self.seconds.resize(padded, second);
        }
        self.pushes.resize(self.firsts.len(), [0.0; 4]);
        self.drags.resize(self.firsts.len(), [0.0; 4]);
    }

    /// Size of its vectors \[bytes\].
    pub(super) fn size(&self) -> usize {
        let indices = [&self.ends, &self.contact_ends, &self.firsts, &self.seconds, &self.found];
        4 * (indices.map(Vec::capacity).iter().sum::<usize>() + self.woken.capacity())
            + 16 * (self.pushes.capacity() + self.drags.capacity())
            + size_of::<Candidate>() * self.candidates.capacity()
    }
}

/// Computes the pushes of all contacts of a block and sums them per row, from row `indices.start`
/// on, in the local space of each cloth.
#[inline(always)]
pub(super) fn push<V: Real>(simd: V::Token, pass: &mut Pass<'_>, indices: Range<u32>) {
    let Shared { parameters, cloths, rows: Rows { slots, now, motions, .. }, .. } = pass.shared;
    let (counts, block) = (pass.counts, &mut *pass.block);
    let splat = |value: f32| V::splat(simd, value);
    for begin in (0..block.firsts.len()).step_by(V::LEN) {
        let first = |lane: usize| block.firsts[begin + lane] as usize;
        let second = |lane: usize| block.seconds[begin + lane] as usize;
        let own = gather(simd, |lane| now[first(lane)]);
        let other = gather(simd, |lane| now[second(lane)]);
        let own_motion = gather(simd, |lane| motions[first(lane)]);
        let other_motion = gather(simd, |lane| motions[second(lane)]);
        let (mut aside, mut contacts) = ([0.0; MAX_LANES], [0.0; MAX_LANES]);
        for lane in 0..V::LEN {
            let (i, j) = (first(lane), second(lane));
            aside[lane] = if i < j { 1.0 } else { -1.0 };
            // Pushes are averaged over the contacts of the row that has more of them.
            contacts[lane] = counts[i].max(counts[j]).max(1) as f32;
        }
        let [aside, contacts] = [aside, contacts].map(|row| V::from_slice(simd, &row[..V::LEN]));
        let delta = Vec3::<V>::xyz(own) - Vec3::xyz(other);
        let square = delta.dot(delta);
        let length = square.sqrt();
        // push = stiffness overlap n w_a / (w_a + w_b) / contacts
        let overlap = own_motion[3] + other_motion[3] - length;
        let is_apart = splat(MIN_SQUARE).simd_lt(square);
        // Coincident rows part along y, the one with the lower index upwards.
        let up = Vec3::new(splat(0.0), aside, splat(0.0));
        let normal = (delta / length).or(is_apart, up);
        let fraction = own[3] / (own[3] + other[3]) / contacts;
        let relative = Vec3::xyz(other_motion) - Vec3::xyz(own_motion);
        // Friction removes a fraction of the tangential relative motion.
        let along = relative - normal * relative.dot(normal);
        let push = normal * (splat(parameters.stiffness) * overlap * fraction);
        let drag = along * (splat(parameters.friction) * fraction);
        V::rows(push.with(length), &mut block.pushes[begin..][..V::LEN]);
        V::rows(drag.with(length), &mut block.drags[begin..][..V::LEN]);
    }
    let mut listed = 0;
    let rows = indices.zip(&block.contact_ends).zip(&mut *pass.pushes);
    for ((index, &end), sum) in rows {
        let contacts = listed..end as usize;
        listed = end as usize;
        let mut push = [0.0; 4];
        for (own, drag) in block.pushes[contacts.clone()].iter().zip(&block.drags[contacts]) {
            V::add_row(simd, &mut push, own);
            V::add_row(simd, &mut push, drag);
        }
        *sum = push;
        let cloth = &cloths[slots[index as usize] as usize];
        // The inverse of a rotation is its transpose: dot products with the axes.
        let along = |axis: &[f32; 4]| axis[0] * sum[0] + axis[1] * sum[1] + axis[2] * sum[2];
        *sum = [along(&cloth.axis_x), along(&cloth.axis_y), along(&cloth.axis_z), 0.0];
    }
}
