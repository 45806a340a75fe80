//! Loops of a large cloth split over several threads: one thread walks the schedule and posts
//! loops, others help where they can. Synchronizing takes about 0.3 us per loop, while
//! `rayon::join` takes 2 to 5 us to wake a thread. This module contains all `unsafe` code of the
//! crate.
//!
//! The parts of a loop access the same rows through separate views ([`ClothMemory::view`]), as the
//! lanes of a workgroup access the same buffers. The rows are [`Cell`](std::cell::Cell)s, which
//! Rust confines to one thread, since concurrent use of a cell is a data race. Sharing them is
//! sound here because no part uses a row that another part writes:
//!
//! 1. A part runs the tasks of one loop, all of them splittable ([`Task::is_splittable`]), for its
//!    own items. A [`Post`] ends when all parts that were taken are done, so parts only run beside
//!    parts of the same loop.
//! 2. Of two items of such a loop, neither writes a row that the other reads or writes. The
//!    schedule promises this to the lanes of a GPU. By task:
//!    - Tasks of particles only write `current`, `previous` and the mesh memory (`scratch`) of
//!      their own particle and read no other particle's. A chunk is a run of particles with its own
//!      rows of `scratch`.
//!    - `BlowTriangle`, `GatherAnchor`, `BuildRow` and `ReduceRow` write one row of `scratch` per
//!      item and only read different rows: particles, or the half of the rows that this round does
//!      not write.
//!    - Fibers and bends only write particles with inverse mass above 0, which no two elements of a
//!      set share. Shared particles have inverse mass 0 and are only read. Bundles of a set share
//!      no particle at all.
//! 3. Point 2 holds for every fabric of a user: an engine accepts a cloth only after
//!    `ClothDesc::validate`, which rejects sets of fibers or bends that share a particle with mass,
//!    and later rejects mass for a particle that had none (`validate_write`). Nothing else raises a
//!    mass above 0. Sets of bundles are built when the fabric is packed. Only an engine of
//!    [`WideTeam`] creates [`Parts`] with more than one part.
//!
//! The reference runs the lanes between two barriers in several orders and compares bits
//! (`tests/gpu/mirror`), which finds tasks that violate point 2. `tests/cpu/wide` compares split
//! loops with the reference.
#![expect(unsafe_code, reason = "the only module that passes cells between threads")]

use std::hint;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::{ClothMemory, Counters, Work};
use fearless_simd::Level;
use poplin_layout::Task;

use crate::floats::Floats;
use crate::lanes::MAX_LANES;
use crate::wide::team::{WideTeam, run_items};

/// Largest number of parts of a loop: each one is a bit of [`Desk::open`].
const MAX_PARTS: usize = 64;

/// Parts per thread of a long loop: other threads can take the second part of a late thread.
const PARTS_PER_THREAD: usize = 2;

/// Rounds of spinning before a waiting thread yields to the scheduler.
const PATIENCE: u32 = 10_000;

/// Number of parts of a loop, of which at most `useful` are long enough.
fn part_count(useful: usize, thread_count: usize) -> usize {
    let most = useful.min(PARTS_PER_THREAD * thread_count).min(MAX_PARTS);
    // The same number for each thread.
    if most > thread_count { most - most % thread_count } else { most.max(1) }
}

/// Loop that is run in parts.
struct Loop<'a, 'm> {
    level: Level,
    work: &'a Work,
    memory: &'a ClothMemory<'m>,
    part_count: usize,
    thread_count: usize,
}

impl Loop<'_, '_> {
    /// Items of a part. The parts together cover all items, and the parts of one thread
    /// ([`parts_of`]) are adjacent.
    fn items(&self, part: usize) -> Range<u32> {
        let each = (self.part_count / self.thread_count).max(1);
        // Part p belongs to thread p mod thread_count: renumber, so that the parts of a thread are
        // adjacent.
        let part = part % self.thread_count * each + part / self.thread_count;
        let items = self.work.items();
        let len = items.end - items.start;
        let bound = |part: usize| {
            let before = u64::from(len) * part as u64 / self.part_count as u64;
            items.start
                + if part == self.part_count { len } else { whole_blocks(before as u32).min(len) }
        };
        bound(part)..bound(part + 1)
    }
}

/// Nearest multiple of the largest lane count; smaller counts stay as they are.
fn whole_blocks(count: u32) -> u32 {
    let lanes = MAX_LANES as u32;
    if count < lanes { count } else { (count + lanes / 2) / lanes * lanes }
}

/// Bit mask of the parts assigned to a thread.
fn parts_of(thread: usize, thread_count: usize) -> u64 {
    (thread..MAX_PARTS).step_by(thread_count).fold(0, |bits, part| bits | 1 << part)
}

/// Meeting point of the threads that simulate one cloth: the thread that walks the schedule posts
/// loops, and all threads take parts of them.
#[derive(Debug)]
struct Desk {
    /// Bit mask of the parts of the posted loop that no thread has taken.
    open: AtomicU64,
    /// Number of parts that were taken and are done.
    done: AtomicU32,
    /// Pointer to the posted [`Loop`], valid from taking a part until that part is done.
    posted: AtomicPtr<()>,
    /// True once nothing will be posted any more.
    is_closed: AtomicBool,
    /// Sum of the counters of the parts of the posted loop.
    counters: Mutex<Option<Counters>>,
    /// Scratch memory of fiber solves, per thread.
    rows: [Mutex<Floats>; MAX_PARTS],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until a condition holds: spins for [`PATIENCE`] rounds, then yields to the scheduler in
/// each.
fn wait_until(holds: impl Fn() -> bool) {
    let mut rounds = 0;
    while !holds() {
        rounds += 1;
        if rounds < PATIENCE { hint::spin_loop() } else { thread::yield_now() }
    }
}

impl Desk {
    /// Takes the first part assigned to this thread, else the last of the other parts.
    fn take(&self, own: u64) -> Option<usize> {
        let mut open = self.open.load(Ordering::Relaxed);
        while open != 0 {
            let own = open & own;
            let part = if own != 0 { own.trailing_zeros() } else { 63 - open.leading_zeros() };
            let left = open & !(1 << part);
            // A different loop may have been posted since the load: then this takes a part of that
            // loop.
            match self.open.compare_exchange_weak(open, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(part as usize),
                Err(now) => open = now,
            }
        }
        None
    }

    /// Runs parts for as long as this thread can take one.
    fn run_parts(&self, thread: usize, own: u64) {
        while let Some(part) = self.take(own) {
            let _done = Done(&self.done);
            // SAFETY: the bit of this part was set after the pointer was stored (`Release`), and
            // `take` has acquired both. `Post` keeps the loop alive until all parts that were taken
            // are done, which `_done` signals at the end of this round. Only the view is made from
            // it, and it is dropped before. Using it from this thread is sound because only rows
            // are written through views, and no row that one part writes is used by another; see
            // the module.
            let posted = unsafe { &*self.posted.load(Ordering::Relaxed).cast::<Loop<'_, '_>>() };
            let mut view = posted.memory.view();
            let rows = &mut lock(&self.rows[thread]);
            run_items(posted.level, posted.work, &mut view, posted.items(part), rows);
            let (own, mut all) = (view.counters(), lock(&self.counters));
            *all = Some(all.map_or(own, |others| others.with(own)));
        }
    }

    /// Runs parts of posted loops until the desk is closed.
    fn help(&self, thread: usize, thread_count: usize) {
        let own = parts_of(thread, thread_count);
        let is_closed = || self.is_closed.load(Ordering::Relaxed);
        while !is_closed() {
            self.run_parts(thread, own);
            wait_until(|| is_closed() || self.open.load(Ordering::Relaxed) != 0);
        }
    }

    /// Helps with the threads from `thread` on, as far as the thread pool provides them.
    fn help_from(&self, thread: usize, thread_count: usize) {
        if thread < thread_count {
            let others = || self.help_from(thread + 1, thread_count);
            rayon::join(|| self.help(thread, thread_count), others);
        }
    }
}

/// Signals that a part is done, even after a panic.
struct Done<'a>(&'a AtomicU32);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// Releases the helper threads, even after a panic.
struct Close<'a>(&'a AtomicBool);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Posted loop. Dropping it waits for all parts that were taken.
struct Post<'a> {
    desk: &'a Desk,
    part_count: usize,
}

impl<'a> Post<'a> {
    /// Posts a loop. A desk holds one loop at a time: [`Threads`] lends its desk once.
    fn new(desk: &'a Desk, posted: &'a Loop<'_, '_>) -> Self {
        let part_count = posted.part_count;
        desk.done.store(0, Ordering::Relaxed);
        desk.posted.store(ptr::from_ref(posted).cast_mut().cast(), Ordering::Relaxed);
        desk.open.store(u64::MAX >> (MAX_PARTS - part_count), Ordering::Release);
        Self { desk, part_count }
    }
}

impl Drop for Post<'_> {
    fn drop(&mut self) {
        // Parts are left over only after a panic.
        let left = self.desk.open.swap(0, Ordering::Relaxed).count_ones();
        let taken = self.part_count as u32 - left;
        wait_until(|| self.desk.done.load(Ordering::Acquire) == taken);
    }
}

/// Threads that simulate one cloth: the owner of this value and its helpers. Not `Clone`, since two
/// owners would post at one desk.
#[derive(Debug)]
pub(crate) struct Threads {
    desk: Arc<Desk>,
    count: usize,
}

impl Default for Threads {
    /// Returns a single thread without helpers.
    fn default() -> Self {
        let desk = Desk {
            open: AtomicU64::new(0),
            done: AtomicU32::new(0),
            posted: AtomicPtr::new(ptr::null_mut()),
            is_closed: AtomicBool::new(false),
            counters: Mutex::default(),
            rows: std::array::from_fn(|_| Mutex::default()),
        };
        Self { desk: Arc::new(desk), count: 1 }
    }
}

/// Runs `run` on a team whose loops are split over up to `count` threads.
pub(crate) fn with_threads<R: Send>(
    team: &mut WideTeam,
    count: usize,
    run: impl FnOnce(&mut WideTeam) -> R + Send,
) -> R {
    let desk = team.threads.desk.clone();
    team.threads.count = count.clamp(1, MAX_PARTS);
    let count = team.threads.count;
    desk.is_closed.store(false, Ordering::Relaxed);
    let run = || {
        let _close = Close(&desk.is_closed);
        run(&mut *team)
    };
    let (result, ()) = rayon::join(run, || desk.help_from(1, count));
    team.threads.count = 1;
    result
}

impl Threads {
    /// Number of threads.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Size of the scratch memory \[bytes\].
    pub(crate) fn size(&self) -> usize {
        self.desk.rows.iter().map(|rows| lock(rows).size()).sum()
    }

    /// Runs a loop in parts, of which at most `useful` are long enough. Returns false if the loop
    /// cannot be split or need not be.
    pub(crate) fn run(
        &mut self,
        level: Level,
        work: &Work,
        memory: &mut ClothMemory<'_>,
        useful: usize,
    ) -> bool {
        let thread_count = self.count;
        let part_count = part_count(useful, thread_count);
        if thread_count == 1 || part_count == 1 || !work.tasks().all(Task::is_splittable) {
            return false;
        }
        let posted = Loop { level, work, memory, part_count, thread_count };
        let post = Post::new(&self.desk, &posted);
        self.desk.run_parts(0, parts_of(0, thread_count));
        drop(post);
        if let Some(counters) = lock(&self.desk.counters).take() {
            memory.count(counters);
        }
        true
    }
}
