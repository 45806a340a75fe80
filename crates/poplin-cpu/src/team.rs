//! The worker that runs loops over items in SIMD lanes.

use std::ops::Range;

use fearless_simd::{Level, dispatch, f32x4, f32x8, f32x16, prelude::*};
use poplin_layout::{NO_OFFSET, Task};
use poplin_reference::stage::twin;
use poplin_reference::{ClothMemory, Work, Workers};

use crate::Neighbors;
use crate::stage::{
    gauss_seidel, integrate, particles, self_collide, semi_implicit, shapes, tether, wind,
};

/// Runs the schedule on one thread, several items at a time where a stage has a wide form.
#[derive(Debug, Clone)]
pub struct WideTeam {
    level: Level,
    /// Working memory of fibers.
    rows: Vec<f32>,
    /// Which particles of the cloth may touch.
    neighbors: Neighbors,
}

impl Default for WideTeam {
    /// With the widest instructions that the machine has.
    fn default() -> Self {
        Self::new(Level::new())
    }
}

impl WideTeam {
    fn new(level: Level) -> Self {
        Self { level, rows: Vec::new(), neighbors: Neighbors::default() }
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
    type Kept = Neighbors;

    fn exchange(&mut self, kept: &mut Neighbors) {
        std::mem::swap(&mut self.neighbors, kept);
    }

    fn kept_size(kept: &Neighbors) -> usize {
        kept.size()
    }

    fn open_grid(&mut self, memory: &mut ClothMemory<'_>) {
        self.neighbors.open(memory);
    }

    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>) {
        let Self { level, rows, neighbors } = self;
        for task in work.tasks() {
            if !run_wide(*level, task, memory, work.items(), rows, neighbors) {
                let twin = twin(task);
                work.items().for_each(|item| twin(memory, item));
            }
        }
    }

    fn barrier(&mut self, _: &mut ClothMemory<'_>) {}
}

/// Runs `stage` with the instructions of a level and as many lanes as these have, in a function of its own.
macro_rules! in_lanes {
    ($level:expr, $module:ident::$stage:ident, $memory:expr, $items:expr $(, $rows:ident: $kind:ty)?) => {{
        #[inline(always)]
        fn native<S: Simd>(
            simd: S,
            memory: &mut ClothMemory<'_>,
            items: Range<u32>
            $(, $rows: &mut $kind)?
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
    neighbors: &mut Neighbors,
) -> bool {
    match task {
        // A stiffness per edge is rare.
        Task::ProjectFiber if memory.cloth.fabric.edge_stiffness_begin == NO_OFFSET => {
            in_lanes!(level, gauss_seidel::project_fibers, memory, items)
        }
        Task::SolveFiber => {
            in_lanes!(level, semi_implicit::solve_fibers, memory, items, rows: Vec<f32>)
        }
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
        // A grid is needed for a search alone.
        Task::ClearCell
        | Task::CountMember
        | Task::SumCells
        | Task::ScanCells
        | Task::ScatterMember
        | Task::SortMember => {}
        Task::CountContacts => {
            in_lanes!(level, self_collide::count_contacts, memory, items, neighbors: Neighbors)
        }
        Task::PushApart => {
            in_lanes!(level, self_collide::push_apart, memory, items, neighbors: Neighbors)
        }
        Task::TestRest => particles::test_rest(memory, items),
        _ => return false,
    }
    true
}
