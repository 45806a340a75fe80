//! Worker that runs the loops of the schedule in SIMD lanes.

use std::ops::Range;

use crate::floats::Floats;
use crate::multilevel::LevelsMemory;
use crate::stage::{
    bend, collide_box, collide_convex, collide_shape, displacement, gauss_seidel, implicit,
    integrate, limit_speed, mass, motion, second_order, semi_implicit, separation, sleep, tether,
    twin, wind, yarn,
};
use crate::{ClothMemory, Member, Parts, Work, Workers, simulate_in_order};
use fearless_simd::{Level, dispatch, prelude::*};
use poplin_layout::{Stage, StageMask, Task};

use crate::wide::cloths::{self, Columns};
use crate::wide::neighbors;
use crate::wide::solve::{Solve, is_of_solve};
use crate::wide::split::{Threads, with_threads};
use crate::wide::{ContactLists, Neighbors};

/// Fewest cloths of one fabric that are simulated side by side, one per lane.
const MIN_BATCH: usize = 2;

/// Worker that runs the schedule with several items or cloths at a time, where a stage has a wide
/// form.
#[derive(Debug)]
pub struct WideTeam {
    pub(crate) level: Level,
    /// Scratch memory of fiber solves and collider tables.
    pub(crate) rows: Floats,
    /// Threads that run the parts of split loops.
    pub(crate) threads: Threads,
    /// True if even loops too short to gain from it are split; tests set it.
    always_splits: bool,
    /// State of the cloths of a batch, one cloth per lane.
    pub(crate) columns: Columns,
    /// Neighbor lists of self collision.
    neighbors: Neighbors,
    /// Working memory of the running implicit solve.
    solve: Solve,
    /// Working memory of multilevel solves.
    levels: LevelsMemory,
}

impl Default for WideTeam {
    /// Returns a team that uses the widest instruction set of the machine.
    fn default() -> Self {
        Self::new(Level::new())
    }
}

impl Clone for WideTeam {
    /// Returns a new team with the same instruction set and empty working memory.
    fn clone(&self) -> Self {
        Self::new(self.level)
    }
}

impl WideTeam {
    fn new(level: Level) -> Self {
        Self {
            level,
            rows: Floats::default(),
            threads: Threads::default(),
            always_splits: false,
            columns: Columns::default(),
            neighbors: Neighbors::default(),
            solve: Solve::default(),
            levels: LevelsMemory::default(),
        }
    }

    /// Returns one team per instruction set of the machine, the baseline first. Results of all
    /// teams are bit-identical.
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

    /// Returns lane count and instruction set for reports: `8 lanes, Avx2`.
    pub fn describe(&self) -> String {
        let lanes = dispatch!(self.level, simd => lane_count(simd));
        let level = format!("{:?}", self.level);
        format!("{lanes} lanes, {}", level.split('(').next().unwrap_or_default())
    }
}

/// Least work of a part of a split loop \[ns\]: a few times the cost of synchronizing threads.
const MIN_PART_NS: u32 = 1000;

impl WideTeam {
    /// Number of parts of a loop that would each take at least [`MIN_PART_NS`].
    fn useful_parts(&self, work: &Work, memory: &ClothMemory<'_>) -> usize {
        let items = work.items().len();
        if self.threads.count() == 1 || self.always_splits {
            return items;
        }
        let time: f32 = work.tasks().map(|task| time_of(task, memory)).sum();
        // Estimated time of the loop over the least time of a part.
        (time * items as f32) as usize / MIN_PART_NS as usize
    }
}

/// Estimated time of one item of a task \[ns\].
fn time_of(task: Task, memory: &ClothMemory<'_>) -> f32 {
    let registers = &memory.registers;
    match task {
        Task::ProjectFiber | Task::SolveFiber => {
            let [fibers, edges] =
                [registers.fibers, registers.edges].map(|[begin, end]| end - begin);
            // Average edges per fiber of the running set.
            let of_edge = if task == Task::SolveFiber { 10.0 } else { 8.0 };
            of_edge * edges as f32 / fibers.max(1) as f32
        }
        Task::ConstrainTethers => 4.0 * memory.cloth.fabric.tethers_per_particle as f32,
        Task::CollideTriangle | Task::CollideContinuous | Task::CollideBundle | Task::Sweep => 40.0,
        Task::VisitChunk => 1000.0,
        Task::SolveYarn => 300.0,
        Task::BuildRow | Task::ReduceRow => 10.0,
        Task::BuildEquation | Task::PushEdge => 0.0,
        Task::BlowTriangle | Task::GatherWind | Task::CollideShape | Task::SolveBend => 10.0,
        Task::IntegrateParticle | Task::CollideConvex | Task::CollideBox => 4.0,
        _ => 2.0,
    }
}

/// Runs the tasks of a loop for a range of its items, in SIMD lanes where a wide form exists.
pub(crate) fn run_items(
    level: Level,
    work: &Work,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    rows: &mut Floats,
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

/// State of a cloth: lists of near particles, and its last multilevel solve.
pub(crate) type WideKept = (Neighbors, LevelsMemory);

impl Workers for WideTeam {
    type Kept = WideKept;
    type Contacts = ContactLists;

    fn exchange(&mut self, (neighbors, levels): &mut WideKept) {
        std::mem::swap(&mut self.neighbors, neighbors);
        std::mem::swap(&mut self.levels, levels);
    }

    fn kept_size((neighbors, levels): &WideKept) -> usize {
        neighbors.size() + levels.size()
    }

    fn open_grid(&mut self, memory: &mut ClothMemory<'_>) {
        self.neighbors.open(memory);
    }

    fn in_parts<R: Send>(
        &mut self,
        parts: Parts<Self>,
        run: impl FnOnce(&mut Self) -> R + Send,
    ) -> R {
        if parts.count() == 1 {
            return run(self);
        }
        self.always_splits = parts.always();
        with_threads(self, parts.count(), run)
    }

    fn reserve(&mut self, particle_count: usize) {
        self.columns.reserve(particle_count, self.cloths_at_once());
    }

    fn size(&self) -> usize {
        self.columns.size() + self.threads.size() + self.solve.size() + self.levels.size()
    }

    fn levels(&mut self) -> &mut LevelsMemory {
        &mut self.levels
    }

    fn cloths_at_once(&self) -> usize {
        dispatch!(self.level, simd => lane_count(simd))
    }

    fn simulate_cloths(
        &mut self,
        members: &mut [Member<'_, WideKept>],
        iterations: Range<u32>,
        stages: StageMask,
    ) {
        // Implicit solves of different cloths differ in their iteration counts, so that they cannot
        // share one walk of the schedule; a multilevel solve is that of one cloth.
        let is_solved = stages.contains(Stage::Implicit) || stages.intersects(StageMask::LEVELS);
        if members.len() >= MIN_BATCH && !is_solved {
            return cloths::simulate(self, members, iterations, stages);
        }
        simulate_in_order(self, members, iterations, stages);
    }

    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>) {
        // Self collision and implicit solves keep their own data between tasks and run on one
        // thread.
        if work.tasks().any(is_of_self_collision) {
            for task in work.tasks() {
                run_self_collision(self.level, task, memory, work.items(), &mut self.neighbors);
            }
            return;
        }
        if work.tasks().any(is_of_solve) {
            for task in work.tasks() {
                run_solve(self.level, task, memory, work.items(), &mut self.solve);
            }
            return;
        }
        let useful = self.useful_parts(&work, memory);
        if !self.threads.run(self.level, &work, memory, useful) {
            run_items(self.level, &work, memory, work.items(), &mut self.rows);
        }
    }

    fn barrier(&mut self, _: &mut ClothMemory<'_>) {}
}

/// Runs a generic stage with the instruction set of `$level` and its native lane count. The stage
/// is inlined into a function that is compiled for these instructions. `$rows` is an optional
/// further argument.
macro_rules! in_lanes {
    ($level:expr, $($stage:ident)::+ $(<$flag:literal>)?, $memory:ident: $type:ty, $items:expr $(, $rows:ident: $kind:ty)?) => {{
        #[inline(always)]
        fn native<S: fearless_simd::Simd>(
            simd: S,
            memory: &mut $type,
            items: std::ops::Range<u32>
            $(, $rows: &mut $kind)?
        ) {
            use fearless_simd::{SimdBase, f32x4, f32x8, f32x16};
            match S::f32s::LEN {
                // The branch is constant for each `S` and disappears when inlined.
                16.. => $($stage)::+::<f32x16<S> $(, $flag)?>(simd, memory, items $(, $rows)?),
                8.. => $($stage)::+::<f32x8<S> $(, $flag)?>(simd, memory, items $(, $rows)?),
                _ => $($stage)::+::<f32x4<S> $(, $flag)?>(simd, memory, items $(, $rows)?),
            }
        }
        fearless_simd::dispatch!($level, simd => native(simd, $memory, $items $(, $rows)?))
    }};
}
pub(crate) use in_lanes;

/// Tests whether a task belongs to self collision.
fn is_of_self_collision(task: Task) -> bool {
    task.stage() == Some(Stage::SelfCollide)
}

/// Runs a task of self collision on neighbor lists.
fn run_self_collision(
    level: Level,
    task: Task,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    neighbors: &mut Neighbors,
) {
    match task {
        Task::CountContacts => {
            in_lanes!(level, neighbors::count_contacts, memory: ClothMemory<'_>, items, neighbors: Neighbors)
        }
        Task::PushApart => {
            in_lanes!(level, neighbors::push_apart, memory: ClothMemory<'_>, items, neighbors: Neighbors)
        }
        // The tasks that build the reference grid: neighbor lists replace it.
        _ => {}
    }
}

/// Runs a task of an implicit solve in SIMD lanes.
fn run_solve(
    level: Level,
    task: Task,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    solve: &mut Solve,
) {
    macro_rules! wide {
        ($($stage:ident)::+) => {
            in_lanes!(level, $($stage)::+, memory: ClothMemory<'_>, items, solve: Solve)
        };
    }
    match task {
        Task::BeginSolve => wide!(implicit::begin_solve),
        Task::StretchTriangle => wide!(implicit::stretch_triangle),
        Task::FoldBend => wide!(implicit::fold_bend),
        Task::FindResidual => wide!(implicit::find_residual),
        Task::DirectTriangle => wide!(implicit::direct_triangle),
        Task::FactorChain => wide!(implicit::factor_chain),
        Task::SolveChain => wide!(implicit::solve_chain),
        Task::SumPart => wide!(implicit::sum_part),
        Task::TakeStep => wide!(implicit::take_step),
        Task::EndSolve => wide!(implicit::end_solve),
        _ => {}
    }
}

/// Runs the wide form of a task for a range of items. Returns false if it has none for this cloth.
fn run_wide(
    level: Level,
    task: Task,
    memory: &mut ClothMemory<'_>,
    items: Range<u32>,
    rows: &mut Floats,
) -> bool {
    macro_rules! wide {
        ($($stage:ident)::+ $(<$flag:literal>)? $(, $rows:ident)?) => {
            in_lanes!(
                level, $($stage)::+ $(<$flag>)?, memory: ClothMemory<'_>, items $(, $rows: Floats)?
            )
        };
    }
    match task {
        Task::ProjectFiber if memory.is_displaced() => wide!(gauss_seidel::project_fiber<true>),
        Task::ProjectFiber => wide!(gauss_seidel::project_fiber<false>),
        // `SolveFiber` builds, solves and applies a whole fiber per lane.
        Task::BuildEquation | Task::PushEdge => {}
        Task::SolveFiber if memory.is_displaced() => wide!(semi_implicit::solve_fibers<true>, rows),
        Task::SolveFiber => wide!(semi_implicit::solve_fibers<false>, rows),
        Task::SolveBend => wide!(bend::solve_bend),
        Task::SolveYarn => wide!(yarn::solve_yarn),
        Task::IntegrateParticle => wide!(integrate::integrate_particle),
        Task::BlowTriangle => wide!(wind::blow_triangle),
        Task::ConstrainMotion => wide!(motion::constrain_motion),
        Task::ConstrainSeparation => wide!(separation::constrain_separation),
        Task::GatherAnchor => tether::gather_anchor(memory, items),
        Task::ConstrainTethers => wide!(tether::constrain_tethers),
        Task::BeginDisplacement => wide!(displacement::begin_displacement),
        Task::EndDisplacement => wide!(displacement::end_displacement),
        Task::NotePrediction => wide!(second_order::note_prediction),
        Task::CorrectVelocity => wide!(second_order::correct_velocity),
        Task::RestoreMass => wide!(mass::restore_mass),
        Task::LimitSpeed => wide!(limit_speed::limit_speed),
        Task::CollideConvex => wide!(collide_convex::collide_convex, rows),
        Task::CollideBox => wide!(collide_box::collide_box, rows),
        Task::CollideShape => wide!(collide_shape::collide_shape, rows),
        Task::TestRest => sleep::test_rest(memory, items),
        _ => return false,
    }
    true
}
