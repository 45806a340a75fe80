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
    /// Where it was at the search.
    before: Vec<[f32; 4]>,
    /// Where it is, and its inverse mass.
    now: Vec<[f32; 4]>,
    /// Where the slots of each bucket begin.
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
            + 4 * indices.map(Vec::capacity).iter().sum::<usize>()
    }

    /// Takes over where the particles are; returns how far they have moved relative to each other since the search, and from
    /// where they were then \[m\].
    #[inline(always)]
    fn follow<S: Simd>(&mut self, simd: S, memory: &ClothMemory<'_>) -> [f32; 2] {
        let mut low = f32x4::splat(simd, f32::INFINITY);
        let mut high = f32x4::splat(simd, f32::NEG_INFINITY);
        let slots = self.particles.iter().zip(&self.before).zip(&mut self.now);
        for ((&particle, before), now) in slots {
            *now = memory.load_current(particle);
            let displacement = f32x4::from_slice(simd, now) - f32x4::from_slice(simd, before);
            low = low.min_precise(displacement);
            high = high.max_precise(displacement);
        }
        let extent = high - low;
        let square = extent[0] * extent[0] + extent[1] * extent[1] + extent[2] * extent[2];
        let farthest = (0..3).fold(0.0, |farthest: f32, k| farthest.max(-low[k]).max(high[k]));
        [square.sqrt(), farthest]
    }

    /// Whether rounding is small enough for both grids, the mirror's and this one, if no coordinate exceeds `farthest` \[m\].
    fn is_near(&self, memory: &ClothMemory<'_>, farthest: f32) -> bool {
        farthest * memory.cloth.self_collision.inverse_cell < 0.99 * SELF_MAX_CELL
    }

    /// Lists which particles are closer than the distance and a margin; false if one is too far away for that.
    #[inline(always)]
    fn search(&mut self, memory: &ClothMemory<'_>, margin: f32) -> bool {
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
        self.now.copy_from_slice(&self.before);
        self.list(memory, margin, bucket_count as u32, cell);
        (self.margin, self.age, self.is_made) = (0.999 * margin - 1e-5 * reach, 0, true);
        true
    }

    /// Makes the lists from the sorted slots. `begins` holds the end of every bucket.
    #[inline(always)]
    fn list(
        &mut self,
        memory: &ClothMemory<'_>,
        margin: f32,
        bucket_count: u32,
        cell: impl Fn(&[f32; 4]) -> [i32; 3],
    ) {
        let steps: [u32; 9] = std::array::from_fn(|row| {
            bucket_of_cell([-1, row as i32 % 3 - 1, row as i32 / 3 - 1], bucket_count)
        });
        let mask = bucket_count - 1;
        let begin_of = |bucket: u32| match bucket {
            0 => 0,
            _ => self.begins[bucket as usize - 1] as usize,
        };
        let end_of = |bucket: u32| self.begins[bucket as usize] as usize;
        let reach = self.distance + margin;
        self.lists.clear();
        self.candidates.clear();
        for (slot, row) in self.before.iter().enumerate() {
            let first = self.candidates.len();
            let mut visit = |range: Range<usize>| {
                for (other, near) in range.clone().zip(&self.before[range]) {
                    let between = [row[0] - near[0], row[1] - near[1], row[2] - near[2]];
                    let square =
                        between[0] * between[0] + between[1] * between[1] + between[2] * between[2];
                    if square < reach * reach && other != slot {
                        let kept = kept_square(memory, self.particles[slot], self.particles[other]);
                        let reach = 1.0001 * (kept.sqrt() + margin);
                        if square <= reach * reach {
                            self.candidates.push(Candidate { slot: other as u32, kept });
                        }
                    }
                }
            };
            let center = bucket_of_cell(cell(row), bucket_count);
            for step in steps {
                let begin = center.wrapping_add(step) & mask;
                let last = begin + 2;
                visit(begin_of(begin)..end_of(last.min(mask)));
                if last > mask {
                    // The row wraps from the last bucket to the first.
                    visit(0..end_of(last & mask));
                }
            }
            if self.candidates.len() > first {
                self.lists.push([slot as u32, self.candidates.len() as u32]);
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
        let [drift, farthest] = neighbors.follow(simd, memory);
        neighbors.age += 1;
        is_due = !(drift <= neighbors.margin)
            || !neighbors.is_near(memory, neighbors.farthest + farthest);
        let [least, most] = MARGINS.map(|margin| margin * neighbors.distance);
        margin = (LIFETIME * drift / neighbors.age as f32).max(least);
        if margin > most {
            margin = if drift / neighbors.age as f32 > most { 0.0 } else { most };
        }
    }
    neighbors.is_plain = is_due && !neighbors.search(memory, margin);
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
