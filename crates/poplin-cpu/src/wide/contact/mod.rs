//! Collision between cloths: wide form of `crate::contact` with neighbor lists, which
//! are kept from pass to pass until two rows can have come close without being listed.
//!
//! The reference sorts the rows into a grid in every pass and searches it twice. Here, a search
//! lists for every row of a colliding cloth which rows of other cloths may touch it, and passes
//! read these lists over iterations and frames. Contacts are sorted into the order of the
//! reference, so that all sums are bit-identical. Rows of cloths that meet no other cloth are not
//! transformed to world space: only their bounds are computed.

mod block;
mod rows;

use crate::contact::{ContactBody, ContactMemory, ContactPasses};
use crate::math::xyz;
use fearless_simd::{Level, dispatch};
use poplin_layout::{ContactCloth, ContactParameters};
use rayon::prelude::*;

use self::block::{Block, Pass, Search, Shared, list, push};
use self::rows::{Rows, bounds, gather_rows};
use crate::wide::WideTeam;
use crate::wide::near::{Grid, MAX_CELL, Watch, cell_key};
use crate::wide::team::in_lanes;

/// Rows of a block: the unit of work of a thread.
const BLOCK: usize = 256;

/// Values of a cloth that lists depend on.
type Key = [u32; 5];

fn key(cloth: &ContactCloth) -> Key {
    [cloth.row_begin, cloth.particle_count, cloth.group, cloth.mask, cloth.radius.to_bits()]
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
                // Cell keys decide the order of contacts.
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
            // The last block is shorter.
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
                // Rows of cloths that have stopped meeting others are still followed, but get no
                // pushes.
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
            self.mirror.find_near_cloths(cloths);
            // No bounds overlap: nothing can touch.
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
