//! Batches of cloths that share a fabric, one cloth per lane. State is stored as structure of
//! arrays, so that loads are contiguous and nothing is gathered.

mod columns;
mod view;

use std::ops::Range;

use crate::contact::ContactMemory;
use crate::floats::Floats;
use crate::kernel::{fetch_counters, flush_counters, run_iterations};
use crate::memory::{Pools, State};
use crate::{ClothMemory, Member, Work, Workers};
use poplin_layout::{NO_OFFSET, StageMask, Task};

pub(crate) use self::columns::Columns;
use self::view::{View, gather_anchors, project_fibers, read_rows, solve_fibers, write_rows};
use crate::lanes::MAX_LANES;
use crate::multilevel::LevelsMemory;
use crate::stage::{
    collide_box, collide_convex, collide_shape, displacement, integrate, limit_speed, mass, motion,
    second_order, separation, tether,
};
use crate::wide::team::in_lanes;
use crate::wide::{WideKept, WideTeam};

/// Cloths of one fabric, one per lane. Lanes beyond the last cloth repeat it.
struct Batch<'a, 'm> {
    members: &'a mut [Member<'m, WideKept>],
    columns: Columns,
    /// Bit mask of the lanes whose cloths are still simulated.
    alive: u64,
}

/// Iterates over the cloths in the lanes whose bit is set.
fn in_lanes_of<'b, 'm>(
    bits: u64,
    members: &'b mut [Member<'m, WideKept>],
) -> impl Iterator<Item = &'b mut Member<'m, WideKept>> {
    let members = members.iter_mut().enumerate();
    members.filter(move |(lane, _)| bits >> lane & 1 != 0).map(|(_, member)| member)
}

impl<'m> Batch<'_, 'm> {
    /// Cloths that are still simulated.
    fn live(&mut self) -> impl Iterator<Item = &mut Member<'m, WideKept>> {
        in_lanes_of(self.alive, self.members)
    }
}

/// Most tree nodes of a cloth up to which testing all of its capsules and spheres is cheaper than
/// walking its trees.
const FEW_NODES: u32 = 32;

/// Location of the current state of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    /// State in the rows of the cloths, where stages without a batch form run on each cloth.
    Rows,
    /// State in the columns of the batch.
    Columns,
    /// Same state in rows and columns.
    Everywhere,
}

/// Walks the schedule once for all cloths of a batch.
struct BatchWalk<'a, 'm> {
    batch: Batch<'a, 'm>,
    location: Location,
    /// Number of iterations begun so far.
    begun: u32,
    stages: StageMask,
    team: &'a mut WideTeam,
}

impl BatchWalk<'_, '_> {
    /// Tests whether a task reads or writes particles.
    fn moves_particles(task: Task) -> bool {
        !matches!(task, Task::PrepareShape | Task::CountSleep)
    }

    /// Copies the state to where the next task reads it, unless it is already there.
    fn locate(&mut self, location: Location, lead: &mut ClothMemory<'_>) {
        if self.location == Location::Everywhere || self.location == location {
            return;
        }
        let items = 0..lead.cloth.particle_count;
        let view = &mut View { batch: &mut self.batch, lead };
        match location {
            Location::Columns => {
                in_lanes!(self.team.level, read_rows, view: View<'_, '_, '_, '_>, items)
            }
            _ => in_lanes!(self.team.level, write_rows, view: View<'_, '_, '_, '_>, items),
        }
        self.location = Location::Everywhere;
    }

    /// Tests whether every cloth has so few capsules and spheres that testing all is cheaper than
    /// walking trees.
    fn has_few_shapes(&self) -> bool {
        self.batch.members.iter().all(|Member { memory, .. }| {
            let shapes = &memory.cloth.colliders;
            shapes.capsule_tree_count + shapes.sphere_tree_count <= FEW_NODES
        })
    }

    /// Runs the batch form of a task. Returns false if it has none for these cloths.
    fn run_wide(&mut self, task: Task, items: Range<u32>, lead: &mut ClothMemory<'_>) -> bool {
        macro_rules! side_by_side {
            ($($stage:ident)::+ $(<$flag:literal>)? $(, $rows:ident)?) => {{
                self.locate(Location::Columns, lead);
                self.location = Location::Columns;
                let WideTeam { level, rows: _rows, .. } = &mut *self.team;
                $(let $rows = _rows;)?
                let view = &mut View { batch: &mut self.batch, lead };
                in_lanes!(
                    *level, $($stage)::+ $(<$flag>)?, view: View<'_, '_, '_, '_>, items $(, $rows: Floats)?
                )
            }};
        }
        match task {
            // Stiffness per edge is rare: a batch does not load it.
            Task::ProjectFiber if lead.cloth.fabric.edge_stiffness_begin == NO_OFFSET => {
                if lead.is_displaced() {
                    side_by_side!(project_fibers<true>);
                } else {
                    side_by_side!(project_fibers<false>);
                }
            }
            Task::BuildEquation | Task::PushEdge => {}
            Task::SolveFiber if lead.is_displaced() => side_by_side!(solve_fibers<true>, rows),
            Task::SolveFiber => side_by_side!(solve_fibers<false>, rows),
            Task::IntegrateParticle => side_by_side!(integrate::integrate_particle),
            Task::ConstrainMotion => side_by_side!(motion::constrain_motion),
            Task::ConstrainSeparation => side_by_side!(separation::constrain_separation),
            Task::GatherAnchor => side_by_side!(gather_anchors),
            Task::ConstrainTethers => side_by_side!(tether::constrain_tethers),
            Task::BeginDisplacement => side_by_side!(displacement::begin_displacement),
            Task::EndDisplacement => side_by_side!(displacement::end_displacement),
            Task::NotePrediction => side_by_side!(second_order::note_prediction),
            Task::CorrectVelocity => side_by_side!(second_order::correct_velocity),
            Task::RestoreMass => side_by_side!(mass::restore_mass),
            Task::LimitSpeed => side_by_side!(limit_speed::limit_speed),
            Task::CollideConvex => side_by_side!(collide_convex::collide_convex, rows),
            Task::CollideBox => side_by_side!(collide_box::collide_box, rows),
            Task::CollideShape if self.has_few_shapes() => {
                side_by_side!(collide_shape::collide_shape, rows)
            }
            _ => return false,
        }
        true
    }

    /// Writes the reports of the cloths that are still simulated, after `ran` whole iterations.
    fn flush(&mut self, ran: u32) {
        for Member { memory, feedback, .. } in self.batch.live() {
            flush_counters(memory, feedback, ran, self.stages);
        }
    }
}

impl Workers for BatchWalk<'_, '_> {
    type Kept = ();
    type Contacts = ContactMemory;

    fn open_grid(&mut self, _: &mut ClothMemory<'_>) {
        for Member { memory, kept, .. } in self.batch.live() {
            kept.0.open(memory);
        }
    }

    fn levels(&mut self) -> &mut LevelsMemory {
        self.team.levels()
    }

    fn begin_iteration(&mut self, lead: &mut ClothMemory<'_>, k: u32) {
        self.begun += 1;
        lead.begin_iteration(k);
        for Member { memory, .. } in self.batch.live() {
            memory.begin_iteration(k);
            // Cloths are batched by sleep time: it is the same for all.
            lead.sleep_time = memory.sleep_time;
        }
    }

    fn work(&mut self, work: Work, lead: &mut ClothMemory<'_>) {
        for task in work.tasks() {
            if self.run_wide(task, work.items(), lead) {
                continue;
            }
            if Self::moves_particles(task) {
                self.locate(Location::Rows, lead);
                self.location = Location::Rows;
            }
            for Member { memory, kept, .. } in self.batch.live() {
                // No batch form: run the task on each cloth, with the neighbor lists of that cloth.
                memory.registers = lead.registers;
                self.team.exchange(kept);
                self.team.work(Work::new(work.items(), [task].into_iter(), memory), memory);
                self.team.exchange(kept);
            }
        }
    }

    fn barrier(&mut self, _: &mut ClothMemory<'_>) {}

    /// Stops the cloths with a fault and continues with the others.
    fn goes_on(&mut self, lead: &mut ClothMemory<'_>) -> bool {
        let is_faulty = |member: &Member<'_, WideKept>| member.memory.fault_count != 0;
        let members = self.batch.members.iter().enumerate();
        // One bit per cloth that reported a fault in this iteration and is still simulated.
        let faulty = members
            .fold(0, |bits, (lane, member)| bits | u64::from(is_faulty(member)) << lane)
            & self.batch.alive;
        if faulty != 0 {
            self.locate(Location::Rows, lead);
            let others = self.batch.alive & !faulty;
            self.batch.alive = faulty;
            // The iteration with the fault does not count: `begun` includes it.
            self.flush(self.begun - 1);
            self.batch.alive = others;
        }
        self.batch.alive != 0
    }
}

/// Simulates cloths as [`Workers::simulate_cloths`] does, one per lane.
pub(crate) fn simulate(
    team: &mut WideTeam,
    members: &mut [Member<'_, WideKept>],
    iterations: Range<u32>,
    stages: StageMask,
) {
    let mut alive = 0;
    for (lane, Member { memory, feedback, .. }) in members.iter_mut().enumerate() {
        if fetch_counters(memory, feedback, iterations.start == 0, stages) {
            alive |= 1 << lane;
        }
    }
    let Some(first) = members.first().filter(|_| alive != 0).map(|member| &member.memory) else {
        return;
    };
    let pools = Pools {
        frame_pool: first.frame_pool,
        fabric_pool: first.fabric_pool,
        input_pool: first.input_pool,
        levels: None,
        touching: first.touching,
    };
    // The lead has no particles of its own: it only carries parameters and registers.
    let state = State { current: &mut [], previous: &mut [], scratch: &mut [], cells: &mut [] };
    let mut lead =
        ClothMemory { cells: first.cells, ..ClothMemory::new(first.cloth, pools, state) };
    // The batch owns the columns while the team runs stages on single cloths.
    let columns = std::mem::take(&mut team.columns);
    let batch = Batch { members, columns, alive };
    let mut walk = BatchWalk { batch, location: Location::Rows, begun: 0, stages, team };
    let ran = run_iterations(&mut lead, iterations, stages, &mut walk);
    if walk.batch.alive != 0 {
        walk.locate(Location::Rows, &mut lead);
        walk.flush(ran);
    }
    let BatchWalk { batch, team, .. } = walk;
    team.columns = batch.columns;
}

/// Lanes of a batch fit the bit mask [`Batch::alive`].
const _: () = assert!(MAX_LANES <= 64);
