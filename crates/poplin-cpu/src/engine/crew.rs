//! Workers, and batches of cloths that they simulate.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use arrayvec::ArrayVec;
use poplin_host::FramePart;
use poplin_layout::StageMask;
use rayon::prelude::*;

use super::cloth::CpuCloth;
use crate::memory;
use crate::team::MAX_CLOTHS_AT_ONCE;
use crate::{Parts, Workers};

/// Number of threads per cloth in a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    /// Number of threads.
    pub(super) threads: usize,
    /// Number of particles above which a cloth is split.
    pub(super) above: usize,
    /// True to split every loop, for tests.
    pub(super) always: bool,
}

impl Split {
    /// Permission to split for one cloth.
    pub(super) fn parts<W: Workers>(&self, cloth: &CpuCloth<W::Kept>) -> Parts<W> {
        // A multilevel solve splits its own loops, and is all that counts.
        let is_large = cloth.current.len() > self.above && !cloth.is_multilevel();
        let is_split = self.always || is_large;
        Parts::new(if is_split { self.threads } else { 1 }, self.always)
    }
}

/// Smallest number of particles of a cloth that several threads simulate: below it, threads wait
/// longer than they work.
pub(super) const MIN_SPLIT_PARTICLES: usize = 2048;

/// Largest number of particles of a batched cloth: the state of larger batches exceeds the cache of
/// a core.
const MAX_BATCH_PARTICLES: usize = 2048;

/// Working memory of cloths during simulation.
#[derive(Debug, Default)]
pub(super) struct Working {
    /// Self-collision grids.
    cells: Vec<u32>,
    /// Scratch rows.
    pub(super) scratch: Vec<[u32; 4]>,
}

impl Working {
    /// Returns room for a number of buckets and rows.
    pub(super) fn room(&mut self, cells: usize, rows: usize) -> (&mut [u32], &mut [[u32; 4]]) {
        self.fit(cells, rows);
        (&mut self.cells[..cells], &mut self.scratch[..rows])
    }

    /// Grows to at least this size.
    fn fit(&mut self, cells: usize, rows: usize) {
        self.cells.resize(cells.max(self.cells.len()), 0);
        self.scratch.resize(rows.max(self.scratch.len()), [0; 4]);
    }

    /// Allocated bytes.
    fn size(&self) -> usize {
        4 * self.cells.capacity() + 16 * self.scratch.capacity()
    }
}

/// Simulates a part of the current frame of similar cloths, at most [`MAX_CLOTHS_AT_ONCE`].
pub(super) fn simulate_alike<W: Workers>(
    workers: &mut W,
    working: &mut Working,
    cloths: &mut [&mut CpuCloth<W::Kept>],
    part: &FramePart,
) {
    let Some(first) = cloths.first() else { return };
    let (stages, grid_len) = (first.stages(part), first.grid_len());
    // Similar cloths may need different amounts of scratch for their meshes.
    let row_count = cloths.iter().map(|cloth| cloth.scratch_len()).max().unwrap_or(0);
    let (mut cells, mut scratch) = working.room(grid_len * cloths.len(), row_count * cloths.len());
    let mut members = ArrayVec::<_, MAX_CLOTHS_AT_ONCE>::new();
    for cloth in &mut *cloths {
        let (own_cells, other_cells) = std::mem::take(&mut cells).split_at_mut(grid_len);
        let (own_rows, other_rows) = std::mem::take(&mut scratch).split_at_mut(row_count);
        (cells, scratch) = (other_cells, other_rows);
        members.extend(cloth.member(part, (own_cells, own_rows)));
    }
    workers.simulate_cloths(&mut members, part.iterations.clone(), stages);
    drop(members);
    for (cloth, scratch) in cloths.iter_mut().zip(working.scratch.chunks(row_count.max(1))) {
        cloth.remember(scratch);
    }
}

/// Returns an empty vector that reuses the memory of another one, whose items differ only in
/// lifetimes.
pub(super) fn reuse<A, B>(mut items: Vec<A>) -> Vec<B> {
    items.clear();
    // The vector is empty: nothing is converted, and `collect` keeps the allocation.
    items.into_iter().map(|_| unreachable!("the vector is empty")).collect()
}

/// Idle workers with their working memory, kept from frame to frame: as many as ever ran at once.
#[derive(Debug, Default)]
pub(super) struct Crew<W> {
    /// Idle workers.
    pub(super) idle: Mutex<Vec<(W, Working)>>,
    /// Template of new workers.
    pub(super) first: W,
}

impl<W: Workers + Clone + Send + Sync> Crew<W> {
    /// Prepares as many workers as run at once, each for the largest cloth and the largest batch,
    /// so that neither their number nor their memory depends on scheduling.
    pub(super) fn ready(&mut self, cloths: &[Box<CpuCloth<W::Kept>>]) {
        let Self { idle, first } = self;
        let idle = idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        let count = thread_count().min(cloths.len());
        idle.resize_with(count.max(idle.len()), || (first.clone(), Working::default()));
        let small = cloths.iter().filter(|cloth| cloth.current.len() <= MAX_BATCH_PARTICLES);
        let most = first.cloths_at_once().clamp(1, MAX_CLOTHS_AT_ONCE).min(small.clone().count());
        let (mut cells, mut rows) = (0, 0);
        for cloth in cloths {
            let is_small = cloth.current.len() <= MAX_BATCH_PARTICLES;
            let count = if is_small { most } else { 1 };
            rows = rows.max(count * cloth.scratch_len());
            if cloth.host.has_self_collision() {
                let buckets = memory::grid_len(cloth.host.self_collision_count());
                cells = cells.max(count * buckets);
            }
        }
        let particles = small.map(|cloth| cloth.current.len()).max().unwrap_or(0);
        for (workers, working) in idle {
            working.fit(cells, rows);
            if most > 1 {
                workers.reserve(particles);
            }
        }
    }

    /// Drops all idle workers and their memory.
    pub(super) fn dismiss(&mut self) {
        self.idle = Mutex::default();
    }

    /// Runs a closure with an idle worker, or a new one.
    fn with_one<T>(&self, run: impl FnOnce(&mut W, &mut Working) -> T) -> T {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle().pop();
        let (mut workers, mut working) =
            found.unwrap_or_else(|| (self.first.clone(), Working::default()));
        let result = run(&mut workers, &mut working);
        idle().push((workers, working));
        result
    }

    /// Simulates a range of iterations of the current frame of all cloths in parallel, similar ones
    /// in batches. `order` is working memory.
    pub(super) fn simulate(
        &self,
        cloths: &mut [Box<CpuCloth<W::Kept>>],
        order: &mut Vec<&'static mut CpuCloth<W::Kept>>,
        split: Split,
        stages: StageMask,
        iterations_of: impl Fn(&CpuCloth<W::Kept>) -> Range<u32> + Sync,
    ) {
        let begun = |cloth: &&mut Box<CpuCloth<W::Kept>>| !cloth.arrays.cloth_parameters.is_empty();
        let mut sorted = reuse(std::mem::take(order));
        sorted.extend(cloths.iter_mut().filter(begun).map(Box::as_mut));
        sorted.sort_unstable_by_key(|cloth: &&mut CpuCloth<W::Kept>| cloth.rank());
        let cloth_count = sorted.len();
        let most = self.first.cloths_at_once();
        sorted.par_chunk_by_mut(|a, b| a.is_like(b)).for_each(|alike| {
            let Some(first) = alike.first() else { return };
            let iterations = iterations_of(first);
            if iterations.is_empty() {
                return;
            }
            let part = FramePart { iterations, stages, ..FramePart::WHOLE };
            let is_split = split.parts::<W>(first).count() > 1;
            let is_small = !is_split && first.current.len() <= MAX_BATCH_PARTICLES;
            // At least one batch per thread.
            let threads = (alike.len() * split.threads).div_ceil(cloth_count);
            let most = if is_small { most.clamp(1, MAX_CLOTHS_AT_ONCE) } else { 1 };
            // A multiple of the number of threads, so that all finish together.
            let batch_count = alike.len().div_ceil(most).next_multiple_of(threads);
            alike.par_chunks_mut(alike.len().div_ceil(batch_count)).for_each(|batch| {
                let Some(first) = batch.first() else { return };
                let parts = split.parts(first);
                self.with_one(|workers, working| {
                    workers.in_parts(parts, |workers| {
                        simulate_alike(workers, working, batch, &part);
                    });
                });
            });
        });
        *order = reuse(sorted);
    }

    /// Repairs multilevel solves where collision with other cloths has pushed particles.
    pub(super) fn repair(&self, cloths: &mut [Box<CpuCloth<W::Kept>>]) {
        cloths.par_iter_mut().filter(|cloth| !cloth.before.is_empty()).for_each(|cloth| {
            self.with_one(|workers, working| cloth.repair(workers, working));
        });
    }

    pub(super) fn size(&self) -> usize {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.iter().map(|(workers, working)| workers.size() + working.size()).sum()
    }
}

/// Returns the number of threads that CPU engines share: those of rayon's global pool, or of the
/// pool that the caller runs in.
pub fn thread_count() -> usize {
    rayon::current_num_threads()
}
