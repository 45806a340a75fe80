//! Collision between cloths: wide form of `poplin_reference::contact` with neighbor lists, which
//! are kept from pass to pass until two rows can have come close without being listed.
//!
//! The reference sorts the rows into a grid in every pass and searches it twice. Here, a search
//! lists for every row of a colliding cloth which rows of other cloths may touch it, and passes
//! read these lists over iterations and frames. Contacts are sorted into the order of the
//! reference, so that all sums are bit-identical. Rows of cloths that meet no other cloth are not
//! transformed to world space: only their bounds are computed.

use std::ops::Range;

use fearless_simd::{Level, dispatch, f32x4, prelude::*};
use poplin_layout::{ContactCloth, ContactParameters, MIN_SQUARE};
use poplin_reference::contact::{ContactBody, ContactMemory, ContactPasses, wants};
use poplin_reference::math::xyz;
use rayon::prelude::*;

use crate::WideTeam;
use crate::lanes::{Lanes, MAX_LANES, gather};
use crate::near::{Grid, MAX_CELL, Watch, cell_key, sort_few};
use crate::team::in_lanes;
use crate::vector::Vec3;

/// Rows of a block: the unit of work of a thread.
const BLOCK: usize = 256;

/// Candidate of a contact pair: the index of the other row among the followed rows, and the squared
/// contact distance \[m^2\].
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    index: u32,
    square: f32,
}

/// Lists, contacts and results of the rows of a block.
#[derive(Debug, Clone, Default)]
struct Block {
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
    woken: Vec<u32>,
    /// Scratch memory of a search.
    found: Vec<u32>,
}

/// Values of a cloth that lists depend on.
type Key = [u32; 5];

fn key(cloth: &ContactCloth) -> Key {
    [cloth.row_begin, cloth.particle_count, cloth.group, cloth.mask, cloth.radius.to_bits()]
}

/// Particles of the cloths that meet other cloths, cloth after cloth.
#[derive(Debug, Clone, Default)]
struct Rows {
    /// Cloth index and particle index of each row.
    slots: Vec<u32>,
    particles: Vec<u32>,
    /// World position \[m\] and inverse mass [1/kg].
    now: Vec<[f32; 4]>,
    /// Displacement in the last iteration \[m\] and radius \[m\].
    motions: Vec<[f32; 4]>,
    /// Key of the cell in the grid of the reference.
    cells: Vec<u64>,
}

/// Passes of collision between cloths, with neighbor lists.
#[derive(Debug, Default)]
pub struct ContactLists {
    /// Reference passes: find the cloths that meet, and replace the lists where rounding would
    /// separate neighbors.
    mirror: ContactMemory,
    watch: Watch,
    grid: Grid,
    /// Keys of the cloths that the lists were made for.
    keys: Vec<Key>,
    /// First row of each cloth that met another one at the last search; only these are followed.
    begins: Vec<Option<u32>>,
    rows: Rows,
    blocks: Vec<Block>,
    /// Number of contacts of each row.
    counts: Vec<u32>,
    /// Push of each row in the local space of its cloth \[m\].
    pushes: Vec<[f32; 4]>,
}

/// Read-only inputs of all blocks.
#[derive(Clone, Copy)]
struct Shared<'a> {
    parameters: &'a ContactParameters,
    cloths: &'a [ContactCloth],
    mirror: &'a ContactMemory,
    rows: &'a Rows,
}

// ---- from particles to rows ----

/// Affine transform: three columns of a matrix and a translation.
struct Affine<S: Simd>([f32x4<S>; 4]);

impl<S: Simd> Affine<S> {
    #[inline(always)]
    fn new(simd: S, columns: [&[f32; 4]; 4]) -> Self {
        let load = |k: usize| f32x4::from_slice(simd, columns[k]);
        Self([load(0), load(1), load(2), load(3)])
    }

    /// Product of the matrix and a vector, without translation, in the order of operations of the
    /// reference.
    #[inline(always)]
    fn rotate(&self, simd: S, v: &[f32; 4]) -> f32x4<S> {
        let splat = |k: usize| f32x4::splat(simd, v[k]);
        self.0[0] * splat(0) + self.0[1] * splat(1) + self.0[2] * splat(2)
    }

    #[inline(always)]
    fn apply(&self, simd: S, v: &[f32; 4]) -> f32x4<S> {
        self.rotate(simd, v) + self.0[3]
    }
}

/// World bounds of a cloth \[m\], or `None` if a coordinate is NaN or infinite.
#[inline(always)]
fn bounds<S: Simd>(simd: S, cloth: &ContactCloth, current: &[[f32; 4]]) -> Option<[[f32; 4]; 2]> {
    let to_world = Affine::new(simd, [&cloth.axis_x, &cloth.axis_y, &cloth.axis_z, &cloth.origin]);
    let mut low = f32x4::splat(simd, f32::INFINITY);
    let mut high = f32x4::splat(simd, f32::NEG_INFINITY);
    // 0 * x is NaN for NaN and infinite x: a sum other than 0 shows that one was there.
    let zero = f32x4::splat(simd, 0.0);
    let mut nothing = zero;
    for row in current {
        let position = to_world.apply(simd, row);
        low = low.min(position);
        high = high.max(position);
        nothing += zero * position;
    }
    let [mut low_row, mut high_row, mut zeros] = [[0.0; 4]; 3];
    low.store_slice(&mut low_row);
    high.store_slice(&mut high_row);
    nothing.store_slice(&mut zeros);
    (zeros[..3] == [0.0; 3]).then_some([low_row, high_row])
}

/// Computes the rows of consecutive particles of a cloth: world position, inverse mass,
/// displacement and radius.
#[inline(always)]
fn gather_rows<S: Simd>(
    simd: S,
    cloth: &ContactCloth,
    is_still: bool,
    [current, previous]: [&[[f32; 4]]; 2],
    [now, motions]: [&mut [[f32; 4]]; 2],
) {
    let to_world = Affine::new(simd, [&cloth.axis_x, &cloth.axis_y, &cloth.axis_z, &cloth.origin]);
    let of_frame = Affine::new(simd, [&cloth.turn_x, &cloth.turn_y, &cloth.turn_z, &cloth.shift]);
    let rows = current.iter().zip(previous).zip(now.iter_mut().zip(motions));
    for ((current, previous), (now, motion)) in rows {
        to_world.apply(simd, current).store_slice(now);
        now[3] = if is_still { 0.0 } else { current[3] };
        *motion = [0.0; 4];
        if !is_still {
            let mut moved = *current;
            (f32x4::from_slice(simd, current) - f32x4::from_slice(simd, previous))
                .store_slice(&mut moved);
            // Motion in world space: that in local space plus that of the cloth's frame.
            let own = to_world.rotate(simd, &moved);
            (own + of_frame.apply(simd, previous)).store_slice(motion);
        }
        motion[3] = cloth.radius;
    }
}

/// Squared distance of two rows, with the rounding of the reference \[m^2\].
#[inline(always)]
fn square_between(a: &[f32; 4], b: &[f32; 4]) -> f32 {
    let between = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    between[0] * between[0] + between[1] * between[1] + between[2] * between[2]
}

// ---- lists ----

/// Arguments of a search for one block.
struct Search<'a> {
    shared: Shared<'a>,
    grid: &'a Grid,
    margin: f32,
    block: &'a mut Block,
}

/// Lists the candidates of a range of rows.
#[inline(always)]
fn list<S: Simd, V: Lanes<S>>(simd: S, search: &mut Search<'_>, indices: Range<u32>) {
    let &mut Search { shared: Shared { cloths, mirror, rows, .. }, grid, margin, .. } = search;
    let block = &mut *search.block;
    block.ends.clear();
    block.candidates.clear();
    for index in indices {
        let index = index as usize;
        let (own, radius) = (&rows.now[index], rows.motions[index][3]);
        block.found.clear();
        grid.find::<S, V>(simd, own, radius + mirror.widest + margin, &mut block.found);
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

// ---- contacts ----

/// Arguments of a pass for one block.
struct Pass<'a> {
    shared: Shared<'a>,
    counts: &'a [u32],
    block: &'a mut Block,
    /// Pushes of the rows of the block.
    pushes: &'a mut [[f32; 4]],
}

impl Block {
    /// Finds and counts the contacts of each row from `begin` on, in the order of the reference.
    fn touch(&mut self, shared: &Shared<'_>, begin: usize, counts: &mut [u32]) {
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
        // Lanes without a contact repeat the last.
        if let (Some(&first), Some(&second)) = (self.firsts.last(), self.seconds.last()) {
            let padded = self.firsts.len().next_multiple_of(MAX_LANES);
            self.firsts.resize(padded, first);
            self.seconds.resize(padded, second);
        }
        self.pushes.resize(self.firsts.len(), [0.0; 4]);
        self.drags.resize(self.firsts.len(), [0.0; 4]);
    }

    /// Size of its vectors \[bytes\].
    fn size(&self) -> usize {
        let indices = [&self.ends, &self.contact_ends, &self.firsts, &self.seconds, &self.found];
        4 * (indices.map(Vec::capacity).iter().sum::<usize>() + self.woken.capacity())
            + 16 * (self.pushes.capacity() + self.drags.capacity())
            + size_of::<Candidate>() * self.candidates.capacity()
    }
}

/// Computes the pushes of all contacts of a block and sums them per row, from row `indices.start`
/// on, in the local space of each cloth.
#[inline(always)]
fn push<S: Simd, V: Lanes<S>>(simd: S, pass: &mut Pass<'_>, indices: Range<u32>) {
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
        let delta = Vec3::<S, V>::xyz(own).sub(Vec3::xyz(other));
        let square = delta.dot(delta);
        let length = square.sqrt();
        // push = stiffness overlap n w_a / (w_a + w_b) / contacts
        let overlap = own_motion[3] + other_motion[3] - length;
        let is_apart = splat(MIN_SQUARE).simd_lt(square);
        // Coincident rows part along y, the one with the lower index upwards.
        let up = Vec3::new(splat(0.0), aside, splat(0.0));
        let normal = delta.div(length).or(is_apart, up);
        let fraction = own[3] / (own[3] + other[3]) / contacts;
        let relative = Vec3::xyz(other_motion).sub(Vec3::xyz(own_motion));
        // Friction removes a fraction of the tangential relative motion.
        let along = relative.sub(normal.mul(relative.dot(normal)));
        let push = normal.mul(splat(parameters.stiffness) * overlap * fraction);
        let drag = along.mul(splat(parameters.friction) * fraction);
        V::rows(push.with(length), &mut block.pushes[begin..][..V::LEN]);
        V::rows(drag.with(length), &mut block.drags[begin..][..V::LEN]);
    }
    let mut listed = 0;
    let rows = indices.zip(&block.contact_ends).zip(&mut *pass.pushes);
    for ((index, &end), sum) in rows {
        let contacts = listed..end as usize;
        listed = end as usize;
        let mut push = f32x4::splat(simd, 0.0);
        for (own, drag) in block.pushes[contacts.clone()].iter().zip(&block.drags[contacts]) {
            push = push + f32x4::from_slice(simd, own) + f32x4::from_slice(simd, drag);
        }
        push.store_slice(sum);
        let cloth = &cloths[slots[index as usize] as usize];
        // The inverse of a rotation is its transpose: dot products with the axes.
        let along = |axis: &[f32; 4]| axis[0] * sum[0] + axis[1] * sum[1] + axis[2] * sum[2];
        *sum = [along(&cloth.axis_x), along(&cloth.axis_y), along(&cloth.axis_z), 0.0];
    }
}

impl ContactLists {
    /// Computes the bounds of all cloths. Returns false if a position is not finite.
    fn bound(&mut self, level: Level, cloths: &[ContactCloth], bodies: &[ContactBody<'_>]) -> bool {
        let mirror = &mut self.mirror;
        mirror.widest = cloths.iter().map(|cloth| cloth.radius).fold(0.0, f32::max);
        let is_held =
            |body: &ContactBody<'_>| body.feedback.fault_count != 0 || body.feedback.is_asleep != 0;
        mirror.is_held.clear();
        mirror.is_held.extend(bodies.iter().map(is_held));
        mirror.bounds.resize(cloths.len(), Default::default());
        let rows = mirror.bounds.par_iter_mut().zip(cloths).zip(bodies);
        rows.map(|((corners, cloth), body)| {
            let found = dispatch!(level, simd => bounds(simd, cloth, body.current));
            *corners = found.unwrap_or_default().map(xyz);
            found.is_some()
        })
        .reduce(|| true, |a, b| a & b)
    }

    /// Tests whether the lists were made for these cloths and cover all that meet now.
    fn fits(&self, cloths: &[ContactCloth]) -> bool {
        let is_listed = |(begin, is_met): (&Option<u32>, &bool)| begin.is_some() || !is_met;
        self.watch.is_on()
            && self.keys.iter().copied().eq(cloths.iter().map(key))
            && self.begins.iter().zip(&self.mirror.is_met).all(is_listed)
    }

    /// Selects the rows of the cloths that meet now, and drops the lists.
    fn follow(&mut self, cloths: &[ContactCloth]) {
        self.watch.end();
        self.keys.clear();
        self.keys.extend(cloths.iter().map(key));
        self.begins.clear();
        self.rows.slots.clear();
        self.rows.particles.clear();
        for (slot, (cloth, &is_met)) in cloths.iter().zip(&self.mirror.is_met).enumerate() {
            let begin = self.rows.slots.len();
            self.begins.push(is_met.then_some(begin as u32));
            if is_met {
                self.rows.slots.resize(begin + cloth.particle_count as usize, slot as u32);
                self.rows.particles.extend(0..cloth.particle_count);
            }
        }
        let count = self.rows.slots.len();
        let block_count = self.blocks.len().max(count.div_ceil(BLOCK));
        self.blocks.resize_with(block_count, Block::default);
        self.rows.now.resize(count, [0.0; 4]);
        self.rows.motions.resize(count, [0.0; 4]);
        self.rows.cells.resize(count, 0);
        self.counts.resize(count, 0);
        self.pushes.resize(count, [0.0; 4]);
    }

    /// Transforms the followed rows to world space.
    fn gather(
        &mut self,
        level: Level,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        bodies: &[ContactBody<'_>],
    ) {
        let Rows { slots, particles, now, motions, cells } = &mut self.rows;
        let is_held = &self.mirror.is_held;
        let blocks = now.par_chunks_mut(BLOCK).zip(motions.par_chunks_mut(BLOCK));
        let indices = slots.par_chunks(BLOCK).zip(particles.par_chunks(BLOCK));
        let blocks = blocks.zip(cells.par_chunks_mut(BLOCK)).zip(indices);
        blocks.for_each(|(((now, mut motions), cells), (slots, mut particles))| {
            let mut rows = &mut *now;
            // A block can hold the end of one cloth and the begin of the next.
            for run in slots.chunk_by(|a, b| a == b) {
                let (slot, begin) = (run[0] as usize, particles[0] as usize);
                let (own_now, own_motions);
                (own_now, rows) = std::mem::take(&mut rows).split_at_mut(run.len());
                (own_motions, motions) = std::mem::take(&mut motions).split_at_mut(run.len());
                particles = &particles[run.len()..];
                let (body, end) = (&bodies[slot], begin + run.len());
                let from = [&body.current[begin..end], &body.previous[begin..end]];
                let (cloth, is_held, to) = (&cloths[slot], is_held[slot], [own_now, own_motions]);
                dispatch!(level, simd => gather_rows(simd, cloth, is_held, from, to));
            }
            for (cell, row) in cells.iter_mut().zip(now) {
                *cell = cell_key(row, parameters.cell_scale);
            }
        });
    }

    /// Lists all pairs within the contact distance plus `margin` \[m\]. Returns false if rows are
    /// too far from the origin for that.
    fn search(
        &mut self,
        level: Level,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        margin: f32,
    ) -> bool {
        let Self { mirror, grid, rows, blocks, .. } = self;
        let distance = 2.0 * mirror.widest;
        if !grid.fill(&rows.now, distance + margin) {
            return false;
        }
        self.watch.begin(grid, &rows.now, distance, margin);
        let shared = Shared { parameters, cloths, mirror, rows };
        let count = rows.now.len();
        blocks.par_iter_mut().enumerate().for_each(|(index, block)| {
            let [begin, end] = [index, index + 1].map(|k| (k * BLOCK).min(count) as u32);
            let search = &mut Search { shared, grid, margin, block };
            in_lanes!(level, list, search: Search<'_>, begin..end);
        });
        true
    }

    /// Renews the lists if they no longer cover all pairs that may touch. Returns false if rows are
    /// too far from the origin for that.
    fn update(
        &mut self,
        level: Level,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        bodies: &[ContactBody<'_>],
    ) -> bool {
        // Below this limit, rows that touch lie in adjacent cells of the reference grid, too: two
        // products are rounded to multiples of at most 1/256, or 1/512 of one of them, and differ
        // by at most 1/1.001 before rounding.
        let is_far = |farthest: f32| farthest * parameters.cell_scale >= 0.99 * MAX_CELL;
        let fits = self.fits(cloths);
        if !fits {
            self.follow(cloths);
        }
        self.gather(level, parameters, cloths, bodies);
        let (watch, now) = (&mut self.watch, &self.rows.now);
        let drift = fits.then(|| dispatch!(level, simd => watch.follow(simd, now)));
        if drift.is_some_and(|drift| watch.holds(&drift) && !is_far(drift.farthest)) {
            return true;
        }
        let margin = watch.next_margin(2.0 * self.mirror.widest, drift.as_ref());
        if fits {
            // Different cloths may meet now.
            self.follow(cloths);
            self.gather(level, parameters, cloths, bodies);
        }
        self.search(level, parameters, cloths, margin) && !is_far(self.watch.farthest())
    }

    /// Finds the contacts of this pass and pushes their rows apart.
    fn push_apart(
        &mut self,
        level: Level,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        bodies: &mut [ContactBody<'_>],
    ) {
        let Self { mirror, rows, blocks, counts, pushes, .. } = self;
        let shared = Shared { parameters, cloths, mirror, rows };
        let parts = blocks.par_iter_mut().zip(counts.par_chunks_mut(BLOCK)).enumerate();
        parts.for_each(|(index, (block, counts))| block.touch(&shared, index * BLOCK, counts));
        let blocks = &mut blocks[..counts.len().div_ceil(BLOCK)];
        let parts = blocks.par_iter_mut().zip(pushes.par_chunks_mut(BLOCK)).enumerate();
        parts.for_each(|(index, (block, pushes))| {
            let begin = (index * BLOCK) as u32;
            let indices = begin..begin + pushes.len() as u32;
            let pass = &mut Pass { shared, counts, block, pushes };
            in_lanes!(level, push, pass: Pass<'_>, indices);
        });
        for &slot in blocks.iter().flat_map(|block| &block.woken) {
            bodies[slot as usize].feedback.sleep_pass_count = 0;
        }
        bodies.par_iter_mut().zip(&self.begins).zip(&mirror.is_met).for_each(
            |((body, begin), is_met)| {
                let (Some(begin), true) = (*begin, is_met) else { return };
                let indices = begin as usize..begin as usize + body.current.len();
                let rows = rows.now[indices.clone()].iter().zip(&pushes[indices]);
                for (particle, (now, push)) in body.current.iter_mut().zip(rows) {
                    if now[3] > 0.0 {
                        let [x, y, z, w] = *particle;
                        *particle = [x + push[0], y + push[1], z + push[2], w];
                    }
                }
            },
        );
    }
}

impl ContactPasses<WideTeam> for ContactLists {
    fn pass(
        &mut self,
        workers: &WideTeam,
        parameters: &ContactParameters,
        cloths: &[ContactCloth],
        bodies: &mut [ContactBody<'_>],
    ) -> bool {
        let level = workers.level;
        if self.bound(level, cloths, bodies) {
            self.mirror.meet(cloths);
            if !self.mirror.is_met.contains(&true) {
                return false;
            }
            if self.update(level, parameters, cloths, bodies) {
                self.push_apart(level, parameters, cloths, bodies);
                return true;
            }
        }
        self.watch.end();
        self.mirror.pass(workers, parameters, cloths, bodies)
    }

    fn size(&self) -> usize {
        let Rows { slots, particles, now, motions, cells } = &self.rows;
        let vectors = [now, motions, &self.pushes].map(Vec::capacity);
        let indices = [slots, particles, &self.counts].map(Vec::capacity);
        ContactPasses::<WideTeam>::size(&self.mirror)
            + self.watch.size()
            + self.grid.size()
            + size_of::<Key>() * self.keys.capacity()
            + size_of::<Option<u32>>() * self.begins.capacity()
            + 16 * vectors.iter().sum::<usize>()
            + 4 * indices.iter().sum::<usize>()
            + 8 * cells.capacity()
            + size_of::<Block>() * self.blocks.capacity()
            + self.blocks.iter().map(Block::size).sum::<usize>()
    }
}
