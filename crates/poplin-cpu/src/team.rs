//! The worker that runs loops over items in SIMD lanes.

use std::ops::Range;

use fearless_simd::{Level, dispatch, prelude::*};
use poplin_layout::{NO_OFFSET, StageMask, Task};
use poplin_reference::kernel::simulate_cloth;
use poplin_reference::stage::twin;
use poplin_reference::{ClothMemory, Member, Work, Workers};

use crate::cloths::{self, Columns};
use crate::stage::{gauss_seidel, integrate, particles, semi_implicit, shapes, tether, wind};

/// Fewer cloths than these are simulated one after the other.
const MIN_BATCH: usize = 2;

/// Runs the schedule on one thread, several items at a time where a stage has a wide form.
#[derive(Debug, Clone)]
pub struct WideTeam {
    pub(crate) level: Level,
    /// Working memory of fibers.
    pub(crate) rows: Vec<f32>,
    /// State of cloths side by side.
    pub(crate) columns: Columns,
}

impl Default for WideTeam {
    /// With the widest instructions that the machine has.
    fn default() -> Self {
        Self::new(Level::new())
    }
}

impl WideTeam {
    fn new(level: Level) -> Self {
        Self { level, rows: Vec::new(), columns: Columns::default() }
    }

    /// A team for every set of instructions that the machine has, the baseline first. All have the same bits.
    pub fn all() -> Vec<Self> {
        let best = Level::new();
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        let levels = [
            Some(Level::baseline()),
            best.as_sse4_2().map(|token| token.level()),
            best.as_avx2().map(|token| token.level()),
            best.as_avx512().map(|token| token.level()),
        ];
        #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
        let levels = [Some(best)];
        levels.into_iter().flatten().map(Self::new).collect()
    }

    /// Lanes and instructions, for reports: `8 lanes, Avx2`.
    pub fn describe(&self) -> String {
        let lanes = dispatch!(self.level, simd => lane_count(simd));
        let level = format!("{:?}", self.level);
        format!("{lanes} lanes, {}", level.split('(').next().unwrap_or_default())
    }
}

#[inline(always)]
fn lane_count<S: Simd>(_: S) -> usize {
    S::f32s::LEN
}

impl Workers for WideTeam {
    fn cloths_at_once(&self) -> usize {
        dispatch!(self.level, simd => lane_count(simd))
    }

    fn simulate_cloths(
        &mut self,
        members: &mut [Member<'_>],
        iterations: Range<u32>,
        stages: StageMask,
    ) {
        if members.len() >= MIN_BATCH {
            return cloths::simulate(self, members, iterations, stages);
        }
        for Member { memory, feedback } in members {
            simulate_cloth(memory, feedback, iterations.clone(), stages, self);
        }
    }

    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>) {
        let Self { level, rows, .. } = self;
        for task in work.tasks() {
            if !run_wide(*level, task, memory, work.items(), rows) {
                let twin = twin(task);
                work.items().for_each(|item| twin(memory, item));
            }
        }
    }

    fn barrier(&mut self, _: &mut ClothMemory<'_>) {}
}

/// Runs a stage with the instructions of a level and as many lanes as these have, in a function of its own. `rows` is working
/// memory.
macro_rules! in_lanes {
    ($level:expr, $($stage:ident)::+, $memory:ident: $type:ty, $items:expr $(, $rows:ident)?) => {{
        #[inline(always)]
        fn native<S: fearless_simd::Simd>(
            simd: S,
            memory: &mut $type,
            items: std::ops::Range<u32>
            $(, $rows: &mut Vec<f32>)?
        ) {
            use fearless_simd::{SimdBase, f32x4, f32x8, f32x16};
            match S::f32s::LEN {
                16.. => $($stage)::+::<S, f32x16<S>>(simd, memory, items $(, $rows)?),
                8.. => $($stage)::+::<S, f32x8<S>>(simd, memory, items $(, $rows)?),
                _ => $($stage)::+::<S, f32x4<S>>(simd, memory, items $(, $rows)?),
            }
        }
        fearless_simd::dispatch!($level, simd => native(simd, $memory, $items $(, $rows)?))
    }};
}
pub(crate) use in_lanes;

/// Runs the wide form of a task for some items; false if it has none for this cloth.
fn run_wide(
    level: Level,
    task: Task,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    rows: &mut Vec<f32>,
) -> bool {
    match task {
        // A stiffness per edge is rare.
        Task::ProjectFiber if memory.cloth.fabric.edge_stiffness_begin == NO_OFFSET => {
            in_lanes!(level, gauss_seidel::project_fibers, memory: ClothMemory<'_>, items)
        }
        Task::SolveFiber => {
            in_lanes!(level, semi_implicit::solve_fibers, memory: ClothMemory<'_>, items, rows)
        }
        Task::IntegrateParticle => {
            in_lanes!(level, integrate::integrate_particles, memory: ClothMemory<'_>, items)
        }
        Task::BlowTriangle => {
            in_lanes!(level, wind::blow_triangles, memory: ClothMemory<'_>, items)
        }
        Task::ConstrainMotion => {
            in_lanes!(level, particles::constrain_motion, memory: ClothMemory<'_>, items)
        }
        Task::ConstrainSeparation => {
            in_lanes!(level, particles::constrain_separation, memory: ClothMemory<'_>, items)
        }
        Task::GatherAnchor => particles::gather_anchors(memory, items),
        Task::ConstrainTethers => {
            in_lanes!(level, tether::constrain_tethers, memory: ClothMemory<'_>, items)
        }
        Task::RestoreMass => {
            in_lanes!(level, particles::restore_mass, memory: ClothMemory<'_>, items)
        }
        Task::LimitSpeed => {
            in_lanes!(level, particles::limit_speed, memory: ClothMemory<'_>, items)
        }
        Task::CollideConvex => {
            in_lanes!(level, shapes::collide_convexes, memory: ClothMemory<'_>, items)
        }
        Task::CollideBox => in_lanes!(level, shapes::collide_boxes, memory: ClothMemory<'_>, items),
        Task::CollideShape => {
            in_lanes!(level, shapes::collide_shapes, memory: ClothMemory<'_>, items)
        }
        Task::TestRest => particles::test_rest(memory, items),
        _ => return false,
    }
    true
}
