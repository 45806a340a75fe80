//! Proximity search in a grid, with a criterion for how long its result stays valid.
//!
//! A search lists pairs up to the contact distance plus a margin. The lists stay valid until points
//! have moved relative to each other by the margin: a falling cloth keeps its lists. Displacements
//! are therefore compared within regions of space, where points move almost alike.

use crate::bucket_of_cell;
use fearless_simd::{Simd, f32x4};
use poplin_layout::SELF_MAX_CELL;

use crate::lanes::{LaneMask as _, MAX_LANES, Real};
use crate::vector::Vec3;

/// Adding this constant (1.5 * 2^23) rounds a float of up to 22 bits to an integer, which the
/// lowest bits of the sum then hold.
const ROUNDING: f32 = 12_582_912.0;

/// Largest cell coordinate, as in the reference grid of self collision. Farther out, rounding would
/// separate neighbors.
pub(crate) const MAX_CELL: f32 = SELF_MAX_CELL;

/// Ratio of the cell size to the reach of a search, so that rounding never separates neighbors by
/// more than one cell.
const CELL_MARGIN: f32 = 1.01;

/// Margin of the first search, relative to the contact distance.
const FIRST_MARGIN: f32 = 0.25;

/// Least and largest margin of later searches, relative to the contact distance.
const MARGINS: [f32; 2] = [0.1, 0.5];

/// Target lifetime of a list \[steps\]: the margin is the expected drift over this time.
const LIFETIME: f32 = 6.0;

/// Least side of a region, as power of two of cells.
const REGION_BITS: u32 = 3;

/// Largest relative motion of points in regions that are not adjacent, relative to the contact
/// distance: a whole region lies between them.
const FAR_DRIFT: f32 = 7.0;

/// Least average number of points per region, empty regions included.
const PER_REGION: usize = 8;

/// Points sorted by hashed cell. A point's slot is its position in this order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    /// Inverse cell size [1/m].
    scale: f32,
    bucket_count: u32,
    /// First slot of each bucket, and the end of the last one: `[bucket_count + 1]`, prefix sums.
    begins: Vec<u32>,
    /// Bucket of each point.
    buckets: Vec<u32>,
    /// Point of each slot.
    points: Vec<u32>,
    /// Coordinates of each slot \[m\], padded so that a vector can be loaded from any slot.
    columns: [Vec<f32>; 3],
}

impl Grid {
    /// Sorts points (counting sort) for searches up to `reach` \[m\]. Returns false if a point is
    /// too far from the origin for that.
    pub(crate) fn fill(&mut self, points: &[[f32; 4]], reach: f32) -> bool {
        self.scale = 1.0 / (CELL_MARGIN * reach);
        self.bucket_count = (2 * points.len()).next_power_of_two().max(256) as u32;
        self.begins.clear();
        self.begins.resize(self.bucket_count as usize + 1, 0);
        self.buckets.clear();
        let most = MAX_CELL / self.scale;
        let mut is_near = true;
        for point in points {
            // A NaN fails every comparison.
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
            // Each begin advances while its bucket is filled and ends as the begin of the next
            // bucket.
            let begin = &mut self.begins[bucket as usize];
            self.points[*begin as usize] = index as u32;
            *begin += 1;
        }
        self.begins.rotate_right(1);
        self.begins[0] = 0;
        for (k, column) in self.columns.iter_mut().enumerate() {
            column.clear();
            column.extend(self.points.iter().map(|&index| points[index as usize][k]));
            // Padding for a vector load at the last slot.
            column.resize(points.len() + MAX_LANES, 0.0);
        }
        true
    }

    /// Point of each slot.
    pub(crate) fn points(&self) -> &[u32] {
        &self.points
    }

    /// Cell coordinates of a point.
    fn cell(&self, point: &[f32; 4]) -> [i32; 3] {
        [0, 1, 2].map(|k| (point[k] * self.scale + ROUNDING).to_bits().cast_signed())
    }

    /// Appends the slots within `reach` of a point; `reach` is at most that of [`Self::fill`].
    #[inline(always)]
    pub(crate) fn find<V: Real>(
        &self,
        simd: V::Token,
        point: &[f32; 4],
        reach: f32,
        found: &mut Vec<u32>,
    ) {
        let mask = self.bucket_count - 1;
        let splat = |value: f32| V::splat(simd, value);
        let most = splat(reach * reach);
        let position = Vec3::<V>::new(splat(point[0]), splat(point[1]), splat(point[2]));
        let center = bucket_of_cell(self.cell(point), self.bucket_count);
        for row in 0..9 {
            // The hash is linear, and cells along x follow one another: 9 rows of 3 buckets cover
            // all 27 neighbor cells.
            let step = bucket_of_cell([-1, row % 3 - 1, row / 3 - 1], self.bucket_count);
            let begin = center.wrapping_add(step) & mask;
            let last = begin + 2;
            // A row that runs past the last bucket continues at the first one.
            for part in 0..=u32::from(last > mask) {
                let (mut begin, end) = if part == 0 {
                    let end = self.begins[last.min(mask) as usize + 1];
                    (self.begins[begin as usize] as usize, end as usize)
                } else {
                    (0, self.begins[(last & mask) as usize + 1] as usize)
                };
                while begin < end {
                    let load = |k: usize| V::from_slice(simd, &self.columns[k][begin..][..V::LEN]);
                    let between = position - Vec3::new(load(0), load(1), load(2));
                    let is_near = between.dot(between).simd_lt(most);
                    let count = V::LEN.min(end - begin);
                    // Lanes beyond the end of the row belong to other buckets.
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

    /// Size of its vectors \[bytes\].
    pub(crate) fn size(&self) -> usize {
        let indices = [&self.begins, &self.buckets, &self.points].map(Vec::capacity);
        let columns = self.columns.iter().map(Vec::capacity).sum::<usize>();
        4 * (indices.iter().sum::<usize>() + columns)
    }
}

/// Regular division of space into regions, in which points move almost alike.
#[derive(Debug, Clone, Default)]
struct Regions {
    /// Number of regions along each axis.
    counts: [usize; 3],
    /// Region of each point.
    of_points: Vec<u32>,
    /// Bounds of the displacements in each region since the search \[m\].
    displacements: Vec<[[f32; 4]; 2]>,
}

/// Bounds of an empty set of displacements.
const NO_DISPLACEMENTS: [[f32; 4]; 2] = [[f32::INFINITY; 4], [f32::NEG_INFINITY; 4]];

/// Union of two bounds of displacements.
fn union([a_low, a_high]: [[f32; 4]; 2], [b_low, b_high]: [[f32; 4]; 2]) -> [[f32; 4]; 2] {
    let low = std::array::from_fn(|k| a_low[k].min(b_low[k]));
    [low, std::array::from_fn(|k| a_high[k].max(b_high[k]))]
}

/// Largest distance of two displacements within these bounds \[m\].
fn spread([low, high]: [[f32; 4]; 2]) -> f32 {
    let extent = |k: usize| high[k] - low[k];
    (extent(0) * extent(0) + extent(1) * extent(1) + extent(2) * extent(2)).sqrt()
}

impl Regions {
    /// Divides the space of `cells` into regions, as fine as [`PER_REGION`] points per region on
    /// average allow.
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

    /// Largest relative motion of points in the same or adjacent regions, and of any two points
    /// \[m\].
    fn drift(&self) -> [f32; 2] {
        let [width, height, depth] = self.counts;
        let at = |x: usize, y: usize, z: usize| self.displacements[x + width * (y + height * z)];
        let around = |k: usize, count: usize| k..count.min(k + 2);
        let (mut drift, mut all) = (0.0_f32, NO_DISPLACEMENTS);
        for z in 0..depth {
            for y in 0..height {
                for x in 0..width {
                    all = union(all, at(x, y, z));
                    // Every pair of adjacent regions lies in a cube of 2 x 2 x 2 regions.
                    let mut cube = NO_DISPLACEMENTS;
                    for z in around(z, depth) {
                        for y in around(y, height) {
                            for x in around(x, width) {
                                cube = union(cube, at(x, y, z));
                            }
                        }
                    }
                    let spread = spread(cube);
                    // Empty cubes have inverted bounds and are skipped; a NaN or infinite
                    // displacement is not.
                    if spread.is_finite() || cube[0][0] <= cube[1][0] {
                        drift = drift.max(spread);
                    }
                }
            }
        }
        [drift, spread(all)]
    }
}

/// Displacement tracker that decides how long the lists of a search stay valid.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watch {
    /// True while there are valid lists.
    is_on: bool,
    /// Contact distance \[m\].
    distance: f32,
    /// Relative motion since the search up to which the lists stay valid \[m\].
    margin: f32,
    /// Steps since the search.
    age: u32,
    /// Position of each point at the search.
    before: Vec<[f32; 4]>,
    /// Largest absolute coordinate at the search \[m\].
    farthest: f32,
    regions: Regions,
}

/// Motion of points since a search \[m\].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drift {
    /// Largest relative motion of points in the same or adjacent regions.
    near: f32,
    /// Largest relative motion of any two points.
    all: f32,
    /// Upper bound of the absolute coordinates now.
    pub(crate) farthest: f32,
}

impl Watch {
    /// Returns true while there are lists.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Drops the lists.
    pub(crate) fn end(&mut self) {
        self.is_on = false;
    }

    /// Starts tracking `points`, which touch within `distance` and were listed within `margin` more
    /// by a search in this grid.
    pub(crate) fn begin(&mut self, grid: &Grid, points: &[[f32; 4]], distance: f32, margin: f32) {
        self.before.clear();
        self.before.extend_from_slice(points);
        self.regions.divide(points.iter().map(|point| grid.cell(point)), points.len());
        (self.distance, self.age, self.is_on) = (distance, 0, true);
        // Slightly less than the margin of the search, against rounding.
        self.margin = 0.999 * margin - 1e-5 * (distance + margin);
        self.farthest = points.iter().fold(0.0, |farthest: f32, point| {
            farthest.max(point[0].abs()).max(point[1].abs()).max(point[2].abs())
        });
    }

    /// Largest absolute coordinate at the search \[m\].
    pub(crate) fn farthest(&self) -> f32 {
        self.farthest
    }

    /// Advances by one step to the current positions and returns the drift.
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
                // Consecutive points mostly lie in one region: its bounds stay in registers.
                let row = &mut displacements[region as usize];
                low.store_slice(&mut row[0]);
                high.store_slice(&mut row[1]);
                let row = displacements[own as usize];
                (low, high) = (f32x4::from_slice(simd, &row[0]), f32x4::from_slice(simd, &row[1]));
                region = own;
            }
            let displacement = f32x4::from_slice(simd, now) - f32x4::from_slice(simd, before);
            low = simd.min_precise_f32x4(low, displacement);
            high = simd.max_precise_f32x4(high, displacement);
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

    /// Tests whether the lists are still valid after this drift.
    pub(crate) fn holds(&self, drift: &Drift) -> bool {
        drift.near <= self.margin && drift.all <= FAR_DRIFT * self.distance
    }

    /// Margin for new lists \[m\], chosen by the drift of the old ones if there were some.
    pub(crate) fn next_margin(&self, distance: f32, drift: Option<&Drift>) -> f32 {
        let Some(drift) = drift else { return FIRST_MARGIN * distance };
        let [least, most] = MARGINS.map(|margin| margin * distance);
        let speed = drift.near / self.age as f32;
        // Lists that would not be read twice need no margin.
        if 2.0 * speed > most { 0.0 } else { (LIFETIME * speed).clamp(least, most) }
    }

    /// Size of its vectors \[bytes\].
    pub(crate) fn size(&self) -> usize {
        16 * self.before.capacity()
            + 4 * self.regions.of_points.capacity()
            + 32 * self.regions.displacements.capacity()
    }
}

/// Cell of a position in the grid of the reference, as a key that orders cells by z, then y, then
/// x. Valid up to [`MAX_CELL`].
#[inline(always)]
pub(crate) fn cell_key(row: &[f32; 4], inverse_cell: f32) -> u64 {
    let coordinate = |x: f32| {
        let scaled = x * inverse_cell;
        let rounded = scaled + ROUNDING;
        // Rounding to nearest becomes floor: subtract 1 where it rounded up.
        let bits = rounded.to_bits().wrapping_sub(u32::from(rounded - ROUNDING > scaled));
        u64::from(bits.wrapping_sub(ROUNDING.to_bits() - 2 * MAX_CELL as u32))
    };
    coordinate(row[2]) << 36 | coordinate(row[1]) << 18 | coordinate(row[0])
}

/// Insertion sort for short, mostly ordered lists.
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
