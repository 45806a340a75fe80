//! Twin of `shaders/contact/sort.wgsl`. One thread needs no atomic counters: it visits the rows in
//! order.

use std::ops::Range;

use poplin_layout::ContactParameters;
use rayon::prelude::*;

use super::memory::{ContactMemory, bucket_of, cell_of, line_of};
use crate::math::xyz;

/// Bucket of a row of a cloth that meets no other.
const NO_BUCKET: u32 = u32::MAX;

impl ContactMemory {
    /// Sorts the rows of cloths that meet others by bucket: counting sort with an exclusive prefix
    /// sum.
    pub(super) fn sort(&mut self, parameters: &ContactParameters) {
        let mut buckets = std::mem::take(&mut self.buckets);
        (0..self.positions.len())
            .into_par_iter()
            .with_min_len(1024)
            .map(|i| {
                if self.is_row_met(i) {
                    bucket_of(parameters, cell_of(parameters, xyz(self.positions[i])))
                } else {
                    NO_BUCKET
                }
            })
            .collect_into_vec(&mut buckets);
        self.begins.clear();
        self.begins.resize(parameters.bucket_count as usize + 1, 0);
        for &bucket in buckets.iter().filter(|&&bucket| bucket != NO_BUCKET) {
            self.begins[bucket as usize] += 1;
        }
        let mut sum = 0;
        for begin in &mut self.begins {
            sum += std::mem::replace(begin, sum);
        }
        self.sorted.clear();
        self.sorted.resize(sum as usize, 0);
        for (i, &bucket) in buckets.iter().enumerate().filter(|(_, bucket)| **bucket != NO_BUCKET) {
            // The scatter advances the begin of each bucket to its end, which is the begin of the
            // next.
            let slot = &mut self.begins[bucket as usize];
            self.sorted[*slot as usize] = i as u32;
            *slot += 1;
        }
        self.begins.rotate_right(1);
        self.begins[0] = 0;
        self.buckets = buckets;
        self.sorted_positions.clear();
        self.sorted_positions.extend(self.sorted.iter().map(|&i| self.positions[i as usize]));
    }

    /// Calls `found` with the sorted positions of the rows in the 27 cells around row i, ordered by
    /// cell and row.
    pub(super) fn for_neighbors(
        &self,
        parameters: &ContactParameters,
        i: usize,
        mut found: impl FnMut(Range<usize>),
    ) {
        let cell = cell_of(parameters, xyz(self.positions[i]));
        let range = |first: u32, end: u32| {
            self.begins[first as usize] as usize..self.begins[end as usize] as usize
        };
        for k in 0..9 {
            let first = line_of(parameters, cell, k);
            found(range(first, (first + 3).min(parameters.bucket_count)));
            if first + 3 > parameters.bucket_count {
                // The line wraps from the last bucket to the first.
                found(range(0, first + 3 - parameters.bucket_count));
            }
        }
    }
}
