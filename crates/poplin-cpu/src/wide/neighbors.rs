//! Self collision: wide form of `crate::stage::self_collide` with neighbor lists, which
//! are kept until two particles can have come close without being listed.
//!
//! The reference sorts the particles into a grid in every iteration and searches it twice. Here, a
//! search with a longer reach lists for every particle which particles may touch it. The lists are
//! read once per iteration, until particles have moved relative to each other by the margin of the
//! search: a falling cloth keeps its lists. Contacts are sorted into the order of the reference, so
//! that all sums are bit-identical, whatever the age of the lists. Everything that a list depends
//! on is compared before it is read, since particles may be moved, replaced or reset at any time.

use std::ops::Range;

use crate::ClothMemory;
use crate::stage::self_collide::{kept_square, load_member};
use crate::stage::twin;
use fearless_simd::Simd;
use poplin_layout::{GRID_PARTS, MIN_DISTANCE, NO_OFFSET, RELAXATION, SELF_MAX_CELL, Task};

use crate::lanes::{LaneMask as _, MAX_LANES, Real, gather, max, min};
use crate::vector::Vec3;
use crate::wide::near::{Drift, Grid, Watch, cell_key, sort_few};

/// Candidate of a contact pair: the slot of the other particle and the squared distance that both
/// keep \[m^2\].
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    slot: u32,
    kept: f32,
}

/// Neighbor lists of one cloth, kept between iterations. A particle's slot is its position in the
/// order of the grid of the last search.
#[derive(Debug, Clone, Default)]
pub struct Neighbors {
    /// Distance, rest positions and members that the lists were made for.
    distance: f32,
    rest: Vec<[u32; 4]>,
    listed: Vec<[u32; 4]>,
    member_count: u32,
    /// True if the reference version runs in this iteration.
    is_plain: bool,
    grid: Grid,
    watch: Watch,
    /// Particle of each slot.
    particles: Vec<u32>,
    /// Current position and inverse mass of each slot.
    now: Vec<[f32; 4]>,
    /// Current positions of the members, and the slots that a search found near one of them.
    members: Vec<[f32; 4]>,
    found: Vec<u32>,
    /// Slots with a list, each with the end of the list in `candidates`.
    lists: Vec<[u32; 2]>,
    candidates: Vec<Candidate>,
    /// Slots with contacts, each with the end of its contacts.
    touched: Vec<[u32; 2]>,
    /// Contacts: slot of the first particle, and slot of the second with the kept distance.
    firsts: Vec<u32>,
    seconds: Vec<Candidate>,
    /// Normal and distance of each contact, later the push of its first particle \[m\].
    pushes: Vec<[f32; 4]>,
    /// Friction displacement of the first particle of each contact \[m\].
    slides: Vec<[f32; 4]>,
    /// Sum of contact normals and number of contacts of each slot.
    sums: Vec<[f32; 4]>,
}

impl Neighbors {
    /// Drops lists that were made for a different distance, members or rest positions. Called
    /// before each part of a frame, which changes none of these.
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
            self.watch.end();
        }
    }

    /// Size of its vectors \[bytes\].
    pub(crate) fn size(&self) -> usize {
        let rows = [&self.now, &self.members, &self.pushes, &self.slides, &self.sums];
        let bits = [&self.rest, &self.listed].map(Vec::capacity).iter().sum::<usize>();
        let indices = [&self.particles, &self.found, &self.firsts];
        let pairs = [&self.lists, &self.touched].map(Vec::capacity).iter().sum::<usize>();
        let candidates = self.candidates.capacity() + self.seconds.capacity();
        self.grid.size()
            + self.watch.size()
            + 16 * (rows.map(Vec::capacity).iter().sum::<usize>() + bits)
            + 8 * (pairs + candidates)
            + 4 * indices.map(Vec::capacity).iter().sum::<usize>()
    }

    /// Copies the current positions and returns how far particles have moved since the search.
    #[inline(always)]
    fn follow(&mut self, simd: impl Simd, memory: &ClothMemory<'_>) -> Drift {
        for (now, &particle) in self.now.iter_mut().zip(&self.particles) {
            *now = memory.load_current(particle);
        }
        self.watch.follow(simd, &self.now)
    }

    /// Lists the pairs within the distance plus `margin`. Returns false if a particle is too far
    /// from the origin for that.
    #[inline(always)]
    fn search<V: Real>(&mut self, simd: V::Token, memory: &ClothMemory<'_>, margin: f32) -> bool {
        self.watch.end();
        self.members.clear();
        let members = 0..self.member_count;
        self.members.extend(members.map(|k| memory.load_current(load_member(memory, k))));
        let reach = self.distance + margin;
        if !self.grid.fill(&self.members, reach) {
            return false;
        }
        self.particles.clear();
        self.particles.extend(self.grid.points().iter().map(|&k| load_member(memory, k)));
        self.now.clear();
        self.now.extend(self.grid.points().iter().map(|&k| self.members[k as usize]));
        self.watch.begin(&self.grid, &self.now, self.distance, margin);
        if !is_near(memory, self.watch.farthest()) {
            self.watch.end();
            return false;
        }
        self.list::<V>(simd, memory, margin);
        true
    }

    /// Builds the lists from the sorted slots.
    #[inline(always)]
    fn list<V: Real>(&mut self, simd: V::Token, memory: &ClothMemory<'_>, margin: f32) {
        let reach = self.distance + margin;
        self.lists.clear();
        self.candidates.clear();
        for (slot, row) in self.now.iter().enumerate() {
            let first = self.candidates.len();
            self.found.clear();
            self.grid.find::<V>(simd, row, reach, &mut self.found);
            for &other in self.found.iter().filter(|&&other| other as usize != slot) {
                let near = self.now[other as usize];
                let between = [row[0] - near[0], row[1] - near[1], row[2] - near[2]];
                let square =
                    between[0] * between[0] + between[1] * between[1] + between[2] * between[2];
                // Neighbors in the rest state keep a smaller distance.
                let kept =
                    kept_square(memory, self.particles[slot], self.particles[other as usize]);
                // Slightly longer, against rounding of the squared distance.
                let reach = 1.0001 * (kept.sqrt() + margin);
                if square <= reach * reach {
                    self.candidates.push(Candidate { slot: other, kept });
                }
            }
            let end = self.candidates.len();
            if end > first {
                self.lists.push([slot as u32, end as u32]);
            }
        }
    }

    /// Finds the contacts of every particle in the order of the reference.
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
                // Branchless: written always, counted only if the pair touches and can move.
                (self.firsts[count], self.seconds[count]) = (slot, candidate);
                count += usize::from((square < candidate.kept) & (a[3] + b[3] > 0.0));
            }
            listed = end as usize;
            if count > first {
                self.touched.push([slot, count as u32]);
            }
            if count > first + 1 {
                let (now, particles) = (&self.now, &self.particles);
                // Order of the reference: cells by z, then y, then x; within a cell by index.
                let key = |candidate: &Candidate| {
                    let slot = candidate.slot as usize;
                    (cell_key(&now[slot], inverse_cell), particles[slot])
                };
                sort_few(&mut self.seconds[first..count], key);
            }
        }
        // Padding lanes repeat the last contact.
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

    /// Loads both particles of the contacts from `begin` on.
    #[inline(always)]
    fn load<V: Real>(&self, simd: V::Token, begin: usize) -> [[V; 4]; 2] {
        [
            gather(simd, |lane| self.now[self.firsts[begin + lane] as usize]),
            gather(simd, |lane| self.now[self.seconds[begin + lane].slot as usize]),
        ]
    }

    /// Computes normals and distances of all contacts.
    #[inline(always)]
    fn point<V: Real>(&mut self, simd: V::Token) {
        for begin in (0..self.firsts.len()).step_by(V::LEN) {
            let [a, b] = self.load::<V>(simd, begin);
            let between = Vec3::xyz(a) - Vec3::xyz(b);
            let length = between.dot(between).sqrt();
            // Coincident particles part along y, the one with the lower index upwards.
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
            let normal = (between / length).or(is_apart, aside);
            V::rows(normal.with(length), &mut self.pushes[begin..][..V::LEN]);
        }
    }

    /// Sums the contact normals of every touched particle.
    #[inline(always)]
    fn sum<V: Real>(&mut self, simd: V::Token) {
        self.sums.resize(self.now.len(), [0.0; 4]);
        let mut begin = 0;
        for &[slot, end] in &self.touched {
            let mut sum = [0.0; 4];
            for normal in &self.pushes[begin..end as usize] {
                V::add_row(simd, &mut sum, normal);
            }
            sum[3] = (end as usize - begin) as f32;
            self.sums[slot as usize] = sum;
            begin = end as usize;
        }
    }

    /// Computes push and friction displacement of the first particle of every contact.
    #[inline(always)]
    fn push<V: Real>(&mut self, simd: V::Token, memory: &ClothMemory<'_>) {
        let own = &memory.cloth.self_collision;
        let splat = |value: f32| V::splat(simd, value);
        let (half, one) = (splat(0.5), splat(1.0));
        let along = |direction: Vec3<V>, contacts: [V; 4]| {
            // Half the number of contacts plus half of their sum along this normal: opposite
            // contacts do not share a push.
            max(half * contacts[3] + half * direction.dot(Vec3::xyz(contacts)), one)
        };
        for begin in (0..self.firsts.len()).step_by(V::LEN) {
            let [a, b] = self.load::<V>(simd, begin);
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
            // push = stiffness (d - |ab|) n w_a / (w_a + w_b) RELAXATION / count, the last factor
            // at most 1.
            let weight = a[3] / (a[3] + b[3]);
            let count = max(along(normal, own_contacts), along(-normal, others));
            let push_fraction = splat(own.stiffness) * weight * min(splat(RELAXATION) / count, one);
            let friction_fraction = splat(own.friction) * weight / max(own_contacts[3], others[3]);
            let move_a = Vec3::xyz(a) - Vec3::xyz(last_a);
            let move_b = Vec3::xyz(b) - Vec3::xyz(last_b);
            let slip = move_a - move_b;
            // Tangential part of the relative motion, divided by the number of contacts.
            let sideways = slip - normal * normal.dot(slip);
            let push = normal * ((kept.sqrt() - length) * push_fraction);
            V::rows(push.with(length), rows);
            let slide = (sideways * friction_fraction).with(length);
            V::rows(slide, &mut self.slides[begin..][..V::LEN]);
        }
    }

    /// Moves every touched particle.
    #[inline(always)]
    fn apply<V: Real>(&self, simd: V::Token, memory: &mut ClothMemory<'_>) {
        let mut begin = 0;
        for &[slot, end] in &self.touched {
            let contacts = begin..end as usize;
            begin = end as usize;
            let mut row = self.now[slot as usize];
            let w = row[3];
            if w == 0.0 {
                continue;
            }
            let mut push = [0.0; 4];
            for (own, slide) in self.pushes[contacts.clone()].iter().zip(&self.slides[contacts]) {
                V::add_row(simd, &mut push, own);
                V::subtract_row(simd, &mut push, slide);
            }
            V::add_row(simd, &mut row, &push);
            row[3] = w;
            memory.store_current(self.particles[slot as usize], row);
        }
    }
}

/// Tests whether rounding keeps neighbors together in the reference grid, too, if no absolute
/// coordinate exceeds `farthest` \[m\].
fn is_near(memory: &ClothMemory<'_>, farthest: f32) -> bool {
    farthest * memory.cloth.self_collision.inverse_cell < 0.99 * SELF_MAX_CELL
}

/// Finds the contacts of all particles and sums their normals.
#[inline(always)]
pub(crate) fn count_contacts<V: Real<Token: Simd>>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    _: Range<u32>,
    neighbors: &mut Neighbors,
) {
    let drift = neighbors.watch.is_on().then(|| neighbors.follow(simd, memory));
    let is_fit =
        drift.is_some_and(|drift| neighbors.watch.holds(&drift) && is_near(memory, drift.farthest));
    let margin = neighbors.watch.next_margin(neighbors.distance, drift.as_ref());
    neighbors.is_plain = !is_fit && !neighbors.search::<V>(simd, memory, margin);
    if neighbors.is_plain {
        search_plainly(memory);
        return;
    }
    neighbors.touch(memory);
    neighbors.point::<V>(simd);
    neighbors.sum::<V>(simd);
}

/// Pushes all touching particles apart.
#[inline(always)]
pub(crate) fn push_apart<V: Real>(
    simd: V::Token,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    neighbors: &mut Neighbors,
) {
    if neighbors.is_plain {
        items.for_each(|slot| twin(Task::PushApart)(memory, slot));
        return;
    }
    neighbors.push::<V>(simd, memory);
    neighbors.apply::<V>(simd, memory);
}

/// Runs the search of the reference up to the contacts, for particles so far from the origin that
/// rounding would separate neighbors.
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
