//! Memory tiers and lane counts: how a cloth maps onto a workgroup.

use poplin_layout::{GRID_PARTS, MIN_GRID_CELLS, MemoryTier};
use poplin_model::{Fabric, FiberSolver, Phase};

use crate::HostCloth;

/// What an adapter allows a workgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierLimits {
    /// `max_compute_workgroup_storage_size` \[bytes\].
    pub workgroup_bytes: u32,
    /// `max_compute_invocations_per_workgroup`.
    pub invocations: u32,
}

impl TierLimits {
    /// WebGPU's default limits: every adapter has at least these.
    pub const DEFAULT: Self = Self { workgroup_bytes: 16_384, invocations: 256 };

    /// Workgroup bytes that the kernel uses besides the particles (fault flags, one placeholder per unused array).
    pub const FIXED_BYTES: u32 = 64;

    /// Most particles that `tier` holds, or `None` where only the buffers limit it.
    pub fn particles_in(self, tier: MemoryTier) -> Option<u32> {
        let bytes = tier.bytes_per_particle();
        (bytes > 0).then(|| self.workgroup_bytes.saturating_sub(Self::FIXED_BYTES) / bytes)
    }

    /// The fastest tier that holds `particle_count` particles.
    pub fn choose_tier(self, particle_count: u32) -> MemoryTier {
        let fits = |tier: &MemoryTier| {
            self.particles_in(*tier).is_none_or(|capacity| particle_count <= capacity)
        };
        MemoryTier::ALL.into_iter().find(fits).unwrap_or(MemoryTier::Streamed)
    }
}

/// Where the particles and the grid of a cloth that collides with itself live.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridPlan {
    /// Tier of the particles.
    pub tier: MemoryTier,
    /// Particles that the tier's arrays hold.
    pub capacity: u32,
    /// Buckets of the grid, a power of two. Their count does not change the result.
    pub cells: u32,
}

impl TierLimits {
    /// Fits a grid beside the particles: two buckets a particle, down to half a bucket where memory is short; if even that
    /// does not fit beside the particles, they move to the next tier.
    pub fn plan_grid(self, tier: MemoryTier, particle_count: u32, member_count: u32) -> GridPlan {
        let wanted = (2 * member_count).next_power_of_two().max(MIN_GRID_CELLS);
        let plan = |tier: MemoryTier| {
            let capacity =
                if tier == MemoryTier::Streamed { 1 } else { particle_count.next_multiple_of(64) };
            let used = Self::FIXED_BYTES + 4 * GRID_PARTS + tier.bytes_per_particle() * capacity;
            let room = self.workgroup_bytes.saturating_sub(used) / 4;
            let cells = if room == 0 { 0 } else { (1 << room.ilog2()).min(wanted) };
            GridPlan { tier, capacity, cells }
        };
        let mut plans = MemoryTier::ALL.into_iter().filter(|&other| other >= tier).map(plan);
        let last = plan(MemoryTier::Streamed);
        plans.find(|plan| plan.cells >= (wanted / 4).max(MIN_GRID_CELLS)).unwrap_or(last)
    }
}

impl TierLimits {
    /// Vec4 of workgroup memory for the rows of whole fibers ([`fiber_row_len`](poplin_layout::fiber_row_len)) of a cloth
    /// whose particles and grid take `used` bytes: a power of two if it fits, for few pipelines, else as many as they need; 0 if
    /// there is no room.
    pub fn plan_rows(self, used: u32, row_len: u32) -> u32 {
        let room = self.workgroup_bytes.saturating_sub(Self::FIXED_BYTES + used) / 16;
        [row_len.next_power_of_two(), row_len.next_multiple_of(32)]
            .into_iter()
            .find(|&len| len <= room)
            .unwrap_or(0)
    }
}

/// Lane counts for which kernels are built. More would leave a lane so few registers that it spills.
pub const LANE_COUNTS: [u32; 5] = [32, 64, 128, 256, 512];

/// Lanes for a cloth: enough for its widest set ([`HostCloth::fiber_width`]) and for a quarter of its particles, not beyond
/// the adapter's limit.
///
/// One lane solves one fiber, or one edge by cyclic reduction, so lanes beyond the widest set idle at every barrier of the
/// fabric stage; per-particle stages loop, so a lane may take several particles.
pub fn choose_lane_count(widest_set: u32, particle_count: u32, limits: TierLimits) -> u32 {
    let wanted = widest_set.max(particle_count.div_ceil(4));
    let mut allowed = LANE_COUNTS.into_iter().filter(|&count| count <= limits.invocations);
    allowed.clone().find(|&count| count >= wanted).or(allowed.next_back()).unwrap_or(LANE_COUNTS[0])
}

/// Loop trips of one lane in one iteration, counted over all nested loops: what decides how many iterations go into one
/// dispatch. The fabric is traversed once; [`LoopTrips::of`] only adds up, so that it can be asked every frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopTrips {
    /// Particles, and virtual particles, of one lane.
    rounds: u64,
    virtual_rounds: u64,
    per_particle: u64,
    per_phase: Vec<u64>,
    /// The same by cyclic reduction.
    per_cyclic_phase: Vec<u64>,
    bends: u64,
}

impl LoopTrips {
    /// Counts the trips of every phase of a fabric over `lane_count` lanes.
    pub fn new(fabric: &Fabric, lane_count: u32) -> Self {
        let rounds = |items: u64| items.div_ceil(u64::from(lane_count.max(1)));
        let particle_rounds = rounds(u64::from(fabric.particle_count));
        // Fetch, flush and the stages over particles; a loop over the tethers and one over the triangles of a vertex.
        let per_particle = particle_rounds * (9 + u64::from(fabric.tethers_per_particle) + 8)
            + rounds(fabric.triangles.len() as u64);
        let of_set = |set: usize| {
            let fibers = fabric.fibers_of_set(set);
            let longest = fibers
                .clone()
                .map(|fiber| fabric.edges_of_fibers(fiber..fiber + 1).len())
                .max()
                .unwrap_or(0);
            1 + rounds(fibers.len() as u64) * (1 + longest as u64)
        };
        let of_phase =
            |phase: &Phase| (phase.set_begin as usize..phase.set_end as usize).map(of_set).sum();
        let of_cyclic_phase = |phase: &Phase| {
            let of_set = |set| {
                let edges = fabric.edges_of_fibers(fabric.fibers_of_set(set)).len() as u64;
                (4 + u64::from(edges.max(1).next_power_of_two().ilog2())) * (1 + rounds(edges))
            };
            (phase.set_begin as usize..phase.set_end as usize).map(of_set).sum()
        };
        let virtual_rounds = rounds(fabric.virtual_particles.len() as u64);
        let per_phase = fabric.phases.iter().map(of_phase).collect();
        let per_cyclic_phase = fabric.phases.iter().map(of_cyclic_phase).collect();
        let begins = std::iter::once(&0).chain(&fabric.bend_set_ends);
        let bends = begins
            .zip(&fabric.bend_set_ends)
            .map(|(&begin, &end)| 1 + rounds(u64::from(end - begin)))
            .sum();
        Self {
            rounds: particle_rounds,
            virtual_rounds,
            per_particle,
            per_phase,
            per_cyclic_phase,
            bends,
        }
    }

    /// The trips of one iteration with these phases and the colliders of the cloth. Traversals of trees are counted at their
    /// usual length.
    pub fn of(&self, phase_order: &[u32], host: &HostCloth) -> u64 {
        let collisions = host.collision_trips() * (self.rounds + self.virtual_rounds);
        let of_phase = |&phase: &u32| match host.fiber_solver(phase).0 {
            FiberSolver::GaussSeidel => self.per_phase[phase as usize],
            // A fiber is traversed forward and back, its edges before and after that.
            FiberSolver::SemiImplicit => {
                2 * self.per_phase[phase as usize] + self.per_cyclic_phase[phase as usize]
            }
            FiberSolver::CyclicReduction => self.per_cyclic_phase[phase as usize],
        };
        let bends = if host.cloth().config.solver.is_xpbd() { self.bends } else { 0 };
        self.per_particle + collisions + phase_order.iter().map(of_phase).sum::<u64>() + bends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_follow_the_workgroup_bytes() {
        let limits = TierLimits::DEFAULT;
        assert_eq!(limits.choose_tier(510), MemoryTier::Resident);
        assert_eq!(limits.choose_tier(511), MemoryTier::HalfResident);
        assert_eq!(limits.choose_tier(1020), MemoryTier::HalfResident);
        assert_eq!(limits.choose_tier(1021), MemoryTier::Streamed);
    }

    #[test]
    fn a_grid_takes_the_particles_down_a_tier_where_memory_is_short() {
        let plan = |tier, count| {
            let GridPlan { tier, cells, .. } = TierLimits::DEFAULT.plan_grid(tier, count, count);
            (tier, cells)
        };
        assert_eq!(plan(MemoryTier::Resident, 100), (MemoryTier::Resident, 256));
        assert_eq!(plan(MemoryTier::Resident, 400), (MemoryTier::Resident, 256));
        assert_eq!(plan(MemoryTier::Resident, 500), (MemoryTier::HalfResident, 1024));
        assert_eq!(plan(MemoryTier::HalfResident, 1000), (MemoryTier::Streamed, 2048));
        assert_eq!(plan(MemoryTier::Streamed, 4096), (MemoryTier::Streamed, 2048));
        assert_eq!(plan(MemoryTier::Streamed, 100_000), (MemoryTier::Streamed, 2048));
    }

    #[test]
    fn rows_of_whole_fibers_stand_beside_the_particles_where_there_is_room() {
        let limits = TierLimits::DEFAULT;
        assert_eq!(limits.plan_rows(32 * 128, 2 * 110), 256);
        assert_eq!(limits.plan_rows(32 * 256, 2 * 240), 480, "a sheet of 16 x 16");
        assert_eq!(limits.plan_rows(32 * 510, 2 * 480), 0);
        assert_eq!(limits.plan_rows(u32::MAX - 64, 2), 0);
    }

    #[test]
    fn lanes_cover_the_widest_set_up_to_the_limit() {
        assert_eq!(choose_lane_count(20, 64, TierLimits::DEFAULT), 32);
        assert_eq!(choose_lane_count(90, 256, TierLimits::DEFAULT), 128);
        assert_eq!(choose_lane_count(5000, 6436, TierLimits::DEFAULT), 256);
    }
}
