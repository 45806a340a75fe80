//! Lanes of a workgroup on a CPU: the work between two barriers, lane by lane.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use poplin_geometry::Rng;
use poplin_layout::{Feedback, StageMask, Task};

use crate::ClothMemory;
use crate::contact::{ContactMemory, ContactPasses};
use crate::kernel::simulate_cloth;
use crate::memory::Registers;
use crate::multilevel::LevelsMemory;
use crate::stage::twin;

/// Order in which lanes run between two barriers. A race-free kernel yields the same bits for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneOrder {
    /// Lane 0 first.
    Forward,
    /// Last lane first.
    Reversed,
    /// A new seeded shuffle in every interval.
    Shuffled(u64),
}

/// A stage function: processes one item.
pub type StageFunction = fn(&mut ClothMemory<'_>, u32);

/// Largest number of functions in one loop over items.
const MAX_TASKS: usize = 8;

/// Loop over work items: item `i` belongs to lane `(i - begin) % lane_count`, with the functions
/// called for each item.
#[derive(Debug, Clone)]
pub struct Work {
    items: Range<u32>,
    tasks: [Option<Task>; MAX_TASKS],
    registers: Registers,
}

impl Work {
    /// Creates a loop over items that calls the first eight of these functions, with a copy of the
    /// current registers.
    #[inline]
    pub fn new(
        items: Range<u32>,
        tasks: impl Iterator<Item = Task>,
        memory: &ClothMemory<'_>,
    ) -> Self {
        let mut work = Self { items, tasks: [None; MAX_TASKS], registers: memory.registers };
        work.tasks.iter_mut().zip(tasks).for_each(|(slot, task)| *slot = Some(task));
        work
    }

    /// Range of the items.
    pub fn items(&self) -> Range<u32> {
        self.items.clone()
    }

    /// Functions called for each item, in order.
    pub fn tasks(&self) -> impl Iterator<Item = Task> + '_ {
        self.tasks.iter().copied().flatten()
    }

    /// Runs every `stride`-th item, starting `offset` items after the first.
    fn run(&self, memory: &mut ClothMemory<'_>, offset: u32, stride: u32) {
        let twins = self.tasks.map(|task| task.map(twin));
        memory.registers = self.registers;
        for item in (self.items.start + offset..self.items.end).step_by(stride as usize) {
            for twin in twins.iter().flatten() {
                twin(memory, item);
            }
        }
    }
}

/// Permission to split the loops of one cloth across threads. Only an engine of `W` creates more
/// than one part, and only for cloths that [`poplin_model::ClothDesc::validate`] accepts: parallel
/// writes of their loops are disjoint.
#[derive(Debug)]
pub struct Parts<W> {
    count: usize,
    always: bool,
    workers: PhantomData<fn(W)>,
}

impl<W> Parts<W> {
    /// One part: nothing is split.
    pub const ONE: Self = Self { count: 1, always: false, workers: PhantomData };

    pub(crate) fn new(count: usize, always: bool) -> Self {
        Self { count, always, workers: PhantomData }
    }

    /// Largest number of parts.
    pub fn count(&self) -> usize {
        self.count
    }

    /// True if even loops too short to gain from it are split, for tests.
    pub fn always(&self) -> bool {
        self.always
    }
}

/// Largest [`Workers::cloths_at_once`].
pub const MAX_CLOTHS_AT_ONCE: usize = 16;

/// Cloth in simulation: its buffers as a workgroup sees them, its report, and the state that its
/// [`Workers`] keep.
#[derive(Debug)]
pub struct Member<'a, K> {
    /// Buffers and state.
    pub memory: ClothMemory<'a>,
    /// Faults and counters.
    pub feedback: &'a mut Feedback,
    /// See [`Workers::Kept`].
    pub kept: &'a mut K,
}

/// Executor of the loops of a schedule, in its own order.
pub trait Workers {
    /// State per cloth between the parts of its frames: caches, and the last multilevel solve,
    /// which collision between cloths may repair. No result of another frame depends on it.
    type Kept: fmt::Debug + Clone + Default + Send + Sync + 'static;

    /// Swaps the cached state in before a cloth is simulated, and out afterwards.
    fn exchange(&mut self, _: &mut Self::Kept) {}

    /// Allocated bytes of the cached state.
    fn kept_size(_: &Self::Kept) -> usize {
        0
    }

    /// Implementation of the passes of collision between cloths; [`ContactMemory`] without a SIMD
    /// form.
    type Contacts: ContactPasses<Self> + Send + Sync;

    /// Prepares for self-collision in a part of a frame. Does nothing by default.
    fn open_grid(&mut self, _: &mut ClothMemory<'_>) {}

    /// Runs a closure with permission to split the loops of the cloths that it simulates; nothing
    /// is split by default.
    fn in_parts<R: Send>(&mut self, _: Parts<Self>, run: impl FnOnce(&mut Self) -> R + Send) -> R
    where
        Self: Sized + Send,
    {
        run(self)
    }

    /// Allocates working memory for [`Self::simulate_cloths`] of cloths with up to this number of
    /// particles. Does nothing by default.
    fn reserve(&mut self, _: usize) {}

    /// Allocated bytes of the working memory.
    fn size(&self) -> usize {
        0
    }

    /// Largest number of cloths per call of [`Self::simulate_cloths`], up to
    /// [`MAX_CLOTHS_AT_ONCE`].
    fn cloths_at_once(&self) -> usize {
        1
    }

    /// Simulates a range of iterations of cloths of one fabric whose frames differ in values only:
    /// parameters and phases are equal, and so is the time since the last test for rest.
    fn simulate_cloths(
        &mut self,
        members: &mut [Member<'_, Self::Kept>],
        iterations: Range<u32>,
        stages: StageMask,
    ) {
        simulate_in_order(self, members, iterations, stages);
    }

    /// Memory of multilevel solves: the last one of the cloth that is swapped in.
    fn levels(&mut self) -> &mut LevelsMemory;

    /// Loads the constants of iteration k.
    fn begin_iteration(&mut self, memory: &mut ClothMemory<'_>, k: u32) {
        memory.begin_iteration(k);
    }

    /// Tests whether the iteration continues: no particle has left the range of f32.
    fn goes_on(&mut self, memory: &mut ClothMemory<'_>) -> bool {
        memory.fault_count == 0
    }

    /// Queues work for the current interval, after work queued before.
    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>);

    /// Ends the interval: all work before it completes before any after it.
    fn barrier(&mut self, memory: &mut ClothMemory<'_>);
}

/// [`Workers::simulate_cloths`], one cloth after the other.
pub fn simulate_in_order<W: Workers + ?Sized>(
    workers: &mut W,
    members: &mut [Member<'_, W::Kept>],
    iterations: Range<u32>,
    stages: StageMask,
) {
    for Member { memory, feedback, kept } in members {
        workers.exchange(kept);
        simulate_cloth(memory, feedback, iterations.clone(), stages, workers);
        workers.exchange(kept);
    }
}

/// Lanes that simulate one cloth.
#[derive(Debug)]
pub struct Team {
    levels: LevelsMemory,
    lane_count: u32,
    order: LaneOrder,
    dropped_barrier: Option<Task>,
    pending: Vec<Work>,
    interval: u64,
}

impl Clone for Team {
    /// Returns a new team of the same kind with empty working memory.
    fn clone(&self) -> Self {
        let Self { lane_count, order, dropped_barrier, .. } = *self;
        Self { dropped_barrier, ..Self::new(lane_count, order) }
    }
}

impl Default for Team {
    fn default() -> Self {
        Self::single()
    }
}

impl Team {
    /// Creates a team of one lane: the fastest on a CPU, and by the race check with the same bits
    /// as any other number.
    pub fn single() -> Self {
        Self::new(1, LaneOrder::Forward)
    }

    /// Creates a team of `lane_count` lanes (at least 1) that run in the given order.
    pub fn new(lane_count: u32, order: LaneOrder) -> Self {
        Self {
            levels: LevelsMemory::default(),
            lane_count: lane_count.max(1),
            order,
            dropped_barrier: None,
            pending: Vec::new(),
            interval: 0,
        }
    }

    /// Drops the barrier after every interval that ends with this function, so that lanes run into
    /// the next interval. For negative controls of the race check.
    pub fn with_dropped_barrier(mut self, after: Task) -> Self {
        self.dropped_barrier = Some(after);
        self
    }

    fn lanes(&self) -> Vec<u32> {
        let mut lanes: Vec<u32> = (0..self.lane_count).collect();
        match self.order {
            LaneOrder::Forward => {}
            LaneOrder::Reversed => lanes.reverse(),
            LaneOrder::Shuffled(seed) => {
                let mut rng = Rng::new(seed ^ self.interval.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                for i in (1..lanes.len()).rev() {
                    // Fisher-Yates shuffle.
                    lanes.swap(i, rng.index(i + 1));
                }
            }
        }
        lanes
    }
}

impl Workers for Team {
    type Kept = LevelsMemory;
    type Contacts = ContactMemory;

    fn exchange(&mut self, kept: &mut LevelsMemory) {
        std::mem::swap(&mut self.levels, kept);
    }

    fn kept_size(kept: &LevelsMemory) -> usize {
        kept.size()
    }

    fn levels(&mut self) -> &mut LevelsMemory {
        &mut self.levels
    }

    fn size(&self) -> usize {
        self.levels.size()
    }

    fn work(&mut self, work: Work, _: &mut ClothMemory<'_>) {
        self.pending.push(work);
    }

    /// Runs the queued work of each lane before any lane continues.
    fn barrier(&mut self, memory: &mut ClothMemory<'_>) {
        let Some(last) = self.pending.last() else { return };
        // Keeps the work pending: lanes run into the next interval without a barrier.
        if self.dropped_barrier.is_some() && self.dropped_barrier == last.tasks().last() {
            return;
        }
        let registers = memory.registers;
        if self.lane_count == 1 {
            self.pending.iter().for_each(|work| work.run(memory, 0, 1));
        } else {
            for lane in self.lanes() {
                self.pending.iter().for_each(|work| work.run(memory, lane, self.lane_count));
            }
        }
        memory.registers = registers;
        self.interval += 1;
        self.pending.clear();
    }
}
