//! Lanes of a workgroup on a CPU: what runs between two barriers, lane by lane.

use crate::ClothMemory;

/// The order in which lanes run between two barriers. A race-free kernel gives the same bits for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneOrder {
    /// Lane 0 first.
    Forward,
    /// Last lane first.
    Reversed,
    /// A new seeded shuffle in every interval.
    Shuffled(u64),
}

/// A stage function: works one item.
pub type StageFunction = fn(&mut ClothMemory<'_>, u32);

/// Work items `begin..end`, item `i` done by lane `(i - begin) % lane_count`.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// Name of the stage function, the same in the shader.
    pub name: &'static str,
    /// First item.
    pub begin: u32,
    /// One past the last item.
    pub end: u32,
    /// The stage function.
    pub run: StageFunction,
}

/// What an observer is told after every barrier: the work before it, and the state it left.
pub type Observer<'a> = &'a mut dyn FnMut(&[Work], &ClothMemory<'_>);

/// The lanes that work one cloth.
pub struct Team<'a> {
    lane_count: u32,
    order: LaneOrder,
    dropped_barrier: Option<&'static str>,
    pending: Vec<Work>,
    observer: Option<Observer<'a>>,
    interval: u64,
}

impl std::fmt::Debug for Team<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Team")
            .field("lane_count", &self.lane_count)
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

impl Team<'_> {
    /// One lane: the fast way on a CPU, and by the race check the same bits as any other.
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
            observer: None,
            interval: 0,
        }
    }
}

impl<'a> Team<'a> {
    /// Leaves out the barrier after every interval of this work: lanes run on into the next interval. For negative
    /// controls of the race check.
    pub fn with_dropped_barrier(mut self, after: &'static str) -> Self {
        self.dropped_barrier = Some(after);
        self
    }

    /// Calls `observer` after every interval.
    pub fn with_observer(mut self, observer: Observer<'a>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Gives the lanes work that runs before the next barrier, after what they have.
    pub fn work(&mut self, work: Work) {
        self.pending.push(work);
    }

    /// Gives the lanes work and ends with a barrier.
    pub fn interval(&mut self, memory: &mut ClothMemory<'_>, work: Work) {
        self.work(work);
        self.barrier(memory);
    }

    /// Lets every lane run its pending work before any goes on.
    pub fn barrier(&mut self, memory: &mut ClothMemory<'_>) {
        let Some(last) = self.pending.last() else { return };
        if self.dropped_barrier == Some(last.name) {
            return;
        }
        if self.lane_count == 1 {
            for work in &self.pending {
                (work.begin..work.end).for_each(|item| (work.run)(memory, item));
            }
        } else {
            for lane in self.lanes() {
                for work in &self.pending {
                    let items = work.begin + lane..work.end;
                    items
                        .step_by(self.lane_count as usize)
                        .for_each(|item| (work.run)(memory, item));
                }
            }
        }
        self.interval += 1;
        if let Some(observer) = &mut self.observer {
            observer(&self.pending, memory);
        }
        self.pending.clear();
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

/// SplitMix64 (Steele, Lea, Flood, 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
