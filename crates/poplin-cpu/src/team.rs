//! The worker that runs loops over items in SIMD lanes.

use std::ops::Range;

use fearless_simd::{Level, dispatch, f32x4, f32x8, f32x16, prelude::*};
use poplin_layout::{NO_OFFSET, Task};
use poplin_reference::stage::twin;
use poplin_reference::{ClothMemory, Parts, Work, Workers};

use crate::split::run_in_parts;
use crate::stage::{gauss_seidel, integrate, particles, semi_implicit, shapes, tether, wind};

/// Runs the schedule, several items at a time where a stage has a wide form.
#[derive(Debug)]
pub struct WideTeam {
    level: Level,
    /// Working memory of fibers, for each part that runs at once.
    rows: Vec<Vec<f32>>,
    /// How many that may be.
    parts: Parts<Self>,
}

impl Default for WideTeam {
    /// With the widest instructions that the machine has.
    fn default() -> Self {
        Self::new(Level::new())
    }
}

impl WideTeam {
    fn new(level: Level) -> Self {
        Self { level, rows: vec![Vec::new()], parts: Parts::ONE }
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

/// Least work of a part \[ns\]: about twice what threads that are awake need to meet. Measured: parts half or twice as long are
/// no faster.
const MIN_PART_NS: u32 = 4000;

impl WideTeam {
    /// In how many parts a loop runs.
    fn part_count(&self, work: &Work, memory: &ClothMemory<'_>) -> usize {
        let most = self.parts.count();
        if most == 1 {
            return 1;
        }
        let items = work.items().len();
        if self.parts.always() {
            return most.min(items);
        }
        let time: f32 = work.tasks().map(|task| time_of(task, memory)).sum();
        most.min((time * items as f32) as usize / MIN_PART_NS as usize).max(1)
    }
}

/// About what an item of a task takes \[ns\].
fn time_of(task: Task, memory: &ClothMemory<'_>) -> f32 {
    let registers = &memory.registers;
    match task {
        Task::ProjectFiber | Task::SolveFiber => {
            let [fibers, edges] =
                [registers.fibers, registers.edges].map(|[begin, end]| end - begin);
            let of_edge = if task == Task::SolveFiber { 10.0 } else { 8.0 };
            of_edge * edges as f32 / fibers.max(1) as f32
        }
        Task::ConstrainTethers => 4.0 * memory.cloth.fabric.tethers_per_particle as f32,
        Task::CountContacts => 150.0,
        Task::PushApart => 50.0,
        Task::CollideTriangle | Task::CollideContinuous | Task::SolveBend | Task::CollideBundle => {
            40.0
        }
        Task::VisitChunk => 1000.0,
        Task::SortMember | Task::ScanCells => 20.0,
        Task::BuildRow | Task::ReduceRow | Task::PullEdge => 10.0,
        Task::BlowTriangle | Task::GatherWind | Task::CollideShape => 10.0,
        Task::IntegrateParticle | Task::CollideConvex | Task::CollideBox => 4.0,
        _ => 2.0,
    }
}

/// Runs the tasks of a loop for some of its items.
pub(crate) fn run_items(
    level: Level,
    work: &Work,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    rows: &mut Vec<f32>,
) {
    for task in work.tasks() {
        if !run_wide(level, task, memory, items.clone(), rows) {
            let twin = twin(task);
            items.clone().for_each(|item| twin(memory, item));
        }
    }
}

#[inline(always)]
fn lane_count<S: Simd>(_: S) -> usize {
    S::f32s::LEN
}

impl Workers for WideTeam {
    fn split(&mut self, parts: Parts<Self>) {
        self.rows.resize_with(parts.count().max(self.rows.len()), Vec::new);
        self.parts = parts;
    }

    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>) {
        let count = self.part_count(&work, memory);
        let rows = &mut self.rows[..count];
        if !run_in_parts(self.level, &work, memory, rows, &self.parts) {
            run_items(self.level, &work, memory, work.items(), &mut rows[0]);
        }
    }

    fn barrier(&mut self, _: &mut ClothMemory<'_>) {}
}

/// Runs `stage` with the instructions of a level and as many lanes as these have, in a function of its own.
macro_rules! in_lanes {
    ($level:expr, $module:ident::$stage:ident, $memory:expr, $items:expr $(, $rows:ident)?) => {{
        #[inline(always)]
        fn native<S: Simd>(
            simd: S,
            memory: &mut ClothMemory<'_>,
            items: Range<u32>
            $(, $rows: &mut Vec<f32>)?
        ) {
            match S::f32s::LEN {
                16.. => $module::$stage::<S, f32x16<S>>(simd, memory, items $(, $rows)?),
                8.. => $module::$stage::<S, f32x8<S>>(simd, memory, items $(, $rows)?),
                _ => $module::$stage::<S, f32x4<S>>(simd, memory, items $(, $rows)?),
            }
        }
        dispatch!($level, simd => native(simd, $memory, $items $(, $rows)?))
    }};
}

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
            in_lanes!(level, gauss_seidel::project_fibers, memory, items)
        }
        Task::SolveFiber => in_lanes!(level, semi_implicit::solve_fibers, memory, items, rows),
        Task::IntegrateParticle => in_lanes!(level, integrate::integrate_particles, memory, items),
        Task::BlowTriangle => in_lanes!(level, wind::blow_triangles, memory, items),
        Task::ConstrainMotion => in_lanes!(level, particles::constrain_motion, memory, items),
        Task::ConstrainSeparation => {
            in_lanes!(level, particles::constrain_separation, memory, items)
        }
        Task::GatherAnchor => particles::gather_anchors(memory, items),
        Task::ConstrainTethers => in_lanes!(level, tether::constrain_tethers, memory, items),
        Task::RestoreMass => particles::restore_mass(memory, items),
        Task::LimitSpeed => in_lanes!(level, particles::limit_speed, memory, items),
        Task::CollideConvex => in_lanes!(level, shapes::collide_convexes, memory, items),
        Task::CollideBox => in_lanes!(level, shapes::collide_boxes, memory, items),
        Task::CollideShape => in_lanes!(level, shapes::collide_shapes, memory, items),
        Task::TestRest => particles::test_rest(memory, items),
        _ => return false,
    }
    true
}
