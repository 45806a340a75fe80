//! Lanes of a workgroup on a CPU: what runs between two barriers, lane by lane.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use poplin_layout::{Feedback, StageMask, Task};

use crate::ClothMemory;
use crate::contact::{ContactMemory, ContactPasses};
use crate::kernel::simulate_cloth;
use crate::memory::Registers;
use crate::stage::twin;

/// The order in which lanes run between two barriers. A race-free kernel yields the same bits for each.
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

/// Most functions that one loop over items calls.
const MAX_TASKS: usize = 8;

/// Work items of which item `i` is done by lane `(i - begin) % lane_count`, and the functions that it calls for each.
#[derive(Debug, Clone)]
pub struct Work {
    items: Range<u32>,
    tasks: [Option<Task>; MAX_TASKS],
    registers: Registers,
}

impl Work {
    /// A loop over items that calls the first eight of these functions, with the registers as they are now.
    pub fn new(
        items: Range<u32>,
        tasks: impl Iterator<Item = Task>,
        memory: &ClothMemory<'_>,
    ) -> Self {
        let mut work = Self { items, tasks: [None; MAX_TASKS], registers: memory.registers };
        work.tasks.iter_mut().zip(tasks).for_each(|(slot, task)| *slot = Some(task));
        work
    }

    /// The items.
    pub fn items(&self) -> Range<u32> {
        self.items.clone()
    }

    /// What is called for each item, in order.
    pub fn tasks(&self) -> impl Iterator<Item = Task> + '_ {
        self.tasks.iter().copied().flatten()
    }

    /// Runs every `stride`-th item from the one `offset` after the first.
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

/// An engine's leave to run the loops of one cloth in several parts at once. Only an engine of `W` makes one of more than a
/// part, for cloths that [`poplin_model::Cloth::validate`] has passed: what its loops write in parallel is disjoint.
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

    /// Most parts.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether loops are split that are too short to gain from it, for tests.
    pub fn always(&self) -> bool {
        self.always
    }
}

/// Largest [`Workers::cloths_at_once`].
pub const MAX_CLOTHS_AT_ONCE: usize = 16;

/// A cloth in simulation: what its workgroup sees, its report, and what its [`Workers`] keep of it.
#[derive(Debug)]
pub struct Member<'a, K> {
    /// Buffers and state.
    pub memory: ClothMemory<'a>,
    /// Faults and counters.
    pub feedback: &'a mut Feedback,
    /// See [`Workers::Kept`].
    pub kept: &'a mut K,
}

/// Who runs the loops of a schedule, and in which order.
pub trait Workers {
    /// What they keep of a cloth from part to part of its frames, to save work: no result depends on it.
    type Kept: fmt::Debug + Clone + Default + Send + Sync + 'static;

    /// Takes what they keep of the cloth to be simulated, and hands it back afterwards.
    fn exchange(&mut self, _: &mut Self::Kept) {}

    /// Bytes of the vectors of what they keep.
    fn kept_size(_: &Self::Kept) -> usize {
        0
    }

    /// Who runs the passes of collision between cloths: [`ContactMemory`] if they have no wide form of their own.
    type Contacts: ContactPasses<Self>;

    /// Gets ready for the self collision of a part of a frame. Nothing is done by default.
    fn open_grid(&mut self, _: &mut ClothMemory<'_>) {}

    /// Runs something, with leave to split the loops of the cloths that it simulates; nothing is split by default.
    fn in_parts<R: Send>(&mut self, _: Parts<Self>, run: impl FnOnce(&mut Self) -> R + Send) -> R
    where
        Self: Sized + Send,
    {
        run(self)
    }

    /// Makes working memory for [`Self::simulate_cloths`] of cloths of up to so many particles. Nothing is done by default.
    fn reserve(&mut self, _: usize) {}

    /// Bytes of that memory.
    fn size(&self) -> usize {
        0
    }

    /// Most cloths that [`Self::simulate_cloths`] should get at once, up to [`MAX_CLOTHS_AT_ONCE`].
    fn cloths_at_once(&self) -> usize {
        1
    }

    /// Simulates a range of iterations of cloths of one fabric whose frames differ in values only: parameters and phases are
    /// equal, and so is the time since the last test for rest.
    fn simulate_cloths(
        &mut self,
        members: &mut [Member<'_, Self::Kept>],
        iterations: Range<u32>,
        stages: StageMask,
    ) {
        simulate_in_order(self, members, iterations, stages);
    }

    /// Gets memory ready for iteration k.
    fn begin_iteration(&mut self, memory: &mut ClothMemory<'_>, k: u32) {
        memory.begin_iteration(k);
    }

    /// Whether the iteration continues: no particle has left the range of f32.
    fn goes_on(&mut self, memory: &mut ClothMemory<'_>) -> bool {
        memory.fault_count == 0
    }

    /// Does work before the next barrier, after what was there before.
    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>);

    /// Everything before is done before anything after it.
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

/// The lanes that simulate one cloth.
#[derive(Debug, Clone)]
pub struct Team {
    lane_count: u32,
    order: LaneOrder,
    dropped_barrier: Option<Task>,
    pending: Vec<Work>,
    interval: u64,
}

impl Default for Team {
    fn default() -> Self {
        Self::single()
    }
}

impl Team {
    /// One lane: the fastest on a CPU, and by the race check the same bits as any other count.
    pub fn single() -> Self {
        Self::new(1, LaneOrder::Forward)
    }

    /// `lane_count` lanes (at least 1) run in the given order.
    pub fn new(lane_count: u32, order: LaneOrder) -> Self {
        Self {
            lane_count: lane_count.max(1),
            order,
            dropped_barrier: None,
            pending: Vec::new(),
            interval: 0,
        }
    }

    /// Leaves out the barrier after every interval that ends with this function: lanes run on into the next interval. For
    /// negative controls of the race check.
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
                let mut state = seed ^ self.interval.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                for i in (1..lanes.len()).rev() {
                    lanes.swap(i, (split_mix(&mut state) % (i as u64 + 1)) as usize);
                }
            }
        }
        lanes
    }
}

impl Workers for Team {
    type Kept = ();
    type Contacts = ContactMemory;

    fn work(&mut self, work: Work, _: &mut ClothMemory<'_>) {
        self.pending.push(work);
    }

    /// Runs the pending work of every lane before any continues.
    fn barrier(&mut self, memory: &mut ClothMemory<'_>) {
        let Some(last) = self.pending.last() else { return };
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

/// SplitMix64 (Steele, Lea, Flood, 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
