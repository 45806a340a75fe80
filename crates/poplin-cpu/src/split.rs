//! The loops of a large cloth on several threads: one walks the schedule and posts them, others help where they can. They wait
//! for each other for about 0.3 us a loop; `rayon::join` takes 2 to 5 us to call a thread. All `unsafe` code of this crate is
//! here.
//!
//! The parts of a loop see the same rows through views of their own ([`ClothMemory::view`]), as the lanes of a workgroup see
//! the same buffers. The rows are [`Cell`](std::cell::Cell)s, which Rust keeps on one thread, since two threads that use a cell
//! at once are a data race. Here they may cross, because no two parts ever use a row that one of them writes:
//!
//! 1. A part runs the tasks of one loop, all of [`is_splittable`], for items of its own. A [`Post`] ends when all parts that were
//!    taken are done, so parts only meet parts of the same loop.
//! 2. Between two items of such a loop no row is written by one and read or written by the other. That is what the schedule
//!    promises the lanes of a GPU. By task:
//!    - Tasks of particles write `current`, `previous` and the memory of the mesh (`scratch`) of their own particle alone and
//!      read no other particle's. A chunk is a run of particles with rows of `scratch` of its own.
//!    - `BlowTriangle`, `GatherAnchor`, `BuildRow` and `ReduceRow` write one row of `scratch` per
//!      item and read others only: particles, or the half of the rows that this round does not write.
//!    - Fibers and bends write particles whose inverse mass is above 0, which no two of a set share; what they share has none,
//!      is read, and written by nobody. Bundles of a set share no particle at all.
//! 3. The lists behind 2 hold, whatever fabric a user makes: an engine takes a cloth only after `Cloth::validate`, which refuses
//!    sets of fibers or bends that share a particle with mass, and refuses mass for a particle without later on
//!    (`validate_write`); nothing else raises a mass above 0. Sets of bundles are made when
//!    the fabric is packed. Only an engine of [`WideTeam`] makes [`Parts`] of more than one for it.
//!
//! The mirror runs the lanes between two barriers in several orders and compares bits (`tests/mirror.rs`), which finds tasks
//! that break 2; `tests/wide.rs` compares the parts with the mirror.
#![expect(unsafe_code, reason = "the only module that passes cells between threads")]

use std::hint;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use fearless_simd::Level;
use poplin_layout::Task;
use poplin_reference::{ClothMemory, Counters, Work};

use crate::lanes::MAX_LANES;
use crate::team::{WideTeam, run_items};

/// Whether items of a task may run at once on several threads. The others count in memory that all items share, or are few.
fn is_splittable(task: Task) -> bool {
    match task {
        Task::IntegrateParticle
        | Task::GatherWind
        | Task::ConstrainMotion
        | Task::ConstrainTethers
        | Task::ConstrainSeparation
        | Task::CollideConvex
        | Task::CollideBox
        | Task::CollideTriangle
        | Task::RestoreMass
        | Task::CollideShape
        | Task::CollideContinuous
        | Task::VisitChunk
        | Task::LimitSpeed
        | Task::TestRest => true,
        Task::BlowTriangle | Task::GatherAnchor | Task::BuildRow | Task::ReduceRow => true,
        Task::ProjectFiber | Task::SolveFiber | Task::SolveBend | Task::CollideBundle => true,
        // A fiber that is a ring begins and ends with one particle: two of its items would write it.
        Task::MoveEdge => false,
        // `SolveFiber` does it all.
        Task::BuildEquation | Task::PushEdge => false,
        // Self collision works on lists of the whole cloth.
        Task::ClearCell
        | Task::CountMember
        | Task::SumCells
        | Task::ScanCells
        | Task::ScatterMember
        | Task::SortMember
        | Task::CountContacts
        | Task::PushApart => false,
        Task::ProbeContacts => true,
        // An implicit solve adds up gradients at particles, in an order.
        Task::BeginSolve
        | Task::StretchTriangle
        | Task::FoldBend
        | Task::FindResidual
        | Task::DirectTriangle
        | Task::FactorChain
        | Task::SolveChain
        | Task::SumPart
        | Task::TakeStep
        | Task::EndSolve => false,
        Task::SumParts | Task::ChooseStep => false,
        Task::CountSleep => false,
        Task::PrepareShape | Task::SumChunks => false,
        Task::FetchParticle | Task::FlushParticle => false,
    }
}

/// Most parts of a loop: each is a bit of [`Desk::open`].
const MAX_PARTS: usize = 64;

/// Parts for every thread where the loop is long enough: others can take the second one from a thread that is late.
const PARTS_PER_THREAD: usize = 2;

/// Rounds in which a thread waits before it lets other programs run.
const PATIENCE: u32 = 10_000;

/// In how many parts a loop is run of which so many would each be long enough.
fn part_count(useful: usize, thread_count: usize) -> usize {
    let most = useful.min(PARTS_PER_THREAD * thread_count).min(MAX_PARTS);
    // As many for each thread.
    if most > thread_count { most - most % thread_count } else { most.max(1) }
}

/// A loop in parts.
struct Loop<'a, 'm> {
    level: Level,
    work: &'a Work,
    memory: &'a ClothMemory<'m>,
    part_count: usize,
    thread_count: usize,
}

impl Loop<'_, '_> {
    /// The items of a part; those of all parts are all items. Those of a thread ([`parts_of`]) lie side by side.
    fn items(&self, part: usize) -> Range<u32> {
        let each = (self.part_count / self.thread_count).max(1);
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

/// The nearest count of items that fills all lanes; any below that.
fn whole_blocks(count: u32) -> u32 {
    let lanes = MAX_LANES as u32;
    if count < lanes { count } else { (count + lanes / 2) / lanes * lanes }
}

/// The parts that are meant for a thread.
fn parts_of(thread: usize, thread_count: usize) -> u64 {
    (thread..MAX_PARTS).step_by(thread_count).fold(0, |bits, part| bits | 1 << part)
}

/// Where the threads that simulate one cloth meet: the one that walks its schedule posts loops, and all take parts of them.
#[derive(Debug)]
struct Desk {
    /// A bit for every part of the posted loop that nobody has taken.
    open: AtomicU64,
    /// Parts that were taken and are done.
    done: AtomicU32,
    /// The posted [`Loop`], which is there from a part's being taken to its being done.
    posted: AtomicPtr<()>,
    /// Whether nothing will be posted any more.
    is_closed: AtomicBool,
    /// What the parts of the posted loop have counted.
    counters: Mutex<Option<Counters>>,
    /// Working memory of fibers, for every thread.
    rows: [Mutex<Vec<f32>>; MAX_PARTS],
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Looks again and again until a condition holds.
fn wait_until(holds: impl Fn() -> bool) {
    let mut rounds = 0;
    while !holds() {
        rounds += 1;
        if rounds < PATIENCE { hint::spin_loop() } else { thread::yield_now() }
    }
}

impl Desk {
    /// Takes the first part that is meant for a thread, else the last of the others.
    fn take(&self, own: u64) -> Option<usize> {
        let mut open = self.open.load(Ordering::Relaxed);
        while open != 0 {
            let own = open & own;
            let part = if own != 0 { own.trailing_zeros() } else { 63 - open.leading_zeros() };
            let left = open & !(1 << part);
            // Another loop may have been posted since the load: then this takes a part of that one.
            match self.open.compare_exchange_weak(open, left, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(part as usize),
                Err(now) => open = now,
            }
        }
        None
    }

    /// Runs the parts that a thread can take.
    fn run_parts(&self, thread: usize, own: u64) {
        while let Some(part) = self.take(own) {
            let _done = Done(&self.done);
            // SAFETY: the bit of this part was set after the pointer, which `take` has acquired with it. `Post` keeps the loop
            // until all parts that were taken are done, which `_done` says at the end of this round. The view alone is made of
            // it and dropped before. It may be used here because nothing but rows is written through views, and no row that
            // one part writes is used by another; see the module.
            let posted = unsafe { &*self.posted.load(Ordering::Relaxed).cast::<Loop<'_, '_>>() };
            let mut view = posted.memory.view();
            let rows = &mut lock(&self.rows[thread]);
            run_items(posted.level, posted.work, &mut view, posted.items(part), rows);
            let (own, mut all) = (view.counters(), lock(&self.counters));
            *all = Some(all.map_or(own, |others| others.with(own)));
        }
    }

    /// Runs parts of what is posted until the desk is closed.
    fn help(&self, thread: usize, thread_count: usize) {
        let own = parts_of(thread, thread_count);
        let is_closed = || self.is_closed.load(Ordering::Relaxed);
        while !is_closed() {
            self.run_parts(thread, own);
            wait_until(|| is_closed() || self.open.load(Ordering::Relaxed) != 0);
        }
    }

    /// Helps with all threads from this one on, as far as they come.
    fn help_from(&self, thread: usize, thread_count: usize) {
        if thread < thread_count {
            let others = || self.help_from(thread + 1, thread_count);
            rayon::join(|| self.help(thread, thread_count), others);
        }
    }
}

/// Says that a part is done, even after a panic.
struct Done<'a>(&'a AtomicU32);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// Sends the helpers home, even after a panic.
struct Close<'a>(&'a AtomicBool);

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A posted loop, over when all parts that were taken are done.
struct Post<'a> {
    desk: &'a Desk,
    part_count: usize,
}

impl<'a> Post<'a> {
    /// Nothing else may be posted there: [`Threads`] lends its desk once.
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
        // None is left but after a panic.
        let left = self.desk.open.swap(0, Ordering::Relaxed).count_ones();
        let taken = self.part_count as u32 - left;
        wait_until(|| self.desk.done.load(Ordering::Acquire) == taken);
    }
}

/// The threads that simulate one cloth: the one that has this, and those that help it. Not to be cloned: two would post at one
/// desk.
#[derive(Debug)]
pub(crate) struct Threads {
    desk: Arc<Desk>,
    count: usize,
}

impl Default for Threads {
    /// One thread.
    fn default() -> Self {
        let desk = Desk {
            open: AtomicU64::new(0),
            done: AtomicU32::new(0),
            posted: AtomicPtr::new(ptr::null_mut()),
            is_closed: AtomicBool::new(false),
            counters: Mutex::default(),
            rows: [const { Mutex::new(Vec::new()) }; MAX_PARTS],
        };
        Self { desk: Arc::new(desk), count: 1 }
    }
}

/// Runs something of a team in which loops are run by up to so many threads.
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
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of working memory.
    pub(crate) fn size(&self) -> usize {
        self.desk.rows.iter().map(|rows| size_of::<f32>() * lock(rows).capacity()).sum()
    }

    /// Runs a loop in parts, of which so many would each be long enough; false if it cannot be split or need not be.
    pub(crate) fn run(
        &mut self,
        level: Level,
        work: &Work,
        memory: &mut ClothMemory<'_>,
        useful: usize,
    ) -> bool {
        let thread_count = self.count;
        let part_count = part_count(useful, thread_count);
        if thread_count == 1 || part_count == 1 || !work.tasks().all(is_splittable) {
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
