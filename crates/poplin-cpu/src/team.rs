//! The worker that runs loops over items in SIMD lanes.

use std::ops::Range;

use fearless_simd::{Level, dispatch, f32x4, f32x8, f32x16, prelude::*};
use poplin_layout::{NO_OFFSET, Task};
use poplin_reference::stage::twin;
use poplin_reference::{ClothMemory, Work, Workers};

use crate::lanes::Lanes;
use crate::stage::{gauss_seidel, integrate, particles, semi_implicit, shapes, tether, wind};

/// Runs the schedule on one thread, several items at a time where a stage has a wide form.
#[derive(Debug, Clone)]
pub struct WideTeam {
    level: Level,
    /// Working memory of fibers.
    rows: Vec<f32>,
}

impl Default for WideTeam {
    /// With the widest instructions that the machine has.
    fn default() -> Self {
        Self::new(Level::new())
    }
}

impl WideTeam {
    fn new(level: Level) -> Self {
        Self { level, rows: Vec::new() }
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
    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>) {
        let Self { level, rows } = self;
        for task in work.tasks() {
            if is_wide(task, memory) {
                dispatch!(*level, simd => run_native(simd, task, memory, work.items(), rows));
            } else {
                let twin = twin(task);
                work.items().for_each(|item| twin(memory, item));
            }
        }
    }

    fn barrier(&mut self, _: &mut ClothMemory<'_>) {}
}

/// Whether a task has a wide form for this cloth.
fn is_wide(task: Task, memory: &ClothMemory<'_>) -> bool {
    match task {
        // A stiffness per edge is rare.
        Task::ProjectFiber => memory.cloth.fabric.edge_stiffness_begin == NO_OFFSET,
        Task::SolveFiber
        | Task::IntegrateParticle
        | Task::BlowTriangle
        | Task::ConstrainMotion
        | Task::ConstrainSeparation
        | Task::GatherAnchor
        | Task::ConstrainTethers
        | Task::RestoreMass
        | Task::LimitSpeed
        | Task::CollideConvex
        | Task::CollideBox
        | Task::CollideShape
        | Task::TestRest => true,
        _ => false,
    }
}

#[inline(always)]
fn run_native<S: Simd>(
    simd: S,
    task: Task,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    rows: &mut Vec<f32>,
) {
    match S::f32s::LEN {
        16.. => run::<S, f32x16<S>>(simd, task, memory, items, rows),
        8.. => run::<S, f32x8<S>>(simd, task, memory, items, rows),
        _ => run::<S, f32x4<S>>(simd, task, memory, items, rows),
    }
}

#[inline(always)]
fn run<S: Simd, V: Lanes<S>>(
    simd: S,
    task: Task,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    rows: &mut Vec<f32>,
) {
    match task {
        Task::ProjectFiber => gauss_seidel::project_fibers::<S, V>(simd, memory, items),
        Task::SolveFiber => semi_implicit::solve_fibers::<S, V>(simd, memory, items, rows),
        Task::IntegrateParticle => integrate::integrate_particles::<S, V>(simd, memory, items),
        Task::BlowTriangle => wind::blow_triangles::<S, V>(simd, memory, items),
        Task::ConstrainMotion => particles::constrain_motion::<S, V>(simd, memory, items),
        Task::ConstrainSeparation => particles::constrain_separation::<S, V>(simd, memory, items),
        Task::GatherAnchor => particles::gather_anchors(memory, items),
        Task::ConstrainTethers => tether::constrain_tethers::<S, V>(simd, memory, items),
        Task::RestoreMass => particles::restore_mass(memory, items),
        Task::LimitSpeed => particles::limit_speed::<S, V>(simd, memory, items),
        Task::CollideConvex => shapes::collide_convexes::<S, V>(simd, memory, items),
        Task::CollideBox => shapes::collide_boxes::<S, V>(simd, memory, items),
        Task::CollideShape => shapes::collide_shapes::<S, V>(simd, memory, items),
        Task::TestRest => particles::test_rest(memory, items),
        _ => {}
    }
}
