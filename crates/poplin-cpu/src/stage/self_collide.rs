//! `poplin_reference::stage::self_collide` by lists of neighbours, which are kept while nobody can have come close unseen.
//!
//! The mirror sorts the particles into a grid in every iteration and searches it twice. Here a search that reaches further than
//! the distance lists for every particle which others may touch it, and the list is read, once per iteration, until particles
//! have moved relative to each other by what the search reached further: a cloth that falls keeps its lists. What touches is
//! brought into the order in which the mirror meets it, so that all sums are the mirror's, whenever the lists were made. What a
//! list depends on is compared before it is read: particles may be moved, exchanged or set back by anyone at any time.

use std::ops::Range;

use fearless_simd::{f32x4, prelude::*};
use poplin_layout::{GRID_PARTS, MIN_DISTANCE, NO_OFFSET, RELAXATION, SELF_MAX_CELL, Task};
use poplin_reference::stage::self_collide::{kept_square, load_member};
use poplin_reference::stage::twin;
use poplin_reference::{ClothMemory, bucket_of_cell};

use crate::lanes::{Lanes, MAX_LANES, gather, max, min};
use crate::vector::Vec3;

/// Adding it rounds a float of up to 22 bits to an integer, which the lowest bits of the sum then hold.
const ROUNDING: f32 = 12_582_912.0;

/// How much wider a cell is than the reach of a search, so that rounding separates no two particles by more than one cell.
const CELL_MARGIN: f32 = 1.01;

/// Margin of the first search, relative to the distance.
const FIRST_MARGIN: f32 = 0.25;

/// Least and largest margin of later ones.
const MARGINS: [f32; 2] = [0.1, 0.5];

/// Iterations for which a list should last: the margin is what particles drift apart in so many.
const LIFETIME: f32 = 6.0;

/// Cells of a search along the side of a region at least, as a power of two.
const REGION_BITS: u32 = 3;

/// Lists are kept while particles in regions which do not adjoin move relative to each other by no more than the distance times
/// this: a whole region is between them.
const FAR_DRIFT: f32 = 7.0;

/// Particles for each region at least, empty regions counted.
const PER_REGION: usize = 8;

/// Boxes in space, in which particles move much alike.
#[derive(Debug, Clone, Default)]
struct Regions {
    /// How many there are along each axis.
    counts: [usize; 3],
    /// Region of each slot.
    of_slots: Vec<u32>,
    /// Least and largest displacement in each region since the search \[m\].
    displacements: Vec<[[f32; 4]; 2]>,
}

/// Displacements of no particle.
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
    /// Divides the space of some cells, at most so finely that every region has some particles on average.
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
        self.of_slots.clear();
        self.of_slots.extend(cells.map(region));
    }

    /// How far particles in a region or adjoining ones have moved relative to each other at most, and all particles \[m\].
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

/// Another particle that may touch the one of a list, and the square of the distance at which both are kept apart.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    slot: u32,
    kept: f32,
}

/// Which particles of a cloth may touch, from iteration to iteration. A particle's slot is its position in the order of the
/// grid of the last search.
#[derive(Debug, Clone, Default)]
pub struct Neighbors {
    /// The distance, the positions at rest and the members for which the lists were made.
    distance: f32,
    rest: Vec<[u32; 4]>,
    listed: Vec<[u32; 4]>,
    member_count: u32,
    /// Whether there are lists.
    is_made: bool,
    /// Whether the twins run in this iteration.
    is_plain: bool,
    /// How far particles may have moved relative to each other since the search \[m\].
    margin: f32,
    /// Iterations since the search.
    age: u32,
    /// The largest coordinate at the search \[m\].
    farthest: f32,
    /// Particle of each slot.
    particles: Vec<u32>,
    regions: Regions,
    /// Where it was at the search.
    before: Vec<[f32; 4]>,
    /// Where it is, and its inverse mass.
    now: Vec<[f32; 4]>,
    /// The same, coordinate by coordinate.
    columns: [Vec<f32>; 3],
    /// Where the slots of each bucket begin, and where the last ends.
    begins: Vec<u32>,
    /// Bucket of each member.
    buckets: Vec<u32>,
    /// Slots that have a list, each with its end in `candidates`.
    lists: Vec<[u32; 2]>,
    candidates: Vec<Candidate>,
    /// Slots that are touched, each with its end among the contacts.
    touched: Vec<[u32; 2]>,
    /// The contacts: the slots of both particles and what keeps them apart.
    firsts: Vec<u32>,
    seconds: Vec<Candidate>,
    /// Normal and length of each contact, then what it pushes the first particle by.
    pushes: Vec<[f32; 4]>,
    /// What friction takes off.
    slides: Vec<[f32; 4]>,
    /// Sum of directions and count of the contacts of each slot that is touched.
    sums: Vec<[f32; 4]>,
}

impl Neighbors {
    /// Forgets lists that were made for another distance, other members or other positions at rest. Call before a part of a
    /// frame, which changes none of these.
    pub(crate) fn open(&mut self, memory: &ClothMemory<'_>) {
        let own = &memory.cloth.self_collision;
        let rows = |begin: u32, count: u32| &memory.input_pool[begin as usize..][..count as usize];
        let rest = rows(own.rest_begin, memory.cloth.particle_count);
        let listed = if own.member_begin == NO_OFFSET {
            &[]
        } else {
            rows(own.member_begin, own.member_count.div_ceil(4))
        };
        if self.distance != own.distance
            || self.member_count != own.member_count
            || self.rest != rest
            || self.listed != listed
        {
            (self.distance, self.member_count) = (own.distance, own.member_count);
            rest.clone_into(&mut self.rest);
            listed.clone_into(&mut self.listed);
            self.is_made = false;
        }
    }

    /// Bytes of its vectors.
    pub(crate) fn size(&self) -> usize {
        let rows = [&self.before, &self.now, &self.pushes, &self.slides, &self.sums];
        let bits = [&self.rest, &self.listed].map(Vec::capacity).iter().sum::<usize>();
        let indices = [&self.particles, &self.begins, &self.buckets, &self.firsts];
        let pairs = [&self.lists, &self.touched].map(Vec::capacity).iter().sum::<usize>();
        let candidates = self.candidates.capacity() + self.seconds.capacity();
        16 * (rows.map(Vec::capacity).iter().sum::<usize>() + bits)
            + 8 * (pairs + candidates)
            + 4 * self.columns.iter().map(Vec::capacity).sum::<usize>()
            + 4 * indices.map(Vec::capacity).iter().sum::<usize>()
    }

    /// Takes over where the particles are; returns how far neighbours and all particles have moved relative to each other since
    /// the search, and the farthest that one has moved \[m\].
    #[inline(always)]
    fn follow<S: Simd>(&mut self, simd: S, memory: &ClothMemory<'_>) -> [f32; 3] {
        let displacements = &mut self.regions.displacements;
        displacements.clear();
        displacements.resize(self.regions.counts.iter().product(), NO_DISPLACEMENTS);
        let mut region = 0;
        let [mut low, mut high] = NO_DISPLACEMENTS.map(|row| f32x4::from_slice(simd, &row));
        let slots = self.particles.iter().zip(&self.before).zip(&mut self.now);
        for (((&particle, before), now), &own) in slots.zip(&self.regions.of_slots) {
            if own != region {
                // Slots one after the other mostly are in one region.
                let row = &mut displacements[region as usize];
                low.store_slice(&mut row[0]);
                high.store_slice(&mut row[1]);
                let row = displacements[own as usize];
                (low, high) = (f32x4::from_slice(simd, &row[0]), f32x4::from_slice(simd, &row[1]));
                region = own;
            }
            *now = memory.load_current(particle);
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
        [near, all, farthest]
    }

    /// Whether rounding is small enough for both grids, the mirror's and this one, if no coordinate exceeds `farthest` \[m\].
    fn is_near(&self, memory: &ClothMemory<'_>, farthest: f32) -> bool {
        farthest * memory.cloth.self_collision.inverse_cell < 0.99 * SELF_MAX_CELL
    }

    /// Lists which particles are closer than the distance and a margin; false if one is too far away for that.
    #[inline(always)]
    fn search<S: Simd, V: Lanes<S>>(
        &mut self,
        simd: S,
        memory: &ClothMemory<'_>,
        margin: f32,
    ) -> bool {
        let count = self.member_count as usize;
        let bucket_count = (2 * count).next_power_of_two().max(256);
        let reach = self.distance + margin;
        let scale = 1.0 / (CELL_MARGIN * reach);
        let cell =
            |row: &[f32; 4]| [0, 1, 2].map(|k| (row[k] * scale + ROUNDING).to_bits().cast_signed());
        let bucket = |cell: [i32; 3]| bucket_of_cell(cell, bucket_count as u32);
        self.is_made = false;
        self.begins.clear();
        self.begins.resize(bucket_count + 1, 0);
        self.buckets.clear();
        self.now.clear();
        self.farthest = 0.0;
        let mut is_finite = true;
        for k in 0..count {
            let row = memory.load_current(load_member(memory, k as u32));
            let far = row[0].abs().max(row[1].abs()).max(row[2].abs());
            is_finite &= row[0].is_finite() & row[1].is_finite() & row[2].is_finite();
            self.farthest = self.farthest.max(far);
            let bucket = bucket(cell(&row));
            self.begins[bucket as usize] += 1;
            self.buckets.push(bucket);
            self.now.push(row);
        }
        if !is_finite || !self.is_near(memory, self.farthest) {
            return false;
        }
        let mut sum = 0;
        for begin in &mut self.begins {
            sum += std::mem::replace(begin, sum);
        }
        self.particles.resize(count, 0);
        self.before.resize(count, [0.0; 4]);
        for (k, &bucket) in self.buckets.iter().enumerate() {
            // The begin of a bucket moves on while it is filled, and so becomes its end, the begin of the next.
            let slot = self.begins[bucket as usize] as usize;
            self.begins[bucket as usize] += 1;
            (self.particles[slot], self.before[slot]) =
                (load_member(memory, k as u32), self.now[k]);
        }
        self.begins.rotate_right(1);
        self.begins[0] = 0;
        self.now.copy_from_slice(&self.before);
        for (k, column) in self.columns.iter_mut().enumerate() {
            column.clear();
            column.extend(self.before.iter().map(|row| row[k]));
            // A vector that begins at the last one.
            column.resize(count + MAX_LANES, 0.0);
        }
        self.regions.divide(self.before.iter().map(cell), count);
        self.list::<S, V>(simd, memory, margin, bucket_count as u32, cell);
        (self.margin, self.age, self.is_made) = (0.999 * margin - 1e-5 * reach, 0, true);
        true
    }

    /// Makes the lists from the sorted slots. `begins` holds the end of every bucket.
    #[inline(always)]
    fn list<S: Simd, V: Lanes<S>>(
        &mut self,
        simd: S,
        memory: &ClothMemory<'_>,
        margin: f32,
        bucket_count: u32,
        cell: impl Fn(&[f32; 4]) -> [i32; 3],
    ) {
        let steps: [u32; 9] = std::array::from_fn(|row| {
            bucket_of_cell([-1, row as i32 % 3 - 1, row as i32 / 3 - 1], bucket_count)
        });
        let mask = bucket_count - 1;
        let splat = |value: f32| V::splat(simd, value);
        let reach = self.distance + margin;
        let most = splat(reach * reach);
        self.lists.clear();
        self.candidates.clear();
        for (slot, row) in self.before.iter().enumerate() {
            let first = self.candidates.len();
            let position = Vec3::<S, V>::new(splat(row[0]), splat(row[1]), splat(row[2]));
            let center = bucket_of_cell(cell(row), bucket_count);
            for step in steps {
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
                        let load =
                            |k: usize| V::from_slice(simd, &self.columns[k][begin..][..V::LEN]);
                        let between = position.sub(Vec3::new(load(0), load(1), load(2)));
                        let is_near = between.dot(between).simd_lt(most);
                        let count = V::LEN.min(end - begin);
                        let mut bits = is_near.to_bitmask() & ((1 << count) - 1);
                        while bits != 0 {
                            let other = begin + bits.trailing_zeros() as usize;
                            bits &= bits - 1;
                            if other != slot {
                                self.candidates.push(Candidate { slot: other as u32, kept: 0.0 });
                            }
                        }
                        begin += V::LEN;
                    }
                }
            }
            // Neighbours at rest are kept less far apart.
            let mut end = first;
            for k in first..self.candidates.len() {
                let other = self.candidates[k].slot;
                let near = self.before[other as usize];
                let between = [row[0] - near[0], row[1] - near[1], row[2] - near[2]];
                let square =
                    between[0] * between[0] + between[1] * between[1] + between[2] * between[2];
                let kept =
                    kept_square(memory, self.particles[slot], self.particles[other as usize]);
                let reach = 1.0001 * (kept.sqrt() + margin);
                self.candidates[end] = Candidate { slot: other, kept };
                end += usize::from(square <= reach * reach);
            }
            self.candidates.truncate(end);
            if end > first {
                self.lists.push([slot as u32, end as u32]);
            }
        }
    }

    /// Finds what touches now, for every particle in the order of the mirror.
    #[inline(always)]
    fn touch(&mut self, memory: &ClothMemory<'_>) {
        let inverse_cell = memory.cloth.self_collision.inverse_cell;
        self.firsts.resize(self.candidates.len() + MAX_LANES, 0);
        self.seconds.resize(self.candidates.len() + MAX_LANES, Candidate::default());
        self.touched.clear();
        let (mut listed, mut count) = (0, 0);
        for &[slot, end] in &self.lists {
            let a = self.now[slot as usize];
            let first = count;
            for &candidate in &self.candidates[listed..end as usize] {
                let b = self.now[candidate.slot as usize];
                let between = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
                let square =
                    between[0] * between[0] + between[1] * between[1] + between[2] * between[2];
                (self.firsts[count], self.seconds[count]) = (slot, candidate);
                count += usize::from((square < candidate.kept) & (a[3] + b[3] > 0.0));
            }
            listed = end as usize;
            if count > first {
                self.touched.push([slot, count as u32]);
            }
            if count > first + 1 {
                let (now, particles) = (&self.now, &self.particles);
                // Rows of cells along x, in a row cell by cell, in a cell by index.
                let key = |candidate: &Candidate| {
                    let slot = candidate.slot as usize;
                    (cell_key(&now[slot], inverse_cell), particles[slot])
                };
                sort_few(&mut self.seconds[first..count], key);
            }
        }
        // Lanes without a contact repeat the last.
        self.firsts.truncate(count);
        self.seconds.truncate(count);
        if count > 0 {
            let padded = count.next_multiple_of(MAX_LANES);
            self.firsts.resize(padded, self.firsts[count - 1]);
            self.seconds.resize(padded, self.seconds[count - 1]);
        }
        self.pushes.resize(self.firsts.len(), [0.0; 4]);
        self.slides.resize(self.firsts.len(), [0.0; 4]);
    }

    /// Both particles of some contacts.
    #[inline(always)]
    fn load<S: Simd, V: Lanes<S>>(&self, simd: S, begin: usize) -> [[V; 4]; 2] {
        [
            gather(simd, |lane| self.now[self.firsts[begin + lane] as usize]),
            gather(simd, |lane| self.now[self.seconds[begin + lane].slot as usize]),
        ]
    }

    /// Directions and lengths of all contacts.
    #[inline(always)]
    fn point<S: Simd, V: Lanes<S>>(&mut self, simd: S) {
        for begin in (0..self.firsts.len()).step_by(V::LEN) {
            let [a, b] = self.load::<S, V>(simd, begin);
            let between = Vec3::xyz(a).sub(Vec3::xyz(b));
            let length = between.dot(between).sqrt();
            let is_apart = V::splat(simd, MIN_DISTANCE).simd_lt(length);
            let mut aside = [0.0; MAX_LANES];
            if is_apart.to_bitmask() != (1 << V::LEN) - 1 {
                for (lane, aside) in aside.iter_mut().enumerate().take(V::LEN) {
                    let particle = |slot: u32| self.particles[slot as usize];
                    let i = particle(self.firsts[begin + lane]);
                    let j = particle(self.seconds[begin + lane].slot);
                    *aside = if i < j { 1.0 } else { -1.0 };
                }
            }
            let zero = V::splat(simd, 0.0);
            let aside = Vec3::new(zero, V::from_slice(simd, &aside[..V::LEN]), zero);
            let normal = between.div(length).or(is_apart, aside);
            V::rows(normal.with(length), &mut self.pushes[begin..][..V::LEN]);
        }
    }

    /// Sums up the directions of every particle that is touched.
    #[inline(always)]
    fn sum<S: Simd>(&mut self, simd: S) {
        self.sums.resize(self.now.len(), [0.0; 4]);
        let mut begin = 0;
        for &[slot, end] in &self.touched {
            let mut sum = f32x4::splat(simd, 0.0);
            for normal in &self.pushes[begin..end as usize] {
                sum += f32x4::from_slice(simd, normal);
            }
            let row = &mut self.sums[slot as usize];
            sum.store_slice(row);
            row[3] = (end as usize - begin) as f32;
            begin = end as usize;
        }
    }

    /// What each contact pushes its first particle by, and what friction takes off.
    #[inline(always)]
    fn push<S: Simd, V: Lanes<S>>(&mut self, simd: S, memory: &ClothMemory<'_>) {
        let own = &memory.cloth.self_collision;
        let splat = |value: f32| V::splat(simd, value);
        let (half, one) = (splat(0.5), splat(1.0));
        let along = |direction: Vec3<S, V>, contacts: [V; 4]| {
            max(half * contacts[3] + half * direction.dot(Vec3::xyz(contacts)), one)
        };
        for begin in (0..self.firsts.len()).step_by(V::LEN) {
            let [a, b] = self.load::<S, V>(simd, begin);
            let first = |lane: usize| self.firsts[begin + lane] as usize;
            let second = |lane: usize| self.seconds[begin + lane].slot as usize;
            let previous = |slot: usize| memory.load_previous(self.particles[slot]);
            let last_a = gather(simd, |lane| previous(first(lane)));
            let last_b = gather(simd, |lane| previous(second(lane)));
            let own_contacts = gather(simd, |lane| self.sums[first(lane)]);
            let others = gather(simd, |lane| self.sums[second(lane)]);
            let mut kept = [0.0; MAX_LANES];
            for (lane, kept) in kept.iter_mut().enumerate().take(V::LEN) {
                *kept = self.seconds[begin + lane].kept;
            }
            let kept = V::from_slice(simd, &kept[..V::LEN]);
            let rows = &mut self.pushes[begin..][..V::LEN];
            let [x, y, z, length] = V::columns(simd, rows);
            let normal = Vec3::new(x, y, z);
            let weight = a[3] / (a[3] + b[3]);
            let count = max(along(normal, own_contacts), along(normal.neg(), others));
            let push_fraction = splat(own.stiffness) * weight * min(splat(RELAXATION) / count, one);
            let friction_fraction = splat(own.friction) * weight / max(own_contacts[3], others[3]);
            let move_a = Vec3::xyz(a).sub(Vec3::xyz(last_a));
            let move_b = Vec3::xyz(b).sub(Vec3::xyz(last_b));
            let slip = move_a.sub(move_b);
            let sideways = slip.sub(normal.mul(normal.dot(slip)));
            let push = normal.mul((kept.sqrt() - length) * push_fraction);
            V::rows(push.with(length), rows);
            let slide = sideways.mul(friction_fraction).with(length);
            V::rows(slide, &mut self.slides[begin..][..V::LEN]);
        }
    }

    /// Moves every particle that is touched.
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, memory: &mut ClothMemory<'_>) {
        let mut begin = 0;
        for &[slot, end] in &self.touched {
            let contacts = begin..end as usize;
            begin = end as usize;
            let mut row = self.now[slot as usize];
            let w = row[3];
            if w == 0.0 {
                continue;
            }
            let mut push = f32x4::splat(simd, 0.0);
            for (own, slide) in self.pushes[contacts.clone()].iter().zip(&self.slides[contacts]) {
                push += f32x4::from_slice(simd, own);
                push -= f32x4::from_slice(simd, slide);
            }
            (f32x4::from_slice(simd, &row) + push).store_slice(&mut row);
            row[3] = w;
            memory.store_current(self.particles[slot as usize], row);
        }
    }
}

/// The cell of a position in the mirror's grid as a key that orders cells along z, then y, then x.
#[inline(always)]
fn cell_key(row: &[f32; 4], inverse_cell: f32) -> u64 {
    let coordinate = |x: f32| {
        let scaled = x * inverse_cell;
        let rounded = scaled + ROUNDING;
        // The integer below.
        let bits = rounded.to_bits() - u32::from(rounded - ROUNDING > scaled);
        u64::from(bits - (ROUNDING.to_bits() - 2 * SELF_MAX_CELL as u32))
    };
    coordinate(row[2]) << 36 | coordinate(row[1]) << 18 | coordinate(row[0])
}

/// Sorts a few items, most of which are in order.
#[inline(always)]
fn sort_few<T: Copy, K: PartialOrd>(items: &mut [T], key: impl Fn(&T) -> K) {
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

/// Finds the contacts of all particles and sums up their directions.
#[inline(always)]
pub(crate) fn count_contacts<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    _: Range<u32>,
    neighbors: &mut Neighbors,
) {
    let mut margin = FIRST_MARGIN * neighbors.distance;
    let mut is_due = true;
    if neighbors.is_made {
        let [drift, all, farthest] = neighbors.follow(simd, memory);
        neighbors.age += 1;
        let is_fit = drift <= neighbors.margin && all <= FAR_DRIFT * neighbors.distance;
        is_due = !is_fit || !neighbors.is_near(memory, neighbors.farthest + farthest);
        let [least, most] = MARGINS.map(|margin| margin * neighbors.distance);
        let speed = drift / neighbors.age as f32;
        // Lists that would not be read twice need no margin.
        margin = if 2.0 * speed > most { 0.0 } else { (LIFETIME * speed).clamp(least, most) };
    }
    neighbors.is_plain = is_due && !neighbors.search::<S, V>(simd, memory, margin);
    if neighbors.is_plain {
        search_plainly(memory);
        return;
    }
    neighbors.touch(memory);
    neighbors.point::<S, V>(simd);
    neighbors.sum(simd);
}

/// Pushes all particles away from those that they touch.
#[inline(always)]
pub(crate) fn push_apart<S: Simd, V: Lanes<S>>(
    simd: S,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    neighbors: &mut Neighbors,
) {
    if neighbors.is_plain {
        items.for_each(|slot| twin(Task::PushApart)(memory, slot));
        return;
    }
    neighbors.push::<S, V>(simd, memory);
    neighbors.apply(simd, memory);
}

/// Everything up to the contacts as the mirror does it, for particles so far away that rounding would part neighbours.
#[inline(never)]
fn search_plainly(memory: &mut ClothMemory<'_>) {
    let (cells, members) = (memory.cells.len() as u32, memory.cloth.self_collision.member_count);
    for (task, count) in [
        (Task::ClearCell, cells),
        (Task::CountMember, members),
        (Task::SumCells, GRID_PARTS),
        (Task::ScanCells, GRID_PARTS),
        (Task::ScatterMember, members),
        (Task::SortMember, members),
        (Task::CountContacts, members),
    ] {
        (0..count).for_each(|item| twin(task)(memory, item));
    }
}
