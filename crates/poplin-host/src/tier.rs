//! Memory tiers and lane counts: the mapping of a cloth onto a workgroup.

use poplin_layout::{
    Chains, GRID_PARTS, MIN_GRID_CELLS, MemoryPlan, MemoryTier, SOLVE_PARTS, SOLVE_SUMS,
    max_evaluations,
};
use poplin_model::{Fabric, FiberSolver, Implicit, Phase, Preconditioner, Solver};

use crate::HostCloth;

/// Limits of an adapter for one workgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TierLimits {
    /// `max_compute_workgroup_storage_size` \[bytes\].
    pub workgroup_bytes: u32,
    /// `max_compute_invocations_per_workgroup`.
    pub invocations: u32,
}

impl TierLimits {
    /// WebGPU's default limits, which every adapter satisfies.
    pub const DEFAULT: Self = Self { workgroup_bytes: 16_384, invocations: 256 };

    /// Workgroup bytes that the kernel uses besides a [`MemoryPlan`]: six flags, and four
    /// one-element arrays in place of unused ones. WebGPU rounds each variable up to 16 bytes
    /// ("maxComputeWorkgroupStorageSize").
    pub const FIXED_BYTES: u32 = 160;

    /// Capacity of `tier` in particles; `None` if only the buffers limit it.
    pub fn particles_in(self, tier: MemoryTier) -> Option<u32> {
        let bytes = tier.bytes_per_particle();
        (bytes > 0).then(|| self.workgroup_bytes.saturating_sub(Self::FIXED_BYTES) / bytes)
    }

    /// Fastest tier that holds `particle_count` particles.
    pub fn choose_tier(self, particle_count: u32) -> MemoryTier {
        let fits = |tier: &MemoryTier| {
            self.particles_in(*tier).is_none_or(|capacity| particle_count <= capacity)
        };
        MemoryTier::ALL.into_iter().find(fits).unwrap_or(MemoryTier::Streamed)
    }
}

/// Smallest capacity in particles: cloths up to this size share their kernels.
const FEWEST_PARTICLES: u32 = 64;

/// Smallest capacity in rows: two for each edge of whole fibers over [`FEWEST_PARTICLES`]
/// particles.
const FEWEST_ROWS: u32 = 2 * FEWEST_PARTICLES;

/// Needs of a cloth in workgroup memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryNeeds {
    /// Number of particles.
    pub particle_count: u32,
    /// Number of particles in the grid of self collision; `None` without self collision.
    pub member_count: Option<u32>,
    /// Length of the rows of whole fibers ([`fiber_row_len`](poplin_layout::fiber_row_len))
    /// \[vec4\]; 0 if there are none.
    pub row_len: u32,
}

impl TierLimits {
    /// Plans the workgroup memory of a cloth: particles in tier `forced` or the fastest that holds
    /// them, or the next one with room for a grid. Unless a tier is forced, rows of whole fibers
    /// take precedence over previous particles: rows are read and written for every edge of every
    /// set, previous particles once per iteration.
    pub fn plan(self, needs: MemoryNeeds, forced: Option<MemoryTier>) -> MemoryPlan {
        let first = forced.unwrap_or_else(|| self.choose_tier(needs.particle_count));
        let tiers = MemoryTier::ALL.into_iter().filter(|&tier| tier >= first);
        let mut plans = tiers.flat_map(|tier| self.plans_in(tier, needs));
        // Streamed keeps no particles in workgroup memory, so it always fits.
        let fastest = plans.next().unwrap_or_else(|| self.fit(MemoryTier::Streamed, 1, needs));
        let is_free = |plan: &MemoryPlan| forced.is_none() || plan.tier == fastest.tier;
        std::iter::once(fastest)
            .chain(plans)
            .find(|plan| plan.row_capacity > 0 && is_free(plan))
            .unwrap_or(fastest)
    }

    /// Plans of a tier: first with a capacity that many cloths share, so that few pipelines are
    /// built, then with the smallest sufficient one.
    fn plans_in(self, tier: MemoryTier, needs: MemoryNeeds) -> impl Iterator<Item = MemoryPlan> {
        let count = needs.particle_count;
        let capacities = match (self.particles_in(tier), needs.member_count) {
            (None, _) => [1, 1],
            // A grid needs all the room that particles leave.
            (Some(_), Some(_)) => [count.next_multiple_of(FEWEST_PARTICLES); 2],
            (Some(most), None) => [
                count.next_power_of_two().max(FEWEST_PARTICLES),
                count.next_multiple_of(FEWEST_PARTICLES),
            ]
            .map(|capacity| capacity.min(most)),
        };
        let plans = capacities.map(|capacity| self.fit(tier, capacity, needs));
        let has_grid = move |plan: &MemoryPlan| {
            needs.member_count.is_none_or(|count| {
                // With fewer buckets the chains are too long; the next tier has more room.
                plan.grid_cells >= (wanted_cells(count) / 4).max(MIN_GRID_CELLS)
            })
        };
        plans.into_iter().filter(has_grid)
    }

    /// Fits grid and rows beside the particles: two buckets per particle if there is room; the rows
    /// as a power of two from [`FEWEST_ROWS`] on, for few pipelines, or as many as needed.
    fn fit(self, tier: MemoryTier, capacity: u32, needs: MemoryNeeds) -> MemoryPlan {
        let mut plan = MemoryPlan { tier, capacity, grid_cells: 1, row_capacity: 0 };
        let room = |plan: &MemoryPlan| {
            self.workgroup_bytes.saturating_sub(Self::FIXED_BYTES + plan.bytes())
        };
        if let Some(count) = needs.member_count {
            let room = room(&plan).saturating_sub(4 * GRID_PARTS) / 4;
            plan.grid_cells =
                // Largest power of two that fits.
                if room == 0 { 0 } else { (1 << room.ilog2()).min(wanted_cells(count)) };
        }
        if tier != MemoryTier::Streamed && needs.row_len > 0 {
            let room = room(&plan) / 16;
            plan.row_capacity = [
                needs.row_len.next_power_of_two().max(FEWEST_ROWS),
                needs.row_len.next_multiple_of(32),
            ]
            .into_iter()
            .find(|&len| len <= room)
            .unwrap_or(0);
        }
        plan
    }
}

/// Preferred number of buckets in the grid of self collision: two per particle.
fn wanted_cells(member_count: u32) -> u32 {
    (2 * member_count).next_power_of_two().max(MIN_GRID_CELLS)
}

/// Lane counts for which kernels are built. With more lanes each would have so few registers that
/// it spills.
pub const LANE_COUNTS: [u32; 5] = [32, 64, 128, 256, 512];

/// Chooses the lane count of a cloth: enough for its widest set ([`HostCloth::fiber_width`]) and
/// for a quarter of its particles, within the adapter's limit.
///
/// One lane solves one fiber, or one edge by cyclic reduction, so lanes beyond the widest set idle
/// at every barrier of the fabric stage; per-particle stages loop, so a lane may take several
/// particles.
pub fn choose_lane_count(widest_set: u32, particle_count: u32, limits: TierLimits) -> u32 {
    // Per-particle stages are short, so four particles per lane are enough.
    let wanted = widest_set.max(particle_count.div_ceil(4));
    let mut allowed = LANE_COUNTS.into_iter().filter(|&count| count <= limits.invocations);
    allowed.clone().find(|&count| count >= wanted).or(allowed.next_back()).unwrap_or(LANE_COUNTS[0])
}

/// Loop trips of one lane in one iteration, summed over all nested loops, which limit the number of
/// iterations per dispatch. The fabric is traversed once; [`LoopTrips::of`] only adds up, so that
/// it is cheap enough for every frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopTrips {
    /// Particles of one lane.
    rounds: u64,
    /// Virtual particles of one lane.
    virtual_rounds: u64,
    per_particle: u64,
    per_phase: Vec<u64>,
    /// Trips of each phase by cyclic reduction.
    per_cyclic_phase: Vec<u64>,
    bends: u64,
    /// Yarns of a fabric with a membrane.
    yarns: u64,
    /// Trips of one evaluation of an implicit solve.
    per_evaluation: u64,
    /// Trips of solving the chains of an implicit solve once.
    per_chains: u64,
}

impl LoopTrips {
    /// Counts the trips of every phase of a fabric over `lane_count` lanes.
    pub fn new(fabric: &Fabric, lane_count: u32) -> Self {
        let rounds = |items: u64| items.div_ceil(u64::from(lane_count.max(1)));
        let particle_rounds = rounds(u64::from(fabric.particle_count));
        // Loading, storing and the per-particle stages; then a loop over tethers and one over the
        // triangles of a vertex.
        let per_particle = particle_rounds * (9 + u64::from(fabric.tethers_per_particle) + 8)
            + rounds(fabric.triangles.len() as u64);
        let of_set = |set: usize| {
            let fibers = fabric.fibers_of_set(set);
            let longest = fibers
                .clone()
                .map(|fiber| fabric.edges_of_fibers(fiber..fiber + 1).len())
                .max()
                .unwrap_or(0);
            // All lanes wait for the longest fiber of a set.
            1 + rounds(fibers.len() as u64) * (1 + longest as u64)
        };
        let of_phase =
            |phase: &Phase| (phase.set_begin as usize..phase.set_end as usize).map(of_set).sum();
        let of_cyclic_phase = |phase: &Phase| {
            // log2(edges) rounds of reduction, plus setup and write-back.
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
        // Lanes wait for the longest yarn of a set, forward and back.
        let begins = std::iter::once(&0).chain(&fabric.yarn_set_ends);
        let yarns = begins
            .zip(&fabric.yarn_set_ends)
            .map(|(&begin, &end)| {
                let lengths = (begin..end).map(|yarn| fabric.points_of_yarn(yarn as usize).len());
                1 + rounds(u64::from(end - begin)) * 2 * lengths.max().unwrap_or(0) as u64
            })
            .sum();
        // Elements; partial sums over a particle's triangles and bends (about 6 and 12); their
        // totals; particles.
        let part_rounds = rounds(u64::from(SOLVE_PARTS));
        let per_part = u64::from(fabric.particle_count.div_ceil(SOLVE_PARTS)) * (1 + 6 + 12);
        let per_evaluation = rounds(fabric.triangles.len() as u64)
            + rounds(fabric.bends.len() as u64)
            + part_rounds * (1 + per_part)
            + 2 * u64::from(SOLVE_SUMS)
            + particle_rounds;
        // Forward and back; building the factors takes about ten times as long, once per step.
        let chains = Chains::new(fabric);
        let per_chains =
            particle_rounds + 2 * u64::from(chains.longest()) * rounds(chains.begins.len() as u64);
        Self {
            rounds: particle_rounds,
            virtual_rounds,
            per_particle,
            per_phase,
            per_cyclic_phase,
            bends,
            yarns,
            per_evaluation,
            per_chains,
        }
    }

    /// Trips of the preconditioner before the sums of an evaluation.
    fn per_chain_pass(&self, implicit: &Implicit) -> u64 {
        match implicit.preconditioner {
            Preconditioner::Mass => 0,
            Preconditioner::Fibers => self.per_chains,
        }
    }

    /// Total trips of one iteration with these phases and the colliders of the cloth. Tree
    /// traversals are counted at their usual length.
    pub fn of(&self, phase_order: &[u32], host: &HostCloth) -> u64 {
        let collisions = host.collision_trips() * (self.rounds + self.virtual_rounds);
        let of_phase = |&phase: &u32| match host.fiber_solver(phase).0 {
            FiberSolver::GaussSeidel => self.per_phase[phase as usize],
            // A fiber is traversed forward and back, and its edges before and after.
            FiberSolver::SemiImplicit => {
                2 * self.per_phase[phase as usize] + self.per_cyclic_phase[phase as usize]
            }
            FiberSolver::CyclicReduction => self.per_cyclic_phase[phase as usize],
        };
        let phases = || phase_order.iter().map(of_phase).sum::<u64>();
        let constraints = match &host.desc().config.solver {
            Solver::Pbd(_) => phases(),
            Solver::Xpbd(xpbd) => {
                let has_yarns = xpbd.membrane.is_some() && self.yarns > 0;
                self.bends + if has_yarns { self.yarns } else { phases() }
            }
            Solver::Implicit(implicit) => {
                (self.per_evaluation + self.per_chain_pass(implicit))
                    * u64::from(max_evaluations(implicit))
            }
            // No kernel of one workgroup has it.
            Solver::Multilevel(_) => 0,
        };
        self.per_particle + collisions + constraints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_follow_the_workgroup_bytes() {
        let limits = TierLimits::DEFAULT;
        assert_eq!(limits.choose_tier(507), MemoryTier::Resident);
        assert_eq!(limits.choose_tier(508), MemoryTier::HalfResident);
        assert_eq!(limits.choose_tier(1014), MemoryTier::HalfResident);
        assert_eq!(limits.choose_tier(1015), MemoryTier::Streamed);
    }

    fn needs(particle_count: u32, row_len: u32) -> MemoryNeeds {
        MemoryNeeds { particle_count, member_count: None, row_len }
    }

    #[test]
    fn a_grid_moves_particles_down_a_tier_if_memory_is_short() {
        let plan = |tier, count| {
            let needs = MemoryNeeds { member_count: Some(count), ..needs(count, 0) };
            let MemoryPlan { tier, grid_cells, .. } = TierLimits::DEFAULT.plan(needs, Some(tier));
            (tier, grid_cells)
        };
        assert_eq!(plan(MemoryTier::Resident, 100), (MemoryTier::Resident, 256));
        assert_eq!(plan(MemoryTier::Resident, 400), (MemoryTier::Resident, 256));
        assert_eq!(plan(MemoryTier::Resident, 500), (MemoryTier::HalfResident, 1024));
        assert_eq!(plan(MemoryTier::HalfResident, 1000), (MemoryTier::Streamed, 2048));
        assert_eq!(plan(MemoryTier::Streamed, 4096), (MemoryTier::Streamed, 2048));
        assert_eq!(plan(MemoryTier::Streamed, 100_000), (MemoryTier::Streamed, 2048));
    }

    #[test]
    fn fiber_rows_are_placed_beside_the_particles_if_they_fit() {
        let desktop = TierLimits { workgroup_bytes: 49_152, invocations: 1024 };
        let plan = |limits: TierLimits, count, rows| {
            let MemoryPlan { tier, capacity, row_capacity, .. } =
                limits.plan(needs(count, rows), None);
            (tier, capacity, row_capacity)
        };
        let limits = TierLimits::DEFAULT;
        assert_eq!(plan(limits, 3, 2), plan(limits, 64, 2 * 63), "small cloths share a kernel");
        assert_eq!(plan(limits, 64, 2 * 63), (MemoryTier::Resident, 64, 128));
        assert_eq!(plan(limits, 128, 2 * 110), (MemoryTier::Resident, 128, 256));
        assert_eq!(plan(limits, 256, 2 * 240), (MemoryTier::Resident, 256, 480), "16 x 16");
        assert_eq!(plan(limits, 289, 2 * 272), (MemoryTier::HalfResident, 320, 544), "17 x 17");
        assert_eq!(plan(limits, 400, 2 * 380), (MemoryTier::Resident, 507, 0), "20 x 20");
        assert_eq!(plan(desktop, 400, 2 * 380), (MemoryTier::Resident, 512, 1024));
        assert_eq!(plan(desktop, 1024, 2 * 992), (MemoryTier::HalfResident, 1024, 1984), "32 x 32");
        assert_eq!(plan(desktop, 4096, 2 * 4032), (MemoryTier::Streamed, 1, 0));
        // A forced tier is kept.
        let forced = desktop.plan(needs(1024, 2 * 992), Some(MemoryTier::Resident));
        assert_eq!((forced.tier, forced.row_capacity), (MemoryTier::Resident, 0));
    }

    #[test]
    fn every_plan_stays_within_the_limits() {
        for workgroup_bytes in [16_384, 32_768, 49_152, 65_536] {
            let limits = TierLimits { workgroup_bytes, invocations: 256 };
            for particle_count in (1..5000).step_by(37) {
                for row_len in [0, 2, particle_count, 2 * particle_count, 1_000_000] {
                    for member_count in [None, Some(0), Some(particle_count)] {
                        let needs = MemoryNeeds { particle_count, member_count, row_len };
                        let plan = limits.plan(needs, None);
                        let bytes = plan.bytes() + TierLimits::FIXED_BYTES;
                        assert!(bytes <= workgroup_bytes, "{needs:?}: {plan:?}, {bytes} bytes");
                        let holds =
                            plan.tier == MemoryTier::Streamed || plan.capacity >= particle_count;
                        assert!(holds, "{needs:?}: {plan:?}");
                        assert!(plan.row_capacity == 0 || plan.row_capacity >= row_len);
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_cover_the_widest_set_up_to_the_limit() {
        assert_eq!(choose_lane_count(20, 64, TierLimits::DEFAULT), 32);
        assert_eq!(choose_lane_count(90, 256, TierLimits::DEFAULT), 128);
        assert_eq!(choose_lane_count(5000, 6436, TierLimits::DEFAULT), 256);
    }
}
