//! The worker that runs loops over items in SIMD lanes.

use std::ops::Range;

use fearless_simd::{Level, dispatch, f32x4, f32x8, f32x16, prelude::*};
use poplin_layout::{NO_OFFSET, Task};
use poplin_reference::stage::twin;
use poplin_reference::{ClothMemory, Work, Workers};

use crate::lanes::Lanes;
use crate::stage::{gauss_seidel, integrate, particles, semi_implicit, shapes, tether, wind};

/// How many lanes run side by side. Every width has the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Width {
    /// As many as the instructions of this machine have: 4 (SSE2, SSE4.2, NEON, simd128), 8 (AVX2) or 16 (AVX-512).
    #[default]
    Native,
    /// 4 lanes.
    Four,
    /// 8 lanes.
    Eight,
    /// 16 lanes.
    Sixteen,
    /// No lanes: every stage runs as its twin.
    Scalar,
}

/// Runs the schedule on one thread, several items at a time where a stage has a wide form.
#[derive(Debug, Clone)]
pub struct WideTeam {
    level: Level,
    width: Width,
    /// Working memory of fibers.
    rows: Vec<f32>,
}

impl Default for WideTeam {
    fn default() -> Self {
        Self::new(Width::Native)
    }
}

impl WideTeam {
    /// A team of this width with the best instructions that the machine has.
    pub fn new(width: Width) -> Self {
        Self { level: Level::new(), width, rows: Vec::new() }
    }

    /// The same with x86's baseline instructions, SSE2; elsewhere with the best.
    pub fn with_baseline_instructions(width: Width) -> Self {
        Self { level: Level::baseline(), ..Self::new(width) }
    }

    /// Lanes and instructions, for reports: `8 lanes, Avx2`.
    pub fn describe(&self) -> String {
        let lanes = match self.width() {
            Width::Scalar => 1,
            Width::Four | Width::Native => 4,
            Width::Eight => 8,
            Width::Sixteen => 16,
        };
        let level = format!("{:?}", self.level);
        format!("{lanes} lanes, {}", level.split('(').next().unwrap_or_default())
    }

    /// The width, never native.
    fn width(&self) -> Width {
        match self.width {
            Width::Native => dispatch!(self.level, simd => native_width(simd)),
            width => width,
        }
    }
}

#[inline(always)]
fn native_width<S: Simd>(_: S) -> Width {
    match S::f32s::LEN {
        16.. => Width::Sixteen,
        8.. => Width::Eight,
        _ => Width::Four,
    }
}

impl Workers for WideTeam {
    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>) {
        let width = self.width();
        let Self { level, rows, .. } = self;
        for task in work.tasks() {
            if width == Width::Scalar || !is_wide(task, memory) {
                let twin = twin(task);
                work.items().for_each(|item| twin(memory, item));
            } else {
                let items = work.items();
                dispatch!(*level, simd => match width {
                    Width::Eight => run::<_, f32x8<_>>(simd, task, memory, items, rows),
                    Width::Sixteen => run::<_, f32x16<_>>(simd, task, memory, items, rows),
                    _ => run::<_, f32x4<_>>(simd, task, memory, items, rows),
                });
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
