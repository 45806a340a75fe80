//! Cost model of fiber sets on a workgroup.

use crate::{Fabric, FiberSolver};

/// Parameters of the cost of a solver iteration over fibers on a workgroup; the unit of time is
/// that of one edge.
///
/// Lanes run in lockstep in groups of `width`. A lane processes fibers `lane`, `lane + lanes`, ...
/// of a set, so that in each round a group takes as long as the longest of its fibers. `groups`
/// groups run in parallel, and a set ends with a barrier. Short fibers keep more lanes busy; long
/// fibers have fewer starts and need fewer sets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LaneCost {
    /// Number of lanes of the workgroup, `1..`.
    pub lanes: u32,
    /// Number of lanes in lockstep, `1..`: a warp, a wave, a SIMD vector.
    pub width: u32,
    /// Groups of `width` lanes that run at the same time without slowing each other, `1..`.
    pub groups: u32,
    /// Time of a barrier per group.
    pub barrier: f64,
    /// Time to start a fiber.
    pub fiber: f64,
}

impl LaneCost {
    /// A workgroup of WebGPU's default size on a latency-bound GPU, whose warps hide each other's
    /// latency. A barrier takes half as long as an edge, and starting a fiber takes two dependent
    /// loads from global memory.
    ///
    /// A model of the latencies on NVIDIA's sm_90 gives 0.15 for the barrier and 0.7 for the start.
    /// With these values, cooking cuts shear edges of large sheets into halves, which costs more
    /// than it gains if fibers are solved as a whole: a sheet of 96 x 96 that swings down strains
    /// by 2.0 % instead of less than 0.5 %.
    pub const GPU: Self = Self { lanes: 256, width: 32, groups: 8, barrier: 0.5, fiber: 2.0 };

    /// Time of a set of fibers with the given edge counts, in the order of the lanes.
    pub fn of_set(&self, lengths: impl IntoIterator<Item = u32>) -> f64 {
        let [lanes, width] = [self.lanes, self.width].map(|count| count.max(1) as usize);
        let mut times = vec![0.0f64; lanes.div_ceil(width)];
        let mut longest = 0;
        let mut group = 0;
        for (fiber, length) in lengths.into_iter().enumerate() {
            let lane = fiber % lanes;
            // A new group, or the next round of the same group.
            if lane.is_multiple_of(width) {
                (longest, group) = (0, lane / width);
                times[group] += self.fiber;
            }
            // Lockstep: only the part beyond the longest fiber so far adds time.
            times[group] += f64::from(length.saturating_sub(longest));
            longest = longest.max(length);
        }
        let groups = f64::from(self.groups.max(1));
        let slowest = times.iter().copied().fold(0.0, f64::max);
        // Bound by the slowest group or by the throughput of all.
        let together = times.iter().sum::<f64>() / groups;
        slowest.max(together) + self.barrier * (times.len() as f64 / groups).max(1.0)
    }

    /// Time of a Gauss-Seidel iteration over all phases of a fabric.
    pub fn of_fabric(&self, fabric: &Fabric) -> f64 {
        let length = |fiber: usize| fabric.edges_of_fibers(fiber..fiber + 1).len() as u32;
        (0..fabric.set_count()).map(|set| self.of_set(fabric.fibers_of_set(set).map(length))).sum()
    }
}

impl Fabric {
    /// Number of lanes that a phase can keep busy: the fibers of its widest set, or the edges with
    /// cyclic reduction.
    pub fn width_of_phase(&self, phase: usize, solver: FiberSolver) -> usize {
        let width = |set: usize| match solver {
            FiberSolver::CyclicReduction => self.edges_of_fibers(self.fibers_of_set(set)).len(),
            _ => self.fibers_of_set(set).len(),
        };
        let sets = self.phases[phase].set_begin as usize..self.phases[phase].set_end as usize;
        sets.map(width).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_time_is_that_of_its_longest_fiber_per_round() {
        let machine = LaneCost { lanes: 4, width: 2, groups: 2, barrier: 0.5, fiber: 1.0 };
        assert_eq!(machine.of_set([]), 0.5);
        assert_eq!(machine.of_set([3]), 4.5);
        assert_eq!(machine.of_set([3, 2, 5, 1]), 6.5);
        // Second round of the first group.
        assert_eq!(machine.of_set([3, 2, 5, 1, 4]), 9.5);
        // Both groups one after the other.
        assert_eq!(LaneCost { groups: 1, ..machine }.of_set([3, 2, 5, 1]), 10.0 + 1.0);
    }

    #[test]
    fn single_lane_processes_all_edges_in_sequence() {
        let one = LaneCost { lanes: 1, width: 1, groups: 1, barrier: 0.0, fiber: 0.25 };
        assert_eq!(one.of_set([3, 2, 5]), 10.75);
    }
}
