//! Which points are near one another, and for how long that is known.
//!
//! A search lists what is nearer than a reach, which is a margin more than what touches. The lists hold until points have moved
//! relative to each other by the margin: a cloth that falls keeps its lists. So displacements are compared region by region, in
//! which points move much alike.

use fearless_simd::{f32x4, prelude::*};
use poplin_layout::SELF_MAX_CELL;
use poplin_reference::bucket_of_cell;

use crate::lanes::{Lanes, MAX_LANES};
use crate::vector::Vec3;

/// Adding it rounds a float of up to 22 bits to an integer, which the lowest bits of the sum then hold.
const ROUNDING: f32 = 12_582_912.0;

/// Largest coordinate of a cell, that of the mirror's grid of self collision: farther away rounding would part neighbours.
pub(crate) const MAX_CELL: f32 = SELF_MAX_CELL;

/// How much wider a cell is than the reach of a search, so that rounding separates no two points by more than one cell.
const CELL_MARGIN: f32 = 1.01;

/// Margin of the first search, relative to the distance at which points touch.
const FIRST_MARGIN: f32 = 0.25;

/// Least and largest margin of later ones.
const MARGINS: [f32; 2] = [0.1, 0.5];

/// Steps for which a list should last: the margin is what points drift apart in so many.
const LIFETIME: f32 = 6.0;

/// Cells of a search along the side of a region at least, as a power of two.
const REGION_BITS: u32 = 3;

/// Lists are kept while points in regions which do not adjoin move relative to each other by no more than the distance times
/// this: a whole region is between them.
const FAR_DRIFT: f32 = 7.0;

/// Points for each region at least, empty regions counted.
const PER_REGION: usize = 8;

/// Points by the cell in which they lie. A point's slot is its position in this order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    /// One over the side of a cell [1/m].
    scale: f32,
    bucket_count: u32,
    /// Where the slots of each bucket begin, and where the last ends.
    begins: Vec<u32>,
    /// Bucket of each point.
    buckets: Vec<u32>,
    /// Point of each slot.
    points: Vec<u32>,
    /// Coordinates of each slot \[m\].
    columns: [Vec<f32>; 3],
}

impl Grid {
    /// Sorts points for searches that reach so far \[m\]; false if one is too far away for that.
    pub(crate) fn fill(&mut self, points: &[[f32; 4]], reach: f32) -> bool {
        self.scale = 1.0 / (CELL_MARGIN * reach);
        self.bucket_count = (2 * points.len()).next_power_of_two().max(256) as u32;
        self.begins.clear();
        self.begins.resize(self.bucket_count as usize + 1, 0);
        self.buckets.clear();
        let most = MAX_CELL / self.scale;
        let mut is_near = true;
        for point in points {
            // No number compares as near.
            is_near &= (point[0].abs() < most) & (point[1].abs() < most) & (point[2].abs() < most);
            let bucket = bucket_of_cell(self.cell(point), self.bucket_count);
            self.begins[bucket as usize] += 1;
            self.buckets.push(bucket);
        }
        if !is_near {
            return false;
        }
        let mut sum = 0;
        for begin in &mut self.begins {
            sum += std::mem::replace(begin, sum);
        }
        self.points.resize(points.len(), 0);
        for (index, &bucket) in self.buckets.iter().enumerate() {
            // The begin of a bucket moves on while it is filled, and so becomes its end, the begin of the next.
            let begin = &mut self.begins[bucket as usize];
            self.points[*begin as usize] = index as u32;
            *begin += 1;
        }
        self.begins.rotate_right(1);
        self.begins[0] = 0;
        for (k, column) in self.columns.iter_mut().enumerate() {
            column.clear();
            column.extend(self.points.iter().map(|&index| points[index as usize][k]));
            // A vector that begins at the last one.
            column.resize(points.len() + MAX_LANES, 0.0);
        }
        true
    }

    /// Point of each slot.
    pub(crate) fn points(&self) -> &[u32] {
        &self.points
    }

    /// The cell of a point.
    fn cell(&self, point: &[f32; 4]) -> [i32; 3] {
        [0, 1, 2].map(|k| (point[k] * self.scale + ROUNDING).to_bits().cast_signed())
    }

    /// Adds the slots that are closer to a point than `reach`, at most that of [`Self::fill`].
    #[inline(always)]
    pub(crate) fn find<S: Simd, V: Lanes<S>>(
        &self,
        simd: S,
        point: &[f32; 4],
        reach: f32,
        found: &mut Vec<u32>,
    ) {
        let mask = self.bucket_count - 1;
        let splat = |value: f32| V::splat(simd, value);
        let most = splat(reach * reach);
        let position = Vec3::<S, V>::new(splat(point[0]), splat(point[1]), splat(point[2]));
        let center = bucket_of_cell(self.cell(point), self.bucket_count);
        for row in 0..9 {
            let step = bucket_of_cell([-1, row % 3 - 1, row / 3 - 1], self.bucket_count);
            let begin = center.wrapping_add(step) & mask;
            let last = begin + 2;
            // The row may run past the last bucket: then it wraps to the first.
            for part in 0..=u32::from(last > mask) {
                let (mut begin, end) = if part == 0 {
                    let end = self.begins[last.min(mask) as usize + 1];
                    (self.begins[begin as usize] as usize, end as usize)
                } else {
                    (0, self.begins[(last & mask) as usize + 1] as usize)
                };
                while begin < end {
                    let load = |k: usize| V::from_slice(simd, &self.columns[k][begin..][..V::LEN]);
                    let between = position.sub(Vec3::new(load(0), load(1), load(2)));
                    let is_near = between.dot(between).simd_lt(most);
                    let count = V::LEN.min(end - begin);
                    let mut bits = is_near.to_bitmask() & ((1 << count) - 1);
                    while bits != 0 {
                        found.push(begin as u32 + bits.trailing_zeros());
                        bits &= bits - 1;
                    }
                    begin += V::LEN;
                }
            }
        }
    }

    /// Bytes of its vectors.
    pub(crate) fn size(&self) -> usize {
        let indices = [&self.begins, &self.buckets, &self.points].map(Vec::capacity);
        let columns = self.columns.iter().map(Vec::capacity).sum::<usize>();
        4 * (indices.iter().sum::<usize>() + columns)
    }
}

/// Boxes in space, in which points move much alike.
#[derive(Debug, Clone, Default)]
struct Regions {
    /// How many there are along each axis.
    counts: [usize; 3],
    /// Region of each point.
    of_points: Vec<u32>,
    /// Least and largest displacement in each region since the search \[m\].
    displacements: Vec<[[f32; 4]; 2]>,
}

/// Displacements of no point.
const NO_DISPLACEMENTS: [[f32; 4]; 2] = [[f32::INFINITY; 4], [f32::NEG_INFINITY; 4]];

/// Displacements of both.
fn union([a_low, a_high]: [[f32; 4]; 2], [b_low, b_high]: [[f32; 4]; 2]) -> [[f32; 4]; 2] {
    let low = std::array::from_fn(|k| a_low[k].min(b_low[k]));
    [low, std::array::from_fn(|k| a_high[k].max(b_high[k]))]
}

/// How far two of some displacements are apart at most.
fn spread([low, high]: [[f32; 4]; 2]) -> f32 {
    let extent = |k: usize| high[k] - low[k];
    (extent(0) * extent(0) + extent(1) * extent(1) + extent(2) * extent(2)).sqrt()
}

impl Regions {
    /// Divides the space of some cells, at most so finely that every region has some points on average.
    fn divide(&mut self, cells: impl Iterator<Item = [i32; 3]> + Clone, count: usize) {
        let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
        for cell in cells.clone() {
            for k in 0..3 {
                (low[k], high[k]) = (low[k].min(cell[k]), high[k].max(cell[k]));
            }
        }
        let mut bits = REGION_BITS;
        let counts = |bits: u32| [0, 1, 2].map(|k| ((high[k] - low[k]) >> bits) as usize + 1);
        while counts(bits).iter().product::<usize>() > 1 + count / PER_REGION {
            bits += 1;
        }
        self.counts = counts(bits);
        let region = |cell: [i32; 3]| {
            let [x, y, z] = [0, 1, 2].map(|k| ((cell[k] - low[k]) >> bits) as usize);
            (x + self.counts[0] * (y + self.counts[1] * z)) as u32
        };
        self.of_points.clear();
        self.of_points.extend(cells.map(region));
    }

    /// How far points in a region or adjoining ones have moved relative to each other at most, and all points \[m\].
    fn drift(&self) -> [f32; 2] {
        let [width, height, depth] = self.counts;
        let at = |x: usize, y: usize, z: usize| self.displacements[x + width * (y + height * z)];
        let around = |k: usize, count: usize| k..count.min(k + 2);
        let (mut drift, mut all) = (0.0_f32, NO_DISPLACEMENTS);
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    all = union(all, at(x, y, z));
                    // All cubes of two regions along each axis hold all pairs that adjoin.
                    let mut cube = NO_DISPLACEMENTS;
                    for z in around(z, depth) {
                        for y in around(y, height) {
                            for x in around(x, width) {
                                cube = union(cube, at(x, y, z));
                            }
                        }
                    }
                    let spread = spread(cube);
                    if spread.is_finite() || cube[0][0] <= cube[1][0] {
                        drift = drift.max(spread);
                    }
                }
            }
        }
        [drift, spread(all)]
    }
}

/// How far points have moved since a search, and how long its lists hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    /// Whether there are lists.
    is_on: bool,
    /// The distance at which points touch \[m\].
    distance: f32,
    /// How far points may have moved relative to each other since the search \[m\].
    margin: f32,
    /// Steps since the search.
    age: u32,
    /// Where each point was at the search.
    before: Vec<[f32; 4]>,
    /// The largest coordinate at the search \[m\].
    farthest: f32,
    regions: Regions,
}

/// How far points have moved since a search \[m\].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drift {
    /// Those in one region or adjoining ones relative to each other at most.
    near: f32,
    /// Any two relative to each other at most.
    all: f32,
    /// The largest coordinate that one may have now.
    pub(crate) farthest: f32,
}

impl Watch {
    /// Whether there are lists.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Forgets the lists.
    pub(crate) fn end(&mut self) {
        self.is_on = false;
    }

    /// Begins with points that touch within a distance and are listed within a margin more by a search in this grid.
    pub(crate) fn begin(&mut self, grid: &Grid, points: &[[f32; 4]], distance: f32, margin: f32) {
        self.before.clear();
        self.before.extend_from_slice(points);
        self.regions.divide(points.iter().map(|point| grid.cell(point)), points.len());
        (self.distance, self.age, self.is_on) = (distance, 0, true);
        self.margin = 0.999 * margin - 1e-5 * (distance + margin);
        self.farthest = points.iter().fold(0.0, |farthest: f32, point| {
            farthest.max(point[0].abs()).max(point[1].abs()).max(point[2].abs())
        });
    }

    /// The largest coordinate at the search \[m\].
    pub(crate) fn farthest(&self) -> f32 {
        self.farthest
    }

    /// Another step, with the points where they are now.
    #[inline(always)]
    pub(crate) fn follow<S: Simd>(&mut self, simd: S, points: &[[f32; 4]]) -> Drift {
        self.age += 1;
        let displacements = &mut self.regions.displacements;
        displacements.clear();
        displacements.resize(self.regions.counts.iter().product(), NO_DISPLACEMENTS);
        let mut region = 0;
        let [mut low, mut high] = NO_DISPLACEMENTS.map(|row| f32x4::from_slice(simd, &row));
        let points = points.iter().zip(&self.before).zip(&self.regions.of_points);
        for ((now, before), &own) in points {
            if own != region {
                // Points one after the other mostly are in one region.
                let row = &mut displacements[region as usize];
                low.store_slice(&mut row[0]);
                high.store_slice(&mut row[1]);
                let row = displacements[own as usize];
                (low, high) = (f32x4::from_slice(simd, &row[0]), f32x4::from_slice(simd, &row[1]));
                region = own;
            }
            let displacement = f32x4::from_slice(simd, now) - f32x4::from_slice(simd, before);
            low = low.min_precise(displacement);
            high = high.max_precise(displacement);
        }
        let row = &mut displacements[region as usize];
        low.store_slice(&mut row[0]);
        high.store_slice(&mut row[1]);
        let [near, all] = self.regions.drift();
        let farthest = self.regions.displacements.iter().fold(0.0, |farthest: f32, [low, high]| {
            (0..3).fold(farthest, |farthest, k| farthest.max(-low[k]).max(high[k]))
        });
        Drift { near, all, farthest: self.farthest + farthest }
    }

    /// Whether the lists still hold after so much drift.
    pub(crate) fn holds(&self, drift: &Drift) -> bool {
        drift.near <= self.margin && drift.all <= FAR_DRIFT * self.distance
    }

    /// The margin that new lists should have \[m\], after so much drift if there were some.
    pub(crate) fn next_margin(&self, distance: f32, drift: Option<&Drift>) -> f32 {
        let Some(drift) = drift else { return FIRST_MARGIN * distance };
        let [least, most] = MARGINS.map(|margin| margin * distance);
        let speed = drift.near / self.age as f32;
        // Lists that would not be read twice need no margin.
        if 2.0 * speed > most { 0.0 } else { (LIFETIME * speed).clamp(least, most) }
    }

    /// Bytes of its vectors.
    pub(crate) fn size(&self) -> usize {
        16 * self.before.capacity()
            + 4 * self.regions.of_points.capacity()
            + 32 * self.regions.displacements.capacity()
    }
}

/// The cell of a position in a grid of the mirror as a key that orders cells along z, then y, then x; of no use beyond
/// [`MAX_CELL`].
#[inline(always)]
pub(crate) fn cell_key(row: &[f32; 4], inverse_cell: f32) -> u64 {
    let coordinate = |x: f32| {
        let scaled = x * inverse_cell;
        let rounded = scaled + ROUNDING;
        // The integer below.
        let bits = rounded.to_bits().wrapping_sub(u32::from(rounded - ROUNDING > scaled));
        u64::from(bits.wrapping_sub(ROUNDING.to_bits() - 2 * MAX_CELL as u32))
    };
    coordinate(row[2]) << 36 | coordinate(row[1]) << 18 | coordinate(row[0])
}

/// Sorts a few items, most of which are in order.
#[inline(always)]
pub(crate) fn sort_few<T: Copy, K: PartialOrd>(items: &mut [T], key: impl Fn(&T) -> K) {
    let mut last = key(&items[0]);
    for end in 1..items.len() {
        let item = items[end];
        let own = key(&item);
        if own < last {
            let mut slot = end;
            while slot > 0 && own < key(&items[slot - 1]) {
                items[slot] = items[slot - 1];
                slot -= 1;
            }
            items[slot] = item;
        } else {
            last = own;
        }
    }
}
